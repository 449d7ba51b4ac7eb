"""A run that is killed and started again gives the same page as one that was not."""

import csv
import os
import signal
import subprocess
import sys

import pytest

from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task, unfinished
from discbayes_papers import find

NAME = "c11-theorems"  # 27 lines in under a second, with a picture, and no times on its page

# A process that has everything imported starts runs as its children, so that a start takes no time,
# and kills them: as soon as a run has written a line, a little later, or at any moment. The last
# one is left alone.
DRIVER = """
import os, random, signal, sys, time
from pathlib import Path
from discbayes._lazy_imports import need
from discbayes_papers import reproduce

need("matplotlib").use("agg")
need("matplotlib.pyplot")

def begin(folder, n_jobs):
    pid = os.fork()
    if pid == 0:
        reproduce(NAME, folder, quick=True, n_jobs=n_jobs)
        os._exit(0)
    return pid

def finish(folder):
    assert os.waitpid(begin(folder, 1), 0)[1] == 0

def size(folder):
    rows = Path(folder) / "quick" / "rows" / (NAME + ".csv")
    return rows.stat().st_size if rows.exists() else 0

def killed(folder, n_jobs, moment=None, longest=0.01):
    before, pid, started = size(folder), begin(folder, n_jobs), time.monotonic()
    done = 0
    def waits():
        return size(folder) == before if moment is None else time.monotonic() - started < moment
    while not done and waits():
        done = os.waitpid(pid, os.WNOHANG)[0]
        time.sleep(0.0005)
    if done:
        return False
    if moment is None:
        time.sleep(random.random() * longest)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])

whole, alone, together = sys.argv[1:]
random.seed(0)
started = time.monotonic()
finish(whole)
length = time.monotonic() - started
kills, partly = [], []
for longest in (0.0, 0.0, 0.01):
    kills.append(killed(alone, 1, longest=longest))
    partly.append(size(alone))
kills += [killed(alone, 1, random.random() * length) for _ in range(4)]
finish(alone)
kills += [killed(together, 2)]
finish(together)
print(sum(kills), any(0 < here < size(alone) for here in partly))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder of a run that was left alone, of one that was killed, and of one in two processes
    that was killed.
    """
    if not hasattr(os, "fork"):
        pytest.skip("runs are killed on systems with fork only")
    names = [tmp_path_factory.mktemp(name) for name in ("whole", "alone", "together")]
    said = tmp_path_factory.mktemp("said") / "said"
    with said.open("w") as out:  # a file: workers whose run was killed would keep a pipe open
        command = [sys.executable, "-c", f"NAME = {NAME!r}\n{DRIVER}", *map(str, names)]
        run = subprocess.Popen(
            command,
            stdout=out,
            start_new_session=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    try:
        run.wait(timeout=600)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert run.returncode == 0
    n_killed, in_the_middle = said.read_text().split()
    assert int(n_killed) >= 5
    assert in_the_middle == "True"
    return [name / "quick" for name in names]


@pytest.mark.parametrize("which", [1, 2])
def test_the_page_and_its_pictures_are_the_same(folders, which):
    whole, other = folders[0], folders[which]
    names = sorted(path.name for path in whole.iterdir() if path.is_file())
    assert names == [f"{NAME}-figures.png", f"{NAME}.md"]
    for name in names:
        assert (other / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("which", [1, 2])
def test_the_rows_are_the_same_but_for_their_times_and_order(folders, which):
    whole, other = (read(folder) for folder in (folders[0], folders[which]))
    assert len(whole) == 27
    assert other == whole


def read(folder):
    with (folder / "rows" / f"{NAME}.csv").open(newline="") as file:
        lines = [{**line, "seconds": ""} for line in csv.DictReader(file)]
    return sorted(tuple(line.values()) for line in lines)


def test_a_finished_run_has_nothing_left(folders):
    experiment = find(NAME)
    store = Store(folders[1] / "rows" / f"{NAME}.csv", experiment.metrics)
    assert unfinished(experiment.tasks(True), store) == []


def test_a_run_holds_what_it_would_read_again(tmp_path):
    """Or a page would show other digits after a run than after it was interrupted."""
    store = Store(tmp_path / "a.csv", ["accuracy", "rmse"])
    task = Task("iris", 0, ("NB-ML",), 0, iter)
    store.add(task.result("NB-ML", {"accuracy": 1 / 3, "rmse": 2e-9 / 7}, 1 / 7, "a note"))
    again = Store(store.path, ["accuracy", "rmse"])
    assert list(store) == list(again)
    assert store.results[("iris", 0, "NB-ML", 0)]["accuracy"] == 0.3333333

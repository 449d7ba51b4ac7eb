"""What cannot be held is refused beforehand, with its size and a way out, and not by the system in
the middle.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discbayes import KDB, BayesNetClassifier, HillClimb, SpanningTree, Structure, _memory
from discbayes._memory import TooLargeError, in_bytes, memory_limit, require_memory
from discbayes.cli import fit
from discbayes.network import Layout
from discbayes.parameters import gradient


def wide(n_columns=4, card=200, n_classes=2, n_rows=400):
    """Rows with columns of many values each."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {f"c{k}": rng.permutation(np.arange(n_rows) % card).astype(str) for k in range(n_columns)}
    )
    return X, np.arange(n_rows) % n_classes


def noise(card, n_columns=20, n_rows=24_000):
    """Numbers that say nothing of the class, nor of each other."""
    rng = np.random.default_rng(0)
    return rng.integers(card, size=(n_rows, n_columns)), rng.integers(2, size=n_rows)


def signal(card, n_columns=20):
    """Values that lean to one of the classes in every second column, and are nearly copied into the
    next one.
    """
    X, y = noise(card, n_columns)
    rng = np.random.default_rng(1)
    for j in range(0, n_columns, 2):
        # the share of class 1 among the rows of a value
        lean = np.where(rng.random(card) < 0.5, 0.3, 0.7)
        moved = rng.random(len(y)) > np.where(y == 1, lean[X[:, j]], 1 - lean[X[:, j]])
        X[moved, j] = rng.integers(card, size=moved.sum())
        X[:, j + 1] = (X[:, j] + rng.integers(card // 20, size=len(y))) % card
    return X, y


def classifier(structure, parameters="map", **settings):
    return BayesNetClassifier(structure, parameters, categorical="all", calibrate=None, **settings)


@pytest.fixture
def short(monkeypatch):
    """As if there were 100 MB of memory."""
    monkeypatch.setattr(_memory, "memory_limit", lambda: 1e8)


PARENTS = [("c0", "c3"), ("c1", "c3"), ("c2", "c3")]


@pytest.mark.parametrize("parameters", ["map", "ml", "cl", "mm", "dfe", "bn-svm"])
def test_a_table_of_many_parents(short, parameters):
    clf = classifier(PARENTS, parameters)
    with pytest.raises(
        TooLargeError, match=r"'c3' has 3,200,000,000 \(200 values, 3 parents, 2 classes\)"
    ) as caught:
        clf.fit(*wide())
    assert (
        "would take 153.6 GB, and there are 100.0 MB in all: use a structure of fewer parents"
        in str(caught.value)
    )
    assert not hasattr(clf, "network_")


def test_a_search_that_may_make_large_tables(short):
    with pytest.raises(TooLargeError, match=r"tables of [\d,]+ cells, of which that of 'c\d' has"):
        classifier(KDB(k=2, max_table_size=10_000_000)).fit(*wide(card=150))
    with pytest.warns(
        UserWarning, match=r"3 edges .* left out: a table may have max_table_size=100,000 cells"
    ):
        classifier(KDB(k=2, max_table_size=100_000)).fit(*wide(card=150))


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
@pytest.mark.parametrize(
    "parameters, per_cell", [("hybrid", 256), ("cl", 256), ("mm", 256), ("ml-bn-svm", 352)]
)
def test_what_an_optimizer_keeps_is_asked_for_before_anything_is_counted(
    short, parameters, per_cell, monkeypatch
):
    """Three tables of one parent, 400 · 400 · 2 cells, and one of none."""
    monkeypatch.setattr(gradient, "count_families", lambda *_: pytest.fail("counted"))
    total = (3 * 400**2 + 400) * 2
    size = in_bytes(per_cell * total)
    assert 48 * total < 1e8 < per_cell * total
    with pytest.raises(
        TooLargeError,
        match=rf"tables of {total:,} cells.* would take {size}, and there are 100.0 MB",
    ):
        classifier(KDB(k=3, max_table_size=10**6), parameters).fit(*wide(4, 400, n_rows=1000))


@pytest.mark.parametrize(
    "structure",
    [HillClimb(max_parents=4, max_table_size=10**9), SpanningTree(max_table_size=10**9)],
)
def test_no_search_measures_a_table_that_cannot_be_held(short, structure):
    with pytest.raises(
        TooLargeError,
        match=r"tables of .* cells, of which that of 'c\d' has 4,500,000 .*216\.\d MB",
    ):
        classifier(structure).fit(*wide(3, 1500, n_rows=3000))


def test_counts_that_partial_fit_would_keep(short):
    with pytest.raises(TooLargeError, match=r"counts of 4,300,800 cells would take 103\.2 MB"):
        classifier("tan").partial_fit(*wide(7, 320, n_rows=1000))


def test_families_that_a_search_could_not_number():
    with pytest.raises(
        ValueError, match=r"max_table_size=2147483648 must be at most 2,147,483,647"
    ):
        classifier(KDB(k=2, max_table_size=2**31)).fit(*wide(2, 3))


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_many_classes_and_columns(short, learn):
    with pytest.raises(TooLargeError, match=r"tables of 4,800,000 cells.* would take 230\.4 MB"):
        getattr(classifier("nb"), learn)(*wide(60, 200, 400))


def test_many_columns_that_are_compared_with_each_other(monkeypatch):
    monkeypatch.setattr(_memory, "_SMALL", 1e5)
    monkeypatch.setattr(_memory, "memory_limit", lambda: 1e6)
    with pytest.raises(
        TooLargeError,
        match=r"mutual information of all pairs of 300 columns would take .*use structure='nb'",
    ):
        classifier(KDB(k=2)).fit(*wide(300, 2))
    classifier("nb").fit(*wide(300, 2))


def test_predictions_and_samples(short):
    clf = classifier("nb").fit(*wide(3, 3))
    with pytest.raises(
        TooLargeError, match=r"10,000,000,000 rows of 3 columns would take 330\.0 GB.*draw fewer"
    ):
        clf.network_.sample(10**10)
    clf = classifier("nb").fit(*wide(1, 3, 400))
    rows = pd.DataFrame({"c0": ["1"] * 20_000})
    with pytest.raises(
        TooLargeError, match=r"20,000 rows and 400 classes would take 128\.0 MB.*predict_batches"
    ):
        clf.predict_proba(rows)
    assert clf.predict(rows[:100]).shape == (100,)


def test_a_layout_alone_knows_no_names(short):
    layout = Layout(Structure([(1,), ()], [True, True]), np.array([3000, 3000]), 2)
    with pytest.raises(
        TooLargeError,
        match=r"that of feature 0 has 18,000,000 \(3,000 values, 1 parent, 2 classes\)",
    ):
        layout.size  # noqa: B018


def test_small_things_are_not_asked_for(monkeypatch):
    monkeypatch.setattr(_memory, "memory_limit", lambda: pytest.fail("asked"))
    require_memory(1e6, "little", "nothing")


def test_the_limit_is_the_least_of_those_that_there_are(monkeypatch, tmp_path):
    assert 1e8 < memory_limit() < float("inf")
    container = tmp_path / "memory.max"
    monkeypatch.setattr(_memory, "_CONTAINER", [str(container), str(tmp_path / "none")])
    for text, most in (("1000000\n", 1e6), ("max\n", None)):
        container.write_text(text)
        _memory._of_machine.cache_clear()
        assert (memory_limit() == most) == (most is not None)
    monkeypatch.undo()
    _memory._of_machine.cache_clear()


def test_sizes_are_written_for_people():
    assert [in_bytes(size) for size in (5e5, 1e9, 4.2e12)] == ["500.0 KB", "1.0 GB", "4.2 TB"]


def test_the_command_line_says_in_a_line_what_could_not_be_foreseen(run, monkeypatch, tmp_path):
    def fail(args):
        np.empty(1 << 58, np.uint8)

    monkeypatch.setattr(fit, "run", fail)
    code, out, err = run("fit", "iris", "-o", tmp_path / "model.json")
    assert (code, out) == (1, "")
    assert err.startswith(
        "discbayes: error: there is not enough memory: Unable to allocate 256. PiB"
    )
    assert len(err.splitlines()) == 1


REFUSED = """
import resource, sys, warnings
sys.path.insert(0, {folder!r})
import test_memory as tests
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
warnings.simplefilter("ignore", UserWarning)
small = tests.classifier("nb").fit(*tests.wide(3, 3))
works = [
    lambda: tests.classifier(tests.PARENTS).fit(*tests.wide()),
    lambda: tests.classifier(tests.PARENTS, "cl").fit(*tests.wide()),
    lambda: tests.classifier("nb").fit(*tests.wide(400, 400, 2000, 2000)),
    lambda: tests.classifier("tan").partial_fit(*tests.wide(3000, 4)),
    lambda: small.network_.sample(10**10),
    lambda: small.network_.query(["c0", "c1", "c2"]),
    lambda: tests.classifier(tests.KDB(k=3, max_table_size=10**9), "hybrid").fit(
        *tests.noise(1000)
    ),
]
for work in works:
    try:
        work()
        print("done")
    except ValueError as error:
        print(type(error).__name__)
"""


def test_under_a_limit_of_the_system(times):
    pytest.importorskip("resource")
    if times == 1:
        pytest.skip("another process: make faults")
    code = REFUSED.format(folder=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split() == ["TooLargeError"] * 3 + [
        "ValueError",
        "TooLargeError",
        "done",
        "TooLargeError",
    ]


DEFAULT = """
import sys, warnings
sys.path.insert(0, {folder!r})
import test_memory as tests
import numpy as np
warnings.simplefilter("ignore", UserWarning)
tests.BayesNetClassifier(discretizer=None).fit(*tests.noise(3, n_rows=300))
X, y = getattr(tests, {rows!r})({card})
losses = []
for structure in ("tan", "nb"):
    clf = tests.BayesNetClassifier(structure, discretizer=None).fit(X[:20_000], y[:20_000])
    losses.append(-np.log(clf.predict_proba(X[20_000:])[np.arange(4_000), y[20_000:]]).mean())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(int(peak) * 1024, *losses)
"""


@pytest.mark.parametrize("rows", ["noise", "signal"])
@pytest.mark.parametrize("card", [1000, 3000])
def test_the_default_on_many_columns_of_many_values(times, rows, card):
    """20,000 rows of 20 such columns: under 1 GB, and not worse than naive Bayes on other rows."""
    if times == 1 or not Path("/proc/self/status").exists():
        pytest.skip("another process: make faults")
    code = DEFAULT.format(folder=str(Path(__file__).parent), rows=rows, card=card)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    peak, tan, naive = map(float, done.stdout.split())
    assert peak < 1e9
    assert tan <= naive + 1e-9

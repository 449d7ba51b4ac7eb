"""Kills processes that save, at random moments: ``python killing.py KINDS KILLS SEED`` prints what
was found as JSON.

``python killing.py reads READS SEED`` lets others load a file meanwhile.

One process imports the library; those that are killed are its children, so that a kill takes some
milliseconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from discbayes import BayesNetClassifier, load, load_dataset
from discbayes._files import replace_file
from discbayes.cli.outputs import write_table

Save = Callable[[Path], object]


def classifiers() -> list[BayesNetClassifier]:
    """Two models of different sizes."""
    iris, wine = load_dataset("iris"), load_dataset("wine")
    return [
        BayesNetClassifier("tan", "map").fit(iris.X, iris.y),
        BayesNetClassifier("tan", "map").fit(wine.X, wine.y),
    ]


def kinds() -> dict[str, tuple[str, list[Save]]]:
    """What is saved: for each kind the name of the file, and two ways to fill it."""
    models = classifiers()
    pages = [model.report() for model in models]
    tables = [pa.table({"p": np.arange(n) / 7}) for n in (20_000, 60_000)]
    contents = [bytes([k]) * (2_000_000 + k) for k in (1, 2)]
    return {
        "model": ("model.json", [model.save for model in models]),
        "bif": ("network.bif", [model.network_.to_bif for model in models]),
        "page": ("page.html", [page.save for page in pages]),
        "csv": ("rows.csv", [lambda path, t=table: write_table(t, str(path)) for table in tables]),
        "bytes": (
            "any",
            [lambda path, c=c: replace_file(path, lambda file: file.write(c)) for c in contents],
        ),
    }


def child(work: Callable[[], object]) -> int:
    """Another process that does some work; its id."""
    number = os.fork()
    if number:
        return number
    try:
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


def written(save: Save, path: Path) -> tuple[bytes, float]:
    """What a save writes, and the seconds that it takes."""
    began = time.perf_counter()
    save(path)
    return path.read_bytes(), time.perf_counter() - began


def kill_one(saves: list[Save], path: Path, after: float) -> None:
    """Kill a process that saves again and again, some seconds after it has begun."""
    ready, begun = os.pipe()

    def work() -> None:
        os.write(begun, b".")
        while True:
            for save in saves:
                save(path)

    number = child(work)
    os.read(ready, 1)
    time.sleep(after)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    os.close(ready)
    os.close(begun)


def kill_many(name: str, saves: list[Save], n_kills: int, rng: random.Random) -> Counter[str]:
    """What was in the file after each kill, and how many drafts were left in the folder at most,
    and in the end.
    """
    found: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        wholes, times = zip(*(written(save, path) for save in saves), strict=True)
        for _ in range(n_kills):
            kill_one(saves, path, rng.uniform(0, 2 * sum(times)))
            content = path.read_bytes()
            found[f"whole {wholes.index(content)}" if content in wholes else "broken"] += 1
            drafts = len(list(path.parent.iterdir())) - 1
            found["kills that left a draft"] += drafts > 0
            found["most drafts"] = max(found["most drafts"], drafts)
        saves[0](path)
        found["drafts in the end"] = len(list(path.parent.iterdir())) - 1
        found["broken"] += path.read_bytes() != wholes[0]
    return found


def write_at_once(name: str, saves: list[Save], rounds: int) -> Counter[str]:
    """What a reader finds in the file while two processes write it at the same time."""
    found: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        wholes = [written(save, path)[0] for save in saves]
        numbers = [child(lambda s=save: [s(path) for _ in range(rounds)]) for save in saves]  # type: ignore[misc]
        while numbers:
            content = path.read_bytes()
            found[f"whole {wholes.index(content)}" if content in wholes else "broken"] += 1
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended:
                numbers.remove(ended)
                found["failed"] += status != 0
        found["drafts in the end"] = len(list(path.parent.iterdir())) - 1
    return found


def read_among_killed(n_reads: int, rng: random.Random) -> Counter[str]:
    """What readers load from a model file that four processes save all the time, of which some are
    killed.

    Two processes read, and each of their reads must give one of the two models, whole.
    """
    models = classifiers()
    found: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        wholes = [written(model.save, path)[0] for model in models]

        def save_for_ever(first: int) -> None:
            while True:
                for k in (first, 1 - first):
                    models[k].save(path)

        def read(number: int) -> None:
            sizes = Counter(load(path).n_features_in_ for _ in range(n_reads // 2))
            (Path(folder) / f"read-{number}").write_text(json.dumps(sizes), encoding="ascii")

        writers = [child(lambda k=k: save_for_ever(k % 2)) for k in range(4)]  # type: ignore[misc]
        readers = [child(lambda k=k: read(k)) for k in range(2)]  # type: ignore[misc]
        while readers:
            time.sleep(rng.uniform(0, 0.1))
            victim = rng.randrange(4)
            os.kill(writers[victim], signal.SIGKILL)
            os.waitpid(writers[victim], 0)
            found["kills"] += 1
            writers[victim] = child(lambda k=victim: save_for_ever(k % 2))  # type: ignore[misc]
            for number in list(readers):
                ended, status = os.waitpid(number, os.WNOHANG)
                if ended:
                    readers.remove(number)
                    found["readers that failed"] += status != 0
        for number in writers:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
        for told in Path(folder).glob("read-*"):
            found["reads"] += sum(json.loads(told.read_text(encoding="ascii")).values())
            told.unlink()
        found["broken"] += path.read_bytes() not in wholes
        models[0].save(path)
        found["drafts in the end"] = len(list(Path(folder).iterdir())) - 1
    return found


def main(names: str, n_kills: str, seed: str) -> None:
    """Print what was found, for each kind."""
    rng = random.Random(int(seed))
    if names == "reads":
        print(json.dumps(read_among_killed(int(n_kills), rng)))
        return
    known = kinds()
    chosen = names.split(",") if names != "all" else list(known)
    found = {name: kill_many(*known[name], int(n_kills), rng) for name in chosen}
    at_once = {name: write_at_once(*known[name], max(5, int(n_kills) // 5)) for name in chosen}
    print(json.dumps({"kills": found, "at once": at_once}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Sends signals to processes that learn, at random moments: ``python interrupting.py TRIES SEED``.

It prints, for each kind of work, how often it ended in which way. One process imports the library
and does the work once; those that get a signal are its children.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discbayes import BayesNetClassifier, GreedyEdges, load, load_dataset
from discbayes.cli import fit
from discbayes.cli import main as command_line

Begin = Callable[[], object]
Work = Callable[[Begin], str]  # it calls what it is given when it may be interrupted


def in_child(work: Work, number: int, after: float, errors: Path) -> tuple[str, float]:
    """What some work says in another process, which gets a signal some seconds after it has begun;
    its time.
    """
    answer, say = os.pipe()
    ready, begun = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            os.write(say, work(lambda: os.write(begun, b".")).encode())
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(say)
    os.read(ready, 1)
    began = time.perf_counter()
    time.sleep(after)
    os.kill(child, number)
    with os.fdopen(answer) as said:
        text = said.read()
    seconds = time.perf_counter() - began
    os.waitpid(child, 0)
    for end in (ready, begun):
        os.close(end)
    return text, seconds


# A fit in Python


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states hold the same objects."""
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def interrupted(
    begin: Begin, classifier: BayesNetClassifier, learn: Callable[[], object], X: Any
) -> str:
    """How a classifier is after it was interrupted while it learned; X are rows of what it
    learns.
    """
    before = dict(vars(classifier))
    raised = False
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            begin()
            learn()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raised = True
    if same(before, vars(classifier)):
        return "as before" if raised else "nothing learned"
    proba = classifier.predict_proba(X)
    assert proba.shape == (len(X), classifier.classes_.size)
    assert np.allclose(proba.sum(axis=1), 1)
    assert classifier.structure_ is classifier.network_.structure
    assert classifier.n_features_in_ == len(classifier.feature_names_in_) == X.shape[1]
    if any("interrupted" in str(one.message) for one in told):
        return "best so far"
    return "learned, then interrupted" if raised else "learned"


def fits() -> dict[str, Work]:
    """Classifiers that know one table and learn another, with other columns and classes."""
    iris, cancer = load_dataset("iris"), load_dataset("breast-cancer")
    settings = {
        "tan-map": {"structure": "tan", "parameters": "map"},
        "default": {},
        "hill climbing": {"structure": "ghc", "parameters": "map"},
        "greedy": {
            "structure": GreedyEdges(score="cr", evaluation="loo"),
            "parameters": "map",
            "n_jobs": 2,
        },
        "cl": {"structure": "tan", "parameters": "cl", "n_jobs": 2},
        "ml-bn-svm": {"structure": "nb", "parameters": "ml-bn-svm"},
    }

    def one(given: dict[str, Any], begin: Begin) -> str:
        classifier = BayesNetClassifier(**given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
        classifier.__dict__.update(
            {name: value for name, value in vars(known).items() if name.endswith("_")}
        )
        return interrupted(
            begin, classifier, lambda: classifier.fit(cancer.X, cancer.y), cancer.X[:50]
        )

    works: dict[str, Work] = {name: partial(one, given) for name, given in settings.items()}
    return {**works, "partial_fit": part_of(cancer)}


def part_of(data: Any) -> Work:
    """Rows that come in two parts: the counts are those of the first, or of both."""
    X, y = data.X, data.y
    known = {
        n: BayesNetClassifier("tan", "map").partial_fit(X[:300], y[:300]) for n in (300, len(y))
    }
    both = known[len(y)].partial_fit(X[300:], y[300:])
    said = {n: clf.predict_proba(X).tobytes() for n, clf in known.items()}
    del both

    def work(begin: Begin) -> str:
        clf = BayesNetClassifier("tan", "map").partial_fit(X[:300], y[:300])
        for_rows = interrupted(begin, clf, lambda: clf.partial_fit(X[300:], y[300:]), X[:50])
        assert clf.sufficient_statistics_ is not None
        if for_rows != "best so far":  # a search that was interrupted has fewer edges, and says so
            assert clf.predict_proba(X).tobytes() == said[clf.sufficient_statistics_.n_samples]
        return for_rows

    return work


# The command line


def commands(folder: Path) -> dict[str, list[str]]:
    """Fits of files, in memory and in passes."""
    data = load_dataset("breast-cancer")
    table = data.X.assign(diagnosis=data.y)
    table.to_csv(folder / "rows.csv", index=False)
    base = [
        "fit",
        "--quiet",
        str(folder / "rows.csv"),
        "--target",
        "diagnosis",
        "-o",
        str(folder / "out" / "model.json"),
    ]
    return {
        "default": base,
        "hill climbing": [*base, "--structure", "ghc", "--parameters", "map"],
        "passes": [*base, "--structure", "tan", "--parameters", "map", "--memory", "20MB"],
    }


def command(call: list[str], begin: Begin) -> str:
    """The exit code of a command, which may be interrupted from its first step to its last."""
    run = fit.run

    def run_now(args: Any) -> None:
        begin()
        run(args)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    fit.run = run_now
    code = command_line(call)
    fit.run = run
    return str(code)


def check_command(said: str, errors: Path, folder: Path) -> str:
    """How a command ended, where what it left is sound."""
    lines = [
        line
        for line in errors.read_text(encoding="utf-8").splitlines()
        if not line.startswith("[discbayes]")
    ]
    assert all(line.startswith("discbayes: ") for line in lines), lines
    assert os.listdir(folder / "tmp") == []
    left = os.listdir(folder / "out")
    assert left == ["model.json"] or (left == [] and said != "0"), (said, left)
    if left:
        assert load(folder / "out" / "model.json").n_features_in_ == 30
        (folder / "out" / "model.json").unlink()
    if said == "0":
        return "exit 0, best so far" if any("interrupted" in line for line in lines) else "exit 0"
    assert len([line for line in lines if "discbayes: error:" in line]) == 1, lines
    return f"exit {said}{', model saved' if left else ''}"


def try_works(kind: str, n_tries: int, rng: random.Random) -> dict[str, Counter[str]]:
    """How each kind of work ended."""
    found: dict[str, Counter[str]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "out").mkdir()
        (folder / "tmp").mkdir()
        os.environ["TMPDIR"] = str(folder / "tmp")
        signals = [signal.SIGINT] if kind == "fit" else [signal.SIGINT, signal.SIGTERM]
        if kind == "fit":
            works = fits()
        else:
            works = {name: partial(command, call) for name, call in commands(folder).items()}
        for name, work in works.items():
            work(time.time)  # compiles
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            _, usual = in_child(work, 0, 0.0, folder / "errors")
            for path in (folder / "out").iterdir():
                path.unlink()
            for number in signals:
                ends = found.setdefault(f"{name} {signal.Signals(number).name}", Counter())
                for _ in range(n_tries):
                    said, _ = in_child(work, number, rng.uniform(0, usual), folder / "errors")
                    if not said:
                        raise SystemExit(
                            f"{name}: {(folder / 'errors').read_text(encoding='utf-8')}"
                        )
                    ends[
                        said if kind == "fit" else check_command(said, folder / "errors", folder)
                    ] += 1
    return found


if __name__ == "__main__":
    tries, rng = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    print(json.dumps({kind: try_works(kind, tries, rng) for kind in ("fit", "command")}))

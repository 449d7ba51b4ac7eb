"""Record the types that real use calls kernels with: ``make signatures``.

It writes ``src/discbayes/kernels/signatures.txt``, and ``signatures_of_default.txt`` with those of
the default alone. Tables are small: it is the types that count.
Names on the command line choose some uses (``make signatures USES="default streams"``), whose calls
are added to the file, and lines that no longer fit the kernels are removed; without any, the file
is written anew.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

USES: dict[str, Callable[[], None]] = {}
TREES = ("nb", "tan", "tan-fcll", "tan-acll", "kdb", "ghc")
SEARCHES = ("greedy", "superparent", "order", "anneal")


def use(function: Callable[[], None]) -> Callable[[], None]:
    """Add a use to the list."""
    USES[function.__name__] = function
    return function


def table(
    n_classes: int = 3, missing: float = 0.0, n_values: int = 0, n_rows: int = 90
) -> tuple[Any, np.ndarray]:
    """Return columns that tell classes apart, two of them as text with some number of values."""
    import pandas as pd

    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)) + y[:, None], columns=["a", "b", "c"])
    if n_values:
        X["d"] = pd.Categorical([f"v{k % n_values}" for k in range(n_rows)])
        X["e"] = [f"w{k % 3}" for k in rng.permutation(n_rows) + y]
    return X.mask(rng.random(X.shape) < missing), y


def tables() -> Iterator[tuple[Any, np.ndarray]]:
    """Return complete and incomplete rows, codes of one and of two bytes, two and three classes."""
    yield table(2)
    yield table(3, 0.15, n_values=4)
    yield table(3, 0.15, n_values=260, n_rows=300)


def masked(X: Any) -> Any:
    """Return rows with more missing values."""
    return X.mask(np.random.default_rng(1).random(X.shape) < 0.3)


def learn(structure: Any, parameters: Any, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Return fitted models with their rows, after predictions of these and of incomplete ones."""
    from discbayes import BayesNetClassifier

    for X, y in tables():
        model = BayesNetClassifier(structure, parameters, random_state=0, **options).fit(X, y)
        for rows in (X, X[:3], masked(X[:30])):
            model.predict_proba(rows)
        yield model, X


def quick(name: str) -> Any:
    """Return a parameter learner that ends soon."""
    from discbayes.parameters import PARAMETERS

    learner = PARAMETERS[name]()
    few = {"max_iter": 3, "lam": 1.0, "gamma": 1.0, "kappa": 0.5, "stopping": "convergence"}
    known = learner.get_params()
    return learner.set_params(**{key: few[key] for key in few if key in known})


@use
def default() -> None:
    """The default classifier."""
    from discbayes import BayesNetClassifier

    for X, y in (table(2, n_values=3), table(3, 0.15, n_values=3)):
        model = BayesNetClassifier().fit(X, y)
        for rows in (X, X[:3], masked(X)):
            model.predict_proba(rows)


@use
def numbers() -> None:
    """Numbers of all kinds, whole and broken, in either order, few and many values."""
    from discbayes import BayesNetClassifier

    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    fine = rng.normal(0, 400, size=(400, 2)) + 50.0 * y[:, None]
    whole = rng.integers(0, 5, size=(400, 3)) + y[:, None]
    large = rng.integers(0, 30_000, size=(400, 1)) + 900 * y[:, None]
    values = np.hstack([whole, fine, large, np.arange(400)[:, None] % 300])
    kinds = (np.float64, np.float32, np.int64, np.int32, np.int16, np.uint8, bool)
    for kind, order in product(kinds, "CF"):
        X = np.array(whole if np.dtype(kind).itemsize == 1 else values, dtype=kind, order=order)
        for categorical in ("auto", [0, X.shape[1] - 1]):
            model = BayesNetClassifier("tan", "map", categorical=categorical).fit(X, y)
            for rows in (X, X[::2], X[:3]):
                model.predict_proba(rows)
    X = np.where(rng.random(values.shape) < 0.1, np.nan, values)
    BayesNetClassifier("tan", "map").fit(X, y).predict_proba(X)


@use
def estimated_counts() -> None:
    """Counts of missing values estimated by EM, in scores and in parameters."""
    from discbayes import KDB, MaximumAPosteriori, SpanningTree
    from discbayes.scores import ConditionalInformation

    learner = MaximumAPosteriori(missing="em")
    for structure in (SpanningTree(score=ConditionalInformation(missing="em")), KDB(k=2)):
        for _ in learn(structure, learner):
            pass


@use
def default_of_many_values() -> None:
    """The default classifier with codes of two bytes, and with weights."""
    from discbayes import BayesNetClassifier

    X, y = table(3, 0.15, n_values=260, n_rows=300)
    for weight in (None, np.linspace(0.5, 2.0, len(y))):
        model = BayesNetClassifier().fit(X, y, weight)
        for rows in (X, X[:3], masked(X)):
            model.predict_proba(rows)


@use
def default_of_groups() -> None:
    """The default classifier where values of two bytes are in groups."""
    from discbayes import BayesNetClassifier

    X, y = table(3, n_rows=9_000)
    rng = np.random.default_rng(1)
    for name in "de":
        tells = np.where(rng.random(len(y)) < 0.6, y, rng.integers(0, 3, len(y)))
        X[name] = [f"v{k}" for k in 3 * rng.integers(0, 86, len(y)) + tells]
    for rows, weight in ((X, None), (masked(X), np.linspace(0.5, 2.0, len(y)))):
        model = BayesNetClassifier().fit(rows, y, weight)
        assert any(variable.groups for variable in model.domain_.features)
        for some in (X[:300], X[:3], masked(X[:300])):
            model.predict_proba(some)


@use
def ensemble() -> None:
    """An ensemble."""
    from discbayes import BayesNetEnsemble

    for X, y in tables():
        model = BayesNetEnsemble(n_members=2, random_state=0).fit(X, y)
        model.predict_proba(X)
        model.explain(X[:2])


@use
def parameters() -> None:
    """Every parameter learner on a tree and on a network with two parents."""
    from discbayes import KDB
    from discbayes.parameters import PARAMETERS

    for structure, name in product(("tan", KDB(k=2)), PARAMETERS):
        for _ in learn(structure, quick(name)):
            pass


@use
def missing_values() -> None:
    """The other ways to treat missing values at fit."""
    for missing in ("value", "drop"):
        for _ in learn("tan", "map", missing=missing):
            pass


@use
def structures() -> None:
    """Every search by a score of edges."""
    from discbayes import KDB, Branching, HillClimb, SpanningTree

    trees = [SpanningTree(score=name) for name in ("ll", "mdl")]
    others = [Branching("loo"), KDB(k=3), HillClimb("mdl", 3, reverse=True)]
    for structure in (*TREES, *trees, *others):
        for _ in learn(structure, "map"):
            pass


@use
def searches() -> None:
    """Every search on the rows."""
    from discbayes.search import STRUCTURES

    for name, score, evaluation in product(SEARCHES, ("cr", "cl", "mm"), ("resubstitution", "loo")):
        search = STRUCTURES[name](score=score, evaluation=evaluation)
        if name == "anneal":
            search.set_params(max_tries=3, max_successes=2, max_rejections=2)
        for _ in learn(search, "map"):
            pass
    for name in ("greedy", "superparent", "order"):
        for _ in learn(STRUCTURES[name](k=2), "map"):
            pass


@use
def calibration() -> None:
    """Calibrated probabilities, and other discretizers."""
    for calibrate in ("temperature", "isotonic"):
        for _ in learn("tan", "map", calibrate=calibrate):
            pass
    for discretizer in ("mdlp", "equal-frequency"):
        for _ in learn("nb", "map", discretizer=discretizer):
            pass


@use
def questions() -> None:
    """What a model can be asked besides predictions."""
    from discbayes import KDB

    for structure in ("nb", "tan", KDB(k=2)):
        for model, X in learn(structure, "map"):
            rows = masked(X)
            known = {X.columns[0]: X.iloc[0, 0]}
            model.explain(rows[:3])
            model.relevance(rows[:20])
            model.value_of_information(known)
            model.counterfactual(X[:1])
            network = model.network_
            network.log_likelihood(rows)
            network.novelty(rows[:5], n_draws=20)
            network.query("class", known)
            network.query(X.columns[1], known)
            network.most_probable(known)
            for how in ("each", "joint", "draw"):
                network.fill(rows[:5], how, random_state=0)
            network.sample(5, random_state=0)
            network.normalized()


@use
def estimates() -> None:
    """Rows beyond the limit of exact inference."""
    from discbayes import KDB, BayesNetClassifier

    for X, y in tables():
        model = BayesNetClassifier(KDB(k=2), "map", max_cells=4, beyond_max_cells=20).fit(X, y)
        model.predict_proba(masked(X)[:4])


@use
def streams() -> None:
    """Rows that are read from files, and rows that come in parts."""
    from discbayes import BayesNetClassifier

    with tempfile.TemporaryDirectory() as folder:
        for X, y in tables():
            path = str(Path(folder) / "rows.parquet")
            X.assign(y=y).to_parquet(path)
            for structure, learner in (("auto", "auto"), ("tan", "map"), ("nb", "cl")):
                model = BayesNetClassifier(structure, learner).fit(path, "y")
                model.predict_proba(X)
            model = BayesNetClassifier("tan", "map")
            model.partial_fit(X[:50], y[:50], classes=np.unique(y)).partial_fit(X[50:], y[50:])
            model.predict_proba(X)


def fits(line: str) -> bool:
    """Return whether a kernel still takes as many arguments, and tuples of as many items."""
    from discbayes.kernels._signatures import load_kernel, parse

    name, *kinds = line.split(" ")
    try:
        kernel = load_kernel(name)
        sound = all(_fits_tuples(parse(kind)) for kind in kinds)
    except (ImportError, AttributeError, LookupError):
        return False
    return sound and len(signature(kernel.py_func).parameters) == len(kinds)


def _fits_tuples(kind: Any) -> bool:
    from discbayes.kernels._signatures import RecordType
    from discbayes.kernels._warmup import record_class

    if not isinstance(kind, RecordType):
        return True
    if kind.name and len(record_class(kind.name)._fields) != len(kind.items):
        return False
    return all(map(_fits_tuples, kind.items))


def main(names: list[str]) -> None:
    """Run the uses and write the file."""
    warnings.simplefilter("ignore")
    import kernel_calls
    from discbayes.kernels._signatures import FILE, FILE_OF_DEFAULT

    lines = set(filter(fits, FILE.read_text("utf-8").splitlines())) if names else set()
    for name in names or USES:
        with kernel_calls.recorded() as found:
            USES[name]()
        lines |= found
        print(f"{name}: {len(lines)} lists of types so far", flush=True)
        if USES[name] is default:
            write(FILE_OF_DEFAULT, found)
    write(FILE, lines)


def write(path: Path, lines: set[str]) -> None:
    """Write lines in their order."""
    path.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Estimators by name, fitted to a table and evaluated on other rows of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from discbayes.classifier import BayesNetClassifier
from discbayes.data.frames import take_rows
from discbayes.data.table import looks_numeric
from discbayes.evaluation.baselines import BASELINES, baseline
from discbayes.evaluation.method_names import DEFAULT_METHOD
from discbayes.evaluation.metrics import measures
from discbayes.recipes import recipe

FIGURES = ("accuracy", "log_loss", "brier", "ece")
_VARYING = re.compile(r"\d+|'[^']*'")
KIND_LENGTH = 80
WARM_UP_ROWS = 100
ALL = slice(None)
SIZES = ("n_test", "parameters", "fit_seconds", "predict_seconds")


def estimator_of(method: str, random_state: int = 0, n_jobs: int | None = 1) -> Any:
    """Return the default, a baseline by its name, or a recipe's tag with options after spaces.

    >>> estimator_of("TAN-E-G penalty=1").parameters.penalty
    1.0
    """
    if method == DEFAULT_METHOD:
        return BayesNetClassifier(n_jobs=n_jobs, random_state=random_state)
    if method in BASELINES:
        return baseline(method, n_jobs, random_state)
    tag, options = split_method(method)
    return recipe(tag, random_state=random_state, n_jobs=n_jobs, **options)


def split_method(method: str) -> tuple[str, dict[str, float]]:
    """Split a method into the tag of a recipe and its options.

    >>> split_method("TAN-MCL tol=0.001"), split_method("NB-MCL")
    (('TAN-MCL', {'tol': 0.001}), ('NB-MCL', {}))
    """
    tag, *options = method.split()
    return tag, dict(_option(option, method) for option in options)


def _option(text: str, method: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    if not looks_numeric(value):
        raise ValueError(f"{text!r} in {method!r} is not an option of a recipe: write NAME=NUMBER")
    return name, float(value)


def distinct(messages: Iterable[str]) -> list[str]:
    """Return the first message of each kind.

    >>> distinct(["column 'a' has 3 values", "column 'b' has 4 values", "no rows"])
    ["column 'a' has 3 values", 'no rows']
    """
    first: dict[str, str] = {}
    for message in messages:
        first.setdefault(message_kind(message), message)
    return list(first.values())


def message_kind(message: str) -> str:
    """Return the beginning of a message without numbers and quoted values, which vary."""
    return _VARYING.sub("", message)[:KIND_LENGTH]


class Judged(NamedTuple):
    """Metrics by name, the warnings, and the posterior of the test rows."""

    figures: dict[str, float]
    warned: str
    shares: np.ndarray


def judge(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    masked: Mapping[int, Any],
    some: np.ndarray | slice = ALL,
) -> Judged:
    """Fit an estimator to training rows and evaluate it on test rows.

    Parameters
    ----------
    estimator : estimator
        Not fitted yet.
    X, y : table and labels
        All rows.
    train, test : ndarray of int
        Positions of the rows.
    masked : mapping of int to table
        The test rows, or ``some`` of them, with this percentage of their cells missing; their
        metrics are called ``accuracy@30`` and so on.
    some : ndarray of int or slice
        Which of the test rows ``masked`` holds.

    Returns
    -------
    Judged
        Metrics, sizes and times; warnings; the posterior of the complete test rows.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = perf_counter()
        estimator.fit(take_rows(X, train), y[train])
        fitted = perf_counter()
        shares = estimator.predict_proba(take_rows(X, test))
        done = perf_counter()
        codes = class_places(estimator, y[test])
        found = {name: value for name, value in measures(shares, codes).items() if name in FIGURES}
        for share, rows in masked.items():
            with_missing = measures(estimator.predict_proba(rows), codes[some])
            found |= {f"{name}@{share}": with_missing[name] for name in FIGURES[:2]}
    found |= {"n_test": len(test), "parameters": _size(estimator)}
    found |= {"fit_seconds": fitted - started, "predict_seconds": done - fitted}
    return Judged(found, "; ".join(distinct(str(warning.message) for warning in caught)), shares)


def class_places(estimator: Any, y: np.ndarray) -> np.ndarray:
    """Return the position of each label in the classes of a fitted estimator, −1 if unknown."""
    place = {label: code for code, label in enumerate(estimator.classes_.tolist())}
    return np.array([place.get(label, -1) for label in y.tolist()])


def warm_up(estimator: Any, with_missing: bool) -> None:
    """Fit an estimator to a few rows, so that later times do not include compiling and loading.

    All columns are informative, so that a search has edges to try; incomplete rows have kernels of
    their own.
    """
    rng = np.random.default_rng(0)
    X = rng.random((WARM_UP_ROWS, 3))
    y = np.arange(WARM_UP_ROWS) % 2
    X += 0.7 * y[:, None]
    incomplete = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(incomplete if with_missing else X, y).predict_proba(incomplete)


def _size(estimator: Any) -> int:
    """Return the number of parameters of a fitted estimator."""
    if hasattr(estimator, "network_"):
        return estimator.network_.n_parameters
    return estimator.n_parameters_

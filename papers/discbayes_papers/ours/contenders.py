"""Who is compared on the pages of peers, by tags: ours, and classifiers of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.evaluation.judging import estimator_of, warm_up

# whose versions are noted beside the results
PACKAGES = ("lightgbm", "xgboost", "catboost", "interpret-core")


@dataclass(frozen=True)
class Contender:
    """A method as pages show it.

    Attributes
    ----------
    name : str
        What it is called.
    make : function
        Makes an estimator that is not fitted yet, with one thread.
    ours : bool
        It is of this library: it is also run on all training rows.
    reference : bool
        The others are compared with it, data set by data set.
    """

    name: str
    make: Callable[[], Any]
    ours: bool = False
    reference: bool = False


def _other(tag: str, name: str) -> Contender:
    return Contender(name, partial(estimator_of, tag))


# A line more is a method more: what is stored of the others stays.
CONTENDERS = {
    "discbayes": Contender(
        "discbayes (default)", partial(BayesNetClassifier, n_jobs=1, random_state=0), True, True
    ),
    "ensemble": Contender(
        "discbayes, ensemble of 8", partial(BayesNetEnsemble, n_jobs=1, random_state=0), ours=True
    ),
    "TAN-E-G+T": Contender(
        "discbayes, default of 0.1", partial(estimator_of, "TAN-E-G+T"), ours=True
    ),
    "lightgbm": _other("lightgbm", "LightGBM"),
    "catboost": _other("catboost", "CatBoost"),
    "xgboost": _other("xgboost", "XGBoost"),
    "rf": _other("rf", "random forest"),
    "ebm": _other("ebm", "EBM"),
    "hgb": _other("hgb", "HistGradientBoosting"),
    "svm": _other("svm", "RBF SVM"),
    "lr": _other("lr", "logistic regression"),
}


def names_of(tags: Iterable[str]) -> list[str]:
    """Return what methods are called on the pages."""
    return [CONTENDERS[tag].name for tag in tags]


@cache
def warmed_up(method: Contender, with_missing: bool) -> None:
    """Compile and load what a method needs, once in a process, so that its times are its own."""
    warm_up(method.make(), with_missing)

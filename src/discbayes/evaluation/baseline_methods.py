"""How each baseline prepares its columns, what learns, and how many numbers it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

MAX_VALUES = 254  # of a category: what histogram gradient boosting can hold
N_NEIGHBORS, LEAF_ROWS = 5, 5


@dataclass(frozen=True)
class Facts:
    """What a method may depend on: which columns are numbers, with gaps, and categories; values,
    class sizes.
    """

    numbers: list[int]
    with_missing: list[int]
    categories: list[int]
    cards: list[int]
    class_sizes: np.ndarray
    seed: int
    n_jobs: int


# ---- preparing columns


def _one_hot() -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore", max_categories=MAX_VALUES)


def _scaled(facts: Facts) -> ColumnTransformer:
    scaled = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    return ColumnTransformer(
        [
            ("numbers", scaled, facts.numbers),
            ("gaps", MissingIndicator(features="all"), facts.with_missing),
            ("categories", _one_hot(), facts.categories),
        ]
    )


def _raw_numbers(facts: Facts) -> ColumnTransformer:
    parts = [
        ("numbers", "passthrough", facts.numbers),
        ("categories", _one_hot(), facts.categories),
    ]
    return ColumnTransformer(parts, sparse_threshold=0)  # gaps need a dense matrix


def _native(facts: Facts) -> ColumnTransformer:
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=MAX_VALUES,
    )
    return ColumnTransformer(
        [("numbers", "passthrough", facts.numbers), ("categories", codes, facts.categories)]
    )


# ---- classifiers


def _logistic_regression(facts: Facts) -> Any:
    return LogisticRegression(max_iter=1000)


def _boosting(facts: Facts) -> Any:
    first = len(facts.numbers)
    return HistGradientBoostingClassifier(
        categorical_features=list(range(first, first + len(facts.categories))),
        # or its stratified draw fails
        early_stopping="auto" if facts.class_sizes.min() > 1 else False,
        random_state=facts.seed,
    )


def _tree(facts: Facts) -> Any:
    return DecisionTreeClassifier(min_samples_leaf=LEAF_ROWS, random_state=facts.seed)


def _neighbors(facts: Facts) -> Any:
    return KNeighborsClassifier(min(N_NEIGHBORS, int(facts.class_sizes.sum())), n_jobs=facts.n_jobs)


def _categorical_nb(facts: Facts) -> Any:
    return CategoricalNB(min_categories=[card + 1 for card in facts.cards])


# ---- how many numbers a classifier holds


def _linear_size(model: Any) -> int:
    return model.coef_.size + model.intercept_.size


def _svm_size(model: Any) -> int:
    pair = model.calibrated_classifiers_[0]
    machine = pair.estimator
    vectors = machine.support_.size * machine.n_features_in_
    return int(
        vectors
        + np.prod(machine.dual_coef_.shape)
        + machine.intercept_.size
        + 2 * len(pair.calibrators)
    )


def _boosting_size(model: Any) -> int:
    """A leaf is one number, an inner node two."""
    nodes = [tree.nodes["is_leaf"] for stage in model._predictors for tree in stage]
    return int(
        sum(2 * leaves.size - leaves.sum() for leaves in nodes) + model._baseline_prediction.size
    )


def _tree_size(model: Any) -> int:
    """A leaf has the shares of the classes, an inner node two numbers."""
    leaves = model.get_n_leaves()
    return int(leaves * model.classes_.size + 2 * (model.tree_.node_count - leaves))


def _neighbors_size(model: Any) -> int:
    return int(model.n_samples_fit_ * (model.n_features_in_ + 1))


def _categorical_nb_size(model: Any) -> int:
    return model.class_log_prior_.size + sum(table.size for table in model.feature_log_prob_)


# ---- all of them


@dataclass(frozen=True)
class Method:
    """How columns are prepared, the classifier, its size, and the settings from which ``tune``
    chooses.
    """

    prepare: Callable[[Facts], Any]
    classifier: Callable[[Facts], Any]
    size: Callable[[Any], int]
    grid: Mapping[str, list[Any]]
    discretizer: Any = None


class NoCuts(BaseEstimator):
    """A discretiser that leaves numbers alone."""

    def fit(self, X: np.ndarray, y: Any = None) -> NoCuts:
        self.cut_points_ = [np.zeros(0)]
        return self


METHODS = {
    "lr": Method(_scaled, _logistic_regression, _linear_size, {"C": [0.01, 0.1, 1.0, 10.0]}),
    "svm": Method(
        _scaled,
        lambda facts: SVC(),
        _svm_size,
        {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]},
    ),
    "hgb": Method(
        _native,
        _boosting,
        _boosting_size,
        {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]},
    ),
    "tree": Method(
        _raw_numbers, _tree, _tree_size, {"min_samples_leaf": [1, 5, 20], "max_depth": [None, 5]}
    ),
    "knn": Method(_scaled, _neighbors, _neighbors_size, {"n_neighbors": [1, 5, 15]}),
    "cnb": Method(
        lambda facts: "passthrough",
        _categorical_nb,
        _categorical_nb_size,
        {"alpha": [0.1, 1.0]},
        "mdlp",
    ),
}

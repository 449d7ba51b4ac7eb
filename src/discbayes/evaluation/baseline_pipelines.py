"""The pipelines of the baselines: how each prepares its columns, its classifier, its settings.

Four classifiers are of other libraries (the extra ``peers``), which are imported when one of their
pipelines is made. A pipeline takes a matrix of numbers and of codes of categories, in which missing
cells are NaN and categories that the training rows do not have are −1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from discbayes._lazy_imports import need

UNKNOWN = -1.0
MAX_ROWS = 10_000  # of methods that would be slow with more
MAX_VALUES = 254  # of a category: what histogram gradient boosting can hold
N_TREES = 200  # of LightGBM and XGBoost
N_ITERATIONS = 500  # of CatBoost
FOREST_SIZE = 500


@dataclass(frozen=True)
class TrainingColumns:
    """The inputs of a pipeline: columns of the matrix by kind, class sizes, and settings."""

    numeric: list[int]
    with_missing: list[int]
    categorical: list[int]
    cards: list[int]
    class_sizes: np.ndarray
    seed: int
    n_jobs: int

    @property
    def one_hot(self) -> tuple[str, Any, list[int]]:
        """The step that encodes categories as indicators."""
        encoder = OneHotEncoder(handle_unknown="ignore", max_categories=MAX_VALUES)
        return "categorical", encoder, self.categorical

    @property
    def scaled(self) -> ColumnTransformer:
        """Imputed and scaled numbers with indicators of missing ones, and one-hot categories."""
        median = SimpleImputer(strategy="median", keep_empty_features=True)
        return ColumnTransformer(
            [
                ("numeric", make_pipeline(median, StandardScaler()), self.numeric),
                ("missing", MissingIndicator(features="all"), self.with_missing),
                self.one_hot,
            ]
        )

    @property
    def unscaled(self) -> ColumnTransformer:
        """Numbers as they are, and one-hot categories."""
        numeric = ("numeric", "passthrough", self.numeric)
        # missing values need a dense matrix
        return ColumnTransformer([numeric, self.one_hot], sparse_threshold=0)

    @property
    def native(self) -> ColumnTransformer:
        """Numbers as they are, then categories as codes."""
        codes = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=np.nan,
            max_categories=MAX_VALUES,
        )
        numeric = ("numeric", "passthrough", self.numeric)
        return ColumnTransformer([numeric, ("categorical", codes, self.categorical)])

    @property
    def native_categories(self) -> list[int]:
        """The columns of ``native`` that are categories."""
        first = len(self.numeric)
        return list(range(first, first + len(self.categorical)))

    def native_kinds(self, numeric: str, categorical: str) -> list[str]:
        """Return the kind of each column of ``native``, in the words of a library."""
        return [numeric] * len(self.numeric) + [categorical] * len(self.categorical)


def _boosting(columns: TrainingColumns) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        categorical_features=columns.native_categories,
        # the stratified draw of early stopping fails on a class of one row
        early_stopping="auto" if columns.class_sizes.min() > 1 else False,
        random_state=columns.seed,
    )


# ---- classifiers of other libraries


def _lightgbm(columns: TrainingColumns) -> Any:
    return need("lightgbm").LGBMClassifier(
        n_estimators=N_TREES, n_jobs=columns.n_jobs, random_state=columns.seed, verbose=-1
    )


def _xgboost(columns: TrainingColumns) -> Any:
    return need("xgboost").XGBClassifier(
        n_estimators=N_TREES,
        tree_method="hist",
        enable_categorical=True,
        feature_types=columns.native_kinds("q", "c"),
        n_jobs=columns.n_jobs,
        random_state=columns.seed,
        verbosity=0,
    )


def _catboost(columns: TrainingColumns) -> Any:
    return need("catboost").CatBoostClassifier(
        iterations=N_ITERATIONS,
        thread_count=columns.n_jobs,
        random_seed=columns.seed,
        verbose=False,
        allow_writing_files=False,
    )


def _ebm(columns: TrainingColumns) -> Any:
    return need("interpret.glassbox").ExplainableBoostingClassifier(
        feature_types=columns.native_kinds("continuous", "nominal"),
        n_jobs=columns.n_jobs,
        random_state=columns.seed,
    )


def as_catboost_frame(matrix: np.ndarray, n_numeric: int) -> Any:
    """Return a frame of numbers and then of whole numbers: CatBoost's categories have no NaN."""
    pandas = need("pandas")  # CatBoost needs it as well, so it is there
    codes = np.nan_to_num(matrix[:, n_numeric:], nan=UNKNOWN).astype(np.int64)
    parts = [pandas.DataFrame(part) for part in (matrix[:, :n_numeric], codes)]
    return pandas.concat(parts, axis=1, ignore_index=True)


# ---- sizes


def _svm_size(model: Any) -> int:
    calibrated = model.calibrated_classifiers_[0]
    machine = calibrated.estimator
    vectors = machine.support_.size * machine.n_features_in_
    own = np.prod(machine.dual_coef_.shape) + machine.intercept_.size
    return int(vectors + own + 2 * len(calibrated.calibrators))


def _boosting_size(model: Any) -> int:
    """Count one number in a leaf and two in an inner node."""
    nodes = [tree.nodes["is_leaf"] for stage in model._predictors for tree in stage]
    return int(
        sum(2 * leaves.size - leaves.sum() for leaves in nodes) + model._baseline_prediction.size
    )


def _tree_size(model: Any) -> int:
    """Count the shares of the classes in a leaf and two numbers in an inner node."""
    n_leaves = model.get_n_leaves()
    return int(n_leaves * model.classes_.size + 2 * (model.tree_.node_count - n_leaves))


def _forest_size(model: Any) -> int:
    return sum(map(_tree_size, model.estimators_))


def _lightgbm_size(model: Any) -> int:
    """Count one number in a leaf and two in an inner node, as ``_boosting_size`` does."""
    trees = model.booster_.dump_model()["tree_info"]
    return sum(3 * tree["num_leaves"] - 2 for tree in trees)


def _xgboost_size(model: Any) -> int:
    """Count one number in a leaf and two in an inner node, as ``_boosting_size`` does."""
    n_leaves = [tree.count("leaf=") for tree in model.get_booster().get_dump()]
    return sum(3 * n - 2 for n in n_leaves)


def _catboost_size(model: Any) -> int:
    """Count the values of the leaves, and two numbers for each level of a symmetric tree."""
    depths = np.log2(model.get_tree_leaf_counts())
    return int(model.get_leaf_values().size + 2 * depths.sum())


def _ebm_size(model: Any) -> int:
    return sum(map(np.size, model.term_scores_)) + np.size(model.intercept_)


# ---- methods


def _no_options(columns: TrainingColumns) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Method:
    """A baseline.

    Attributes
    ----------
    pipeline : function of ``TrainingColumns``
        Makes the pipeline.
    n_parameters : function of the fitted classifier
        Counts the numbers that it holds.
    grid : mapping of str to list
        The settings to choose from when they are tuned.
    package : str
        What must be installed beside scikit-learn.
    max_rows : int, optional
        The most rows that it learns from unless more are asked for.
    fit_options : function of ``TrainingColumns``
        Options of the classifier's ``fit``.
    predict_threads : str
        The option of its ``predict_proba`` that sets the number of threads, if there is one.
    """

    pipeline: Callable[[TrainingColumns], Pipeline]
    n_parameters: Callable[[Any], int]
    grid: Mapping[str, list[Any]]
    package: str = "sklearn"
    max_rows: int | None = None
    fit_options: Callable[[TrainingColumns], dict[str, Any]] = _no_options
    predict_threads: str = ""


METHODS = {
    "lr": Method(
        lambda columns: make_pipeline(columns.scaled, LogisticRegression(max_iter=1000)),
        lambda model: model.coef_.size + model.intercept_.size,
        {"C": [0.01, 0.1, 1.0, 10.0]},
    ),
    "svm": Method(
        lambda columns: make_pipeline(columns.scaled, SVC()),
        _svm_size,
        {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]},
        max_rows=MAX_ROWS,
    ),
    "hgb": Method(
        lambda columns: make_pipeline(columns.native, _boosting(columns)),
        _boosting_size,
        {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]},
    ),
    "tree": Method(
        lambda columns: make_pipeline(
            columns.unscaled, DecisionTreeClassifier(min_samples_leaf=5, random_state=columns.seed)
        ),
        _tree_size,
        {"min_samples_leaf": [1, 5, 20], "max_depth": [None, 5]},
    ),
    "knn": Method(
        lambda columns: make_pipeline(
            columns.scaled,
            KNeighborsClassifier(min(5, int(columns.class_sizes.sum())), n_jobs=columns.n_jobs),
        ),
        lambda model: int(model.n_samples_fit_ * (model.n_features_in_ + 1)),
        {"n_neighbors": [1, 5, 15]},
        max_rows=MAX_ROWS,
    ),
    "cnb": Method(
        lambda columns: make_pipeline(
            "passthrough", CategoricalNB(min_categories=[card + 1 for card in columns.cards])
        ),
        lambda model: model.class_log_prior_.size + sum(map(np.size, model.feature_log_prob_)),
        {"alpha": [0.1, 1.0]},
    ),
    "rf": Method(
        lambda columns: make_pipeline(
            columns.unscaled,
            RandomForestClassifier(FOREST_SIZE, n_jobs=columns.n_jobs, random_state=columns.seed),
        ),
        _forest_size,
        {"min_samples_leaf": [1, 5], "max_features": ["sqrt", 0.5]},
    ),
    "lightgbm": Method(
        lambda columns: make_pipeline(columns.native, _lightgbm(columns)),
        _lightgbm_size,
        {"learning_rate": [0.03, 0.1], "num_leaves": [7, 31]},
        package="lightgbm",
        fit_options=lambda columns: {"categorical_feature": columns.native_categories},
    ),
    "xgboost": Method(
        lambda columns: make_pipeline(columns.native, _xgboost(columns)),
        _xgboost_size,
        {"learning_rate": [0.1, 0.3], "max_depth": [3, 6]},
        package="xgboost",
    ),
    "catboost": Method(
        lambda columns: make_pipeline(
            columns.native,
            FunctionTransformer(partial(as_catboost_frame, n_numeric=len(columns.numeric))),
            _catboost(columns),
        ),
        _catboost_size,
        {"learning_rate": [0.03, 0.1], "depth": [4, 6]},
        package="catboost",
        max_rows=MAX_ROWS,
        fit_options=lambda columns: {"cat_features": columns.native_categories},
        predict_threads="thread_count",  # that of the classifier is for training alone
    ),
    "ebm": Method(
        lambda columns: make_pipeline(columns.native, _ebm(columns)),
        _ebm_size,
        {"interactions": [0, 10], "learning_rate": [0.01, 0.05]},
        package="interpret",
        max_rows=MAX_ROWS,
    ),
}

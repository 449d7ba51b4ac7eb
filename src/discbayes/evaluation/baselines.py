"""Baselines of ``compare``: six classifiers of scikit-learn, as pipelines on the same tables.

Columns are prepared on the training rows alone:

- ``lr`` (logistic regression), ``svm`` (RBF kernel, sigmoid-calibrated) and ``knn`` (5 neighbors):
  missing numbers become the median and are marked by an indicator column where the training rows
  have any, then numbers are scaled to mean 0 and variance 1; categories are one-hot encoded, and a
  missing value is one more category where the training rows have any.
- ``tree`` (decision tree, 5 rows a leaf): numbers as they are, missing ones too; categories
  one-hot encoded.
- ``hgb`` (histogram gradient boosting): numbers and categories as they are, missing ones too.
- ``cnb`` (categorical naive Bayes): numbers discretized by MDLP; a missing value is one more
  category.

A category that the training rows do not have is none of the known ones: no one-hot column is set,
and hgb and cnb take it as missing. The 254 most frequent values of a column are told apart, the
others are merged. svm and knn learn from a stratified sample of 10,000 rows where there are more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import CategoricalNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from discbayes._text import nearest_first
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import stratified_folds
from discbayes.data.table import CategoricalColumn, NumericColumns, Table
from discbayes.data.table_reader import read_table
from discbayes.data.targets import classes_and_codes, label_array
from discbayes.data.variables import resolve
from discbayes.engine import worker_count
from discbayes.evaluation.method_names import BASELINES

MAX_ROWS = {"svm": 10_000, "knn": 10_000}  # for the others there is no limit
MAX_VALUES = 254  # of a category: what histogram gradient boosting can hold
N_FOLDS = 5  # by which the probabilities of svm are calibrated, and settings chosen
UNKNOWN = -1.0


# ---- pipelines


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


def _boosting(columns: TrainingColumns) -> HistGradientBoostingClassifier:
    first = len(columns.numeric)
    return HistGradientBoostingClassifier(
        categorical_features=list(range(first, first + len(columns.categorical))),
        # the stratified draw of early stopping fails on a class of one row
        early_stopping="auto" if columns.class_sizes.min() > 1 else False,
        random_state=columns.seed,
    )


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


@dataclass(frozen=True)
class Method:
    """A pipeline, the numbers that its classifier holds, and the settings to choose from."""

    pipeline: Callable[[TrainingColumns], Pipeline]
    n_parameters: Callable[[Any], int]
    grid: Mapping[str, list[Any]]


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
    ),
    "cnb": Method(
        lambda columns: make_pipeline(
            "passthrough", CategoricalNB(min_categories=[card + 1 for card in columns.cards])
        ),
        lambda model: model.class_log_prior_.size + sum(map(np.size, model.feature_log_prob_)),
        {"alpha": [0.1, 1.0]},
    ),
}


# ---- the estimator


class NoDiscretizer(BaseEstimator):
    """A discretizer that leaves numbers as they are."""

    def fit(self, X: np.ndarray, y: Any = None) -> NoDiscretizer:
        """Find no cut points."""
        self.cut_points_ = [np.zeros(0)]
        return self


def baseline(
    name: str,
    n_jobs: int | None = 1,
    random_state: int = 0,
    max_rows: int | None = None,
    tune: bool = False,
    categorical: Any = "auto",
) -> Baseline:
    """Return a classifier of scikit-learn that takes the same tables as ``BayesNetClassifier``.

    Parameters
    ----------
    name : {"lr", "svm", "hgb", "tree", "knn", "cnb"}
        Logistic regression, support vector machine, gradient boosting, decision tree, nearest
        neighbors, naive Bayes.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores.
    random_state : int
        Seed of all random draws.
    max_rows : int, optional
        Learn from a stratified sample of at most this many rows; by default 10,000 for svm and
        knn.
    tune : bool
        Choose some settings by five-fold cross-validation on the training rows.
    categorical : "auto", "all" or list
        Numeric columns that are categories, as in ``BayesNetClassifier``.

    Returns
    -------
    Baseline
        An estimator that is not fitted yet.

    Examples
    --------
    >>> from discbayes import load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = baseline("lr").fit(iris.X, iris.y)
    >>> clf.predict_proba(iris.X.iloc[:1]).round(2)
    array([[0.98, 0.02, 0.  ]])
    """
    if name not in BASELINES:
        raise ValueError(
            f"there is no baseline {name!r}; they are {', '.join(nearest_first(name, BASELINES))}"
        )
    return Baseline(name, n_jobs, random_state, max_rows, tune, categorical)


class Baseline(ClassifierMixin, BaseEstimator):
    """A pipeline of ``METHODS`` on a table; see ``baseline``.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    pipeline_ : Pipeline
        The fitted pipeline. Its first step takes a matrix: numbers, and codes of categories.
    n_rows_ : int
        The number of rows that it was fitted on.
    """

    def __init__(
        self,
        name: str = "lr",
        n_jobs: int | None = 1,
        random_state: int = 0,
        max_rows: int | None = None,
        tune: bool = False,
        categorical: Any = "auto",
    ):
        self.name = name
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.max_rows = max_rows
        self.tune = tune
        self.categorical = categorical

    def fit(self, X: Any, y: Any) -> Baseline:
        """Fit the pipeline to a table and its labels."""
        table = read_table(X)
        validate_data(self, X, skip_check_array=True)
        labels = label_array(y, table.n_rows)
        self.classes_ = classes_and_codes(labels)[0]
        table, labels = self._sample(table, labels)
        discretizer = "mdlp" if self.name == "cnb" else NoDiscretizer()
        self._encoder = FrameEncoder(discretizer, self._categories(table), n_jobs=self.n_jobs)
        data = self._encoder.fit_transform(table, labels)
        # a sample may lack classes, whose probability is zero then
        self._places = np.searchsorted(self.classes_, self._encoder.classes_)
        matrix = self._matrix(table, data.codes)
        self.n_rows_ = data.n_samples
        with _thread_pools().limit(limits=worker_count(self.n_jobs)):
            self.pipeline_ = self._fit_pipeline(self._columns(data, matrix), matrix, data.classes)
        return self

    def _categories(self, table: Table) -> Any:
        """Take text as categories, identifiers too; cnb reads a table as BayesNetClassifier."""
        if self.name == "cnb":
            return self.categorical
        declared = resolve(self.categorical, None, table.names).categories
        return [
            at in declared or isinstance(table.find(at)[0], CategoricalColumn)
            for at in range(len(table.names))
        ]

    def _sample(self, table: Table, labels: np.ndarray) -> tuple[Table, np.ndarray]:
        max_rows = MAX_ROWS.get(self.name) if self.max_rows is None else self.max_rows
        if max_rows is None or table.n_rows <= max_rows:
            return table, labels
        rng = np.random.default_rng(self.random_state)
        rows = stratified_sample(classes_and_codes(labels)[1], max_rows, rng)
        return table.take(rows), labels[rows]

    def _columns(self, data: Encoded, matrix: np.ndarray) -> TrainingColumns:
        """Sort the columns by kind; those without any value are of no kind."""
        numeric = np.array([variable.kind == "numeric" for variable in data.domain.features])
        missing = np.isnan(matrix)
        known = ~missing.all(axis=0)
        return TrainingColumns(
            np.flatnonzero(known & numeric).tolist(),
            np.flatnonzero(known & numeric & missing.any(axis=0)).tolist(),
            np.flatnonzero(known & ~numeric).tolist(),
            data.cards.tolist(),
            np.bincount(data.classes),
            self.random_state,
            worker_count(self.n_jobs),
        )

    def _fit_pipeline(
        self, columns: TrainingColumns, matrix: np.ndarray, classes: np.ndarray
    ) -> Pipeline:
        sizes = columns.class_sizes
        if sizes.size == 1 or not (columns.numeric or columns.categorical):
            prior = DummyClassifier(strategy="prior")
            return make_pipeline("passthrough", prior).fit(matrix, classes)
        method = METHODS[self.name]
        pipeline = method.pipeline(columns)
        if self.tune:
            pipeline.set_params(**_best_settings(pipeline, method.grid, matrix, classes, columns))
        if self.name == "svm":
            # calibration by folds needs two rows of each class: a row that is alone counts twice
            rows = np.repeat(np.arange(classes.size), 1 + (sizes[classes] == 1))
            n_folds = int(np.clip(sizes.min(), 2, N_FOLDS))
            calibrated = CalibratedClassifierCV(pipeline[-1], cv=n_folds, ensemble=False)
            return make_pipeline(pipeline[0], calibrated).fit(matrix[rows], classes[rows])
        return pipeline.fit(matrix, classes)

    def _matrix(self, table: Table, codes: np.ndarray) -> np.ndarray:
        """Return numbers and codes of categories; missing cells are NaN, unknown values −1."""
        if self.name == "cnb":
            return codes.T
        matrix = np.empty((table.n_rows, len(table.names)))
        missing = table.missing_mask()
        for at, variable in enumerate(self._encoder.domain_.features):
            part, place = table.find(at)
            if variable.kind != "numeric":
                unseen = np.where(missing[at], np.nan, UNKNOWN)
                matrix[:, at] = np.where(codes[at] == variable.card, unseen, codes[at])
            elif isinstance(part, NumericColumns):
                matrix[:, at] = part.column(place)
            else:
                matrix[:, at] = np.nan
        return matrix

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        table = read_table(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        matrix = self._matrix(table, self._encoder.transform(table))
        with _thread_pools().limit(limits=worker_count(self.n_jobs)):
            found = self.pipeline_.predict_proba(matrix)
        shares = np.zeros((table.n_rows, self.classes_.size))
        shares[:, self._places] = found
        return shares

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @property
    def n_parameters_(self) -> int:
        """The number of values that the classifier holds; of nearest neighbors, the rows."""
        check_is_fitted(self)
        model = self.pipeline_[-1]
        if isinstance(model, DummyClassifier):
            return model.class_prior_.size
        return METHODS[self.name].n_parameters(model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def stratified_sample(labels: np.ndarray, n_train: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a mask of ``n_train`` rows in which every class keeps its share, up to rounding."""
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    # one row out of each of n_train equal ranges of the rows in the order of their classes
    drawn = np.floor((np.arange(n_train) + rng.random()) * labels.size / n_train).astype(int)
    mask = np.zeros(labels.size, bool)
    mask[order[drawn]] = True
    return mask


@cache
def _thread_pools() -> ThreadpoolController:
    """Find the libraries that have threads, once: it takes longer than a prediction."""
    return ThreadpoolController()


def _best_settings(
    pipeline: Pipeline,
    grid: Mapping[str, list[Any]],
    matrix: np.ndarray,
    classes: np.ndarray,
    columns: TrainingColumns,
) -> dict[str, Any]:
    """Return the settings with the largest cross-validated accuracy on the training rows."""
    fold = stratified_folds(classes, N_FOLDS, np.random.default_rng(columns.seed))
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in np.unique(fold)]
    step = pipeline.steps[-1][0]
    named = {f"{step}__{setting}": values for setting, values in grid.items()}
    search = GridSearchCV(
        pipeline, named, scoring="accuracy", cv=splits, refit=False, n_jobs=columns.n_jobs
    )
    return search.fit(matrix, classes).best_params_

"""Baselines of ``compare``: classifiers of scikit-learn and other libraries on the same tables.

Columns are prepared on the training rows alone:

- ``lr`` (logistic regression), ``svm`` (RBF kernel, sigmoid-calibrated) and ``knn`` (5 neighbors):
  missing numbers become the median and are marked by an indicator column where the training rows
  have any, then numbers are scaled to mean 0 and variance 1; categories are one-hot encoded, and a
  missing value is one more category where the training rows have any.
- ``tree`` (decision tree, 5 rows a leaf) and ``rf`` (random forest, 500 trees): numbers as they
  are, missing ones too; categories one-hot encoded.
- ``hgb`` (histogram gradient boosting): numbers and categories as they are, missing ones too.
- ``cnb`` (categorical naive Bayes): numbers discretized by MDLP; a missing value is one more
  category.

These need the extra ``peers``. Numbers and categories are given as they are, as each library takes
them, and so are missing values, but that a missing category is one more for CatBoost:

- ``lightgbm`` (LightGBM, 200 trees), ``xgboost`` (XGBoost, 200 trees, histograms), ``catboost``
  (CatBoost, 500 iterations) and ``ebm`` (explainable boosting machine of interpret).

All other settings are the defaults of the libraries. A category that the training rows do not have
is none of the known ones: no one-hot column is set, and the boosting methods and cnb take it as
missing. The 254 most frequent values of a column are told apart, the others are merged. svm, knn,
catboost and ebm learn from a stratified sample of 10,000 rows where there are more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from discbayes._lazy_imports import is_installed, need
from discbayes._text import nearest_first
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.date_columns import expand_dates
from discbayes.data.folds import stratified_folds
from discbayes.data.table import CategoricalColumn, NumericColumns, Table
from discbayes.data.table_reader import read_table
from discbayes.data.targets import classes_and_codes, label_array
from discbayes.data.variables import resolve
from discbayes.engine import worker_count
from discbayes.evaluation.baseline_pipelines import METHODS, UNKNOWN, Method, TrainingColumns
from discbayes.evaluation.method_names import BASELINES

N_FOLDS = 5  # by which the probabilities of svm are calibrated, and settings chosen
# of pictures of interpret that nobody draws here
IRRELEVANT = r"Missing values detected\. Our visual|For multiclass we cannot currently visual"


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
    """Return a classifier of another library that takes the tables of ``BayesNetClassifier``.

    Parameters
    ----------
    name : str
        One of scikit-learn's "lr", "svm", "hgb", "tree", "knn", "cnb" and "rf", or of the extra
        ``peers``: "lightgbm", "xgboost", "catboost" and "ebm".
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores.
    random_state : int
        Seed of all random draws.
    max_rows : int, optional
        Learn from a stratified sample of at most this many rows; by default 10,000 for svm, knn,
        catboost and ebm.
    tune : bool
        Choose some settings by five-fold cross-validation on the training rows.
    categorical : "auto", "all" or list
        Numeric columns that are categories, as in ``BayesNetClassifier``.

    Returns
    -------
    Baseline
        An estimator that is not fitted yet.

    Raises
    ------
    ModuleNotFoundError
        If the library of the classifier is not installed.

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
    if not is_installed(METHODS[name].package):
        need(METHODS[name].package)  # raises the error that names the extra
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
        table = expand_dates(read_table(X))
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
        columns = self._columns(data, matrix)
        with _thread_pools().limit(limits=columns.n_jobs), _without_irrelevant_warnings():
            self.pipeline_ = self._fit_pipeline(columns, matrix, data.classes)
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
        max_rows = METHODS[self.name].max_rows if self.max_rows is None else self.max_rows
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
        if sizes.size == 1 or not _varies(matrix):
            prior = DummyClassifier(strategy="prior")
            return make_pipeline("passthrough", prior).fit(matrix, classes)
        method = METHODS[self.name]
        pipeline = method.pipeline(columns)
        if self.tune:
            pipeline.set_params(**_best_settings(pipeline, method, matrix, classes, columns))
        if self.name == "svm":
            # calibration by folds needs two rows of each class: a row that is alone counts twice
            rows = np.repeat(np.arange(classes.size), 1 + (sizes[classes] == 1))
            n_folds = int(np.clip(sizes.min(), 2, N_FOLDS))
            calibrated = CalibratedClassifierCV(pipeline[-1], cv=n_folds, ensemble=False)
            return make_pipeline(pipeline[0], calibrated).fit(matrix[rows], classes[rows])
        return pipeline.fit(matrix, classes, **_fit_options(pipeline, method, columns))

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
        table = self._encoder.read(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        matrix = self._matrix(table, self._encoder.transform(table))
        n_jobs = worker_count(self.n_jobs)
        with _thread_pools().limit(limits=n_jobs):
            found = self.pipeline_.predict_proba(matrix, **self._predict_options(n_jobs))
        shares = np.zeros((table.n_rows, self.classes_.size))
        shares[:, self._places] = found
        return shares

    def _predict_options(self, n_jobs: int) -> dict[str, int]:
        option = METHODS[self.name].predict_threads
        if not option or isinstance(self.pipeline_[-1], DummyClassifier):
            return {}
        return {option: n_jobs}

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


def _varies(matrix: np.ndarray) -> bool:
    """Return whether two rows differ; without that there is nothing to learn but the prior."""
    first = matrix[:1]
    same = (matrix == first) | (np.isnan(matrix) & np.isnan(first))
    return not same.all()


@contextmanager
def _without_irrelevant_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", IRRELEVANT, UserWarning)
        yield


@cache
def _thread_pools() -> ThreadpoolController:
    """Find the libraries that have threads, once: it takes longer than a prediction."""
    return ThreadpoolController()


def _fit_options(pipeline: Pipeline, method: Method, columns: TrainingColumns) -> dict[str, Any]:
    """Return the options of the classifier's ``fit``, as a pipeline takes them."""
    step = pipeline.steps[-1][0]
    return {f"{step}__{name}": value for name, value in method.fit_options(columns).items()}


def _best_settings(
    pipeline: Pipeline,
    method: Method,
    matrix: np.ndarray,
    classes: np.ndarray,
    columns: TrainingColumns,
) -> dict[str, Any]:
    """Return the settings with the largest cross-validated accuracy on the training rows."""
    fold = stratified_folds(classes, N_FOLDS, np.random.default_rng(columns.seed))
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in np.unique(fold)]
    step = pipeline.steps[-1][0]
    named = {f"{step}__{setting}": values for setting, values in method.grid.items()}
    search = GridSearchCV(
        pipeline, named, scoring="accuracy", cv=splits, refit=False, n_jobs=columns.n_jobs
    )
    options = _fit_options(pipeline, method, columns)
    return search.fit(matrix, classes, **options).best_params_

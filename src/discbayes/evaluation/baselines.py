"""What users would pick instead: six classifiers of scikit-learn, on the same tables as ours.

=====  ====================================
==================================================================== name   classifier
how columns are prepared, on the training rows alone =====  ====================================
==================================================================== lr     LogisticRegression
scaled svm    SVC, RBF kernel, sigmoid-calibrated   scaled knn    KNeighborsClassifier, 5 neighbours
scaled tree   DecisionTreeClassifier, 5 rows a leaf numbers as they are, gaps too; categories
one-hot hgb    HistGradientBoostingClassifier        numbers as they are, gaps too; categories as
such cnb    CategoricalNB                         numbers cut by MDLP; a gap is one more value =====
====================================
====================================================================

Scaled: gaps of numbers become the median and are marked by a column of their own where the training
rows have any, then numbers have mean 0 and variance 1; categories are one-hot, a gap being one more
value where the training rows have any. A value that the training rows do not have is none of the
known ones: no one-hot column is set, and for hgb and cnb it is a gap. The 254 most frequent values
of a column are told apart, the others are one.

svm and knn learn from a stratified sample of 10,000 rows where there are more.
"""

from __future__ import annotations

from collections.abc import Mapping
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

from discbayes._text import nearest_first
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import stratified_folds
from discbayes.data.table import CategoricalColumn, NumericColumns, Table
from discbayes.data.table_reader import read_table
from discbayes.data.targets import classes_and_codes, label_array
from discbayes.data.variables import resolve
from discbayes.engine import worker_count
from discbayes.evaluation.baseline_methods import METHODS, Facts, Method, NoCuts
from discbayes.evaluation.method_names import BASELINES

MAX_ROWS = {"svm": 10_000, "knn": 10_000}  # for the others there is no limit
N_FOLDS = 5  # by which the probabilities of svm are calibrated, and settings chosen
UNKNOWN = -1.0


def baseline(
    name: str,
    n_jobs: int | None = 1,
    random_state: int = 0,
    max_rows: int | None = None,
    tune: bool = False,
    categorical: Any = "auto",
) -> Baseline:
    """A classifier of scikit-learn that takes the same tables as ``BayesNetClassifier``.

    Parameters
    ----------
    name : {"lr", "svm", "hgb", "tree", "knn", "cnb"}
        Logistic regression, support vector machine, gradient boosting, decision tree, nearest
        neighbours, naive Bayes.
    n_jobs : int, optional
        Threads; None is one, -1 all cores.
    random_state : int
        For what is drawn.
    max_rows : int, optional
        Learn from a stratified sample of so many rows at most; by default 10,000 for svm and knn.
    tune : bool
        Choose some settings by five folds of the training rows.
    categorical : "auto", "all" or list
        Numeric columns that are categories, as in ``BayesNetClassifier``.

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
    """A method of ``METHODS``; see ``baseline``.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    pipeline_ : Pipeline
        What was learned. Its first step takes a matrix: numbers, and codes of categories.
    n_rows_ : int
        The rows that it was learned from.
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
        """Learn from a table and its labels."""
        method, table = METHODS[self.name], read_table(X)
        validate_data(self, X, skip_check_array=True)
        labels = label_array(y, table.n_rows)
        self.classes_ = classes_and_codes(labels)[0]
        table, labels = self._sample(table, labels)
        self._encoder = FrameEncoder(
            method.discretizer or NoCuts(), self._categories(table), n_jobs=self.n_jobs
        )
        data = self._encoder.fit_transform(table, labels)
        self._places = np.searchsorted(self.classes_, self._encoder.classes_)
        matrix = self._matrix(table, data.codes)
        self.n_rows_ = data.n_samples
        with _thread_pools().limit(limits=worker_count(self.n_jobs)):
            self.pipeline_ = self._learn(method, self._facts(data, matrix), matrix, data.classes)
        return self

    def _categories(self, table: Table) -> Any:
        """Text is categories, identifiers too; but cnb reads a table as ``BayesNetClassifier``
        does.
        """
        if METHODS[self.name].discretizer is not None:
            return self.categorical
        declared = resolve(self.categorical, None, table.names).categories
        return [
            at in declared or isinstance(table.find(at)[0], CategoricalColumn)
            for at in range(len(table.names))
        ]

    def _sample(self, table: Table, labels: np.ndarray) -> tuple[Table, np.ndarray]:
        most = MAX_ROWS.get(self.name) if self.max_rows is None else self.max_rows
        if most is None or table.n_rows <= most:
            return table, labels
        rng = np.random.default_rng(self.random_state)
        rows = stratified_sample(classes_and_codes(labels)[1], most, rng)
        return table.take(rows), labels[rows]

    def _facts(self, data: Encoded, matrix: np.ndarray) -> Facts:
        """Columns without any value are in neither list."""
        numeric = np.array([variable.kind == "numeric" for variable in data.domain.features])
        gaps = np.isnan(matrix)
        known = ~gaps.all(axis=0)
        kinds = (known & numeric, known & numeric & gaps.any(axis=0), known & ~numeric)
        numbers, with_missing, categories = (np.flatnonzero(kind).tolist() for kind in kinds)
        cards, sizes = data.cards.tolist(), np.bincount(data.classes)
        return Facts(
            numbers,
            with_missing,
            categories,
            cards,
            sizes,
            self.random_state,
            worker_count(self.n_jobs),
        )

    def _learn(
        self, method: Method, facts: Facts, matrix: np.ndarray, classes: np.ndarray
    ) -> Pipeline:
        if facts.class_sizes.size == 1 or not (facts.numbers or facts.categories):
            return make_pipeline("passthrough", DummyClassifier(strategy="prior")).fit(
                matrix, classes
            )
        pipeline = Pipeline(
            [("prepare", method.prepare(facts)), ("classify", method.classifier(facts))]
        )
        if self.tune:
            pipeline.set_params(**_best_settings(pipeline, method.grid, matrix, classes, facts))
        if self.name == "svm":
            matrix, classes, pipeline = _with_probabilities(pipeline, matrix, classes)
        return pipeline.fit(matrix, classes)

    def _matrix(self, table: Table, codes: np.ndarray) -> np.ndarray:
        """Numbers and codes of categories in the order of the columns; gaps are NaN, and unknown
        values −1.
        """
        if self.name == "cnb":
            return codes.T
        matrix, gaps = np.empty((table.n_rows, len(table.names))), table.gaps()
        for at, variable in enumerate(self._encoder.domain_.features):
            part, place = table.find(at)
            if variable.kind == "numeric":
                matrix[:, at] = part.column(place) if isinstance(part, NumericColumns) else np.nan
            else:
                unseen = np.where(gaps[at], np.nan, UNKNOWN)
                matrix[:, at] = np.where(codes[at] == variable.card, unseen, codes[at])
        return matrix

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of ``classes_``."""
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
        """The most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @property
    def n_parameters_(self) -> int:
        """The numbers that the classifier holds; of nearest neighbours, the training rows."""
        check_is_fitted(self)
        model = self.pipeline_[-1]
        return (
            model.class_prior_.size
            if isinstance(model, DummyClassifier)
            else METHODS[self.name].size(model)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def stratified_sample(labels: np.ndarray, n_train: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of so many rows, with every class at its share as nearly as whole rows allow."""
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    mask = np.zeros(labels.size, bool)
    mask[
        order[np.floor((np.arange(n_train) + rng.random()) * labels.size / n_train).astype(int)]
    ] = True
    return mask


@cache
def _thread_pools() -> ThreadpoolController:
    """Looking for the libraries that have threads takes longer than a prediction, so it is done
    once.
    """
    return ThreadpoolController()


def _best_settings(
    pipeline: Pipeline,
    grid: Mapping[str, list[Any]],
    matrix: np.ndarray,
    classes: np.ndarray,
    facts: Facts,
) -> dict[str, Any]:
    """Those of the largest accuracy by folds of the training rows."""
    fold = stratified_folds(classes, N_FOLDS, np.random.default_rng(facts.seed))
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in np.unique(fold)]
    named = {f"classify__{setting}": values for setting, values in grid.items()}
    search = GridSearchCV(
        pipeline, named, scoring="accuracy", cv=splits, refit=False, n_jobs=facts.n_jobs
    )
    return search.fit(matrix, classes).best_params_


def _with_probabilities(
    pipeline: Pipeline, matrix: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Pipeline]:
    """A machine whose values become probabilities by folds; a row that is alone in its class counts
    twice.
    """
    sizes = np.bincount(classes)
    repeats = 1 + (sizes[classes] == 1)
    matrix, classes = np.repeat(matrix, repeats, axis=0), np.repeat(classes, repeats)
    folds = int(np.clip(sizes.min(), 2, N_FOLDS))
    calibrated = CalibratedClassifierCV(pipeline["classify"], cv=folds, ensemble=False)
    return matrix, classes, Pipeline([("prepare", pipeline["prepare"]), ("classify", calibrated)])

"""The base of all classifiers: predictions for tables and sources, costs, scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discbayes._lazy_imports import leaf
from discbayes.calibration import log_odds
from discbayes.classifier.fitting import BY_NAME, check_columns
from discbayes.classifier.prediction_sets import ConformalSets, calibrate_sets
from discbayes.costs import DecisionCosts
from discbayes.data import Domain, FrameEncoder
from discbayes.data.table import Table
from discbayes.data.table_reader import arrow_table
from discbayes.data.targets import label_array
from discbayes.engine import is_client
from discbayes.streams import BatchRows, LabeledRows, batches_of, bytes_of, is_source
from discbayes.streams.csv_format import CsvFormat

_MAX_LISTED = 20  # column names in a message


class PosteriorClassifier(ClassifierMixin, BaseEstimator):
    """Base class of classifiers: predictions follow from the posterior of rows that are codes."""

    batch_methods: ClassVar[tuple[str, ...]] = (
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "expected_costs",
    )
    classes_: np.ndarray
    memory: int | str | None
    cluster: Any
    unknown: str
    columns: str
    csv_format_: CsvFormat | None = None  # of the training file; the command line sets it
    _encoder: FrameEncoder

    @property
    @abstractmethod
    def domain_(self) -> Domain:
        """The columns and the classes."""

    @abstractmethod
    def encode(self, X: Any) -> Any:
        """Return the codes of rows with the columns of the fit."""

    @abstractmethod
    def calibrated_posterior(self, class_prior: Sequence[float] | None = None) -> Any:
        """Return the posterior as a function of codes."""

    @abstractmethod
    def _encode_evidence(self, X: Any) -> tuple[Any, Any]:
        """Return the codes of rows with the columns of the fit, and their evidence."""

    def _observe(self, X: Any, class_prior: Sequence[float] | None = None) -> tuple[Any, Any]:
        """Return the posterior with the evidence of rows that is not one value, and their codes."""
        posterior = self.calibrated_posterior(class_prior)
        codes, columns = self._encode_evidence(X)
        return posterior.with_evidence(columns), codes

    def predict(
        self, X: Any, class_prior: Sequence[float] | None = None, costs: Any = None
    ) -> np.ndarray:
        """Predict the most probable class of each row, or the one of the least expected cost.

        Ties go to the first class.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``fit``. Columns of a file that the fit did not have are ignored.
        class_prior : sequence of float, optional
            As in ``predict_proba``.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            The cost ``costs[i][j]`` of deciding for class j where class i is true, in the order of
            ``classes_``; or ``{truth: {decision: cost}}``, where all else costs nothing. A decision
            of the mapping that is not a class is an action such as "refer", with a cost for every
            class.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class labels, or actions.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.predict(iris.X.iloc[[0]], costs={"virginica": {"setosa": 1000}}).tolist()
        ['versicolor']
        """
        if is_source(X):
            return self._predict_source(X, "predict", class_prior=class_prior, costs=costs)
        posterior, codes = self._observe(X, class_prior)
        if costs is None:
            return self.classes_[posterior.decisions(codes)]
        return DecisionCosts.of(costs, self.classes_).decide(posterior.posterior(codes))

    def predict_proba(self, X: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """Return P(c | x observed); missing and unseen values are marginalized exactly.

        With ``missing="value"`` a missing value is a value of its column, if the column had any at
        fit; columns that a mapping leaves out are marginalized. A cell may also hold evidence that
        is not one value: ``OneOf``, ``Between``, ``Not`` or ``Likelihood``.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``fit``. Columns of a file that the fit did not have are ignored.
        class_prior : sequence of float, optional
            Class shares that replace those of the fit, for data in which they differ. Calibrated
            probabilities are those of the shares of the fit; their odds change as those of the
            shares do.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.predict_proba({"petal width (cm)": 1.0}).round(2).tolist()
        [[0.18, 0.81, 0.02]]
        """
        if is_source(X):
            return self._predict_source(X, "predict_proba", class_prior=class_prior)
        posterior, codes = self._observe(X, class_prior)
        return posterior.posterior(codes)

    def predict_log_proba(self, X: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """Return log P(c | x observed), exact also where P underflows.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``predict``.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithms of the probabilities, in the order of ``classes_``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.predict_log_proba(iris.X).shape
        (150, 3)
        """
        if is_source(X):
            return self._predict_source(X, "predict_log_proba", class_prior=class_prior)
        posterior, codes = self._observe(X, class_prior)
        return posterior.log_posterior(codes)

    def decision_function(self, X: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """Return the log odds of the classes, as scores and curves of scikit-learn use them.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``predict``.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes the log odds of the second one, ``log P(c₂ | x) / P(c₁ | x)``; of more,
            those of each class against all others. Infinite log odds are ±10⁹.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> cancer = load_dataset("breast-cancer")
        >>> clf = BayesNetClassifier("nb", "map").fit(cancer.X, cancer.y)
        >>> clf.decision_function(cancer.X[:2]).round(1)
        array([...])
        """
        odds = log_odds(self.predict_log_proba(X, class_prior))
        return odds[:, 1] if self.classes_.size == 2 else odds

    @property
    @abstractmethod
    def feature_importances_(self) -> np.ndarray:
        """The mutual information of each column with the class, as shares of their sum."""

    def summary(self) -> Any:
        """Summarize in about twenty lines what was learned.

        Returns
        -------
        ModelSummary
            The summary shows itself as text, and as HTML in a notebook.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> BayesNetClassifier().fit(iris.X, iris.y).summary()
        class: setosa (33 %), versicolor (33 %), virginica (33 %), from 4 columns
        ...
        """
        check_is_fitted(self)
        return leaf("report").summarize(self)

    def expected_costs(
        self, X: Any, costs: Any, class_prior: Sequence[float] | None = None
    ) -> np.ndarray:
        """Return the expected cost of each decision for each row.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``predict``.
        costs : array of shape (n_classes, n_classes) or mapping
            As in ``predict``.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples, n_decisions)
            The expected costs, a column for each decision: the classes in the order of
            ``classes_``, and then actions in that of ``costs``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> costs = {"virginica": {"setosa": 1000}}
        >>> clf.expected_costs(iris.X.iloc[[0]], costs).round(1).tolist()
        [[2.2, 0.0, 0.0]]
        """
        if is_source(X):
            return self._predict_source(X, "expected_costs", costs=costs, class_prior=class_prior)
        posterior, codes = self._observe(X, class_prior)
        return posterior.posterior(codes) @ DecisionCosts.of(costs, self.classes_).matrix

    def calibrate_sets(
        self,
        X: Any,
        y: Any,
        level: float = 0.9,
        *,
        by_class: bool = False,
        allow_empty: bool = True,
        sample_weight: Any = None,
    ) -> ConformalSets:
        """Return sets of classes that hold the true class with a given probability.

        Split conformal prediction: whatever the classifier is, the sets of rows of the same
        distribution hold the true class with a probability of at least the level. The missing
        values of these rows must be as those of the rows to predict.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            Rows that the classifier has not learned from.
        y : sequence of labels
            Their classes.
        level : float, default=0.9
            The probability with which a set holds the true class, at least.
        by_class : bool, default=False
            Whether it holds within each class, not over all rows only. A class of fewer than
            ``level / (1 - level)`` rows is in every set.
        allow_empty : bool, default=True
            Whether sets may be empty, as some are where the accuracy is above the level. If not,
            they get the most probable class, and hold the true class more often than the level.
        sample_weight : sequence of float, optional
            The weights of the rows.

        Returns
        -------
        ConformalSets
            The sets: ``predict(X)`` and ``contains(X)``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X[::2], iris.y[::2])
        >>> sets = clf.calibrate_sets(iris.X[1::2], iris.y[1::2], level=0.95)
        >>> sets.predict({"petal width (cm)": 1.7})
        [('versicolor', 'virginica')]
        """
        return calibrate_sets(self, X, y, level, by_class, allow_empty, sample_weight)

    def predict_batches(
        self, X: Any, method: str = "predict", **options: Any
    ) -> Iterator[np.ndarray]:
        """Predict rows that are read, batch by batch as they come, in the order of the rows.

        Parameters
        ----------
        X : path, list of paths, pyarrow dataset, iterator of frames, or Dask collection
            As in ``fit``; columns that the fit did not have are ignored.
        method : str, default="predict"
            The method that predicts a batch: "predict", "predict_proba", "predict_log_proba",
            "predict_joint_log_proba", "decision_function" or "expected_costs".
        **options
            Further arguments of that method, such as ``class_prior``.

        Returns
        -------
        iterator of ndarray
            The answer of the method for each batch.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> thirds = (iris.X[start : start + 50] for start in range(0, 150, 50))
        >>> [shares.shape for shares in clf.predict_batches(thirds, "predict_proba")]
        [(50, 3), (50, 3), (50, 3)]
        """
        check_is_fitted(self)
        if method not in self.batch_methods:
            known = ", ".join(map(repr, self.batch_methods))
            raise ValueError(f"method={method!r} is none of {known}")
        predict = getattr(self, method)
        some = self._matches_names()
        batches = batches_of(X, self.domain_, memory=bytes_of(self.memory), some_columns=some)
        return (predict(table, **options) for table, _ in batches)

    def _predict_source(self, X: Any, method: str, **options: Any) -> np.ndarray:
        """Return the answers of a method for all rows of a source."""
        return np.concatenate(list(self.predict_batches(X, method, **options)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the weighted share of rows whose class is predicted.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``fit``. Columns of a file that the fit did not have are ignored.
        y : sequence of labels, or str
            The class labels. Of a source, the name of the target column; None for pairs.
        sample_weight : sequence of float or str, optional
            The weights of the rows. Of a source, the name of a column.

        Returns
        -------
        float
            The accuracy, from 0 to 1.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> round(BayesNetClassifier().fit(iris.X, iris.y).score(iris.X, iris.y), 2)
        0.96
        """
        if not is_source(X):
            # read as in fit: numpy truncates members of enumerations in lists
            return float(super().score(X, label_array(y, None), sample_weight))
        check_is_fitted(self)
        rows = LabeledRows(
            X, y, sample_weight, bytes_of(self.memory), self.domain_, self._matches_names()
        )
        correct, total = rows.read(self._correct_weight, "available")
        return correct / total

    def _correct_weight(self, batches: Iterator[BatchRows]) -> tuple[float, float]:
        """Return the weight of the rows whose class is predicted, and of all rows."""
        correct = 0.0
        total = 0.0
        is_text = self.classes_.dtype.kind in "UO"
        for batch in batches:
            if (batch.y.dtype.kind in "UO") != is_text:
                fitted, given = ("strings", "numbers") if is_text else ("numbers", "strings")
                raise ValueError(
                    f"the classes of the fit are {fitted}, those of y are {given}: cast y"
                )
            is_correct = self.predict(batch.table) == batch.y
            weight = np.ones(is_correct.size) if batch.weight is None else batch.weight
            correct += float(np.sum(is_correct * weight))
            total += float(weight.sum())
        return correct, total

    def _read_known(self, X: Any) -> Table:
        """Read a table, and refuse columns that are not those of the fit."""
        table = self._encoder.read(X)
        if self._matches_names() and table.named and table.unnamed is None:
            return self._by_name(table)
        # read from a file, by the names of the columns, or from rows that name them
        if isinstance(X, Table) or table.unnamed is not None:
            return table
        try:
            validate_data(self, arrow_table(X), skip_check_array=True, reset=False)
        except ValueError as error:
            raise ValueError(f"{str(error).rstrip()}\n{self._way_out(table)}".rstrip()) from None
        return table

    def _matches_names(self) -> bool:
        """Return whether columns are matched by name; refuse a setting that is not known."""
        check_columns(self.columns)
        return self.columns == BY_NAME

    def _by_name(self, table: Table) -> Table:
        """Return the columns of the fit; those that are not there are unknown."""
        names = self.domain_.names
        if table.names == names:
            return table
        if not set(names) & set(table.names):
            near = ", ".join(map(repr, names[:_MAX_LISTED]))
            raise ValueError(f"X has none of the columns of the fit: {near}")
        return table.by_name(names)

    def _way_out(self, table: Table) -> str:
        """Return what to do about columns that are not those of the fit."""
        if not (table.named and hasattr(self, "feature_names_in_")):
            return ""
        names = [repr(str(name)) for name in self.feature_names_in_]
        listed = ", ".join(names[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")
        return (
            f"The columns of the fit are {listed}: select them with X[list(clf.feature_names_in_)],"
            ' or set columns="by-name", which takes what is not there for unknown\n'
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_clone__(self) -> Any:
        """Return a clone; a client cannot be copied, so that a clone has the same one."""
        twin = BaseEstimator.__sklearn_clone__(copy(self) if is_client(self.cluster) else self)
        twin.cluster = self.cluster
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle; a client belongs to this process and is left out."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "cluster": None} if is_client(self.cluster) else state

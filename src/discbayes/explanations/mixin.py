"""The methods of a classifier that explain it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discbayes.calibrated_posterior import CalibratedPosterior
from discbayes.data import FrameEncoder
from discbayes.data.table import Table
from discbayes.explanations.contributions import Explanation, explain
from discbayes.explanations.counterfactuals import Counterfactual, counterfactual
from discbayes.explanations.relevance import TOLERANCE, Relevance, relevance
from discbayes.explanations.single_row import one_row
from discbayes.explanations.value_of_information import Information, value_of_information
from discbayes.explanations.wording import class_position


class Explaining:
    """Why the decision is what it is, what would change it, and what to ask next, of a fitted
    classifier.
    """

    classes_: np.ndarray
    unknown: str
    _encoder: FrameEncoder
    calibrated_posterior: Callable[[Sequence[float] | None], CalibratedPosterior]
    _codes: Callable[[Any], np.ndarray]

    def explain(
        self, X: Any, against: Any = None, class_prior: Sequence[float] | None = None
    ) -> Explanation:
        """What each known value of a row adds to the log odds of each class.

        The values become known one after the other, parents before children
        (``Explanation.order``); each adds what it changes, given those before it. The log odds
        without any value and all contributions add up to the log odds of ``predict_proba``. Gaps
        and unseen values are summed out and listed as unknown, unless ``missing="value"`` made
        "missing" a value of the column.

        Parameters
        ----------
        X : frame, array or list of rows
        against : label, optional
            Compare each class with this one instead of all others together.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.explain(iris.X.iloc[[60]])
        prior: −0.64 for versicolor
        petal width (cm) in [0.8, 1.75): +2.3 for versicolor
        petal length (cm) in [2.45, 4.75): +1.1 for versicolor, given petal width (cm) in [0.8,
        1.75) sepal length (cm) < 5.55: −0.71 for versicolor, given petal length (cm) in [2.45,
        4.75) sepal width (cm) < 2.95: +0.43 for versicolor, given sepal length (cm) < 5.55 sum:
        +2.5 for versicolor, which has the probability 0.921
        """
        beliefs = self.calibrated_posterior(class_prior)
        place = None if against is None else class_position(self.classes_, against, "against")
        return explain(beliefs, self._codes(X), place)

    def relevance(
        self,
        X: Any,
        y: Any = None,
        tolerance: float = TOLERANCE,
        class_prior: Sequence[float] | None = None,
    ) -> Relevance:
        """How much each column matters for the decisions in some rows, and which columns could go.

        The relevance of a column is how far it moves the log odds of the decisions, by the
        contributions of ``explain``: a column that says what its parents have said already counts
        for little. Columns could go, the least relevant first, where hiding all of them together
        loses little of what the columns say about the classes; ``hidden`` has what becomes of the
        decisions then. Hidden columns are summed out: what a fit without them would be is for
        another fit to tell.

        Parameters
        ----------
        X : frame, array or list of rows
        y : sequence of labels, optional
            With them it also says what hiding the columns does to accuracy and log loss.
        tolerance : float, default=0.01
            How much may be lost, as a share: what the columns say is the mean divergence
            (Kullback-Leibler) of P(c | x) with them from P(c | x) without.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> wine = load_dataset("wine")
        >>> clf = BayesNetClassifier().fit(wine.X, wine.y)
        >>> print(clf.relevance(wine.X).text(most=2))
        column            changes the log odds by  share  unknown
        flavanoids                           1.56  18.4%     0.0%
        alcohol                              1.03  12.2%     0.0%
        11 other columns                           69.4%
        5 uninformative columns; consider dropping proanthocyanins, ...: without them 0.00% of the
        decisions change
        """
        beliefs, codes = self.calibrated_posterior(class_prior), self._codes(X)
        classes = None if y is None else beliefs.network._classes(y, codes.shape[1])
        return relevance(beliefs, codes, classes, tolerance)

    def counterfactual(
        self,
        x: Any,
        target: Any = None,
        keep: str | Sequence[Any] = (),
        max_changes: int = 5,
        class_prior: Sequence[float] | None = None,
    ) -> Counterfactual:
        """The smallest set of changes of known values that leads to another decision of
        ``predict``.

        One and two changes are exact: all of them are tried, and of the smallest sets the one that
        makes the new decision most probable is taken. More changes are searched for, and the result
        says whether fewer may be enough (``proven``). Gaps stay gaps. Where nothing leads there the
        result says so (``found``).

        Parameters
        ----------
        x : row
            A frame, array or list of one row, a list of the values of a row, or a mapping (or
            series) of column names to values, where what is left out is unknown.
        target : label, optional
            The decision to reach; any other than that of the row by default.
        keep : column or columns, optional
            What must not change, such as age and sex.
        max_changes : int, default=5
            The largest set to look for.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.counterfactual(iris.X.iloc[[60]], keep="petal width (cm)")
        now: versicolor with the probability 0.921
        2 changes, the fewest possible, lead to setosa with the probability 0.595:
          sepal width (cm) from < 2.95 to ≥ 3.35 (now 2, then 3.35 or more)
          petal length (cm) from [2.45, 4.75) to < 2.45 (now 3.5, then below 2.45)
        others of that size:
          sepal width (cm) to [2.95, 3.35), petal length (cm) to < 2.45: setosa with the probability
          0.439 sepal width (cm) to ≥ 3.35, petal length (cm) to ≥ 4.75: setosa with the probability
          0.432
        """
        beliefs, (row, codes) = self.calibrated_posterior(class_prior), self._one_row(x)
        return counterfactual(beliefs, codes, row, target, keep, max_changes)

    def value_of_information(
        self,
        x: Any,
        costs: Any = None,
        prices: Mapping[str, float] | None = None,
        class_prior: Sequence[float] | None = None,
    ) -> Information:
        """What to ask next: how much of the doubt about the class each missing column of a row is
        expected to remove.

        With costs also what it is expected to save, less its price. All of it is exact, on any
        structure.

        Parameters
        ----------
        x : row
            As in ``counterfactual``. A value that was never seen at fit counts as missing. In a
            column in which ``missing="value"`` made "missing" a value, None is that value: leave it
            out to ask for the column.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            As in ``predict``.
        prices : mapping of column names to numbers, optional
            What it costs to know a column, in the unit of the costs; nothing for those left out.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.value_of_information({"sepal length (cm)": 5.0}).best
        'petal width (cm)'
        """
        beliefs, (_, codes) = self.calibrated_posterior(class_prior), self._one_row(x)
        return value_of_information(beliefs, codes, costs, prices)

    def _one_row(self, x: Any) -> tuple[Table, np.ndarray]:
        """A row as it was read, and its codes."""
        row = one_row(x, self._encoder.domain_.names)
        return row, self._encoder.transform(row, self.unknown)

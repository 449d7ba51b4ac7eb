"""Contributions: the change of the log odds of a class by each known value.

The features of a row become known one after the other, in the topological order of the structure
(parents first, then the first column). The contribution of a feature to class c is the change that
its value makes in the log odds

    log P(c | known) − log Σ_{c' ≠ c} P(c' | known),

with P as the classifier gives it, calibration and prior included. Without calibration that is log
P(x_i | known earlier, c) − log P(x_i | known earlier, not c). Missing values are marginalized and
contribute nothing. So the log odds without any value (``base``) and all contributions add up to
the log odds of the row, whatever the structure.

Infinite odds: a value that rules a class out contributes −∞ to it, one that leaves only this class
+∞, and what becomes known afterwards contributes zero, since nothing can move it. A row that is
impossible in every class has the probabilities of a row without values, and nothing contributes
(``impossible``). Where two classes that are compared with each other are both impossible they keep
the odds that they had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes._text import count_of, some_of
from discbayes.calibration import CalibratedPosterior
from discbayes.data import Domain
from discbayes.data.frames import make_frame
from discbayes.explanations.dependence import Dependence
from discbayes.explanations.relevance import TOLERANCE, Relevance, changed_odds, relevance_of
from discbayes.explanations.steps import Steps
from discbayes.explanations.wording import (
    check_most,
    class_position,
    probability_in_words,
    signed,
    values_in_words,
)

_MAX_NAMES = 20  # in one line


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The contributions of the known values of some rows to the log odds of each class.

    ``base[c] + nansum(contributions[row, :, c])`` is ``log_odds[row, c]``;
    ``discbayes.explanations.contributions`` defines a contribution.

    Parameters
    ----------
    beliefs : CalibratedPosterior
        The network, with calibration and prior.
    codes : ndarray of shape (n_features, n_rows)
        The rows as codes.
    against : int or None
        Position of the class that the others are compared with; None for all others together.
    base : ndarray of shape (n_classes,)
        The log odds of each class before anything is known. Rows with different shares of missing
        values have different ones in a ``LogPool``: then the shape is (n_rows, n_classes).
    contributions : ndarray of shape (n_rows, n_features, n_classes)
        The contribution of each value; NaN where it is missing.
    log_odds : ndarray of shape (n_rows, n_classes)
        The log odds of each class, against all others or against the one class that was asked for.
    posterior : ndarray of shape (n_rows, n_classes)
        P(c | x observed).
    impossible : ndarray of bool, shape (n_rows,)
        Rows that cannot be in any class.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
    >>> explanation = clf.explain(iris.X.iloc[[60]])
    >>> total = explanation.base + np.nansum(explanation.contributions[0], axis=0)
    >>> np.allclose(total, explanation.log_odds[0])
    True
    """

    beliefs: CalibratedPosterior
    codes: np.ndarray
    against: int | None
    base: np.ndarray
    contributions: np.ndarray
    log_odds: np.ndarray
    posterior: np.ndarray
    impossible: np.ndarray

    # ---- what it is about

    @property
    def _domain(self) -> Domain:
        return self.beliefs.network.domain

    @property
    def names(self) -> list[str]:
        """The columns."""
        return self._domain.names

    @property
    def labels(self) -> np.ndarray:
        """The classes."""
        return self.beliefs.labels

    @property
    def order(self) -> tuple[int, ...]:
        """The columns in the order in which they become known."""
        return self.beliefs.network.structure.order

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[1])

    def base_of(self, row: int) -> np.ndarray:
        """Return the log odds of each class before anything of a row is known.

        Parameters
        ----------
        row : int
            The position of the row.

        Returns
        -------
        ndarray of shape (n_classes,)
            The log odds.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> explanation = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).explain(iris.X[:1])
        >>> explanation.base_of(0).round(2)
        array([-0.69, -0.69, -0.69])
        """
        return self.base if self.base.ndim == 1 else self.base[row]

    @cached_property
    def decisions(self) -> np.ndarray:
        """The position of the predicted class of each row."""
        return self.beliefs.decisions(self.codes)

    @cached_property
    def known(self) -> np.ndarray:
        """Whether each feature of each row is known, shape (n_rows, n_features)."""
        return (self.codes < self._domain.cards[:, None]).T

    @cached_property
    def values(self) -> np.ndarray:
        """The values as text, intervals for numeric columns; None where they are missing."""
        texts = np.empty(self.known.shape, dtype=object)
        for i, variable in enumerate(self._domain.features):
            texts[:, i] = np.array([*variable.labels, None], dtype=object)[self.codes[i]]
        return texts

    def given(self, row: int, feature: int) -> tuple[int, ...]:
        """Return the earlier known features that a feature of a row depends on, given the class.

        Parameters
        ----------
        row : int
            The row, counted from 0.
        feature : int
            Position of the feature.

        Returns
        -------
        tuple of int
            Positions of features, in the order in which they become known.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> explanation = clf.explain(iris.X.iloc[[60]])
        >>> explanation.given(0, explanation.order[0])
        ()
        """
        earlier = self.order[: self.order.index(feature)]
        return self._dependence.on(feature, [i for i in earlier if self.known[row, i]])

    @cached_property
    def _dependence(self) -> Dependence:
        return Dependence(self.beliefs.network.parameters)

    def class_of(self, row: int, label: Any = None) -> int:
        """Return the position of the class that a row is explained for.

        Parameters
        ----------
        row : int
            The row, counted from 0.
        label : optional
            The class; by default the decision or, where the odds are against the decision itself,
            the most probable other class.

        Returns
        -------
        int
            The position in ``labels``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> clf.explain(iris.X.iloc[[60]]).class_of(0)
        1
        """
        if not isinstance(row, (int, np.integer)) or not 0 <= row < self.n_rows:
            raise ValueError(
                f"row={row!r} is not one of the {self.n_rows} rows, which are counted from 0"
            )
        if label is None:
            scores = self.posterior[row].copy()
            place = int(self.decisions[row])
            scores[place] = -np.inf
            return place if place != self.against else int(scores.argmax())
        place = class_position(self.labels, label, "label")
        if place == self.against:
            raise ValueError(
                f"label={label!r} is the class that all others were compared with: ask for"
                " another one"
            )
        return place

    # ---- what it says

    def to_frame(self, library: bool | str = "auto") -> Any:
        """Return a frame with a row for each row, class and feature.

        Features are in the order in which they become known. Missing features have no value and no
        contribution.

        Parameters
        ----------
        library : str or bool, default="auto"
            Frame library ("pandas", "polars" or "pyarrow"); the first that is installed by default.

        Returns
        -------
        frame
            The columns "row", "class", "feature", "value", "contribution" and "given": the earlier
            values that the feature depends on, given the class.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> clf.explain(iris.X.iloc[[60]]).to_frame("pandas").shape
        (12, 6)
        """
        n_rows, n_features, n_classes = self.contributions.shape
        order = np.array(self.order, dtype=np.intp)
        cells = (n_rows, n_classes, n_features)

        def each(values: np.ndarray) -> np.ndarray:
            """Repeat for all classes values of each row and feature, in the order of features."""
            return np.broadcast_to(values[:, None, order], cells).ravel()

        columns = {
            "row": np.repeat(np.arange(n_rows), n_classes * n_features),
            "class": np.tile(np.repeat(self.labels, n_features), n_rows),
            "feature": np.tile(np.array(self.names, dtype=object)[order], n_rows * n_classes),
            "value": each(self.values),
            "contribution": self.contributions[:, order].transpose(0, 2, 1).ravel(),
            "given": each(self._given_texts()),
        }
        return make_frame(columns, library)

    def _given_texts(self) -> np.ndarray:
        """Return the text of what the value of each feature depends on, or None."""
        texts = np.full(self.known.shape, None, dtype=object)
        for row in range(self.n_rows):
            known = np.flatnonzero(self.known[row]).tolist()
            for feature, others in self._dependence.in_order(known):
                texts[row, feature] = self._in_words(row, others) or None
        return texts

    def _in_words(self, row: int, features: Sequence[int]) -> str:
        """Return the text of the values of some features of a row."""
        return " and ".join([self._words[i][self.codes[i, row]] for i in features])

    @cached_property
    def _words(self) -> list[list[str]]:
        """Every value of every feature in words."""
        return [values_in_words(variable) for variable in self._domain.features]

    def reasons(self, row: int = 0, label: Any = None, most: int = 3) -> list[str]:
        """Return the values of one row that contribute most, for or against a class, as text.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.
        label : optional
            The class; the decision by default.
        most : int, default=3
            The largest number of values.

        Returns
        -------
        list of str
            A value and its contribution each, the largest first.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> clf.explain(iris.X.iloc[[60]]).reasons(most=1)
        ['petal width (cm) in [0.8, 1.75): +2.3']
        """
        check_most(most)
        parts = self.contributions[row, :, self.class_of(row, label)]
        shown = [] if self.impossible[row] else self._ranked(row, parts)[:most]
        return [f"{self._in_words(row, [i])}: {signed(parts[i])}" for i in shown]

    def _ranked(self, row: int, parts: np.ndarray) -> list[int]:
        """Return the known features of a row, those of the largest contributions first."""
        known = [i for i in self.order if self.known[row, i]]
        return sorted(known, key=lambda i: -abs(parts[i]))

    def text(self, row: int = 0, label: Any = None, most: int = 10) -> str:
        """Return the explanation of one row for one class as text.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.
        label : optional
            The class; the decision by default.
        most : int, default=10
            Number of contributions, the largest, with a line each; the others are added up.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> print(clf.explain(iris.X.iloc[[60]]).text(most=1))
        prior: −0.64 for versicolor
        petal width (cm) in [0.8, 1.75): +2.3 for versicolor
        3 other columns: +0.79
        sum: +2.5 for versicolor, which has the probability 0.921
        """
        check_most(most)
        place = self.class_of(row, label)
        asked, which = str(self.labels[place]), ", which has the"
        if self.against is not None:
            asked, which = f"{asked} over {self.labels[self.against]}", f"; {asked} has the"
        parts = self.contributions[row, :, place]
        ranked = self._ranked(row, parts)
        shown, others = ([], []) if self.impossible[row] else (ranked[:most], ranked[most:])
        lines = [f"prior: {signed(self.base_of(row)[place])} for {asked}"]
        lines += [self._line(row, feature, parts[feature], asked) for feature in shown]
        if others:
            sum_of_others = signed(float(parts[others].sum()))
            lines.append(f"{count_of(len(others), 'other column')}: {sum_of_others}")
        if self.impossible[row]:
            lines.append(
                "no class can have these values together, so that the prior is all that counts"
            )
        odds = signed(self.log_odds[row, place])
        share = probability_in_words(self.posterior[row], place)
        lines.append(f"sum: {odds} for {asked}{which} probability {share}")
        return "\n".join([*lines, *self._unknown_line(row)])

    def _line(self, row: int, feature: int, part: float, asked: str) -> str:
        given = self._in_words(row, self.given(row, feature))
        value = self._in_words(row, [feature])
        return f"{value}: {signed(part)} for {asked}{given and ', given '}{given}"

    def _unknown_line(self, row: int) -> list[str]:
        features = self._domain.features
        about = {features[i].name for i in np.flatnonzero(self.known[row])}
        hidden = [features[i] for i in np.flatnonzero(~self.known[row])]
        unknown = [one.name for one in hidden if one.kind != "evidence" and one.name not in about]
        return [f"unknown: {some_of(unknown, _MAX_NAMES)}"] if unknown else []

    def plot(
        self,
        row: int = 0,
        label: Any = None,
        ax: Any = None,
        intervals: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Any:
        """Plot one row as a waterfall from the prior to the log odds (extra ``plot``).

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.
        label : optional
            The class; the decision by default.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        intervals : tuple of two arrays, optional
            The ends of intervals of the contributions, ``ErrorBars.contributions`` of these rows.

        Returns
        -------
        matplotlib axes
            The axes.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> ax = clf.explain(iris.X.iloc[[60]]).plot()  # doctest: +SKIP
        """
        return leaf("plot").waterfall(self, row=row, label=label, ax=ax, intervals=intervals)

    def to_shap(self) -> Any:
        """Return the contributions as a ``shap.Explanation``, for the plots of shap; needs shap.

        They are contributions in the order of the network, not Shapley values: each is what a value
        changes given those before it. They add up to the log odds in the same way.

        Returns
        -------
        shap.Explanation
            ``values`` of shape (n_rows, n_features, n_classes), zero for missing values, and
            ``base_values`` of shape (n_rows, n_classes). ``data`` has the positions of the values
            in their columns, NaN for missing ones, and ``display_data`` the values as text.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> explanation = clf.explain(iris.X).to_shap()  # doctest: +SKIP
        >>> shap.plots.beeswarm(explanation[:, :, 0])  # doctest: +SKIP
        """
        shape = (self.n_rows, len(self.labels))
        return need("shap").Explanation(
            values=np.nan_to_num(self.contributions, nan=0.0, posinf=np.inf, neginf=-np.inf),
            base_values=np.broadcast_to(self.base, shape).copy(),
            data=np.where(self.known, self.codes.T.astype(float), np.nan),
            display_data=self.values,
            feature_names=list(self.names),
            output_names=[str(label) for label in self.labels],
        )

    def relevance(self, tolerance: float = TOLERANCE) -> Relevance:
        """Return the relevance of each column for the decisions in these rows.

        Parameters
        ----------
        tolerance : float, default=0.01
            The share of the information about the classes that hiding columns may lose, as in
            ``BayesNetClassifier.relevance``.

        Returns
        -------
        Relevance
            The relevance.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> relevance = clf.explain(iris.X).relevance()
        >>> relevance.names[relevance.ranking[0]]
        'petal width (cm)'
        """
        if self.against is not None:
            raise ValueError(
                "relevance is about each decision against all other classes: explain without"
                " `against`"
            )
        changes = changed_odds(self.contributions, self.decisions)
        return relevance_of(self.beliefs, self.codes, changes, None, tolerance)

    def __repr__(self) -> str:
        if self.n_rows == 1:
            return self.text()
        return (
            f"<Explanation: {self.n_rows} rows, {len(self.names)} features, {len(self.labels)}"
            " classes>"
        )


def explain(
    beliefs: CalibratedPosterior, codes: np.ndarray, against: int | None = None
) -> Explanation:
    """Return the contributions of all known values of some rows, against others or one class."""
    steps = Steps(beliefs, codes, against)
    n_features, n_rows = codes.shape
    contributions = np.empty((n_rows, n_features, beliefs.labels.size))
    log_odds = np.empty((n_rows, beliefs.labels.size))
    for rows, parts, odds in steps.blocks():
        contributions[rows], log_odds[rows] = parts, odds
    posterior = np.exp(steps.whole)
    return Explanation(
        beliefs, codes, against, steps.base, contributions, log_odds, posterior, steps.impossible
    )

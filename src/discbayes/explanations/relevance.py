"""The relevance of columns for the decisions in some rows, and uninformative columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._text import count_of, some_of, text_table
from discbayes.calibration import CalibratedPosterior
from discbayes.data.frames import make_frame
from discbayes.explanations.steps import Steps
from discbayes.explanations.wording import check_most
from discbayes.inference import TooManyCellsError, blank_rows

TOLERANCE = 0.01
_MOST = 100.0  # of a contribution, so that one that is infinite has a mean
_MAX_NAMES = 20  # in one line
_ROUNDING = 1e-12  # nats


@dataclass(frozen=True, eq=False, repr=False)
class Hidden:
    """Columns that can be hidden together with little loss, and the effect on decisions.

    Attributes
    ----------
    columns : tuple of str
        The columns, the least relevant first.
    lost : float
        The share of the information about the classes (mean Kullback-Leibler divergence of the
        posterior from that without any column) that is lost without these columns.
    changed : float
        The share of the decisions that change.
    accuracy, log_loss : pair of float, or None
        With all columns, and without these; None where the labels are not known.
    """

    columns: tuple[str, ...]
    lost: float
    changed: float
    accuracy: tuple[float, float] | None = None
    log_loss: tuple[float, float] | None = None

    def __repr__(self) -> str:
        if not self.columns:
            return "no uninformative columns"
        text = (
            f"{count_of(len(self.columns), 'uninformative column')}; consider dropping"
            f" {some_of(self.columns, _MAX_NAMES)}: without"
            f" {'it' if len(self.columns) == 1 else 'them'} {self.changed:.2%} of the decisions"
            " change"
        )
        for name, pair in (("accuracy", self.accuracy), ("log loss", self.log_loss)):
            if pair is not None:
                text += f", {name} {pair[0]:.4f} → {pair[1]:.4f}"
        if self.accuracy is not None:
            text += " (on these rows: optimistic if the model was learned from them)"
        return text


@dataclass(frozen=True, eq=False, repr=False)
class Relevance:
    """How much each column matters for the decisions in some rows.

    Parameters
    ----------
    names : list of str
        The columns.
    mean : ndarray
        By how much the value of a column changes the log odds of the decision, up or down, in the
        mean of the rows in which it is known. A change above 100 counts as 100.
    share : ndarray
        Of all changes by all columns.
    unknown : ndarray
        The share of the rows in which the column is unknown.
    n_rows : int
        The number of rows.
    hidden : Hidden
        Uninformative columns to consider dropping, and the effect on the decisions.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> relevance = BayesNetClassifier("tan", "hybrid").fit(wine.X, wine.y).relevance(wine.X)
    >>> relevance.names[relevance.ranking[0]]
    'flavanoids'
    """

    names: list[str]
    mean: np.ndarray
    share: np.ndarray
    unknown: np.ndarray
    n_rows: int
    hidden: Hidden

    @property
    def ranking(self) -> np.ndarray:
        """The positions of the columns, the most relevant first."""
        return np.argsort(-self.share, kind="stable")

    def to_frame(self, library: bool | str = "auto") -> Any:
        """Return a frame with a row for each column, the most relevant first.

        Parameters
        ----------
        library : str or bool, default="auto"
            Frame library ("pandas", "polars" or "pyarrow"); the first that is installed by default.

        Returns
        -------
        frame
            The columns "column", "mean", "share", "unknown" and "could_go" (uninformative).

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> clf.relevance(iris.X).to_frame("pandas")["column"].tolist()[:2]
        ['petal width (cm)', 'petal length (cm)']
        """
        ranking, names = self.ranking, np.array(self.names, dtype=object)
        columns = {
            "column": names[ranking],
            "mean": self.mean[ranking],
            "share": self.share[ranking],
            "unknown": self.unknown[ranking],
            "could_go": np.isin(names, np.array(self.hidden.columns, dtype=object))[ranking],
        }
        return make_frame(columns, library)

    def text(self, most: int = 20) -> str:
        """Return a table of the most relevant columns, and a line on uninformative ones.

        Parameters
        ----------
        most : int, default=20
            Number of columns to list.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> print(clf.relevance(iris.X).text(most=1).splitlines()[0])
        column            changes the log odds by  share  unknown
        """
        check_most(most)
        ranking = self.ranking
        rows = [
            [self.names[i], f"{self.mean[i]:.2f}", f"{self.share[i]:.1%}", f"{self.unknown[i]:.1%}"]
            for i in ranking[:most]
        ]
        if ranking.size > most:
            rest = ranking[most:]
            rows.append(
                [count_of(rest.size, "other column"), "", f"{self.share[rest].sum():.1%}", ""]
            )
        table = text_table(["column", "changes the log odds by", "share", "unknown"], rows)
        return f"{table}\n{self.hidden}"

    def __repr__(self) -> str:
        return self.text()


def relevance(
    beliefs: CalibratedPosterior,
    codes: np.ndarray,
    classes: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
) -> Relevance:
    """Return the relevance of all columns in some rows.

    With the classes of the rows, also the loss of accuracy by hiding columns.
    """
    decisions, changes = beliefs.decisions(codes), np.zeros(codes.shape[0])
    for rows, parts, _ in Steps(beliefs, codes, None).blocks():
        changes += changed_odds(parts, decisions[rows])
    return relevance_of(beliefs, codes, changes, classes, tolerance)


def changed_odds(contributions: np.ndarray, decisions: np.ndarray) -> np.ndarray:
    """The sum of what each feature changes in the log odds of the decisions, up or down."""
    own = contributions[np.arange(decisions.size), :, decisions]
    return np.nansum(np.minimum(np.abs(own), _MOST), axis=0)


def relevance_of(
    beliefs: CalibratedPosterior,
    codes: np.ndarray,
    changes: np.ndarray,
    classes: np.ndarray | None,
    tolerance: float,
) -> Relevance:
    """Return the relevance, given the sum of the changes by each feature."""
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance={tolerance!r} must be a share, from 0 to 1")
    n_rows = codes.shape[1]
    if not n_rows:
        raise ValueError("X has no rows, so that nothing follows about its columns")
    domain = beliefs.network.domain
    known = (codes < domain.cards[:, None]).sum(axis=1)
    mean = np.divide(changes, known, out=np.zeros_like(changes), where=known > 0)
    total = float(changes.sum())
    share = changes / total if total > 0 else np.zeros_like(changes)
    hidden = _uninformative_columns(beliefs, codes, changes, classes, tolerance)
    return Relevance(domain.names, mean, share, 1 - known / n_rows, n_rows, hidden)


def _uninformative_columns(
    beliefs: CalibratedPosterior,
    codes: np.ndarray,
    changes: np.ndarray,
    classes: np.ndarray | None,
    tolerance: float,
) -> Hidden:
    """Return the columns that are uninformative together, and the effect of hiding them."""
    # a hidden column is left out, not missing: the weights of a pool stay those of the rows
    weights = None if beliefs.pool is None else beliefs.pool.weights_of(codes)
    before = beliefs.log_posterior(codes)
    nothing_known = beliefs.log_posterior(blank_rows(beliefs.network.parameters, 1))
    information = _divergence(before, nothing_known)

    def lost(features: np.ndarray) -> float:
        if not features.size:
            return 0.0
        rest = _without(beliefs, codes, features)
        try:
            return _divergence(before, beliefs.exact.log_posterior(rest, weights))
        except TooManyCellsError:  # exact inference cannot marginalize them together
            return np.inf

    allowed = tolerance * information + _ROUNDING
    features = _largest_set(changes, lambda features: lost(features) <= allowed)
    rest = _without(beliefs, codes, features)
    after = beliefs.log_posterior(rest, weights)
    changed = float(np.mean(after.argmax(axis=1) != before.argmax(axis=1)))
    names = tuple(beliefs.network.domain.names[i] for i in features)
    share = lost(features) / information if information > 0 else 0.0
    if classes is None:
        return Hidden(names, share, changed)
    qualities = [_quality(posterior, classes) for posterior in (before, after)]
    accuracy, log_loss = zip(*qualities, strict=True)
    return Hidden(names, share, changed, accuracy, log_loss)


def _largest_set(changes: np.ndarray, fits: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Return a large set of features that fits: by bisection of the ranking, then one by one.

    A feature of more than average relevance is tried by bisection only.
    """
    ranking = np.argsort(changes, kind="stable")
    # hiding more features mostly loses more, so that bisection finds where it is too much
    least, most = 0, ranking.size + 1
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fits(ranking[:middle]) else (least, middle)
    chosen = ranking[:least]
    for feature in ranking[least:]:
        more = np.append(chosen, feature)
        if changes[feature] < changes.mean() and fits(more):
            chosen = more
    return chosen


def _divergence(log_posterior: np.ndarray, other: np.ndarray) -> float:
    """Return the mean Kullback-Leibler divergence of posteriors from others, in nats."""
    share = np.exp(log_posterior)
    with np.errstate(invalid="ignore"):
        return float(np.where(share > 0, share * (log_posterior - other), 0.0).sum(axis=1).mean())


def _without(beliefs: CalibratedPosterior, codes: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the rows with some features missing."""
    hidden = codes.copy()
    hidden[features] = beliefs.network.domain.cards[features, None]
    return hidden


def _quality(log_posterior: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    """Return the accuracy and the log loss."""
    own = log_posterior[np.arange(classes.size), classes]
    return float(np.mean(log_posterior.argmax(axis=1) == classes)), -float(np.mean(own))

"""How much each column matters for the decisions in some rows, and which columns could go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._text import text_table
from discbayes.beliefs import Beliefs
from discbayes.data.frames import make_frame
from discbayes.explanations.steps import Steps
from discbayes.inference import FactorTooLargeError

TOLERANCE = 0.01
_MOST = 100.0  # of a contribution, so that one that is infinite has a mean
_MOST_NAMES = 20  # in one line


@dataclass(frozen=True, eq=False)
class Hidden:
    """What becomes of the decisions in some rows if the values of some columns are hidden, all at the same time.

    Attributes
    ----------
    columns : tuple of str
        The columns, the least relevant first.
    changed : float
        The share of the decisions that change.
    accuracy, log_loss : pair of float, or None
        With all columns, and without these; None where the labels are not known.
    """

    columns: tuple[str, ...]
    changed: float
    accuracy: tuple[float, float] | None = None
    log_loss: tuple[float, float] | None = None

    def __str__(self) -> str:
        if not self.columns:
            return "no column could go"
        more = f" and {len(self.columns) - _MOST_NAMES} more" if len(self.columns) > _MOST_NAMES else ""
        number = "1 column" if len(self.columns) == 1 else f"{len(self.columns)} columns"
        text = f"{number} could go: {', '.join(self.columns[:_MOST_NAMES])}{more}; without "
        text += ("it" if len(self.columns) == 1 else "them") + f" {self.changed:.2%} of the decisions change"
        for name, pair in (("accuracy", self.accuracy), ("log loss", self.log_loss)):
            if pair is not None:
                text += f", {name} {pair[0]:.4f} → {pair[1]:.4f}"
        return text


@dataclass(frozen=True, eq=False)
class Relevance:
    """How much each column matters for the decisions in some rows.

    Attributes
    ----------
    names : list of str
        The columns.
    mean : ndarray
        By how much the value of a column changes the log odds of the decision, up or down, in the mean of the rows in
        which it is known. A change above 100 counts as 100.
    share : ndarray
        Of all changes by all columns.
    unknown : ndarray
        The share of the rows in which the column is unknown.
    n_rows : int
        The number of rows.
    hidden : Hidden
        The columns that could go, and what that does to the decisions.
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
        """A line for each column, the most relevant first."""
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
        """The most relevant columns, ``most`` of them, and the advice."""
        ranking = self.ranking
        rows = [
            [self.names[i], f"{self.mean[i]:.2f}", f"{self.share[i]:.1%}", f"{self.unknown[i]:.1%}"]
            for i in ranking[:most]
        ]
        if ranking.size > most:
            rest = ranking[most:]
            rows.append([f"{rest.size} other columns", "", f"{self.share[rest].sum():.1%}", ""])
        table = text_table(["column", "changes the log odds by", "share", "unknown"], rows)
        return f"{table}\n{self.hidden}"

    def __repr__(self) -> str:
        return self.text()


def relevance(
    beliefs: Beliefs, codes: np.ndarray, classes: np.ndarray | None = None, tolerance: float = TOLERANCE
) -> Relevance:
    """The relevance of all columns in some rows; with their classes, also what hiding columns costs."""
    decisions, changes = beliefs.decisions(codes), np.zeros(codes.shape[0])
    for rows, parts, _ in Steps(beliefs, codes, None).blocks():
        changes += changed_odds(parts, decisions[rows])
    return relevance_of(beliefs, codes, changes, classes, tolerance)


def changed_odds(contributions: np.ndarray, decisions: np.ndarray) -> np.ndarray:
    """The sum of what each feature changes in the log odds of the decisions, up or down."""
    own = contributions[np.arange(decisions.size), :, decisions]
    return np.nansum(np.minimum(np.abs(own), _MOST), axis=0)


def relevance_of(
    beliefs: Beliefs, codes: np.ndarray, changes: np.ndarray, classes: np.ndarray | None, tolerance: float
) -> Relevance:
    """The relevance that follows from what each feature changes in all."""
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance={tolerance!r} must be a share of the decisions, from 0 to 1")
    n_rows = codes.shape[1]
    if not n_rows:
        raise ValueError("X has no rows, so that nothing follows about its columns")
    domain = beliefs.network.domain
    known = (codes < domain.cards[:, None]).sum(axis=1)
    mean = np.divide(changes, known, out=np.zeros_like(changes), where=known > 0)
    total = float(changes.sum())
    share = changes / total if total > 0 else np.zeros_like(changes)
    hidden = _columns_that_could_go(beliefs, codes, np.argsort(changes, kind="stable"), classes, tolerance)
    return Relevance(domain.names, mean, share, 1 - known / n_rows, n_rows, hidden)


def _columns_that_could_go(
    beliefs: Beliefs, codes: np.ndarray, ranking: np.ndarray, classes: np.ndarray | None, tolerance: float
) -> Hidden:
    """As many columns as hiding them changes few decisions of each class, from the least relevant column on.

    Their number is found by bisection. Columns that exact inference cannot sum out together are too many.
    """
    decisions = beliefs.decisions(codes)
    decided = np.bincount(decisions)

    def few_change(number: int) -> bool:
        try:
            found = beliefs.decisions(_without(beliefs, codes, ranking[:number]))
        except FactorTooLargeError:
            return False
        return bool((np.bincount(decisions, found != decisions) <= tolerance * decided).all())

    least, most = 0, ranking.size + 1
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if few_change(middle) else (least, middle)
    names = tuple(beliefs.network.domain.names[i] for i in ranking[:least])
    rest = _without(beliefs, codes, ranking[:least])
    changed = float(np.mean(beliefs.decisions(rest) != decisions))
    if classes is None:
        return Hidden(names, changed)
    accuracy, log_loss = zip(*(_quality(beliefs, rows, classes) for rows in (codes, rest)), strict=True)
    return Hidden(names, changed, accuracy, log_loss)


def _without(beliefs: Beliefs, codes: np.ndarray, features: np.ndarray) -> np.ndarray:
    """The rows with some features unknown."""
    hidden = codes.copy()
    hidden[features] = beliefs.network.domain.cards[features, None]
    return hidden


def _quality(beliefs: Beliefs, codes: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    """The accuracy and the log loss."""
    own = beliefs.log_posterior(codes)[np.arange(classes.size), classes]
    return float(np.mean(beliefs.decisions(codes) == classes)), -float(np.mean(own))

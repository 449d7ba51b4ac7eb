"""The quality of predictions on rows of known classes: metrics, confusion matrix, classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv
from sklearn.metrics import average_precision_score, roc_auc_score

from discbayes._text import shortened, text_table
from discbayes.evaluation.metrics import accuracy, measures

HELD_OUT = "held-out rows"
TEST = "test rows"
GIVEN = "rows of DATA"
_MAX_CLASSES = 12  # of a confusion matrix as text
_MAX_NAME = 24  # characters
_MIN_ROWS = 30  # for what a standard error of log losses tells
_NOTES = {
    "base rate": "accuracy of always predicting the most frequent class",
    "accuracy": "share of rows whose class is predicted",
    "balanced accuracy": "mean share over the classes, each of the same weight",
    "log loss": "mean of −log P(true class)",
    "AUC": "area under the ROC curve",
    "average precision": "area under the precision-recall curve",
    "Brier score": "squared error over all classes, from 0 to 2",
    "ECE": "expected calibration error",
}


@dataclass(frozen=True, eq=False, repr=False)
class Quality:
    """How good the predicted probabilities of some rows are.

    Parameters
    ----------
    labels : sequence of str
        The classes.
    shares : ndarray of shape (n_rows, n_classes)
        The predicted probabilities.
    codes : ndarray of shape (n_rows,)
        The position of the true class, −1 for a class that the model does not know.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.
    rows : str, default="held-out rows"
        What the rows are called: "held-out rows", "test rows", "training rows".
    n_repeats : int, default=1
        How often each row was predicted, by repeated cross-validation.

    Examples
    --------
    >>> shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> print(Quality(["no", "yes"], shares, np.array([0, 1, 0])).sentence)
    not clearly better than always predicting 'no' (33 ± 27 percentage points, which may be chance):
    100 % of the 3 held-out rows are right, not 67 %
    """

    labels: Sequence[str]
    shares: np.ndarray
    codes: np.ndarray
    weight: np.ndarray | None = None
    rows: str = HELD_OUT
    n_repeats: int = 1

    @property
    def n_rows(self) -> int:
        """The number of rows, each counted once."""
        return self.codes.size // self.n_repeats

    @cached_property
    def _weights(self) -> np.ndarray:
        return np.ones(self.codes.size) if self.weight is None else self.weight

    @cached_property
    def most_frequent(self) -> int:
        """The position of the most frequent class."""
        known = self.codes >= 0
        sums = np.bincount(self.codes[known], self._weights[known], len(self.labels))
        return int(sums.argmax())

    @cached_property
    def confusions(self) -> np.ndarray:
        """The number of rows by true class and decision; the last row is of unknown classes."""
        return confusion_counts(self.shares, self.codes)

    @cached_property
    def classes(self) -> np.ndarray:
        """Rows, precision, recall, F1, AUC and average precision of each class."""
        return class_metrics(self.shares, self.codes, self.weight)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The metrics of all rows by name; NaN where one is undefined."""
        found = measures(self.shares, self.codes, self.weight)
        n_rows, _, recall, _, areas, precisions = self.classes.T
        return {
            "base rate": float(self._mean(self.codes == self.most_frequent)),
            "accuracy": found["accuracy"],
            "balanced accuracy": _mean_of(recall[n_rows > 0]),
            "log loss": found["log_loss"],
            "AUC": _mean_of(areas),
            "average precision": self._average_precision(precisions),
            "Brier score": found["brier"],
            "ECE": found["ece"],
        }

    def accuracy_interval(self, level: float = 0.9) -> tuple[float, float]:
        """Return an interval of the accuracy on all rows of the distribution of these.

        It is that of Jeffreys for a share. Rows with weights count as many as would have the same
        variance, and rows that were predicted several times count once.

        Parameters
        ----------
        level : float, default=0.9
            How often such intervals hold the accuracy.

        Returns
        -------
        low, high : float
            The ends of the interval.

        Examples
        --------
        >>> shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
        >>> low, high = Quality(["no", "yes"], shares, np.array([0, 1, 0])).accuracy_interval()
        >>> round(low, 2), round(high, 2)
        (0.56, 1.0)
        """
        weights = self._weights
        n_rows = weights.sum() ** 2 / (weights @ weights) / self.n_repeats
        right = accuracy(self.shares, self.codes, self.weight) * n_rows + 0.5
        wrong = n_rows + 1 - right
        low, high = betaincinv(right, wrong, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return low, high

    def _average_precision(self, by_class: np.ndarray) -> float:
        """Return that of the rarer one of two classes, or the mean of the classes."""
        if len(self.labels) == 2:
            return float(by_class[1 - self.most_frequent])
        return _mean_of(by_class)

    @property
    def notes(self) -> dict[str, str]:
        """Descriptions of the metrics, in a few words."""
        notes = dict(_NOTES)
        low, high = self.accuracy_interval()
        notes["accuracy"] += f"; {low:.3f} to {high:.3f} with 90 % confidence"
        if len(self.labels) == 2:
            rare = shortened(self.labels[1 - self.most_frequent], _MAX_NAME)
            notes["average precision"] += f" of {rare}"
        else:
            notes["AUC"] += ", mean of each class against the others"
            notes["average precision"] += ", mean of the classes"
        return notes

    def _mean(self, values: np.ndarray) -> float:
        return float(values @ self._weights / self._weights.sum())

    @cached_property
    def sentence(self) -> str:
        """The accuracy beside that of always predicting the most frequent class."""
        hits = self.codes == self.shares.argmax(axis=1)
        difference = hits.astype(float) - (self.codes == self.most_frequent)
        gain = self._mean(difference)
        # the standard error of a weighted mean of paired differences
        spread = float(np.sum((self._weights * (difference - gain)) ** 2))
        # predictions of the same row are not independent: repeats do not make the error smaller
        error = np.sqrt(spread * self.n_repeats) / self._weights.sum()
        digits = 0 if error >= 0.01 else 1
        points = f"{abs(100 * gain):.{digits}f} ± {100 * error:.{digits}f} percentage points"
        word, better = "better" if gain > 0 else "worse", f" by {points}"
        if gain == 0:
            word, better = "no better", ""
        elif abs(gain) <= 2 * error:
            word, better = f"not clearly {word}", f" ({points}, which may be chance)"
        label = shortened(self.labels[self.most_frequent], _MAX_NAME)
        accuracy, base = (100 * self.metrics[name] for name in ("accuracy", "base rate"))
        rows = f"the {self.n_rows:,} {self.rows}"
        start = f"{word} than always predicting {label!r}"
        if gain == 0:
            return f"{start}: either is right in {base:.{digits}f} % of {rows}{self._of_shares()}"
        more = "" if gain > 2 * error else self._of_shares()
        return (
            f"{start}{better}: {accuracy:.{digits}f} % of {rows} are right, not"
            f" {base:.{digits}f} %{more}"
        )

    def _of_shares(self) -> str:
        """Return what probabilities tell where decisions do not: many classes are rarely decided.

        The log loss is compared with that of always predicting the shares of the classes; an empty
        text where it is not clearly better.
        """
        known = self.codes >= 0
        codes, weights = self.codes[known], self._weights[known]
        if codes.size < _MIN_ROWS:
            return ""
        shares = np.bincount(codes, weights, len(self.labels)) / weights.sum()
        tiny = np.finfo(float).tiny
        losses = -np.log(np.maximum(self.shares[known, codes], tiny))
        gains = -np.log(shares[codes]) - losses
        gain = float(gains @ weights / weights.sum())
        spread = float(np.sum((weights * (gains - gain)) ** 2))
        if gain <= 2 * np.sqrt(spread * self.n_repeats) / weights.sum():
            return ""
        loss = float(losses @ weights / weights.sum())
        return (
            "; its probabilities tell more than the shares of the classes: log loss"
            f" {loss:.3f}, not {loss + gain:.3f}"
        )

    def text(self) -> str:
        """Return the metrics, the confusion matrix and a line for each class, as text.

        Returns
        -------
        str
            Three tables.

        Examples
        --------
        >>> shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
        >>> print(Quality(["no", "yes"], shares, np.array([0, 1, 0])).text().splitlines()[1])
        base rate          0.6667  accuracy of always predicting the most frequent class
        """
        notes = self.notes
        width = max(len(name) for name in notes)
        listed = [
            f"{name:{width}}  {value:.4f}  {notes[name]}"
            for name, value in self.metrics.items()
            if np.isfinite(value)
        ]
        title = f"metrics of the {self.n_rows:,} {self.rows}"
        if self.n_repeats > 1:
            title += f", each predicted {self.n_repeats} times"
        return "\n\n".join(["\n".join([title, *listed]), self._confusion_text(), self._classes()])

    def _confusion_text(self) -> str:
        """Return the confusion matrix, or that there are too many classes for one."""
        counts = self.confusions
        names = [shortened(name, _MAX_NAME) for name in self.labels]
        if len(names) > _MAX_CLASSES:
            return f"{len(names)} classes are too many for a confusion matrix in a terminal"
        rows = [[name, *map(str, row)] for name, row in zip(names, counts, strict=False)]
        if counts[-1].any():
            rows.append(["unknown classes", *map(str, counts[-1])])
        return text_table(["true class \\ predicted", *names], rows)

    def _classes(self) -> str:
        header = ["class", "rows", "precision", "recall", "F1", "AUC", "average precision"]
        rows = []
        for name, values in zip(self.labels, self.classes, strict=True):
            cells = ["–" if np.isnan(value) else f"{value:.3f}" for value in values[1:]]
            rows.append([shortened(name, _MAX_NAME), f"{values[0]:,.0f}", *cells])
        return text_table(header, rows)

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{self.text()}"


def codes_of_labels(found: Sequence[Any] | np.ndarray, labels: Sequence[Any]) -> np.ndarray:
    """Return the position of each label, −1 for one that is not among the known ones.

    >>> codes_of_labels(["yes", "?"], ["no", "yes"])
    array([ 1, -1])
    """
    position = {label: code for code, label in enumerate(labels)}
    return np.array([position.get(label, -1) for label in found])


def confusion_counts(posterior: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the number of rows by true class and decision; the last row is of unknown classes.

    >>> confusion_counts(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), np.array([0, 0, -1]))
    array([[1, 1], [0, 0], [0, 1]])
    """
    n_classes = posterior.shape[1]
    counts = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (codes, posterior.argmax(axis=1)), 1)  # -1 is the last row
    return counts


def class_metrics(
    posterior: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return rows, precision, recall, F1, AUC and average precision of each class.

    All but the number of rows are weighted, if rows have weights. A metric that is undefined is
    NaN.

    >>> class_metrics(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1])).round(2)
    array([[1.  , 0.5 , 1.  , 0.67, 1.  , 1.  ],
           [2.  , 1.  , 0.5 , 0.67, 1.  , 1.  ]])
    """
    weights = np.ones(codes.size) if weight is None else weight
    decisions, classes = posterior.argmax(axis=1), range(posterior.shape[1])
    right, true, decided = (
        np.array([weights[where(c)].sum() for c in classes])
        for where in (
            lambda c: (codes == c) & (decisions == c),
            lambda c: codes == c,
            lambda c: decisions == c,
        )
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = right / decided, right / true
        f1 = 2 * right / (decided + true)
    n_rows = np.array([np.sum(codes == c) for c in classes])
    is_mixed = (true > 0) & (true < weights.sum())
    curves = [
        [
            score(codes == c, posterior[:, c], sample_weight=weight) if is_mixed[c] else np.nan
            for c in classes
        ]
        for score in (roc_auc_score, average_precision_score)
    ]
    return np.column_stack((n_rows, precision, recall, f1, *curves))


def _mean_of(values: np.ndarray) -> float:
    """Return the mean of the values that are defined."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else float("nan")

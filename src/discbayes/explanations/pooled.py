"""Explanations of a log pool: the mean of the members' contributions.

The odds of two classes in a log pool are the mean of the odds in its members, so that contributions
to the odds of one class against another one are means too. The odds of class c against all others
together are −log Σ exp(−o) over the odds o against each of them. Their change is a weighted sum of
the changes of o, with the logarithmic means of the terms exp(−o) before and after, divided by that
of the sum, as weights. This is exact, so that contributions add up in either case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discbayes.calibration import PooledPosterior, log_odds
from discbayes.data.table import Table
from discbayes.explanations.contributions import Explanation, explain
from discbayes.explanations.relevance import TOLERANCE, Relevance
from discbayes.inference import log_marginal


@dataclass(frozen=True, eq=False, repr=False)
class PooledExplanation(Explanation):
    """The contributions of the known values of some rows to the log odds of a log pool.

    Members have cut points and edges of their own, so that values are shown as they were given, and
    what a value depends on is to be asked of the members.

    Parameters
    ----------
    beliefs : CalibratedPosterior
        The first member.
    codes : ndarray of shape (n_features, n_rows)
        The rows as codes of the first member.
    against : int or None
        Position of the class that the others are compared with; None for all others together.
    base : ndarray of shape (n_classes,) or (n_rows, n_classes)
        The log odds of each class before anything is known.
    contributions : ndarray of shape (n_rows, n_features, n_classes)
        The contribution of each value; NaN where it is missing.
    log_odds : ndarray of shape (n_rows, n_classes)
        The log odds of each class.
    posterior : ndarray of shape (n_rows, n_classes)
        P(c | x observed) of the pool.
    impossible : ndarray of bool, shape (n_rows,)
        No row is impossible in a pool.
    texts : ndarray of shape (n_rows, n_features)
        The values as they were given; None where they are missing.

    Examples
    --------
    >>> from discbayes import BayesNetEnsemble, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
    >>> found = clf.explain(iris.X[60:61])
    >>> total = found.base_of(0) + np.nansum(found.contributions[0], axis=0)
    >>> np.allclose(total, found.log_odds[0])
    True
    """

    texts: np.ndarray

    @property
    def order(self) -> tuple[int, ...]:
        """The columns in their order: members have orders of their own."""
        return tuple(range(len(self.names)))

    @cached_property
    def decisions(self) -> np.ndarray:
        """The position of the predicted class of each row."""
        return np.asarray(self.posterior.argmax(axis=1))

    @cached_property
    def values(self) -> np.ndarray:
        """The values as they were given; None where they are missing."""
        return self.texts

    def given(self, row: int, feature: int) -> tuple[int, ...]:
        """Return no features, as members depend on different ones.

        Parameters
        ----------
        row, feature : int
            The row and the feature.

        Returns
        -------
        tuple
            Nothing.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> clf.explain(iris.X[60:61]).given(0, 1)
        ()
        """
        return ()

    def relevance(self, tolerance: float = TOLERANCE) -> Relevance:
        """Refuse: hiding columns is a question to one network.

        Parameters
        ----------
        tolerance : float
            As in ``Explanation.relevance``.

        Returns
        -------
        Relevance
            Nothing is returned.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> clf.members_[0].relevance(iris.X).names[0]
        'sepal length (cm)'
        """
        raise ValueError("relevance needs one network: ask a member, as in members_[0].relevance")

    def _given_texts(self) -> np.ndarray:
        return np.full(self.known.shape, None, dtype=object)

    def _in_words(self, row: int, features: Sequence[int]) -> str:
        return " and ".join(f"{self.names[i]} = {self.texts[row, i]}" for i in features)


def explain_pool(
    pool: PooledPosterior,
    codes: Sequence[np.ndarray],
    table: Table | None = None,
    against: int | None = None,
) -> PooledExplanation:
    """Return the contributions of all known values, against all other classes or one.

    Parameters
    ----------
    pool : PooledPosterior
        The pool.
    codes : sequence of ndarray
        The rows as codes of each member.
    table : Table or None
        The rows as they were read, of which the explanation shows the values.
    against : int or None
        Position of the class that others are compared with.
    """
    # odds against the class of the largest share are finite
    reference = int(np.argmax(pool.log_shares))
    found = [explain(*member, reference) for member in zip(pool.members, codes, strict=True)]
    first = found[0]
    parts = np.sum([one.contributions for one in found], axis=0) * (pool.scale / len(found))
    parts = np.nan_to_num(parts, posinf=0.0, neginf=0.0)
    bases = [np.broadcast_to(one.base, one.log_odds.shape) for one in found]
    base = np.sum(bases, axis=0) / len(found)
    odds_of_shares = pool.log_shares - pool.log_shares[reference]
    possible = np.isfinite(odds_of_shares)
    odds_of_shares[~possible] = 0.0
    before = odds_of_shares + pool.scale * (np.where(possible, base, 0.0) - odds_of_shares)
    before[:, ~possible] = -np.inf
    after = before + parts.sum(axis=1)
    if against is None:
        parts = _against_rest(parts, before, after)
        odds_before, odds_after = _odds_against_rest(before), _odds_against_rest(after)
    else:
        parts = parts - parts[:, :, [against]]
        with np.errstate(invalid="ignore"):
            odds_before, odds_after = (each - each[:, [against]] for each in (before, after))
    parts[~first.known] = np.nan
    same = (odds_before == odds_before[:1]).all()
    return PooledExplanation(
        pool.members[0],
        codes[0],
        against,
        odds_before[0] if same and len(odds_before) else odds_before,
        parts,
        odds_after,
        np.exp(after - log_marginal(after)[:, None]),
        np.zeros(first.n_rows, dtype=bool),
        _texts(table, first.known),
    )


def _odds_against_rest(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return np.full(scores.shape, np.inf)
    return np.where(np.isneginf(scores), -np.inf, log_odds(scores))


def _against_rest(parts: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return contributions to the odds against all other classes, from those to scores."""
    n_classes = before.shape[1]
    found = np.zeros_like(parts)
    for c in range(n_classes):
        others = np.flatnonzero((np.arange(n_classes) != c) & np.isfinite(before[0]))
        if not others.size or not np.isfinite(before[0, c]):
            continue
        old = before[:, others] - before[:, [c]]
        new = after[:, others] - after[:, [c]]
        of_sum = _log_logarithmic_mean(log_marginal(old), log_marginal(new))
        weight = np.exp(_log_logarithmic_mean(old, new) - of_sum[:, None])
        pairs = parts[:, :, [c]] - parts[:, :, others]
        found[:, :, c] = np.einsum("rik,rk->ri", pairs, weight)
    return found


def _log_logarithmic_mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return log((eᵃ − eᵇ) / (a − b)), which is a where both are equal."""
    away = np.abs(a - b)
    small = away < 1e-8
    ratio = -np.expm1(-away) / np.where(small, 1.0, away)
    return np.maximum(a, b) + np.where(small, -away / 2, np.log(np.where(small, 1.0, ratio)))


def _texts(table: Table | None, known: np.ndarray) -> np.ndarray:
    """Return values as they were given; None where they are not known."""
    texts = np.full(known.shape, None, dtype=object)
    if table is None:
        return texts
    for i in range(known.shape[1]):
        rows = np.flatnonzero(known[:, i])
        missing = table.missing_mask()[i, rows]  # a value of its own, where that is the setting
        texts[rows[missing], i] = "missing"
        rows = rows[~missing]
        texts[rows, i] = [_text(value) for value in table.cells(i, rows)]
    return texts


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)

"""Rows with missing values: they are marginalized exactly, for every candidate that needs it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from discbayes._arrays import starts_of
from discbayes.engine import parallel_map
from discbayes.inference import log_joint
from discbayes.kernels import candidate_scan, family_theta, incomplete_scan
from discbayes.kernels.scan_records import Forest, IncompleteRowRecord, ParentTables, ScoringRows
from discbayes.network import CPTs, Layout, Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring.candidate_families import Family
from discbayes.scoring.scan_orders import new_results

MAX_BYTES = 200_000_000  # of the posteriors of all missing values
BLOCK_SIZE = 512  # rows whose missing values a thread infers at a time


def complete_first(rows: ScoringRows) -> tuple[ScoringRows, int]:
    """Return the rows with complete ones first, and the number of complete rows."""
    incomplete = np.zeros(rows.y.size, np.bool_)
    for codes, card in zip(rows.codes, rows.cards, strict=True):
        incomplete |= codes >= card
    if not incomplete.any():
        return rows, rows.y.size
    complete = np.flatnonzero(~incomplete)
    return rows.take(np.concatenate([complete, np.flatnonzero(incomplete)])), int(complete.size)


class IncompleteRowScores:
    """The incomplete rows, which are the last of all rows, and their log-joint.

    Parameters
    ----------
    rows : ScoringRows
        All rows, complete ones first.
    n_complete : int
        The number of complete rows.
    score : SampleScore
        The score.
    log_prior : array (n_groups, n_classes, n_classes)
        Log P(class) for a row of each group and true class.
    families : sequence of Family
        The network.
    """

    def __init__(
        self,
        rows: ScoringRows,
        n_complete: int,
        score: SampleScore,
        log_prior: np.ndarray,
        families: Sequence[Family],
    ):
        self.n_complete, self.score = n_complete, score
        self.rows = rows.take(np.arange(n_complete, rows.y.size))
        self.log_prior = log_prior[self.rows.group, self.rows.y]
        self.log_joint = self.infer(families, np.arange(self.rows.y.size))

    @property
    def size(self) -> int:
        """The number of incomplete rows."""
        return int(self.rows.y.size)

    @cached_property
    def n_missing(self) -> np.ndarray:
        """The number of missing values of each feature."""
        pairs = zip(self.rows.codes, self.rows.cards, strict=True)
        return np.array([np.count_nonzero(codes >= card) for codes, card in pairs], np.int64)

    # ---- the score

    def value(self, log_joint: np.ndarray) -> float:
        """Return the weighted sum of the objective under a log-joint of the incomplete rows."""
        if not self.size:
            return 0.0
        return float((self.score.rows(log_joint, self.rows.y) * self.rows.weight).sum())

    def max_gain(self, log_joint: np.ndarray) -> float:
        """Return the most that the incomplete rows can gain: each has ``score.max_value``."""
        if not self.size:
            return 0.0
        return self.score.max_value * float(self.rows.weight.sum()) - self.value(log_joint)

    # ---- the log-joint

    def infer(self, families: Sequence[Family], which: np.ndarray) -> np.ndarray:
        """Infer the log-joint of some of the rows under the given families."""
        rows, out = self.rows, self.log_prior[which].copy()
        structure = Structure(tuple(family.parents for family in families))
        layout = Layout(structure, rows.cards, rows.n_classes)
        for g in np.unique(rows.group[which]):
            members = np.flatnonzero(rows.group[which] == g)
            flat = np.concatenate(
                [family.tables.reshape(rows.n_groups, -1)[g] for family in families]
            )
            tables = CPTs(layout, np.zeros(rows.n_classes), flat)
            out[members] += log_joint(tables, np.ascontiguousarray(rows.codes[:, which[members]]))
        if rows.scheme == family_theta.LEAVE_ONE_OUT:
            out[np.arange(which.size), rows.y[which]] += sum(
                self._own_difference(family, which) for family in families
            )
        return out

    def _own_difference(self, family: Family, which: np.ndarray) -> np.ndarray:
        """Return by how much leaving a row out changes log θ of its own class.

        A row was counted only in families without a missing value.
        """
        rows, base = self.rows, family.base[self.n_complete :][which]
        cell = rows.group[which] * family.n_base + np.maximum(base, 0)
        entry = cell * rows.n_classes + rows.y[which]
        return np.where(base >= 0, family.own[entry] - family.tables[entry], 0.0)

    def after(self, families: Sequence[Family], new: Family, log_joint: np.ndarray) -> np.ndarray:
        """Return the log-joint after one of the families is replaced, by inference if needed."""
        out, affected = self.exchange(families[new.child], new, log_joint)
        self.infer_into(out, affected, families, new)
        return out

    def exchange(
        self, old: Family, new: Family, log_joint: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Replace a family in rows where neither it nor the new one has a missing value.

        Returns the log-joint, and the other rows, which need inference.
        """
        out = log_joint.copy()
        bases = [family.base[self.n_complete :] for family in (old, new)]
        known = (bases[0] >= 0) & (bases[1] >= 0)
        for family, base, sign in zip((old, new), bases, (-1.0, 1.0), strict=True):
            cells = np.where(known, base, -1).astype(np.int32)
            family_theta.add_family(
                out,
                self.rows.y,
                self.rows.group,
                cells,
                family.n_base,
                family.tables,
                family.own,
                sign,
            )
        return out, np.flatnonzero(~known)

    def infer_into(
        self, out: np.ndarray, affected: np.ndarray, families: Sequence[Family], new: Family
    ) -> None:
        """Infer the log-joint of some rows with one of the families replaced."""
        if affected.size:
            changed = [new if family.child == new.child else family for family in families]
            out[affected] = self.infer(changed, affected)


class IncompleteScanOrder:
    """Incomplete rows in scan order, for candidates that join two trees of a forest.

    The posteriors of missing values are inferred once for all such candidates, see
    ``kernels/incomplete_scan.py``.
    """

    def __init__(
        self,
        incomplete: IncompleteRowScores,
        families: Sequence[Family],
        n_jobs: int | None = None,
    ):
        score, all_rows = incomplete.score, incomplete.rows
        log_joint, n = incomplete.log_joint, incomplete.size
        shares, loss = np.empty_like(log_joint), np.empty(n)
        candidate_scan.posteriors(log_joint, all_rows.y, shares, loss)
        if score.kind == candidate_scan.LIKELIHOOD:
            order = np.argsort(-loss, kind="stable")
            max_gain = loss[order]
            # the likelihood does not use these
            other = all_rows.y
            margin = loss
            value = loss
        else:
            other, margin = np.empty(n, np.int32), np.empty(n)
            slack, value = np.empty(n), np.empty(n)
            # with a single class there is no other one, and the margin is infinite
            with np.errstate(invalid="ignore"):
                candidate_scan.margins(
                    log_joint.copy(),
                    all_rows.y,
                    score.kind,
                    score.scale,
                    other,
                    margin,
                    slack,
                    value,
                )
            order = np.lexsort((margin, value))
            max_gain = 1.0 - value[order]
            other, margin = other[order], margin[order]
            value = value[order]
        self.rows = all_rows.take(order)
        max_gain_from = np.zeros(n + 1)
        max_gain_from[:n] = np.cumsum((self.rows.weight * max_gain)[::-1])[::-1]
        structure = Structure(tuple(family.parents for family in families))
        self._is_leaf = np.array([not group for group in structure.children])
        beliefs, belief_start = _beliefs(self.rows, structure, families, n_jobs)
        self.record = IncompleteRowRecord(
            score.kind,
            score.scale,
            log_joint[order].ravel(),
            shares[order].ravel(),
            other,
            margin,
            value,
            max_gain_from,
            beliefs,
            belief_start,
        )

    @staticmethod
    def is_possible(incomplete: IncompleteRowScores, families: Sequence[Family]) -> bool:
        """Return whether the families are a forest, and the posteriors fit in memory."""
        if not incomplete.size or any(len(family.parents) > 1 for family in families):
            return False
        cells = incomplete.n_missing * incomplete.rows.cards
        return bool(cells.sum() * incomplete.rows.n_classes * 8.0 <= MAX_BYTES)

    def scan(
        self, family: Family, further: ParentTables, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what the rows gain by further parents of a root, and whether that is exact.

        If not, it is an upper bound that is below the threshold of the candidate.
        """
        gains, exact = new_results(further)
        incomplete_scan.scan_incomplete(
            tuple(self.record),
            tuple(self.rows),
            family.child,
            bool(self._is_leaf[family.child]),
            tuple(further),
            family.tables,
            family.own,
            thresholds,
            gains,
            exact,
        )
        return gains, exact


def _beliefs(
    rows: ScoringRows, structure: Structure, families: Sequence[Family], n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Infer the posteriors of all missing values, feature by feature, and where each begins."""
    n_classes, cards = rows.n_classes, rows.cards
    parent = np.array([group[0] if group else -1 for group in structure.parents], np.int64)
    parent_card = np.where(parent >= 0, cards[np.maximum(parent, 0)], 1)
    theta = np.exp(np.concatenate([family.tables for family in families]))
    theta_start = starts_of([family.tables.size for family in families])
    size = cards * n_classes  # of a message, and of the posterior of one missing value
    forest = Forest(
        np.array(structure.order[::-1], np.int64),
        parent,
        starts_of([len(group) for group in structure.children]),
        np.array([k for group in structure.children for k in group], np.int64),
        theta_start,
        parent_card * size,
        theta,
        np.minimum.reduceat(theta, theta_start[:-1]),
        starts_of(size),
        starts_of(parent_card * n_classes),
    )
    blocks = range(0, rows.y.size, BLOCK_SIZE)
    counts = np.zeros((len(blocks), cards.size), np.int64)
    incomplete_scan.count_missing(rows.codes, cards, BLOCK_SIZE, counts)
    belief_start = starts_of(counts.sum(axis=0) * size)
    beliefs = np.empty(belief_start[-1])
    # where the posteriors of each block and feature begin
    places = belief_start[:-1] + (np.cumsum(counts, axis=0) - counts) * size

    def fill(number: int) -> None:
        end = min(blocks[number] + BLOCK_SIZE, rows.y.size)
        incomplete_scan.fill_beliefs(
            tuple(forest), tuple(rows), blocks[number], end, places[number], beliefs
        )

    parallel_map(fill, range(len(blocks)), n_jobs, work=rows.codes.size + beliefs.size * 20)
    return beliefs, belief_start

"""Rows with gaps as the scanning kernel wants them, where the structure is a forest (see
``kernels/incomplete_scan.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels import candidate_scan, incomplete_scan
from discbayes.kernels import family_theta as family_kernels
from discbayes.network import Structure
from discbayes.scores.candidate_families import Extensions, Family
from discbayes.scores.incomplete_rows import IncompleteRowScores
from discbayes.scores.sample import SampleScore

MAX_BYTES = 200_000_000  # of the beliefs in the values of all gaps
BLOCK = 512  # rows whose beliefs one thread works out at a time


class IncompleteScanOrder:
    """The rows with gaps in the order in which candidates visit them, with the beliefs in the
    values of their gaps.
    """

    def __init__(
        self,
        gaps: IncompleteRowScores,
        families: Sequence[Family],
        score: SampleScore,
        n_jobs: int | None = None,
    ):
        self.kind, self.scale = score.kind, score.scale
        order = self._measure(gaps)
        self.rows = gaps.rows.take(order)
        self.joint = gaps.log_joint[order].ravel()
        self.held_out = self.rows.scheme == family_kernels.LEAVE_ONE_OUT
        self._believe(families, n_jobs)

    @staticmethod
    def possible(gaps: IncompleteRowScores, families: Sequence[Family]) -> bool:
        """Whether the families are a forest, and the beliefs no burden on the memory."""
        if not gaps.size or any(len(family.parents) > 1 for family in families):
            return False
        cells = gaps.per_feature * gaps.rows.cards
        return bool(cells.sum() * gaps.rows.n_classes * 8.0 <= MAX_BYTES)

    def _measure(self, gaps: IncompleteRowScores) -> np.ndarray:
        """The value of each row, the most that it can gain, and the order of the rows."""
        rows, joint = gaps.rows, gaps.log_joint
        n = rows.y.size
        shares, loss = np.empty_like(joint), np.empty(n)
        candidate_scan.posteriors(joint, rows.y, shares, loss)
        if self.kind == candidate_scan.LIKELIHOOD:
            order = np.argsort(-loss, kind="stable")
            # of which it needs none
            hope, self.other, self.margin, self.value = loss[order], rows.y, loss, loss
        else:
            other, margin, slack, value = (
                np.empty(n, np.int32),
                np.empty(n),
                np.empty(n),
                np.empty(n),
            )
            # with a single class there is no strongest other one
            with np.errstate(invalid="ignore"):
                candidate_scan.margins(
                    joint.copy(), rows.y, self.kind, self.scale, other, margin, slack, value
                )
            order = np.lexsort((margin, value))
            hope, self.other, self.margin, self.value = (
                1.0 - value[order],
                other[order],
                margin[order],
                value[order],
            )
        self.shares = shares[order].ravel()
        self.left = np.zeros(n + 1)
        self.left[:n] = np.cumsum((rows.weight[order] * hope)[::-1])[::-1]
        return order

    def _believe(self, families: Sequence[Family], n_jobs: int | None) -> None:
        """Work out the beliefs in the values of every gap, feature by feature, rows in the order of
        the view.
        """
        rows, n_classes, cards = self.rows, self.rows.n_classes, self.rows.cards
        structure = Structure(tuple(family.parents for family in families))
        parent = np.array([group[0] if group else -1 for group in structure.parents], np.int64)
        above = np.where(parent >= 0, cards[np.maximum(parent, 0)], 1)
        sizes = [family.tables.size for family in families]
        theta = np.exp(np.concatenate([family.tables for family in families]))
        theta_start = _starts(np.array(sizes))
        smallest = np.minimum.reduceat(theta, theta_start[:-1])
        self.silent = np.array([not group for group in structure.children])
        children = np.array([k for group in structure.children for k in group], np.int64)
        child_start = _starts(np.array([len(group) for group in structure.children]))

        blocks = range(0, rows.y.size, BLOCK)
        counts = np.zeros((len(blocks), cards.size), np.int64)
        incomplete_scan.count_missing(rows.codes, cards, BLOCK, counts)
        per_gap = cards * n_classes
        self.belief_start = _starts(counts.sum(axis=0) * per_gap)
        self.beliefs = np.empty(self.belief_start[-1])
        places = self.belief_start[:-1] + (np.cumsum(counts, axis=0) - counts) * per_gap

        def one(number: int) -> None:
            begin = blocks[number]
            incomplete_scan.fill_beliefs(
                rows.codes, begin, min(begin + BLOCK, rows.y.size), rows.group, cards, n_classes,
                np.array(structure.order[::-1], np.int64), parent, child_start, children, theta_start,
                above * cards * n_classes, theta, smallest, _starts(per_gap), _starts(above * n_classes),
                places[number], self.beliefs,
            )  # fmt: skip

        parallel_map(one, range(len(blocks)), n_jobs, work=rows.codes.size + self.beliefs.size * 20)

    def scan(
        self, family: Family, extensions: Extensions, which: np.ndarray, bounds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the rows gain by some extensions of a family that is a child alone; and whether it
        is exact.

        Where it is not it is a bound of it, which is below the one given for the candidate.
        """
        rows, gains, exact = self.rows, np.empty(which.size), np.empty(which.size, np.bool_)
        incomplete_scan.scan_incomplete(
            self.kind, self.scale, family.child, bool(self.silent[family.child]), extensions.parents[which], rows.cards,
            extensions.starts[which], extensions.tables, extensions.own, self.held_out, family.tables, family.own,
            rows.n_groups, rows.codes, rows.y, rows.group, rows.weight, rows.n_classes, self.joint, self.shares,
            self.other, self.margin, self.value, self.left, self.beliefs, self.belief_start, bounds, gains, exact,
        )  # fmt: skip
        return gains, exact


def _starts(sizes: np.ndarray) -> np.ndarray:
    """Where each of several stretches starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

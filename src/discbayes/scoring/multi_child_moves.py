"""Moves that change several families of a network at once: a parent joins several children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from discbayes._arrays import starts_of
from discbayes.engine import parallel_map
from discbayes.kernels import family_theta, joint_moves
from discbayes.kernels.scan_records import MoveRows
from discbayes.scoring.candidates import ParentMove

if TYPE_CHECKING:
    from discbayes.scoring.counting_scorer import CountingScorer

BATCH_SIZE = 128  # moves of one parent that a thread scores at a time
MAX_CELLS = 10_000_000  # of all tables of a parent that a thread holds at a time: 80 MB
# Children up to which incomplete rows are updated family by family; with more of them, all rows
# are inferred once.
MAX_CHILDREN_ONE_BY_ONE = 2


class MoveScan:
    """Scores moves of a network as it is: complete rows by margin, and what each can gain."""

    def __init__(self, scorer: CountingScorer):
        self.scorer = scorer
        rows, score = scorer.complete_rows, scorer.score
        margin = _margins(scorer.log_joint, rows.y)
        self._order = order = np.argsort(margin, kind="stable")
        y, weight = rows.y[order], rows.weight[order]
        log_joint = scorer.log_joint[order]
        value = score.rows(log_joint, y)
        # A row gains what its value lacks to the largest one.
        max_gain = weight * (score.max_value - value)
        self.record = MoveRows(
            score.kind,
            score.scale,
            log_joint,
            margin[order],
            y,
            weight,
            rows.group[order],
            value,
            np.concatenate([np.cumsum(max_gain[::-1])[::-1], [0.0]]),
        )
        self._bases = np.empty((len(scorer.families), order.size), np.int32)

        def fill(feature: int) -> None:
            np.take(scorer.families[feature].base, order, out=self._bases[feature])

        parallel_map(fill, range(len(scorer.families)), scorer.n_jobs, work=self._bases.size)

    def scan(
        self, moves: Sequence[ParentMove], threshold: float = -np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gain of each move, and whether it is exact.

        If not, it is an upper bound of the gain that is below the threshold.
        """
        if not moves:
            return np.empty(0), np.empty(0, np.bool_)
        n_families = sum(len(move.children) for move in moves)
        work = self.record.log_joint.size * n_families
        parts = parallel_map(
            lambda part: self._scan(part, threshold),
            list(_batches(moves)),
            self.scorer.n_jobs,
            work,
        )
        gains, exact = zip(*parts, strict=True)
        return np.concatenate(gains), np.concatenate(exact)

    def _scan(self, moves: Sequence[ParentMove], threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Score moves that share their parent."""
        scorer, rows = self.scorer, self.scorer.rows
        children = sorted({child for move in moves for child in move.children})
        n_base = np.array([scorer.families[child].n_base for child in children], np.int64)
        cells = float(n_base.sum()) * rows.cards[moves[0].parent] * rows.n_classes * rows.n_groups
        # Complete rows must reach what incomplete ones cannot make up for.
        max_gain = scorer.incomplete.max_gain(scorer.incomplete.log_joint)
        if cells <= MAX_CELLS:
            gains, exact = self._scan_complete(moves, children, n_base, threshold - max_gain)
        else:
            gains = np.array([self._gain_family_by_family(move) for move in moves])
            exact = gains >= threshold - max_gain
        if scorer.incomplete.size:
            gains[~exact] += max_gain
            for k in np.flatnonzero(exact).tolist():
                gains[k] += self._incomplete_gain(moves[k])
                exact[k] = gains[k] >= threshold
        return gains, exact

    def _scan_complete(
        self, moves: Sequence[ParentMove], children: list[int], n_base: np.ndarray, threshold: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score moves of one parent block of rows by block, with the tables of all children."""
        scorer, parent = self.scorer, moves[0].parent
        made = [scorer.extension(child, parent) for child in children]
        tables = np.concatenate([tables for tables, _ in made])
        own = tables if made[0][0] is made[0][1] else np.concatenate([own for _, own in made])
        # The fields of ChildTables.
        joining = (
            self._codes(parent),
            int(scorer.rows.cards[parent]),
            np.array(children, np.int64),
            n_base,
            self._bases,
            starts_of([tables.size for tables, _ in made]),
            tables,
            own,
        )
        place = {child: q for q, child in enumerate(children)}
        members = np.array([place[child] for move in moves for child in move.children], np.int64)
        member_start = starts_of([len(move.children) for move in moves])
        gains, exact = np.empty(len(moves)), np.empty(len(moves), np.bool_)
        joint_moves.scan_moves(
            tuple(self.record), joining, member_start, members, threshold, gains, exact
        )
        return gains, exact

    def _gain_family_by_family(self, move: ParentMove) -> float:
        """Score one move with one table at a time, for parents of very many values."""
        scorer = self.scorer
        record = self.record
        parent = move.parent
        log_joint = record.log_joint.copy()
        for child in move.children:
            tables, own = scorer.extension(child, parent)
            n_base = scorer.families[child].n_base
            cells = self._codes(parent) * np.int32(n_base) + self._bases[child]
            n_cells = n_base * int(scorer.rows.cards[parent])
            family_theta.add_family(
                log_joint, record.y, record.group, cells, n_cells, tables, own, 1.0
            )
        return float((scorer.score.rows(log_joint, record.y) - record.value) @ record.weight)

    def _codes(self, feature: int) -> np.ndarray:
        return self.scorer.rows.codes[feature][self._order].astype(np.int32)

    def _incomplete_gain(self, move: ParentMove) -> float:
        scorer, incomplete = self.scorer, self.scorer.incomplete
        changed, log_joint = list(scorer.families), incomplete.log_joint
        one_by_one = len(move.children) <= MAX_CHILDREN_ONE_BY_ONE
        for child in move.children:
            new = scorer.maker.make(child, (move.parent, *scorer.parents(child)))
            if one_by_one:
                log_joint = incomplete.after(changed, new, log_joint)
            changed[child] = new
        if not one_by_one:
            log_joint = incomplete.infer(changed, np.arange(incomplete.size))
        return incomplete.value(log_joint) - incomplete.value(incomplete.log_joint)


def _margins(log_joint: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the log-joint of the own class less that of the strongest other one."""
    others, rows = log_joint.copy(), np.arange(y.size)
    others[rows, y] = -np.inf
    return log_joint[rows, y] - others.max(axis=1, initial=-np.inf)


def _batches(moves: Sequence[ParentMove]) -> Iterator[list[ParentMove]]:
    """Split moves into batches of consecutive ones that share their parent."""
    for _, group in groupby(moves, key=lambda move: move.parent):
        same = list(group)
        yield from (same[k : k + BATCH_SIZE] for k in range(0, len(same), BATCH_SIZE))

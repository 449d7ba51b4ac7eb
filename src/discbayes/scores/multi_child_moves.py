"""Moves that change several families of a network at once: a parent joins the families of several
children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels import candidate_scan, family_theta, joint_moves
from discbayes.scores.candidates import SearchCost
from discbayes.scores.counting_scorer import CountingScorer

AT_ONCE = 128  # moves of one parent that a thread takes together
MAX_TOGETHER = 10_000_000  # cells of all tables of a parent that a thread holds at once: 80 MB
FEW = 2  # families up to which rows with gaps are changed family by family


@dataclass(frozen=True)
class ParentMove:
    """A parent that joins the families of some children."""

    parent: int
    children: tuple[int, ...]


class ParentMoves:
    """What moves would add to a network as it is now: the rows by margin, and what each could gain
    at most.
    """

    def __init__(self, network: CountingScorer):
        self.network = network
        rows, n = network.rows, network.n_whole
        margin = _margins(network.log_joint, rows.y[:n])
        self.order = np.argsort(margin, kind="stable")
        self.margin, self.log_joint = margin[self.order], network.log_joint[self.order]
        self.y, self.weight, self.group = (
            part[self.order] for part in (rows.y, rows.weight, rows.group)
        )
        self.value = network.score.rows(self.log_joint, self.y)
        most = 0.0 if network.score.kind == candidate_scan.LIKELIHOOD else 1.0
        hope = self.weight * (most - self.value)
        self.left = np.concatenate([np.cumsum(hope[::-1])[::-1], [0.0]])
        self.bases = np.empty((len(network.families), n), np.int32)
        parallel_map(self._fill, range(len(network.families)), network.n_jobs, work=self.bases.size)

    def _fill(self, feature: int) -> None:
        np.take(self.network.families[feature].base, self.order, out=self.bases[feature])

    def best(
        self,
        moves: Sequence[ParentMove],
        promise: Sequence[float],
        least: float,
        effort: SearchCost,
        check: Callable[[], None],
    ) -> tuple[ParentMove | None, np.ndarray]:
        """The first of the moves that add most, if that is more than ``least``; and what each adds,
        or a bound of it.

        Moves of the most promise go first. Batches do not depend on the number of threads, nor does
        what is found.
        """
        order = np.argsort(-np.asarray(promise, float), kind="stable")
        gains, exact = np.empty(len(moves)), np.zeros(len(moves), np.bool_)
        bound, size, done = least, max(4, len(moves) // 64), 0
        while done < len(moves):
            check()
            batch = np.sort(order[done : done + size])
            done, size = done + size, min(size * 2, max(16, len(moves) // 8))
            gains[batch], exact[batch] = self.scan([moves[k] for k in batch], bound)
            bound = max(bound, gains[exact].max(initial=-np.inf) - self.network.tolerance)
        effort.evaluations += len(moves)
        effort.abandoned += len(moves) - int(exact.sum())
        winners = np.flatnonzero(exact & (gains >= bound) & (gains > least))
        return (moves[winners[0]] if winners.size else None), gains

    def scan(
        self, moves: Sequence[ParentMove], bound: float = -np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """The gain of each move, and whether it is exact or a bound below ``bound``."""
        if not moves:
            return np.empty(0), np.empty(0, np.bool_)
        work = self.y.size * self.network.rows.n_classes * sum(len(move.children) for move in moves)
        parts = parallel_map(
            lambda part: self._scan(part, bound), list(_parts(moves)), self.network.n_jobs, work
        )
        gains, exact = zip(*parts, strict=True)
        return np.concatenate(gains), np.concatenate(exact)

    def _scan(self, moves: Sequence[ParentMove], bound: float) -> tuple[np.ndarray, np.ndarray]:
        """The same for moves that share their parent."""
        network, rows = self.network, self.network.rows
        children = sorted({child for move in moves for child in move.children})
        n_base = np.array([network.families[child].n_base for child in children], np.int64)
        cells = float(n_base.sum()) * rows.cards[moves[0].parent] * rows.n_classes * rows.n_groups
        hope = network._gap_hope(network.gaps.log_joint)
        if cells <= MAX_TOGETHER:
            gains, exact = self._by_blocks(moves, children, n_base, bound - hope)
        else:
            gains = np.array([self._by_families(move) for move in moves])
            exact = gains >= bound - hope
        if network.gaps.size:
            self._add_gaps(moves, gains, exact, bound, hope)
        return gains, exact

    def _by_blocks(
        self, moves: Sequence[ParentMove], children: list[int], n_base: np.ndarray, bound: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Block of rows after block, as far as it takes, with all tables at hand."""
        network, parent = self.network, moves[0].parent
        made = [network.extension(child, parent) for child in children]
        starts = _starts([tables.size for tables, _ in made])
        tables = np.concatenate([tables for tables, _ in made])
        own = tables if made[0][0] is made[0][1] else np.concatenate([own for _, own in made])
        place = {child: q for q, child in enumerate(children)}
        members = np.array([place[child] for move in moves for child in move.children], np.int64)
        gains, exact = np.empty(len(moves)), np.empty(len(moves), np.bool_)
        joint_moves.scan_moves(
            network.score.kind, network.score.scale, self._codes(parent), int(network.rows.cards[parent]), self.bases,
            np.array(children, np.int64), n_base, starts, tables, own, _starts([len(move.children) for move in moves]),
            members, self.log_joint, self.margin, self.y, self.weight, self.group, self.value, self.left, bound, gains,
            exact,
        )  # fmt: skip
        return gains, exact

    def _by_families(self, move: ParentMove) -> float:
        """Family after family, with one table at a time: for features with so many values that all
        take much memory.
        """
        network, parent, log_joint = self.network, move.parent, self.log_joint.copy()
        for child in move.children:
            tables, own = network.extension(child, parent)
            n_base = network.families[child].n_base
            cells = self._codes(parent) * np.int32(n_base) + self.bases[child]
            n_cells = n_base * int(network.rows.cards[parent])
            family_theta.add_family(log_joint, self.y, self.group, cells, n_cells, tables, own, 1.0)
        return float((network.score.rows(log_joint, self.y) - self.value) @ self.weight)

    def _codes(self, feature: int) -> np.ndarray:
        return self.network.rows.codes[feature][self.order].astype(np.int32)

    def _add_gaps(
        self,
        moves: Sequence[ParentMove],
        gains: np.ndarray,
        exact: np.ndarray,
        bound: float,
        hope: float,
    ) -> None:
        """Add what the rows with gaps gain, for the moves that may still win."""
        gains[~exact] += hope
        for k in np.flatnonzero(exact).tolist():
            gains[k] += self._incomplete_gain(moves[k])
            exact[k] = gains[k] >= bound

    def _incomplete_gain(self, move: ParentMove) -> float:
        network = self.network
        gaps, changed, log_joint = network.gaps, list(network.families), network.gaps.log_joint
        for child in move.children:
            new = network.maker.make(child, (move.parent, *network.parents(child)))
            if len(move.children) <= FEW:
                log_joint = gaps.after(changed, new, log_joint)
            changed[child] = new
        if len(move.children) > FEW:
            log_joint = gaps.under(changed, np.arange(gaps.size))
        return network._incomplete_value(log_joint) - network._incomplete_value(gaps.log_joint)


def _margins(log_joint: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The score of the own class over that of the strongest other one."""
    others, rows = log_joint.copy(), np.arange(y.size)
    others[rows, y] = -np.inf
    return log_joint[rows, y] - others.max(axis=1, initial=-np.inf)


def _starts(sizes: Sequence[int]) -> np.ndarray:
    """Where each of several stretches starts, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _parts(moves: Sequence[ParentMove]) -> Iterator[list[ParentMove]]:
    """Consecutive moves that share their parent, not too many at once."""
    for _, group in groupby(moves, key=lambda move: move.parent):
        same = list(group)
        yield from (same[k : k + AT_ONCE] for k in range(0, len(same), AT_ONCE))

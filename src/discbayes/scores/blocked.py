"""A network under a sample score on rows in blocks: in each step every block gives the values of all candidates.

The tables of a candidate are frequencies, and follow from counts; what they are worth is a sum over the rows. So a step
takes two passes over the blocks: one counts the families that are new, one adds up the objective for each candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from typing import NamedTuple

import numpy as np

from discbayes.counts import Counts, Wanted, count_wanted
from discbayes.counts.tables import CELLS_OF_A_PASS, parts
from discbayes.data.blocks import Blocks
from discbayes.data.domain import Encoded
from discbayes.engine import parallel_map
from discbayes.kernels import families as kernels
from discbayes.network import Layout, Structure
from discbayes.objectives import Objective
from discbayes.scores.sample import SampleScore
from discbayes.scores.scored import ROUNDING
from discbayes.scores.trained import TrainedNetwork

MOST_KNOWN = 20_000  # structures whose values are remembered
FamilyKey = tuple[int, tuple[int, ...]]  # a feature and its parents


class _Change(NamedTuple):
    """A network in which some features have other families than now."""

    children: tuple[int, ...]
    families: tuple[FamilyKey, ...]


class BlockNetwork(TrainedNetwork):
    """A structure with its value, and the values of all structures that were looked at: by frequencies of whole rows.

    Parameters
    ----------
    data : Blocks
        Rows without gaps.
    counts : Counts
        Of the features.
    score : SampleScore
        With resubstitution, and frequencies.
    structure : Structure
        Where the search starts.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self, data: Blocks, counts: Counts, score: SampleScore, structure: Structure, n_jobs: int | None = None
    ):
        self.score, self.structure, self.n_jobs = score, structure, n_jobs
        self._blocks, self._counts = data, counts
        self._known: dict[tuple[tuple[int, ...], ...], float] = {}
        self._log_theta: dict[FamilyKey, np.ndarray] = {}
        share = score.parameters._smooth(counts.class_count, Layout.of_class(counts.n_classes))
        self._log_prior = np.log(share)
        self.total_weight = float(counts.class_count.sum())
        self.tolerance = ROUNDING * self.total_weight

    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Give a feature other parents; tables that were made for those it had are not needed any more."""
        super().set_parents(child, parents)
        now = set(enumerate(self.structure.parents))
        self._log_theta = {key: table for key, table in self._log_theta.items() if key[0] != child or key in now}
        if len(self._known) > MOST_KNOWN:
            own = self.structure.parents
            self._known = {own: self._known[own]} if own in self._known else {}

    def _values(self, structures: Sequence[Structure], check: Callable[[], None]) -> list[float]:
        new = [structure for structure in structures if structure.parents not in self._known]
        changes = [self._change(structure) for structure in new]
        sizes = np.array([sum(map(self._size, change.families)) for change in changes], np.int64)
        for part in parts(sizes, CELLS_OF_A_PASS):
            check()
            if part.size:
                values = self._pass([changes[k] for k in part])
                self._known.update((new[k].parents, float(value)) for k, value in zip(part, values, strict=True))
        return [self._known[structure.parents] for structure in structures]

    def _change(self, structure: Structure) -> _Change:
        pairs = zip(structure.parents, self.structure.parents, strict=True)
        children = tuple(i for i, (mine, now) in enumerate(pairs) if mine != now)
        return _Change(children, tuple((i, structure.parents[i]) for i in children))

    def _size(self, key: FamilyKey) -> int:
        return Wanted(*key).n_cells(self._counts.cards, self._counts.n_classes)

    def _pass(self, changes: Sequence[_Change]) -> np.ndarray:
        """The sum of the objective over all rows, for each of several networks."""
        now = list(enumerate(self.structure.parents))
        self._make([*now, *(key for change in changes for key in change.families)])
        tables = {key: self._log_theta[key] for change in changes for key in change.families}
        tables.update((key, self._log_theta[key]) for key in now)
        arguments = (self.score.objective, self._log_prior, now, list(changes), tables)
        values: np.ndarray = self._blocks.map_reduce(_values_in, add, arguments, self.n_jobs)
        return values

    def _make(self, keys: Sequence[FamilyKey]) -> None:
        """Make the tables that are not there yet."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._log_theta]
        counted = [key for key in missing if key[1]]
        tables = count_wanted(self._blocks, [Wanted(*key) for key in counted], n_jobs=self.n_jobs)
        found = dict(zip(counted, (table for (table,) in tables), strict=True))
        for key in missing:
            table = found[key] if key[1] else self._counts.feature(key[0])[None]
            self._log_theta[key] = self._smoothed(table).reshape(-1, self._counts.n_classes)

    def _smoothed(self, table: np.ndarray) -> np.ndarray:
        """Log θ from the counts of a family, shape ``(parent values, card, n_classes)``."""
        card, smoothing = table.shape[1], self.score.smoothing
        amount = smoothing.amount(table.size, card)
        counts = table + amount if smoothing.mode == kernels.VIRTUAL else table
        total = counts.sum(axis=1, keepdims=True)
        share = np.divide(counts, total, out=np.full_like(counts, 1.0 / card), where=total > 0)
        if smoothing.mode == kernels.FLOOR:
            share = np.where(share > 0, share, amount)
            share /= share.sum(axis=1, keepdims=True)
        return np.log(share)


def _values_in(
    data: Encoded,
    n_jobs: int | None,
    objective: Objective,
    log_prior: np.ndarray,
    now: Sequence[FamilyKey],
    changes: Sequence[_Change],
    tables: dict[FamilyKey, np.ndarray],
) -> np.ndarray:
    """The sum of the objective over the rows of a block, for each of several networks."""
    known = [_said(data, key, tables) for key in now]
    log_joint = log_prior + sum(known)

    def one(change: _Change) -> float:
        scores = log_joint.copy()
        for child, key in zip(change.children, change.families, strict=True):
            scores += _said(data, key, tables) - known[child]
        return objective.value(scores, data.classes, data.weight)

    return np.array(parallel_map(one, changes, n_jobs))


def _said(data: Encoded, key: FamilyKey, tables: dict[FamilyKey, np.ndarray]) -> np.ndarray:
    """What a family adds to the log-joint of each row."""
    child, group = key
    cell = np.zeros(data.n_samples, np.int64)
    for i in (*group, child):
        cell *= data.cards[i]
        cell += data.codes[i]
    return tables[key][cell]

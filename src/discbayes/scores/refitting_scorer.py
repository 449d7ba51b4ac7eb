"""A network under a sample score whose tables are trained: each candidate is learned as a whole.

This is for learners whose tables do not follow from counts, such as conditional likelihood (CRCL of
P10). Nothing can be kept from one candidate for the next, so it is for small data. The interface is
that of ``CountingScorer``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from discbayes.counts import Counts, count
from discbayes.data.domain import Encoded
from discbayes.engine import Context, Interrupts, parallel_map
from discbayes.inference import log_joint
from discbayes.kernels import candidate_scan
from discbayes.network import Structure
from discbayes.scores.candidates import BestCandidate, Candidates, SearchCost, choose
from discbayes.scores.counting_scorer import ROUNDING
from discbayes.scores.sample import SampleScore
from discbayes.scores.scoring_rows import ScoringRows


class RefittingScorer:
    """A structure with its value, and the values of all structures that were looked at."""

    def __init__(
        self,
        data: Encoded,
        score: SampleScore,
        structure: Structure,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ):
        self.score, self.structure, self.n_jobs = score, structure, n_jobs
        self.data = data if data.weight is None else data.take(data.weight != 0)
        self._weight = (
            np.ones(self.data.n_samples) if self.data.weight is None else self.data.weight
        )
        self._parts = _parts(self.data, ScoringRows.of(self.data, score.evaluation, rng).group)
        self._seed = int(rng.integers(2**63))
        self._known: dict[tuple[tuple[int, ...], ...], float] = {}
        self.total_weight = float(self._weight.sum())
        self.tolerance = ROUNDING * self.total_weight

    # ---- what it is worth

    def parents(self, child: int) -> tuple[int, ...]:
        """The parents of a feature now."""
        return self.structure.parents[child]

    @property
    def total(self) -> float:
        """The weighted sum of the objective over all rows."""
        return self._values([self.structure], lambda: None)[0]

    def reported(self, total: float | None = None) -> float:
        """The value as the papers give it: a rate for CR, a sum for CL and MM."""
        total = self.total if total is None else total
        return total / self.total_weight if self.score.kind == candidate_scan.RATE else total

    def _values(self, structures: Sequence[Structure], check: Callable[[], None]) -> list[float]:
        new = [structure for structure in structures if structure.parents not in self._known]

        def one(structure: Structure) -> float:
            check()
            return self._value(structure)

        with quietly():
            values = parallel_map(one, new, self.n_jobs)
        self._known.update(zip((structure.parents for structure in new), values, strict=True))
        return [self._known[structure.parents] for structure in structures]

    def _value(self, structure: Structure) -> float:
        scores = np.empty((self.data.n_samples, self.data.n_classes))
        for rest, counts, test in self._parts:
            context = Context(np.random.default_rng(self._seed), n_jobs=1, interrupts=Interrupts(0))
            tables = self.score.parameters.learn(rest, counts, structure, context)
            scores[test] = log_joint(tables, np.ascontiguousarray(self.data.codes[:, test]))
        return float(self.score.rows(scores, self.data.classes) @ self._weight)

    # ---- changing it

    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Give a feature other parents."""
        self.structure = self._with(child, parents)

    def _with(self, child: int, parents: tuple[int, ...]) -> Structure:
        groups = list(self.structure.parents)
        groups[child] = tuple(sorted(parents))
        return replace(self.structure, parents=tuple(groups))

    def best(
        self,
        tasks: Sequence[Candidates],
        least: float,
        effort: SearchCost,
        check: Callable[[], None] = lambda: None,
    ) -> BestCandidate | None:
        """The candidate that adds most, if it adds more than ``least``; of equal ones the first
        child, the fewest parents, and of those the first.
        """
        candidates = [(task.child, (int(p), *task.through)) for task in tasks for p in task.parents]
        structures = [
            self._with(child, (*joining, *self.parents(child))) for child, joining in candidates
        ]
        gains = np.array(self._values(structures, check)) - self.total
        effort.evaluations += len(candidates)
        return choose(candidates, gains, least, self.tolerance)


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings of learners, which are about the tables that are kept and not about
    candidates.

    For the thread that starts others, not for those: the filters are the same for all.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _parts(data: Encoded, fold: np.ndarray) -> list[tuple[Encoded, Counts, np.ndarray]]:
    """For each fold the rows to learn from, their counts, and the rows to score; with one fold they
    are the same.
    """
    n_folds = int(fold.max(initial=0)) + 1
    if n_folds == 1:
        return [(data, count(data), np.ones(data.n_samples, np.bool_))]
    rest = [data.take(fold != k) for k in range(n_folds)]
    return [(part, count(part), fold == k) for k, part in enumerate(rest)]

"""Candidates that are scored by refitting: each one is a network that is learned as a whole.

This is for parameter learners whose tables do not follow from the counts of single families, such
as conditional likelihood (CRCL of P10). Nothing learned for one candidate helps the next, so it is
for small data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from discbayes.counts import Counts, count
from discbayes.data.domain import Encoded
from discbayes.engine import Context, Interrupts, parallel_map
from discbayes.inference import log_joint
from discbayes.network import Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring.candidate_scorer import Check, ExhaustiveScorer, no_check
from discbayes.scoring.candidates import Extension, ParentMove
from discbayes.scoring.scoring_rows import hold_out


class RefittingScorer(ExhaustiveScorer):
    """A network whose parameters are trained, with the values of all structures scored so far."""

    def __init__(
        self,
        data: Encoded,
        score: SampleScore,
        structure: Structure,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ):
        self.score, self.n_jobs = score, n_jobs
        self._structure = structure
        self.data = data if data.weight is None else data.take(data.weight != 0)
        self._weight = (
            np.ones(self.data.n_samples) if self.data.weight is None else self.data.weight
        )
        rows, scheme = hold_out(self.data, score.evaluation, rng)
        self._folds = _train_and_test(self.data, scheme.rows(rows).group)
        self._seed = int(rng.integers(2**63))
        self._values: dict[tuple[tuple[int, ...], ...], float] = {}
        self.total_weight = float(self._weight.sum())

    @property
    def structure(self) -> Structure:
        """The structure of the network."""
        return self._structure

    def parents(self, child: int) -> tuple[int, ...]:
        """Return the parents of a feature."""
        return self._structure.parents[child]

    @property
    def total(self) -> float:
        """The weighted sum of the objective over all rows."""
        return float(self._totals([self._structure], no_check)[0])

    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Replace the parents of a feature."""
        groups = list(self._structure.parents)
        groups[child] = tuple(sorted(parents))
        self._structure = replace(self._structure, parents=tuple(groups))

    def _gains(self, extensions: Sequence[Extension], check: Check) -> np.ndarray:
        structures = [self._extended([extension]) for extension in extensions]
        return self._totals(structures, check) - self.total

    def move_gains(self, moves: Sequence[ParentMove], check: Check = no_check) -> np.ndarray:
        """Return the gain of each move."""
        structures = [self._extended(move.extensions()) for move in moves]
        return self._totals(structures, check) - self.total

    def _extended(self, extensions: Sequence[Extension]) -> Structure:
        """Return the structure in which further parents join some families."""
        groups = list(self._structure.parents)
        for child, joining in extensions:
            groups[child] = tuple(sorted((*joining, *groups[child])))
        return replace(self._structure, parents=tuple(groups))

    def _totals(self, structures: Sequence[Structure], check: Check) -> np.ndarray:
        """Return the value of each structure; those that are new are learned."""
        new = [structure for structure in structures if structure.parents not in self._values]

        def value(structure: Structure) -> float:
            check()
            return self._value(structure)

        with without_learner_warnings():
            values = parallel_map(value, new, self.n_jobs)
        self._values.update(zip((structure.parents for structure in new), values, strict=True))
        return np.array([self._values[structure.parents] for structure in structures])

    def _value(self, structure: Structure) -> float:
        scores = np.empty((self.data.n_samples, self.data.n_classes))
        for train, counts, test in self._folds:
            context = Context(np.random.default_rng(self._seed), n_jobs=1, interrupts=Interrupts(0))
            tables = self.score.parameters.learn(train, counts, structure, context)
            scores[test] = log_joint(tables, np.ascontiguousarray(self.data.codes[:, test]))
        return float(self.score.rows(scores, self.data.classes) @ self._weight)


@contextmanager
def without_learner_warnings() -> Iterator[None]:
    """Ignore warnings of learners, which are about final tables and not about candidates.

    It is entered by the thread that starts others: the filters of warnings are shared by all.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _train_and_test(data: Encoded, fold: np.ndarray) -> list[tuple[Encoded, Counts, np.ndarray]]:
    """Return for each fold the rows to learn from, their counts, and the mask of rows to score.

    With one fold both are all rows.
    """
    n_folds = int(fold.max(initial=0)) + 1
    if n_folds == 1:
        return [(data, count(data), np.ones(data.n_samples, np.bool_))]
    train = [data.take(fold != k) for k in range(n_folds)]
    return [(part, count(part), fold == k) for k, part in enumerate(train)]

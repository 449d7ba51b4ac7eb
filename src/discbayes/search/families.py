"""Scores of families, each computed once in a search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from discbayes.engine import parallel_map
from discbayes.scores import EdgeScore
from discbayes.search.base import Run

AT_ONCE = 32  # candidate parents that are counted together
Family = tuple[int, tuple[int, ...], bool]  # a feature, its feature parents in order, and whether the class is one too


class FamilyScores:
    """What families are worth, remembered; ``evaluations`` counts the scores that had to be computed."""

    def __init__(self, run: Run, score: EdgeScore):
        self.run, self.score = run, score
        self.evaluations = 0
        self._known: dict[Family, float] = {}

    def of(self, families: Sequence[Family]) -> list[float]:
        """The scores of some families."""
        data, counts = self.run.data, self.run.counts
        new = [family for family in families if family not in self._known]
        work = len(new) * data.n_samples
        self.run.check()
        self._add(new, parallel_map(lambda f: self.score.family(data, counts, *f), new, self.run.n_jobs, work))
        return [self._known[family] for family in families]

    def extended(self, family: Family, more: Sequence[int]) -> list[float]:
        """The scores of a family with each of ``more`` as one more parent."""
        child, parents, with_class = family
        families = {p: (child, tuple(sorted((*parents, p))), with_class) for p in more}
        new = [p for p in more if families[p] not in self._known]
        data, counts, work = self.run.data, self.run.counts, len(new) * self.run.data.n_samples

        def scores(part: list[int]) -> list[float]:
            return self.score.extensions(data, counts, child, parents, part, with_class)

        self.run.check()
        blocks = [new[k : k + AT_ONCE] for k in range(0, len(new), AT_ONCE)]
        found = chain.from_iterable(parallel_map(scores, blocks, self.run.n_jobs, work))
        self._add([families[p] for p in new], list(found))
        return [self._known[families[p]] for p in more]

    def _add(self, families: Sequence[Family], scores: Sequence[float]) -> None:
        self._known.update(zip(families, scores, strict=True))
        self.evaluations += len(families)

    def take_evaluations(self) -> int:
        """How many scores were computed since this was last asked."""
        taken, self.evaluations = self.evaluations, 0
        return taken

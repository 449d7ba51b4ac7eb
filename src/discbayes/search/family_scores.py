"""Scores of families, each of which is computed once in a search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from discbayes.counts import Wanted
from discbayes.data.row_blocks import in_blocks_if_weighted
from discbayes.data.rows import Rows
from discbayes.engine import parallel_map
from discbayes.scores import EdgeScore
from discbayes.search.base import Run

AT_ONCE = 32  # candidate parents that are counted together
# A feature, its feature parents in order, and whether the class is a parent too.
Family = tuple[int, tuple[int, ...], bool]


class FamilyScores:
    """A cache of the scores of families; ``evaluations`` is the number of scores computed."""

    def __init__(self, run: Run, score: EdgeScore):
        self.run, self.score = run, score
        self.evaluations = 0
        self._known: dict[Family, float] = {}

    def of(self, families: Sequence[Family]) -> list[float]:
        """Return the scores of some families."""
        data, counts = self.run.data, self.run.counts
        new = [family for family in dict.fromkeys(families) if family not in self._known]
        work, rows = len(new) * data.n_samples, in_blocks_if_weighted(data)
        self.run.check()
        if rows.n_blocks > 1:
            found = self._of_blocks(rows, [(family, ()) for family in new])
        else:
            found = parallel_map(
                lambda f: self.score.family(rows, counts, *f), new, self.run.n_jobs, work
            )
        self._add(new, found)
        return [self._known[family] for family in families]

    def extended(self, wanted: Sequence[tuple[Family, Sequence[int]]]) -> list[list[float]]:
        """Return the scores of some families with each of several features as one more parent."""
        data, missing = in_blocks_if_weighted(self.run.data), []
        for family, more in wanted:
            new = tuple(p for p in more if _with(family, p) not in self._known)
            if new:
                missing.append((family, new))
        self.run.check()
        if data.n_blocks > 1:
            found = self._of_blocks(data, missing)
        else:
            found = [
                score for family, new in missing for score in self._extensions(data, family, new)
            ]
        self._add([_with(family, p) for family, new in missing for p in new], found)
        return [[self._known[_with(family, p)] for p in more] for family, more in wanted]

    def _extensions(self, data: Rows, family: Family, more: tuple[int, ...]) -> list[float]:
        child, parents, with_class = family

        def scores(group: tuple[int, ...]) -> list[float]:
            return self.score.extensions(data, self.run.counts, child, parents, group, with_class)

        groups = [more[k : k + AT_ONCE] for k in range(0, len(more), AT_ONCE)]
        work = len(more) * data.n_samples
        return list(chain.from_iterable(parallel_map(scores, groups, self.run.n_jobs, work)))

    def _of_blocks(
        self, data: Rows, wanted: Sequence[tuple[Family, tuple[int, ...]]]
    ) -> list[float]:
        """Return the scores that a step needs, in one pass over the blocks if memory allows."""
        requests = [
            (Wanted(child, parents, more[k : k + AT_ONCE]), with_class)
            for (child, parents, with_class), more in wanted
            for k in range(0, max(1, len(more)), AT_ONCE)
        ]
        families, with_class = [each[0] for each in requests], [each[1] for each in requests]
        scores = self.score.of_blocks(data, self.run.counts, families, with_class, self.run.n_jobs)
        return list(chain.from_iterable(scores))

    def _add(self, families: Sequence[Family], scores: Sequence[float]) -> None:
        self._known.update(zip(families, scores, strict=True))
        self.evaluations += len(families)

    def take_evaluations(self) -> int:
        """Return the number of scores computed since the last call."""
        taken, self.evaluations = self.evaluations, 0
        return taken


def _with(family: Family, parent: int) -> Family:
    child, parents, with_class = family
    return child, tuple(sorted((*parents, parent))), with_class

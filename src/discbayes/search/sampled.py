"""Searches on a sample score: what they share beyond the settings of every search."""

from __future__ import annotations

from typing import Any

from discbayes.scores.sample import SampleScore
from discbayes.scores.scored import ScoredNetwork
from discbayes.search.base import Run, Search


class SampleSearch(Search):
    """A search on the classification rate, the conditional likelihood or the margin of the rows.

    Parameters
    ----------
    score : {"cr", "cl", "mm"} or Objective, default="cr"
        Classification rate, conditional log likelihood or margin. With "mm" the scale λ of the margin is chosen by
        cross-validation; ``Margin(lam)`` fixes it.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Rows are scored by tables learned from all rows, from all but the row itself, or from the other of so many folds.
    parameters : {"ml", "map"} or frequency learner, default="ml"
        How the tables are learned inside the search.
    """

    def __init__(self, score: Any = "cr", evaluation: Any = "resubstitution", parameters: Any = "ml", **shared: Any):
        super().__init__(**shared)
        self.score = score
        self.evaluation = evaluation
        self.parameters = parameters

    def _score(self) -> SampleScore:
        return SampleScore(self.score, self.evaluation, self.parameters).checked()

    def _check(self) -> None:
        super()._check()
        self._score()

    def _scored(self, run: Run) -> ScoredNetwork:
        """The starting structure under the score."""
        return ScoredNetwork(run.data, self._score(), run.structure, run.rng, run.n_jobs)

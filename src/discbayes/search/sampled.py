"""Searches on a sample score: what they share beyond the settings of every search."""

from __future__ import annotations

from typing import Any

from discbayes.data.folds import Folds
from discbayes.data.rows import Rows
from discbayes.scores.sample import SampleScore
from discbayes.scoring import CandidateScorer, make_scorer
from discbayes.search.base import Run, Search
from discbayes.search.tuning import tuned_margin


class SampleSearch(Search):
    """A search on the classification rate, the conditional likelihood or the margin of the rows.

    Parameters
    ----------
    score : {"cr", "cl", "mm"} or Objective, default="cr"
        Classification rate, conditional log likelihood or margin. With "mm" the scale λ of the
        margin is chosen by cross-validation, which takes 35 searches on parts of the rows;
        ``Margin(lam)`` fixes it.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Rows are scored by tables learned from all rows, from all but the row itself, or from all
        other folds.
    parameters : str or parameter learner, default="ml"
        How the tables are learned inside the search: generative estimates with any smoothing ("ml",
        "map", or a learner), for which a candidate costs one family; or, if the search can do that,
        any other learner ("cl"), which fits a whole network for every candidate and is for small
        data.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    Rows on a cluster, or more of them than fit in memory, stay where they are, in blocks, and each
    step asks all blocks for the gains of its candidates:

    ====================================================  ========================================
    search or setting                                     rows in blocks
    ====================================================  ========================================
    ``GreedyEdges``, ``SuperParent``                      stay where they are
    ``OrderBased``, order given, "random" or "omisp"      stay where they are
    ``evaluation="loo"``, rows with missing values        stay where they are
    folds: ``evaluation=5``, "mm" with λ to be chosen     stay; drawing folds takes 40 bytes a row
    ``OrderBased``, order "omi", "ocr" or "min-mi"        gathered: these need all rows at once
    ``parameters="cl"`` and others that are trained       gathered: each candidate is a fit
    ``Annealing``                                         gathered: it takes 100,000s of steps
    ====================================================  ========================================

    Rows that are gathered must fit in memory; if they do not, an error names the search.
    """

    steps_on_blocks = False  # whether a step needs no more than the gains of its candidates
    trains = True  # whether the search can fit a whole network for every candidate

    def __init__(
        self,
        score: Any = "cr",
        evaluation: Any = "resubstitution",
        parameters: Any = "ml",
        **shared: Any,
    ):
        super().__init__(**shared)
        self.score = score
        self.evaluation = evaluation
        self.parameters = parameters

    def _score(self, objective: Any = None) -> SampleScore:
        return SampleScore(objective or self.score, self.evaluation, self.parameters).checked()

    def _check(self) -> None:
        super()._check()
        if self._score().refits and not self.trains:
            raise ValueError(
                f"parameters={self.parameters!r}: {type(self).__name__} uses generative estimates,"
                ' "ml" or "map"; GreedyEdges and OrderBased can train each candidate'
            )

    def _takes(self, data: Rows) -> bool:
        """Return whether the search works on blocks that are better not gathered."""
        if not self.steps_on_blocks or data.fits_in_memory:
            return False
        score = self._score()
        in_folds = self.score == "mm" or not isinstance(score.evaluation, str)
        return not score.refits and (not in_folds or Folds.fit_in(data))

    def _tuned_score(self, run: Run) -> SampleScore:
        """Return the score, with λ chosen if it is not given: to be called once in a run."""
        return self._score(tuned_margin(self, run) if self.score == "mm" else None)

    def _scorer(self, run: Run) -> CandidateScorer:
        """Return the starting structure under the score: to be called once in a run."""
        score = self._tuned_score(run)
        return make_scorer(run.data, run.counts, score, run.structure, run.rng, run.n_jobs)

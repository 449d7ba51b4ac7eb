"""How the candidates of a structure search are scored: one protocol, three implementations.

==================  =======================  ==========================================
scorer              parameters               rows
==================  =======================  ==========================================
`CountingScorer`    generative estimates     in memory; candidates are abandoned early
`BlockScorer`       generative estimates     in blocks, on disk or on a cluster
`RefittingScorer`   any learner              in memory; each candidate is a fit
==================  =======================  ==========================================

Only ``search/`` uses this package.
"""

from __future__ import annotations

import numpy as np

from discbayes.counts import Counts
from discbayes.data.rows import Rows
from discbayes.network import Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring.block_scorer import BlockScorer
from discbayes.scoring.candidate_scorer import CandidateScorer
from discbayes.scoring.candidates import TIES, BestCandidate, Candidates, ParentMove, SearchCost
from discbayes.scoring.counting_scorer import CountingScorer
from discbayes.scoring.refitting_scorer import RefittingScorer

__all__ = [
    "TIES",
    "BestCandidate",
    "BlockScorer",
    "CandidateScorer",
    "Candidates",
    "CountingScorer",
    "ParentMove",
    "RefittingScorer",
    "SearchCost",
    "make_scorer",
]


def make_scorer(
    data: Rows,
    counts: Counts,
    score: SampleScore,
    structure: Structure,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> CandidateScorer:
    """Make the scorer for a score and for where the rows are.

    Parameters
    ----------
    data : Rows
        The rows; blocks only if the parameters of the score are generative estimates.
    counts : Counts
        The counts of the features.
    score : SampleScore
        The score, checked.
    structure : Structure
        Where the search starts.
    rng : Generator
        For the folds of the score.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    CandidateScorer
        The network under the score.
    """
    if not data.fits_in_memory:
        return BlockScorer(data, counts, score, structure, rng, n_jobs)
    rows = data.in_memory("the score")
    if score.refits:
        return RefittingScorer(rows, score, structure, rng, n_jobs)
    return CountingScorer(rows, score, structure, rng, n_jobs)

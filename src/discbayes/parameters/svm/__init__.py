"""Margins of support vector machines: BN-SVM and ML-BN-SVM (Peharz, Tschiatschek & Pernkopf 2013;
P13).

============  ======================================================
========================================== learner       minimises
tables ============  ======================================================
========================================== ``BNSVM``     ½‖ω‖² + λ Σ slack, problem (9)
normalised afterwards, where that can be ``MLBNSVM``   −n·ω + λ Σ slack, n the counts, problem (10)
or (11)    each row of a table sums to one at most ============
======================================================  ==========================================

ω are the numbers in the place of log P(c) and log θ; the slack of a row is what its log d, of P(y,
x) over that of the best rival, is short of γ. (11) is (10) with a soft maximum over the rivals and
a rounded corner. Both problems are convex. On C1 structures the optimum of (11) is a proper
network, so that it is found among the softmaxes of free numbers, without constraints and without
local optima: from any normalised point Algorithm 1 turns the straight line to the optimum into a
path of normalised points on which the objective falls. Elsewhere rows of tables may have to sum to
less than one; a slack in the normalizer of each of these rows (``Subnormalized``) leaves it without
constraints, too.
"""

from discbayes.parameters.svm.bnsvm import BNSVM
from discbayes.parameters.svm.margin_learner import GAMMAS, LAMS
from discbayes.parameters.svm.mlbnsvm import MLBNSVM, PathPoint

__all__ = ["BNSVM", "GAMMAS", "LAMS", "MLBNSVM", "PathPoint"]

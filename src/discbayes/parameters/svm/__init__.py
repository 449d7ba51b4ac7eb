"""Support vector machines over networks: BN-SVM and ML-BN-SVM (P13).

Peharz, Tschiatschek & Pernkopf 2013.

===========  ================================================  =====================================
learner      minimizes                                         tables
===========  ================================================  =====================================
``BNSVM``    ½‖ω‖² + λ Σ slack, problem (9)                    normalized afterwards, if possible
``MLBNSVM``  −n·ω + λ Σ slack, n the counts, problem (10, 11)  each row sums to one at most
===========  ================================================  =====================================

ω are the values in the place of log P(c) and log θ; the slack of a row is the amount by which its
log d, of P(y, x) divided by that of the best other class, falls short of γ. (11) is (10) with a
soft maximum over the other classes and a rounded corner. Both problems are convex. On C1 structures
the optimum of (11) is a proper network, so that it is found among softmaxes of unconstrained
parameters, without constraints and without local optima: from any normalized point Algorithm 1
turns the straight line to the optimum into a path of normalized points on which the objective
falls. On other structures rows of tables may have to sum to less than one; a slack in the
normalizer of each of these rows (``Subnormalized``) avoids constraints there too.
"""

from discbayes.parameters.svm.bnsvm import BNSVM
from discbayes.parameters.svm.margin_learner import GAMMAS, LAMS
from discbayes.parameters.svm.mlbnsvm import MLBNSVM, PathPoint

__all__ = ["BNSVM", "GAMMAS", "LAMS", "MLBNSVM", "PathPoint"]

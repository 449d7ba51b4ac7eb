"""The words of a tag that name a parameter learner, with the settings of its paper.

===============  ===================================================================  =========
words            parameters                                                           paper
===============  ===================================================================  =========
ML               relative frequencies, zeros become 1e-5                              P10, P12
MAP, P13ML       one virtual observation spread over each CPT; "ML" in P13            P13
OFE              0.5 added to each count                                              C11
LAPLACE          1 added to each count                                                ours
M                m-estimate with m = 1; "MAP" in Z17                                  Z17
CL, ELR          conditional likelihood, number of iterations by cross tuning         P10, C11
MCL              conditional likelihood to convergence, from MAP on                   P13
MM               margin to convergence, λ by cross-validation                         P12
MM13             margin, λ and κ by cross-validation, from MAP on                     P13
BNSVM            support vector machine over the cells, λ by cross-validation         P13
MLBNSVM          likelihood and margin, λ and γ by cross-validation                   P13
D, E, W          conditional likelihood over unconstrained parameters, normalized     Z17
                 CPTs, weights
W1, W2, W3       … over weights of a feature, a value, a value in a class             Z17
D-I, E-I, W-I …  … started at the m-estimates, not at zeros                           Z17
D-R, E-R, W-R …  … with a penalty of 1 towards zero: ridge                            Z17
D-G, E-G, W-G …  … regularized towards the generative estimates (LAPLACE), penalty 3  Z17, ours
DFE              discriminative frequency estimates: rows counted by 1 − P(y | x)     Z17
===============  ===================================================================  =========
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from discbayes.parameters import (
    BNSVM,
    DFE,
    MLBNSVM,
    DiscriminativeCCBN,
    ExtendedCCBN,
    MaximumAPosteriori,
    MaximumConditionalLikelihood,
    MaximumLikelihood,
    MaxMargin,
    WeightedCCBN,
)
from discbayes.search.tuning import SCALES

_Z17: dict[str, Callable[..., Any]] = {
    "D": DiscriminativeCCBN,
    "E": ExtendedCCBN,
    "W": WeightedCCBN,
    **{f"W{level}": partial(WeightedCCBN, level) for level in (1, 2, 3)},
}
# Z17 leaves back-off to later work (7.5, 8)
_PUBLISHED = {name: partial(learner, backoff=False) for name, learner in _Z17.items()}


def _regularized(learner: Callable[..., Any]) -> Any:
    """Return a learner that is regularized towards the generative estimates."""
    laplace = MaximumAPosteriori("dirichlet", 1.0)
    return learner(penalty=3.0, towards="generative", start="generative", generative=laplace)


LEARNERS: dict[str, Callable[[], Any]] = {
    "ML": MaximumLikelihood,
    "MAP": MaximumAPosteriori,
    "OFE": partial(MaximumAPosteriori, "dirichlet", 0.5),
    "LAPLACE": partial(MaximumAPosteriori, "dirichlet", 1.0),
    "M": partial(MaximumAPosteriori, "m", 1.0),
    "CL": partial(MaximumConditionalLikelihood, stopping="cross-tuning"),
    "MCL": partial(MaximumConditionalLikelihood, generative="map"),
    "MM": partial(MaxMargin, SCALES),
    "MM13": partial(MaxMargin, "cv", "cv", generative="map"),
    "BNSVM": partial(BNSVM, "cv"),
    "MLBNSVM": partial(MLBNSVM, "cv", "cv"),
    **_PUBLISHED,
    **{f"{name}-I": partial(learner, start="generative") for name, learner in _PUBLISHED.items()},
    **{f"{name}-R": partial(learner, penalty=1.0) for name, learner in _PUBLISHED.items()},
    **{f"{name}-G": partial(_regularized, learner) for name, learner in _Z17.items()},
    "DFE": DFE,
}
OTHER_WORDS = {
    "P13ML": "MAP",
    "P13-ML": "MAP",
    "ELR": "CL",
    "P13MM": "MM13",
    "P13-MM": "MM13",
    "BN-SVM": "BNSVM",
    "ML-BN-SVM": "MLBNSVM",
    "MLBN-SVM": "MLBNSVM",
    "W4": "W",
    "W4-I": "W-I",
    "W4-R": "W-R",
    "W4-G": "W-G",
}


def find_parameters(text: str) -> str | None:
    """Return the canonical tag of parameters in upper case, or None.

    >>> find_parameters("ML-BN-SVM"), find_parameters("SVM")
    ('MLBNSVM', None)
    """
    tag = OTHER_WORDS.get(text, text)
    return tag if tag in LEARNERS else None

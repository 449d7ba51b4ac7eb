"""Classifiers of every kind, drawn by hypothesis from the registries, so that a new learner is
among them unasked.
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from discbayes import BayesNetClassifier
from discbayes.objectives import OBJECTIVES
from discbayes.parameters import PARAMETERS
from discbayes.scores import EDGE_SCORES
from discbayes.search import STRUCTURES
from discbayes.search.feature_orders import ORDERS
from discbayes.search.kdb import ORDERS as KDB_ORDERS

# parameters that follow from counts, and take a fraction of the time of others
BY_COUNTS = ("ml", "map")
# discriminative frequencies go through the rows in their order, and a row of weight two once: not
# as the row twice
BY_ORDER = ("dfe",)
# what draws, by the seed: candidates, orders, folds
BY_SEED = ("anneal",)
# annealing to its end takes long
_SHORT = {"max_tries": 10, "max_successes": 3, "max_rejections": 10, "restarts": 1}


def structure_of(name, **settings):
    """The learner of a name, with limits where it would take long, and settings that it has."""
    learner = STRUCTURES[name]()
    known = learner.get_params(deep=False)
    return type(learner)(
        **known | {key: value for key, value in (_SHORT | settings).items() if key in known}
    )


@cache
def scores_of(name):
    """The names of the scores that a search takes."""
    usual = STRUCTURES[name]().get_params(deep=False).get("score")
    return [
        score
        for score in (EDGE_SCORES if usual in EDGE_SCORES else OBJECTIVES)
        if _takes(name, score)
    ]


def _takes(name, score):
    try:
        return structure_of(name, score=score) is not None
    except ValueError:
        return False


@st.composite
def structures(draw, names=tuple(STRUCTURES)):
    """A structure learner of some name; every other time with a score, a number of parents and an
    order of its own.
    """
    name = draw(st.sampled_from(names))
    if draw(st.booleans()):
        return structure_of(name)
    settings = {
        "k": draw(st.integers(1, 3)),
        "max_parents": draw(st.integers(1, 3)),
        "reverse": draw(st.booleans()),
        "order": draw(st.sampled_from(KDB_ORDERS if name == "kdb" else ORDERS)),
        "evaluation": draw(st.sampled_from(["resubstitution", "loo", 2])),
        "score": draw(st.sampled_from(scores_of(name))),
    }
    return structure_of(name, **settings)


@st.composite
def classifiers(draw, names=tuple(STRUCTURES), parameters=tuple(PARAMETERS), **fixed):
    """A classifier with settings of every kind; most of them learn from counts, which is quick."""
    quick = [name for name in BY_COUNTS if name in parameters] or parameters
    slow = draw(st.integers(0, 3)) == 3
    settings = {
        "parameters": draw(st.sampled_from(parameters if slow else quick)),
        "discretizer": draw(st.sampled_from(["mdlp", "two-resolution", "equal-frequency", None])),
        "categorical": draw(st.sampled_from(["auto", "auto", "all"])),
        "missing": draw(st.sampled_from(["available", "available", "value", "drop", "error"])),
        "class_weight": draw(st.sampled_from([None, None, "balanced"])),
        "calibrate": draw(st.sampled_from([None, None, None, "auto", "temperature", "isotonic"])),
        "calibrate_folds": 2,
        "random_state": draw(st.integers(0, 9)),
    }
    return BayesNetClassifier(draw(structures(names)), **{**settings, **fixed})

"""The words of a tag that name a structure, and the search behind them.

===============================  =====================================================  ====
words                            search, with the settings of its paper                 with
===============================  =====================================================  ====
NB                               none                                                   M
TAN                              tree by I(Xi;Xj|C): TAN-CMI                            M
TAN-CMI, TAN-ST-CMI              tree by I(Xi;Xj|C)                                     ML
TAN-LL                           tree by I(Xi;Xj|C), which maximizes the likelihood     OFE
TAN-fCLL, TAN-aCLL               tree by an approximation of the conditional            OFE
                                 likelihood
KDB1, KDB2, …                    k parents by relevance                                 M
GHC2-LL, GHC2-fCLL               hill climbing, two parents with the class              OFE
TAN-CR, TAN-CL                   greedy edges (P10): resubstitution, while they         ML
                                 improve
TAN-HC-CR, TAN-HC-CL, TAN-HC-MM  greedy edges (P12): five folds, until the tree is      ML
                                 full
TAN-SA-CR, TAN-SA-CL, TAN-SA-MM  annealing (P12): five folds                            ML
TAN-SuperParent                  super parents by CR: resubstitution                    ML
TAN-OMI-CR, …                    an order (OMI, OMISP, OCR, RO, minMI), parents by CR,  ML
                                 CL or MM; CRCL: by CR of cross-tuned CL tables
…-Ext                            after an order: parents are chosen again, until        ML
                                 nothing changes
===============================  =====================================================  ====

The last column has the parameters of a tag that names none. ``2-tree``, ``3-tree``, … in place of
``TAN`` allow as many parents (not with SA), and estimate scores by five folds. ``LOO`` before CR,
CL or MM (TAN-LOO-CR, TAN-OMI-LOO-CL) estimates them by leave-one-out instead. TAN-MM is not a
search: it is TAN-CMI with max-margin parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

from discbayes.parameters import MaximumConditionalLikelihood
from discbayes.search import (
    KDB,
    Annealing,
    Branching,
    GreedyEdges,
    HillClimb,
    NaiveBayes,
    OrderBased,
    SpanningTree,
    SuperParent,
)

FOLDS = 5  # of the scores of P12, and of P10 with two parents
ORDERS = {"OMI": "omi", "OMISP": "omisp", "OCR": "ocr", "RO": "random", "minMI": "min-mi"}
SCORES = ("CR", "CL", "MM")
_TREE = r"(?:TAN|(?P<k>[1-9]\d*)-?TREE)"
# P10: CRML is CR, as ML is the default
_SCORE = r"(?:(?P<loo>LOO)-)?(?P<score>CR|CL|MM)(?:(?<=CR)ML)?"


class StructureWords(NamedTuple):
    """A structure of a tag: its canonical words, its learner, and its default parameters."""

    tag: str
    learner: Any
    alone_with: str


def find_structure(text: str) -> StructureWords | None:
    """Return the structure of words in upper case with hyphens between them, or None.

    >>> find_structure("ST-CMI")
    StructureWords(tag='TAN-CMI', learner=SpanningTree(), alone_with='ML')
    """
    for pattern, make in _PATTERNS.items():
        found = re.fullmatch(pattern, text)
        if found is not None:
            return make(found)
    return None


def _generative(
    tag: str, learner: Callable[[], Any], alone_with: str
) -> Callable[[re.Match[str]], StructureWords]:
    return lambda _: StructureWords(tag, learner(), alone_with)


def _kdb(found: re.Match[str]) -> StructureWords:
    k = int(found["k"] or 1)
    return StructureWords(f"KDB{k}", KDB(k), "M")


def _hill_climb(found: re.Match[str]) -> StructureWords:
    size, score = int(found["size"] or 2), {"LL": "LL", "FCLL": "fCLL"}[found["score"]]
    return StructureWords(f"GHC{size}-{score}", HillClimb(score.lower(), max_parents=size), "OFE")


def _tree(found: re.Match[str]) -> tuple[str, int]:
    """Return TAN or k-tree, and the number of parents."""
    k = int(found["k"] or 1)
    return ("TAN" if k == 1 else f"{k}-tree"), k


def _evaluation(found: re.Match[str], k: int) -> Any:
    if found["loo"]:
        return "loo"
    return FOLDS if k > 1 else "resubstitution"


def _loo(found: re.Match[str]) -> str:
    return "LOO-" if found["loo"] else ""


def _greedy(found: re.Match[str]) -> StructureWords:
    (tree, k), score = _tree(found), found["score"]
    # With these ties figures of P10 come out to the digit (docs/results/p10-table7.md).
    learner = GreedyEdges(score.lower(), _evaluation(found, k), k=k, ties="parent")
    return StructureWords(f"{tree}-{_loo(found)}{score}", learner, "ML")


def _greedy_full(found: re.Match[str]) -> StructureWords:
    (tree, k), score = _tree(found), found["score"]
    learner = GreedyEdges(score.lower(), FOLDS, k=k, fill=True)
    return StructureWords(f"{tree}-HC-{score}", learner, "ML")


def _annealing(found: re.Match[str]) -> StructureWords:
    score = found["score"]
    return StructureWords(f"TAN-SA-{score}", Annealing(score.lower(), FOLDS), "ML")


def _super_parent(found: re.Match[str]) -> StructureWords:
    tree, k = _tree(found)
    learner = SuperParent("cr", FOLDS if k > 1 else "resubstitution", k=k)
    return StructureWords(f"{tree}-SuperParent", learner, "ML")


def _order_based(found: re.Match[str]) -> StructureWords:
    (tree, k), score = _tree(found), found["score"] or "CR"
    # tags are in upper case by now, and min-MI may have a hyphen
    order = next(name for name in ORDERS if name.upper() == found["order"].replace("-", ""))
    # CRCL trains every candidate as P10 trains all CL parameters (6.1)
    trained = MaximumConditionalLikelihood(stopping="cross-tuning")
    inside = "ml" if found["score"] else trained
    evaluation, refine = _evaluation(found, k), bool(found["ext"])
    learner = OrderBased(ORDERS[order], score.lower(), evaluation, inside, k=k, refine=refine)
    words = f"{_loo(found)}{found['score'] or 'CRCL'}{'-Ext' if refine else ''}"
    return StructureWords(f"{tree}-{order}-{words}", learner, "ML")


_PATTERNS: dict[str, Callable[[re.Match[str]], StructureWords]] = {
    "NB": _generative("NB", NaiveBayes, "M"),
    "TAN|1-?TREE": _generative("TAN-CMI", SpanningTree, "M"),
    "(TAN-)?ST-CMI|TAN-CMI": _generative("TAN-CMI", SpanningTree, "ML"),
    "TAN-LL": _generative("TAN-CMI", SpanningTree, "OFE"),
    "TAN-FCLL": _generative("TAN-fCLL", lambda: SpanningTree(score="fcll"), "OFE"),
    "TAN-ACLL": _generative("TAN-aCLL", lambda: Branching("acll"), "OFE"),
    r"KDB-?(?P<k>\d*)": _kdb,
    r"GHC-?(?P<size>[1-9]\d*|)-(?P<score>LL|FCLL)": _hill_climb,
    rf"(?!(TAN|1-?TREE)-MM$){_TREE}-{_SCORE}": _greedy,
    rf"{_TREE}-HC-(?P<score>CR|CL|MM)": _greedy_full,
    "(?:TAN|1-?TREE)-SA-(?P<score>CR|CL|MM)": _annealing,
    rf"(?:{_TREE}-)?SUPER-?PARENT": _super_parent,
    rf"{_TREE}-(?P<order>OMI|OMISP|OCR|RO|MIN-?MI)-(?:{_SCORE}|CRCL)(?P<ext>-EXT)?": _order_based,
}


def structure_tags() -> list[str]:
    """Return the canonical tags of structures with at most two parents."""
    tags = ["NB", "TAN-CMI", "TAN-fCLL", "TAN-aCLL", "KDB1", "KDB2", "GHC2-LL", "GHC2-fCLL"]
    for tree in ("TAN", "2-tree"):
        scored = [*SCORES, *(f"LOO-{score}" for score in SCORES)]
        tags += [f"{tree}-{score}" for score in scored if f"{tree}-{score}" != "TAN-MM"]
        tags += [f"{tree}-HC-{score}" for score in SCORES]
        tags += [f"TAN-SA-{score}" for score in SCORES if tree == "TAN"]
        tags += [f"{tree}-SuperParent"]
        tags += [f"{tree}-{'-'.join(words)}" for words in product(ORDERS, [*scored, "CRCL"])]
        tags += [f"{tree}-{'-'.join(words)}-Ext" for words in product(ORDERS, [*scored, "CRCL"])]
    return tags

"""P10 section 3: three features of which two depend on each other strongly, and two others tell the classes apart.

The rate and the likelihood are best with X1-X3 and without X2-X3. For the margin that depends on λ (columns
``margin_0.1`` and ``margin_1``): at 0.1 no row reaches the corner of min(1, λ·log d), so the score is the mean of
log d, which is larger with X3-X2 although the rate is smaller. Cross-validation mostly chooses λ = 1, where X1-X3
alone is best.
"""

from __future__ import annotations

import time
from functools import cache, partial

import numpy as np
from store import Results

from discbayes import BayesNetClassifier, Structure
from discbayes.datasets import make_three_feature
from discbayes.datasets.generators import three_feature_joint
from discbayes.objectives import Margin
from discbayes.search import Annealing, GreedyEdges, NaiveBayes, OrderBased, SpanningTree, SuperParent

N_ROWS, N_REPEATS = 1000, 100
FIELDS = (
    "what",
    "expected",
    "accuracy",
    "margin_0.1",
    "margin_1",
    "of_structures",
    "with_x1_x3",
    "with_x2_x3",
    "repeats",
    "seconds",
)
CELLS = np.indices((2, 2, 2, 2)).reshape(4, -1).T  # class, X1, X2, X3
JOINT = three_feature_joint().ravel()

# What the population allows, in percent.
STRUCTURES = {
    "NB": ((), 50.0),
    "X1-X2, X2-X3 (TAN-CMI)": (((0, 1), (1, 2)), 57.5),
    "X1-X3": (((0, 2),), 65.0),
    "X1-X3, X1-X2": (((0, 2), (0, 1)), 65.0),
    "X1-X3, X3-X2 (TAN-fCLL)": (((0, 2), (2, 1)), 61.25),
}

SCORES = {"CR": "cr", "CL": "cl", "MM": Margin(1.0)}
SEARCHES = {
    "greedy {}": GreedyEdges,
    "greedy {}, 5 folds, filled": partial(GreedyEdges, evaluation=5, fill=True),
    "SuperParent {}": SuperParent,
    "OMI-{}": partial(OrderBased, "omi"),
    "OMISP-{}": partial(OrderBased, "omisp"),
    "OCR-{}": partial(OrderBased, "ocr"),
    "RO-{}": partial(OrderBased, "random"),
    "annealing {}": Annealing,
}
LEARNERS = {
    "NB": (NaiveBayes(), 50.0),
    "TAN-CMI": (SpanningTree(), 57.5),
    "TAN-fCLL": (SpanningTree(score="fcll"), 61.25),
    **{
        what.format(tag): (search(score=score), 65.0)
        for what, search in SEARCHES.items()
        for tag, score in SCORES.items()
    },
    "greedy MM, λ = 0.1": (GreedyEdges(Margin(0.1)), 61.25),
    "greedy MM, λ by cross-validation": (GreedyEdges("mm"), 65.0),
}


def run() -> None:
    results = Results("three_feature", FIELDS)
    for what, (edges, expected) in STRUCTURES.items():
        if not results.has(what=f"population: {what}"):
            clf = in_population(Structure.from_edges(edges, range(3)))
            log_joint = clf.predict_joint_log_proba(CELLS[:, 1:])
            margins = {f"margin_{lam:g}": Margin(lam).value(log_joint, CELLS[:, 0], JOINT) for lam in (0.1, 1.0)}
            accuracy = population_accuracy(clf)
            results.add(what=f"population: {what}", expected=expected, accuracy=accuracy, **margins)
    for what, (learner, expected) in LEARNERS.items():
        if not results.has(what=f"{N_ROWS} rows: {what}"):
            results.add(what=f"{N_ROWS} rows: {what}", expected=expected, **repeat(learner))


@cache
def in_population(structure: Structure) -> BayesNetClassifier:
    """A structure with the parameters of the population."""
    clf = BayesNetClassifier(structure, "ml", discretizer=None)
    return clf.fit(CELLS[:, 1:], CELLS[:, 0], sample_weight=1e4 * JOINT)


def repeat(learner: object) -> dict[str, object]:
    """Learn from so many rows, again and again; how good the network is in the population, and where it has edges."""
    accuracy, possible, edges, started = [], [], [], time.perf_counter()
    for seed in range(N_REPEATS):
        X, y = make_three_feature(N_ROWS, random_state=seed)
        clf = BayesNetClassifier(learner, "ml", discretizer=None, random_state=seed, n_jobs=1).fit(X, y)
        accuracy.append(population_accuracy(clf))
        possible.append(population_accuracy(in_population(clf.structure_)))
        edges.append({frozenset((p, i)) for i, group in enumerate(clf.structure_.parents) for p in group})
    return {
        "accuracy": float(np.mean(accuracy)),
        "of_structures": float(np.mean(possible)),
        "with_x1_x3": sum(frozenset((0, 2)) in found for found in edges),
        "with_x2_x3": sum(frozenset((1, 2)) in found for found in edges),
        "repeats": N_REPEATS,
        "seconds": time.perf_counter() - started,
    }


def population_accuracy(clf: BayesNetClassifier) -> float:
    """The share of the population that a classifier gets right, in percent."""
    right = clf.predict(CELLS[:, 1:]) == CELLS[:, 0]
    return float(100 * JOINT[right].sum())

"""How long one pass over the rows takes, for each kind of work that learners do, as sizes change
one at a time.

Rows are in memory, in the blocks that files have too, and one thread works on them. It is processor
time that is measured, which hardly depends on what else the machine does.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes.counts import Counts, count, count_extensions, count_families, pair_information
from discbayes.data import Domain, Encoded, Variable
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.engine import Context
from discbayes.network import Layout, Structure
from discbayes.objectives import Margin
from discbayes.parameters import (
    BNSVM,
    DFE,
    MLBNSVM,
    DiscriminativeCCBN,
    ExtendedCCBN,
    MaxMargin,
    WeightedCCBN,
)
from discbayes.parameters import MaximumConditionalLikelihood as ConditionalLikelihood
from discbayes.parameters.log_scores import LogScores
from discbayes.scores import edge_score_of
from discbayes.search import GreedyEdges
from scaling.results import Line, Results
from suite.data import sample_tan
from suite.settings import settings_of

REPEATS = 3
CASE = "growth"


@dataclass(frozen=True)
class Shape:
    """Rows of features that all have the same number of values."""

    rows: int
    features: int
    values: int
    classes: int


BASE, TINY = Shape(200_000, 40, 5, 3), Shape(600, 6, 3, 3)
AROUND: dict[str, tuple[int, ...]] = {
    "rows": (100_000, 200_000, 400_000),
    "features": (20, 40, 80),
    "values": (2, 3, 5, 8, 12, 20),
    "classes": (2, 3, 4, 8, 16),
}
SMALL = Shape(131_072, 20, 5, 3)  # for a step of a greedy search, which looks at all pairs in turn
AROUND_SMALL: dict[str, tuple[int, ...]] = {
    "rows": (65_536, 131_072, 262_144),
    "features": (10, 20, 40),
    "values": (2, 5, 10),
    "classes": (2, 3, 8),
}


def sizes(base: Shape, around: dict[str, tuple[int, ...]]) -> list[Shape]:
    """The base, and what differs from it in one size."""
    found = [replace(base, **{name: value}) for name, values in around.items() for value in values]
    return list(dict.fromkeys([base, *found]))


class Rows:
    """Rows in blocks, and what learners know before they look at them."""

    def __init__(self, shape: Shape):
        X, y = sample_tan(shape.rows, shape.features, shape.values, shape.classes, seed=0)
        names = tuple(f"v{k}" for k in range(max(shape.values, shape.classes)))
        features = (
            Variable(f"x{i}", "categorical", names[: shape.values]) for i in range(shape.features)
        )
        domain = Domain(tuple(features), Variable("y", "categorical", names[: shape.classes]))
        self.encoded = Encoded(np.ascontiguousarray(X.T.astype(np.uint8)), domain, y)
        self.blocks = RowBlocks(RowsInMemory(self.encoded))
        self.counts: Counts = count(self.blocks)
        self.tree = chain(shape.features, 1)

    def layout(self, structure: Structure) -> Layout:
        return Layout(structure, self.encoded.cards, self.encoded.n_classes)


def chain(n_features: int, k: int) -> Structure:
    """Each feature has the ``k`` before it as parents."""
    return Structure(
        tuple(tuple(range(max(0, i - k), i)) for i in range(n_features)), (True,) * n_features
    )


# ---- kinds of work: rows to a function without arguments that is timed

Work = Callable[[Rows], Callable[[], Any]]


def _pairs(rows: Rows, score: str) -> Callable[[], Any]:
    if score == "cmi":
        return lambda: pair_information(rows.blocks, rows.counts)
    return lambda: edge_score_of(score).weights(rows.blocks, rows.counts)


def _families(rows: Rows, k: int) -> Callable[[], Any]:
    layout = rows.layout(chain(rows.encoded.n_features, k))
    return lambda: count_families(rows.blocks, layout, rows.counts)


def _extensions(rows: Rows) -> Callable[[], Any]:
    """A feature with one parent, and each other one as its second."""
    others = list(range(2, rows.encoded.n_features))
    return lambda: list(count_extensions(rows.blocks, 0, (1,), others))


def _evaluation(rows: Rows, learner: Any) -> Callable[[], Any]:
    fit = learner._fit(learner._settings()[0][0], rows.blocks, rows.counts, rows.tree, None)
    return lambda: fit.problem.loss(fit.start)


def _step(rows: Rows, learner: GreedyEdges) -> Callable[[], Any]:
    """The first step of a greedy search; ``memory=1`` keeps the rows where they are, as if they
    were too many.
    """
    blocks = RowBlocks(RowsInMemory(rows.encoded), memory=1)
    search = clone(learner).set_params(callback=lambda step: True)

    def one() -> None:
        with warnings.catch_warnings():
            # it was stopped after a step, as it was meant to be
            warnings.simplefilter("ignore", UserWarning)
            search.learn(blocks, rows.counts, Context())

    return one


EVALUATIONS: dict[str, Callable[[], Any]] = {
    "CL": ConditionalLikelihood,
    "CCBN-d": DiscriminativeCCBN,
    "CCBN-e": ExtendedCCBN,
    "CCBN-w": WeightedCCBN,
    "MM": MaxMargin,
    "BN-SVM": BNSVM,
    "ML-BN-SVM": MLBNSVM,
}
STEPS: dict[str, Any] = {"CR": "cr", "CL": "cl", "MM": Margin(0.1)}
LEARNERS: dict[str, Any] = {
    **{f"evaluation, {name}": learner() for name, learner in EVALUATIONS.items()},
    "DFE pass": DFE(passes=1),
    **{
        f"greedy step, {name}": GreedyEdges(objective, fill=True)
        for name, objective in STEPS.items()
    },
}
SETTINGS = {name: settings_of(learner, n_jobs=None) for name, learner in LEARNERS.items()}
WORKS: dict[str, Work] = {
    "features": lambda rows: lambda: count(rows.blocks),
    "pairs, CMI": partial(_pairs, score="cmi"),
    "pairs, fCLL": partial(_pairs, score="fcll"),
    "pairs, aCLL": partial(_pairs, score="acll"),
    "families, one parent": partial(_families, k=1),
    "families, two parents": partial(_families, k=2),
    "extensions": _extensions,
    "preparing": lambda rows: lambda: LogScores(rows.blocks, rows.layout(rows.tree), False),
    **{
        name: partial(_evaluation, learner=LEARNERS[name])
        for name in LEARNERS
        if name.startswith("evaluation")
    },
    "DFE pass": lambda rows: (
        lambda: LEARNERS["DFE pass"].learn(rows.blocks, rows.counts, rows.tree, Context())
    ),
}
SMALL_WORKS: dict[str, Work] = {
    name: partial(_step, learner=LEARNERS[name])
    for name in LEARNERS
    if name.startswith("greedy step")
}


def run(results: Results, smoke: bool = False) -> Iterator[Line]:
    """Measure all kinds of work on all sizes, or try them on one."""
    yield from _measure(results, WORKS, [TINY] if smoke else sizes(BASE, AROUND))
    yield from _measure(results, SMALL_WORKS, [TINY] if smoke else sizes(SMALL, AROUND_SMALL))


def _measure(results: Results, works: dict[str, Work], shapes: list[Shape]) -> Iterator[Line]:
    for shape in shapes:
        rows = Rows(shape)
        for name, work in works.items():
            taken = _least(work(rows))
            line = Line(
                CASE,
                name,
                shape.rows,
                shape.features,
                shape.values,
                shape.classes,
                taken,
                repeats=REPEATS,
            )
            yield results.add(replace(line, settings=SETTINGS.get(name, "")))


def _least(work: Callable[[], Any]) -> float:
    """The least processor time of some calls, after one that is not timed."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)

"""Structure searches on real data: how long they take, and how many scores their bounds save.

R bnclassify's ``tan_hc`` was timed elsewhere, with its own 5-fold scoring on the same data: those
seconds stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from discbayes.counts import count
from discbayes.engine import Context
from discbayes.objectives import Margin
from discbayes.search import Annealing, GreedyEdges, OrderBased, SpanningTree
from suite import probe_search
from suite.data import coded
from suite.measure import (
    N_JOBS,
    Row,
    at_most_times,
    below,
    best,
    faster,
    in_new_process,
    of,
    race,
    repeats,
    seconds,
)

REPEATS, QUICK = 3, 1.0  # what takes more seconds is run once
GREEDY = {"chess": 0.3, "satimage": 0.4, "letter": 0.5, "mnist14": 25.0}
BNCLASSIFY = {"chess": 33.0, "vehicle": 4.5, "soybean-large": 7.5}
LONG = {
    "OMI-CR": 8.0,
    "HC-MM, λ = 0.05": 120.0,
    "HC-MM, λ = 0.05, 5 folds": 120.0,
    "SA-MM, λ = 0.05": 180.0,
    "HC-CL": 300.0,
}
LEARNERS: dict[str, Any] = {
    "TAN-CR": GreedyEdges("cr"),
    "TAN-CR, 5 folds": GreedyEdges("cr", 5),
    "TAN-CR, 5 folds, memory": probe_search.GREEDY,
    "TAN-CMI": SpanningTree(score="cmi"),
    "TAN-fCLL": SpanningTree(score="fcll"),
    "OMI-CR": OrderBased("omi", "cr"),
    "HC-MM, λ = 0.05": GreedyEdges(Margin(0.05), fill=True),
    "HC-MM, λ = 0.05, 5 folds": GreedyEdges(Margin(0.05), evaluation=5, fill=True),
    "SA-MM, λ = 0.05": Annealing(Margin(0.05), random_state=0),
    "HC-CL": GreedyEdges("cl", fill=True),
}


def run(smoke: bool) -> Iterator[Row]:
    for name, limit in GREEDY.items():
        yield from _greedy(name, limit, smoke)
    for name, peer in BNCLASSIFY.items():
        yield from _against_bnclassify(name, peer, smoke)
    yield from _tree_scores(smoke)
    for learner, limit in LONG.items():
        yield from of(
            learner, below(f"{learner}, mnist14", _shortest(learner, "mnist14", smoke), limit)
        )
    peak = in_new_process("suite.probe_search", *(["smoke"] if smoke else []))["peak"]
    what = "TAN-CR, 5 folds, mnist14: memory of the process at its peak"
    yield from of("TAN-CR, 5 folds, memory", below(what, peak / 1e6, 1500.0, "MB"))


def _search(learner: str, name: str, smoke: bool) -> Callable[[], list[dict[str, Any]]]:
    data = coded(name, smoke=smoke).encoded
    counts = count(data, N_JOBS)

    def work() -> list[dict[str, Any]]:
        context = Context(n_jobs=N_JOBS)
        LEARNERS[learner].learn(data, counts, context)
        return context.history

    return work


def _shortest(learner: str, name: str, smoke: bool) -> float:
    """The shortest time of some runs, or of one that takes long, after a try on few rows that loads
    all kernels.
    """
    _search(learner, name, smoke=True)()
    work = _search(learner, name, smoke)
    first = seconds(work)
    return (
        first
        if first > QUICK
        else min(first, *(seconds(work) for _ in range(repeats(smoke, REPEATS))))
    )


def _greedy(name: str, limit: float, smoke: bool) -> Iterator[Row]:
    data = coded(name, smoke=smoke).encoded
    what = f"{name} {data.n_samples:,} x {data.n_features}"
    for learner, most in {"TAN-CR": limit, "TAN-CR, 5 folds": 2 * limit}.items():
        yield from of(learner, below(f"{learner}, {what}", _shortest(learner, name, smoke), most))
    if name != "mnist14":
        yield from of("TAN-CR", *_scores(what, _search("TAN-CR", name, smoke)()))


def _scores(what: str, history: list[dict[str, Any]]) -> Iterator[Row]:
    yield Row(f"TAN-CR, {what}: scores", sum(step["evaluations"] for step in history), "scores")
    yield Row("  abandoned before their end", sum(step["abandoned"] for step in history), "scores")


def _against_bnclassify(name: str, peer: float, smoke: bool) -> list[Row]:
    ours = best(_search("TAN-CR, 5 folds", name, smoke), repeats(smoke, REPEATS))
    return of(
        "TAN-CR, 5 folds",
        faster(f"TAN-CR, 5 folds, {name}, vs bnclassify tan_hc", ours, peer, times=50),
    )


def _tree_scores(smoke: bool) -> list[Row]:
    works = (_search(learner, "mnist14", smoke) for learner in ("TAN-fCLL", "TAN-CMI"))
    return of(
        "TAN-fCLL",
        at_most_times("TAN-fCLL, mnist14, vs TAN-CMI", *race(*works, times=repeats(smoke)), 1.3),
    )

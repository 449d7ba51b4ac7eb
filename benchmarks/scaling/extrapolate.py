"""From the time of a pass on one thread to a whole fit on a cluster, with all that is assumed on
the way.

    seconds of a round = work / (W·T) + read / (W·D) + (up + down) / R + S·t + l + up / 8 · a

- W workers with T threads each, which divide the work evenly and do not slow each other down; one
  of these threads is as fast as one of the machine that was measured.
- Half of the memory of a worker is for codes, half for what evaluations need of them. What does not
  fit is read from its disk in each round, D bytes a second.
- The machine that runs the fit has a network of R bytes a second, through which all results come
  (up) and all tables go (down), one after the other. There are S shards, some for each thread; a
  shard sends the results of the largest whole subtrees of its blocks, and gets the arguments of the
  round once.
- A task costs t seconds of the scheduler, a round l seconds at least, and adding a number a
  seconds; t and l are those of a cluster of two processes on the machine that was measured.
- Workers read the rows themselves, each as fast as the machine that was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from discbayes.counts.contingency import CELLS_OF_A_PASS, parts
from discbayes.engine.dask import SHARDS_EACH
from discbayes.engine.shards import runs
from discbayes.scoring.counting_scorer import MAX_CACHED
from scaling.model import NANO, Size, Work, terms_of

ADD = NANO  # for a number
EVALUATIONS = 100  # of a gradient, in a fit
PASSES = 4  # of DFE


@dataclass(frozen=True)
class Cluster:
    """W, T, R, l, t, the bytes of memory of a worker, and D."""

    workers: int = 100
    threads: int = 8
    network: float = 1.25e9
    latency: float = 0.02
    task: float = 1e-3
    memory: float = 64e9
    disk: float = 1e9

    @property
    def shards(self) -> int:
        return SHARDS_EACH * self.workers * self.threads


@dataclass(frozen=True)
class Round:
    """Passes over the rows that are alike: seconds of one thread, numbers that a result has, bytes
    of arguments.
    """

    what: str
    seconds: float
    numbers: float
    arguments: float = 0.0
    times: int = 1
    on_codes: bool = True  # and not on what was prepared of them
    alone: bool = False  # whether one thread does it all


@dataclass(frozen=True)
class Cost:
    """What a fit takes, reading aside."""

    rounds: int
    largest_round: float
    moved: float
    computing: float
    reading: float
    network: float
    seconds: float
    kept: float
    tables: float


Works = dict[str, Work]
Plan = Callable[[Size, Works], list[Round]]


@cache
def results_of_shards(n_blocks: int, n_shards: int) -> int:
    """How many results all shards send together: the fewest aligned runs, of 2^k blocks each, that
    make them up.
    """
    return sum(_aligned_runs(first, last) for first, last in runs(n_blocks, n_shards))


def _aligned_runs(first: int, last: int) -> int:
    found = 0
    while first < last:
        size = first & -first or 1 << 62
        while size > last - first:
            size >>= 1
        first, found = first + size, found + 1
    return found


def cost(rounds: Sequence[Round], size: Size, cluster: Cluster) -> Cost:
    """Add up the rounds of a fit."""
    n_results = results_of_shards(size.blocks, cluster.shards)
    n_shards = min(cluster.shards, size.blocks)
    codes, prepared = code_bytes(size), prepared_bytes(size)
    computing = reading = network = moved = largest = 0.0
    for each in rounds:
        volume = codes if each.on_codes else prepared
        left = max(0.0, volume / cluster.workers - cluster.memory / 2)
        up, down = 8 * each.numbers * n_results, each.arguments * n_shards
        if each.alone:
            up, down, left = float(codes), 0.0, 0.0
        hands = 1 if each.alone else cluster.workers * cluster.threads
        computing += each.times * each.seconds / hands
        reading += each.times * left / cluster.disk
        waiting = cluster.latency + (0 if each.alone else n_shards * cluster.task + up / 8 * ADD)
        network += each.times * ((up + down) / cluster.network + waiting)
        moved, largest = moved + each.times * (up + down), max(largest, up + down)
    prepares = any(not each.on_codes for each in rounds)
    kept = (codes + prepares * prepared) / cluster.workers
    tables = max(8 * each.numbers for each in rounds)
    total = computing + reading + network
    return Cost(
        sum(each.times for each in rounds),
        largest,
        moved,
        computing,
        reading,
        network,
        total,
        kept,
        tables,
    )


def code_bytes(size: Size) -> float:
    """The bytes of all codes and classes on disk."""
    return size.rows * (size.features * (1 if max(size.cards) < 256 else 2) + 1)


def prepared_bytes(size: Size) -> float:
    """What gradients need of the rows: a number for each cell that is not usual, class, weight and
    place of a row.
    """
    each = 2 if size.cells(1) / size.classes < 65_535 else 4
    return size.rows * (size.features * size.unusual * each + 20)


# ---- the rounds of each learner


def _features(size: Size, works: Works) -> Round:
    return Round("features", works["features"].seconds(size), size.cells(0))


def _families(size: Size, works: Works, k: int) -> Round:
    name = "families, one parent" if k == 1 else "families, two parents"
    return Round(name, works[name].seconds(size), size.cells(k))


def pair_rounds(size: Size) -> int:
    """Passes that count all pairs, as many of them at a time as have two million cells."""
    cards = np.array(size.cards, np.int64)
    sizes = cards * (cards.sum() - np.cumsum(cards)) * size.classes
    return sum(part.size > 0 for part in parts(sizes[:-1], CELLS_OF_A_PASS))


def _pairs(size: Size, works: Works, score: str) -> Round:
    """Every pass counts the features and makes their bit sets once more."""
    work, times = works[f"pairs, {score}"], pair_rounds(size)
    first, *others = np.array(work.constants) * terms_of(work.name)(size) * NANO
    arguments = size.features**2 * (1 + 4)  # which pairs, and where their tables begin
    return Round(work.name, first + sum(others) / times, size.pair_cells / times, arguments, times)


def counting(score: str | None, k: int) -> Plan:
    """A structure by the score of edges, none for naive Bayes, and frequencies."""

    def plan(size: Size, works: Works) -> list[Round]:
        if score is None:
            return [_features(size, works)]
        return [_features(size, works), _pairs(size, works, score), _families(size, works, k)]

    return plan


def hill_climbing(size: Size, works: Works) -> list[Round]:
    """As many moves as features: all extensions of the feature that was changed, and its family."""
    numbers = size.cells(2)
    move = Round(
        "extensions", works["extensions"].seconds(size) / 2, numbers, times=2 * size.features
    )
    return [_features(size, works), _pairs(size, works, "CMI"), move]


def climbing(name: str) -> Plan:
    """A tree by fCLL, and parameters by gradients."""

    def plan(size: Size, works: Works) -> list[Round]:
        numbers, work = size.cells(1), works[f"evaluation, {name}"]
        prepare = Round("preparing", works["preparing"].seconds(size), size.classes)
        climb = Round(
            work.name, work.seconds(size), numbers, 8 * numbers, EVALUATIONS, on_codes=False
        )
        return [*counting("fCLL", 1)(size, works), prepare, climb]

    return plan


def one_by_one(size: Size, works: Works) -> list[Round]:
    """DFE on a tree by fCLL: each row meets what the one before it has left, so one thread works,
    and sees all rows.
    """
    passes = Round("DFE pass", works["DFE pass"].seconds(size), 0, times=PASSES, alone=True)
    return [*counting("fCLL", 1)(size, works), passes]


def greedy(name: str) -> Plan:
    """A tree by greedy steps, one for each feature but the first: in each a look at all edges to
    features without one.

    Over all steps that is half of the edges on average. Tables are counted once, if they can be
    remembered, and sent in portions.
    """

    def plan(size: Size, works: Works) -> list[Round]:
        steps, cells = size.features - 1, 2 * size.pair_cells
        portions = max(1, round(cells / CELLS_OF_A_PASS))
        n_edges = size.features * steps
        counted = Round(
            "candidates",
            0.0,
            cells / portions,
            times=portions * (1 if cells <= MAX_CACHED else steps),
        )
        seconds = works[f"greedy step, {name}"].seconds(size) / portions / 2
        arguments = 8 * cells / portions / 2
        gains = Round(
            f"greedy step, {name}", seconds, n_edges / portions / 2, arguments, steps * portions
        )
        return [_features(size, works), counted, gains]

    return plan


PLANS: dict[str, Plan] = {
    "NB + ML or MAP": counting(None, 0),
    "TAN-CMI or KDB-1 + ML or MAP": counting("CMI", 1),
    "TAN-fCLL + ML or MAP": counting("fCLL", 1),
    "TAN-aCLL + ML or MAP": counting("aCLL", 1),
    "KDB-2 + ML or MAP": counting("CMI", 2),
    "GHC + ML or MAP": hill_climbing,
    "TAN + CCBN-d": climbing("CCBN-d"),
    "TAN + CCBN-e": climbing("CCBN-e"),
    "TAN + CCBN-w": climbing("CCBN-w"),
    "TAN + CL": climbing("CL"),
    "TAN + MM": climbing("MM"),
    "TAN + BN-SVM": climbing("BN-SVM"),
    "TAN + ML-BN-SVM": climbing("ML-BN-SVM"),
    "TAN + DFE": one_by_one,
    "TAN-CR, greedy": greedy("CR"),
    "TAN-CL, greedy": greedy("CL"),
    "TAN-MM, greedy": greedy("MM"),
}

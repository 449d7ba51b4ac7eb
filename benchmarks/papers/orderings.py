"""Order-based search by many orders of the same rows, k = 1: all tables are made once, and a pass is one plain loop.

``OrderBased`` is made for one order of many features. Here there are a thousand orders of few; ``Orders.run`` does the
same (``check`` says so) without its bounds and its trace.
"""

from __future__ import annotations

import numba
import numpy as np
from protocol import Part

from discbayes.engine import Context
from discbayes.kernels.objective import TIE
from discbayes.network import Structure
from discbayes.scores.sample import SampleScore
from discbayes.scores.scored import ScoredNetwork
from discbayes.search import OrderBased


class Orders:
    """The rows of a part under a score, "cr" or "cl", by resubstitution."""

    def __init__(self, part: Part, score: str):
        self.part, self.score = part, score
        data, naive = part.data, Structure.naive(part.data.n_features)
        self._network = ScoredNetwork(data, SampleScore(score).checked(), naive, np.random.default_rng(0), 1)
        n = data.n_features
        made = [self._network.maker.extend(family, np.arange(n)) for family in self._network.families]
        begin = np.concatenate([[0], np.cumsum([one.tables.size for one in made])])
        self._starts = np.array([one.starts[:n] + first for one, first in zip(made, begin, strict=False)]).T.copy()
        self._tables = np.concatenate([one.tables for one in made])
        self._codes = np.ascontiguousarray(data.codes, np.int64)

    def run(self, order: np.ndarray) -> tuple[Structure, float]:
        """The structure that an order leads to, and its score on the training rows: a rate, or a sum."""
        network = self._network
        log_joint, parent = network.log_joint.copy(), np.full(order.size, -1)
        total = pass_over(
            self.score == "cr", np.asarray(order, np.int64), self._codes, network.rows.cards, self.part.data.classes,
            self._starts, self._tables, log_joint, network.tolerance, parent,
        )  # fmt: skip
        return Structure(tuple((int(p),) if p >= 0 else () for p in parent)), network.reported(float(total))

    def named(self, order: str) -> tuple[Structure, float]:
        """The same for an order of the library, "omi" or "min-mi", by the library's search."""
        context = Context(n_jobs=1)
        structure = OrderBased(order, self.score).learn(self.part.data, self.part.counts, context)
        return structure, context.history[-1]["score"]

    def check(self, order: np.ndarray) -> None:
        """Fail if the library's search by this order has another result."""
        ours, value = self.run(order)
        context = Context(n_jobs=1)
        theirs = OrderBased(order.tolist(), self.score).learn(self.part.data, self.part.counts, context)
        assert ours == theirs, "the plain pass and OrderBased find different parents"
        assert np.isclose(value, context.history[-1]["score"], rtol=1e-9), "different scores of the same structure"


@numba.njit(nogil=True, cache=True)
def value_of(rate, row, c):
    """What a row of true class ``c`` is worth: whether it is right, ties to the first class, or log P(c|x)."""
    top = row[c]
    for k in range(row.size):
        top = max(top, row[k])
        if rate and ((k < c and row[c] <= row[k] + TIE) or (k > c and row[c] < row[k] - TIE)):
            return 0.0
    if rate:
        return 1.0
    total = 0.0
    for k in range(row.size):
        total += np.exp(row[k] - top)
    return row[c] - top - np.log(total)


@numba.njit(nogil=True, cache=True)
def pass_over(rate, order, codes, cards, y, starts, tables, log_joint, tolerance, parent):
    """Give each feature the earlier one that improves the score most; fills ``parent``, returns the score."""
    n_rows, n_classes = log_joint.shape
    row, gains, now = np.empty(n_classes), np.empty(order.size), 0.0
    for m in range(n_rows):
        now += value_of(rate, log_joint[m], y[m])
    for place in range(1, order.size):
        child = order[place]
        if cards[child] == 1:
            continue
        earlier = np.sort(order[:place])
        for k in range(place):
            p, total = earlier[k], 0.0
            gains[k] = -np.inf
            if cards[p] == 1:
                continue
            for m in range(n_rows):
                at = starts[p, child] + (codes[p, m] * cards[child] + codes[child, m]) * n_classes
                for c in range(n_classes):
                    row[c] = log_joint[m, c] + tables[at + c]
                total += value_of(rate, row, y[m])
            gains[k] = total - now
        best = gains[:place].max()
        if best <= tolerance:
            continue
        k = np.flatnonzero(gains[:place] >= best - tolerance)[0]
        p, now = earlier[k], now + gains[k]
        parent[child] = p
        for m in range(n_rows):
            at = starts[p, child] + (codes[p, m] * cards[child] + codes[child, m]) * n_classes
            for c in range(n_classes):
                log_joint[m, c] += tables[at + c]
    return now

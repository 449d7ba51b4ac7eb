"""What the experiments of P10 on orders and its figures share: a search by many orders of the same
rows, and curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import p_text, paired_t
from discbayes.inference import InferenceOptions, log_joint
from discbayes.network import CPTs, Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring import Candidates as Candidates
from discbayes.scoring import CountingScorer
from discbayes.scoring import SearchCost as Counted
from discbayes_papers.p10.shared import n_folds
from discbayes_papers.parts import Part, load_part


class Orders:
    """Order-based search with one parent at most by orders that are given, for many orders of the
    same rows.

    It finds what ``OrderBased`` finds; tables of families are made once and kept, and so are the
    answers.

    Parameters
    ----------
    part : Part
        Its training rows are scored.
    score : str
        "cr" or "cl", by resubstitution.
    """

    def __init__(self, part: Part, score: str):
        self._naive = Structure.naive(part.data.n_features)
        self._varying = part.data.cards > 1
        checked = SampleScore(score).checked()
        self._network = CountingScorer(part.data, checked, self._naive, np.random.default_rng(0), 1)
        self._known: dict[tuple[int, ...], tuple[Structure, float]] = {}

    def run(self, order: np.ndarray) -> tuple[Structure, float]:
        """The structure that an order leads to, and its score on the training rows: a rate, or a
        sum.
        """
        varying = order[self._varying[order]]  # features of one value take part in nothing
        key = tuple(varying.tolist())
        if key not in self._known:
            self._known[key] = self._search(varying)
        return self._known[key]

    def _search(self, order: np.ndarray) -> tuple[Structure, float]:
        self._network.reset(self._naive)
        for place in range(1, order.size):
            self._choose(int(order[place]), np.sort(order[:place]))
        return self._network.structure, self._network.reported()

    def _choose(self, child: int, earlier: np.ndarray) -> None:
        """Give a feature the earlier one that improves the score most, if one does."""
        network = self._network
        found = network.best([Candidates(child, earlier)], network.tolerance, Counted())
        if found is not None:
            network.set_parents(child, found.joining)


def random_orders(n_features: int, n_orders: int, seed: int = 0) -> list[np.ndarray]:
    """Orders of so many features, always the same ones for a seed."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(n_features) for _ in range(n_orders)]


def parts_of(data: str, seed: int = 0) -> Iterator[Part]:
    """A data set in each of its splits; another seed is another draw of the folds."""
    return (load_part(data, fold, seed) for fold in range(n_folds(data)))


def n_right(tables: CPTs, codes: np.ndarray, y: np.ndarray) -> int:
    """How many rows, given as codes, are put into their class; missing features are summed out."""
    return int((log_joint(tables, codes, InferenceOptions(n_jobs=1)).argmax(axis=1) == y).sum())


# ---- pages


def sizes_of(store: Store, usual: Sequence[int]) -> list[int]:
    """The numbers at the end of the names of the data that are stored; the usual ones if there are
    none.
    """
    found = {int(name.rpartition("-")[2]) for name in store.data()}
    return sorted(found or usual)


def difference_text(
    a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray, digits: int
) -> str:
    """The mean difference of two methods, and p of the one-sided paired t-test in its direction.

    >>> difference_text([3.0, 4.0, 6.0], [2.0, 3.0, 4.0], 2), difference_text([3.0], [2.0], 2)
    ('+1.33 (0.029)', '–')
    """
    if len(a) < 2:
        return "–"
    test = paired_t(a, b)
    return f"{test.difference:+.{digits}f} ({p_text(min(test.p, 1 - test.p))})"

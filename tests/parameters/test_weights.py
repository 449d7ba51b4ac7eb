"""Weights on generative log θ (Z17 5.4, Eq. 15-21) with cells unseen in training, against the
formula.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from coded import domain_of
from discbayes.counts import count, count_families
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.engine import Context, Threads
from discbayes.network import Layout, Structure
from discbayes.objectives import ConditionalLikelihood
from discbayes.parameters import MaximumAPosteriori, WeightedCCBN
from discbayes.parameters.fits import seen_cells
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Weights
from discbayes.parameters.problem import Penalty, Problem

CARDS, N_CLASSES = (2, 2, 3), 2
CHAIN = Structure(((), (0,), (1,)))
LEVELS = (1, 2, 3, 4)
STARTS = ("zeros", "generative")
PENALTIES = ({}, {"penalty": 1.0}, {"penalty": 1.0, "towards": "generative"})
TIGHT = {"backoff": False, "tol": 1e-15, "max_iter": 5000}


def rows_with_unseen_cells(n_rows: int = 120) -> Encoded:
    """A chain of columns: the second is never 0 where the first is 1, and the third is never 2."""
    rng = np.random.default_rng(0)
    a = np.repeat([0, 1], n_rows // 2)
    b = np.where(a == 1, 1, rng.integers(2, size=n_rows))
    c = np.where(rng.random(n_rows) < 0.4, b, rng.integers(2, size=n_rows))
    y = (rng.random(n_rows) < 0.3 + 0.2 * a + 0.15 * c).astype(np.int32)
    return Encoded(np.array([a, b, c], np.uint8), domain_of(CARDS, N_CLASSES), y)


def learned(data, **settings):
    return WeightedCCBN(**settings).learn(data, count(data), CHAIN, Context())


class Formula:
    """Z17 Eq. 15, a cell at a time: log θ by m-estimates, and which weight each cell has by its
    level.
    """

    def __init__(self, data: Encoded, level: int):
        self.codes, self.y = data.codes.T.astype(int), data.y
        self.level = level
        self.cells = [*product(["class"], range(N_CLASSES))]
        for i, parents in enumerate(CHAIN.parents):
            values = [range(CARDS[p]) for p in parents]
            self.cells += [
                (i, *cell) for cell in product(*values, range(CARDS[i]), range(N_CLASSES))
            ]
        self.keys = list(dict.fromkeys(map(self.key, self.cells)))
        self.design = np.zeros((len(self.y), N_CLASSES, len(self.keys)))
        for m, c in product(range(len(self.y)), range(N_CLASSES)):
            for cell in self.cells_of(self.codes[m], c):
                self.design[m, c, self.keys.index(self.key(cell))] += self.log_theta(cell)

    def key(self, cell):
        """What has a weight of its own."""
        name, *rest = cell
        if name == "class" and self.level > 1:
            return cell
        return {1: (name,), 2: (name, *rest[-2:-1]), 3: (name, *rest[-2:]), 4: cell}[self.level]

    def cells_of(self, codes, c):
        families = [
            (i, *(codes[p] for p in group), codes[i], c) for i, group in enumerate(CHAIN.parents)
        ]
        return [("class", c), *families]

    def log_theta(self, cell):
        """The m-estimate with m = 1."""
        name, *rest = cell
        if name == "class":
            return np.log((np.sum(self.y == rest[0]) + 1 / N_CLASSES) / (len(self.y) + 1))
        *parents, value, c = rest
        rows = self.y == c
        for p, wanted in zip(CHAIN.parents[name], parents, strict=True):
            rows = rows & (self.codes[:, p] == wanted)
        hits = np.sum(rows & (self.codes[:, name] == value))
        return np.log((hits + 1 / CARDS[name]) / (rows.sum() + 1))

    def solve(self, start, penalty=0.0, towards="zero"):
        """The weights at the optimum, by SciPy, from where the fit starts."""
        centre = np.full(len(self.keys), 1.0 if towards == "generative" else 0.0)
        strength = np.full(len(self.keys), penalty)
        if towards == "zero":
            strength[[key[0] == "class" for key in self.keys]] = 0.0

        def loss(w):
            scores = self.design @ w
            total = logsumexp(scores, axis=1)
            picked = self.design[np.arange(len(self.y)), self.y]
            expected = (np.exp(scores - total[:, None])[:, :, None] * self.design).sum(axis=1)
            value = np.sum(total - picked @ w) + 0.5 * np.sum(strength * (w - centre) ** 2)
            return value, (expected - picked).sum(axis=0) + strength * (w - centre)

        begin = np.full(len(self.keys), 1.0 if start == "generative" else 0.0)
        found = minimize(
            loss, begin, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
        )
        assert np.abs(loss(found.x)[1]).max() < 1e-6
        return found.x

    def log_tables(self, w):
        """Log P(c) and log θ to the power of their weights, in the order of the cells."""
        return np.array(
            [w[self.keys.index(self.key(cell))] * self.log_theta(cell) for cell in self.cells]
        )

    def posterior(self, numbers):
        """P(c | x) for every combination of values, seen or not."""
        place = {cell: numbers[k] for k, cell in enumerate(self.cells)}
        every = list(product(*map(range, CARDS)))
        scores = np.array(
            [[sum(map(place.get, self.cells_of(x, c))) for c in range(N_CLASSES)] for x in every]
        )
        return np.exp(scores - logsumexp(scores, axis=1, keepdims=True))


@pytest.mark.parametrize("options", PENALTIES, ids=str)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("level", LEVELS)
def test_weights_are_those_of_the_formula_for_seen_and_unseen_cells(level, start, options):
    data = rows_with_unseen_cells()
    formula = Formula(data, level)
    tables = learned(data, level=level, start=start, **options, **TIGHT)
    ours = np.concatenate([tables.log_prior, tables.log_theta])
    theirs = formula.log_tables(formula.solve(start, **options))
    np.testing.assert_allclose(formula.posterior(ours), formula.posterior(theirs), atol=2e-6)
    if options:  # otherwise what is the same for all classes is not determined
        np.testing.assert_allclose(ours[N_CLASSES:], theirs[N_CLASSES:], atol=1e-5)


@pytest.mark.parametrize("options", PENALTIES, ids=str)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("level", LEVELS)
def test_an_unseen_cell_has_the_weight_it_shares_or_that_of_the_start_or_the_centre(
    level, start, options
):
    data = rows_with_unseen_cells()
    tables = learned(data, level=level, start=start, **options, **TIGHT)
    formula = Formula(data, level)
    ours = np.concatenate([tables.log_prior, tables.log_theta])
    weight = {cell: ours[k] / formula.log_theta(cell) for k, cell in enumerate(formula.cells)}
    place = options.get("towards", "zero") if options else start
    untouched = 1.0 if place == "generative" else 0.0
    for c in range(N_CLASSES):
        never, seen = weight[1, 1, 0, c], weight[1, 0, 0, c]  # P(b = 0 | a, c) for a = 1 and a = 0
        assert never == pytest.approx(seen if level < 4 else untouched, abs=1e-12)
        for b in range(2):  # no row has the third value of the last column
            assert weight[2, b, 2, c] == pytest.approx(
                weight[2, b, 0, c] if level == 1 else untouched, abs=1e-12
            )


@pytest.mark.parametrize("level", LEVELS)
def test_gradients_equal_differences_where_cells_are_unseen(level):
    data, rng = rows_with_unseen_cells(30), np.random.default_rng(level)
    families = count_families(data, Layout(CHAIN, data.cards, N_CLASSES), count(data))
    seen, generative = seen_cells(data, families), MaximumAPosteriori("m", 1.0).tables(families)
    assert not seen.all()
    weights = Weights(families.layout, seen, generative, generative, level)
    free = rng.normal(size=weights.size)
    penalty = Penalty(0.7, rng.normal(size=free.size), weights.repeats, weights.n_prior)
    problem = Problem(
        ConditionalLikelihood(), LogScores(data, families.layout, False), weights, penalty=penalty
    )
    steps = 1e-5 * np.eye(weights.size)
    rises = [(problem.loss(free + step)[0] - problem.loss(free - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(problem.loss(free)[1], rises, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("level", LEVELS)
def test_weights_of_blocks_are_those_of_the_table(level):
    data = rows_with_unseen_cells()
    options = {"level": level, "penalty": 1.0, "towards": "generative", **TIGHT}
    blocks = RowBlocks(RowsInMemory(data, size=17), Threads(3))
    np.testing.assert_allclose(
        learned(blocks, **options).log_theta, learned(data, **options).log_theta, atol=1e-7
    )


@pytest.mark.parametrize("level", LEVELS)
def test_tables_that_were_backed_off_are_a_start_with_their_own_weights(level):
    data = rows_with_unseen_cells()
    plain = learned(data, level=level, **TIGHT)
    backed = learned(data, level=level, **{**TIGHT, "backoff": True})
    assert np.abs(plain.log_theta - backed.log_theta).max() > 0.01
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        again = learned(data, level=level, start=backed, backoff=False, max_iter=0)
    seen = seen_cells(data, count_families(data, plain.layout, count(data)))
    np.testing.assert_allclose(again.log_theta[seen], plain.log_theta[seen], atol=1e-12)
    if level == 1:
        np.testing.assert_allclose(again.log_theta, plain.log_theta, atol=1e-12)

"""Learners on rows with columns of two resolutions: parents count by their states."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from discbayes import (
    DFE,
    ConditionalLikelihood,
    MaximumAPosteriori,
    MaximumLikelihood,
    WeightedCCBN,
)
from discbayes.counts import SufficientStatistics, count, count_families
from discbayes.data import Domain, Encoded, Variable
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Layout, Structure
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Numbers
from discbayes.parameters.problem import _value_and_gradient

STRUCTURES = [
    Structure(((), (0,), (1,), (1,))),
    Structure(((), (0,), (0, 1), (2, 1)), (True, False, True, True)),
]


def make_rows(seed, n_rows=200, missing=0.0, weighted=False):
    rng = np.random.default_rng(seed)
    features = (
        Variable("a", "numeric", cuts=(1.0, 2.0, 3.0, 4.0), coarse_cuts=(2.0,)),
        Variable("b", "numeric", cuts=(1.0, 2.0, 3.0), coarse_cuts=()),
        Variable("c", "categorical", ("x", "y", "z"), groups=(0, 1, 0)),
        Variable("d", "numeric", cuts=(1.0, 2.0), coarse_cuts=(1.0,)),
    )
    domain = Domain(features, Variable("y", "categorical", ("no", "perhaps", "yes")))
    codes = (rng.random((4, n_rows)) * domain.cards[:, None]).astype(np.uint8)
    hidden = rng.random(codes.shape) < missing
    codes = np.where(hidden, domain.cards[:, None], codes).astype(np.uint8)
    weight = rng.integers(1, 4, n_rows).astype(float) if weighted else None
    return Encoded(codes, domain, rng.integers(0, 3, n_rows), weight)


def plain_counts(data, layout):
    """Counts of families, row by row."""
    cells = np.zeros(layout.size)
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    for row, c, w in zip(data.codes.T, data.classes, weight, strict=True):
        for i, parents in enumerate(layout.structure.parents):
            if all(row[j] < data.cards[j] for j in (i, *parents)):
                states = tuple(layout.states_of(p)[row[p]] for p in parents)
                layout.table(cells, i)[(*states, row[i], c)] += w
    return cells


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_families(structure, weighted):
    data = make_rows(0, missing=0.2, weighted=weighted)
    layout = Layout.of(structure, data)
    expected = plain_counts(data, layout)
    np.testing.assert_array_equal(count_families(data, layout, count(data)).cells, expected)
    stored = SufficientStatistics.of_families(data, structure)
    np.testing.assert_array_equal((stored + stored).families_of(layout).cells, 2 * expected)
    if structure.is_forest:
        pairs = SufficientStatistics.of_pairs(data)
        np.testing.assert_array_equal(pairs.families_of(layout).cells, expected)


def test_counts_move_to_a_larger_domain():
    data, structure = make_rows(1), Structure(((2,), (0,), (), (0, 2)))
    before = SufficientStatistics.of_families(data, structure)
    *others, _, last = data.domain.features
    values = Variable("c", "categorical", ("w", "x", "y", "z"), groups=(0, 1, 2, 1))
    grown = before.grown(Domain((*others, values, last), data.domain.target))
    codes = data.codes.copy()
    codes[2] += 1
    later = Encoded(codes, grown.domain, data.classes)
    layout = Layout.of(structure, later)
    np.testing.assert_array_equal(grown.families.cells, plain_counts(later, layout))


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(
    "learner",
    [
        MaximumLikelihood(),
        MaximumAPosteriori(),
        DFE(),
        WeightedCCBN(),
    ],
    ids=repr,
)
def test_tables_are_by_state(structure, learner):
    data = make_rows(2)
    found = learner.learn(data, count(data), structure, Context())
    assert found.layout.has_states(data.domain.states)
    if isinstance(learner, MaximumLikelihood):
        expected = plain_counts(data, found.layout)
        expected = found.layout.pool_columns(expected)
        total = found.layout.row_totals(expected)
        theta = np.exp(found.log_theta)
        np.testing.assert_allclose(theta[total > 0], (expected / np.maximum(total, 1))[total > 0])


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_gradient_of_the_log_posterior(structure, missing):
    data, rng = make_rows(3, 80, missing, True), np.random.default_rng(4)
    tables = oracle.random_tables(
        rng, structure, data.domain.cards, 3, False, False, data.domain.states
    )
    scores = LogScores(data, tables.layout, False, None)

    def evaluate(log_theta):
        numbers = Numbers(tables.log_prior, log_theta)
        return scores.sum(_value_and_gradient, (ConditionalLikelihood(), numbers), None)

    def direct(log_theta):
        rows = log_joint(type(tables)(tables.layout, tables.log_prior, log_theta), data.codes)
        own = rows[np.arange(data.n_samples), data.classes]
        return float((data.weight * (own - np.logaddexp.reduce(rows, axis=1))).sum())

    value, gradient = evaluate(tables.log_theta)
    assert abs(value - direct(tables.log_theta)) < 1e-9
    for cell in rng.choice(tables.layout.size, 25, replace=False):
        step = np.zeros(tables.layout.size)
        step[cell] = 1e-5
        slope = (direct(tables.log_theta + step) - direct(tables.log_theta - step)) / 2e-5
        assert abs(slope - gradient.cells[cell]) < 1e-6


def test_em_raises_the_likelihood():
    data, structure = make_rows(5, missing=0.2), STRUCTURES[1]
    before = MaximumLikelihood().learn(data, count(data), structure, Context())
    after = MaximumLikelihood(missing="em").learn(data, count(data), structure, Context())
    own = np.arange(data.n_samples), data.classes
    totals = [log_joint(tables, data.codes)[own].sum() for tables in (before, after)]
    assert totals[1] > totals[0] + 1e-3

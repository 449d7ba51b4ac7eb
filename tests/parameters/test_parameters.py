"""Smoothed frequencies against the formulas of METHODS section 3, worked out by hand or written out
plainly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oracle
from coded import encoded
from discbayes.counts import FamilyCounts, count, count_families
from discbayes.data.domain import Domain, Encoded, Variable
from discbayes.engine import Context
from discbayes.network import Layout, Structure
from discbayes.parameters import PARAMETERS, MaximumAPosteriori, MaximumLikelihood

LEARNERS = [
    MaximumLikelihood(),
    MaximumLikelihood(epsilon=0.1),
    MaximumLikelihood(epsilon=0),
    MaximumAPosteriori(),
    MaximumAPosteriori("ess", 5.0),
    MaximumAPosteriori("dirichlet", 0.5),
    MaximumAPosteriori("m", 1.0),
    MaximumAPosteriori("m", 0.0),
]


def worked_example():
    """Two binary features, a -> b, two classes; weights of 2, 1 and 0.5; (a = 1, no) never
    occurs.
    """
    codes = np.array([[0, 0, 0, 1, 1, 0], [0, 0, 1, 2, 0, 2]], np.uint8)
    y = np.array([0, 0, 0, 1, 1, 1])
    weight = np.array([2.0, 1.0, 1.0, 0.5, 2.0, 1.0])
    features = (
        Variable("a", "categorical", ("u", "v")),
        Variable("b", "categorical", ("p", "q", "r")),
    )
    return Encoded(codes, Domain(features, Variable("y", "categorical", ("no", "yes"))), y, weight)


def learned(learner, structure=None, data=None):
    data = worked_example() if data is None else data
    structure = Structure(((), (0,))) if structure is None else structure
    return learner.learn(data, count(data), structure, Context())


def test_maximum_likelihood_by_hand():
    tables = learned(MaximumLikelihood(epsilon=0.01))
    np.testing.assert_allclose(np.exp(tables.log_prior), [4 / 7.5, 3.5 / 7.5], atol=1e-14)
    a = np.exp(tables.log_table(0))
    # zero becomes ε, then sum 1
    np.testing.assert_allclose(a[:, 0], [1 / 1.01, 0.01 / 1.01], atol=1e-14)
    np.testing.assert_allclose(a[:, 1], [1 / 3.5, 2.5 / 3.5], atol=1e-14)
    b = np.exp(tables.log_table(1))
    np.testing.assert_allclose(b[0, :, 0], np.array([0.75, 0.25, 0.01]) / 1.01, atol=1e-14)
    np.testing.assert_allclose(b[1, :, 0], [1 / 3] * 3, atol=1e-14)  # no data: uniform
    np.testing.assert_allclose(b[0, :, 1], np.array([0.01, 0.01, 1]) / 1.02, atol=1e-14)
    np.testing.assert_allclose(b[1, :, 1], np.array([0.8, 0.01, 0.2]) / 1.01, atol=1e-14)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PARAMETERS)
def test_rows_that_weigh_next_to_nothing(name):
    """As in a fold without the only row that counts: means over such rows must not overflow."""
    data = encoded(np.random.default_rng(0), [2, 3, 2], 2, 40, linked=True)
    data = replace(data, weight=np.full(40, 5e-324))
    tables = learned(PARAMETERS[name](), Structure(((), (0,), (1,))), data)
    assert np.isfinite(tables.log_theta).all()
    assert np.isfinite(tables.log_prior).all()


def test_without_a_floor_zeros_stay_impossible():
    tables = learned(MaximumLikelihood(epsilon=0))
    assert tables.log_table(0)[1, 0] == -np.inf
    assert tables.is_normalized


def test_the_default_floor_is_that_of_the_papers():
    a = np.exp(learned(PARAMETERS["ml"]()).log_table(0))
    np.testing.assert_allclose(a[1, 0], 1e-5 / (1 + 1e-5), rtol=1e-10)


def test_dirichlet_by_hand():
    tables = learned(MaximumAPosteriori("dirichlet", 0.5))
    np.testing.assert_allclose(np.exp(tables.log_prior), [4.5 / 8.5, 4 / 8.5], atol=1e-14)
    np.testing.assert_allclose(np.exp(tables.log_table(0))[:, 0], [4.5 / 5, 0.5 / 5], atol=1e-14)
    b = np.exp(tables.log_table(1))
    np.testing.assert_allclose(b[0, :, 0], np.array([3.5, 1.5, 0.5]) / 5.5, atol=1e-14)
    np.testing.assert_allclose(b[1, :, 0], [1 / 3] * 3, atol=1e-14)
    np.testing.assert_allclose(b[1, :, 1], np.array([2.5, 0.5, 1.0]) / 4, atol=1e-14)


def test_equivalent_sample_size_by_hand():
    """Eq. 4 of P13: α/(r · number of parent configurations), the class among the parents."""
    tables = learned(MaximumAPosteriori("ess", 2.0))
    np.testing.assert_allclose(np.exp(tables.log_prior), [5 / 9.5, 4.5 / 9.5], atol=1e-14)
    # 2/(2·2)
    np.testing.assert_allclose(np.exp(tables.log_table(0))[:, 0], [4.5 / 5, 0.5 / 5], atol=1e-14)
    b = np.exp(tables.log_table(1))  # 2/(3·4) = 1/6
    np.testing.assert_allclose(
        b[0, :, 0], np.array([3 + 1 / 6, 1 + 1 / 6, 1 / 6]) / 4.5, atol=1e-14
    )
    np.testing.assert_allclose(
        b[1, :, 1], np.array([2 + 1 / 6, 1 / 6, 0.5 + 1 / 6]) / 3, atol=1e-14
    )


def test_m_estimate_by_hand():
    tables = learned(MaximumAPosteriori("m", 1.0))
    np.testing.assert_allclose(np.exp(tables.log_prior), [4.5 / 8.5, 4 / 8.5], atol=1e-14)
    b = np.exp(tables.log_table(1))
    np.testing.assert_allclose(b[0, :, 0], np.array([3 + 1 / 3, 1 + 1 / 3, 1 / 3]) / 5, atol=1e-14)
    np.testing.assert_allclose(
        b[1, :, 1], np.array([2 + 1 / 3, 1 / 3, 0.5 + 1 / 3]) / 3.5, atol=1e-14
    )


@pytest.mark.parametrize(
    "learner, first, second",
    [
        (MaximumLikelihood(epsilon=0.01), [0.6, 0.2, 0.2], np.array([0.8, 0.01, 0.2]) / 1.01),
        # 2/(3·2): no class
        (MaximumAPosteriori("ess", 2.0), np.array([10, 4, 4]) / 18, np.array([14, 2, 5]) / 21),
        (MaximumAPosteriori("m", 1.0), np.array([10, 4, 4]) / 18, np.array([14, 2, 5]) / 21),
        (
            MaximumAPosteriori("dirichlet", 1.0),
            np.array([4, 2, 2]) / 8,
            np.array([3, 1, 1.5]) / 5.5,
        ),
    ],
)
def test_features_that_do_not_depend_on_the_class_pool_it(learner, first, second):
    tables = learned(learner, Structure(((), (0,)), (True, False)))
    b = np.exp(tables.log_table(1))
    for c in (0, 1):
        np.testing.assert_allclose(b[0, :, c], first, atol=1e-14)  # counts 3, 1, 1
        np.testing.assert_allclose(b[1, :, c], second, atol=1e-14)  # counts 2, 0, 0.5


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_every_distribution_sums_to_one(seed, learner):
    rng = np.random.default_rng(seed)
    n_classes = [1, 2, 3, 4][seed]
    data = encoded(rng, [1, 2, 4, 3, 2], n_classes, 25, gaps=0.3, weighted=seed % 2 == 1)
    data.codes[1] = 2  # never observed
    data.y[:] = np.minimum(data.y, max(0, n_classes - 2))  # the last class has no row
    tables = learned(learner, oracle.random_structure(rng, 5), data)
    assert tables.is_normalized
    assert np.exp(tables.log_prior).sum() == pytest.approx(1.0, abs=1e-12)
    for i in range(5):
        np.testing.assert_allclose(
            np.exp(tables.log_table(i)).sum(axis=-2), 1.0, rtol=0, atol=1e-12
        )
        if not tables.structure.class_children[i]:
            spread = np.ptp(np.exp(tables.log_table(i)), axis=-1)
            assert not spread.any()
    np.testing.assert_allclose(np.exp(tables.log_table(1)), 0.5, atol=1e-12)


def plain_formula(learner, counts, depends):
    """The table that a learner gives, from the counts of one family, written out for one row at a
    time.
    """
    if not depends:
        counts = np.repeat(counts.sum(axis=-1, keepdims=True), counts.shape[-1], axis=-1)
    out = np.empty(counts.shape)
    r = counts.shape[-2]
    rows = counts.size // r if depends else counts.size // r // counts.shape[-1]
    for row in np.ndindex(*counts.shape[:-2], counts.shape[-1]):
        n = counts[(*row[:-1], slice(None), row[-1])]
        if isinstance(learner, MaximumLikelihood):
            share = n / n.sum() if n.sum() > 0 else np.full(r, 1 / r)
            share = np.where(share == 0, learner.epsilon, share)
            value = share / share.sum()
        else:
            a = {
                "ess": learner.strength / (r * rows),
                "dirichlet": learner.strength,
                "m": learner.strength / r,
            }
            value = (n + a[learner.prior]) / (n.sum() + r * a[learner.prior])
        out[(*row[:-1], slice(None), row[-1])] = value
    return out


@pytest.mark.parametrize("learner", LEARNERS[:-1], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_tables_equal_the_formulas_row_by_row(seed, learner):
    rng = np.random.default_rng(seed)
    data = encoded(rng, [3, 2, 1, 4], 3, 40, gaps=0.2, weighted=True)
    structure = oracle.random_structure(rng, 4, max_parents=2)
    tables = learned(learner, structure, data)
    families = count_families(data, tables.layout, count(data))
    for i in range(4):
        expected = plain_formula(learner, families.table(i), structure.class_children[i])
        np.testing.assert_allclose(np.exp(tables.log_table(i)), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 7.0])
def test_equivalent_sample_sizes_are_consistent(alpha):
    """Eq. 7 of P13: the smoothed joint of a family, summed over the child, is the smoothed joint of
    its parents.
    """
    rng = np.random.default_rng(3)
    data = encoded(rng, [2, 3, 4], 3, 60)
    structure = Structure(((), (0,), (0, 1)))
    tables = learned(MaximumAPosteriori("ess", alpha), structure, data)
    families = count_families(data, tables.layout, count(data))

    def smoothed(i):
        table = families.table(i)
        return table + alpha / table.size

    np.testing.assert_allclose(smoothed(2).sum(axis=2), smoothed(1), rtol=1e-13)
    np.testing.assert_allclose(smoothed(1).sum(axis=1), smoothed(0), rtol=1e-13)
    np.testing.assert_allclose(
        smoothed(0).sum(axis=0), families.class_count + alpha / 3, rtol=1e-13
    )
    total = len(data.y) + alpha
    joint = np.exp(tables.log_prior)
    joint = np.exp(tables.log_table(0)) * joint
    joint = np.exp(tables.log_table(1)) * joint[:, None]
    joint = np.exp(tables.log_table(2)) * joint[:, :, None]
    # so the network has the counts as expectations
    np.testing.assert_allclose(joint * total, smoothed(2), rtol=1e-12)


@pytest.mark.parametrize(
    "learner, message",
    [
        (MaximumLikelihood(epsilon=-1e-9), "epsilon=-1e-09 must be at least 0 and below 1"),
        (MaximumLikelihood(epsilon=1.0), "epsilon=1.0"),
        (MaximumLikelihood(epsilon=float("nan")), "epsilon=nan"),
        (MaximumAPosteriori("laplace"), "prior='laplace' is not one of 'ess', 'dirichlet', 'm'"),
        (MaximumAPosteriori("ess", -1), "strength=-1 must be a number that is at least 0"),
        (MaximumAPosteriori("m", float("inf")), "strength=inf"),
        (MaximumAPosteriori("m", float("nan")), "strength=nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(learner, message):
    with pytest.raises(ValueError, match=message):
        learned(learner)


def test_learning_leaves_the_counts_alone():
    data = worked_example()
    layout = Layout(Structure(((), (0,)), (True, False)), data.cards, 2)
    families = count_families(data, layout, count(data))
    before = families.cells.copy()
    MaximumLikelihood().tables(families)
    MaximumAPosteriori().tables(families)
    np.testing.assert_array_equal(families.cells, before)


def test_no_data_at_all_gives_uniform_tables():
    layout = Layout(Structure(((), (0,))), np.array([2, 3]), 2)
    empty = FamilyCounts(layout, np.zeros(2), np.zeros(layout.size))
    for learner in (
        MaximumLikelihood(),
        MaximumAPosteriori(),
        MaximumAPosteriori("dirichlet", 0.0),
    ):
        tables = learner.tables(empty)
        np.testing.assert_allclose(np.exp(tables.log_prior), 0.5, atol=1e-14)
        np.testing.assert_allclose(np.exp(tables.log_table(1)), 1 / 3, atol=1e-14)

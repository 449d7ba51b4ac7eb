"""Networks with columns of two resolutions answer as the same network with one resolution does."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

import oracle
from discbayes.bayesnet import BayesNet
from discbayes.calibration import CalibratedPosterior, Temperature
from discbayes.data import Domain, Variable
from discbayes.data.value_groups import numbered
from discbayes.explanations.contributions import explain
from discbayes.explanations.counterfactuals import counterfactual
from discbayes.explanations.edge_strength import edge_strengths
from discbayes.explanations.relevance import relevance
from discbayes.explanations.single_row import one_row
from discbayes.explanations.value_of_information import value_of_information
from discbayes.io import read_bif
from discbayes.report.payload import network_payload

SEEDS = range(3 if numba.config.DISABLE_JIT else 20)


def random_domain(rng, n_features, n_classes):
    """Numeric columns and a category here and there, most of them with two resolutions."""
    features = []
    for k in range(n_features):
        name, card = "abcdefgh"[k], int(rng.integers(2, 6))
        if rng.random() < 0.3:
            values = tuple(f"{name}{v}" for v in range(card))
            groups = numbered(rng.integers(0, card, card))
            features.append(Variable(name, "categorical", values, groups=groups))
            continue
        cuts = tuple(float(cut) for cut in range(1, card))
        coarse = tuple(cut for cut in cuts if rng.random() < 0.5)
        missing = bool(rng.random() < 0.2)
        features.append(Variable(name, "numeric", (), cuts, missing, coarse_cuts=coarse))
    return Domain(tuple(features), Variable("y", "categorical", tuple(range(n_classes))))


def random_pair(seed, normalized=True, max_parents=2):
    """A network of two resolutions, the same with one, and the generator they came from."""
    rng = np.random.default_rng(seed)
    domain = random_domain(rng, 5, int(rng.integers(2, 4)))
    structure = oracle.random_structure(rng, 5, max_parents)
    tables = oracle.random_tables(
        rng, structure, domain.cards, domain.n_classes, normalized, False, domain.states
    )
    plain = tuple(replace(variable, coarse_cuts=None, groups=None) for variable in domain.features)
    return (
        BayesNet(domain, tables),
        BayesNet(Domain(plain, domain.target), oracle.one_resolution(tables)),
        rng,
    )


def random_rows(rng, domain, n_rows=8, missing=0.3):
    """Rows of numbers and labels, some values missing."""
    names = domain.names
    rows = []
    for _ in range(n_rows):
        row = {}
        for variable, name in zip(domain.features, names, strict=True):
            if rng.random() < missing:
                continue
            numeric = variable.kind == "numeric"
            row[name] = rng.uniform(0, 6) if numeric else variable.labels[rng.integers(0, 2)]
        rows.append(row)
    return rows


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_about_rows(seed, normalized):
    net, plain, rng = random_pair(seed, normalized)
    rows = random_rows(rng, net.domain)
    classes = rng.integers(0, net.domain.n_classes, len(rows))
    close = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(net.log_joint(rows), plain.log_joint(rows), **close)
    np.testing.assert_allclose(net.posterior(rows), plain.posterior(rows), **close)
    np.testing.assert_allclose(
        net.log_likelihood(rows, classes), plain.log_likelihood(rows, classes), **close
    )
    for how in ("each", "joint"):
        np.testing.assert_array_equal(
            np.asarray(net.fill(rows, how, library="pandas"), str),
            np.asarray(plain.fill(rows, how, library="pandas"), str),
        )
    drawn = net.fill(rows, "draw", random_state=0, library="pandas")
    assert drawn.shape == (len(rows), 5)
    asked, evidence = ["a", "y", "c"], {name: rows[0][name] for name in "be" if name in rows[0]}
    found, expected = (one.query(asked, evidence).probabilities for one in (net, plain))
    np.testing.assert_allclose(found, expected, **close)
    found, expected = net.most_probable(evidence), plain.most_probable(evidence)
    assert found[0] == expected[0]
    assert abs(found[1] - expected[1]) < 1e-10
    for codes in net.encode(rows).T[:, :, None]:
        expected = plain.missing_posteriors_of(codes)
        for i, shares in net.missing_posteriors_of(codes).items():
            np.testing.assert_allclose(shares, expected[i], **close)
    if normalized:
        np.testing.assert_array_equal(
            net.sample(50, random_state=1, library="pandas")[0],
            plain.sample(50, random_state=1, library="pandas")[0],
        )
        np.testing.assert_array_equal(net.novelty(rows, 100), plain.novelty(rows, 100))
    elif net.structure.is_moral:
        np.testing.assert_allclose(
            net.normalized().log_likelihood(rows), plain.log_likelihood(rows), **close
        )


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_explanations(seed, normalized):
    net, plain, rng = random_pair(100 + seed, normalized)
    n_classes = net.domain.n_classes
    calibration = Temperature(np.full(n_classes, 1 / n_classes), 1.7)
    mine, theirs = (
        CalibratedPosterior(one, np.arange(n_classes), calibration, None) for one in (net, plain)
    )
    rows = random_rows(rng, net.domain)
    codes = net.encode(rows)
    one, other = explain(mine, codes), explain(theirs, codes)
    np.testing.assert_allclose(one.base, other.base, atol=1e-10)
    np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-10)
    np.testing.assert_allclose(one.log_odds, other.log_odds, atol=1e-10)
    # of numbers that rounding alone keeps from zero the sign is open
    assert one.text().replace("−0.00", "+0.00") == other.text().replace("−0.00", "+0.00")
    np.testing.assert_allclose(
        relevance(mine, codes).mean, relevance(theirs, codes).mean, atol=1e-10
    )
    for m, row in enumerate(rows):
        x = codes[:, [m]]
        one, other = value_of_information(mine, x), value_of_information(theirs, x)
        assert one.names == other.names
        np.testing.assert_allclose(one.gain, other.gain, atol=1e-10)
        table = one_row(row, net.domain.names)
        one, other = counterfactual(mine, x, table), counterfactual(theirs, x, table)
        assert (one.changes, one.label_after) == (other.changes, other.label_after)
    one, other = edge_strengths(net), edge_strengths(plain)
    assert one.keys() == other.keys()
    for parent, child in one:
        # other parents are given by state in one network and by value in the other
        if set(net.structure.parents[child]) <= {parent}:
            assert abs(one[parent, child] - other[parent, child]) < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_contributions_and_gains_are_those_of_enumeration(seed):
    net, _, rng = random_pair(200 + seed, bool(seed % 2))
    n_classes, cards = net.domain.n_classes, net.domain.cards
    mine = CalibratedPosterior(net, np.arange(n_classes), None, None)
    codes = net.encode(random_rows(rng, net.domain, 3))
    joint = np.exp(oracle.full_log_joint(net.parameters))
    found = explain(mine, codes)
    for m, row in enumerate(codes.T):
        prefix = cards.copy()
        before = log_odds(oracle.selected(joint, cards, prefix))
        np.testing.assert_allclose(found.base, before, atol=1e-10)
        for i in net.structure.order:
            if row[i] < cards[i]:
                prefix[i] = row[i]
                after = log_odds(oracle.selected(joint, cards, prefix))
                np.testing.assert_allclose(
                    found.contributions[m, i], after - before, rtol=0, atol=1e-10
                )
                before = after
        information = value_of_information(mine, codes[:, [m]])
        part = oracle.selected(joint, cards, row)
        missing = np.flatnonzero(row >= cards).tolist()
        for name, gain in zip(information.names, information.gain, strict=True):
            axis = missing.index(net.domain.position(name))
            others = tuple(k for k in range(len(missing)) if k != axis)
            shares = part.sum(axis=others) / part.sum()
            independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
            assert abs(gain - (shares * np.log(shares / independent)).sum()) < 1e-10


def log_odds(part):
    """Log odds of each class against the others, given the joint of what agrees with a row."""
    of_class = part.reshape(-1, part.shape[-1]).sum(axis=0)
    return np.log(of_class) - np.log(of_class.sum() - of_class)


def test_tables_have_parents_by_coarse_intervals(tmp_path):
    size = Variable("size", "numeric", cuts=(1.0, 2.5, 4.0), coarse_cuts=(2.5,))
    color = Variable("color", "categorical", ("blue", "red"))
    domain = Domain((size, color), Variable("y", "categorical", ("no", "yes")))
    rng = np.random.default_rng(0)
    structure = oracle.Structure(((), (0,)))
    tables = oracle.random_tables(rng, structure, domain.cards, 2, states=domain.states)
    net = BayesNet(domain, tables)
    frame = net.tables("pandas")["color"]
    assert frame["size"].tolist() == ["< 2.5", ">= 2.5"] * 2
    assert net.n_parameters == 1 + 2 * 3 + 2 * 2
    net.to_bif(tmp_path / "net.bif")
    again = read_bif(tmp_path / "net.bif")
    codes = np.array([[0, 1, 2, 3, 4, 2], [0, 1, 1, 0, 1, 2]], np.uint8)
    assert again.domain == domain
    np.testing.assert_allclose(again.log_joint_of(codes), net.log_joint_of(codes), atol=1e-12)
    assert network_payload(net)["states"] == [[0, 0, 1, 1], None]


def test_tables_and_domain_must_have_the_same_states():
    size = Variable("size", "numeric", cuts=(1.0, 2.5, 4.0), coarse_cuts=(2.5,))
    domain = Domain((size,), Variable("y", "categorical", ("no", "yes")))
    rng = np.random.default_rng(0)
    structure = oracle.Structure(((),))
    for states in (None, (np.array([0, 1, 1, 1]),)):
        tables = oracle.random_tables(rng, structure, domain.cards, 2, states=states)
        with pytest.raises(ValueError, match="states"):
            BayesNet(domain, tables)

"""The reference solver against closed forms, grids, linear programs, support vector machines and
its own optimality.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from coded import domain_of, encoded
from discbayes.counts import count, count_families
from discbayes.data.domain import Encoded
from discbayes.inference import log_joint
from discbayes.network import Layout, Structure
from discbayes.parameters import MaximumAPosteriori
from discbayes.parameters.svm import reference
from discbayes.parameters.svm.reference import solve_likelihood_margin, solve_norm_margin

pytest.importorskip("cvxpy", reason="the reference solver is the extra `solver`")

NB = Structure.naive(4)
TAN = Structure(((), (0,), (0,), (2,)))
TWO_TREE = Structure(((), (0,), (0, 1), (0, 2)))
TIED = Structure(((), (0,), (0,), (2,)), (True, False, True, True))
STRUCTURES = {"nb": NB, "tan": TAN, "2-tree": TWO_TREE, "tied": TIED}
IMMORAL = Structure(((), (), (0, 1), ()))


def drawn(seed, n_rows=40, cards=(2, 3, 2, 3), n_classes=3, **options):
    return encoded(
        np.random.default_rng(seed), list(cards), n_classes, n_rows, linked=True, **options
    )


def set_up(data, structure, alpha=1.0):
    """The layout, the counts of P13 Eq. 4 and the tables that are relative frequencies of them."""
    layout = Layout(structure, data.cards, data.n_classes)
    families, learner = count_families(data, layout, count(data)), MaximumAPosteriori("ess", alpha)
    columns = np.where(structure.class_children, 1, data.n_classes)
    virtual = np.repeat(learner.virtual_counts(layout) / columns, np.diff(layout.offsets))
    counts = families.class_count + alpha / data.n_classes, families.cells + virtual
    return layout, counts, learner.tables(families)


def weights(data):
    return np.ones(data.n_samples) if data.weight is None else data.weight


def numbers_of(tables):
    return np.concatenate([tables.log_prior, tables.log_theta])


def chosen(layout, row, c):
    """φ(c, x): which of the classes and cells a row with class c is in."""
    found = np.zeros(layout.n_classes + layout.size)
    found[c] = 1.0
    for i, group in enumerate(layout.structure.parents):
        cell = (*(row[p] for p in group), row[i], c)
        found[
            layout.n_classes + layout.offsets[i] + np.ravel_multi_index(cell, layout.shapes[i])
        ] = 1.0
    return found


def plain_margins(data, layout):
    """φ(y, x) − φ(c, x) for every row and rival, and the rows."""
    pairs = [(m, c) for m in range(data.n_samples) for c in range(data.n_classes) if c != data.y[m]]
    rows = [data.codes[:, m].astype(int) for m in range(data.n_samples)]
    found = [chosen(layout, rows[m], data.y[m]) - chosen(layout, rows[m], c) for m, c in pairs]
    return np.array(found), np.array([m for m, _ in pairs])


def slack_of(tables, data, gamma):
    """Σ w·max(0, γ − log d), from the log-joint."""
    scores = log_joint(tables, data.codes)
    own = np.take_along_axis(scores, data.y[:, None].astype(int), axis=1)[:, 0]
    np.put_along_axis(scores, data.y[:, None].astype(int), -np.inf, axis=1)
    return float(weights(data) @ np.maximum(0.0, gamma - (own - scores.max(axis=1))))


def likelihood_value(tables, counts, data, lam, gamma):
    return -np.concatenate(counts) @ numbers_of(tables) + lam * slack_of(tables, data, gamma)


def sums_of(tables):
    return np.concatenate(
        [[np.exp(tables.log_prior).sum()], tables.layout.row_totals(np.exp(tables.log_theta))]
    )


# ---- problem (10)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_without_a_price_of_slacks_it_is_the_relative_frequencies(structure, n_classes):
    data = drawn(1, n_classes=n_classes, weighted=True)
    layout, counts, frequencies = set_up(data, STRUCTURES[structure])
    found = solve_likelihood_margin(data, layout, *counts, lam=0.0)
    np.testing.assert_allclose(
        np.exp(numbers_of(found.tables)), np.exp(numbers_of(frequencies)), atol=1e-6
    )
    assert found.slack == pytest.approx(slack_of(frequencies, data, 1.0), abs=1e-4)
    assert found.status == "optimal"


@pytest.mark.parametrize("lam, gamma", [(0.25, 1.0), (4.0, 5.0), (256.0, 0.1), (64.0, 20.0)])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_solution_keeps_the_constraints_and_has_the_value_that_it_says(structure, lam, gamma):
    data = drawn(2, weighted=True)
    layout, counts, _ = set_up(data, STRUCTURES[structure])
    found = solve_likelihood_margin(data, layout, *counts, lam, gamma)
    assert sums_of(found.tables).max() <= 1 + 1e-12
    assert found.slack == pytest.approx(slack_of(found.tables, data, gamma), rel=1e-9, abs=1e-9)
    assert found.value == pytest.approx(
        likelihood_value(found.tables, counts, data, lam, gamma), rel=1e-12
    )
    assert -1e-12 <= (found.value - found.bound) / found.value < 1e-7
    assert found.status == "optimal"
    for i, depends in enumerate(layout.structure.class_children):
        if not depends:
            assert np.ptp(found.tables.log_table(i), axis=-1).max() == 0


@pytest.mark.parametrize("lam, gamma", [(1.0, 1.0), (16.0, 5.0)])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_change_that_keeps_the_constraints_lowers_the_value(structure, lam, gamma):
    rng = np.random.default_rng(3)
    data = drawn(4, weighted=True)
    layout, counts, _ = set_up(data, STRUCTURES[structure])
    found = solve_likelihood_margin(data, layout, *counts, lam, gamma)
    shared = np.repeat(layout.structure.class_children, np.diff(layout.offsets))
    for size in (1e-4, 1e-2, 0.3, 2.0):
        for _ in range(20):
            way = rng.normal(scale=size, size=layout.size)
            way = np.where(
                shared,
                way,
                way.reshape(-1, layout.n_classes)[:, :1].repeat(layout.n_classes, 1).ravel(),
            )
            prior = found.tables.log_prior + rng.normal(scale=size, size=layout.n_classes)
            cells = found.tables.log_theta + way
            prior -= max(0.0, np.log(np.exp(prior).sum()))
            cells -= np.maximum(0.0, np.log(layout.row_totals(np.exp(cells))))
            near = type(found.tables)(layout, prior, cells)
            assert likelihood_value(near, counts, data, lam, gamma) >= found.bound
            assert likelihood_value(near, counts, data, lam, gamma) >= found.value * (1 - 1e-9)


@pytest.mark.parametrize("n_classes, lam, gamma", [(2, 2.0, 1.0), (3, 1.0, 1.0), (3, 16.0, 5.0)])
@pytest.mark.parametrize("structure", ["nb", "tan", "2-tree"])
def test_there_are_multipliers_that_prove_the_optimum(structure, n_classes, lam, gamma):
    """Karush, Kuhn and Tucker: n + Aᵀμ = V·exp ω, μ at its limit where there is slack, and 0 where
    there is room.
    """
    data = drawn(5, 30, n_classes=n_classes, weighted=True)
    layout, counts, _ = set_up(data, STRUCTURES[structure])
    found = solve_likelihood_margin(data, layout, *counts, lam, gamma)
    omega, n = numbers_of(found.tables), np.concatenate(counts)
    ahead, row = plain_margins(data, layout)
    short = gamma - ahead @ omega
    slack = np.zeros(data.n_samples)
    np.maximum.at(slack, row, short)
    idle = short < slack[row] - 1e-5
    price = lam * weights(data)
    # adds up the multipliers of each row
    same = np.array([row == m for m in range(data.n_samples)], float)
    totals = row_sums(layout)
    # unknowns: μ of the margins, V of the rows of tables, and the largest error, which is to be
    # least
    n_margins, n_totals = row.size, totals.shape[0]
    equations = np.hstack([ahead.T, -(totals * np.exp(omega)).T])
    error = np.ones((n.size, 1))
    limits = [(0, 0 if free else None) for free in idle] + [(0, None)] * (n_totals + 1)
    tight = slack > 1e-5
    result = linprog(
        np.eye(n_margins + n_totals + 1)[-1],
        A_ub=np.vstack([
            np.hstack([equations, -error]), np.hstack([-equations, -error]),
            np.hstack([same, np.zeros((same.shape[0], n_totals + 1))]),
        ]),
        b_ub=np.concatenate([-n, n, price]),
        A_eq=np.hstack([same[tight], np.zeros((tight.sum(), n_totals + 1))]),
        b_eq=price[tight],
        bounds=limits,
    )  # fmt: skip
    assert result.status == 0
    assert result.fun < 1e-4 * n.max()


def row_sums(layout):
    """A matrix that adds up P(c), and then each row of each table."""
    found = [np.concatenate([np.ones(layout.n_classes), np.zeros(layout.size)])]
    for i, shape in enumerate(layout.shapes):
        for row in np.ndindex(*shape[:-2]):
            for c in range(layout.n_classes):
                cells = np.zeros(layout.size)
                layout.table(cells, i)[(*row, slice(None), c)] = 1.0
                found.append(np.concatenate([np.zeros(layout.n_classes), cells]))
    return np.array(found)


def test_the_class_alone_against_a_fine_grid():
    data = Encoded(np.empty((0, 5), np.uint8), domain_of([], 2), np.array([0, 0, 0, 1, 1]), None)
    layout = Layout(Structure.naive(0), data.cards, 2)
    for lam, gamma in ((0.0, 1.0), (0.2, 1.0), (5.0, 0.5), (5.0, 4.0)):
        # log odds, with those of the corners among them
        odds = np.linspace(-2 * gamma, 2 * gamma, 100_001)
        p = 1 / (1 + np.exp(-odds))
        values = -3.5 * np.log(p) - 2.5 * np.log1p(-p)
        values += lam * (3 * np.maximum(0, gamma - odds) + 2 * np.maximum(0, gamma + odds))
        found = solve_likelihood_margin(data, layout, np.array([3.5, 2.5]), np.empty(0), lam, gamma)
        assert found.value == pytest.approx(values.min(), rel=1e-9)
        assert np.exp(found.tables.log_prior[0]) == pytest.approx(p[values.argmin()], abs=1e-4)


@pytest.mark.parametrize("lam, gamma", [(0.5, 1.0), (3.0, 2.0)])
def test_one_feature_against_grids_of_networks(lam, gamma):
    """The optimum is a normalised network (Theorem 2), so that ever finer grids over three log odds
    come near it.
    """
    codes, y = np.array([[0, 0, 0, 1, 1, 1, 1, 0]], np.uint8), np.array([0, 0, 0, 1, 1, 1, 0, 1])
    data = Encoded(codes, domain_of([2], 2), y, np.array([1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 0.5, 0.25]))
    layout, counts, _ = set_up(data, Structure.naive(1))
    found = solve_likelihood_margin(data, layout, *counts, lam, gamma)
    ahead, row = plain_margins(data, layout)
    centre, steps = np.zeros(3), np.array(np.meshgrid(*[np.linspace(-1, 1, 17)] * 3)).reshape(3, -1)
    for width in 6 * 0.7 ** np.arange(25):
        odds = centre[:, None] + width * steps
        log_no, log_yes = -np.logaddexp(0, odds), -np.logaddexp(0, -odds)
        numbers = np.stack([log_no[0], log_yes[0], log_no[1], log_no[2], log_yes[1], log_yes[2]])
        values = -np.concatenate(counts) @ numbers
        values += lam * (data.weight[row] @ np.maximum(0.0, gamma - ahead @ numbers))
        assert values.min() >= found.bound
        centre = odds[:, values.argmin()]
    assert values.min() == pytest.approx(found.value, rel=1e-5)
    np.testing.assert_allclose(
        np.exp(numbers[:, values.argmin()]), np.exp(numbers_of(found.tables)), atol=2e-3
    )
    np.testing.assert_allclose(sums_of(found.tables), 1.0, atol=1e-6)


@pytest.mark.parametrize("kind", range(3))
def test_every_attempt_finds_the_same(kind, monkeypatch):
    data = drawn(6)
    layout, counts, _ = set_up(data, TAN)
    best = solve_likelihood_margin(data, layout, *counts, 4.0, 2.0)
    attempts = reference._Likelihood(np.ones(1), np.zeros(1, int)).attempts
    assert len(attempts) == 3
    monkeypatch.setattr(reference._Likelihood, "attempts", (attempts[kind],))
    again = solve_likelihood_margin(data, layout, *counts, 4.0, 2.0)
    assert again.value == pytest.approx(best.value, rel=1e-7)
    np.testing.assert_allclose(
        np.exp(numbers_of(again.tables)), np.exp(numbers_of(best.tables)), atol=1e-3
    )


# ---- problem (9)


@pytest.mark.parametrize("lam, gamma", [(0.3, 1.0), (2.0, 1.0), (2.0, 3.0)])
@pytest.mark.parametrize("structure", ["nb", "tan"])
def test_squares_with_two_classes_are_a_support_vector_machine(structure, lam, gamma):
    """With d = ω₁ − ω₀ the least ½‖ω‖² is ¼‖d‖²: a machine over one-hot cells and a constant, with
    C = 2λ/γ.
    """
    data = drawn(7, 60, n_classes=2, weighted=True)
    data = data.take(data.weight > 0)
    layout = Layout(STRUCTURES[structure], data.cards, 2)
    found = solve_norm_margin(data, layout, None, None, lam, gamma)
    rows = [data.codes[:, m].astype(int) for m in range(data.n_samples)]
    features = np.array([chosen(layout, row, 1)[1::2] for row in rows])
    machine = LinearSVC(
        loss="hinge",
        C=2 * lam / gamma,
        fit_intercept=False,
        tol=1e-10,
        max_iter=1_000_000,
        random_state=0,
    )
    machine.fit(features, data.y, sample_weight=data.weight)
    d = gamma * machine.coef_[0]
    signs = np.where(data.y == 1, 1.0, -1.0)
    value = d @ d / 4 + lam * (data.weight @ np.maximum(0.0, gamma - signs * (features @ d)))
    assert found.value == pytest.approx(value, rel=1e-5)
    assert found.value <= value * (1 + 1e-9)
    omega = numbers_of(found.tables).reshape(-1, 2)
    np.testing.assert_allclose(omega[:, 0], -omega[:, 1], atol=1e-6)
    np.testing.assert_allclose(omega[:, 1] - omega[:, 0], d, atol=0.02 * gamma)


@pytest.mark.parametrize("norm", ["likelihood", "l1"])
@pytest.mark.parametrize("lam, gamma", [(0.5, 1.0), (4.0, 3.0)])
@pytest.mark.parametrize("structure", ["nb", "tan", "2-tree"])
def test_absolute_norms_are_linear_programs(structure, lam, gamma, norm):
    data = drawn(8, 30, weighted=True)
    layout, counts, _ = set_up(data, STRUCTURES[structure])
    found = solve_norm_margin(data, layout, *counts, lam, gamma, norm=norm)
    ahead, row = plain_margins(data, layout)
    n = np.concatenate(counts)
    if norm == "l1":
        n = np.ones_like(n)
    each = np.eye(data.n_samples)[row]  # ω as a difference of two positive vectors, then the slacks
    result = linprog(
        np.concatenate([n, n, lam * data.weight]),
        A_ub=-np.hstack([ahead, -ahead, each]),
        b_ub=np.full(row.size, -gamma),
    )
    assert found.value == pytest.approx(result.fun, rel=1e-7)
    assert found.value == pytest.approx(
        n @ np.abs(numbers_of(found.tables)) + lam * found.slack, rel=1e-12
    )
    assert found.slack == pytest.approx(slack_of(found.tables, data, gamma), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("structure", [*STRUCTURES.values(), IMMORAL], ids=[*STRUCTURES, "immoral"])
def test_squares_cost_what_they_should_and_no_change_lowers_the_value(structure):
    rng = np.random.default_rng(9)
    data = drawn(10)
    layout = Layout(structure, data.cards, data.n_classes)
    found = solve_norm_margin(data, layout, None, None, lam=1.5, gamma=2.0)
    omega = numbers_of(found.tables)
    ahead, row = plain_margins(data, layout)

    def value(numbers):
        slack = np.zeros(data.n_samples)
        np.maximum.at(slack, row, 2.0 - ahead @ numbers)
        return numbers @ numbers / 2 + 1.5 * slack.sum()

    assert found.value == pytest.approx(value(omega), rel=1e-12)
    assert found.bound == pytest.approx(found.value, rel=1e-8)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(20):
            assert value(omega + rng.normal(scale=size, size=omega.size)) >= found.bound
    for i, depends in enumerate(structure.class_children):
        if not depends:  # of no use to any margin
            assert np.abs(found.tables.log_table(i)).max() < 1e-6


def test_norms_without_a_price_are_zero():
    data = drawn(11)
    layout, counts, _ = set_up(data, TAN)
    for found in (
        solve_norm_margin(data, layout, None, None, 0.0, 3.0),
        solve_norm_margin(data, layout, *counts, 0.0, 3.0, "likelihood"),
    ):
        assert found.value == pytest.approx(0.0, abs=1e-9)
        assert found.slack == pytest.approx(3.0 * data.n_samples, rel=1e-6)


# ---- rows


def every_solution(data, structure):
    layout, counts, _ = set_up(data, structure)
    return (
        solve_likelihood_margin(data, layout, *counts, 3.0, 2.0),
        solve_norm_margin(data, layout, None, None, 3.0, 2.0),
        solve_norm_margin(data, layout, *counts, 3.0, 2.0, "likelihood"),
    )


def test_weights_are_repetitions():
    rng = np.random.default_rng(12)
    data = drawn(13, 25)
    times = rng.integers(0, 4, size=data.n_samples)
    weighted = Encoded(data.codes, data.domain, data.y, times.astype(float))
    repeated = data.take(rng.permutation(np.repeat(np.arange(data.n_samples), times)))
    for a, b in zip(every_solution(weighted, TAN), every_solution(repeated, TAN), strict=True):
        assert a.value == b.value
        assert a.slack == b.slack
        np.testing.assert_array_equal(numbers_of(a.tables), numbers_of(b.tables))


@pytest.mark.parametrize("case", ["one class", "no rows", "no weight"])
def test_without_margins_the_cost_alone_decides(case):
    data = drawn(14, 0 if case == "no rows" else 20, n_classes=1 if case == "one class" else 3)
    if case == "no weight":
        data = Encoded(data.codes, data.domain, data.y, np.zeros(data.n_samples))
    likelihood, squares, weighted = every_solution(data, TAN)
    frequencies = set_up(data, TAN)[2]
    np.testing.assert_allclose(numbers_of(likelihood.tables), numbers_of(frequencies), atol=1e-12)
    for found in (likelihood, squares, weighted):
        assert (found.slack, found.status) == (0.0, "optimal")
        assert found.value == found.bound
    assert squares.value == weighted.value == 0.0


def test_features_of_one_value_stay_normalised():
    data = drawn(15, 30, cards=(1, 3, 1, 2))
    layout, counts, _ = set_up(data, TAN)
    found = solve_likelihood_margin(data, layout, *counts, 8.0, 2.0)
    np.testing.assert_allclose(sums_of(found.tables), 1.0, atol=1e-5)


# ---- refusals


def refusal(data, structure, lam=1.0, gamma=1.0, solve=solve_likelihood_margin, **options):
    layout, counts, _ = set_up(data, structure)
    with pytest.raises(ValueError) as caught:
        solve(data, layout, *counts, lam, gamma, **options)
    return str(caught.value)


@pytest.mark.parametrize("solve", [solve_likelihood_margin, solve_norm_margin])
def test_settings_and_rows_that_are_refused(solve):
    assert "lam=-1.0 must be a number that is at least 0" in refusal(
        drawn(0), NB, -1.0, solve=solve
    )
    assert "lam=nan" in refusal(drawn(0), NB, np.nan, solve=solve)
    assert "gamma=0.0 must be a number above 0" in refusal(drawn(0), NB, gamma=0.0, solve=solve)
    data = drawn(0)
    data.codes[2, :3] = data.cards[2]
    message = refusal(data, NB, solve=solve)
    assert "values are missing in 'x2' (3)" in message
    assert 'missing="drop"' in message


def test_structures_that_are_not_c1_are_sent_to_the_scalable_solver():
    message = refusal(drawn(0), IMMORAL)
    assert "needs a C1 structure, and 'x2' has no covering parent" in message
    assert 'use the scalable solver, solver="auto"' in message
    covered = Structure(
        ((), (), (0, 1), ()), (True, True, False, True)
    )  # a child of the class needs one, others do not
    data = drawn(0)
    layout, counts, _ = set_up(data, covered)
    assert solve_likelihood_margin(data, layout, *counts, 1.0).status == "optimal"


def test_norms_that_are_refused():
    data = drawn(0)
    layout, _, _ = set_up(data, NB)
    assert "norm='l0' is not one of 'l2', 'l1', 'likelihood'" in refusal(
        data, NB, solve=solve_norm_margin, norm="l0"
    )
    with pytest.raises(ValueError, match='norm="likelihood" needs the counts'):
        solve_norm_margin(data, layout, None, None, 1.0, norm="likelihood")


def test_counts_that_are_refused():
    data = drawn(0)
    layout, (prior, cells), _ = set_up(data, NB)
    with pytest.raises(ValueError, match="there are 4 counts for 3 classes and 30 cells"):
        solve_likelihood_margin(data, layout, prior, np.ones(1), 1.0)
    with pytest.raises(ValueError, match=r"1 of the counts .* in the table of 'y': .* α > 0"):
        solve_likelihood_margin(data, layout, np.array([1.0, 0.0, 1.0]), cells, 1.0)
    cells[layout.offsets[2]] = 0.0
    cells[layout.offsets[3] + 1] = np.nan
    for solve, options in (
        (solve_likelihood_margin, {}),
        (solve_norm_margin, {"norm": "likelihood"}),
    ):
        with pytest.raises(
            ValueError,
            match="2 of the counts are not above zero, the first of them in the table of 'x2'",
        ):
            solve(data, layout, prior, cells, 1.0, **options)
    assert solve_norm_margin(data, layout, prior, cells, 1.0).status == "optimal"


def test_problems_that_are_too_large_are_refused():
    rng = np.random.default_rng(16)
    long = encoded(rng, [4] * 20, 3, 6000)
    message = refusal(long, Structure.naive(20))
    assert "12,000 margins over 243 parameters and so 504,000 non-zeros; above 500,000" in message
    assert 'Take fewer rows, or use the scalable solver, solver="auto"' in message
    wide = encoded(rng, [60, 60, 2], 10, 50)
    assert "and so 36,630 parameters; above 30,000" in refusal(wide, Structure(((), (0,), ())))
    both = encoded(rng, [30, 30, 2], 4, 1100)
    assert "and so 3,033 in the smaller of its dimensions; above 3,000" in refusal(
        both, Structure(((), (0,), ()))
    )


def test_a_missing_extra_is_named(monkeypatch):
    data = drawn(0)
    layout, counts, _ = set_up(data, NB)
    for module in ("cvxpy", "clarabel"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(
                ModuleNotFoundError, match=rf"{module}.*pip install 'discbayes\[solver\]'"
            ):
                solve_likelihood_margin(data, layout, *counts, 1.0)


def test_a_failing_solver_is_an_error(monkeypatch):
    monkeypatch.setitem(reference.SETTINGS, "max_iter", 1)
    data = drawn(0)
    layout, counts, _ = set_up(data, NB)
    with pytest.raises(RuntimeError, match="status 'user_limit' and then 'user_limit'"):
        solve_norm_margin(data, layout, *counts, 1.0)


def test_an_inaccurate_solution_warns_and_says_how_far_it_is(monkeypatch):
    data = drawn(0)
    layout, counts, _ = set_up(data, NB)
    best = solve_likelihood_margin(data, layout, *counts, 16.0, 5.0)
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        monkeypatch.setitem(reference.SETTINGS, name, 0.1)
    with pytest.warns(
        ConvergenceWarning, match=r"may be above the optimum by a share of \d\.\de-0\d"
    ):
        found = solve_likelihood_margin(data, layout, *counts, 16.0, 5.0)
    assert found.status == "optimal_inaccurate"
    assert found.bound <= best.value
    assert best.bound <= found.value

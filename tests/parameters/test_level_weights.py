"""Hierarchical smoothing and weights on its levels: brute-force recounts, numerical gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from coded import rows_of
from discbayes.counts import count
from discbayes.data import Domain, Encoded, Variable
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Structure
from discbayes.objectives import ConditionalLikelihood, Margin
from discbayes.parameters import HierarchicalSmoothing, LevelWeightedCCBN
from discbayes.parameters.level_weights import FittedWeights, LevelWeights, _PosteriorVariance
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.problem import Problem

# the second feature does not depend on the class
STRUCTURE = Structure(((), (0,), (0, 1), (2,)), (True, False, True, True))


def table(seed=0, n_rows=120, missing=0.0, weighted=False, n_classes=3):
    """Two numeric features, one of them with two resolutions, and two categorical ones."""
    rng = np.random.default_rng(seed)
    features = (
        Variable("a", "numeric", cuts=(1.0, 2.0, 3.0, 4.0, 5.0), coarse_cuts=(2.0, 4.0)),
        Variable("b", "categorical", ("r", "s", "t"), groups=(0, 1, 0)),
        Variable("c", "numeric", cuts=(1.0, 2.0, 3.0)),
        Variable("d", "boolean", (False, True)),
    )
    domain = Domain(features, Variable("class", "categorical", tuple("xyz"[:n_classes])))
    y = rng.integers(n_classes, size=n_rows)
    codes = np.array(
        [(rng.integers(card, size=n_rows) + y * rng.integers(2, size=n_rows)) % card
         for card in domain.cards], np.uint8,
    )  # fmt: skip
    codes[rng.random(codes.shape) < missing] = 255
    codes = np.minimum(codes, domain.cards[:, None]).astype(np.uint8)
    weight = rng.integers(1, 4, n_rows).astype(float) if weighted else None
    return Encoded(codes, domain, y, weight)


def nearness(variable, a, b):
    """How much the counts of a value of a parent count for another one, by its definition."""
    n_intervals = len(
        (variable.cuts if variable.coarse_cuts is None else variable.coarse_cuts) or ()
    )
    if a == b:
        return 1.0
    return float(np.exp(-0.5 * ((a - b) / 0.4) ** 2)) if n_intervals > 1 else 0.0


def plain_levels(data, feature, parents, spread, strengths, pooled=False):
    """p of each level by loops over rows: a dict from (values of the parents, class) to arrays."""
    card = data.cards[feature]
    states = data.domain.states
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    below = np.full(card, 1.0 / card)
    for m in range(data.n_samples):
        if data.codes[feature, m] < card:
            below += weight[m] * spread[data.codes[feature, m]]
    below /= below.sum()
    found = {}

    def counted(context, c, used):
        counts, total = np.zeros(card), 0.0
        for m in range(data.n_samples):
            x = data.codes[feature, m]
            known = x < card and (pooled or data.y[m] == c)
            if used:  # above level 0, rows count in which the family is complete
                known = known and all(data.codes[p, m] < data.cards[p] for p in parents)
            if known:
                near = weight[m]
                for p, u in zip(used, context, strict=True):
                    near *= nearness(data.domain.features[p], states[p][data.codes[p, m]], u)
                counts += near * spread[x]
                total += near
        return counts, total

    contexts = [()]
    lower = {((), c): below for c in range(data.n_classes)}
    for level in range(len(parents) + 1):
        if level:
            n_states = states[parents[level - 1]].max() + 1
            contexts = [(*context, u) for context in contexts for u in range(n_states)]
        for context in contexts:
            for c in range(data.n_classes):
                counts, total = counted(context, c, parents[:level])
                base = lower[context[: max(level - 1, 0)], c]
                found[context, c] = (counts + strengths[level] * base) / (total + strengths[level])
        lower = dict(found)
    return found


def spreads(learner, data):
    counts = count(data)
    found = [learner._spread(data.domain, i, counts.feature(i)) for i in range(data.n_features)]
    return [np.eye(card) if s is None else s for s, card in zip(found, data.cards, strict=True)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_levels_are_those_of_a_recount(missing, weighted):
    data = table(missing=missing, weighted=weighted, n_rows=60)
    learner = HierarchicalSmoothing()
    levels = learner.levels(data, count(data), STRUCTURE)
    spread = spreads(learner, data)
    tables = levels.tables()
    for i, parents in enumerate(STRUCTURE.parents):
        pooled = not STRUCTURE.class_children[i]
        plain = plain_levels(data, i, parents, spread[i], levels.strengths[i], pooled)
        theta = np.exp(tables.log_table(i))
        for context in np.ndindex(theta.shape[:-2]):
            for c in range(data.n_classes):
                assert theta[context][:, c] == pytest.approx(plain[context, c], rel=1e-10)
    assert tables.is_normalized


def test_a_row_that_is_left_out_reads_the_counts_of_the_others():
    data = table(n_rows=40)
    structure = Structure(((), (0,), (0, 1), (2,)))
    learner = HierarchicalSmoothing()
    levels = learner.levels(data, count(data), structure)
    parameterization = LevelWeights(levels)
    numbers = parameterization.numbers(parameterization.start())
    cells = levels.own_cells(False).cells
    own = numbers.cells[levels.layout.size :][: cells.size]
    spread = spreads(learner, data)
    states = data.domain.states
    for m in range(0, 40, 7):
        rest = rows_of(data, [k for k in range(40) if k != m])
        for i, parents in enumerate(structure.parents):
            plain = plain_levels(rest, i, parents, spread[i], levels.strengths[i])
            context = tuple(int(states[p][data.codes[p, m]]) for p in parents)
            x, c = data.codes[i, m], data.y[m]
            cell = (*context, x, c)
            read = levels.layout.table(numbers.cells, i)[cell]
            at = levels.layout.offsets[i] + np.ravel_multi_index(cell, levels.layout.shapes[i])
            read += own[np.searchsorted(cells, at)]
            assert read == pytest.approx(np.log(plain[context, c][x]), rel=1e-10)


def test_counts_are_spread_over_near_intervals():
    data = table(n_rows=200)
    codes = data.codes.copy()
    codes[0, :120] = 0
    spread = spreads(HierarchicalSmoothing(), replace(data, codes=codes))[0]
    assert spread[0, 0] > 0.99  # an interval with many rows keeps its counts
    assert spread.sum(axis=1) == pytest.approx(np.ones(6))
    shares = np.bincount(codes[0], minlength=6) / 200
    rank = shares.cumsum() - shares / 2
    for a, b in ((3, 4), (1, 5)):
        apart = max(abs(a - b), 32 * abs(rank[a] - rank[b]))
        ratio = np.exp(-0.5 * (apart / 1.5) ** 2)
        assert spread[a, b] / spread[a, a] == pytest.approx(ratio, abs=1e-15)


def test_an_interval_without_rows_reads_those_beside_it():
    data = table(n_rows=200)
    codes = data.codes.copy()
    codes[0, :] = np.where(codes[0] < 4, 5, codes[0])  # the last of three coarse intervals
    codes[3, codes[1] == 0] = 1  # and r of b has one value of d
    data = replace(data, codes=codes)
    structure = Structure(((), (), (), (0, 1)))
    learner = HierarchicalSmoothing(strengths=[3.0])
    theta = np.exp(learner.levels(data, count(data), structure).tables().log_table(3))
    assert (theta[1, 0, 1] > theta[0, 0, 1]).all()  # the middle one is nearer than the first
    unsmoothed = HierarchicalSmoothing(strengths=[3.0], parent_bandwidth=0)
    theta = np.exp(unsmoothed.levels(data, count(data), structure).tables().log_table(3))
    assert theta[1, 0] == pytest.approx(theta[0, 0])


def test_the_strength_has_the_largest_leave_one_out_likelihood():
    data = table(n_rows=50)
    structure = Structure.naive(4)
    values = []
    for m in (3.0, 30.0, 300.0):
        learner = HierarchicalSmoothing(strengths=[m])
        levels = learner.levels(data, count(data), structure)
        spread = spreads(learner, data)
        total = 0.0
        for k in range(50):
            rest = rows_of(data, [r for r in range(50) if r != k])
            plain = plain_levels(rest, 2, (), spread[2], [m])
            total += np.log(plain[(), data.y[k]][data.codes[2, k]])
        values.append(total)
        assert levels.strengths[2] == [m]
    learner = HierarchicalSmoothing(strengths=[3.0, 30.0, 300.0])
    best = learner.levels(data, count(data), structure).strengths[2][0]
    assert best == (3.0, 30.0, 300.0)[int(np.argmax(values))]


def problem_of(data, structure, free, objective=None, leave_one_out=True, n_jobs=None):
    levels = HierarchicalSmoothing().levels(data, count(data), structure)
    parameterization = LevelWeights(levels, free, n_jobs)
    own = levels.own_cells(False) if leave_one_out else None
    scores = LogScores(data, levels.layout, True, n_jobs, own)
    return Problem(objective or ConditionalLikelihood(), scores, parameterization, n_jobs)


def random_point(problem, seed=1):
    rng = np.random.default_rng(seed)
    start = problem.parameterization.start()
    return start + 0.3 * rng.normal(size=start.size)


@pytest.mark.parametrize("objective", [ConditionalLikelihood(), Margin(0.5)], ids=["cl", "margin"])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_gradient_is_the_numerical_one(missing, free, objective):
    data = table(missing=missing, weighted=True, n_rows=70)
    problem = problem_of(data, STRUCTURE, free, objective)
    point = random_point(problem)
    _, gradient = problem.value_and_gradient(point)
    rng = np.random.default_rng(0)
    for k in rng.choice(point.size, min(point.size, 25), replace=False):
        step = np.zeros(point.size)
        step[k] = 1e-5
        slope = (problem.value(point + step) - problem.value(point - step)) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=2e-5, abs=1e-8)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("observed_only", [False, True])
def test_the_curvature_is_the_sum_over_rows_of_squared_slopes(observed_only, free):
    data = table(n_rows=40, weighted=True)
    levels = HierarchicalSmoothing().levels(data, count(data), STRUCTURE)
    weights = LevelWeights(levels, free, observed_only=observed_only)
    scores = LogScores(data, weights.configurations, True, own=levels.own_cells(observed_only))
    problem = Problem(_PosteriorVariance(), scores, weights)
    point = random_point(problem, seed=3)
    numbers = weights.numbers(point)
    found = weights.curvature(point, numbers, problem.total_and_slopes(numbers)[1])
    # rows read the tables leave-one-out, which changes their posterior, but not the slopes
    plain = LevelWeights(levels, free)

    def slopes(k):
        step = np.zeros(point.size)
        step[k] = 1e-5
        ends = [plain.tables(at) for at in (point + step, point - step)]
        return (log_joint(ends[0], data.codes) - log_joint(ends[1], data.codes)) / 2e-5

    read = log_joint(plain.tables(point), data.codes)
    cells = levels.own_cells(False).cells
    own = plain.numbers(point).cells[levels.layout.size :][: cells.size]
    for m in range(data.n_samples):
        for i, parents in enumerate(STRUCTURE.parents):
            context = tuple(int(data.domain.states[p][data.codes[p, m]]) for p in parents)
            cell = (*context, data.codes[i, m], data.y[m])
            at = levels.layout.offsets[i] + np.ravel_multi_index(cell, levels.layout.shapes[i])
            read[m, data.y[m]] += own[cells == at].sum()
    posterior = np.exp(read - logsumexp(read, axis=1, keepdims=True))
    variance = data.weight[:, None] * posterior * (1 - posterior)
    assert found[: weights.n_prior] == pytest.approx(variance.sum(axis=0), rel=1e-10)
    first = weights.n_prior + weights.n_shared  # shared weights have sums over features
    for k in np.random.default_rng(0).choice(np.arange(first, point.size), 25, replace=False):
        expected = (variance * slopes(k) ** 2).sum()
        assert found[k] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("free", [False, True])
def test_configurations_that_do_not_occur_change_nothing(free):
    data = table(n_rows=15, weighted=True)
    problem = problem_of(data, STRUCTURE, free)
    levels = problem.parameterization.levels
    assert not levels.observed.used.all()
    some = LevelWeights(levels, free, observed_only=True)
    scores = LogScores(data, some.configurations, True, own=levels.own_cells(True))
    quick = Problem(ConditionalLikelihood(), scores, some)
    point = random_point(quick)
    value, gradient = quick.value_and_gradient(point)
    expected, slopes = problem.value_and_gradient(point)
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient == pytest.approx(slopes, abs=1e-12)
    tables = [some.tables(point), problem.parameterization.tables(point)]
    assert np.array_equal(tables[0].log_theta, tables[1].log_theta)


def test_states_of_parents_values_have_free_cells_where_they_occur():
    data = table(n_rows=15)
    levels = HierarchicalSmoothing().levels(data, count(data), STRUCTURE)
    weights = LevelWeights(levels, True)
    seen = set()
    states = data.domain.states
    for i, parents in enumerate(STRUCTURE.parents):
        if STRUCTURE.class_children[i]:
            seen |= {
                (i, *(states[p][data.codes[p, m]] for p in parents), states[i][data.codes[i, m]])
                for m in range(data.n_samples)
            }
    seen |= {(*others, 1 - state) for *others, state in seen if others[0] == 3}  # two states
    assert weights.n_free == len(seen) * data.n_classes
    # a free cell changes the table of its feature in the values of its state, one after the other
    point = weights.start()
    before = weights.tables(point)
    changed = []
    for k in range(weights.size - weights.n_free, weights.size, data.n_classes):
        point[k] = 0.5
        moved = weights.tables(point).log_theta - before.log_theta
        (i,) = {np.searchsorted(levels.layout.offsets, at, "right") - 1
                for at in np.flatnonzero(moved)}  # fmt: skip
        values = levels.layout.table(moved, i)[..., 0]
        *line, value = np.unravel_index(np.argmax(values), values.shape)
        changed.append((i, *line, states[i][value]))
        point[k] = 0.0
    assert changed == sorted(seen)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("observed_only", [False, True])
def test_single_precision_changes_little(observed_only, free):
    data = table(n_rows=200, weighted=True)
    levels = HierarchicalSmoothing().levels(data, count(data), STRUCTURE)
    found = []
    for single in (False, True):
        weights = LevelWeights(levels, free, observed_only=observed_only, single=single)
        scores = LogScores(data, weights.configurations, True, own=levels.own_cells(observed_only))
        problem = Problem(ConditionalLikelihood(), scores, weights)
        point = random_point(problem)
        # the first feature of the class b: lines of which exponentials overflow
        point[weights.n_prior + weights.n_shared] = -30.0
        found.append(problem.value_and_gradient(point))
    (value, gradient), (quick, slopes) = found
    assert value == pytest.approx(quick, rel=1e-5)
    assert slopes == pytest.approx(gradient, rel=1e-3, abs=1e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_value_without_leaving_out_is_that_of_the_tables(missing):
    data = table(missing=missing)
    problem = problem_of(data, STRUCTURE, True, leave_one_out=False)
    point = random_point(problem)
    tables = problem.parameterization.tables(point)
    scores = log_joint(tables, data.codes)
    posterior = scores - logsumexp(scores, axis=1, keepdims=True)
    mean = posterior[np.arange(data.n_samples), data.y].mean()
    assert problem.value(point) == pytest.approx(mean, rel=1e-10)
    assert tables.is_normalized


def test_two_threads_give_the_same_bits():
    data = table(n_rows=3000, missing=0.1)
    problems = [problem_of(data, STRUCTURE, True, n_jobs=n) for n in (1, 2)]
    point = random_point(problems[0])
    values, gradients = zip(*(p.value_and_gradient(point) for p in problems), strict=True)
    assert values[0] == values[1]
    assert np.array_equal(*gradients)


@pytest.mark.parametrize("penalties", [{}, {"cell_penalty": 1.0}])
def test_the_fit_raises_the_conditional_likelihood(penalties):
    data = table(n_rows=300)
    context = Context()
    learner = LevelWeightedCCBN(**penalties, tol=1e-7)
    tables = learner.learn(data, count(data), STRUCTURE, context)
    scores = [step["score"] for step in context.history]
    assert len(scores) > 3
    assert (np.diff(scores) >= 0).all()
    assert tables.is_normalized
    # of a feature that does not depend on the class, all columns are the same
    assert np.ptp(tables.log_table(1), axis=-1).max() < 1e-12


def test_a_row_of_weight_two_is_the_row_twice():
    data = table(n_rows=80)
    twice = np.repeat(np.arange(80), np.arange(80) % 2 + 1)
    weight = (np.arange(80) % 2 + 1).astype(float)
    weighted = Encoded(data.codes, data.domain, data.y, weight)
    found = [
        LevelWeightedCCBN().learn(rows, count(rows), STRUCTURE, Context())
        for rows in (rows_of(data, twice), weighted)
    ]
    assert found[0].log_theta == pytest.approx(found[1].log_theta, abs=1e-9)


def test_configurations_that_do_not_occur_are_those_of_the_level_below():
    data = table(n_rows=25)
    structure = Structure(((), (0,), (0, 1), (2,)))
    learner, counts = HierarchicalSmoothing(), count(data)
    all_lines = learner.levels(data, counts, structure)
    some_lines = learner.levels(data, counts, structure, observed_only=True)
    assert some_lines.strengths == all_lines.strengths
    states = data.domain.states
    for i, parents in enumerate(structure.parents):
        assert np.allclose(some_lines.left_out[i], all_lines.left_out[i], rtol=1e-12, atol=0)
        for level, values in enumerate(some_lines.values[i]):
            shape = [states[p].max() + 1 for p in parents[:level]]
            occurs = np.zeros(len(values), bool)
            for m in range(data.n_samples):
                context = [states[p][data.codes[p, m]] for p in parents[:level]]
                occurs[int(np.ravel_multi_index(context, shape)) if level else 0] = True
            assert np.array_equal(values[occurs], all_lines.values[i][level][occurs])
            assert not values[~occurs].any()


@pytest.mark.parametrize("n_parents", [1, 2])
def test_a_fit_begins_with_the_parameters_of_another_one(n_parents):
    """Of the same number of parents and values; one more level weighs as the last one."""
    rng = np.random.default_rng(3)
    parents = ((), (0,), (0, 1), (2, 0))
    data, other = table(n_rows=90), table(seed=1, n_rows=60)
    fewer = Structure(tuple(group[:1] for group in parents))
    structure = Structure(tuple(group[:n_parents] for group in parents))
    smoothing = HierarchicalSmoothing()
    before = LevelWeights(smoothing.levels(data, count(data), fewer), True)
    after = LevelWeights(smoothing.levels(other, count(other), structure), True)
    point = rng.normal(size=before.size)
    begun = after.begin(FittedWeights(before.levels, point))
    prior, shared, _, cells = before.split(point)
    assert np.array_equal(after.split(begun)[0], prior)
    assert after.split(begun)[1].tolist() == [*shared, *shared[-1:]][: n_parents + 1]
    assert np.array_equal(before.begin(FittedWeights(before.levels, point)), point)
    found = after.weights(begun)
    wanted = before.weights(point)
    for k, (i, level) in enumerate(
        zip(after.levels.feature_of, after.levels.level_of, strict=True)
    ):
        if level < 2:
            at = np.flatnonzero((before.levels.feature_of == i) & (before.levels.level_of == level))
            assert np.allclose(found[k], wanted[at[0]])
    free = after.split(begun)[3].reshape(-1, 3)
    known = before.levels.free_like(after.levels)
    assert free.shape[0] == known.size
    assert (known >= 0).any()
    assert np.array_equal(free[known >= 0], cells.reshape(-1, 3)[known[known >= 0]])
    assert not free[known < 0].any()


def test_free_cells_are_those_of_the_same_values():
    """Where both have the same parents, and where one of them has a parent more."""
    data, other = table(n_rows=90), table(seed=1, n_rows=60)
    structures = Structure(((), (0,), (0,), (2,))), Structure(((), (0,), (0, 1), (1,)))
    smoothing = HierarchicalSmoothing()
    one, two = (
        smoothing.levels(rows, count(rows), structure)
        for rows, structure in zip((data, other), structures, strict=True)
    )

    def cells_of(levels):
        """The feature, the line and the state of each free cell."""
        found, place = [], levels.free_cells(levels.observed)
        for i in range(4):
            n = int(levels.layout.n_states[i])
            for k, line in enumerate(levels._lines(i)):
                places = place.place[place.start[i] + k * n :][:n]
                found += [(i, int(line), s) for s in range(n) if places[s] >= 0]
        return found

    known, there = one.free_like(two), cells_of(one)
    n_b = int(two.layout.n_states[1])  # of the other parent that feature 2 has
    assert len(known) == len(cells_of(two))
    for (i, line, state), place in zip(cells_of(two), known, strict=True):
        if i == 3:  # has another parent
            assert place == -1
            continue
        same = (i, line // (n_b if i == 2 else 1), state)
        assert there[place] == same if same in there else place == -1

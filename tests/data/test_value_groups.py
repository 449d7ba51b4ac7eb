"""Groups of the values of columns that have many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier, load
from discbayes.data import (
    Domain,
    Encoded,
    FrameEncoder,
    Ordered,
    TwoResolutionDiscretizer,
    Variable,
)
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.data.value_groups import (
    FEW_ROWS,
    _Splitter,
    group_by_class,
    has_many_values,
    numbered,
    weights_by_class,
)

N_VALUES = 200


def cities(n_rows=6000, seed=0, missing=0.0):
    """A column of cities of which each belongs to one of two regions, and a column of colors."""
    rng = np.random.default_rng(seed)
    city = rng.integers(0, N_VALUES, n_rows)
    region = city % 2
    y = (rng.random(n_rows) < np.where(region, 0.8, 0.2)).astype(int)
    names = np.array([f"city {k:03}" for k in range(N_VALUES)], object)[city]
    names[rng.random(n_rows) < missing] = None
    return pd.DataFrame({"city": names, "color": rng.choice(["blue", "red"], n_rows)}), y


def grouped(X, y, weight=None, **settings):
    encoder = FrameEncoder(TwoResolutionDiscretizer(**settings))
    return encoder.fit_transform(X, y, weight).domain.features


def leave_one_out(weights, values, high, border, direction):
    """The gain of a split by loops over rows, each left out of all counts."""
    k = weights.shape[1]
    splitter = _Splitter(weights)
    strength = splitter.totals[0] - weights[0].sum()
    gains = []
    for v in values:
        for c in range(k):
            for _ in range(int(weights[v, c])):
                rest = weights.copy()
                rest[v, c] -= 1
                given = (rest[v] + strength * splitter.shares) / (rest[v].sum() + strength)
                is_high = given @ direction > border
                side = [u for u in values if (u in high) == is_high]
                counts, both = rest[side].sum(axis=0), rest[values].sum(axis=0)
                shares = splitter.shares
                with_split = (counts[c] + shares[c]) / (counts.sum() + 1)
                gains.append(np.log(with_split) - np.log((both[c] + shares[c]) / (both.sum() + 1)))
    return float(np.sum(gains)), float(np.sqrt(np.square(gains).sum()))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_gain_of_a_split_is_that_of_rows_left_out(seed, n_classes):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 9, (7, n_classes)).astype(float)
    splitter, values = _Splitter(weights), np.arange(7)
    direction = splitter._direction(values)
    key = splitter.given @ direction
    order = np.argsort(key)
    border = key[order[2:4]].mean()
    found = splitter._gain_left_out(order, 3, direction, border)
    expected = leave_one_out(weights, order.tolist(), set(order[3:].tolist()), border, direction)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_the_direction_is_that_in_which_classes_differ_most():
    rng = np.random.default_rng(0)
    weights = rng.integers(10, 90, (40, 4)).astype(float)
    splitter = _Splitter(weights)
    weight = splitter.expected.sum(axis=1)
    apart = (splitter.given - weight @ splitter.given / weight.sum()) / np.sqrt(splitter.shares)
    expected = np.linalg.eigh(apart.T @ (weight[:, None] * apart))[1][:, -1]
    found = splitter._direction(np.arange(40)) * np.sqrt(splitter.shares)
    assert abs(found @ expected) / np.linalg.norm(found) > 0.99


def test_values_are_grouped_by_what_they_tell():
    X, y = cities(12_000)
    city, color = grouped(X, y, n_groups=2)
    states = city.states
    assert city.n_states == 2
    region = np.arange(N_VALUES) % 2
    assert (states == states[0]).tolist() == (region == region[0]).tolist()
    assert color.groups is None


def test_values_that_tell_nothing_have_no_groups():
    X, y = cities()
    assert grouped(X, np.random.default_rng(1).permutation(y))[0].groups is None


def test_heavy_values_are_groups_and_rare_ones_are_one():
    weights = np.full((300, 2), 15.0)
    weights[:2] = 4000.0
    weights[250:] = 3.0
    groups = group_by_class(weights, 8)
    assert groups[0] != groups[1]
    assert (groups == groups[0]).sum() == (groups == groups[1]).sum() == 1
    assert set(groups[250:]).isdisjoint(groups[:250])
    assert len(set(groups[250:])) == 1
    assert len(set(groups[2:250])) == 1


def test_a_column_of_rare_values_has_no_groups():
    assert group_by_class(np.full((300, 2), FEW_ROWS / 4), 8) is None
    assert group_by_class(np.zeros((300, 2)), 8) is None


def test_few_values_are_states():
    assert not has_many_values(50, 2, 100)
    assert has_many_values(51, 2, 100)
    X, y = cities()
    few = X["city"].str[:-1]
    assert grouped(pd.DataFrame({"city": few}), y)[0].groups is None


@pytest.mark.parametrize("n_groups", [None, 8])
def test_no_groups_where_none_are_wanted(n_groups):
    X, y = cities()
    assert (grouped(X, y, n_groups=n_groups)[0].groups is None) == (n_groups is None)
    assert FrameEncoder("mdlp").fit_transform(X, y).domain.states is None


@pytest.mark.parametrize("n_groups", [0, 1.5, "8"])
def test_numbers_of_groups_that_are_none(n_groups):
    X, y = cities(600)
    with pytest.raises(ValueError, match="n_groups must be a whole number"):
        grouped(X, y, n_groups=n_groups)


def test_ordered_values_are_grouped_with_their_neighbors():
    X, y = cities()
    order = Ordered(sorted(set(X["city"]), reverse=True))
    encoder = FrameEncoder("two-resolution", domains={"city": order})
    city = encoder.fit_transform(X, y).domain.features[0]
    assert city.n_states == 8
    assert (np.diff(city.states) >= 0).all()


def test_numbers_that_are_categories_and_missing_values():
    X, y = cities(missing=0.1)
    X["zip"] = X["city"].str[-3:].astype(float)
    encoder = FrameEncoder("two-resolution", ["zip"], missing="value")
    city, _, zip_code = encoder.fit_transform(X, y).domain.features
    assert city.groups == zip_code.groups
    assert city.states[-1] == city.n_states - 1 == max(city.groups) + 1


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_of_rows_and_repeated_rows_do_not_matter(weighted):
    X, y = cities(4000)
    weight = np.random.default_rng(2).integers(1, 3, len(y)) if weighted else np.ones(len(y), int)
    expected = grouped(X, y, weight)
    order = np.random.default_rng(3).permutation(len(y))
    assert grouped(X.iloc[order], y[order], weight[order]) == expected
    repeated = np.repeat(np.arange(len(y)), weight)
    assert grouped(X.iloc[repeated], y[repeated]) == expected


def test_weights_of_blocks_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    features = Variable("a", "categorical", tuple(range(30))), Variable("b", "numeric", cuts=(1.0,))
    domain = Domain(features, Variable("y", "categorical", (0, 1, 2)))
    codes = np.array([rng.integers(card + 1, size=900) for card in domain.cards], np.uint8)
    data = Encoded(codes, domain, rng.integers(3, size=900), rng.integers(1, 5, 900).astype(float))
    (found,) = weights_by_class(RowBlocks(RowsInMemory(data, size=100)), [0])
    expected = np.zeros((30, 3))
    for code, y, weight in zip(codes[0], data.classes, data.weight, strict=True):
        if code < 30:
            expected[code, y] += weight
    np.testing.assert_array_equal(found, expected)


def test_rows_in_blocks_have_the_same_groups():
    X, y = cities()
    whole = FrameEncoder("two-resolution").fit_transform(X, y)
    data = FrameEncoder(TwoResolutionDiscretizer(n_groups=None)).fit_transform(X, y)
    encoder = FrameEncoder("two-resolution")
    encoder.use_domain(data.domain, np.unique(y))
    blocks = encoder.group_values(RowBlocks(RowsInMemory(data, size=700)))
    assert blocks.domain == encoder.domain_ == whole.domain
    assert blocks.domain.features[0].groups is not None
    coarse = [block.codes for block in blocks.coarse.blocks()]
    np.testing.assert_array_equal(np.concatenate(coarse, axis=1), whole.coarse.codes)


def test_numbered():
    groups = numbered(np.array([4, 1, 4, 0, 1]))
    assert groups == (0, 1, 0, 2, 1)
    assert all(type(group) is int for group in groups)


@pytest.fixture(scope="module")
def fitted():
    """The default on two columns of many values that depend on each other and on the class."""
    X, y = two_columns(8000)
    return BayesNetClassifier(n_jobs=1).fit(X, y), X, y


def two_columns(n_rows, seed=5):
    """Values of two regions each, which show the class a little alone and clearly in pairs."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    pairs = np.array([[0.35, 0.25, 0.05, 0.35], [0.05, 0.35, 0.55, 0.05]])  # (0, 0), (0, 1), ...
    drawn = (rng.random(n_rows)[:, None] > pairs.cumsum(axis=1)[y]).sum(axis=1)
    a, b = 2 * rng.integers(0, N_VALUES // 2, (2, n_rows)) + np.divmod(drawn, 2)
    return pd.DataFrame({"a": [f"a{k:03}" for k in a], "b": [f"b{k:03}" for k in b]}), y


def test_the_default_sees_groups(fitted):
    model, X, y = fitted
    domain = model.network_.domain
    assert domain == model._encoder.domain_
    assert all(variable.groups is not None for variable in domain.features)
    assert model.structure_.n_edges == 1
    test, classes = two_columns(4000, seed=6)
    naive = BayesNetClassifier("nb", n_jobs=1).fit(X, y)
    assert model.score(test, classes) > naive.score(test, classes) + 0.1


def test_models_with_groups_come_back(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.network_.domain == model.network_.domain
    hidden = X[:500].mask(np.random.default_rng(0).random((500, 2)) < 0.3)
    np.testing.assert_array_equal(again.predict_proba(hidden), model.predict_proba(hidden))


def test_files_have_the_same_groups_as_tables(fitted, tmp_path):
    model, X, y = fitted
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    other = BayesNetClassifier(n_jobs=1).fit(tmp_path / "rows.parquet", "y")
    assert other.network_.domain.features == model.network_.domain.features
    np.testing.assert_array_equal(
        other.network_.parameters.log_theta, model.network_.parameters.log_theta
    )


def test_explicit_recipes_take_groups_by_the_discretizer(fitted):
    _, X, y = fitted
    model = BayesNetClassifier("tan", "map", discretizer="two-resolution").fit(X, y)
    assert model.structure_.n_edges == 1
    layout = model.network_.parameters.layout
    assert layout.size < 2 * N_VALUES * 2 * 10

"""Columns with more distinct values than are kept: how far off weights and cut points can be, and
that it holds.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from discbayes.data import FrameEncoder, MDLPDiscretizer
from discbayes.data.discretize import join_light
from discbayes.data.histogram import ClassLabels, Histogram
from discbayes.streams.quantiles import Distribution
from encoding import encode_source


def fed(column, y, weight, limit, block, n_classes):
    distribution = Distribution(limit)
    for at in range(0, column.size, block):
        rows = slice(at, at + block)
        distribution.add(column[rows], ClassLabels(y[rows], weight[rows], n_classes))
        distribution.close_block()
    return distribution


def below(histogram, values, n_classes):
    """The weight of each class below each value, as the histogram has it."""
    value = np.repeat(histogram.values, np.diff(histogram.starts))
    cumulated = np.zeros((values.size, n_classes))
    for c in range(n_classes):
        mine = histogram.classes == c
        sums = np.concatenate([[0.0], np.cumsum(histogram.weights[mine])])
        cumulated[:, c] = sums[np.searchsorted(value[mine], values)]
    return cumulated


ORDERS = {
    "shuffled": lambda x, rng: x,
    "rising": lambda x, rng: np.sort(x),
    "falling": lambda x, rng: -np.sort(x),
    "outside in": lambda x, rng: x[np.argsort(-np.abs(x))],
    "narrowing": lambda x, rng: x * np.linspace(1, 1e-3, x.size),
    "with a heavy value": lambda x, rng: np.where(rng.random(x.size) < 0.3, 0.25, x),
}


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_are_within_the_bound(order, weighted):
    rng = np.random.default_rng(0)
    n, limit, block = 60_000, 1600, 1024
    x = ORDERS[order](rng.normal(size=n), rng)
    y = (x + rng.normal(size=n) > 0).astype(np.int64) + (rng.random(n) < 0.1)
    weight = rng.random(n) + 0.5 if weighted else np.ones(n)
    distribution = fed(x, y, weight, limit, block, 3)
    histogram = distribution.histogram()
    values = np.unique(x)
    order_of = np.argsort(x, kind="stable")
    exact = Histogram.empty().added(x[order_of], ClassLabels(y[order_of], weight[order_of], 3))
    wrong = np.abs(below(histogram, values, 3) - below(exact, values, 3)).sum(axis=1).max()
    assert wrong <= distribution.rank_error
    doublings = np.ceil(np.log2(n / block)) + 1
    assert distribution.rank_error <= doublings / (limit / 16) * weight.sum()
    assert not distribution.exact
    assert histogram.values.size <= 2 * limit
    np.testing.assert_allclose(
        np.bincount(histogram.classes, histogram.weights), np.bincount(y, weight, 3), rtol=1e-12
    )
    if order == "with a heavy value":
        at = np.searchsorted(histogram.values, 0.25)
        assert histogram.values[at] == 0.25
        assert histogram.lows[at] == 0.25


def test_up_to_the_limit_everything_is_exact():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 1000, 20_000) / 7, rng.integers(0, 2, 20_000)
    distribution = fed(x, y, np.ones(x.size), 1000, 512, 2)
    exact = Histogram.empty().added(x, ClassLabels(y, np.ones(x.size), 2))
    got = distribution.histogram()
    assert distribution.exact
    assert distribution.rank_error == 0
    for name in ("values", "starts", "classes", "weights"):
        np.testing.assert_array_equal(getattr(got, name), getattr(exact, name))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 4), st.sampled_from([0.1, 0.7, 1.0])),
        min_size=1,
        max_size=80,
    ),
    st.integers(1, 20),
)
def test_histograms_grow_to_the_same_bits(rows, size):
    x, y, weight = (np.array(part) for part in zip(*rows, strict=True))
    x = x / 4
    at_once = Histogram.empty().added(x, ClassLabels(y, weight, 5))
    grown = Histogram.empty()
    for at in range(0, x.size, size):
        part = slice(at, at + size)
        grown = grown.added(x[part], ClassLabels(y[part], weight[part], 5))
    for name in ("values", "starts", "classes", "weights"):
        np.testing.assert_array_equal(getattr(grown, name), getattr(at_once, name))
    sums = {}
    for value, c, w in zip(x.tolist(), y.tolist(), weight.tolist(), strict=True):
        sums[value, c] = sums.get((value, c), 0.0) + w
    value = np.repeat(at_once.values, np.diff(at_once.starts)).tolist()
    assert list(
        zip(
            zip(value, at_once.classes.tolist(), strict=True), at_once.weights.tolist(), strict=True
        )
    ) == sorted(sums.items())


def clear_cuts(n, rng):
    """Numbers with four clear changes of the class, at shares of the rows that are known."""
    x = rng.lognormal(0, 2, n)
    borders = np.quantile(x, [0.13, 0.4, 0.405, 0.9])
    y = np.where(rng.random(n) < 0.05, rng.integers(0, 2, n), np.searchsorted(borders, x) % 2)
    return x, y


@pytest.mark.parametrize("discretizer", ["mdlp", "equal-frequency", "two-resolution"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cut_points_are_within_the_bound_of_those_of_all_values(discretizer, seed):
    rng = np.random.default_rng(seed)
    n = 150_000
    x, y = clear_cuts(n, rng)
    batches = ((x[at : at + 9_000, None], y[at : at + 9_000]) for at in range(0, n, 9_000))
    encoder, spilled = encode_source(
        batches, FrameEncoder(discretizer), memory=1 << 24, max_distinct=16_000
    )
    spilled.close()
    exact = FrameEncoder(discretizer)
    exact.fit_transform(x[:, None], y)
    rising = np.sort(x)
    got, expected = (
        np.searchsorted(rising, e.domain_.features[0].cuts) / n for e in (encoder, exact)
    )
    share = spilled.rank_error[0]
    assert 0 < share < 0.004
    assert expected.size >= got.size >= 4
    off = np.abs(got[:, None] - expected)
    assert off.min(axis=1).max() <= share
    assert off.min(axis=0).max() <= share


def test_where_the_class_changes_smoothly_the_intervals_tell_as_much():
    """Many cuts are nearly as good there, so that places may differ; what they are worth does
    not.
    """
    rng = np.random.default_rng(0)
    n = 150_000
    x = rng.normal(size=n)
    y = (x + rng.normal(size=n) > 0).astype(int)
    data = FrameEncoder().fit_transform(x[:, None], y)
    for limit, lost in ((60_000, 1e-4), (8_000, 1e-3)):
        _, spilled = encode_source(iter([(x[:, None], y)]), FrameEncoder(), max_distinct=limit)
        with spilled:
            codes = np.concatenate([np.array(block.codes[0]) for block in spilled])
            assert spilled.rank_error[0] > 0
            assert abs(int(spilled.domain.cards[0]) - int(data.cards[0])) <= 2
        assert mutual_info_score(codes, y) > mutual_info_score(data.codes[0], y) - lost


def test_summaries_do_not_depend_on_the_batches():
    rng = np.random.default_rng(3)
    n = 150_000
    x, y = clear_cuts(n, rng)
    found = set()
    for size in (1_237, 65_536, n):
        batches = ((x[at : at + size, None], y[at : at + size]) for at in range(0, n, size))
        encoder, spilled = encode_source(batches, FrameEncoder(), max_distinct=2_000)
        spilled.close()
        found.add(encoder.domain_.features[0].cuts)
    assert len(found) == 1


def test_light_intervals_go_to_the_neighbour_that_they_are_like():
    weights = [[50, 0], [3, 1], [0, 60], [2, 2], [1, 0]]
    histogram = Histogram.empty()
    for value, cells in enumerate(weights):
        y = np.repeat([0, 1], cells)
        histogram = histogram.added(
            np.full(y.size, float(value)), ClassLabels(y, np.ones(y.size), 2)
        )
    begins = np.array([False, True, True, True, True])
    assert join_light(histogram, begins, 2, 5.0).tolist() == [False, False, True, True, False]
    assert join_light(histogram, begins, 2, 2.0).tolist() == [False, True, True, True, False]
    assert join_light(histogram, begins, 2, 1e9).tolist() == [False] * 5


def test_a_histogram_of_ranges_is_cut_between_them():
    histogram = Histogram(
        np.array([1.0, 4.0, 9.0]),
        np.array([0, 1, 2, 3]),
        np.array([0, 1, 0]),
        np.ones(3),
        np.array([0.0, 2.0, 3.0]),
    )
    assert histogram.cut_points(np.array([False, True, False])).tolist() == [1.5]
    # the ranges overlap
    assert histogram.cut_points(np.array([False, False, True])).tolist() == [6.5]
    x = np.array([[1.0], [2.0], [8.0], [9.0]] * 5)
    exact = MDLPDiscretizer().fit(x, ["u", "u", "v", "v"] * 5)
    assert exact.cut_points_[0].tolist() == [5.0]

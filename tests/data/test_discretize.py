"""The discretisers against a plain recursive reference, and against scikit-learn's own checks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numba import config
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from discbayes.data import (
    EqualFrequencyDiscretizer,
    FrameEncoder,
    MDLPDiscretizer,
    TwoResolutionDiscretizer,
)

NO_COMPILER = bool(config.DISABLE_JIT)


def entropy(y, w):
    weights = np.array([w[y == c].sum() for c in np.unique(y)])
    share = weights[weights > 0] / weights.sum()
    return float(-(share * np.log2(share)).sum())


def reference_cuts(x, y, w=None):
    """Fayyad and Irani's recursion over all midpoints, as written down; two values are two
    intervals.
    """
    w = np.ones(x.size) if w is None else w
    keep = ~np.isnan(x.astype(float)) & (w > 0)
    values = np.unique(x[keep].astype(float))
    if values.size == 2:
        return [values.mean()]
    return sorted(_split(x[keep].astype(float), y[keep], w[keep]))


def _split(x, y, w):
    n, values, k = w.sum(), np.unique(x), np.unique(y).size
    if n <= 1 or k < 2:
        return []
    best, cut = np.inf, None
    for low, high in pairwise(values):
        left = x <= low
        mean = (
            w[left].sum() * entropy(y[left], w[left]) + w[~left].sum() * entropy(y[~left], w[~left])
        ) / n
        if mean < best - 1e-10:
            best, cut = mean, (low + high) / 2
    if cut is None:
        return []
    left = x < cut
    sides = [(np.unique(y[side]).size, entropy(y[side], w[side])) for side in (left, ~left)]
    whole = entropy(y, w)
    delta = np.log2(3.0**k - 2) - (k * whole - sum(count * part for count, part in sides))
    if not whole - best > (np.log2(n - 1) + delta) / n:
        return []
    return [*_split(x[left], y[left], w[left]), cut, *_split(x[~left], y[~left], w[~left])]


def check(x, y, w=None):
    found = MDLPDiscretizer().fit(x[:, None], y, sample_weight=w).cut_points_[0]
    np.testing.assert_allclose(found, reference_cuts(x, y, w), rtol=1e-12, atol=0)
    return found


def test_iris_has_the_published_cuts():
    X, y = load_iris(return_X_y=True)
    cuts = MDLPDiscretizer(n_jobs=2).fit(X, y).cut_points_
    expected = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    for found, wanted in zip(cuts, expected, strict=True):
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("n_values", [2, 5, 30, 10_000])
def test_same_cuts_as_the_reference(n_classes, n_values):
    rng = np.random.default_rng(n_values + n_classes)
    cut_somewhere = 0
    for _ in range(8):
        y = rng.integers(0, n_classes, 90)
        x = np.round((rng.normal(size=90) + 2 * (y % 3)) * n_values / 8)
        cut_somewhere += check(x, y).size
        cut_somewhere += check(x / 7, y).size  # not whole numbers: sorted, not counted
    assert cut_somewhere


def test_weights_that_are_not_whole():
    rng = np.random.default_rng(1)
    for _ in range(10):
        y = rng.integers(0, 3, 80)
        x = rng.normal(size=80).round(1) + y
        check(x, y, rng.uniform(0.1, 3, 80))


def test_weight_two_is_a_duplicate_and_weight_zero_is_absent():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 100)
    X = rng.normal(size=(100, 4)).round(1) + y[:, None]
    X[:, 3] = np.floor(X[:, 3])
    w = rng.integers(0, 4, 100)
    weighted = MDLPDiscretizer().fit(X, y, sample_weight=w).cut_points_
    repeated = MDLPDiscretizer().fit(np.repeat(X, w, axis=0), np.repeat(y, w)).cut_points_
    for first, second in zip(weighted, repeated, strict=True):
        np.testing.assert_array_equal(first, second)
    assert any(cuts.size for cuts in weighted)


def test_gaps_are_left_out_column_by_column():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 2)) + 2 * y[:, None]
    X[rng.random(X.shape) < 0.3] = np.nan
    discretizer = MDLPDiscretizer().fit(X, y)
    for column, cuts in zip(X.T, discretizer.cut_points_, strict=True):
        np.testing.assert_allclose(cuts, reference_cuts(column, y))
    np.testing.assert_array_equal(np.isnan(discretizer.transform(X)), np.isnan(X))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.uint16, np.uint64, np.float32])
def test_types_do_not_overflow(dtype):
    y = np.repeat([0, 1], 20)
    high = (
        np.iinfo(dtype).max
        if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize < 8
        else 200
    )
    x = np.where(y == 0, high - 10, high).astype(dtype)
    cuts = MDLPDiscretizer().fit(x[:, None], y).cut_points_[0]
    np.testing.assert_array_equal(cuts, [high - 5.0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_the_array_and_the_threads_do_not_matter(order):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 256, (150, 7), dtype=np.uint8)
    y = (X[:, 2] > 100).astype(int) + (X[:, 5] > 200)
    plain = MDLPDiscretizer().fit(X.astype(float), y).cut_points_
    for n_jobs in (None, 2):
        found = MDLPDiscretizer(n_jobs=n_jobs).fit(np.array(X, order=order), y).cut_points_
        for first, second in zip(plain, found, strict=True):
            np.testing.assert_array_equal(first, second)
    assert plain[2].size


def test_a_cut_lies_above_its_lower_neighbour_even_between_adjacent_floats():
    low = 1.0
    high = np.nextafter(low, 2)
    x, y = np.repeat([low, high], 20), np.repeat(["a", "b"], 20)
    discretizer = MDLPDiscretizer().fit(x[:, None], y)
    assert low < discretizer.cut_points_[0][0] <= high
    np.testing.assert_array_equal(discretizer.transform([[low], [high]]), [[0], [1]])


def test_huge_numbers_have_a_middle():
    x, y = np.repeat([1.0e308, 1.7e308], 20), np.repeat([0, 1], 20)
    np.testing.assert_allclose(MDLPDiscretizer().fit(x[:, None], y).cut_points_[0], [1.35e308])


def test_of_equal_cuts_the_lowest_is_taken():
    y = np.repeat([0, 1, 0], 40)
    x = np.repeat([1.0, 2.0, 3.0], 40)
    np.testing.assert_array_equal(check(x, y), [1.5, 2.5])
    mirrored = np.repeat([0, 1, 2], 20)  # both cuts part a third from two thirds
    np.testing.assert_array_equal(check(x[::2], mirrored), [1.5, 2.5])
    undecided = MDLPDiscretizer().fit(np.array([[0.0], [1.0], [2.0]]), [0, 1, 0]).cut_points_[0]
    assert undecided.size == 0


@pytest.mark.parametrize(
    "x, y, w",
    [
        ([1.0, 1.0, 1.0], [0, 1, 0], None),  # constant column
        ([1.0, 2.0, 3.0], [1, 1, 1], None),  # one class
        ([np.nan] * 3, [0, 1, 0], None),  # nothing observed
        ([1.0, 2.0, 3.0], [0, 1, 0], [0.5, 0.5, 0.5]),  # a total weight below two
        ([1.0], [0], None),
    ],
)
def test_nothing_to_cut(x, y, w):
    assert MDLPDiscretizer().fit(np.array(x)[:, None], y, sample_weight=w).cut_points_[0].size == 0


@pytest.mark.parametrize("values", [(0, 1), (-1.5, 2.25), (3, 1e300), (2**52, 2**52 + 1)])
def test_two_values_are_two_intervals(values):
    """However little they say of the class, and whatever is missing."""
    rng = np.random.default_rng(0)
    x = np.asarray(values)[rng.integers(0, 2, 50)]
    y = np.arange(50) % 2
    low, high = sorted(values)
    for column in (x, np.where(rng.random(50) < 0.3, np.nan, x)):
        (cut,) = MDLPDiscretizer().fit(column[:, None], y).cut_points_[0]
        assert low < cut <= high
    assert reference_cuts(np.round(rng.random(50) * 2), y) == []  # three values that say as little


def test_many_classes():
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(700), 2)  # 3^700 is beyond a float
    cuts = MDLPDiscretizer().fit((y + rng.uniform(0, 0.1, y.size))[:, None], y).cut_points_[0]
    assert np.isfinite(cuts).all()


def test_intervals_are_closed_below():
    X, y = load_iris(return_X_y=True)
    discretizer = MDLPDiscretizer().fit(X, y)
    cut = discretizer.cut_points_[3][0]
    row = [5, 3, 4, cut]
    below = [5, 3, 4, np.nextafter(cut, 0)]
    np.testing.assert_array_equal(discretizer.transform([row, below])[:, 3], [1, 0])


@pytest.mark.parametrize(
    "discretizer", [MDLPDiscretizer(), EqualFrequencyDiscretizer(), TwoResolutionDiscretizer()]
)
def test_infinities_name_the_column(discretizer):
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "pay": [1.0, np.inf, 2.0]})
    with pytest.raises(ValueError, match=r"'pay'.*inf"):
        discretizer.fit(frame, [0, 1, 0])
    discretizer.fit(frame.fillna(0).replace(np.inf, 5), [0, 1, 0])
    with pytest.raises(ValueError, match=r"'pay'.*inf"):
        discretizer.transform(frame)


def test_names_and_frames_come_out():
    X, y = load_iris(return_X_y=True, as_frame=True)
    discretizer = MDLPDiscretizer().set_output(transform="pandas").fit(X, y)
    coded = discretizer.transform(X)
    assert list(coded.columns) == list(X.columns) == list(discretizer.get_feature_names_out())
    assert coded.nunique().tolist() == [3, 3, 3, 3]


def test_continuous_classes_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        MDLPDiscretizer().fit([[1.0], [2.0]], [0.5, 1.7])


def test_equal_frequency_cuts_at_quantiles():
    x = np.arange(100.0)[:, None]
    np.testing.assert_array_equal(
        EqualFrequencyDiscretizer(4).fit(x).cut_points_[0], [24.5, 49.5, 74.5]
    )
    counts = np.bincount(EqualFrequencyDiscretizer(7).fit_transform(x).ravel().astype(int))
    assert counts.min() >= 14
    assert counts.max() <= 15


def test_equal_frequency_never_parts_equal_values():
    x = np.array([0] * 90 + [1] * 5 + [2] * 5)[:, None]
    discretizer = EqualFrequencyDiscretizer(10).fit(x)
    np.testing.assert_array_equal(discretizer.cut_points_[0], [0.5])
    assert EqualFrequencyDiscretizer().fit([[3.0], [3.0]]).cut_points_[0].size == 0
    assert EqualFrequencyDiscretizer(1).fit(x).cut_points_[0].size == 0


def test_equal_frequency_weights():
    rng = np.random.default_rng(6)
    X, w = rng.normal(size=(60, 2)).round(1), rng.integers(0, 4, 60)
    weighted = EqualFrequencyDiscretizer(4).fit(X, sample_weight=w).cut_points_
    repeated = EqualFrequencyDiscretizer(4).fit(np.repeat(X, w, axis=0)).cut_points_
    for first, second in zip(weighted, repeated, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("n_bins", [0, 2.5, "many"])
def test_equal_frequency_refuses_odd_numbers_of_bins(n_bins):
    with pytest.raises(ValueError, match="n_bins"):
        EqualFrequencyDiscretizer(n_bins).fit([[1.0], [2.0]])


# Two resolutions


def both(x, y=None, w=None, **options):
    """The fine and the coarse cut points of one column."""
    found = TwoResolutionDiscretizer(**options).fit(np.asarray(x)[:, None], y, w)
    return found.cut_points_[0].tolist(), found.coarse_cut_points_[0].tolist()


@pytest.mark.parametrize("coarse", ["mdlp", EqualFrequencyDiscretizer(8), MDLPDiscretizer()])
def test_fine_cuts_are_quantiles_and_the_coarse_cuts(coarse):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 500)
    x = rng.normal(size=500) + y
    fine, found = both(x, y, coarse=coarse)
    alone = MDLPDiscretizer() if coarse == "mdlp" else coarse
    assert found == alone.fit(x[:, None], y).cut_points_[0].tolist()
    quantiles = EqualFrequencyDiscretizer(32).fit(x[:, None]).cut_points_[0].tolist()
    assert fine == sorted({*found, *quantiles})


def test_few_values_have_an_interval_each():
    x = [0] * 900 + [1] * 50 + [2] * 2 + [7]
    assert both(x, coarse="equal-frequency") == ([0.5, 1.5, 4.5], [0.5])
    assert both(x, coarse="equal-frequency", n_fine=4)[0] == [0.5, 1.5, 4.5]


@pytest.mark.parametrize("share", [1 / 32, 0.05, 0.3, 0.9])
def test_a_frequent_value_has_an_interval_of_its_own(share):
    rng = np.random.default_rng(8)
    for at in (-9.0, -0.7, 0.0, 1.3, 9.0):
        x = np.where(np.arange(2000) < share * 2000, at, rng.normal(size=2000))
        fine, _ = both(x, coarse=EqualFrequencyDiscretizer(8))
        alone = np.searchsorted(fine, x, side="right") == np.searchsorted(fine, at, side="right")
        assert (x[alone] == at).all()


def test_a_column_without_an_informative_cut_point_keeps_two_states():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=201), rng.integers(0, 2, 201)
    assert not MDLPDiscretizer().fit(x[:, None], y).cut_points_[0].size
    fine, coarse = both(x, y)
    assert len(fine) == 31
    assert np.searchsorted(np.sort(x), coarse).tolist() == [100]
    assert len(both(x, y, min_states=4)[1]) == 3
    assert len(both(x, y, min_states=1)[1]) == 0
    assert both(np.zeros(201), y) == ([], [])
    assert both(np.where(x > 2, x, 0.0), y, n_fine=4)[1] != []


def test_the_heaviest_coarse_intervals_are_halved():
    x = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 9.0], [10, 2, 3, 40, 5, 4])
    y = (x > 4.5).astype(int)  # MDLP's cut point is 4.5: intervals of 55 and 9 rows
    states = {2: [4.5], 3: [3.5, 4.5], 4: [1.5, 3.5, 4.5], 5: [1.5, 3.5, 4.5, 7.0]}
    for n_states, cuts in states.items():
        assert both(x, y, min_states=n_states)[1] == cuts
    # a value that cannot be divided is not in the way of those that can
    assert both(x, y, min_states=9)[1] == [1.5, 2.5, 3.5, 4.5, 7.0]


@pytest.mark.parametrize(("n_rows", "n_fine"), [(5_000, 32), (25_000, 50), (70_000, 64)])
def test_more_rows_have_more_fine_intervals(n_rows, n_fine):
    x = np.random.default_rng(11).normal(size=n_rows)
    assert len(both(x, coarse=EqualFrequencyDiscretizer(1))[0]) in (n_fine - 1, n_fine)


def test_two_resolutions_with_weights_and_missing_values():
    rng = np.random.default_rng(10)
    y, w = rng.integers(0, 2, 300), rng.integers(0, 4, 300)
    x = (rng.normal(size=300) + y).round(2)
    x[rng.random(300) < 0.2] = np.nan
    there = ~np.isnan(x)
    repeated = np.repeat(x[there], w[there]), np.repeat(y[there], w[there])
    assert both(x, y, w) == both(*repeated)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coarse": "kmeans"}, "coarse must be"),
        ({"coarse": TwoResolutionDiscretizer()}, "coarse must be"),
        ({"coarse": None}, "coarse must be"),
        ({"coarse": "mdlp", "n_fine": 0}, "n_fine must be a whole number of at least 1, got 0"),
        ({"coarse": "mdlp", "min_states": 1.5}, "min_states must be a whole number"),
    ],
)
def test_two_resolutions_refuse_other_settings(options, message):
    with pytest.raises(ValueError, match=message):
        both([1.0, 2.0, 3.0], [0, 1, 0], **options)


def test_the_class_is_needed_where_the_coarse_cuts_need_it():
    with pytest.raises(ValueError, match="requires y"):
        both([1.0, 2.0, 3.0])


def test_the_encoder_learns_variables_of_two_resolutions():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.zeros(150), y == 1])
    encoder = FrameEncoder("two-resolution", missing="value")
    data = encoder.fit_transform(np.where(np.arange(150)[:, None] == 3, np.nan, X), y)
    fitted = TwoResolutionDiscretizer().fit(X[np.arange(150) != 3], y[np.arange(150) != 3])
    for variable, fine, coarse in zip(
        data.domain.features, fitted.cut_points_, fitted.coarse_cut_points_, strict=True
    ):
        assert variable.cuts == tuple(fine)
        assert variable.coarse.cuts == tuple(coarse)
        assert variable.missing_value
    by_mdlp = FrameEncoder(missing="value")
    expected = by_mdlp.fit_transform(np.where(np.arange(150)[:, None] == 3, np.nan, X), y)
    np.testing.assert_array_equal(data.coarse.codes, expected.codes)


@pytest.mark.skipif(
    NO_COMPILER,
    reason="scikit-learn's checks are about the interface, and slow without the compiler",
)
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [MDLPDiscretizer(), EqualFrequencyDiscretizer(), TwoResolutionDiscretizer()]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# below, weights are shares: tests/classifier/test_shares.py
@pytest.mark.parametrize("total", [1.01, 1.5, 1.999])
def test_weights_of_less_than_two_rows_pay_for_no_cut(total):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3)) + 2 * y[:, None]
    with pytest.warns(UserWarning, match="sample weights sum to"):
        found = MDLPDiscretizer().fit(X, y, sample_weight=np.full(200, total / 200)).cut_points_
    assert [cuts.size for cuts in found] == [0, 0, 0]

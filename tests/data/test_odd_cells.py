"""Cells and labels that the fuzzer found: each is read exactly, or refused by the name of its
column.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier
from discbayes.data import FrameEncoder

HUGE = 10**400
Y = ["no", "yes", "no", "yes"]


@pytest.mark.parametrize(
    "value", [HUGE, -HUGE, Fraction(HUGE), Decimal("sNaN")], ids=lambda value: repr(value)[:12]
)
@pytest.mark.parametrize("gap", [None, 1])
def test_numbers_that_are_no_floats(value, gap):
    with pytest.raises(
        ValueError, match=r"column 'a' holds a number that is not a float .*: cast it to str"
    ):
        FrameEncoder().fit_transform(pd.DataFrame({"a": [value, 1, 2, gap]}, dtype=object), Y)


def test_categories_beyond_floats():
    frame = pd.DataFrame(
        {"a": pd.Categorical.from_codes([0, 1, 0, 1], pd.Index([HUGE, 1], dtype=object))}
    )
    with pytest.raises(
        ValueError,
        match="column 'a' has a whole number beyond the range of a float: cast it with astype",
    ):
        FrameEncoder().fit_transform(frame, Y)
    with pytest.raises(ValueError, match="beyond the range of a float"):
        FrameEncoder(domains={"a": [0, HUGE]}).fit_transform(pd.DataFrame({"a": [0, 0, 0, 0]}), Y)


def test_whole_numbers_of_128_bits():
    polars = pytest.importorskip("polars", minversion="1.18")
    values = [2**62, 1, 2**62, 1]
    encoder = FrameEncoder(discretizer=None)
    wide = polars.DataFrame({"a": polars.Series(values, dtype=polars.Int128)})
    same = encoder.fit_transform(polars.DataFrame({"a": values}), Y)
    np.testing.assert_array_equal(
        FrameEncoder(discretizer=None).fit_transform(wide, Y).codes, same.codes
    )
    np.testing.assert_array_equal(encoder.transform(wide), same.codes)
    gaps = polars.DataFrame({"a": polars.Series([1, None, 3, 1], dtype=polars.Int128)})
    assert encoder.fit_transform(gaps, Y).codes.tolist() == [[0, 2, 1, 0]]
    beyond = polars.DataFrame({"a": polars.Series([2**70, 1, 2, 3], dtype=polars.Int128)})
    with pytest.raises(
        ValueError,
        match=r"column 'a' holds 1.18059e\+21, too large for 64 bits: cast it to float or str",
    ):
        encoder.fit_transform(beyond, Y)


@pytest.mark.parametrize(
    "labels, kind",
    [
        ([datetime.date(2020, 1, day) for day in (1, 2, 1, 2)], "date"),
        ([Decimal(1), Decimal(2)] * 2, "Decimal"),
        ([HUGE, 1, HUGE, 1], "a number beyond the range of a float"),
        ([frozenset({1}), frozenset({2})] * 2, "frozenset"),
    ],
    ids=["dates", "decimals", "huge", "sets"],
)
def test_labels_that_no_file_could_hold(labels, kind):
    """They were learned, and refused when the model was saved."""
    frame = pd.DataFrame({"a": [0.0, 1.0, 0.0, 1.0]})
    with pytest.raises(
        ValueError, match=f"y holds {kind}; labels are strings, numbers or booleans: cast it to str"
    ):
        BayesNetClassifier().fit(frame, np.array(labels, dtype=object))


@pytest.mark.parametrize(
    "labels", [[2**63, 2**63 + 1, -1], [2**53, 2**53 + 1, 0.0]], ids=["signs", "floats"]
)
@pytest.mark.parametrize(
    "form", [list, lambda labels: np.array(labels, dtype=object)], ids=["list", "array"]
)
def test_labels_that_rounding_would_join_are_refused(labels, form):
    """Three classes were read as two."""
    with pytest.raises(ValueError, match=r"y mixes whole numbers with others .* cast it to str"):
        BayesNetClassifier("nb", "map").fit([[0], [1], [2]], form(labels))


def test_labels_of_mixed_types_that_nothing_rounds():
    for labels in ([2**63, -1, 0], [1, 2.0, 3], [2**70, 1, 0], [True, 2, 3.0]):
        clf = BayesNetClassifier("nb", "map").fit([[0], [1], [2]], labels)
        assert sorted(clf.classes_.tolist()) == sorted(labels)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint32, np.int8])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_whole_numbers_of_each_type(kind, sign):
    """A sum one beyond the largest overflowed; neighbours that are one float had a cut that cut
    nothing.
    """
    most = int(np.iinfo(kind).max) if sign > 0 else int(np.iinfo(kind).min)
    near = most - sign
    for values in ([most] * 4, [near, most, near, most] * 5, [0, most, 0, most] * 5):
        encoder = FrameEncoder()
        data = encoder.fit_transform(np.array(values, dtype=kind)[:, None], Y * (len(values) // 4))
        apart = float(values[0]) != float(values[1])
        assert encoder.domain_.features[0].card == 1 + apart
        assert len(set(data.codes[0].tolist())) == 1 + apart


def test_whole_numbers_beyond_a_sign():
    with pytest.raises(
        ValueError, match="a column holds 18446744073709551615, too large for 64 bits with a sign"
    ):
        FrameEncoder().fit_transform(np.full((4, 1), 2**64 - 1, dtype=np.uint64), Y)


@pytest.mark.parametrize("base", [10**12, 10**16, 1_700_000_000 * 10**9, 2**61])
def test_times_in_nanoseconds_are_cut_as_other_numbers(base):
    """With cuts above 2^53 all whole numbers had been put into the last interval."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    times = base + y * (base // 4) + rng.integers(0, base // 10, 90)
    whole, floats = FrameEncoder(), FrameEncoder()
    codes = whole.fit_transform(pd.DataFrame({"time": times}), y).codes
    np.testing.assert_array_equal(
        codes, floats.fit_transform(pd.DataFrame({"time": times.astype(float)}), y).codes
    )
    np.testing.assert_array_equal(codes[0], y)
    assert whole.domain_.features[0].cuts == floats.domain_.features[0].cuts

"""What the properties have found, each by itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier
from discbayes.data import FrameEncoder

N = 150  # more rows than the type of a column of objects is guessed from


def objects(first, then):
    return pd.DataFrame({"column": pd.Series([first] * N + [then] * N, dtype=object)})


@pytest.mark.parametrize("value, kind", [(1.5, "numeric"), (True, "boolean"), ("a", "categorical")])
def test_a_column_of_objects_that_begins_with_gaps_has_the_type_of_what_follows(value, kind):
    data = FrameEncoder().fit_transform(objects(None, value), ["no", "yes"] * N)
    assert data.domain.features[0].kind == kind
    expected = FrameEncoder().fit_transform(objects(None, value).to_numpy(), ["no", "yes"] * N)
    np.testing.assert_array_equal(data.codes, expected.codes)


@pytest.mark.parametrize(
    "first, then, message",
    [
        (None, np.inf, "'column' contains infinity"),
        (None, 1j, "column 'column' holds 1j"),
        ("a", 1.5, "'column' mixes strings and numbers, 'a' and 1.5"),
        ("a", True, "'column' mixes strings and numbers, 'a' and True"),
    ],
)
def test_a_column_of_objects_is_checked_beyond_its_first_rows(first, then, message):
    with pytest.raises(ValueError, match=message):
        BayesNetClassifier("nb", "map").fit(objects(first, then), ["no", "yes"] * N)

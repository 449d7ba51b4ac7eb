"""Numeric columns of two resolutions: fine intervals as codes, coarse ones as states."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from discbayes.counts.sufficient_statistics import SufficientStatistics
from discbayes.data import Domain, Encoded, FrameEncoder, Variable
from discbayes.data.growing_domain import difference, first_rows, more_rows, moved_codes
from discbayes.data.row_blocks import InStates, RowBlocks, RowsInMemory
from discbayes.data.table_reader import read_table
from discbayes.network import Structure

CUTS = (1.0, 2.0, 3.0, 4.0)
SIZE = Variable("size", "numeric", cuts=CUTS, coarse_cuts=(2.0, 4.0))
MISSING = Variable("age", "numeric", cuts=CUTS, coarse_cuts=(3.0,), missing_value=True)
COLOR = Variable("color", "categorical", ("blue", "red", "green"))
CITY = Variable("city", "categorical", ("Bonn", "Kiel", "Köln", "Ulm"), groups=(0, 1, 0, 1))
PLAIN = Variable("weight", "numeric", cuts=(1.0,))
TARGET = Variable("class", "categorical", ("no", "yes"))
DOMAIN = Domain((SIZE, MISSING, COLOR, PLAIN, CITY), TARGET)


def rows(n_rows=300, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(card + 1, size=n_rows) for card in DOMAIN.cards], np.uint8)
    weight = rng.random(n_rows) if weighted else None
    return Encoded(codes, DOMAIN, rng.integers(2, size=n_rows), weight)


# Variables and domains


def test_states_of_codes():
    assert SIZE.states.tolist() == [0, 0, 1, 1, 2]
    assert SIZE.states.dtype == np.int64
    assert (SIZE.card, SIZE.n_states) == (5, 3)
    assert SIZE.labels == ["< 1", "[1, 2)", "[2, 3)", "[3, 4)", ">= 4"]
    assert SIZE.coarse == Variable("size", "numeric", cuts=(2.0, 4.0))


def test_a_value_missing_is_a_state_of_its_own():
    assert MISSING.states.tolist() == [0, 0, 0, 1, 1, 2]
    assert MISSING.coarse.labels == ["< 3", ">= 3", "(missing)"]
    assert Variable("a", "numeric", (), CUTS, True, False, ()).states.tolist() == [0] * 5 + [1]


@pytest.mark.parametrize("variable", [COLOR, PLAIN, TARGET, Variable("a", "numeric", cuts=())])
def test_one_resolution(variable):
    assert variable.states.tolist() == list(range(variable.card))
    assert variable.coarse is variable
    assert variable.n_states == variable.card


def test_all_cut_points_are_one_resolution():
    assert Variable("size", "numeric", cuts=CUTS, coarse_cuts=CUTS) == Variable(
        "size", "numeric", cuts=CUTS
    )


@pytest.mark.parametrize("coarse", [(2.5,), (2.0, 2.0), (3.0, 2.0), (1.0, 2.0, 3.0, 4.0, 5.0)])
def test_coarse_cut_points_that_are_not_cut_points(coarse):
    with pytest.raises(ValueError, match="coarse cut points of column 'size' must be some of"):
        Variable("size", "numeric", cuts=CUTS, coarse_cuts=coarse)


def test_categories_have_no_coarse_cut_points():
    with pytest.raises(ValueError, match="must be some of its cut points"):
        Variable("color", "categorical", ("blue",), coarse_cuts=())


def test_groups_are_states():
    assert (CITY.card, CITY.n_states, CITY.has_states) == (4, 2, True)
    assert CITY.coarse.labels == ["Bonn, Köln", "Kiel, Ulm"]
    missing = replace(CITY, missing_value=True)
    assert missing.states.tolist() == [0, 1, 0, 1, 2]
    assert missing.coarse.labels == ["Bonn, Köln", "Kiel, Ulm", "(missing)"]
    assert replace(CITY, groups=(0, 1, 2, 3)) == replace(CITY, groups=None)


def test_names_of_groups_differ():
    odd = Variable("a", "categorical", ("a", "a, b", "b"), groups=(0, 1, 0))
    assert odd.coarse.labels == ["group 1: a, b", "group 2: a, b"]
    many = Variable("a", "categorical", tuple(range(2000)), groups=(0,) * 1999 + (1,))
    assert many.coarse.labels == ["0, 1, 1,997 more", "1999"]


@pytest.mark.parametrize(
    "groups",
    [(), (0, 1, 0), (1, 0, 1, 0), (0, 2, 1, 0), (0, -1, 0, 0), (0, 1.0, 0, 1), (False,) * 4],
)
def test_groups_that_are_none(groups):
    with pytest.raises(ValueError, match="groups of column 'city' must be one number for each"):
        replace(CITY, groups=groups)


def test_groups_of_ordered_values_are_neighbors():
    assert replace(CITY, ordered=True, groups=(0, 0, 1, 1)).coarse.ordered
    with pytest.raises(ValueError, match="'city' are ordered"):
        replace(CITY, ordered=True)


def test_numbers_have_no_groups():
    with pytest.raises(ValueError, match="groups of column 'size'"):
        replace(PLAIN, name="size", groups=(0, 1))


def test_domain():
    assert [states.tolist() for states in DOMAIN.states] == [
        [0, 0, 1, 1, 2],
        [0, 0, 0, 1, 1, 2],
        [0, 1, 2],
        [0, 1],
        [0, 1, 0, 1],
    ]
    assert DOMAIN.coarse.cards.tolist() == [3, 3, 3, 2, 2]
    assert DOMAIN.coarse.target is TARGET
    assert DOMAIN.coarse.states is None
    assert DOMAIN.coarse.coarse is DOMAIN.coarse


def test_variables_of_older_pickles_have_one_resolution():
    old = Variable("size", "numeric", cuts=CUTS)
    vars(old).pop("coarse_cuts")
    assert pickle.loads(pickle.dumps(old)).coarse_cuts is None


def test_difference_of_domains():
    other = Domain((Variable("size", "numeric", cuts=CUTS), *DOMAIN.features[1:]), TARGET)
    assert difference(DOMAIN, DOMAIN) is None
    assert difference(DOMAIN, other) == (
        "column 'size' has coarse cut points 2, 4 here and 1, 2, 3, 4 there"
    )
    with_missing = Variable("size", "numeric", (), CUTS, True, False, (2.0, 4.0))
    assert moved_codes(SIZE, with_missing).tolist() == [0, 1, 2, 3, 4]
    assert moved_codes(SIZE.coarse, with_missing.coarse).tolist() == [0, 1, 2]


# Rows


def test_rows_in_states():
    data = rows(weighted=True)
    coarse = data.coarse
    assert coarse.domain == DOMAIN.coarse
    for codes, states, variable in zip(data.codes, coarse.codes, DOMAIN.features, strict=True):
        expected = [*variable.states, variable.n_states]
        assert states.tolist() == [expected[code] for code in codes]
    assert coarse.n_missing.tolist() == data.n_missing.tolist()
    assert coarse.y is data.y
    assert coarse.weight is data.weight
    assert data.coarse is coarse
    assert coarse.coarse is coarse


def test_states_need_fewer_bits():
    wide = Variable("a", "numeric", cuts=tuple(map(float, range(300))), coarse_cuts=(150.0,))
    data = Encoded(np.array([[0, 150, 151, 300, 301]], np.uint16), Domain((wide,), TARGET))
    assert data.coarse.codes.dtype == np.uint8
    assert data.coarse.codes.tolist() == [[0, 0, 1, 1, 2]]


def test_blocks_in_states():
    data = rows(1000, weighted=True)
    blocks = RowBlocks(RowsInMemory(data, size=128))
    together = blocks.coarse.in_memory("a test")
    assert blocks.coarse.domain == DOMAIN.coarse
    assert np.array_equal(together.codes, data.coarse.codes)
    assert np.array_equal(together.weight, data.weight)
    assert blocks.coarse.n_missing.tolist() == data.n_missing.tolist()
    assert blocks.coarse.coarse is blocks.coarse
    assert InStates()(data.coarse, 0) is data.coarse


def test_counts_of_states():
    data = rows(weighted=True)
    counted = SufficientStatistics.of_pairs(data).coarse
    expected = SufficientStatistics.of_pairs(data.coarse)
    assert difference(counted.domain, expected.domain) is None
    for one, two in ((counted.counts, expected.counts), (counted.pairs, expected.pairs)):
        assert one.cards.tolist() == two.cards.tolist()
        assert one.cells == pytest.approx(two.cells, rel=1e-12)
    assert counted.coarse is counted


CHAIN = Structure(((), (0,), (0, 1), (2, 4), ()))


def test_counts_of_families_in_states():
    data = rows()
    counted = SufficientStatistics.of_families(data, CHAIN)
    assert [table.shape for table in map(counted.families.table, range(5))] == [
        (5, 2),
        (3, 6, 2),
        (3, 3, 3, 2),
        (3, 2, 2, 2),
        (4, 2),
    ]
    expected = SufficientStatistics.of_families(data.coarse, CHAIN)
    assert counted.coarse.families.layout.shapes == expected.families.layout.shapes
    assert np.array_equal(counted.coarse.families.cells, expected.families.cells)


@pytest.mark.parametrize("pairs", [True, False])
def test_counts_of_a_growing_domain(pairs):
    """A column gets a value "missing", another one a new category, and a third one a new group."""
    first = Domain((SIZE, replace(MISSING, missing_value=False), COLOR, PLAIN, CITY), TARGET)
    color = replace(COLOR, values=(*COLOR.values, "white"))
    city = replace(CITY, values=("Aue", *CITY.values), groups=(0, 1, 2, 1, 2))
    more = Domain((SIZE, MISSING, color, PLAIN, city), TARGET)
    rng = np.random.default_rng(1)
    codes = np.array([rng.integers(card, size=200) for card in first.cards], np.uint8)
    y = rng.integers(2, size=200)

    def count(data):
        if pairs:
            return SufficientStatistics.of_pairs(data)
        return SufficientStatistics.of_families(data, CHAIN)

    moved = codes.copy()
    moved[4] += 1
    grown = count(Encoded(codes, first, y)).with_rows(Encoded(moved, more, y))
    at_once = count(Encoded(np.tile(moved, 2), more, np.tile(y, 2)))
    assert np.array_equal(grown.counts.cells, at_once.counts.cells)
    for name in ("pairs", "families"):
        found, expected = getattr(grown, name), getattr(at_once, name)
        assert (found is None) == (expected is None)
        if found is not None:
            assert np.array_equal(found.cells, expected.cells)


# Rows in parts


def test_later_rows_keep_both_resolutions():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"size": rng.normal(size=300), "color": rng.choice(["blue", "red"], 300)})
    y = (X["size"] > 0).to_numpy()
    encoder = FrameEncoder("two-resolution", missing="value")
    first_rows(encoder, read_table(X[:200]), y[:200], None)
    size = encoder.domain_.features[0]
    X.loc[250, ["size", "color"]] = [np.nan, "green"]
    grown, data = more_rows(encoder, read_table(X[200:]), y[200:], None, False, np.full(2, 200))
    assert grown.domain_.features[0] == replace(size, missing_value=True)
    assert grown.domain_.features[1].values == ("blue", "green", "red")
    assert data.coarse.codes[0, 50] == size.n_states


def test_a_new_value_is_a_group_of_its_own():
    domain = Domain((CITY,), TARGET)
    encoder = FrameEncoder("two-resolution")
    encoder.use_domain(domain, np.array(["no", "yes"]))
    table = read_table(pd.DataFrame({"city": ["Bonn", "Hof", "Ulm", "Aue"]}))
    grown, data = more_rows(encoder, table, ["no", "yes"] * 2, None, True, np.full(1, 100))
    assert grown.domain_.features[0].values == ("Aue", "Bonn", "Hof", "Kiel", "Köln", "Ulm")
    assert grown.domain_.features[0].groups == (0, 1, 2, 3, 1, 3)
    assert data.coarse.codes.tolist() == [[1, 2, 3, 0]]
    assert difference(domain, Domain((replace(CITY, groups=None),), TARGET)) == (
        "column 'city' has its values in other groups here than there"
    )

"""Counts against groupby, both pair kernels against each other, and mutual information against its
definition.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coded import MIXED, WIDE, encoded, rows_of
from discbayes.counts import (
    class_information,
    count,
    count_families,
    count_family,
    count_pairs,
    entropy,
    pair_information,
)
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.network import Layout, Structure


def grouped(data, family):
    """The table of a family, class last, by a groupby over the rows without a gap in it."""
    frame = pd.DataFrame({k: data.codes[i].astype(int) for k, i in enumerate(family)})
    frame["y"], frame["w"] = data.y, 1.0 if data.weight is None else data.weight
    frame = frame[(frame[list(range(len(family)))].to_numpy() < data.cards[family]).all(axis=1)]
    table = np.zeros((*data.cards[family], data.n_classes))
    for cell, total in frame.groupby([*range(len(family)), "y"])["w"].sum().items():
        table[cell] = total
    return table


def random_data(seed, gaps, weighted):
    rng = np.random.default_rng(seed)
    cards, n_classes = [(MIXED, 2), (MIXED, 3), (WIDE, 3), (MIXED, 40), ([2, 3], 1)][seed % 5]
    return encoded(rng, cards, n_classes, n_rows=157, gaps=gaps, weighted=weighted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_counts_equal_a_groupby(seed, gaps, weighted):
    data = random_data(seed, gaps, weighted)
    counts, pairs = count(data), count_pairs(data, count(data))
    np.testing.assert_allclose(counts.class_count, grouped(data, []), rtol=0, atol=1e-12)
    for i in range(data.n_features):
        np.testing.assert_allclose(counts.feature(i), grouped(data, [i]), rtol=0, atol=1e-12)
        for j in range(data.n_features):
            if i != j:
                np.testing.assert_allclose(
                    pairs.table(i, j), grouped(data, [i, j]), rtol=0, atol=1e-12
                )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_family_counts_equal_a_groupby(seed, gaps, weighted):
    data = random_data(seed, gaps, weighted)
    parents = [(), (0,), (1, 0), (), (2, 3)][: data.n_features]
    layout = Layout(Structure(tuple(parents)), data.cards, data.n_classes)
    families = count_families(data, layout, count(data))
    for i, group in enumerate(parents):
        expected = grouped(data, [*group, i])
        np.testing.assert_allclose(families.table(i), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(count_family(data, i, group), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(families.class_count, count(data).class_count)


def one_row_and_empty_classes(rng):
    data = encoded(rng, MIXED, 5, n_rows=130, gaps=0.2)
    data.y[:] = np.where(data.y == 3, 1, data.y)  # class 3 has no row
    data.y[:] = np.where(data.y == 4, 0, data.y)
    data.y[17] = 4  # class 4 has one
    return data


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_bit_sets_and_loop_agree_to_the_bit(n_rows, gaps):
    rng = np.random.default_rng(n_rows)
    for data in (
        encoded(rng, MIXED, 3, n_rows, gaps),
        encoded(rng, [12, 300, 1, 2], 2, n_rows, gaps),
    ):
        counts = count(data)
        bits, loop = (count_pairs(data, counts, method=method).cells for method in ("bits", "loop"))
        np.testing.assert_array_equal(bits, loop)
        bits, loop = (pair_information(data, counts, method=method) for method in ("bits", "loop"))
        for kind in ("conditional", "plain", "joint"):
            np.testing.assert_array_equal(getattr(bits, kind), getattr(loop, kind))


def test_classes_of_one_row_or_none():
    data = one_row_and_empty_classes(np.random.default_rng(0))
    counts = count(data)
    assert counts.class_count[3] == 0
    assert counts.class_count[4] == 1
    for method in ("bits", "loop"):
        pairs = count_pairs(data, counts, method=method)
        np.testing.assert_array_equal(pairs.table(2, 4), grouped(data, [2, 4]))


@pytest.mark.parametrize("weighted", [False, True])
def test_halves_add_up_to_the_whole(weighted):
    data = encoded(np.random.default_rng(1), MIXED, 3, 101, gaps=0.2, weighted=weighted)
    halves = [rows_of(data, slice(0, 40)), rows_of(data, slice(40, None))]
    structure = Structure(((), (0,), (0, 1), (), (2,)))
    layout = Layout(structure, data.cards, data.n_classes)
    first, second = (count(half) for half in halves)
    whole = count(data)
    np.testing.assert_allclose((first + second).cells, whole.cells, rtol=0, atol=1e-12)
    np.testing.assert_allclose((first + second).class_count, whole.class_count, rtol=0, atol=1e-12)
    merged = count_pairs(halves[0], first) + count_pairs(halves[1], second)
    np.testing.assert_allclose(merged.cells, count_pairs(data, whole).cells, rtol=0, atol=1e-12)
    merged = count_families(halves[0], layout, first) + count_families(halves[1], layout, second)
    np.testing.assert_allclose(
        merged.cells, count_families(data, layout, whole).cells, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(merged.class_count, whole.class_count, rtol=0, atol=1e-12)


def test_counts_that_do_not_belong_together_are_refused():
    rng = np.random.default_rng(2)
    base, cards, classes = (
        encoded(rng, c, k, 10) for c, k in (([2, 3], 2), ([2, 4], 2), ([2, 3], 3))
    )
    structure = Structure(((), (0,)))
    for other, message in (
        (cards, "different domains.*2, 3.*2, 4"),
        (classes, "different numbers of classes.*2 and 3"),
    ):
        with pytest.raises(ValueError, match=message):
            count(base) + count(other)
        with pytest.raises(ValueError, match=message):
            count_pairs(base, count(base)) + count_pairs(other, count(other))
        with pytest.raises(ValueError, match=message):
            _families(base, structure) + _families(other, structure)
    with pytest.raises(ValueError, match="different structures"):
        _families(base, structure) + _families(base, Structure.naive(2))


def _families(data, structure):
    return count_families(data, Layout(structure, data.cards, data.n_classes), count(data))


def test_a_message_about_many_columns_stays_short():
    rng = np.random.default_rng(2)
    one, two = (count(encoded(rng, [card] * 500, 2, 3)) for card in (2, 3))
    with pytest.raises(ValueError, match="different domains") as error:
        one + two
    assert len(str(error.value)) < 300


def test_a_pair_of_a_feature_with_itself_is_refused():
    data = encoded(np.random.default_rng(0), [2, 2], 2, 10)
    with pytest.raises(ValueError, match="feature 1 twice"):
        count_pairs(data, count(data)).table(1, 1)


def information(table):
    """I(A;B) of a two-way table by its definition."""
    p = table / table.sum()
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / independent[seen])).sum())


def test_entropy_by_its_definition():
    assert entropy(np.array([3.0, 1.0])) == pytest.approx(
        -0.75 * np.log(0.75) - 0.25 * np.log(0.25), abs=1e-15
    )
    assert entropy(np.full(8, 2.0)) == pytest.approx(np.log(8), abs=1e-14)
    assert entropy(np.array([0.0, 5.0])) == 0.0
    assert entropy(np.zeros(3)) == 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize(
    "cards, n_classes", [(MIXED, 2), (MIXED, 3), (WIDE, 3), (MIXED, 40), ([3, 4], 1)]
)
def test_mutual_information_equals_its_definition(cards, n_classes, gaps, weighted):
    data = encoded(np.random.default_rng(5), cards, n_classes, 150, gaps, weighted, linked=True)
    counts = count(data)
    got = pair_information(data, counts)
    relevance = class_information(counts)
    for i in range(len(cards)):
        assert relevance[i] == pytest.approx(information(grouped(data, [i])), abs=1e-12)
        assert got.conditional[i, i] == got.plain[i, i] == got.joint[i, i] == 0.0
        for j in range(len(cards)):
            if i != j:
                table = grouped(data, [i, j])
                share = table.sum(axis=(0, 1)) / table.sum()
                slices = [share[c] * information(table[..., c]) for c in np.flatnonzero(share)]
                assert got.conditional[i, j] == pytest.approx(sum(slices), abs=1e-12)
                assert got.plain[i, j] == pytest.approx(information(table.sum(axis=2)), abs=1e-12)
                assert got.joint[i, j] == pytest.approx(
                    information(table.reshape(-1, n_classes)), abs=1e-12
                )
    if n_classes > 1 and cards is MIXED:
        assert got.conditional.max() > 0.01  # the comparison is not one of zeros
        assert relevance.max() > 0.01


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_information_of_kept_tables_is_the_same(gaps, weighted):
    data = encoded(np.random.default_rng(6), MIXED, 3, 150, gaps, weighted, linked=True)
    counts = count(data)
    kept, passing = count_pairs(data, counts).information(), pair_information(data, counts)
    for kind in ("conditional", "plain", "joint"):
        np.testing.assert_allclose(getattr(kept, kind), getattr(passing, kind), rtol=0, atol=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_small_groups_of_bit_sets_change_no_bit(gaps, monkeypatch):
    data = encoded(np.random.default_rng(6), MIXED, 3, 150, gaps, linked=True)
    counts, skip = count(data), np.zeros((5, 5), bool)
    skip[1, 2] = skip[2, 1] = True
    whole = pair_information(data, counts, method="bits", skip=skip)
    tables = count_pairs(data, counts, method="bits")
    monkeypatch.setattr("discbayes.counts.pair_runs.BIT_BYTES", 200)
    tiled = pair_information(data, counts, method="bits", skip=skip)
    for kind in ("conditional", "plain", "joint", "total"):
        np.testing.assert_array_equal(getattr(tiled, kind), getattr(whole, kind))
    np.testing.assert_array_equal(count_pairs(data, counts, method="bits").cells, tables.cells)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_sums_over_margins_change_no_bit(gaps):
    """Complete pairs are measured by sums over the margins of single features."""
    data = encoded(np.random.default_rng(6), MIXED, 3, 150, gaps, linked=True)
    bits, loop = (pair_information(data, count(data), method=kind) for kind in ("bits", "loop"))
    for kind in ("conditional", "plain", "joint", "total"):
        np.testing.assert_array_equal(getattr(bits, kind), getattr(loop, kind))


@pytest.mark.parametrize("skipping", [False, True])
def test_pairs_in_passes_are_those_of_one_block(skipping, monkeypatch):
    monkeypatch.setattr("discbayes.counts.contingency.CELLS_OF_A_PASS", 50)
    data = encoded(np.random.default_rng(6), MIXED, 3, 150, 0.1, linked=True)
    skip = np.zeros((5, 5), bool)
    skip[1, 2] = skip[2, 1] = skip[3, 4] = skip[4, 3] = skip[0, 1] = skip[1, 0] = skipping
    blocks = RowBlocks(RowsInMemory(data, size=40))
    whole = pair_information(data, count(data), skip=skip)
    passed = pair_information(blocks, count(data), skip=skip)
    for kind in ("conditional", "plain", "joint", "total"):
        np.testing.assert_array_equal(getattr(passed, kind), getattr(whole, kind))


@pytest.mark.parametrize("method", ["bits", "loop"])
def test_skipped_pairs_are_zero_and_the_others_unchanged(method):
    data = encoded(np.random.default_rng(7), MIXED, 3, 100, linked=True)
    skip = np.zeros((5, 5), bool)
    skip[1, 2] = skip[2, 1] = skip[0, 4] = skip[4, 0] = True
    full = pair_information(data, count(data), method=method)
    got = pair_information(data, count(data), method=method, skip=skip)
    assert full.conditional[1, 2] > 0
    for kind in ("conditional", "plain", "joint"):
        np.testing.assert_array_equal(getattr(got, kind), np.where(skip, 0.0, getattr(full, kind)))


def test_weights_equal_duplicates():
    rng = np.random.default_rng(8)
    data = encoded(rng, MIXED, 3, 60, gaps=0.2, linked=True)
    times = rng.integers(0, 4, size=60)
    weighted = Encoded(data.codes, data.domain, data.y, times.astype(float))
    repeated = rows_of(data, np.repeat(np.arange(60), times))
    np.testing.assert_array_equal(count(weighted).cells, count(repeated).cells)
    np.testing.assert_array_equal(count(weighted).class_count, count(repeated).class_count)
    np.testing.assert_array_equal(
        count_pairs(weighted, count(weighted)).cells, count_pairs(repeated, count(repeated)).cells
    )
    np.testing.assert_allclose(
        pair_information(weighted, count(weighted)).conditional,
        pair_information(repeated, count(repeated)).conditional,
        rtol=0,
        atol=1e-13,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_no_bit(weighted, monkeypatch):
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    data = encoded(np.random.default_rng(9), [2, 3, 9, 1] * 4, 3, 333, gaps=0.1, weighted=weighted)
    one, two = count(data, n_jobs=1), count(data, n_jobs=2)
    np.testing.assert_array_equal(one.cells, two.cells)
    np.testing.assert_array_equal(count_pairs(data, one, 1).cells, count_pairs(data, one, 2).cells)
    np.testing.assert_array_equal(
        pair_information(data, one, 1).conditional, pair_information(data, one, 2).conditional
    )
    layout = Layout(Structure(tuple([()] + [(0,)] * 15)), data.cards, data.n_classes)
    np.testing.assert_array_equal(
        count_families(data, layout, one, 1).cells, count_families(data, layout, one, 2).cells
    )


def test_bit_sets_refuse_weights_and_unknown_methods_are_refused():
    data = encoded(np.random.default_rng(0), [2, 2], 2, 10, weighted=True)
    with pytest.raises(ValueError, match="cannot count weights"):
        count_pairs(data, count(data), method="bits")
    with pytest.raises(ValueError, match="'auto', 'bits' or 'loop', not 'fast'"):
        pair_information(data, count(data), method="fast")


@pytest.mark.parametrize("method", ["bits", "loop"])
def test_a_pair_that_no_row_has_carries_no_information(method):
    data = encoded(np.random.default_rng(3), [2, 3, 2], 2, 40, linked=True)
    data.codes[0, :20] = 2
    data.codes[1, 20:] = 3
    got = pair_information(data, count(data), method=method)
    assert got.conditional[0, 1] == got.plain[0, 1] == got.joint[0, 1] == 0.0
    assert got.conditional[1, 2] > 0


def test_a_column_that_is_missing_everywhere():
    data = encoded(np.random.default_rng(3), [2, 3], 2, 40)
    data.codes[0] = 2
    counts = count(data)
    assert counts.feature(0).sum() == 0
    assert class_information(counts)[0] == 0.0
    assert not pair_information(data, counts).conditional.any()


def test_no_bit_sets_for_columns_of_many_values(monkeypatch):
    """A constant column must not make bit sets of its wide neighbours look cheap: they would fill
    the memory.
    """
    from discbayes.counts import pair_runs

    built = []
    original = pair_runs.BlockPairs._build_bits

    def spy(run, used, n_jobs):
        original(run, used, n_jobs)
        built.append((used.copy(), run.sets.bits.shape[0]))

    monkeypatch.setattr(pair_runs.BlockPairs, "_build_bits", spy)
    data = encoded(np.random.default_rng(4), [1, 5000, 2, 3], 2, 300)
    got = count_pairs(data, count(data))
    (used, n_bit_sets), *_ = built
    assert used.tolist() == [True, False, True, True]
    assert n_bit_sets == 6
    np.testing.assert_array_equal(got.table(0, 1), grouped(data, [0, 1]))


def test_one_feature_has_no_pairs():
    data = encoded(np.random.default_rng(0), [3], 2, 20)
    pairs = count_pairs(data, count(data))
    assert pairs.cells.size == 0
    assert pairs.information().conditional.tolist() == [[0.0]]
    assert pair_information(data, count(data)).plain.tolist() == [[0.0]]


def test_data_without_a_class_is_refused():
    data = encoded(np.random.default_rng(0), [3], 2, 20)
    with pytest.raises(ValueError, match="no class column"):
        count(Encoded(data.codes, data.domain))

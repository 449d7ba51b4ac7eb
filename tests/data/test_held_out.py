"""What is held out to calibrate by: brute force, equal rows, classes of one row, weights of any
size, enough rows.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from discbayes.data import folds, row_blocks
from discbayes.data.folds import assign_folds, in_batches


def held_out_weights(keys, classes, weight, n_folds, enough=np.inf, room=folds.MAX_KEYS):
    """How much of each row is held out in each fold."""
    found = assign_folds(
        lambda: in_batches(keys, classes, weight), int(classes.max()) + 1, n_folds, enough, room
    )
    held_out = np.zeros((n_folds, keys.size))
    held_out[found.folds, found.rows] = found.weight
    assert np.array_equal(found.classes, classes[found.rows])
    return held_out


def slow_deal(keys, classes, weight, n_used, n_dealt=None):
    """Equal rows become as many pieces as they weigh; the pieces go round the folds; exact numbers.

    ``n_dealt`` folds if that is given, of which the first ones are used.
    """
    groups = defaultdict(list)
    for m in sorted(range(len(keys)), key=lambda m: (classes[m], keys[m], m)):
        groups[classes[m], keys[m]].append(m)
    n_folds = n_dealt or n_used
    held_out, dealt, alone = np.zeros((n_folds, len(keys))), 0, defaultdict(int)
    for (c, _), rows in groups.items():
        sizes = [Fraction(weight[m]).limit_denominator(10**6) for m in rows]
        n_pieces = ceil(sum(sizes))
        alone[c] += n_pieces
        start = Fraction(0)
        for m, size in zip(rows, sizes, strict=True):
            end = start + size * n_pieces / sum(sizes)
            for piece in range(n_pieces):
                part = max(min(end, piece + 1) - max(start, piece), 0)
                held_out[(dealt + piece) % n_folds, m] += float(part * sum(sizes) / n_pieces)
            start = end
        dealt += n_pieces
    held_out[:, [alone[c] < 2 for c in classes]] = 0
    return held_out[:n_used]


def rows(n=60, seed=0, n_keys=25):
    """Keys, some of them equal, and classes; the last class has one row."""
    rng = np.random.default_rng(seed)
    keys, classes = rng.integers(0, n_keys, n).astype(np.uint64) * 2**50, rng.integers(0, 3, n)
    classes[-1] = 3
    return keys, classes


WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "whole": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "halves": lambda rng, n: rng.integers(1, 9, n) / 2,
    "parts": lambda rng, n: rng.integers(1, 300, n) / 100,
    "small": lambda rng, n: rng.integers(1, 10, n) / 1000,
    "large": lambda rng, n: rng.integers(1, 60, n).astype(float),
}


@pytest.mark.parametrize("n_folds", [2, 3, 5, 80])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_by_brute_force(kind, n_folds):
    for seed in range(3):
        keys, classes = rows(seed=seed)
        weight = WEIGHTS[kind](np.random.default_rng(seed), keys.size)
        found = held_out_weights(keys, classes, weight, n_folds)
        np.testing.assert_allclose(
            found, slow_deal(keys.tolist(), classes.tolist(), weight, n_folds), atol=1e-9
        )
        assert (found.sum(axis=0) <= weight * (1 + 1e-12)).all()


@pytest.mark.parametrize("kind", WEIGHTS)
def test_every_row_is_held_out_as_often_as_it_counts(kind):
    keys, classes = rows()
    weight = WEIGHTS[kind](np.random.default_rng(0), keys.size)
    found = held_out_weights(keys, classes, weight, 5)
    some = np.bincount(classes, weight)[classes] > 1 if kind != "small" else classes < 3
    np.testing.assert_allclose(found.sum(axis=0)[some], weight[some], rtol=1e-9)
    for fold in found:  # something of every class is left to learn from
        assert (np.bincount(classes, weight - fold) > 0).all()


def test_rows_that_differ_are_never_divided():
    keys, classes = (
        np.random.default_rng(0).permutation(97).astype(np.uint64) << np.uint64(32),
        np.arange(97) % 3,
    )
    for weight in (np.ones(97), np.full(97, 0.3), np.random.default_rng(0).random(97)):
        found = held_out_weights(keys, classes, weight, 5)
        assert (np.count_nonzero(found, axis=0) == 1).all()
        np.testing.assert_array_equal(found.sum(axis=0), weight)
        sizes = np.array([np.bincount(classes[fold > 0], minlength=3) for fold in found])
        assert np.ptp(sizes, axis=0).max() <= 1
        assert np.ptp(sizes.sum(axis=1)) <= 1


def test_the_only_row_of_a_class_is_never_held_out():
    keys, classes = (
        np.array([4, 4, 9, 5, 5, 6, 7], np.uint64) << np.uint64(32),
        np.array([0, 0, 1, 2, 2, 3, 3]),
    )
    found = held_out_weights(keys, classes, np.array([1, 1, 1, 0.5, 0.5, 1, 1.0]), 2)
    assert (found > 0).any(axis=0).tolist() == [True, True, False, False, False, True, True]
    assert not held_out_weights(keys[:3], np.arange(3), np.ones(3), 5).any()
    heavy = held_out_weights(keys[:3], np.arange(3), np.array([2.0, 1, 1]), 5)
    assert heavy[:, 0].sum() == 2
    assert not heavy[:, 1:].any()


def by_row(keys, classes, found):
    """What is held out of all rows that are equal, in the order of the keys."""
    _, group = np.unique(
        np.column_stack([classes, keys.astype(np.int64)]), axis=0, return_inverse=True
    )
    return np.array([np.bincount(group, fold) for fold in found])


@pytest.mark.parametrize("kind", ["ones", "whole"])
def test_weights_are_repetitions_and_the_order_changes_nothing(kind):
    keys, classes = rows(200)
    weight = WEIGHTS[kind](np.random.default_rng(0), 200)
    one = held_out_weights(keys, classes, weight, 5)
    order = np.random.default_rng(1).permutation(200)
    two = held_out_weights(keys[order], classes[order], weight[order], 5)
    again = np.repeat(order, weight[order].astype(int))
    three = held_out_weights(keys[again], classes[again], np.ones(again.size), 5)
    np.testing.assert_allclose(
        by_row(keys[order], classes[order], two), by_row(keys, classes, one), atol=1e-12
    )
    np.testing.assert_allclose(
        by_row(keys[again], classes[again], three), by_row(keys, classes, one), atol=1e-12
    )


@pytest.mark.parametrize("scale", [1e-12, 1e9, 1e18])
def test_weights_of_any_scale_are_spread(scale):
    keys, classes = rows()
    found = held_out_weights(keys, classes, np.full(60, scale), 5)
    some = np.bincount(classes)[classes] > 1 if scale < 1 else np.ones(60, bool)
    np.testing.assert_allclose(found.sum(axis=0)[some], scale, rtol=1e-6)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert np.ptp(found.sum(axis=1)) < 0.2 * found.sum()
    if scale > 1:
        np.testing.assert_allclose(found[:, some], scale / 5, rtol=1e-4)


def test_no_more_folds_than_are_enough():
    keys, classes = rows(100, n_keys=10**6)
    everything = held_out_weights(keys, classes, np.ones(100), 5)
    sizes = np.cumsum(everything.sum(axis=1))
    for enough, n_used in [
        (0.5, 1),
        (19, 1),
        (21, 2),
        (sizes[1], 2),
        (sizes[1] + 0.5, 3),
        (95, 5),
        (1000, 5),
    ]:
        found = held_out_weights(keys, classes, np.ones(100), 5, enough)
        np.testing.assert_array_equal(found[:n_used], everything[:n_used])
        assert not found[n_used:].any()
    assert held_out_weights(keys, classes, np.full(100, 3.0), 5, 61).any(axis=1).tolist() == [
        True,
        True,
        *[False] * 3,
    ]


# In bounded memory, and of many rows


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("room", [1, 3, 10, 40])
def test_portions_and_room_change_no_bit(kind, room, monkeypatch):
    for seed in range(3):
        keys, classes = rows(seed=seed, n_keys=[25, 5, 1000][seed])
        weight = WEIGHTS[kind](np.random.default_rng(seed), keys.size)
        expected = held_out_weights(keys, classes, weight, 5)
        # single keys by single rows would take seconds
        for size in (7, 60) if room < 10 else (1, 7):
            monkeypatch.setattr(row_blocks, "ROWS_OF_BLOCK", size)
            np.testing.assert_array_equal(
                held_out_weights(keys, classes, weight, 5, room=room), expected
            )


@pytest.mark.parametrize("kind", WEIGHTS)
def test_of_many_rows_some_are_held_out(kind, monkeypatch):
    monkeypatch.setattr(folds, "MAX_ROWS", 40)
    for seed in range(3):
        keys, classes = rows(200, seed, n_keys=[25, 3, 1000][seed])
        weight = WEIGHTS[kind](np.random.default_rng(seed), keys.size)
        found = held_out_weights(keys, classes, weight, 5, room=7)
        n_dealt = ceil(5 * max(200, weight.sum()) / 40)
        np.testing.assert_allclose(
            found, slow_deal(keys.tolist(), classes.tolist(), weight, 5, n_dealt), atol=1e-9
        )
        assert found.sum() <= 2 * 40
        if kind in ("ones", "whole", "large"):
            assert abs(found.sum() - 40) <= 5
    few = held_out_weights(keys[:40], classes[:40], weight[:40], 5)
    np.testing.assert_allclose(
        few, slow_deal(keys[:40].tolist(), classes[:40].tolist(), weight[:40], 5), atol=1e-9
    )


def test_the_order_of_many_rows_changes_nothing(monkeypatch):
    monkeypatch.setattr(folds, "MAX_ROWS", 50)
    keys, classes = rows(300, n_keys=40)
    one = held_out_weights(keys, classes, np.ones(300), 5)
    order = np.random.default_rng(1).permutation(300)
    two = held_out_weights(keys[order], classes[order], np.ones(300), 5)
    np.testing.assert_array_equal(
        by_row(keys[order], classes[order], two), by_row(keys, classes, one)
    )
    assert one.sum() == 50

"""Orders of the features against plain Python: informations and rates from dictionaries of tuples,
no shortcut.
"""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest

from coded import MIXED, WIDE, domain_of, encoded
from discbayes.counts import count
from discbayes.data.domain import Encoded
from discbayes.search import feature_orders
from discbayes.search.feature_orders import ORDERS, Order, order_features

MEASURED = ["omi", "min-mi", "omisp", "ocr"]
CLOSE = 1e-9


def tallies(data, features, with_class):
    """The weight of every combination of values that occurs; a gap is a value."""
    tally = Counter()
    for m in range(data.n_samples):
        key = tuple(int(data.codes[i, m]) for i in features)
        tally[(*key, int(data.y[m])) if with_class else key] += (
            1.0 if data.weight is None else float(data.weight[m])
        )
    return tally


def information(data, feature, earlier):
    """I(C;X|E) = Σ p(c,x,e) log p(c,x,e) p(e) / p(c,e) p(x,e)."""
    cxe, xe = tallies(data, [*earlier, feature], True), tallies(data, [*earlier, feature], False)
    ce, e = tallies(data, earlier, True), tallies(data, earlier, False)
    total = sum(cxe.values())
    terms = (
        n * log(n * e[k[:-2]] / ce[(*k[:-2], k[-1])] / xe[k[:-1]]) for k, n in cxe.items() if n > 0
    )
    return sum(terms) / total if total else 0.0


def rate(data, feature, earlier):
    """The share of rows that have the most frequent class of their cell."""
    best = Counter()
    for key, n in tallies(data, [*earlier, feature], True).items():
        best[key[:-1]] = max(best[key[:-1]], n)
    total = sum(tallies(data, [], False).values())
    return sum(best.values()) / total if total else 0.0


def first_of_best(candidates, value):
    values = [value(candidate) for candidate in candidates]
    return next(
        candidate
        for candidate, v in zip(candidates, values, strict=True)
        if v >= max(values) - CLOSE
    )


def single_parent(data, feature, earlier):
    return max(
        (information(data, feature, [e]) for e in earlier), default=information(data, feature, [])
    )


def plain_order(data, how, before=None):
    """The order by the definition: every measure anew from all rows."""
    n = data.n_features
    before = np.zeros((n, n), bool) if before is None else before
    score = {
        "omi": information,
        "min-mi": lambda *query: -information(*query),
        "omisp": single_parent,
        "ocr": rate,
    }[how]
    order, edge = [], None

    def ready(placed):
        return [
            i
            for i in range(n)
            if i not in placed and set(np.flatnonzero(before[:, i])) <= set(placed)
        ]

    if how == "omi" and n > 1:
        order = list(edge := plain_pair(data, ready))
    while len(order) < n:
        order.append(first_of_best(ready(order), lambda i: score(data, i, order)))
    return tuple(order), edge


def plain_pair(data, ready):
    ways = {(a, b) for a in ready([]) for b in ready([a])}
    pairs = sorted({(min(way), max(way)) for way in ways})
    a, b = first_of_best(
        pairs, lambda pair: information(data, pair[0], []) + information(data, pair[1], pair[:1])
    )
    turned = information(data, b, []) > information(data, a, []) + CLOSE
    return next(way for way in ([(b, a), (a, b)] if turned else [(a, b), (b, a)]) if way in ways)


def ordered(data, how, **options):
    return order_features(data, count(data), how, **options)


def assert_plain(data, how, before=None):
    found = ordered(data, how, before=before)
    assert (found.features, found.first_edge) == plain_order(data, how, before)
    assert all(type(i) is int for i in found.features)


def some_data(seed, **options):
    rng = np.random.default_rng(seed)
    cards, n_classes = [
        (MIXED, 2),
        ([2, 2, 3, 2, 2, 2], 3),
        (WIDE, 3),
        ([3, 2, 4, 2], 26),
        ([2] * 7, 2),
    ][seed % 5]
    return encoded(rng, cards, n_classes, n_rows=[150, 40, 90][seed % 3], **options)


@pytest.mark.parametrize("how", MEASURED)
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("gaps, weighted", [(0.0, False), (0.3, False), (0.0, True), (0.2, True)])
@pytest.mark.parametrize("seed", range(5))
def test_orders_equal_those_by_the_definition(seed, gaps, weighted, linked, how):
    assert_plain(some_data(seed, gaps=gaps, weighted=weighted, linked=linked), how)


@pytest.mark.parametrize("how", MEASURED)
@pytest.mark.parametrize("seed", range(6))
def test_what_must_come_before_does(seed, how):
    rng = np.random.default_rng(seed)
    data = some_data(seed, linked=True, gaps=0.1 * (seed % 2))
    n = data.n_features
    turn = rng.permutation(n)
    before = (turn[:, None] < turn) & (rng.random((n, n)) < 0.4)
    assert_plain(data, how, before)


@pytest.mark.parametrize("how", [*MEASURED, "random"])
def test_a_whole_chain_leaves_no_choice(how):
    chain = [3, 1, 0, 4, 2]
    before = np.zeros((5, 5), bool)
    before[chain[:-1], chain[1:]] = True
    found = ordered(some_data(0, linked=True), how, before=before)
    assert found.features == tuple(chain)
    assert found.first_edge == ((3, 1) if how == "omi" else None)


def table(columns, y, weight=None):
    codes = np.array(columns, np.uint8)
    weight = None if weight is None else np.array(weight, float)
    cards = [max(2, int(row.max(initial=0)) + 1) for row in codes]
    return Encoded(
        codes, domain_of(cards, int(np.max(y, initial=1)) + 1), np.array(y, np.int32), weight
    )


def test_a_worked_example():
    """The class is the exclusive or of two columns, each of which alone tells nothing; the first
    column tells some.
    """
    a = np.tile([0, 0, 1, 1], 25)
    b = np.tile([0, 1, 0, 1], 25)
    hint = np.where(np.arange(100) < 60, a ^ b, 0)
    data = table([hint, a, b], a ^ b)
    assert ordered(data, "omi") == Order((1, 2, 0), (1, 2), evaluations=6)
    assert ordered(data, "omisp").features == (0, 1, 2)
    assert ordered(data, "ocr").features == (0, 1, 2)
    assert ordered(data, "min-mi").features == (1, 0, 2)


@pytest.mark.parametrize("how", MEASURED)
def test_equal_columns_come_by_position(how):
    rng = np.random.default_rng(0)
    one, y = rng.integers(3, size=80), rng.integers(3, size=80)
    columns = [one, (one + 1) % 3, one, 2 - one]
    assert ordered(table(columns, y), how).features == (0, 1, 2, 3)
    weight = rng.random(80)
    assert ordered(table(columns, y, weight), how).features == (0, 1, 2, 3)


@pytest.mark.parametrize("weight", [None, 1 / 3, 0.1])
@pytest.mark.parametrize("how", ["omi", "min-mi", "ocr"])
def test_columns_that_tell_the_same_by_other_numbers_are_equal(how, weight):
    """A cell of 4 and 4, or two of 2 and 2, leave the same entropy, and so does any grouping in the
    same shares.
    """
    y = np.tile([0, 1], 24)
    m = np.arange(48)
    columns = [m // 2 % 2, m // 6, m // 12, m // 2 % 3, np.zeros(48), m // 24]
    weights = None if weight is None else np.full(48, weight)
    assert ordered(table(columns, y, weights), how).features == tuple(range(6))


@pytest.mark.parametrize("how", MEASURED)
def test_rows_that_are_all_told_apart_leave_the_rest_by_position(how):
    rng = np.random.default_rng(1)
    columns = [*rng.integers(3, size=(4, 30)), np.arange(30), *rng.integers(3, size=(3, 30))]
    data = table(columns, rng.integers(2, size=30))
    assert_plain(data, how)
    if how == "ocr":
        assert ordered(data, how) == Order((4, 0, 1, 2, 3, 5, 6, 7), evaluations=8)


@pytest.mark.parametrize("gaps, weighted", [(0.0, False), (0.3, True)])
def test_dropping_parts_of_one_class_changes_no_measure(gaps, weighted):
    data = encoded(
        np.random.default_rng(4), [3] * 7, 2, 60, gaps=gaps, weighted=weighted, linked=True
    )
    if gaps:
        data = Encoded(data.codes, domain_of([4] * 7, 2), data.y, data.weight)
    everything = parts = feature_orders._Partition.of(data)
    class_entropy = information(table_of_class(data), 0, [])
    earlier = []
    for feature in [5, 0, 2, 6]:
        for candidate in set(range(7)) - set(earlier):
            told = class_entropy + parts.information(candidate) / everything.total
            chain = sum(
                information(data, i, [*earlier, candidate][:k])
                for k, i in enumerate([*earlier, candidate])
            )
            assert told == pytest.approx(chain, abs=1e-12)
            wrong = (parts.total - parts.correct_weight(candidate)) / everything.total
            assert 1 - wrong == pytest.approx(rate(data, candidate, earlier), abs=1e-12)
        parts = parts.split(feature)
        earlier.append(feature)
    assert parts.rows.size < everything.rows.size


def table_of_class(data):
    return Encoded(data.y[None].astype(np.uint8), data.domain, data.y, data.weight)


@pytest.mark.parametrize("how", MEASURED)
def test_weights(how):
    rng = np.random.default_rng(2)
    data = some_data(1, linked=True)
    weight = rng.integers(4, size=data.n_samples)
    weighted = Encoded(data.codes, data.domain, data.y, weight.astype(float))
    repeated = Encoded(
        np.repeat(data.codes, weight, axis=1), data.domain, np.repeat(data.y, weight)
    )
    expected = ordered(repeated, how)
    assert ordered(weighted, how) == expected
    for scale in (1e-200, 1 / 3, 1e12):
        assert ordered(Encoded(data.codes, data.domain, data.y, weight * scale), how) == expected


@pytest.mark.parametrize("how", [*MEASURED, "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_nothing(monkeypatch, how, weighted):
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    data = some_data(0, linked=True, gaps=0.1, weighted=weighted)
    assert ordered(data, how, n_jobs=1, rng=3) == ordered(data, how, n_jobs=3, rng=3)


@pytest.mark.parametrize("how", ["omi", "omisp"])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_with_tables_above_the_limit_are_measured_too(monkeypatch, seed, how):
    data = some_data(seed, linked=True, gaps=0.1 * (seed % 2), weighted=seed == 3)
    expected = ordered(data, how)
    monkeypatch.setattr(feature_orders, "MAX_TABLE_SIZE", 20)
    assert ordered(data, how) == expected


@pytest.mark.parametrize("how", MEASURED)
@pytest.mark.parametrize(
    "data",
    [
        table([[0], [1], [0]], [1]),
        table([[0, 0], [0, 1], [1, 0]], [0, 1]),
        table([[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]], [0, 0, 0, 0]),
        table([[0, 0, 0], [0, 0, 0]], [0, 1, 0]),
        table([[0, 1, 0], [0, 0, 1], [1, 1, 1]], [0, 1, 0], [0.0, 0.0, 0.0]),
        table([[0, 1, 0, 1]], [0, 1, 1, 0]),
    ],
    ids=["one row", "two rows", "one class", "one value", "no weight", "one feature"],
)
def test_little_data(data, how):
    assert_plain(data, how)


def test_a_column_of_gaps_alone():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=40).astype(np.int32)
    codes = np.array([np.ones(40), y, rng.integers(3, size=40)]).astype(np.uint8)
    data = Encoded(codes, domain_of([1, 2, 2], 2), y)
    for how in MEASURED:
        assert_plain(data, how)
    assert ordered(data, "omisp").features == (1, 0, 2)


def test_random_orders():
    data = some_data(4)
    drawn = ordered(data, "random", rng=np.random.default_rng(5))
    assert drawn == Order(tuple(np.random.default_rng(5).permutation(7).tolist()))
    before = np.zeros((7, 7), bool)
    before[6, :6] = True
    found = ordered(data, "random", rng=5, before=before).features
    assert found == (6, *(i for i in drawn.features if i != 6))


def test_given_orders():
    data = some_data(0)
    assert ordered(data, ["x3", 0, "x1", np.int64(4), 2]) == Order((3, 0, 1, 4, 2))
    assert ordered(data, np.arange(5)[::-1]).features == (4, 3, 2, 1, 0)


@pytest.mark.parametrize(
    "how, message",
    [
        (
            "best",
            "order='best' is not one of omi, min-mi, omisp, ocr, random, or a list of all columns",
        ),
        ([0, 1, 2], "the order leaves out 'x3', 'x4'; it must have every column once"),
        (
            [0, 1, 2, 3, 4, 1, "x0"],
            "the order names 'x0', 'x1' more than once; it must have every column once",
        ),
        ([0, 1, 2, 3, "z"], "the order names 'z', which is not a column"),
        ([0, 1, 2, 3, 5], "the order names 5, which is not a column"),
        ([4, 3, 2, 1, 0], "the order has 'x2' before 'x1', which must come earlier"),
    ],
)
def test_orders_that_are_none(how, message):
    before = np.zeros((5, 5), bool)
    before[1, 2] = True
    with pytest.raises(ValueError) as error:
        ordered(some_data(0), how, before=before)
    assert str(error.value).startswith(message)


def test_impossible_demands():
    ring = np.zeros((5, 5), bool)
    ring[[0, 1, 2], [1, 2, 0]] = True
    with pytest.raises(
        ValueError, match="no order is possible: the edges form a cycle: x0 -> x1 -> x2 -> x0"
    ):
        ordered(some_data(0), "omi", before=ring)
    with pytest.raises(
        ValueError, match=r"before has the shape \(2, 2\), and 5 features need \(5, 5\)"
    ):
        ordered(some_data(0), "omi", before=ring[:2, :2])


@pytest.mark.parametrize("how", MEASURED)
def test_an_order_can_be_stopped_at_any_step(how):
    calls = []

    def check():
        calls.append(how)
        if len(calls) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        ordered(some_data(4), how, check=check)


def test_evaluations_are_those_that_were_made():
    data = some_data(4)  # 7 columns
    assert [ordered(data, how).evaluations for how in ORDERS if how != "random"] == [
        21 + 7 + 5 + 4 + 3 + 2,
        7 + 6 + 5 + 4 + 3 + 2,
        21 + 7,
        7 + 6 + 5 + 4 + 3 + 2,
    ]
    constant = table(np.zeros((5, 6)), [0, 1, 0, 1, 1, 0])
    # the columns split nothing, so their rates stay
    assert ordered(constant, "ocr").evaluations == 5

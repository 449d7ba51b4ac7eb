"""Counterfactuals against brute force over all rows that can be reached; the beam, gaps, what must
stay, bad input.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from believing import CALIBRATIONS, KINDS, believing, random_tables, some_rows
from discbayes import KDB, BayesNetClassifier, load_dataset
from discbayes.data.table_reader import read_table
from discbayes.explanations import changes as search
from discbayes.explanations import counterfactual
from discbayes.explanations.changes import Changes, joined_features
from discbayes.explanations.single_row import one_row
from discbayes.inference import log_joint
from discbayes.network import CPTs, Layout, Structure


def ask(beliefs, codes, **options):
    """The counterfactual of one row of codes."""
    domain = beliefs.network.domain
    row = one_row(
        {v.name: v.decode(code)[0] for v, code in zip(domain.features, codes[:, :1], strict=True)},
        domain.names,
    )
    return counterfactual(beliefs, codes, row, **options)


def reachable(beliefs, codes, keep=()):
    """Every row that changes of known values lead to, and the number of changes."""
    domain = beliefs.network.domain
    ways = []
    for variable, code in zip(domain.features, codes[:, 0].tolist(), strict=True):
        free = code < variable.card and variable.name not in keep
        ways.append(
            [code, *(v for v in range(variable.card - variable.missing_value) if v != code)]
            if free
            else [code]
        )
    rows = np.array(list(product(*ways)), dtype=codes.dtype).T
    return rows, (rows != codes).sum(axis=0)


def brute(beliefs, codes, target=None, keep=()):
    """The smallest number of changes and the largest probability of the decision; None where
    nothing leads there.
    """
    rows, sizes = reachable(beliefs, codes, keep)
    now = beliefs.decisions(codes)[0]
    decisions, posterior = beliefs.decisions(rows), beliefs.posterior(rows)
    right = decisions != now if target is None else decisions == target
    right &= np.isfinite(beliefs.log_joint(rows)).any(axis=1)
    if not right.any():
        return None
    size = sizes[right].min()
    best = right & (sizes == size)
    return int(size), float(posterior[best, decisions[best]].max()), int(best.sum())


def changed(beliefs, codes, result):
    """The row with the changes of a result, each of them checked against the row."""
    domain, row = beliefs.network.domain, codes.copy()
    for name, before, after in result.changes:
        i = domain.position(name)
        variable = domain.features[i]
        assert before == variable.labels[row[i, 0]]
        assert before != after
        row[i] = variable.labels.index(after)
    return row


def check(beliefs, codes, result, expected):
    """A result has the size and the probability that brute force found, and the classifier
    agrees.
    """
    if expected is None:
        assert not result.found
        assert result.proven
        assert result.changes == []
        return
    size, probability, n_best = expected
    assert result.found
    assert result.proven
    assert len(result.changes) == size
    assert result.probability == pytest.approx(probability, abs=1e-8)
    assert len(result.alternatives) == min(n_best - 1, 4)
    for one in (result, *result.alternatives):
        row = changed(beliefs, codes, one)
        assert beliefs.decisions(row)[0] == one.label_after
        np.testing.assert_allclose(beliefs.posterior(row)[0], one.posterior_after, atol=1e-12)
        assert len(one.changes) == size
    chances = [one.probability for one in (result, *result.alternatives)]
    assert (np.diff(chances) <= 1e-8).all()
    assert len({tuple(one.changes) for one in (result, *result.alternatives)}) == len(chances)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{}, {"normalized": False}, {"zeros": True}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_size_and_probability_equal_brute_force(kind, options, seed):
    tables, rng = random_tables(seed, kind, **options)
    for calibration in CALIBRATIONS:
        beliefs = believing(tables, calibration, rng=rng)
        for gaps in (0.0, 0.4):
            for codes in some_rows(rng, tables.cards, 2, gaps).T[:, :, None]:
                check(beliefs, codes, ask(beliefs, codes), brute(beliefs, codes))


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_target_with_columns_that_stay_and_another_prior(kind):
    tables, rng = random_tables(20, kind, n_classes=3)
    for calibration in CALIBRATIONS:
        beliefs = believing(tables, calibration, np.log([0.6, 0.3, 0.1]), rng)
        for codes in some_rows(rng, tables.cards, 4, 0.2).T[:, :, None]:
            now = int(beliefs.decisions(codes)[0])
            for target in {0, 1, 2} - {now}:
                check(
                    beliefs,
                    codes,
                    ask(beliefs, codes, target=target),
                    brute(beliefs, codes, target),
                )
            keep = ["a", "d"]
            result = ask(beliefs, codes, keep=keep)
            assert not {name for name, _, _ in result.changes} & set(keep)
            check(beliefs, codes, result, brute(beliefs, codes, keep=keep))


def test_sets_of_four_changes_are_found_and_proven():
    """Every one of seven copies speaks for the class with the same weight, so a majority has to
    change.
    """
    layout = Layout(Structure.naive(7), np.full(7, 2), 2)
    beliefs = believing(CPTs(layout, np.log([0.5, 0.5]), np.log(np.tile([0.8, 0.2, 0.2, 0.8], 7))))
    codes = np.zeros((7, 1), np.uint8)
    result = ask(beliefs, codes)
    assert [name for name, _, _ in result.changes] == list("abcd")  # the first of equal ones
    assert [[c[0] for c in other.changes] for other in result.alternatives[:2]] == [
        list("abce"),
        list("abcf"),
    ]
    check(beliefs, codes, result, brute(beliefs, codes))
    short = ask(beliefs, codes, max_changes=3)
    assert not short.found
    assert short.proven
    assert short.text().endswith(
        "no set of up to 3 changes of known values leads to another decision"
    )
    assert short.posterior_after is None
    assert np.isnan(short.probability)
    assert len(short.to_frame("pandas")) == 0


def test_exact_ties_are_decided_as_predict_does():
    """With six copies three changes make both classes equal, and predict then takes the first."""
    layout = Layout(Structure.naive(6), np.full(6, 2), 2)
    beliefs = believing(CPTs(layout, np.log([0.5, 0.5]), np.log(np.tile([0.8, 0.2, 0.2, 0.8], 6))))
    for start in (0, 1):
        codes = np.full((6, 1), start, np.uint8)
        check(beliefs, codes, ask(beliefs, codes), brute(beliefs, codes))


# ---- the beam


def limited(monkeypatch, pairs=10**9, sets=10**9):
    monkeypatch.setattr(search, "MAX_PAIRS", pairs)
    monkeypatch.setattr(search, "MAX_SETS", sets)


@pytest.mark.parametrize("pairs, sets", [(0, 0), (10**9, 0)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_beam_gives_sets_of_which_nothing_can_be_left_out(kind, pairs, sets, monkeypatch):
    limited(monkeypatch, pairs, sets)
    n_proven = n_larger = 0
    for seed in range(12):
        tables, rng = random_tables(seed + 40, kind, n_features=6)
        beliefs = believing(tables)
        codes = some_rows(rng, tables.cards, 1, 0.1)
        result, expected = ask(beliefs, codes), brute(beliefs, codes)
        if not result.found:
            continue
        size = len(result.changes)
        n_larger += size > expected[0]
        n_proven += result.proven
        assert size == expected[0] or not result.proven
        assert result.proven == (size <= (3 if pairs else 2))
        now = beliefs.decisions(codes)[0]
        assert beliefs.decisions(changed(beliefs, codes, result))[0] != now
        for kept in combinations(result.changes, size - 1):
            part = replace(result, changes=list(kept))
            assert beliefs.decisions(changed(beliefs, codes, part))[0] == now
    assert n_proven >= 6
    assert n_larger <= 1


def test_the_beam_is_exact_for_two_classes_of_naive_bayes(monkeypatch):
    """There the best set of k changes is that of the k best ones."""
    for seed in range(8):
        tables, rng = random_tables(seed, "naive", n_features=6, n_classes=2)
        tables = replace(tables, log_prior=np.log([0.97, 0.03]))
        beliefs = believing(tables)
        codes = some_rows(rng, tables.cards, 1, 0.0)
        with monkeypatch.context() as patch:
            limited(patch, 0, 0)
            result = ask(beliefs, codes)
        expected = brute(beliefs, codes)
        assert result.found == (expected is not None and expected[0] <= 5)
        if result.found:
            assert len(result.changes) == expected[0]
            assert result.probability == pytest.approx(expected[1], abs=1e-8)


def test_what_the_beam_does_not_find_is_not_proven_impossible(monkeypatch):
    """No value tells anything, and pairs are not all tried."""
    limited(monkeypatch, 0, 0)
    layout = Layout(Structure.naive(3), np.full(3, 2), 2)
    beliefs = believing(CPTs(layout, np.log([0.99, 0.01]), np.log(np.full(12, 0.5))))
    result = ask(beliefs, np.zeros((3, 1), np.uint8))
    assert not result.found
    assert not result.proven
    assert "was found; not all of them were tried" in result.text()


def test_changes_that_are_not_needed_are_removed():
    layout = Layout(Structure.naive(7), np.full(7, 2), 2)
    beliefs = believing(CPTs(layout, np.log([0.5, 0.5]), np.log(np.tile([0.8, 0.2, 0.2, 0.8], 7))))
    one = Changes(beliefs, np.zeros((7, 1), np.uint8), 0, None, np.zeros(7, bool))
    reduced = one._reduced(np.array([[0, 1, 2, 3, 5, 6], [1, 2, 3, 4, 5, 6]]), 1)
    assert len(reduced) == 15 + 15 - 5  # four of each six, five of which they share
    assert {tuple(s) for s in reduced.tolist()} <= set(combinations(range(7), 4))
    assert one._reduced(reduced[:1], 1).tolist() == reduced[:1].tolist()


def test_much_work_is_left_to_the_beam(monkeypatch):
    tables, rng = random_tables(3, "any", n_features=6)
    beliefs = believing(tables)
    codes = some_rows(rng, tables.cards, 1, 0.3)
    one = Changes(beliefs, codes, 0, None, np.zeros(6, bool))
    assert one._most_sets(2) == search.MAX_PAIRS
    monkeypatch.setattr(search, "MAX_STEPS", 10.0)
    assert one._most_sets(2) < one.n_sets(2)
    assert one._width(3) == search._MIN_WIDTH


# ---- the parts of the search


def test_all_sets_are_all_sets_once_in_order(monkeypatch):
    monkeypatch.setattr(search, "_BLOCK_CELLS", 1)
    tables, rng = random_tables(1, "naive", n_features=5)
    one = Changes(
        believing(tables), some_rows(rng, tables.cards, 1, 0.2), 0, None, np.zeros(5, bool)
    )
    one.__dict__["_block"] = 7
    features = one.moves[0]
    for size in (1, 2, 3, 4):
        found = [tuple(s) for block in one.all_sets(size) for s in block.tolist()]
        expected = [
            s for s in combinations(range(one.n_moves), size) if len(set(features[list(s)])) == size
        ]
        assert found == expected
        assert one.n_sets(size) == len(expected)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_features_that_do_not_meet_add_up(seed, normalized):
    tables, rng = random_tables(seed, "any", n_features=6, normalized=normalized)
    codes = some_rows(rng, tables.cards, 1, 0.4)
    joined = joined_features(tables.structure, codes[:, 0] >= tables.cards)
    observed = np.flatnonzero(codes[:, 0] < tables.cards)
    for a, b in combinations(observed.tolist(), 2):
        rows = np.repeat(codes, 4, axis=1)
        rows[a, [1, 3]] = (codes[a] + 1) % tables.cards[a]
        rows[b, [2, 3]] = (codes[b] + 1) % tables.cards[b]
        none, first, second, both = log_joint(tables, rows)
        apart = np.allclose(first + second - none, both, atol=1e-10)
        assert apart or joined[a, b]
    assert (joined == joined.T).all()


# ---- what is no answer


def test_rows_that_no_class_can_have_are_no_answer():
    """The other value of a is impossible in both classes; the prior, which would then count, has
    another decision.
    """
    layout = Layout(Structure.naive(2), np.array([2, 2]), 2)
    with np.errstate(divide="ignore"):
        theta = np.log(np.array([1.0, 1.0, 0.0, 0.0, 0.9, 0.1, 0.1, 0.9]))
    beliefs = believing(CPTs(layout, np.log([0.45, 0.55]), theta))
    codes = np.zeros((2, 1), np.uint8)
    assert beliefs.decisions(np.array([[0, 1], [0, 0]], np.uint8)).tolist() == [0, 1]
    assert [name for name, _, _ in ask(beliefs, codes).changes] == ["b"]
    assert not ask(beliefs, codes, keep="b").found


@pytest.mark.parametrize("calibration", [None, "temperature"])
def test_pairs_that_no_class_can_have_are_no_answer(calibration):
    """a1 and b1 exclude each other; c, which stays, speaks against the class that the prior is
    for.
    """
    layout = Layout(Structure(((), (0,), ())), np.array([2, 2, 2]), 2)
    with np.errstate(divide="ignore"):
        theta = np.log(
            np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1, 1, 0, 0, 0.99, 0.01, 0.01, 0.99])
        )
    beliefs = believing(CPTs(layout, np.log([0.3, 0.7]), theta), calibration)
    assert beliefs.decisions(
        np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]], np.uint8)
    ).tolist() == [0, 0, 0, 1]
    result = ask(beliefs, np.zeros((3, 1), np.uint8), keep="c")
    assert not result.found
    assert result.proven


def test_nothing_changes_to_missing():
    """The last value of a stands for "missing at fit": it alone would change the decision."""
    layout = Layout(Structure.naive(1), np.array([3]), 2)
    theta = np.log(np.array([0.5, 0.2, 0.45, 0.2, 0.05, 0.6]))
    tables = CPTs(layout, np.log([0.5, 0.5]), theta)
    codes = np.zeros((1, 1), np.uint8)
    assert ask(believing(tables), codes).changes == [("a", "a0", "a2")]
    assert not ask(believing(tables, missing_value=(0,)), codes).found


@pytest.mark.parametrize("n_classes", [1, 2])
def test_without_known_values_or_other_classes_nothing_can_change(n_classes):
    tables, rng = random_tables(0, "forest", n_classes=n_classes)
    rows = [tables.cards[:, None].astype(np.uint8)] + (
        [some_rows(rng, tables.cards, 1, 0)] if n_classes == 1 else []
    )
    for codes in rows:
        result = ask(believing(tables), codes)
        assert not result.found
        assert result.proven
        assert result.alternatives == ()


@pytest.mark.filterwarnings("ignore::discbayes.EstimateWarning")
def test_estimates_by_draws_prove_nothing():
    tables, _ = random_tables(9, "any", n_features=6)
    beliefs = believing(tables)
    codes = np.where(np.arange(6) < 4, tables.cards, 0).astype(np.uint8)[:, None]
    assert ask(beliefs, codes).proven
    drawing = replace(beliefs, network=replace(beliefs.network, max_cells=1, beyond_max_cells=50))
    assert not ask(drawing, codes).proven


# ---- as people use it


@pytest.fixture(scope="module")
def iris():
    data = load_dataset("iris")
    return BayesNetClassifier("tan", "hybrid").fit(data.X, data.y), data


def test_numbers_that_do_it_lead_to_the_decision(iris):
    clf, data = iris
    for position in (0, 60, 120, 149):
        row = data.X.iloc[[position]]
        result = clf.counterfactual(row)
        assert result.label_before == clf.predict(row)[0]
        np.testing.assert_allclose(result.posterior_before, clf.predict_proba(row)[0], atol=1e-15)
        other = row.copy()
        for (name, _, _), (number, nearest) in zip(result.changes, result.numbers, strict=True):
            assert number == row[name].iloc[0]
            bound = float(next(word for word in nearest.split() if word[0].isdigit()))
            other[name] = np.nextafter(bound, -np.inf) if "below" in nearest else bound
        assert clf.predict(other)[0] == result.label_after != result.label_before
        np.testing.assert_allclose(clf.predict_proba(other)[0], result.posterior_after, atol=1e-12)


def test_text_and_frame(iris):
    clf, data = iris
    result = clf.counterfactual(data.X.iloc[60], keep=["petal width (cm)"])
    lines = result.text().splitlines()
    assert lines[0].startswith("now: versicolor with the probability 0.9")
    assert lines[1].startswith(
        "2 changes, the fewest possible, lead to setosa with the probability "
    )
    assert lines[2] == "  sepal width (cm) from < 2.95 to ≥ 3.35 (now 2, then 3.35 or more)"
    assert lines[4] == "others of that size:"
    assert len(lines) == 5 + len(result.alternatives)
    assert repr(result) == result.text()
    frame = result.to_frame("pandas")
    assert frame.columns.tolist() == [
        "choice",
        "column",
        "from",
        "to",
        "nearest",
        "decision",
        "probability",
    ]
    assert (
        frame["choice"].tolist() == np.repeat(np.arange(1 + len(result.alternatives)), 2).tolist()
    )
    assert frame.loc[0, ["column", "from", "to", "nearest"]].tolist() == [
        "sepal width (cm)", "< 2.95", ">= 3.35", "3.35 or more",
    ]  # fmt: skip
    assert "1 change, the fewest possible, leads to" in clf.counterfactual(data.X.iloc[60]).text()


def test_a_decision_that_is_there_already(iris):
    clf, data = iris
    result = clf.counterfactual(data.X.iloc[[0]], target="setosa")
    assert result.found
    assert result.proven
    assert result.changes == []
    assert "nothing has to change" in result.text()


def test_values_are_quoted_as_they_are():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    frame = pd.DataFrame({"pay": np.where(rng.random(400) < 0.9, y, 1 - y)})
    frame["pay"] = np.where(frame["pay"] == 1, ">=50K", "<50K")
    clf = BayesNetClassifier(parameters="map").fit(frame, np.where(y == 1, "rich", "poor"))
    result = clf.counterfactual({"pay": "<50K"})
    assert result.changes == [("pay", "<50K", ">=50K")]
    assert result.numbers == [None]
    assert "pay from <50K to >=50K" in result.text()
    assert not clf.counterfactual({"pay": "unheard of"}).found


@pytest.mark.parametrize(
    "options, message",
    [
        ({"target": "rose"}, "target='rose' is not one of the classes 'setosa'"),
        ({"keep": "petal"}, "keep names 'petal', which is not a column; the nearest are 'petal"),
        ({"keep": ["petal width (cm)"] * 2}, "twice"),
        ({"max_changes": 0}, "max_changes=0 must be a whole number of at least 1"),
        ({"max_changes": 1.5}, "max_changes=1.5 must be"),
        ({"class_prior": [1.0]}, "class_prior has 1 entries"),
    ],
)
def test_bad_input_is_refused(iris, options, message):
    clf, data = iris
    with pytest.raises(ValueError, match=message):
        clf.counterfactual(data.X.iloc[[0]], **options)
    with pytest.raises(ValueError, match="x has 150 rows, and this looks at one"):
        clf.counterfactual(data.X)


def test_a_row_is_read_as_a_table_is(iris):
    clf, data = iris
    table = read_table(data.X.iloc[[60]])
    assert one_row(table, table.names) is table
    with pytest.raises(ValueError, match="was numeric at fit and now holds the string 'wide'"):
        clf.counterfactual({"petal width (cm)": "wide"})


@pytest.mark.parametrize("structure", ["tan", KDB(k=2)])
@pytest.mark.parametrize("calibrate", [None, "isotonic"])
def test_on_real_rows_all_pairs_are_excluded_before_three(data_folder, structure, calibrate):
    """All pairs by plain prediction, on a data set of many columns."""
    data = load_dataset("vote")
    clf = BayesNetClassifier(structure=structure, parameters="map", calibrate=calibrate).fit(
        data.X, data.y
    )
    for position in range(0, 60, 12):
        codes = clf.encode(data.X.iloc[[position]])
        result = clf.counterfactual(data.X.iloc[[position]])
        one = Changes(clf.calibrated_posterior(), codes, 0, None, np.zeros(codes.shape[0], bool))
        now = clf.calibrated_posterior().decisions(codes)[0]
        for size in range(1, min(len(result.changes), 3)):
            rows = np.concatenate([one.rows(sets) for sets in one.all_sets(size)], axis=1)
            assert (clf.calibrated_posterior().decisions(rows) == now).all()
        size = len(result.changes)
        if size <= 2:
            rows = np.concatenate([one.rows(sets) for sets in one.all_sets(size)], axis=1)
            decisions = clf.calibrated_posterior().decisions(rows)
            chance = clf.calibrated_posterior().posterior(rows)[
                np.arange(decisions.size), decisions
            ]
            assert result.probability == pytest.approx(chance[decisions != now].max(), abs=1e-8)


def test_alternatives_are_not_neighbouring_fine_intervals():
    iris = load_dataset("iris")
    clf = BayesNetClassifier("nb", "map", discretizer="two-resolution").fit(iris.X, iris.y)
    result = clf.counterfactual(iris.X.iloc[[60]], keep="petal length (cm)")
    domain = clf.network_.domain

    def states(changes):
        variables = [domain.features[domain.position(name)] for name, *_ in changes]
        texts = [to for *_, to in changes]
        return tuple(
            (v.name, int(v.states[v.labels.index(to)]))
            for v, to in zip(variables, texts, strict=True)
        )

    found = [states(one.changes) for one in (result, *result.alternatives)]
    assert len(set(found)) == len(found) > 1

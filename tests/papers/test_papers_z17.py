"""The experiments of Z17: published figures, the splits with gaps as values, the measures, and the
pages.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OneHotEncoder

from discbayes._lazy_imports import need
from discbayes.counts import count_families
from discbayes.data import FrameEncoder
from discbayes.engine import Context
from discbayes.evaluation.result_blocks import Picture, ResultTable, as_text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import sign_test
from discbayes.network import Structure
from discbayes.parameters import MaximumAPosteriori
from discbayes.parameters.fits import seen_cells
from discbayes.parameters.parameterization import Weights
from discbayes.recipes import recipe
from discbayes_papers import reproduce
from discbayes_papers.parts import SplitRows, load_rows, two_folds
from discbayes_papers.registry import find
from discbayes_papers.z17 import curves, e_code
from discbayes_papers.z17 import levels as z17_levels
from discbayes_papers.z17 import shared as _z17
from discbayes_papers.z17 import table4 as z17_table4
from discbayes_papers.z17 import table5_6 as z17_table5_6

NAMES = ("fig3", "table4", "table5-6", "scatter", "convergence", "times", "levels")


def learned(rows: SplitRows, tag: str, max_iter: int = 30):
    """A part of some rows and the tables of a recipe on it."""
    part = _z17.value_part(rows, two_folds(rows, 0)[0])
    ((_, fit),) = _z17.learn_all(part, [tag], max_iter)
    return part, fit.tables


def mixed_rows(n: int = 60, seed: int = 0) -> SplitRows:
    """A numeric and two other columns, with gaps in two of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.empty((n, 3), object)
    X[:, 0] = rng.normal(size=n) + 2 * y
    X[:, 1] = rng.choice(["a", "b"], n)
    X[:, 2] = rng.choice(["u", "v", "w"], n)
    X[rng.random(n) < 0.2, 0] = None
    X[::7, 1] = None
    return SplitRows("mixed", X, y, None)


# ---- what is published


@pytest.mark.parametrize(("group", "n"), [("all", 72), ("big", 12)])
def test_the_counts_of_table_4_are_of_all_sets(group, n):
    found = [
        counts for (sets, _), row in z17_table4.PUBLISHED.items() if sets == group for counts in row
    ]
    assert {sum(counts) for counts in found} == {n}


def test_the_p_values_of_table_4_are_those_of_the_sign_test_but_for_four():
    slips = []
    for key, row in z17_table4.PUBLISHED.items():
        for place, (counts, printed) in enumerate(zip(row, z17_table4.PRINTED_P[key], strict=True)):
            p = sign_test(counts[0], counts[2])[0]
            agrees = p < 0.001 if printed == "<0.001" else abs(p - float(printed)) <= 0.0015
            slips += [] if agrees else [(*key, place)]
    # 11/0/1 has p = 0.006
    one_loss = [("big", "error", 2), *(("big", "rmse", place) for place in range(3))]
    assert slips == [("all", "variance", 1), *one_loss]


def test_the_counts_of_tables_5_and_6_are_of_71_sets():
    sums = {
        (group, sum(counts))
        for (_, group, _), row in z17_table5_6.PUBLISHED.items()
        for counts in row
    }
    assert sums == {("all", 71), ("big", 12)}
    assert all(
        sign_test(c[0], c[2])[0] < 0.001 for row in z17_table5_6.PUBLISHED.values() for c in row
    )


def test_the_sets_that_count():
    assert len(_z17.SETS) == len(set(_z17.SETS)) == 45
    assert len(_z17.distinct(_z17.SETS)) == 39
    assert set(_z17.SAME.values()) <= set(_z17.distinct(_z17.SETS))
    assert set(_z17.distinct(_z17.BIG)) == set(_z17.BIG) <= set(_z17.LOWER) <= set(_z17.SETS)


# ---- gaps as values


def test_gaps_are_a_value_in_training_and_in_test():
    rows = mixed_rows()
    train, test = two_folds(rows, 0)[0]
    part = _z17.value_part(rows, (train, test))
    assert not part.data.n_missing.any()
    assert (part.test_codes < part.data.cards[:, None]).all()
    for column in (0, 1):
        gap = np.array([value is None for value in rows.X[:, column]])
        assert (part.test_codes[column] == part.data.cards[column] - 1).tolist() == gap[
            test
        ].tolist()
        assert (part.data.codes[column] == part.data.cards[column] - 1).tolist() == gap[
            train
        ].tolist()
    assert part.data.cards[2] == 3


def test_a_value_that_only_test_rows_have_is_the_value_of_gaps():
    rows = mixed_rows()
    train, test = two_folds(rows, 0)[0]
    X = rows.X.copy()
    X[test[0], 2] = "new"
    part = _z17.value_part(replace(rows, X=X), (train, test))
    assert part.data.cards[2] == 4
    assert part.test_codes[2, 0] == 3
    assert not (part.data.codes[2] == 3).any()


@pytest.mark.parametrize("tag", ["NB-W", "TAN-W", "TAN-D"])
def test_families_without_training_rows_say_nothing(tag):
    part, tables = learned(mixed_rows(), tag)
    seen = seen_cells(part.data, count_families(part.data, tables.layout, part.counts, 1))
    assert not tables.log_theta[~seen].any()
    assert tables.log_theta[seen].any()


# ---- rounds


def test_rounds_of_naive_bayes_agree_with_another_package():
    task = replace(_z17.round_tasks(("M",), quick=True)[1], recipes=("NB-M",))
    assert task.data == "corral"
    (result,) = task.work(task)
    rows = load_rows("corral", complete=False)
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in rows.X.T], axis=1)
    wrong, square = [], []
    for place in range(2):
        for train, test in two_folds(rows, place):
            y = rows.labels[train]
            prior = (np.bincount(y) + 0.5) / (y.size + 1)
            peer = CategoricalNB(alpha=0.5, class_prior=prior).fit(codes[train], y)
            shares = peer.predict_proba(codes[test])
            wrong.append(np.mean(shares.argmax(axis=1) != rows.labels[test]))
            square.append(np.mean((1 - shares[np.arange(test.size), rows.labels[test]]) ** 2))
    assert result["error"] == pytest.approx(np.mean(wrong))
    assert result["rmse"] == pytest.approx(math.sqrt(np.mean(square)))
    assert result["bias"] + result["variance"] == pytest.approx(result["error"])
    assert (result["rounds"], result["n_rows"], result["iterations"]) == (2, 128, 0)


def test_one_round_has_no_bias_and_no_variance():
    task = replace(
        _z17.round_tasks(("M",), quick=True)[0],
        recipes=("NB-M",),
        options={"rounds": 1, "max_iter": 5},
    )
    (result,) = task.work(task)
    assert math.isnan(result["bias"])
    assert math.isnan(result["variance"])
    assert result["error"] > 0


# ---- levels


@pytest.mark.parametrize(("letter", "level"), [("W1", 1), ("W2", 2), ("W3", 3)])
def test_shared_weights_reach_the_cells_without_rows(letter, level):
    part, tables = learned(mixed_rows(40), f"TAN-{letter}")
    families = count_families(part.data, tables.layout, part.counts, 1)
    seen, generative = (
        seen_cells(part.data, families),
        MaximumAPosteriori("m", 1.0).tables(families),
    )
    assert not seen.all()
    # a weight is of all its cells
    every = Weights(tables.layout, np.ones_like(seen), generative, generative, level)
    np.testing.assert_allclose(
        every.tables(every.start(tables)).log_theta, tables.log_theta, atol=1e-8
    )


@pytest.mark.parametrize("tag", ["TAN-W", "KDB1-W1", "TAN-W2", "TAN-W3", "TAN-D"])
def test_a_recipe_gives_what_the_experiment_shows(tag):
    """With a solver that ends as in Z17; nothing is added to the tables afterwards."""
    part, tables = learned(mixed_rows(40), tag, max_iter=20)
    made = recipe(tag, parameters__solver="lbfgs", parameters__tol=0.0, parameters__max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        own = made.parameters.learn(part.data, part.counts, tables.structure, Context())
    assert not seen_cells(part.data, count_families(part.data, tables.layout, part.counts, 1)).all()
    np.testing.assert_array_equal(own.log_theta, tables.log_theta)


def test_backing_off_changes_only_families_without_rows():
    part = _z17.value_part(mixed_rows(40), two_folds(mixed_rows(40), 0)[0])
    (_, plain), (_, backed) = z17_levels.learn_levels(
        part, ["TAN-W", f"TAN-W{z17_levels.BACKED}"], 20
    )
    seen = seen_cells(part.data, count_families(part.data, plain.tables.layout, part.counts, 1))
    np.testing.assert_array_equal(plain.tables.log_theta[seen], backed.tables.log_theta[seen])
    assert not np.array_equal(plain.tables.log_theta, backed.tables.log_theta)


# ---- curves


@pytest.mark.parametrize("tag", ["NB-W", "NB-D-I", "NB-E", f"NB-W{curves.SCIPY}"])
def test_a_curve_falls_from_its_start(tag):
    part = curves.training_part("corral")
    found = curves.descent(part, Structure.naive(6), tag)
    values = [found[metric] for metric in curves.CURVE]
    assert found["n_rows"] == 128
    assert np.all(np.diff(values) <= 1e-12)
    if "-I" not in tag:
        assert values[0] == pytest.approx(math.log(2))
    assert values[-1] == pytest.approx(logistic_loss(part), abs=1e-8)


def logistic_loss(part) -> float:
    """What naive Bayes comes to at the optimum: logistic regression without a penalty."""
    X = OneHotEncoder().fit_transform(part.data.codes.T)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, part.test_y)
    return log_loss(part.test_y, peer.predict_proba(X))


def test_iterations_to_reach_agree_with_a_search_by_hand():
    rng = np.random.default_rng(0)
    for _ in range(50):
        w, other = (np.sort(rng.integers(0, 12, 9))[::-1].astype(float) for _ in range(2))
        low, high, sign = (w, other, 1) if w[3] <= other[3] else (other, w, -1)
        wanted = next((n for n in range(6) if high[3 + n] <= low[3]), 6)
        assert curves.iterations_to_reach(w, other, 3) == sign * wanted


# ---- pages


def synthetic(path, experiment, names) -> Store:
    """A store with made-up figures for some sets."""
    rng = np.random.default_rng(0)
    store = Store(path / "rows.csv", experiment.metrics)
    for task in experiment.tasks(False):
        if task.data in names or task.data.startswith("alpha"):
            for tag in task.recipes:
                figures = {metric: float(rng.uniform(0.1, 0.9)) for metric in experiment.metrics}
                if task.data in _z17.ONE_ROUND:
                    figures = {
                        metric: value for metric, value in figures.items() if metric != "bias"
                    }
                result = Result(task.data, task.fold, tag, task.seed, figures, 0.1)
                store.results[result.key] = result
    return store


@pytest.mark.parametrize("name", NAMES)
def test_pages_of_nothing_of_a_part_and_of_one_set(tmp_path, name):
    experiment = find(f"z17-{name}")
    assert "0 of" in as_text(experiment.page(Store(tmp_path / "none.csv", experiment.metrics)))
    for place, names in enumerate([("iris",), ("iris", "zoo", "pima", "nursery", "mnist14")]):
        (tmp_path / str(place)).mkdir()
        blocks = experiment.page(synthetic(tmp_path / str(place), experiment, names))
        assert all(
            len(row) == len(block.header)
            for block in blocks
            if isinstance(block, ResultTable)
            for row in block.rows
        )
    need("matplotlib").use("agg")
    for block in (block for block in blocks if isinstance(block, Picture)):
        need("matplotlib.pyplot").close(block.draw())


def test_the_page_of_table_4_counts_distinct_sets_only(tmp_path):
    experiment = find("z17-table4")
    store = Store(tmp_path / "rows.csv", experiment.metrics)
    for name in ("diabetes", "pima", "letter"):
        for tag, error in (("NB-W", 0.1), ("NB-M", 0.2)):
            store.add(Result(name, 0, tag, 0, {"error": error}))
    found = z17_table4.compare(store, "all", "error", "NB")
    assert (found.wins, found.draws, found.losses) == (2, 0, 0)
    assert z17_table4.compare(store, "big", "error", "NB").wins == 1
    assert z17_table4.compare(store, "big", "rmse", "NB") is None


def test_the_conditioned_logistic_example_end_to_end(tmp_path):
    blocks = reproduce("z17-fig3", tmp_path, quick=True, n_jobs=1)
    (table,) = (block for block in blocks if isinstance(block, ResultTable))
    assert [row[0] for row in table.rows] == ["0"] * 3 + ["0.5"] * 3 + ["1"] * 3
    assert all(re.match(r"[\d.]+ \(\d+–\d+\)", cell) for row in table.rows for cell in row[2:])
    page = (tmp_path / "quick" / "z17-fig3.md").read_text(encoding="utf-8")
    assert "z17-fig3-curves.png" in page


@pytest.mark.parametrize("loss", ["_direct", "_weights", "_softmax"])
def test_gradients_of_the_simulated_descents_equal_differences(loss):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 3)), rng.integers(0, 3, 40)
    data = FrameEncoder(categorical="all").fit_transform(X, y)
    descent = e_code._Descent(curves.as_part(data), "TAN")
    function = getattr(descent, loss)
    free = rng.normal(size=descent.generative.size)
    step = 1e-6 * np.eye(free.size)
    rise = [(function(free + one)[0] - function(free - one)[0]) / 2e-6 for one in step]
    np.testing.assert_allclose(function(free)[1], rise, atol=1e-8)
    # the code has d's objective, and another gradient
    value, gradient = descent._code(free)
    assert value == descent._direct(free)[0]
    np.testing.assert_allclose(
        gradient, descent._direct(free)[1] * (1 + descent._theta(free)), rtol=1e-12
    )

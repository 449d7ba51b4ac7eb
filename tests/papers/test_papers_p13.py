"""The experiments of P13: published figures, splits, the choice of numbers, gaps at test, and pages
of any store.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from sklearn.base import clone

from discbayes.evaluation.result_blocks import Picture, ResultTable, as_text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.inference import log_joint
from discbayes.parameters import PARAMETERS, MaximumAPosteriori
from discbayes.recipes import parse
from discbayes_papers import reproduce
from discbayes_papers.learning import decisions, learn_structure, learn_tables
from discbayes_papers.p13 import fig1 as p13_fig1
from discbayes_papers.p13 import fig2 as p13_fig2
from discbayes_papers.p13 import fig3 as p13_fig3
from discbayes_papers.p13 import fig4 as p13_fig4
from discbayes_papers.p13 import shared as _p13
from discbayes_papers.p13 import table1 as p13_table1
from discbayes_papers.parts import SplitRows, load_part, make_part, thinned

UNCOMPILED = bool(numba.config.DISABLE_JIT)
MODULES = (p13_fig1, p13_fig2, p13_fig3, p13_fig4, p13_table1)


@pytest.fixture(scope="module")
def part():
    """A small part of rows that any machine has."""
    return load_part("iris", 0, 0, _p13.p13_splits)


def small_rows(name, n=90, n_train=None):
    rng = np.random.default_rng(5)
    return SplitRows(
        name, rng.integers(0, 3, (n, 4)).astype(str).astype(object), rng.integers(0, 3, n), n_train
    )


def empty_store(module, tmp_path):
    return Store(tmp_path / "rows.csv", module.METRICS)


# ---- what was published


def test_the_published_table_is_complete_and_says_what_the_text_says():
    names = {name for name, _ in p13_table1.PUBLISHED}
    assert names == {*_p13.SETS, "TIMIT"}
    assert len(names) == 27
    assert (
        set(p13_table1.PUBLISHED)
        == set(p13_table1.WIDTHS)
        == {(n, c) for n in names for c in p13_table1.COLUMNS}
    )
    better = sum(
        p13_table1.PUBLISHED[name, "ML-BN-SVM"] > p13_table1.PUBLISHED[name, "MM"] for name in names
    )
    assert better == 17  # "ML-BN-SVM performs better than MM in 17 out of 27 datasets" (5.3)


def test_likelihoods_are_published_for_the_methods_beside_ml():
    assert ["ML", *p13_fig3.PUBLISHED] == list(_p13.METHODS)


@pytest.mark.parametrize("module", MODULES)
def test_recipes_are_tags_that_can_be_parsed(module):
    for quick in (True, False):
        for task in module.tasks(quick):
            for recipe in task.recipes:
                assert recipe in p13_fig4.GRIDS or parse(
                    _p13.read_recipe(recipe)[0]
                ).structure_tag in (
                    "NB",
                    "TAN-CMI",
                )


def test_tasks_are_of_the_splits_that_there_are():
    cells = {(task.data, task.fold) for task in p13_table1.tasks(False)}
    assert cells == {(name, fold) for name in _p13.SETS for fold in range(_p13.n_splits(name))}
    assert _p13.n_splits("usps") == 1
    large = [task.fold for task in p13_fig4.tasks(False) if task.data in p13_fig4.LARGE]
    assert large == [0] * len(p13_fig4.LARGE)


# ---- splits


@pytest.mark.parametrize(
    ("name", "sizes"), [("vote", [18] * 5), ("nursery", [30]), ("letter", [40])]
)
def test_splits(name, sizes):
    rows = small_rows(name, n_train=50 if name == "letter" else None)
    splits = _p13.p13_splits(rows)
    assert len(splits) == _p13.n_splits(name)
    assert [len(test) for _, test in splits] == pytest.approx(sizes, abs=2)
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(90))


def test_parts_of_the_rows_that_choose():
    data = make_part(small_rows("vote"), (np.arange(90), np.arange(1))).data
    assert thinned(data, 90) is data
    few = thinned(data, 30)
    assert few.n_samples == pytest.approx(30, abs=3)
    assert set(few.classes) == {0, 1, 2}


# ---- the choice


def test_what_is_set_in_a_recipe_is_not_chosen(part):
    task = Task("iris", 0, (), 0, p13_table1.learn_and_test)
    ml, fixed = (_p13.fit(task, recipe) for recipe in ("NB-P13ML", "NB-MCL tol=0.01"))
    assert ml.choice.numbers == fixed.choice.numbers == {}
    assert ml.choosing_seconds == 0
    exact = _p13.fit(task, "NB-MCL")
    assert len(fixed.learned.history) < len(exact.learned.history)


def test_fits_that_end_by_held_out_training_rows():
    task = Task("iris", 0, (), 0, p13_table1.learn_and_test)
    converged, tuned, held_out, penalized = (
        _p13.fit(task, recipe).learned.value.log_theta
        for recipe in p13_table1.stopped("MCL").values()
    )
    assert np.abs(converged - tuned).max() > 0.1
    assert np.abs(converged - held_out).max() > 0.1
    own = PARAMETERS["cl"]().set_params(generative="map")
    part = load_part("iris", 0, 0, _p13.p13_splits)
    structure = learn_structure(part, parse("TAN").structure).value
    np.testing.assert_allclose(learn_tables(part, structure, own).value.log_theta, penalized)
    margin = PARAMETERS["mm"]()
    assert p13_table1.PENALIZED["MM"] == f"lam={margin.lam} penalty={margin.penalty}"
    assert _p13.read_recipe("TAN-MCL held-out") == ("TAN-MCL", {"stopping": "held-out"})
    tags = {task.data: set() for task in p13_table1.tasks(False)}
    for task in p13_table1.tasks(False):
        tags[task.data] |= set(task.recipes)
    assert {name for name in tags if "NB-MM13 held-out" not in tags[name]} == set(_p13.LARGER)


@pytest.mark.parametrize("tag", ["NB-MM13", "NB-MLBNSVM"])
def test_the_choice_is_that_of_the_learner(part, tag, monkeypatch):
    """A learner that chooses for itself by the same folds ends with the tables of the chosen
    numbers.
    """
    grids = {"MM13": {"lam": (1.0, 0.1)}, "MLBNSVM": {"lam": (0.0, 4.0), "gamma": (0.1, 5.0)}}
    for words, grid in grids.items():
        monkeypatch.setitem(_p13.GRIDS, words, {**_p13.GRIDS[words], **grid})
    _p13.choose.cache_clear()
    choice = _p13.choose("iris", 0, 0, tag)
    _p13.choose.cache_clear()
    assert choice.n_rows == part.data.n_samples
    assert set(choice.numbers) == set(grids[tag.partition("-")[2]])
    structure = learn_structure(part, parse(tag).structure).value
    learner = _p13.p13_learner(tag).set_params(max_iter=200, n_folds=3)
    own = learn_tables(part, structure, learner).value
    chosen = learn_tables(part, structure, clone(learner).set_params(**choice.numbers)).value
    np.testing.assert_allclose(own.log_theta, chosen.log_theta, rtol=1e-9)


# ---- features missing at test


def test_accuracy_with_gaps_begins_at_the_accuracy_and_draws_the_same_for_all(part):
    tables = learn_tables(
        part, learn_structure(part, parse("TAN").structure).value, MaximumAPosteriori()
    ).value
    seen = {"a": [], "b": []}

    def judge(name):
        def decide(codes):
            seen[name].append(codes)
            return decisions(tables)(codes)

        return decide

    found = _p13.accuracy_with_gaps(part, {name: judge(name) for name in seen}, 2)
    right = (log_joint(tables, part.test_codes).argmax(axis=1) == part.test_y).mean()
    assert found["a"]["missing_0"] == pytest.approx(right)
    assert found["a"] == found["b"]
    assert len(seen["a"]) == 2 * len(_p13.SHARES)
    for a, b, share in zip(seen["a"], seen["b"], _p13.SHARES * 2, strict=True):
        assert a is b
        gaps = (a == part.data.cards[:, None]).sum(axis=0)
        assert set(gaps) == {round(share / 100 * part.data.n_features)}


def test_gaps_become_the_mean_of_the_nearest_rows():
    rng = np.random.default_rng(2)
    rows = small_rows("vote", 40)
    data = make_part(rows, (np.arange(40), np.arange(1))).data
    fill = p13_fig4.Imputer(data)
    complete = data.codes[:, :6]
    np.testing.assert_array_equal(fill(complete), fill.seen[:6])
    codes = np.where(rng.random(complete.shape) < 0.3, data.cards[:, None], complete)
    filled = fill(codes)
    assert fill(codes) is filled
    for row in range(6):
        observed = codes[:, row] < data.cards
        agree = (data.codes[observed] == codes[observed, row][:, None]).sum(axis=0)
        bound = np.sort(agree)[-p13_fig4.K]
        sure, possible = np.flatnonzero(agree > bound), np.flatnonzero(agree == bound)
        gaps = np.repeat(~observed, data.cards)
        np.testing.assert_array_equal(filled[row, ~gaps], fill.seen[row, ~gaps])
        total = p13_fig4.K * filled[row, gaps]
        rest = total - fill.seen[sure][:, gaps].sum(axis=0)  # of the rows that are level, some
        assert (rest >= -1e-5).all()
        assert (rest <= fill.seen[possible][:, gaps].sum(axis=0) + 1e-5).all()


def test_a_large_set_is_tested_on_some_rows():
    part = make_part(small_rows("vote", 1500), (np.arange(90), np.arange(90, 1500)))
    some = p13_fig4.some_test_rows(part)
    assert some.n_test == p13_fig4.MAX_TEST == some.test_codes.shape[1]
    assert p13_fig4.some_test_rows(some) is some


# ---- pages


@pytest.mark.parametrize("module", MODULES)
def test_a_page_of_nothing(module, tmp_path):
    text = as_text(module.page(empty_store(module, tmp_path)))
    assert "Stored: 0 of" in text


def filled_store(module, tmp_path):
    """A store of figures that are easy to follow, of one set with all its splits."""
    store = empty_store(module, tmp_path)
    for task in module.tasks(quick=True):
        for place, recipe in enumerate(task.recipes):
            figures = dict.fromkeys(module.METRICS, 0.5 + place / 100)
            figures |= {
                name: -10.0 - place for name in module.METRICS if name.endswith("log_likelihood")
            }
            store.add(Result(task.data, task.fold, recipe, 0, figures, 1.0))
    return store


@pytest.mark.parametrize("module", MODULES)
def test_a_page_of_one_set_and_its_pictures(module, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    blocks = module.page(filled_store(module, tmp_path))
    assert [block for block in blocks if isinstance(block, ResultTable)]
    for block in blocks:
        if isinstance(block, Picture):
            figure = block.draw()
            assert figure.axes
            pyplot.close(figure)
    assert any(isinstance(block, Picture) for block in blocks) == (module is not p13_table1)


def test_figures_stand_beside_the_published_ones(tmp_path):
    store = empty_store(p13_table1, tmp_path)
    for fold, rate in enumerate((0.9, 0.92, 0.94, 0.96, 0.98)):  # the mean is 94
        store.add(
            Result("vote", fold, "TAN-P13ML", 0, {"accuracy": rate, "train_log_likelihood": -9.0})
        )
        if fold < 4:  # not all splits: no figure
            store.add(
                Result(
                    "vote",
                    fold,
                    "TAN-MCL",
                    0,
                    {"accuracy": rate, "train_log_likelihood": -18.0 - fold},
                )
            )
    first, second, *_ = [
        block for block in p13_table1.page(store) if isinstance(block, ResultTable)
    ]
    line = next(row for row in first.rows if row[0] == "vote")
    assert line[1:4] == ["94.00 (94.37)", "– (94.15)", "– (96.01)"]
    assert second.rows[0] == ["ML", "1", "1", "1", "1", "-0.37"]
    kept = p13_table1.relative(store, "vote", "TAN-P13ML", "TAN-MCL")
    assert kept == pytest.approx([100 * 9 / (18 + fold) for fold in range(4)])
    assert p13_fig3.ratios(store, "MCL", ("NB", "TAN"), "train_log_likelihood") == {"vote": kept}


def test_a_curve_that_goes_the_wrong_way_is_said():
    curves = {"slack": [3.0, 2.0, 2.5], "negative_likelihood": [1.0, 2.0, 3.0]}
    assert "the slack by 0.5" in p13_fig1.direction(curves)
    assert "never" in p13_fig1.direction({**curves, "slack": [3.0, 2.0, 2.0]})


# ---- all of it


def test_a_quick_run_from_end_to_end(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    if UNCOMPILED:
        monkeypatch.setattr(p13_fig1, "QUICK_LAMS", (0.0, 1.0))
        monkeypatch.setattr(p13_fig1, "TOL", 1e-3)
    reproduce("p13-fig1", tmp_path, quick=True, n_jobs=1)
    folder = tmp_path / "quick"
    assert (folder / "p13-fig1.md").exists()
    assert (folder / "p13-fig1-path.png").stat().st_size > 1000
    store = Store(folder / "rows" / "p13-fig1.csv", p13_fig1.METRICS)
    assert len(store) == 6 * len(p13_fig1.QUICK_LAMS)
    generative = store.where(recipe="NB-MLBNSVM lam=0", fold=p13_fig1.ALL_ROWS)[0]
    whole = load_part("iris", p13_fig1.ALL_ROWS, 0, p13_fig1.splits)
    tables = learn_tables(
        whole, learn_structure(whole, parse("NB").structure).value, MaximumAPosteriori("ess", 1)
    ).value
    scores = log_joint(tables, whole.data.codes)
    assert generative["train_accuracy"] == pytest.approx(
        (scores.argmax(axis=1) == whole.data.classes).mean(), abs=1e-6
    )
    assert generative["accuracy"] == generative["train_accuracy"]
    before = (folder / "rows" / "p13-fig1.csv").read_bytes()
    reproduce("p13-fig1", tmp_path, quick=True, n_jobs=1)
    assert (folder / "rows" / "p13-fig1.csv").read_bytes() == before


def test_learning_and_testing_gives_every_figure():
    task = Task("iris", 0, ("NB-P13ML", "NB-MCL"), 0, p13_table1.learn_and_test)
    ml, mcl = p13_table1.learn_and_test(task)
    assert set(p13_table1.METRICS) - set(ml.measured) == {"lam", "gamma"}
    assert ml["iterations"] == 0
    assert mcl["iterations"] > 1
    assert math.isnan(ml["chosen_on"])
    # ML has the largest likelihood
    assert mcl["train_log_likelihood"] < ml["train_log_likelihood"] < 0

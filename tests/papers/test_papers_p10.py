"""P10's main tables: the published figures agree with each other, pages cope with any store, runs
go through.
"""

import math

import numpy as np
import pytest
from scipy import stats

from discbayes.engine import Context
from discbayes.evaluation.result_blocks import ResultTable, as_text
from discbayes.evaluation.result_store import Result, Store
from discbayes.inference import log_joint
from discbayes.network import Layout, Structure
from discbayes.parameters import MaximumConditionalLikelihood, MaximumLikelihood
from discbayes.recipes import parse
from discbayes_papers import find, reproduce
from discbayes_papers.learning import METRICS
from discbayes_papers.p10 import table1 as p10_table1
from discbayes_papers.p10 import table2 as p10_table2
from discbayes_papers.p10 import table4 as p10_table4
from discbayes_papers.p10 import table5 as p10_table5
from discbayes_papers.p10 import table7 as p10_table7
from discbayes_papers.p10 import table7_crcl as p10_table7_crcl
from discbayes_papers.p10.shared import (
    BY_SIZE,
    FIXED,
    FRIEDMAN,
    STRUCTURES,
    TESTED,
    TRAINED,
    accuracies,
    average,
    n_folds,
    tasks_of,
    work,
)
from discbayes_papers.parts import load_part, load_rows, published_splits

NAMES = ("p10-table1", "p10-table2", "p10-table4", "p10-table5", "p10-table7", "p10-table7-crcl")
RECIPES = [f"{structure}-{tables}" for structure in STRUCTURES for tables in ("ML", "CL")]


def published_store(path, recipes, figures, **also):
    """A store whose every fold has the published figure."""
    store = Store(path, METRICS)
    store.metrics = METRICS
    for data in FRIEDMAN:
        for fold in range(n_folds(data)):
            for tag in recipes:
                measured = {
                    "accuracy": figures[data, tag] / 100,
                    "n_test": TESTED[data] / n_folds(data),
                    **also,
                }
                result = Result(data, fold, tag, 0, measured, 1.0)
                store.results[result.key] = result
    return store


# ---- the published figures


def test_the_sets_are_those_of_the_paper():
    assert len(FRIEDMAN) == 25
    assert sorted(BY_SIZE) == sorted(FRIEDMAN)
    for data in ("iris", "corral"):
        splits = published_splits(load_rows(data))
        assert len(splits) == n_folds(data)
        assert sum(len(test) for _, test in splits) == TESTED[data]


@pytest.mark.parametrize("tag", RECIPES)
def test_the_published_averages_come_out_of_the_published_table(tag):
    structure, tables = tag[:-3], tag[-2:]
    assert len([key for key in p10_table7.PUBLISHED if key[1] == tag]) == 25
    assert average(p10_table7.PUBLISHED, tag) == pytest.approx(
        p10_table7.AVERAGES[tables, structure], abs=0.0051
    )
    assert p10_table1.PUBLISHED[tag, "UCI"] == p10_table7.AVERAGES[tables, structure]
    assert parse(tag).tag == tag


def test_tables_1_and_5_agree():
    for (tag, column), figure in p10_table5.PUBLISHED.items():
        assert parse(tag).tag == tag
        if "Ext" not in tag:
            assert p10_table1.PUBLISHED[tag, column] == figure


def test_the_significances_of_table_2_are_half_the_density_of_t():
    """P10 prints f(t) / 2 where p would be 1 − F(t), but for two figures."""
    odd, figures = [], p10_table2.published_accuracies()
    for (row, column), figure in p10_table2.PUBLISHED.items():
        gain = np.array([figures[data, column] - figures[data, row] for data in FRIEDMAN])
        t = gain.mean() / (gain.std(ddof=1) / math.sqrt(gain.size))
        if abs(stats.t.pdf(t, gain.size - 1) / 2 - abs(figure)) > 1e-3:
            odd.append((row, column))
    super_parent = "TAN-SuperParent-ML"
    assert len(p10_table2.PUBLISHED) == 44
    assert odd == [(super_parent, "TAN-CR-ML"), (super_parent, "2-tree-SuperParent-ML")]


def test_the_arrows_of_table_2_are_those_of_the_weighted_averages():
    figures = p10_table2.published_accuracies()
    for (row, column), figure in p10_table2.PUBLISHED.items():
        assert (
            math.copysign(1, figure) * (average(figures, column) - average(figures, row)) > -0.005
        )


def test_a_comparison_is_the_test_of_scipy():
    figures = p10_table7.PUBLISHED
    first, second = ([figures[data, tag] for data in FRIEDMAN] for tag in ("TAN-CR-ML", "NB-ML"))
    expected = stats.ttest_rel(first, second, alternative="greater").pvalue
    assert p10_table2.comparison(figures, "NB-ML", "TAN-CR-ML") == f"⇑ {expected:.4f}"
    assert p10_table2.comparison(figures, "TAN-CR-ML", "NB-ML") == f"⇐ {expected:.4f}"


# ---- pages


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_an_empty_store(tmp_path, name):
    experiment = find(name)
    text = as_text(experiment.page(Store(tmp_path / "rows.csv", experiment.metrics)))
    assert "–" in text


def test_the_page_of_the_published_figures(tmp_path):
    store = published_store(
        tmp_path / "p10-table7.csv", RECIPES, p10_table7.PUBLISHED, search_seconds=60.0
    )
    blocks = p10_table7.page(store)
    averages, claims, *_ = [block for block in blocks if isinstance(block, ResultTable)]
    assert averages.rows[0] == ["NB", "81.50 (81.50)", "85.18 (85.18)"]
    assert len(averages.rows) == len(STRUCTURES)
    assert {row[-1] for row in claims.rows} == {"yes"}
    text = as_text(blocks[:5])
    assert "▼" not in text.replace("▼:", "")
    assert "▲" not in text.replace("▲:", "")


def test_a_set_counts_when_all_folds_are_there(tmp_path):
    store = published_store(tmp_path / "rows.csv", ["NB-ML"], p10_table7.PUBLISHED)
    assert accuracies(store)["iris", "NB-ML"] == pytest.approx(93.33)
    del store.results["iris", 3, "NB-ML", 0]
    assert ("iris", "NB-ML") not in accuracies(store)
    assert math.isnan(average(accuracies(store), "NB-ML"))


def test_times_count_a_search_once(tmp_path):
    store = published_store(
        tmp_path / "rows.csv",
        ["NB-ML", "NB-CL"],
        p10_table7.PUBLISHED,
        search_seconds=2.0,
        fit_seconds=1.0,
    )
    table = p10_table7.times(store, ["NB"])
    runs = sum(map(n_folds, FRIEDMAN))
    assert runs == 18 * 5 + 7
    assert table.rows == [["NB", f"{2 * runs:.1f}", f"{runs:.1f}", f"{runs:.1f}"]]


def test_shares_of_the_search_time(tmp_path):
    recipes = [f"{structure}-ML" for structure in p10_table4.STRUCTURES]
    store = published_store(
        tmp_path / "rows.csv", recipes, p10_table7.PUBLISHED, search_seconds=3.0
    )
    for result in store.where(recipe="TAN-CMI-ML"):
        result.measured["search_seconds"] = 1.5
    sums = p10_table4.totals(store, "search_seconds")
    assert p10_table4.shares(sums) == {
        ("UCI", "TAN-CMI"): 50,
        ("UCI", "TAN-OMI-CR"): 100,
        ("UCI", "TAN-CR"): 100,
    }


# ---- runs


def test_tasks_cover_the_table():
    tasks = [*p10_table7.tasks(False), *p10_table7_crcl.tasks(False)]
    first = {
        (task.data, tag)
        for task in tasks
        if task.seed == 0
        for tag in task.recipes
        if "," not in tag
    }
    assert first == set(p10_table7.PUBLISHED)
    assert {task.fold for task in tasks if task.data in FIXED} == {0}
    assert not any(task.data in FIXED for task in tasks if task.seed)


def test_reproduce_and_go_on(tmp_path):
    blocks = reproduce("p10-table1", tmp_path, quick=True, n_jobs=1)
    rows = tmp_path / "quick" / "rows" / "p10-table1.csv"
    before = rows.read_bytes()
    assert len(before.splitlines()) == 1 + 5 * 4
    assert "Accuracy" in as_text(blocks)
    reproduce("p10-table1", tmp_path, quick=True, n_jobs=1)
    assert rows.read_bytes() == before


def test_work_is_the_usual_one():
    (task,) = [task for task in tasks_of(["iris"], ["TAN-OMI-CR"], ["ML"]) if task.fold == 0]
    (result,) = work(task)
    assert result["accuracy"] == pytest.approx(28 / 30)
    assert result["n_test"] == 30


# ---- warm starts


@pytest.fixture(scope="module")
def part():
    return load_part("iris", 0)


def test_a_widened_network_is_the_same(part):
    narrow, wide = Structure(((), (0,), (0,), ())), Structure(((), (0,), (0, 1), ()))
    tables = MaximumLikelihood().learn(part.data, part.counts, narrow, Context())
    layout = Layout(wide, part.data.cards, part.data.n_classes)
    more = p10_table7_crcl.widened(tables, layout, 2, 1)
    assert more.structure == wide
    np.testing.assert_allclose(log_joint(more, part.test_codes), log_joint(tables, part.test_codes))


def test_a_warm_start_ends_as_high_as_a_cold_one(part):
    learner = MaximumConditionalLikelihood(tol=1e-8)
    warm = p10_table7_crcl.WarmStarted(learner)
    value = {}
    for structure in (Structure.naive(4), Structure(((), (0,), (), ()))):
        for name, one in (("warm", warm), ("cold", learner)):
            context = Context(np.random.default_rng(0), 1)
            one.learn(part.data, part.counts, structure, context)
            value[name] = [line["score"] for line in context.history]
    assert value["warm"][0] >= value["cold"][0]
    assert value["warm"][-1] == pytest.approx(value["cold"][-1], abs=1e-3)


def test_warm_starts_forget_other_rows(part):
    warm = p10_table7_crcl.WarmStarted(MaximumConditionalLikelihood(max_iter=2))
    other = part.data.take(np.arange(part.data.n_samples) % 2 == 0)
    with pytest.warns(UserWarning, match="max_iter=2"):
        warm.learn(part.data, part.counts, Structure.naive(4), Context(np.random.default_rng(0), 1))
    assert warm._start(part.data, Structure(((), (0,), (), ()))) is not None
    with pytest.warns(UserWarning, match="max_iter=2"):
        warm.learn(
            other, part.counts, Structure(((), (0,), (), ())), Context(np.random.default_rng(0), 1)
        )
    assert len(warm._known) == 1


def test_crcl_finds_a_tree():
    full, short, _, tuned = [
        task for task in p10_table7_crcl.tasks(True) if (task.data, task.fold) == ("iris", 0)
    ]
    ml, cl = p10_table7_crcl.work(full)
    assert (ml.recipe, cl.recipe) == (f"{TRAINED}-ML", f"{TRAINED}-CL")
    assert 1 <= ml["edges"] <= 3
    assert ml["accuracy"] > 0.9
    shortened, _ = p10_table7_crcl.work(short)
    assert shortened.recipe == f"{TRAINED}-ML, iterations=1"
    assert len(list(p10_table7_crcl.work(tuned))) == 2

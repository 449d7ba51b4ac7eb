"""P10's tables of orders, and its figures: what is stored, what pages say, and the work behind
them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discbayes.counts import count
from discbayes.data import FrameEncoder
from discbayes.engine import Context
from discbayes.evaluation.result_blocks import Picture, ResultTable, as_text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.recipes import parse
from discbayes.search import OrderBased
from discbayes_papers.figures import draw_curves
from discbayes_papers.learning import classify, learn_structure
from discbayes_papers.p10 import fig3 as p10_fig3
from discbayes_papers.p10 import fig7 as p10_fig7
from discbayes_papers.p10 import fig9 as p10_fig9
from discbayes_papers.p10 import fig10 as p10_fig10
from discbayes_papers.p10 import fig13 as p10_fig13
from discbayes_papers.p10 import table8 as p10_table8
from discbayes_papers.p10 import table11 as p10_table11
from discbayes_papers.p10 import table13 as p10_table13
from discbayes_papers.p10.orders import Orders, random_orders
from discbayes_papers.p10.shared import FRIEDMAN, TESTED, average
from discbayes_papers.parts import Part, SplitRows, load_part, make_part
from discbayes_papers.registry import find, reproduce

NAMES = ("table8", "table11", "table13", "fig3", "fig7", "fig9", "fig10", "fig13")
MODULES = (p10_table8, p10_table11, p10_table13, p10_fig3, p10_fig7, p10_fig9, p10_fig10, p10_fig13)


def full_store(experiment, path):
    """A store with made-up figures for every run."""
    store, rng = Store(path, experiment.metrics), np.random.default_rng(0)
    for task in experiment.tasks(False):
        for recipe in task.recipes:
            figures = dict(
                zip(experiment.metrics, rng.random(len(experiment.metrics)), strict=True)
            )
            key = task.data, task.fold, recipe, task.seed
            store.results[key] = Result(*key, figures | {"n_test": TESTED.get(task.data, 100)})
    return store


@pytest.mark.parametrize("name, module", list(zip(NAMES, MODULES, strict=True)))
def test_the_registry_has_it_and_every_run_is_there_once(name, module):
    assert find(f"p10-{name}") is module.EXPERIMENT
    for quick in (True, False):
        tasks = module.tasks(quick)
        keys = [
            (task.data, task.fold, recipe, task.seed) for task in tasks for recipe in task.recipes
        ]
        assert len(set(keys)) == len(keys) > 0


# ---- published figures


@pytest.mark.parametrize("module", [p10_table8, p10_table13])
def test_published_averages_follow_from_the_published_figures(module):
    columns = {column for _, column in module.PUBLISHED}
    for column in columns - {"RO-CR std"}:
        assert average(module.PUBLISHED, column) == pytest.approx(
            module.PUBLISHED["average", column], abs=0.04
        )
    assert {name for name, _ in module.PUBLISHED} == {*FRIEDMAN, "average"}


def test_published_tables_agree_with_each_other():
    for name in FRIEDMAN:
        omi = p10_table8.PUBLISHED[name, "OMI-CR"]
        assert omi == p10_table13.PUBLISHED[name, "TAN-OMI-CR-ML"]
    for tag in p10_table13.RECIPES:
        assert p10_table13.PUBLISHED["average", tag] == p10_table11.PUBLISHED[tag, "UCI"]


# ---- pages


@pytest.mark.parametrize("module", MODULES)
def test_a_page_without_results_says_so(module, tmp_path):
    text = as_text(module.EXPERIMENT.page(Store(tmp_path / "none.csv", module.EXPERIMENT.metrics)))
    assert "nan" not in text.lower()
    assert "Stored: 0 of " in text


@pytest.mark.parametrize("module", MODULES)
def test_a_full_page_has_all_figures(module, tmp_path):
    blocks = module.EXPERIMENT.page(full_store(module.EXPERIMENT, tmp_path / "full.csv"))
    text = as_text(blocks)
    assert "nan" not in text.lower()
    if module not in (p10_table11, p10_table13):  # OMI-CR comes from other stores
        assert "Stored" not in text
        cells = [
            cell
            for block in blocks
            if isinstance(block, ResultTable)
            for row in block.rows
            for cell in row
        ]
        # the mean of standard deviations
        assert sum(cell == "–" for cell in cells) == (module is p10_table8)
    assert any(isinstance(block, Picture) for block in blocks) == ("fig" in module.__name__)


def test_each_number_of_training_rows_has_its_own_figures(tmp_path):
    store = Store(tmp_path / "rows.csv", p10_fig3.METRICS)
    for place, size in enumerate(p10_fig3.SIZES[:-1]):
        store.add(
            Result(
                p10_fig3.name_of(size),
                0,
                "NB-ML",
                0,
                {"accuracy": 0.5 + place / 100, "std": place / 1000},
            )
        )
    (curves,) = (
        block
        for block in p10_fig3.page(store)
        if isinstance(block, ResultTable) and "1,000 test" in block.title
    )
    assert list(curves.rows[0]) == [
        "NB-ML", "50.00 ± 0.00", "51.00 ± 0.10", "52.00 ± 0.20", "53.00 ± 0.30", "54.00 ± 0.40", "–"
    ]  # fmt: skip


def test_pictures_are_drawn(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    for module in (p10_fig3, p10_fig7):
        blocks = module.EXPERIMENT.page(
            full_store(module.EXPERIMENT, tmp_path / f"{module.__name__}.csv")
        )
        for block in blocks:
            if isinstance(block, Picture):
                pyplot.close(block.draw())


def test_names_that_differ_in_their_parameters_have_one_colour():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    values = {"NB-ML": [1.0, 2.0], "TAN-CMI-ML": [2.0, 3.0], "TAN-CMI-CL": [3.0, 4.0]}
    figure = draw_curves([1, 2], values, ("x", "y"), {"NB-ML": [0.1, 0.2]})
    nb, tan, trained = figure.axes[0].get_lines()
    assert tan.get_color() == trained.get_color() != nb.get_color()
    assert [line.get_linestyle() for line in (nb, tan, trained)] == ["-", "-", "--"]
    pyplot.close(figure)


def test_other_orders_are_compared_with_omi():
    ours = {
        (name, tag): value
        for (name, tag), value in p10_table13.PUBLISHED.items()
        if name != "average"
    }
    text = p10_table13.compared(ours, "TAN-OMISP-CR-ML")
    ours_said, theirs_said = text.partition(": ")[2].split("; ")
    assert ours_said.removesuffix(" in our figures") == theirs_said.split(" in P10's figures")[0]
    assert p10_table13.compared({}, "TAN-OCR-CR-ML") == "TAN-OCR-CR-ML cannot be compared yet."


def test_omi_is_best_where_it_is_above_both():
    figures = {"iris": (-0.1, -0.3, -0.2), "glass": (-0.2, -0.3, -0.1)}
    found = {
        (name, tag): Result(name, 0, tag, 0, {"likelihood": value})
        for name, values in figures.items()
        for tag, value in zip(p10_fig7.RECIPES, values, strict=True)
    }
    assert "on 1 of 2 sets, all but glass (" in p10_fig7.count_better(list(figures), found)


# ---- searches by many orders


def some_part(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    X = np.column_stack(
        [
            (y + rng.integers(2, size=n_rows)) % 3,
            rng.integers(3, size=(n_rows, 3)),
            np.zeros(n_rows),
        ]
    )
    X[:, 2] = (X[:, 1] + y) % 3
    rows = SplitRows("some", X.astype(int), y, None)
    return make_part(rows, (np.arange(n_rows // 2), np.arange(n_rows // 2, n_rows)), None)


@pytest.mark.parametrize("score", ["cr", "cl"])
def test_a_given_order_leads_to_what_the_search_of_the_library_finds(score):
    part = some_part()
    search = Orders(part, score)
    for order in random_orders(part.data.n_features, 12):
        structure, value = search.run(order)
        context = Context(n_jobs=1)
        assert structure == OrderBased(order.tolist(), score).learn(part.data, part.counts, context)
        assert value == pytest.approx(context.history[-1]["score"], rel=1e-9)
        assert search.run(order)[0] == structure


def test_least_and_largest_are_by_the_rate_on_training_rows():
    tried = [
        p10_table8.Tried(np.array([5, 6, 7]), np.array([0.9, 0.7, 0.8]), 10),
        p10_table8.Tried(np.array([1, 2, 3]), np.array([0.5, 0.6, 0.4]), 10),
    ]
    found = p10_table8.summary(tried)
    assert (found["at_least"], found["at_largest"]) == (
        pytest.approx((6 + 3) / 20),
        pytest.approx((5 + 2) / 20),
    )
    assert (found["accuracy"], found["median"], found["orders"]) == (
        pytest.approx(0.4),
        pytest.approx(0.4),
        3,
    )
    assert found["std"] == pytest.approx(np.std([0.3, 0.4, 0.5]))
    assert found["train_rate"] == pytest.approx(0.65)


def test_variants_have_the_same_cells():
    rows = SplitRows("some", np.arange(12).reshape(4, 3), np.array([0, 1, 0, 1]), 2)
    moved = p10_table8.varied(rows, p10_table8.MOVED, 1)
    assert sorted(map(tuple, moved.X.T)) == sorted(map(tuple, rows.X.T))
    drawn = p10_table8.varied(rows, p10_table8.DRAWN, 1)
    assert sorted(zip(map(tuple, drawn.X), drawn.y, strict=True)) == sorted(
        zip(map(tuple, rows.X), rows.y, strict=True)
    )
    assert p10_table8.varied(rows, p10_table8.WHOLE, 1) is rows


# ---- figures


def test_the_population_of_three_features_is_as_computed_by_hand():
    task = Task(p10_fig3.POPULATION, 0, tuple(p10_fig3.STRUCTURES), 0, p10_fig3.in_population)
    for result in task.work(task):
        assert 100 * result["accuracy"] == pytest.approx(p10_fig3.STRUCTURES[result.recipe][1])


def test_a_search_on_three_features_finds_the_edge_that_tells_the_classes_apart():
    task = Task(p10_fig3.SEARCHES, 0, ("OMI-CR", "TAN-CMI"), 0, p10_fig3.search, {"n_repeats": 2})
    omi, cmi = task.work(task)
    assert (omi["with_x1_x3"], omi["with_x2_x3"], omi["possible"]) == (2, 0, pytest.approx(0.65))
    assert (cmi["with_x1_x3"], cmi["with_x2_x3"], cmi["possible"]) == (0, 2, pytest.approx(0.575))


def test_rows_with_weights_stand_for_rows_that_are_alike():
    part = p10_fig9.draw_part(4, 500, seed=3)
    assert part.data.weight.sum() == 500
    times = part.data.weight.astype(int)
    X, y = np.repeat(part.data.codes.T, times, axis=0), np.repeat(part.data.classes, times)
    data = FrameEncoder(None, n_jobs=1).fit_transform(X, y)
    repeated = Part(data, count(data, 1), data.codes, data.classes)
    for tag in ("TAN-OMI-CL-ML", "TAN-CL-ML", "TAN-CMI-ML"):
        found, same = (learn_structure(one, parse(tag).structure) for one in (part, repeated))
        assert found.value == same.value
        if tag != "TAN-CMI-ML":
            assert found.history[-1]["score"] == pytest.approx(same.history[-1]["score"])


def test_likelihoods_are_those_of_the_search_and_pairs_are_complete(tmp_path):
    task = Task("random-4", 0, p10_fig9.RECIPES, 0, p10_fig9.work, {"n_rows": 500})
    results = {result.recipe: result for result in task.work(task)}
    found = learn_structure(p10_fig9.draw_part(4, 500, 0), parse("TAN-CL-ML").structure)
    assert 500 * results["TAN-CL-ML"]["likelihood"] == pytest.approx(found.history[-1]["score"])
    assert results["NB-ML"]["likelihood"] == min(
        result["likelihood"] for result in results.values()
    )
    store = Store(tmp_path / "rows.csv", p10_fig9.METRICS)
    for result in results.values():
        store.add(result)
    store.add(Result("random-4", 0, "NB-ML", 1, {"likelihood": -0.5}))
    assert p10_fig9.likelihoods(store, 4).shape == (1, len(p10_fig9.RECIPES))


def test_rows_of_trees_have_the_shares_of_the_paper_and_no_recipe_beats_the_truth_by_far():
    trees, rows, part = p10_fig10.draw(4, 600, 0)
    assert np.bincount(rows.y[:600]).tolist() == [200, 100, 100, 100, 100]
    assert part.n_test == 600
    task = Task(
        "trees-4", 0, (p10_fig10.TRUTH, "NB-ML", "TAN-CMI-ML"), 0, p10_fig10.work, {"n_rows": 600}
    )
    truth, *others = task.work(task)
    expected = (trees.log_joint(rows.X[600:]).argmax(axis=1) == rows.y[600:]).mean()
    assert truth["accuracy"] == pytest.approx(expected)
    assert all(other["accuracy"] < truth["accuracy"] + 0.02 for other in others)


def test_with_nothing_missing_the_accuracy_is_the_usual_one():
    tags = ("NB-ML", "TAN-CMI-ML")
    task = Task("corral", 0, tags, 0, p10_fig13.lose_features)
    usual = {
        result.recipe: result["accuracy"]
        for result in classify(Task("corral", 0, tags, 0, classify))
    }
    part = load_part("corral", 0)
    for result in task.work(task):
        assert result["missing_0"] == pytest.approx(usual[result.recipe])
        assert result["missing_180"] <= result["missing_0"]
        assert result["n_test"] == part.n_test


def test_a_quick_run_writes_rows_and_a_page_and_goes_on_where_it_was(tmp_path):
    blocks = reproduce("p10-fig9", tmp_path, quick=True, n_jobs=1)
    rows = tmp_path / "quick" / "rows" / "p10-fig9.csv"
    lines = rows.read_text().splitlines()
    n_runs = sum(len(task.recipes) for task in p10_fig9.tasks(True))
    assert len(lines) == 1 + n_runs
    assert "TAN-OMI-CL" in (tmp_path / "quick" / "p10-fig9.md").read_text()
    rows.write_text("\n".join(lines[:-3]) + "\n")
    again = reproduce("p10-fig9", tmp_path, quick=True, n_jobs=1)
    tables = [
        [block.rows for block in some if isinstance(block, ResultTable)] for some in (blocks, again)
    ]
    assert tables[0] == tables[1]


def test_a_simulation_of_figure_3_has_all_classifiers():
    part = p10_fig3.draw(50, 0)
    assert (part.data.n_samples, part.n_test) == (50, 1000)
    rates = {tag: p10_fig3.simulated(part, tag, 0) for tag in p10_fig3.RECIPES}
    assert all(0.4 < rate < 0.7 and not math.isnan(rate) for rate in rates.values())

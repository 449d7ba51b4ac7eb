"""Our own experiments: who is compared in which scenario, equal cells for all, and the pages."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from discbayes import load_dataset
from discbayes.data.table_reader import read_table
from discbayes.evaluation.judging import estimator_of
from discbayes.evaluation.result_blocks import ResultTable, as_text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task, run_tasks, unfinished
from discbayes_papers import find
from discbayes_papers.ours import ablation, contenders, manifest, scenarios, small_tables
from discbayes_papers.ours.contenders import CONTENDERS, Contender
from discbayes_papers.ours.manifest import DEVELOPMENT, DISTINCT, LARGE, SAMPLED
from discbayes_papers.ours.scenarios import SCENARIOS, key

MANIFEST = Path(os.environ.get("DISCBAYES_DATA", "")) / "MANIFEST.json"


class Prior:
    """Remembers the rows it was given, and predicts the shares of the classes."""

    fits: ClassVar[list] = []
    asked: ClassVar[list] = []

    def fit(self, X, y):
        self.fits.append(X)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares = counts / counts.sum()
        return self

    def predict_proba(self, X):
        self.asked.append(X)
        return np.tile(self.shares, (X.n_rows, 1))


class Broken(Prior):
    def fit(self, X, y):
        if X.n_rows > 100:  # not while it is warmed up
            raise RuntimeError("no convergence")
        return super().fit(X, y)


@pytest.fixture
def two(monkeypatch):
    """Two methods instead of all."""
    monkeypatch.setattr(scenarios, "warmed_up", lambda method, with_missing: None)
    found = {
        "prior": Contender("the prior", Prior, ours=True, reference=True),
        "broken": Contender("broken", Broken),
    }
    monkeypatch.setattr(scenarios, "CONTENDERS", found)
    monkeypatch.setattr(contenders, "CONTENDERS", found)
    monkeypatch.setattr(Prior, "fits", [])
    monkeypatch.setattr(Prior, "asked", [])
    scenarios.load_fold.cache_clear()
    return found


def recipes(method, *left_out):
    return tuple(key(method, name) for name in SCENARIOS if name not in ("all-rows", *left_out))


class TestScenarios:
    def test_scenarios_that_share_training_rows_share_a_fit(self, two):
        found = list(scenarios.judged(Task("iris", 0, recipes("prior"), 0, scenarios.judged)))
        assert {result.recipe for result in found} == set(recipes("prior"))
        assert len(Prior.fits) == 3  # complete, missing by value, 30 % of the training cells
        assert len(Prior.asked) == 7
        for result in found:
            assert result["accuracy"] == pytest.approx(1 / 3, abs=0.1)
            assert result["log_loss"] == pytest.approx(np.log(3), abs=0.01)
            assert (result["n_train"], result["n_test"]) == (120, 30)

    def test_so_many_cells_are_missing(self, two):
        list(scenarios.judged(Task("iris", 0, recipes("prior"), 0, scenarios.judged)))
        complete, by_value, thirty = (rows.missing_mask().mean() for rows in Prior.fits)
        assert complete == 0.0
        assert by_value == pytest.approx(0.3, abs=0.06)
        assert thirty == pytest.approx(0.3, abs=0.06)
        shares = {
            name: rows.missing_mask().mean()
            for name, rows in zip(
                ("complete", "mcar-30", "mcar-10", "mcar-50", "mar", "train-30", "mnar"),
                [*Prior.asked[:5], Prior.asked[6], Prior.asked[5]],
                strict=True,
            )
        }
        assert shares["complete"] == shares["train-30"] == 0.0
        assert shares["mcar-10"] < shares["mcar-30"] < shares["mcar-50"]
        assert shares["mnar"] > 0.15
        assert not Prior.asked[4].missing_mask().all(axis=1).any()  # one column decides, and stays

    def test_all_methods_lose_the_same_cells(self, two):
        for _ in range(2):
            task = Task("iris", 1, (key("prior", "mnar"),), 0, scenarios.judged)
            list(scenarios.judged(task))
        for one, same in (Prior.fits, Prior.asked):
            np.testing.assert_array_equal(one.missing_mask(), same.missing_mask())

    def test_figures_are_those_of_the_estimator(self):
        task = Task("iris", 2, (key("lr", "complete"),), 0, scenarios.judged)
        (result,) = scenarios.judged(task)
        fold = scenarios.load_fold("iris", 2)
        y = fold.rows.y
        model = estimator_of("lr").fit(fold.table.take(fold.train), y[fold.train])
        assert result["accuracy"] == model.score(fold.table.take(fold.test), y[fold.test])

    def test_a_failure_is_noted_and_the_others_go_on(self, two, tmp_path):
        store = Store(tmp_path / "rows.csv", scenarios.METRICS)
        tasks = [
            Task("iris", fold, recipes(method), 0, scenarios.judged)
            for fold in range(5)
            for method in two
        ]
        run_tasks(tasks, store)
        assert not unfinished(tasks, store)
        notes = {result.note for result in store if result.recipe.startswith("broken")}
        assert notes == {"failed: RuntimeError: no convergence"}
        text = as_text(scenarios.page(store))
        assert "no data sets yet" in text  # one set is not enough

    def test_at_most_ten_thousand_training_rows_with_every_class_in_its_share(self):
        n = 30_000
        y = np.repeat(["a", "b", "b"], n // 3)
        rows = scenarios.SplitRows("toy", np.zeros(0), y, None)
        table = read_table(np.zeros((n, 1)))
        fold = scenarios.Fold(rows, 0, table, np.arange(24_000), np.arange(24_000, n))
        sampled = fold.sampled()
        assert sampled.size == 10_000
        assert set(sampled) <= set(fold.train)
        share = np.mean(y[fold.train] == "a")
        assert np.mean(y[sampled] == "a") == pytest.approx(share, abs=1e-3)
        np.testing.assert_array_equal(sampled, fold.sampled())

    def test_what_is_run_where(self):
        assert scenarios.is_run("mcar-30", "ebm", "letter")
        assert not scenarios.is_run("mnar", "ebm", "letter")
        assert scenarios.is_run("mnar", "ebm", "german")
        assert scenarios.is_run("all-rows", "discbayes", "letter")
        assert not scenarios.is_run("all-rows", "lightgbm", "letter")
        assert not scenarios.is_run("all-rows", "discbayes", "german")
        assert set(SAMPLED) < set(LARGE) < set(DISTINCT)
        names = [task.data for task in scenarios.tasks(False)]
        assert list(dict.fromkeys(names)) == list(DISTINCT)
        assert {task.data for task in scenarios.tasks(True)} <= set(DEVELOPMENT)

    @pytest.mark.data
    @pytest.mark.skipif(not MANIFEST.is_file(), reason="DISCBAYES_DATA has no list of data sets")
    def test_large_sets_are_those_of_so_many_rows(self):
        listed = json.loads(MANIFEST.read_text(encoding="utf-8"))
        rows = {one["name"]: one["n_rows"] for one in listed}
        assert set(LARGE) == {name for name in DISTINCT if rows[name] >= 5_000}
        assert set(SAMPLED) == {name for name in DISTINCT if 0.8 * rows[name] > 10_000}

    def test_the_page_tells_groups_apart(self, tmp_path):
        store = made_store(tmp_path)
        blocks = scenarios.page(store)
        tables = {block.title: block for block in blocks if isinstance(block, ResultTable)}
        everything = tables["complete rows: all data sets"]
        assert everything.rows[0][:2] == ["discbayes (default)", "discbayes"]
        assert everything.rows[0][2] == "90.00"
        assert "Means over 39 data sets" in everything.note
        assert (
            "Means over 10 data sets" in tables["complete rows: the data sets of development"].note
        )
        assert "Means over 29 data sets" in tables["complete rows: the other data sets"].note
        against = next(table for title, table in tables.items() if "against the others" in title)
        assert against.rows[0][1].startswith("39/0/0")
        sets = tables["complete rows, data set by data set: accuracy"]
        assert [row[0] for row in sets.rows][7] == "cleve †"
        all_rows = tables["Ours with all training rows"]
        assert all_rows.rows[0][:3] == ["all data sets", "39", "discbayes (default)"]
        assert float(all_rows.rows[0][3]) == pytest.approx(90 + 5 * len(SAMPLED) / 39, abs=0.01)

    def test_methods_of_a_part_of_the_sets_stand_beside_the_others_on_these(self, tmp_path):
        store = made_store(tmp_path)
        for name in ("iris", "zoo", "cleve"):
            for fold in range(5 if name != "zoo" else 4):
                result = store.results[name, fold, "lr@complete", 0]
                other = replace(result, recipe="catboost@complete")
                store.results[other.key] = other
        tables = {b.title: b for b in scenarios.page(store) if isinstance(b, ResultTable)}
        assert "Means over 39 data sets" in tables["complete rows: all data sets"].note
        assert len(tables["complete rows: all data sets"].rows) == 3
        part = tables["complete rows: 2 data sets with CatBoost"]
        assert {row[1] for row in part.rows} == {"discbayes", "lightgbm", "lr", "catboost"}
        assert "Means over 2 data sets" in part.note
        assert "Not run on zoo, corral" in part.note


def made_store(folder) -> Store:
    """Results of three methods on complete rows, the first the best; ours with all rows as well."""
    store = Store(folder / "rows.csv", scenarios.METRICS)
    sizes = {"ece": 0.1, "n_test": 10.0, "n_train": 40.0, "fit_seconds": 1.0}
    for name in DISTINCT:
        for fold in range(5):
            for place, method in enumerate(("discbayes", "lightgbm", "lr")):
                figures = {"accuracy": 0.9 - 0.1 * place, "log_loss": 0.1 + place}
                figures |= sizes | {"predict_seconds": 0.1}
                key_ = key(method, "complete")
                result = Result(name, fold, key_, 0, figures, 1.0)
                store.results[result.key] = result
            if name in SAMPLED:
                figures = figures | {"accuracy": 0.95, "log_loss": 0.1}
                result = Result(name, fold, key("discbayes", "all-rows"), 0, figures, 1.0)
                store.results[result.key] = result
    return store


class TestSmallTables:
    def test_the_rarest_class_with_enough_rows_is_positive(self):
        y = np.repeat(["a", "b", "c", "d"], [149, 200, 180, 180])
        assert set(y[small_tables.positive_rows(y)]) == {"c"}

    @pytest.mark.parametrize("n_positive", [150, 1_000, 9_000])
    def test_both_parts_have_the_share_and_no_row_in_common(self, n_positive):
        positive = np.arange(10_000) < n_positive
        rng = np.random.default_rng(0)
        train, test = small_tables.split_rows(positive, 500, 0.06, rng)
        assert train.size == 500
        assert np.unique(np.concatenate([train, test])).size == train.size + test.size
        assert test.size <= 5_000
        for part in (train, test):
            assert positive[part].mean() == pytest.approx(0.06, abs=0.001)

    def test_draws_are_those_of_their_number(self, monkeypatch):
        y = np.repeat(["a", "b"], [300, 3_000])
        table = read_table(np.zeros((y.size, 1)))
        monkeypatch.setattr(manifest, "load_table", lambda name: (table, y))
        first, same, other = (small_tables.draw_rows("toy", number) for number in (0, 0, 1))
        np.testing.assert_array_equal(first.train, same.train)
        assert set(first.train) != set(other.train)
        for drawn in (first, other):
            assert 200 <= drawn.train.size <= 1_000
            assert 0.045 <= drawn.positive[drawn.train].mean() <= 0.085
        elsewhere = small_tables.draw_rows("toy2", 0)
        assert elsewhere.train.size != first.train.size

    def test_at_least_as_many_rows_are_for_testing(self, monkeypatch):
        y = np.repeat(["a", "b"], [300, 700])
        table = read_table(np.zeros((y.size, 1)))
        monkeypatch.setattr(manifest, "load_table", lambda name: (table, y))
        for number in range(20):
            drawn = small_tables.draw_rows("toy", number)
            assert 200 <= drawn.train.size <= drawn.test.size + 1

    def test_thirty_draws_of_ten_sets_half_of_them_of_development(self):
        tasks = small_tables.tasks(False)
        assert len(tasks) == 30
        assert len(set(small_tables.SETS)) == 10
        assert len(set(small_tables.SETS) & set(DEVELOPMENT)) == 5
        assert {task.data for task in small_tables.tasks(True)} <= set(DEVELOPMENT)

    def test_the_page_counts_draws_that_are_worse_than_the_base_rate(self, tmp_path):
        store = Store(tmp_path / "rows.csv", small_tables.METRICS)
        for name in small_tables.SETS:
            for draw in range(3):
                for method in (*small_tables.METHODS, small_tables.BASE):
                    loss = 0.2
                    if method == "lightgbm":
                        loss = 0.3 if draw else 0.1
                    figures = {"auc": 0.7, "log_loss": loss, "n_train": 300.0, "fit_seconds": 0.1}
                    result = Result(name, draw, method, 0, figures, 1.0)
                    store.results[result.key] = result
        everything, development, others, *_ = small_tables.page(store)
        rows = {row[1]: row for row in everything.rows}
        assert rows["lightgbm"][4:6] == ["20", "10"]
        assert rows["lr"][4:6] == ["0", "0"]
        assert rows["base"][:2] == ["base rate", "base"]
        assert "(5)" in development.title
        assert "(5)" in others.title

    def test_an_empty_store_has_a_page(self, tmp_path):
        store = Store(tmp_path / "rows.csv", small_tables.METRICS)
        assert "no data sets yet" in as_text(small_tables.page(store))
        assert "no data sets yet" in as_text(scenarios.page(store))


def test_every_part_that_is_left_out_is_there_and_its_absence_can_be_fitted():
    iris = load_dataset("iris")
    rows = iris.X.mask(np.random.default_rng(0).random(iris.X.shape) < 0.05)
    for variant in ablation.VARIANTS.values():
        found = variant.make().fit(rows, iris.y).predict_proba(rows)
        assert found.shape == (150, 3), variant.name


def test_every_contender_can_be_found_by_a_page():
    for name in ("scenarios", "small-tables", "ablation"):
        assert find(name).name == name
        assert find(name).protocol
    assert set(small_tables.METHODS) <= set(CONTENDERS)
    assert sum(one.reference for one in CONTENDERS.values()) >= 1

"""The rooms under all experiments: stored results, pieces of work, parts of data sets, pages."""

import io
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score
from sklearn.metrics import log_loss as sklearn_log_loss

from discbayes import load_dataset
from discbayes.data.table_reader import read_table
from discbayes.engine import Progress
from discbayes.evaluation import tasks
from discbayes.evaluation.judging import estimator_of, judge
from discbayes.evaluation.missing_masks import missing_masks
from discbayes.evaluation.result_blocks import (
    Picture,
    ResultTable,
    Text,
    as_html,
    as_markdown,
    as_text,
)
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task, run_tasks
from discbayes_papers.figures import beside
from discbayes_papers.learning import classify
from discbayes_papers.parts import (
    SplitRows,
    five_folds,
    folds,
    make_part,
    published_splits,
    two_folds,
    with_missing,
)


def result(data="iris", fold=0, recipe="NB-ML", seed=0, note="", **measured):
    return Result(data, fold, recipe, seed, measured, 1.25, note=note)


class TestStore:
    def test_what_is_written_is_read_again(self, tmp_path):
        store = Store(tmp_path / "rows" / "a.csv", ["accuracy", "log_loss"])
        store.add(result(accuracy=1 / 3, log_loss=0.5, note='a "quoted", note\nof two lines'))
        store.add(result(fold=1, accuracy=0.25))
        again = Store(store.path, ["accuracy", "log_loss"])
        assert [one.key for one in again] == [("iris", 0, "NB-ML", 0), ("iris", 1, "NB-ML", 0)]
        first, second = again
        assert first["accuracy"] == pytest.approx(1 / 3, abs=1e-7)
        assert math.isnan(second["log_loss"])
        assert first.note == 'a "quoted", note of two lines'
        assert (first.seconds, first.version) == (1.25, result().version)

    def test_every_cut_of_the_last_line_is_noticed(self, tmp_path):
        path = tmp_path / "a.csv"
        store = Store(path, ["accuracy"])
        for fold in range(3):
            store.add(result(fold=fold, accuracy=fold / 7))
        whole = path.read_bytes()
        begin = whole[:-1].rfind(b"\n") + 1
        for end in range(begin, len(whole)):
            path.write_bytes(whole[:end])
            cut = Store(path, ["accuracy"])
            assert len(cut) == 2
            cut.add(result(fold=2, accuracy=2 / 7))
            assert path.read_bytes() == whole

    def test_a_header_that_was_cut_short_is_written_again(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_bytes(b"data,fold,re")
        store = Store(path, ["accuracy"])
        store.add(result(accuracy=0.5))
        assert [one["accuracy"] for one in Store(path, ["accuracy"])] == [0.5]

    def test_new_metrics_are_new_columns_and_old_ones_stay(self, tmp_path):
        Store(tmp_path / "a.csv", ["accuracy"]).add(result(accuracy=0.5))
        store = Store(tmp_path / "a.csv", ["rmse"])
        assert store.metrics == ("accuracy", "rmse")
        store.add(result(fold=1, rmse=0.1))
        assert Store(store.path, []).values("accuracy") == [0.5]
        assert Store(store.path, []).values("rmse") == [0.1]

    def test_what_is_no_column_is_refused(self, tmp_path):
        with pytest.raises(KeyError, match="speed"):
            Store(tmp_path / "a.csv", ["accuracy"]).add(result(speed=1.0))

    def test_another_file_is_refused(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,y\n1,2\n")
        with pytest.raises(ValueError, match="not a file of results"):
            Store(tmp_path / "a.csv", ["accuracy"])

    def test_means_count_folds_by_their_rows(self, tmp_path):
        store = Store(tmp_path / "a.csv", ["accuracy", "n_test"])
        store.add(result(accuracy=0.5, n_test=10))
        store.add(result(fold=1, accuracy=1.0, n_test=30))
        assert store.mean("accuracy", "iris", "NB-ML") == pytest.approx(0.875)
        assert math.isnan(store.mean("accuracy", "wine", "NB-ML"))


def numbered(task):
    for tag in task.recipes:
        yield task.result(tag, {"accuracy": len(tag) + task.fold / 10}, 0.5)


def fails_at_the_second(task):
    yield task.result(task.recipes[0], {"accuracy": 1.0}, 0.5)
    raise RuntimeError("no power")


class TestTasks:
    TASKS = tuple(Task("iris", fold, ("NB-ML", "TAN-CMI-ML"), 0, numbered) for fold in range(3))

    def test_what_is_stored_is_not_run_again(self, tmp_path):
        store = Store(tmp_path / "a.csv", ["accuracy"])
        store.add(result(fold=1, accuracy=-1.0))
        run_tasks(self.TASKS, store)
        assert len(store) == 6
        assert store.where(fold=1, recipe="NB-ML")[0]["accuracy"] == -1.0

    def test_processes_give_the_same_results(self, tmp_path):
        one, two = Store(tmp_path / "1.csv", ["accuracy"]), Store(tmp_path / "2.csv", ["accuracy"])
        run_tasks(self.TASKS, one)
        run_tasks(self.TASKS, two, n_jobs=2)
        assert dict(one.results) == dict(two.results)

    def test_first_runs_say_nothing_of_the_time_that_is_left(self, tmp_path, monkeypatch):
        ticks = iter(
            [0.0, 50.0, 100.0, 101.0, 102.0, 103.0, 104.0]
        )  # two recipes, compiled in the first of three folds
        monkeypatch.setattr(tasks, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
        stream = io.StringIO()
        run_tasks(self.TASKS, Store(tmp_path / "a.csv", ["accuracy"]), progress=Progress(1, stream))
        told = [
            line.removeprefix("[discbayes] ").split(": ")[0]
            for line in stream.getvalue().splitlines()
        ]
        left = [f"{3 + k} of 6, about {3.0 - k} s left" for k in range(4)]
        assert told == ["1 of 6", "2 of 6", *left]

    def test_results_before_a_failure_are_kept(self, tmp_path):
        store = Store(tmp_path / "a.csv", ["accuracy"])
        with pytest.raises(RuntimeError, match="no power"):
            run_tasks([Task("iris", 0, ("NB-ML", "TAN-CMI-ML"), 0, fails_at_the_second)], store)
        assert len(Store(store.path, [])) == 1

    def test_progress_is_shown_only_when_asked_for(self, tmp_path, capsys):
        run_tasks(self.TASKS[:1], Store(tmp_path / "a.csv", ["accuracy"]))
        assert capsys.readouterr().err == ""
        run_tasks(self.TASKS[1:2], Store(tmp_path / "a.csv", ["accuracy"]), progress=Progress(1))
        assert "2 of 2" in capsys.readouterr().err


class TestParts:
    ROWS = SplitRows("toy", np.arange(40.0).reshape(20, 2), np.array(["a", "b"] * 10), None)

    @pytest.mark.parametrize("splits, n", [(five_folds, 5), (two_folds, 2), (published_splits, 5)])
    def test_folds_are_a_partition_with_every_class_in_its_share(self, splits, n):
        found = splits(self.ROWS, 3)
        assert len(found) == n
        assert sorted(np.concatenate([test for _, test in found])) == list(range(20))
        for train, test in found:
            assert set(train) | set(test) == set(range(20))
            assert np.sum(self.ROWS.y[test] == "a") == len(test) / 2

    def test_rounds_and_names_are_cut_differently(self):
        other = SplitRows("toy2", self.ROWS.X, self.ROWS.y, None)
        first = folds(self.ROWS, 2, 0)[0][1]
        assert not np.array_equal(first, folds(self.ROWS, 2, 1)[0][1])
        assert not np.array_equal(first, folds(other, 2, 0)[0][1])
        assert np.array_equal(first, folds(self.ROWS, 2, 0)[0][1])

    def test_a_fixed_split_is_kept(self):
        rows = SplitRows("toy", self.ROWS.X, self.ROWS.y, 12)
        ((train, test),) = published_splits(rows)
        assert (train.tolist(), test.tolist()) == (list(range(12)), list(range(12, 20)))

    def test_cuts_are_those_of_the_training_rows(self):
        rng = np.random.default_rng(0)
        y = np.repeat(["a", "b"], 50)
        X = (y == "b")[:, None] + 0.1 * rng.standard_normal((100, 1))
        X[1::2] += 100.0  # the test rows live elsewhere
        train, test = np.arange(0, 100, 2), np.arange(1, 100, 2)
        part = make_part(SplitRows("toy", X, y, None), (train, test))
        assert part.data.cards.tolist() == [2]
        assert set(part.test_codes[0]) == {1}

    def test_an_unknown_class_is_minus_one(self):
        rows = SplitRows("toy", self.ROWS.X, np.array(["a", "b"] * 9 + ["c", "c"]), None)
        assert make_part(rows, (np.arange(18), np.arange(18, 20))).test_y.tolist() == [-1, -1]

    def test_gaps_are_nested_and_exact_in_number(self):
        iris = load_dataset("iris", as_frame=False)
        part = make_part(
            SplitRows("iris", iris.X, iris.y, None), (np.arange(0, 150, 2), np.arange(1, 150, 2))
        )
        masks = [codes == part.data.cards[:, None] for codes in with_missing(part, [0, 1, 3, 4], 7)]
        for n, mask in zip([0, 1, 3, 4], masks, strict=True):
            assert np.all(mask.sum(axis=0) == n)
        assert np.all(masks[1] <= masks[2])


class TestLearning:
    def test_figures_are_those_of_the_estimator(self):
        from discbayes import recipe
        from discbayes_papers.parts import load_part, load_rows

        task = Task(
            "iris", 1, ("NB-ML", "TAN-CMI-ML", "TAN-CMI-CL"), 0, classify, {"splits": five_folds}
        )
        found = {one.recipe: one for one in classify(task)}
        rows = load_rows("iris")
        train, test = five_folds(rows, 0)[1]
        for tag, one in found.items():
            clf = recipe(tag, random_state=0).fit(rows.X[train], rows.y[train])
            shares = clf.predict_proba(rows.X[test])
            assert one["accuracy"] == pytest.approx(
                accuracy_score(rows.y[test], clf.predict(rows.X[test]))
            )
            if not tag.endswith("CL"):  # cross tuning draws folds
                assert one["log_loss"] == pytest.approx(
                    sklearn_log_loss(rows.y[test], shares), rel=1e-6
                )
            assert one["n_test"] == len(test)
            assert one["parameters"] == clf.network_.n_parameters
        assert load_part("iris", 1, 0, five_folds) is load_part("iris", 1, 0, five_folds)


class TestJudging:
    @pytest.mark.parametrize("make", [pd.DataFrame, pa.table, "array"])
    def test_masked_cells_are_missing_and_no_others(self, make):
        cells = {
            "a": [1.0, 2.0, 3.0],
            "b": ["x", None, "z"],
            "c": [1, 2, 3],
            "d": [True, False, True],
        }
        mask = np.array(
            [[True, False, False, False], [False, False, True, True], [False, True, False, False]]
        )
        X = (
            np.array(list(zip(*cells.values(), strict=True)), dtype=object)
            if make == "array"
            else make(cells)
        )
        table = read_table(X)
        masked = table.with_missing(mask)
        np.testing.assert_array_equal(masked.missing_mask(), table.missing_mask() | mask.T)
        assert masked.cells(1, np.array([0])) == ["x"]
        assert masked.cells(2, np.array([2])) == [3]
        assert table.missing_mask().sum() == 1

    def test_masks_hold_one_another(self):
        few, many = missing_masks(50, 7, [20, 60], np.random.default_rng(0))
        assert np.all(few.sum(axis=1) == round(0.2 * 7))
        assert np.all(many.sum(axis=1) == round(0.6 * 7))
        assert np.all(few <= many)

    def test_figures_and_times(self):
        iris = load_dataset("iris")
        rows = np.arange(150)
        train, test = rows[rows % 3 > 0], rows[rows % 3 == 0]
        table = read_table(iris.X)
        masked = {100: table.take(test).with_missing(np.ones((50, 4), bool))}
        for method in ("TAN-LAPLACE", "NB-E-G penalty=2", "cnb"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found, warned, _ = judge(estimator_of(method), table, iris.y, train, test, masked)
            assert found["accuracy"] > 0.9
            assert found["accuracy@100"] == pytest.approx(
                np.mean(iris.y[test] == "setosa"), abs=0.05
            )
            assert found["n_test"] == 50
            assert found["fit_seconds"] > 0
            assert warned == ""

    def test_an_unknown_method_is_refused_with_the_nearest(self):
        with pytest.raises(ValueError, match="TAN"):
            estimator_of("TAN-XYZ")


class TestBlocks:
    BLOCKS = (
        Text("# Title"),
        Text("A **bold** word and `code` <script>"),
        ResultTable("Rates", ["data", "a|b"], [["iris", "0.5"], ["<b>", "0.25"]], "A note."),
        Picture("curve", "The curve", lambda: None),
    )

    def test_on_a_screen(self):
        text = as_text(self.BLOCKS)
        assert "iris  0.5" in text.replace("   ", " ").replace("   ", " ") or "iris" in text
        assert "(The curve)" in text

    def test_as_markdown(self):
        text = as_markdown(self.BLOCKS, lambda picture: f"{picture.name}.png")
        assert "| data | a\\|b |" in text
        assert "|:--|--:|" in text
        assert "![The curve](curve.png)" in text

    def test_as_html_nothing_of_the_text_is_markup(self):
        page = as_html(self.BLOCKS, lambda picture: "<img>")
        assert "&lt;script&gt;" in page
        assert "<td class=l>&lt;b&gt;</td>" in page
        assert "<strong>bold</strong>" in page
        assert "<code>code</code>" in page

    def test_published_figures_stand_beside_ours_with_marks(self):
        ours = {("a", "x"): 1.0, ("a", "y"): 3.0, ("b", "x"): 2.0}
        theirs = {("a", "x"): 2.5, ("a", "y"): 1.5, ("b", "x"): 2.4, ("b", "y"): 1.0}
        table = beside("t", ours, theirs, ["a", "b"], ["x", "y"], tolerance=0.5, digits=1)
        assert table.rows == [["a", "1.0 (2.5) ▼", "3.0 (1.5) ▲"], ["b", "2.0 (2.4)", "– (1.0)"]]
        less = beside(
            "t", ours, theirs, ["a"], ["x", "y"], tolerance=0.5, digits=1, larger_is_better=False
        )
        assert less.rows == [["a", "1.0 (2.5) ▲", "3.0 (1.5) ▼"]]

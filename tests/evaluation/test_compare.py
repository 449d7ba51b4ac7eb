"""Methods side by side: the right rows in each fold, the same gaps for all, runs that go on,
failures, pages.
"""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss

import discbayes.evaluation.comparison.cells as cells
import discbayes.evaluation.comparison.pictures as pictures
import discbayes.evaluation.comparison.result as comparison
import discbayes.evaluation.comparison.running as running
import discbayes.evaluation.result_page as html
from discbayes import compare
from discbayes.data.folds import stratified_folds
from discbayes.data.table_reader import read_table
from discbayes.engine import Progress
from discbayes.evaluation.baseline_pipelines import METHODS as PIPELINES
from discbayes.evaluation.comparison.cells import load_setup
from discbayes.evaluation.comparison.result import BEST, NEITHER, WORSE, Comparison
from discbayes.evaluation.comparison.running import make_setup
from discbayes.evaluation.judging import estimator_of
from discbayes.evaluation.method_names import DEFAULT_METHOD, DEFAULT_NAME
from discbayes.evaluation.result_blocks import Picture, ResultTable, Text
from discbayes.evaluation.result_store import Result
from discbayes.evaluation.statistics import paired_t

RECIPES, BASELINES, SHARES = ("NB-MAP", "TAN-MAP"), ("lr", "cnb"), (30, 60)
METHODS = (*RECIPES, *BASELINES)
N_ROWS, N_FOLDS = 90, 3


def folds_of(y: np.ndarray, n_folds: int = N_FOLDS, seed: int = 0) -> np.ndarray:
    codes = np.unique(y, return_inverse=True)[1]
    return stratified_folds(codes, n_folds, np.random.default_rng(seed))


def make_rows() -> tuple[pd.DataFrame, np.ndarray]:
    """A column whose values depend on the fold: cuts or scales that saw the test rows would be
    others.
    """
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b", "c"], N_ROWS, p=[0.5, 0.3, 0.2])
    place = np.unique(y, return_inverse=True)[1]
    X = pd.DataFrame(
        {
            "shifted": place + rng.normal(0, 0.7, N_ROWS) + 50.0 * folds_of(y),
            "size": place + rng.normal(0, 0.7, N_ROWS),
            "colour": np.where(rng.random(N_ROWS) < 0.7, y, "other").astype(object),
        }
    )
    X.loc[::6, "size"] = np.nan
    X.loc[::8, "colour"] = None
    return X, y


X, Y = make_rows()


def figures(found: Comparison) -> dict[tuple[int, str], dict[str, float]]:
    """All that does not depend on the clock."""
    return {
        (r.fold, r.recipe): {k: v for k, v in r.measured.items() if not k.endswith("seconds")}
        for r in found.results
    }


@pytest.fixture
def no_page(monkeypatch):
    """Drawing takes time; where it is not the matter, the page is empty."""
    monkeypatch.setattr(comparison, "page", lambda title, blocks, foot: "")


@pytest.fixture(scope="module")
def found():
    return compare(X, Y, RECIPES, BASELINES, cv=N_FOLDS, missing=(0, *SHARES), name="rows")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same in a folder."""
    place = tmp_path_factory.mktemp("run") / "kept"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "page", lambda title, blocks, foot: "")
        compare(X, Y, RECIPES, BASELINES, cv=N_FOLDS, missing=SHARES, folder=place, name="rows")
    return place


# ---- what is measured


@pytest.mark.parametrize("method", METHODS)
def test_a_fold_is_learned_from_its_training_rows_alone(found, method):
    """A fit by hand that never sees the test rows says the same of them, to the last bit that is
    kept.
    """
    folds = folds_of(Y)
    for fold in range(N_FOLDS):
        train, test = folds != fold, folds == fold
        by_hand = estimator_of(method).fit(X[train], Y[train]).predict_proba(X[test])
        np.testing.assert_array_equal(found.posteriors[method][test], by_hand.astype(np.float32))
        row = figures(found)[fold, method]
        classes = np.array(["a", "b", "c"])
        assert row["accuracy"] == pytest.approx(
            accuracy_score(Y[test], classes[by_hand.argmax(axis=1)])
        )
        assert row["log_loss"] == pytest.approx(
            log_loss(Y[test], by_hand, labels=classes), rel=1e-6
        )
        assert (row["n_train"], row["n_test"]) == (train.sum(), test.sum())


def test_gaps_are_the_same_for_all_methods(monkeypatch):
    seen: dict[str, list[np.ndarray]] = {}

    class Spy:
        """Says nothing of rows but which cells they lack."""

        classes_ = np.array(["a", "b", "c"])
        n_parameters_ = 1

        def __init__(self, name):
            self.name = name

        def set_params(self, **settings):
            return self

        def fit(self, table, y):
            return self

        def predict_proba(self, table):
            seen.setdefault(self.name, []).append(read_table(table).missing_mask().T)
            return np.full((read_table(table).n_rows, 3), 1 / 3)

    monkeypatch.setattr(cells, "estimator_of", lambda method, seed=0: Spy(method))
    monkeypatch.setattr(cells, "_warm_up", lambda *method: None)
    compare(X, Y, ["NB-MAP"], ["lr"], cv=N_FOLDS, missing=SHARES)
    ours, theirs = seen["NB-MAP"], seen["lr"]
    assert len(ours) == N_FOLDS * (1 + len(SHARES))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)
    for fold in range(N_FOLDS):
        complete, some, more = ours[3 * fold : 3 * fold + 3]
        np.testing.assert_array_equal(complete, X[folds_of(Y) == fold].isna().to_numpy())
        assert (complete <= some).all()
        assert (some <= more).all()
    assert np.mean([m.mean() for m in ours[2::3]]) == pytest.approx(
        0.6 + 0.4 * X.isna().to_numpy().mean(), abs=0.07
    )


@pytest.mark.parametrize("with_missing", [False, True])
def test_before_the_clock_runs_searches_have_edges_to_try(monkeypatch, with_missing):
    seen = []
    make = cells.estimator_of
    monkeypatch.setattr(
        cells, "estimator_of", lambda *method: seen.append(make(*method)) or seen[-1]
    )
    cells._warm_up.__wrapped__("NB-MAP", 0, with_missing)
    assert all(len(variable.labels) > 1 for variable in seen[0].network_.domain.features)
    monkeypatch.setattr(
        cells, "estimator_of", lambda *method: Mock(fit=lambda X, y: seen.append(X) or Mock())
    )
    cells._warm_up.__wrapped__("NB-MAP", 0, with_missing)
    assert np.isnan(seen[-1]).any() == with_missing


def test_masks_differ_from_fold_to_fold_and_with_the_seed():
    masks = [
        make_setup(X, Y, N_FOLDS, [50], seed=seed).masks(fold)[50]
        for seed in (0, 1)
        for fold in (0, 1)
    ]
    assert len({mask.tobytes() for mask in masks}) == 4


def test_cells_find_their_rows_in_another_process(found, monkeypatch):
    """What goes to another process is small, and says all; processes themselves have their test
    elsewhere.
    """

    def run(tasks, store, *rest):
        sent = [pickle.dumps(task) for task in tasks]
        assert max(map(len, sent)) < 2000
        load_setup.cache_clear()
        for result in (result for task in map(pickle.loads, sent) for result in task.work(task)):
            store.add(result)

    monkeypatch.setattr(running, "run_tasks", run)
    assert figures(
        compare(X, Y, RECIPES, BASELINES, cv=N_FOLDS, missing=SHARES, name="rows")
    ) == figures(found)


def test_arrays_lists_and_columns_that_are_categories():
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 4, (60, 2))
    y = numbers[:, 0] % 2 == 0
    as_labels = compare(numbers, y, [], ["lr"], cv=2, categorical=[0])
    assert as_labels.mean("accuracy", "lr") == 1.0
    same = compare(numbers.tolist(), y.tolist(), [], ["lr"], cv=2, categorical=[0])
    assert figures(same) == figures(as_labels)
    assert compare(numbers, y, [], ["lr"], cv=2).mean("accuracy", "lr") < 1.0


def test_a_class_that_a_fold_has_not_learned_counts_as_wrong():
    y = Y.copy().astype(object)
    y[0] = "alone"
    alone = compare(X, y, ["NB-MAP"], ["lr"], cv=2)
    for method in alone.methods:
        assert alone.posteriors[method].shape == (N_ROWS, 4)
        assert alone.posteriors[method][0, 1] == 0.0
        assert np.isfinite(alone.figures("log_loss", method)).all()


# ---- runs that go on


class Interrupting(Progress):
    """Interrupts the run after so many cells."""

    def __init__(self, after: int):
        super().__init__()
        self.left = after

    def stage(self, text, **values):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_an_interrupted_run_goes_on_to_the_same_table(tmp_path, found, no_page):
    again = {"cv": N_FOLDS, "missing": SHARES, "folder": tmp_path, "name": "rows"}
    for after in (1, 4):
        with pytest.raises(KeyboardInterrupt):
            compare(X, Y, RECIPES, BASELINES, **again, progress=Interrupting(after))
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".data-")]
    lines = (tmp_path / "rows.csv").read_text()
    assert lines.count("\n") == 1 + 5
    # as if it had been killed within a line
    (tmp_path / "rows.csv").write_text(lines + "rows,1,TAN")
    whole = compare(X, Y, RECIPES, BASELINES, **again)
    assert (tmp_path / "rows.csv").read_text().startswith(lines)
    for key, row in figures(found).items():
        assert figures(whole)[key] == pytest.approx(row, rel=1e-6)  # seven digits are stored
    assert whole.ranked == found.ranked
    assert [table.rows for table in whole.tables()[1:3]] == [
        table.rows for table in found.tables()[1:3]
    ]
    for method in METHODS:
        np.testing.assert_array_equal(whole.posteriors[method], found.posteriors[method])


def test_nothing_is_run_twice_and_methods_can_be_added(folder, monkeypatch, no_page):
    ran = []
    monkeypatch.setattr(cells, "judge", lambda *all_of_it: ran.append(1) or 1 / 0)
    same = compare(X, Y, RECIPES, BASELINES, cv=N_FOLDS, missing=SHARES, folder=folder, name="rows")
    assert not ran
    assert same.methods == METHODS
    more = compare(
        X, Y, ["NB-MAP"], ["tree"], cv=N_FOLDS, missing=SHARES, folder=folder, name="rows"
    )
    assert len(ran) == N_FOLDS
    assert more.methods == ("NB-MAP", "tree")
    assert more.failed == ["tree"]


def test_other_data_or_settings_are_refused(folder):
    kept = {"cv": N_FOLDS, "missing": SHARES, "folder": folder, "name": "rows"}
    before = (folder / "rows.csv").read_bytes()
    changed = X.copy()
    changed.loc[3, "size"] = 17.0
    with pytest.raises(ValueError, match="the same columns with other values"):
        compare(changed, Y, ["NB-MAP"], [], **kept)
    with pytest.raises(ValueError, match="folds 3, not 4"):
        compare(X, Y, ["NB-MAP"], [], **{**kept, "cv": 4})
    with pytest.raises(ValueError, match=r"missing \[30, 60\], not \[\]"):
        compare(X, Y, ["NB-MAP"], [], **{**kept, "missing": ()})
    with pytest.raises(ValueError, match="seed 0, not 1"):
        compare(X, Y, ["NB-MAP"], [], **kept, random_state=1)
    with pytest.raises(ValueError, match="categorical"):
        compare(X, Y, ["NB-MAP"], [], **kept, categorical=["size"])
    swapped = Y.copy()
    swapped[0] = next(label for label in Y if label != Y[0])
    with pytest.raises(ValueError, match="holds another comparison"):
        compare(X, swapped, ["NB-MAP"], [], **kept)
    assert (folder / "rows.csv").read_bytes() == before


def test_fresh_starts_anew(tmp_path, no_page):
    compare(X, Y, ["NB-MAP"], ["lr"], cv=2, folder=tmp_path)
    anew = compare(X, Y, ["NB-MAP"], [], cv=3, folder=tmp_path, fresh=True)
    assert (tmp_path / "rows.csv").read_text().count("\n") == 1 + 3
    assert len(list((tmp_path / "posterior").iterdir())) == 3
    assert json.loads((tmp_path / "comparison.json").read_text())["folds"] == 3
    assert anew.n_folds == 3


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "rows.csv").write_text("mine")
    for fresh in (False, True):
        with pytest.raises(ValueError, match="does not belong to a comparison"):
            compare(X, Y, ["NB-MAP"], [], folder=tmp_path, fresh=fresh)
    assert (tmp_path / "rows.csv").read_text() == "mine"


# ---- failures and notes


def test_what_fails_is_shown_and_the_others_go_on():
    rows = X.assign(name=[f"row {i}" for i in range(N_ROWS)])
    mixed = compare(rows, Y, ["NB-MAP"], ["lr"], cv=3)
    assert mixed.ranked == ["lr", "NB-MAP"]
    assert mixed.failed == ["NB-MAP"]
    assert "looks like free text" not in mixed.note("lr")
    assert mixed.note("NB-MAP").startswith("failed: ValueError: column 'name' looks like free text")
    assert math.isnan(mixed.mean("accuracy", "NB-MAP"))
    assert np.isnan(mixed.posteriors["NB-MAP"]).all()
    assert mixed.tables()[0].rows[1][1:4] == ["NB-MAP", "failed", "–"]
    assert "failed: ValueError" in repr(mixed)
    nothing = compare(rows, Y, ["NB-MAP"], [], cv=3)
    assert nothing.tables()[0].rows[0][2] == "failed"


def test_warnings_become_notes():
    short = X.assign(
        code=[["1", "2", "3", "?"][i % 4] if i % 4 == 3 else str(i % 30) for i in range(N_ROWS)]
    )
    noted = compare(short, Y, ["NB-MAP"], [], cv=2)
    assert "all of them are numbers except '?'" in noted.note("NB-MAP")
    assert not noted.failed


def test_notes_are_told_once():
    """Messages that differ in numbers and values only are one; methods that say the same share a
    line.
    """
    said = ["column 'a' has 3 gaps", "column 'b' has 4 gaps", ""]
    results = [
        Result("d", f, m, 0, {"accuracy": 1.0}, note=said[f]) for m in ("x", "y") for f in range(3)
    ]
    one = replace(made({"x": [1.0] * 3, "y": [1.0] * 3}), results=tuple(results))
    assert one.tables()[-1].rows == [["x, y", "column 'a' has 3 gaps (2 of 3 folds)"]]


def test_the_default_has_its_name_and_tags_a_column_of_their_own():
    found = made({"default": [1.0] * 3, "TAN-MAP": [0.9] * 3, "lr": [0.8] * 3})
    assert [row[:2] for row in found.tables()[0].rows] == [
        ["discbayes (default)", "default"],
        ["discbayes", "TAN-MAP"],
        ["logistic regression", "lr"],
    ]


def test_samples_are_marked(monkeypatch):
    monkeypatch.setitem(PIPELINES, "knn", replace(PIPELINES["knn"], max_rows=20))
    sampled = compare(X, Y, [], ["knn", "lr"], cv=2)
    names = [row[:2] for row in sorted(sampled.tables()[0].rows)]
    assert names == [["logistic regression", "lr"], ["nearest neighbors †", "knn"]]
    assert "† learned from a sample" in sampled.tables()[0].note


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipes": ["TAM-MAP"]}, "'TAM-MAP' is not a recipe"),
        ({"recipes": ["TAN-MAP lam"]}, "write NAME=NUMBER"),
        ({"baselines": ["gbm"]}, "there is no baseline 'gbm'"),
        ({"recipes": [], "baselines": []}, "nothing to compare"),
        ({"cv": 1}, "cv=1 must be"),
        ({"cv": 91}, "90 rows cannot be split into 91 folds"),
        ({"missing": [0.5]}, "missing=0.5 is not a whole percentage"),
        ({"missing": [101]}, "missing=101"),
        ({"sort": "speed"}, "sort='speed'"),
        ({"random_state": None}, "random_state=None"),
    ],
)
def test_wrong_options_are_refused_before_any_work(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        compare(X, Y, **options, folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_one_name_is_no_list():
    with pytest.raises(TypeError, match="lists of names"):
        compare(X, Y, "TAN-MAP")


# ---- tables


def made(accuracies: dict[str, list[float]], **more: object) -> Comparison:
    """A comparison with these accuracies, and 1 − accuracy as the log loss."""
    results = [
        Result("d", fold, method, 0, {"accuracy": a, "log_loss": 1 - a})
        for method, values in accuracies.items()
        for fold, a in enumerate(values)
        if not math.isnan(a)
    ]
    n_folds = len(next(iter(accuracies.values())))
    empty = {method: np.full((4, 2), np.nan) for method in accuracies}
    return Comparison(
        "d",
        tuple(accuracies),
        tuple(results),
        empty,
        np.zeros(4, int),
        np.arange(2),
        3,
        n_folds,
        (),
        0,
        **more,
    )


def test_marks_are_those_of_the_corrected_t_test():
    best, near, far = (
        [0.90, 0.92, 0.91, 0.93, 0.94],
        [0.89, 0.93, 0.90, 0.93, 0.92],
        [0.80, 0.83, 0.82, 0.83, 0.85],
    )
    one = made(
        {"near": near, "best": best, "far": far, "same": best[::-1], "partly": [math.nan, *far[1:]]}
    )
    assert one.marks("accuracy") == {
        "near": NEITHER,
        "best": BEST,
        "far": WORSE,
        "same": BEST,
        "partly": WORSE,
    }
    assert one.marks("log_loss") == one.marks("accuracy")
    assert (
        paired_t(best, near, test_train_ratio=1 / 4).p
        > 0.05
        > paired_t(best, far, test_train_ratio=1 / 4).p
    )
    borderline = made({"best": best, "other": [0.88, 0.918, 0.90, 0.92, 0.94]})
    plain = paired_t(best, borderline.figures("accuracy", "other")).p
    assert plain < 0.05
    # only without the correction is it worse
    assert borderline.marks("accuracy")["other"] == NEITHER


def test_sorting_and_means():
    values = {
        "b": [0.8, 0.9],
        "a": [0.9, 1.0],
        "lost": [math.nan, math.nan],
        "half": [1.0, math.nan],
    }
    assert made(values).ranked == ["a", "b", "half", "lost"]
    assert made(values, sort="accuracy").ranked == ["a", "b", "half", "lost"]
    assert made(values).mean("accuracy", "half") == 1.0
    assert math.isnan(made(values).deviation("accuracy", "half"))
    assert made(values).deviation("accuracy", "a") == pytest.approx(0.1 / math.sqrt(2))
    assert made(values).marks("accuracy")["half"] == NEITHER
    assert made({"lost": [math.nan, math.nan]}).marks("accuracy") == {"lost": NEITHER}


def test_frames_and_tables(found, tmp_path, no_page):
    rows, summary = found.rows("pandas"), found.summary("polars")
    assert len(rows) == N_FOLDS * len(METHODS)
    by_hand = rows.groupby("method")["log_loss"].mean().sort_values()
    assert summary["method"].to_list() == by_hand.index.tolist() == found.ranked
    assert summary["log_loss"].to_list() == pytest.approx(by_hand.tolist())
    assert {"accuracy@30", "log_loss@60_sd", "accuracy_mark", "note"} <= set(summary.columns)
    found.write(tmp_path / "table.csv", tmp_path / "page.html")
    stored = pd.read_csv(tmp_path / "table.csv")
    assert stored.columns.tolist() == summary.columns
    assert stored["accuracy"].tolist() == summary["accuracy"].to_list()
    table, with_missing = found.tables()[:2]
    assert table.header[:2] == ["method", "tag"]
    assert with_missing.header == ["method", "tag", "complete", "30 %", "60 %"]
    assert all(table.rows[at][place].endswith(BEST) for at, place in table.strong)
    assert found._repr_html_().startswith("<div")


# ---- pages


class Reader(HTMLParser):
    """The elements of a page, what is in them, and what they point to."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.texts, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [
            value
            for name, value in attributes
            if name in ("src", "href") and not value.startswith("#")
        ]

    def handle_data(self, data):
        self.texts.append(data)


NASTY = "<script>alert('1')</script> & \"co\""


def test_methods_are_told_in_words(found):
    note = found.tables()[0].note.splitlines()[-1]
    assert note.startswith("Methods. ")
    assert "lr: logistic regression" in note
    assert "NB-MAP" not in note  # a tag that a user gave


def test_text_is_escaped_wherever_it_stands():
    blocks = [
        Text(NASTY),
        Text(f"# {NASTY}"),
        ResultTable(NASTY, [NASTY], [[NASTY]], NASTY, strong=[(0, 0)]),
    ]
    read = Reader(html.page(NASTY, blocks, NASTY))
    assert "script" not in read.tags
    assert "".join(read.texts).count("<script>alert('1')</script> & \"co\"") == 8
    assert {"h1", "b", "caption"} <= set(read.tags)


def test_the_page_stands_alone_and_shows_all(tmp_path):
    pytest.importorskip("matplotlib")
    nasty = X.rename(columns={"size": NASTY})
    shown = compare(nasty, Y, ["NB-MAP"], ["lr"], cv=2, missing=[50], folder=tmp_path, name=NASTY)
    read = Reader((tmp_path / "compare.html").read_text(encoding="utf-8"))
    assert read.tags.count("svg") == 3
    assert not {"script", "link", "img", "iframe"} & set(read.tags)
    assert not read.links
    assert any(NASTY in text for text in read.texts)
    assert shown.name == NASTY
    page = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in page
    assert html.INK not in page


def test_pictures_have_the_colour_of_the_text_and_no_date():
    pyplot = pytest.importorskip("matplotlib.pyplot")

    def draw():
        figure, ax = pyplot.subplots()
        ax.set_xlabel(NASTY)
        return figure

    drawn = html.svg(Picture("name", NASTY, draw))
    assert "currentColor" in drawn
    assert drawn == html.svg(Picture("name", NASTY, draw))
    assert "script" not in Reader(drawn).tags
    assert not pyplot.get_fignums()


def test_without_matplotlib_the_page_says_so(monkeypatch, found):
    def absent(module):
        raise ModuleNotFoundError("this needs matplotlib, which is not installed")

    monkeypatch.setattr(html, "need", absent)
    page = html.page("rows", found.blocks())
    assert page.count("No picture: this needs matplotlib") == 3
    assert "<table>" in page


def test_the_page_has_landmarks_and_what_is_wide_is_reached_by_keys(found):
    page = html.page("rows", [*found.blocks(), Text("## Code\n\n    fit a --b\n    <c>")])
    assert page.count("<main>") == page.count("</main>") == 1
    assert page.count("<div class=scroll tabindex=0 role=group aria-label=") == page.count(
        "class=scroll"
    )
    # lines of code are not broken after the dashes of an option
    assert "<span>--b</span>\n<span>&lt;c&gt;</span></code></pre>" in page


def test_reliability_is_shown_of_the_default_and_a_few_others(monkeypatch):
    names = ["svm", "lr", "TAN-MAP", "NB-MAP", "rf", DEFAULT_METHOD]  # the default is the last
    shares = np.full((4, 2), 0.5)
    many = SimpleNamespace(
        ranked=names, posteriors=dict.fromkeys(names, shares), codes=np.zeros(4, int)
    )
    shown = list(pictures._posteriors(many))
    assert len(shown) == pictures.MAX_DIAGRAMS <= 4
    assert shown[0] == DEFAULT_NAME

"""Calibration of classifiers that learn from files and iterators: the same bits as from a table."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discbayes import KDB, BayesNetClassifier, load_dataset
from discbayes.classifier import estimator, training_rows
from discbayes.data import folds as data_folds
from discbayes.data.row_keys import RowKeys, table_keys
from discbayes.data.table_reader import read_table
from discbayes.streams import rereading

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("small_blocks", "temporary")
BLOCK_ROWS = 1024


def in_five_files(frame, folder):
    folder.mkdir()
    ends = (len(frame) * np.array([0.01, 0.4, 0.41, 0.9, 1.0])).astype(int)
    for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        pq.write_table(
            pa.Table.from_pandas(frame[start:end], preserve_index=False),
            folder / f"{number}.parquet",
        )
    return folder


def in_batches(frame, size=700):
    return (frame[start : start + size] for start in range(0, len(frame), size))


def assert_same(found, expected, X):
    one, two = found.calibration_, expected.calibration_
    assert type(one) is type(two)
    assert one.class_shares.tobytes() == two.class_shares.tobytes()
    if hasattr(one, "temperature"):
        assert one.temperature == two.temperature
    elif hasattr(one, "scale"):
        names = ("scale", "doubt", "usual_missing")
        assert [getattr(one, name) for name in names] == [getattr(two, name) for name in names]
    else:
        for first, second in zip(
            (*one.log_odds, *one.probabilities), (*two.log_odds, *two.probabilities), strict=True
        ):
            assert first.tobytes() == second.tobytes()
    assert np.array_equal(found.predict_proba(X), expected.predict_proba(X))


@cache
def table_of(name):
    data = load_dataset(name)
    return pd.DataFrame(data.X).reset_index(drop=True), np.asarray(data.y)


def rows_of(name, n_rows, seed=0):
    """Some rows of a real data set, one of them four times, with the class and weights."""
    rng = np.random.default_rng(seed)
    X, y = table_of(name)
    some = rng.permutation(y.size)[:n_rows]
    some[:3] = some[3]
    weight = np.round(rng.gamma(1.0, 1.0, n_rows), 1)
    return X.iloc[some].reset_index(drop=True).assign(answer=y[some], w=weight)


CASES = [
    ("adult", False, {"calibrate_folds": 2}),
    ("adult", False, {"structure": "nb", "parameters": "hybrid", "calibrate_folds": 2}),
    ("adult", False, {"parameters": "map", "calibrate": "isotonic", "calibrate_folds": 2}),
    (
        "adult",
        True,
        {"structure": "nb", "parameters": "map", "calibrate": "isotonic", "missing": "drop"},
    ),
    (
        "adult",
        False,
        {
            "structure": KDB(k=2),
            "parameters": "map",
            "calibrate": "temperature",
            "missing": "value",
        },
    ),
    (
        "shuttle",
        True,
        {
            "structure": "tan-fcll",
            "parameters": "ml",
            "calibrate": "temperature",
            "calibrate_folds": 3,
        },
    ),
    (
        "shuttle",
        False,
        {
            "structure": "nb",
            "parameters": "map",
            "calibrate": "temperature",
            "class_weight": "balanced",
        },
    ),
]


@pytest.mark.parametrize(("name", "weighted", "settings"), CASES)
def test_the_same_bits_from_files_and_iterators(name, weighted, settings, tmp_path, data_folder):
    frame, weight = rows_of(name, 3000), "w" if weighted else None
    if weight is None:
        frame = frame.drop(columns="w")
    X = frame.drop(columns=["answer", *([weight] if weight else [])])
    clf = BayesNetClassifier(**settings, random_state=0)
    expected = clone(clf).fit(X, frame["answer"], None if weight is None else frame[weight])
    assert expected.calibration_ is not None
    assert_same(
        clone(clf).fit(in_five_files(frame, tmp_path / "five"), "answer", weight), expected, X
    )
    assert_same(clone(clf).fit(in_batches(frame), "answer", weight), expected, X)


def test_more_rows_than_are_held_out(tmp_path, data_folder, monkeypatch):
    monkeypatch.setattr(data_folds, "MAX_ROWS", 1500)
    seen, learn = [], estimator.learn_calibration

    def learn_and_see(plan, rows, encoder, folds):
        seen.append(folds)
        return learn(plan, rows, encoder, folds)

    monkeypatch.setattr(estimator, "learn_calibration", learn_and_see)
    frame = rows_of("letter", 4000).drop(columns="w")
    clf = BayesNetClassifier("nb", "map", calibrate="isotonic", calibrate_folds=2, memory="16MiB")
    expected = clone(clf).fit(frame.drop(columns="answer"), frame["answer"])
    found = clone(clf).fit(in_five_files(frame, tmp_path / "five"), "answer")
    assert_same(found, expected, frame.drop(columns="answer"))
    for dealt in seen:
        # six folds, of which two are used
        assert dealt.rows.size == pytest.approx(4000 * 2 / 6, abs=2)
    assert np.array_equal(seen[0].rows, seen[1].rows)


def test_columns_without_a_say(tmp_path):
    """A column that is constant has no part in which rows are held out, wherever that is known."""
    frame = (
        rows_of("iris", 140)
        .drop(columns="w")
        .assign(same="x", gap=np.nan, few=[None] * 139 + ["u"])
    )
    clf = BayesNetClassifier("nb", "map", calibrate="temperature")
    X = frame.drop(columns="answer")
    expected = clone(clf).fit(X, frame["answer"])
    assert_same(clone(clf).fit(in_five_files(frame, tmp_path / "five"), "answer"), expected, X)
    assert_same(clone(clf).fit(in_batches(frame, 30), "answer"), expected, X)
    keys, zeros = RowKeys(), np.zeros(140, int)
    for part in in_batches(X, 9):
        keys.look(read_table(part), zeros[: len(part)])
    keys.settle(zeros[:1])
    found = np.concatenate([keys.rows(read_table(part)) for part in in_batches(X, 9)])
    assert np.array_equal(found, table_keys(read_table(X), zeros))
    assert np.array_equal(found, table_keys(read_table(X.drop(columns=["same", "gap"])), zeros))


@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [
        ({"parameters": "hybrid"}, 1e-5),
        ({"structure": "nb", "parameters": "map", "calibrate": "isotonic"}, 1e-5),
        ({}, 1e-4),  # weights of levels are learned to 1e-5 of the mean log loss
    ],
)
def test_neither_names_nor_the_order_of_columns_matter(settings, tolerance, tmp_path, data_folder):
    """What they are called and where they stand says nothing of rows; in memory, in files and in
    batches.
    """
    frame = rows_of("letter", 1500)
    X, y, weight = frame.drop(columns=["answer", "w"]), frame["answer"], frame["w"]
    clf = BayesNetClassifier(
        **{"structure": "nb", "calibrate_folds": 2, **settings}, random_state=0
    )
    expected = clone(clf).fit(X, y, weight)
    names = {name: f"{name[::-1]} too" for name in X.columns}
    renamed = clone(clf).fit(X.rename(columns=names), y, weight)
    assert repr(renamed.calibration_) == repr(expected.calibration_)
    assert (
        renamed.network_.parameters.log_theta.tobytes()
        == expected.network_.parameters.log_theta.tobytes()
    )
    assert np.array_equal(renamed.predict_proba(X.rename(columns=names)), expected.predict_proba(X))
    other = frame[frame.columns[::-1]].rename(columns=names)
    files = in_five_files(other, tmp_path / "five")
    for found in (
        clone(clf).fit(files, "answer", "w"),
        clone(clf).fit(in_batches(other), "answer", "w"),
    ):
        shares = found.predict_proba(other[found.feature_names_in_])
        np.testing.assert_allclose(shares, expected.predict_proba(X), atol=tolerance)


def test_columns_with_more_values_than_are_kept(monkeypatch):
    """Summaries of a fold end their blocks where those of all rows do, also for an iterator."""
    monkeypatch.setattr(
        training_rows, "open_rows", partial(training_rows.open_rows, max_distinct=300)
    )
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    frame = pd.DataFrame(
        {"a": rng.normal(size=4000) + y, "b": rng.integers(0, 4, 4000), "answer": y}
    )
    clf = BayesNetClassifier("nb", "map", calibrate="temperature")
    one = clone(clf).fit(in_batches(frame, 4000), "answer")
    two = clone(clf).fit(in_batches(frame, 333), "answer")
    assert_same(one, two, frame[["a", "b"]])
    assert one.network_.domain != clone(clf).fit(frame[["a", "b"]], frame["answer"]).network_.domain


def test_what_cannot_be_calibrated():
    frame = rows_of("iris", 100).drop(columns="w")
    frame.loc[0, "answer"] = "alone"
    clf = BayesNetClassifier("nb", "map", calibrate="isotonic")
    with pytest.raises(
        ValueError,
        match="class 'alone' has 1 row, and calibrate='isotonic' needs 2 rows of a class",
    ):
        clf.fit(in_batches(frame, 30), "answer")
    assert not hasattr(clf, "network_")
    one_class = frame.assign(answer="same")
    with pytest.warns(UserWarning, match="y has one class only"):
        assert clf.fit(in_batches(one_class, 30), "answer").calibration_ is None
    every = pd.DataFrame({"a": [1, 2, 3], "answer": ["u", "v", "w"]})
    assert BayesNetClassifier("nb").fit(iter([every]), "answer").calibration_ is None


def test_a_source_that_changes_before_a_fold(tmp_path, monkeypatch):
    frame = rows_of("iris", 140).drop(columns="w")
    folder = in_five_files(frame, tmp_path / "five")

    def learn(*arguments):
        pq.write_table(pa.Table.from_pandas(frame[:9], preserve_index=False), folder / "4.parquet")
        return learn_all_rows(*arguments)

    learn_all_rows = estimator.learn_all_rows
    monkeypatch.setattr(estimator, "learn_all_rows", learn)
    with pytest.raises(
        RuntimeError, match=r"0\.parquet and 4 more files has changed between the passes"
    ):
        BayesNetClassifier("nb", "hybrid").fit(folder, "answer")


def test_a_fit_that_fails_leaves_nothing(monkeypatch):
    frame = rows_of("iris", 140).drop(columns="w")
    monkeypatch.setattr(rereading.KeyFile, "write", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        BayesNetClassifier("nb").fit(in_batches(frame, 30), "answer")

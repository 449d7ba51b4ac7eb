"""What is said while rows are read: how many, how fast, and how long the rest will take."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from discbayes import BayesNetClassifier, MaximumAPosteriori, WeightedCCBN
from discbayes.cli import main
from discbayes.engine import Context, Progress
from discbayes.engine.context import duration, time_left
from discbayes.parameters import DFE
from discbayes.streams import Throughput, throughput
from discbayes.streams import batches as stream_limits
from discbayes.streams.batch_sources import open_source
from discbayes.streams.batches import Limits


class Clock:
    """A clock that goes on by some seconds each time it is asked."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def perf_counter(self):
        self.now += self.step
        return self.now


@pytest.fixture
def slow(monkeypatch):
    """Every look at the clock takes eleven seconds, and batches have few rows."""
    monkeypatch.setattr(throughput, "time", Clock(11.0))
    monkeypatch.setattr(stream_limits, "MAX_ROWS", 512)


def make_table(n_rows=2000):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    return pa.table({"a": rng.integers(0, 5, n_rows) + y, "b": np.array(["u", "v"])[y], "y": y})


# ---- how long


def test_durations_and_what_is_left():
    assert [duration(s) for s in (0, 9.9, 99, 101)] == ["0.0 s", "9.9 s", "99 s", "2 min"]
    assert [duration(s) for s in (5999, 6001)] == ["100 min", "1.7 h"]
    assert time_left(10, 0.25) == "about 30 s left"
    assert time_left(10, 1.0) == "about 0.0 s left"
    assert time_left(10, None) == time_left(10, 0.0) == ""


def said_of(known, shares, monkeypatch):
    clock, stream = Clock(0.0), io.StringIO()
    monkeypatch.setattr(throughput, "time", clock)
    at = Throughput("reading", Progress(1, stream), known)
    for share in shares:
        clock.now += 5.5
        at.add(100, share)
    at.end(", on disk")
    return [line.removeprefix("[discbayes] reading: ") for line in stream.getvalue().splitlines()]


def test_the_rest_is_like_what_was_read(monkeypatch):
    assert said_of(None, [0.25, None, 0.5, 0.75], monkeypatch) == [
        "200 rows, 18 rows per second, about 33 s left",
        "400 rows, 18 rows per second, about 7.3 s left",
        "400 rows, 18 rows per second, on disk",
    ]
    assert "about 33 s left" in said_of(800, [None] * 4, monkeypatch)[0]
    assert not any("left" in line for line in said_of(None, [None] * 8, monkeypatch))


# ---- how much of a source is read


def shares_of(source, **limits):
    return [batch.share for batch in open_source(source).batches(Limits(**limits))]


def assert_rising_to_one(shares, least=2):
    assert len(shares) >= least
    assert all(one < two for one, two in pairwise(shares))
    assert shares[-1] == pytest.approx(1.0, abs=1e-3)  # a stream has an end mark


def test_shares_of_files(tmp_path, monkeypatch):
    monkeypatch.setattr(stream_limits, "MAX_ROWS", 512)
    table = make_table(4000)
    pa.parquet.write_table(table, tmp_path / "0.parquet", row_group_size=700)
    pa.parquet.write_table(table.slice(0, 1000), tmp_path / "1.parquet")
    pa.feather.write_feather(table, tmp_path / "2.arrow", chunksize=900)
    with pa.ipc.new_stream(tmp_path / "3.arrows", table.schema) as writer:
        writer.write_table(table, max_chunksize=900)
    assert_rising_to_one(shares_of(tmp_path), 16)
    sizes = [path.stat().st_size for path in sorted(tmp_path.iterdir())]
    halfway = [share for share in shares_of(tmp_path) if share <= sizes[0] / sum(sizes) + 1e-9]
    assert halfway[-1] == pytest.approx(sizes[0] / sum(sizes))
    fragments = shares_of(pa.dataset.dataset([tmp_path / "0.parquet", tmp_path / "1.parquet"]))
    assert sorted(set(fragments)) == [0.0, 0.5]


def test_shares_of_csv_files(tmp_path):
    pa.csv.write_csv(make_table(200_000), tmp_path / "rows.csv")
    shares = shares_of(tmp_path / "rows.csv", memory=1 << 24)
    assert_rising_to_one(shares)
    assert shares[0] == pytest.approx((1 << 24) / 32 / (tmp_path / "rows.csv").stat().st_size)
    make_table(50).to_pandas().to_csv(tmp_path / "rows.csv.gz", index=False)
    assert shares_of(tmp_path / "rows.csv.gz") == [None]


def test_iterators_know_nothing_and_dask_counts_partitions():
    frame = make_table(90).to_pandas()
    assert shares_of(iter([frame, frame])) == [None, None]
    dd = pytest.importorskip("dask.dataframe")
    assert shares_of(dd.from_pandas(frame, npartitions=3)) == pytest.approx([1 / 3, 2 / 3, 1])


# ---- what a fit says


def lines_of(err, what):
    return [line for line in err.splitlines() if f"] {what}" in line]


def test_the_passes_say_how_long_they_will_take(tmp_path, capsys, slow):
    pa.parquet.write_table(make_table(), tmp_path / "rows.parquet")
    BayesNetClassifier("nb", "map", verbose=1).fit(tmp_path / "rows.parquet", "y")
    err = capsys.readouterr().err
    for what in ("first pass (values)", "second pass (codes)"):
        lines = lines_of(err, what)
        assert len(lines) == 5
        assert all("s left" in line for line in lines[:4])
        assert "left" not in lines[4]


def test_an_iterator_says_it_once_its_rows_are_known(capsys, slow):
    frame = make_table().to_pandas()
    clf = BayesNetClassifier("nb", "map", calibrate="temperature", calibrate_folds=2, verbose=2)
    clf.fit((frame[k : k + 500] for k in range(0, 2000, 500)), "y")
    err = capsys.readouterr().err
    first, again = err.split("calibration: fold 1 of 2")
    assert not any("left" in line for line in lines_of(first, "first pass"))
    assert any("left" in line for line in lines_of(first, "second pass"))
    assert any("left" in line for line in lines_of(again, "first pass"))


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_predict_says_how_long_it_will_take(tmp_path, capsys, slow, ending):
    table, data = make_table(), tmp_path / f"rows{ending}"
    (pa.csv.write_csv if ending == ".csv" else pa.parquet.write_table)(table, data)
    model, answers = tmp_path / "model.json", tmp_path / "answers.csv"
    BayesNetClassifier("nb", "map").fit(
        table.drop_columns(["y"]).to_pandas(), np.asarray(table["y"])
    ).save(model)
    assert main(["predict", str(model), str(data), "--memory", "100MB", "-o", str(answers)]) == 0
    lines = lines_of(capsys.readouterr().err, "predicting")
    assert len(lines) == 5
    assert all("s left" in line for line in (lines[:4] if ending == ".parquet" else lines[3:4]))
    assert len(pd.read_csv(answers)) == 2000


# ---- iterations


def test_iterations_are_shown_with_their_limit():
    stream = io.StringIO()
    context = Context(progress=Progress(2, stream))
    context.record(most=20, iteration=3, score=-1.5)
    context.record(edge="a", gain=2)
    assert (
        stream.getvalue()
        == "[discbayes]   iteration 3 of at most 20, score -1.5\n[discbayes]   edge a, gain 2\n"
    )
    assert context.history[0].keys() == {"iteration", "score", "seconds"}


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        (WeightedCCBN(max_iter=400), "iteration 1 of at most 400, score"),
        (MaximumAPosteriori(missing="em", max_iter=33), "iteration 1 of at most 33, score"),
        (DFE(passes=2), "iteration 2 of at most 2, score"),
        ("bn-svm", r"iteration 1 of at most \d+, score"),
    ],
)
def test_learners_show_it(parameters, shown, capsys):
    table = make_table(200)
    frame = table.drop_columns(["y"]).to_pandas().astype({"a": float})
    frame.loc[::7, "a"], frame.loc[3::11, "b"] = np.nan, None
    if parameters == "bn-svm":
        frame = frame.fillna({"a": 0.0, "b": "u"})
    BayesNetClassifier("tan", parameters, verbose=2).fit(frame, np.asarray(table["y"]))
    assert re.search(shown, capsys.readouterr().err)

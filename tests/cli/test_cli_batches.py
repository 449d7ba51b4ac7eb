"""The command line on files that are read in batches: the same models and answers as on files that
are read at once.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discbayes import load
from discbayes.cli import batch_input, main
from discbayes.streams import batches as limits


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(limits, "MAX_ROWS", 512)


def make_table(n_rows=1500, seed=0):
    """Numbers, text, codes with leading zeros, booleans, gaps, weights, and classes that are
    numbers.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    colours = np.array(["red", "green", None, "blue"])[(y + rng.integers(0, 2, n_rows)) % 4]
    return pa.table(
        {
            "size": np.round(rng.normal(size=n_rows) + y, 1),
            "colour": pa.array(colours.tolist()),
            "ward": [f"{k:02d}" for k in rng.integers(0, 12, n_rows)],
            "smoker": rng.random(n_rows) < 0.2 + 0.2 * y,
            "id": np.arange(n_rows),
            "w": np.round(rng.random(n_rows) + 0.5, 2),
            "outcome": y + 9,  # 10 comes before 9 as text
        }
    )


def write(table, path):
    writer = pa.parquet.write_table if path.suffix == ".parquet" else pa.csv.write_csv
    writer(table, path)
    return path


FIT = [
    "--target",
    "outcome",
    "--categorical",
    "ward",
    "--drop",
    "id",
    "--parameters",
    "map",
    "--weights",
    "w",
]


def content(path):
    """All of a model file."""
    model = json.loads(path.read_bytes())["model"]
    assert model["history"]
    return model


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("more", [[], ["--missing", "value", "--structure", "kdb"]])
def test_fit_gives_the_same_file(run, tmp_path, small_batches, ending, more):
    data = write(make_table(), tmp_path / f"rows{ending}")
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert run("fit", data, *FIT, *more, "-o", one, "--quiet") == (0, "", "")
    code, out, err = run("fit", data, *FIT, *more, "--memory", "20MB", "-o", two)
    assert (code, out) == (0, "")
    assert "first pass (values): 1,500 rows, " in err
    assert "rows per second" in err
    assert f"model saved in {two}" in err
    assert content(two) == content(one)
    assert load(two).memory is None


def test_fit_of_a_folder(run, tmp_path):
    table = make_table()
    folder = tmp_path / "rows"
    folder.mkdir()
    for number, first in enumerate(range(0, 1500, 300)):
        write(table.slice(first, 300), folder / f"{number}.parquet")
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    run("fit", write(table, tmp_path / "all.parquet"), *FIT, "-o", one, "--quiet")
    assert run("fit", folder, *FIT, "-o", two, "--quiet") == (0, "", "")
    assert content(two) == content(one)
    _, expected, _ = run("predict", one, tmp_path / "all.parquet", "--proba")
    code, found, err = run("predict", one, folder, "--proba")
    assert code == 0
    assert found == expected
    assert "predicting: 1,500 rows" in err


def test_large_files_are_read_in_batches(run, tmp_path, monkeypatch):
    data = write(make_table(), tmp_path / "rows.parquet")
    assert "pass" not in run("fit", data, *FIT, "-o", tmp_path / "m.json")[2]
    monkeypatch.setattr(batch_input, "MAX_WHOLE_FILE", 1000)
    assert "second pass (codes): 1,500 rows" in run("fit", data, *FIT, "-o", tmp_path / "m.json")[2]
    assert "predicting: 1,500 rows" in run("predict", tmp_path / "m.json", data)[2]


def test_marks_and_delimiters(run, tmp_path):
    table = make_table(400)
    data = tmp_path / "rows.csv"
    pa.csv.write_csv(table, data, pa.csv.WriteOptions(delimiter=";"))
    data.write_text(data.read_text().replace('"red"', '"?"'))
    reading = ["--delimiter", ";", "--na-values", "?"]
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert run("fit", data, *FIT, *reading, "-o", one)[0] == 0
    assert run("fit", data, *FIT, *reading, "--memory", "1GB", "-o", two)[0] == 0
    assert content(two) == content(one)
    assert "red" not in load(two).network_.domain.features[1].labels
    answers = [run("predict", one, data, *reading, *more)[1] for more in ([], ["--memory", "1GB"])]
    assert answers[0] == answers[1]


# ---- predicting


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    data = write(make_table(), folder / "rows.parquet")
    assert main(["fit", str(data), *FIT, "--quiet", "-o", str(folder / "model.json")]) == 0
    return folder / "model.json"


@pytest.mark.parametrize("source", [".parquet", ".csv"])
@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_predict_writes_the_same_table(run, model, tmp_path, small_batches, source, ending):
    data = write(make_table(1700, seed=1), tmp_path / f"new{source}")
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    assert run("predict", model, data, "--proba", "-o", one, "--quiet") == (0, "", "")
    assert run("predict", model, data, "--proba", "-o", two, "--memory", "1GB", "--quiet") == (
        0,
        "",
        "",
    )
    if ending == ".parquet":
        assert pa.parquet.read_table(two).equals(pa.parquet.read_table(one))
        assert pa.parquet.ParquetFile(two).num_row_groups > 2
    elif ending == ".csv":
        assert two.read_bytes() == one.read_bytes()
    else:
        read = [
            pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter="\t"))
            for path in (one, two)
        ]
        assert read[0].equals(read[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [data.name, one.name, two.name]
    )


def test_predict_matches_columns_and_spelling(run, model, tmp_path, small_batches):
    table = make_table(1200, seed=2)
    shuffled = table.select(["ward", "smoker", "w", "size", "colour"])
    data = write(shuffled.append_column("more", pa.array(["x"] * 1200)), tmp_path / "new.csv")
    _, expected, _ = run("predict", model, data)
    _, found, err = run("predict", model, data, "--memory", "1GB")
    assert found == expected
    assert err.count("ignoring columns that the model does not know: 'w', 'more'") == 1
    assert err.count("matched by name") == 1


def test_answers_with_commas(run, tmp_path, small_batches):
    data = write(
        pa.table({"a": ["x", "z"] * 600, "class": ["no, never", "yes"] * 600}), tmp_path / "d.csv"
    )
    assert (
        run("fit", data, "--target", "class", "--parameters", "map", "-o", tmp_path / "m.json")[0]
        == 0
    )
    plain = run("predict", tmp_path / "m.json", data)[1]
    assert run("predict", tmp_path / "m.json", data, "--memory", "1GB")[1] == plain
    assert plain.count('"no, never"\n') == 600


def test_a_file_that_breaks_off_leaves_the_old_answers(run, model, tmp_path, small_batches):
    folder = tmp_path / "rows"
    folder.mkdir()
    write(make_table(600), folder / "0.parquet")
    (folder / "1.parquet").write_bytes((folder / "0.parquet").read_bytes()[:-50])
    answers = tmp_path / "answers.csv"
    answers.write_text("old")
    code, _, err = run("predict", model, folder, "-o", answers, "--quiet")
    assert code == 1
    assert "cannot read" in err
    assert "1.parquet" in err
    assert answers.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.csv", "rows"]


# ---- what cannot be


def fails(run, *arguments):
    code, out, err = run(*arguments, "--quiet")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("kind", ["auto", "isotonic", "none"])
def test_calibration(run, tmp_path, small_batches, kind):
    data = write(make_table(1200), tmp_path / "rows.csv")
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    common = [
        "fit",
        data,
        "--target",
        "outcome",
        "--structure",
        "nb",
        "--drop",
        "id,w",
        "--calibrate",
        kind,
        "--quiet",
    ]
    common += ["--categorical", "ward"]
    assert run(*common, "-o", one) == (0, "", "")
    assert run(*common, "-o", two, "--memory", "1GB") == (0, "", "")
    assert content(two) == content(one)
    assert (load(two).calibration_ is None) == (kind == "none")


def test_false_input(run, model, tmp_path):
    data = write(make_table(300), tmp_path / "rows.csv")
    more = ("--memory", "1GB", "-o", tmp_path / "m.json")
    assert "has no column 'Outcome' (the target); its columns are 'outcome'" in fails(
        run, "fit", data, "--target", "Outcome", *more
    )
    assert "has no column 'no' (--drop)" in fails(
        run, "fit", data, "--target", "outcome", "--drop", "no", *more
    )
    assert "has no column 'v' (--weights)" in fails(
        run, "fit", data, "--target", "outcome", "--weights", "v", *more
    )
    assert "weights are numbers" in fails(
        run, "fit", data, "--target", "outcome", "--parameters", "map", "--weights", "colour", *more
    )
    assert "try --delimiter ';'" in fails(
        run, "fit", semicolons(tmp_path), "--target", "outcome", "--delimiter", ",", *more
    )
    assert "--memory is for files" in fails(run, "fit", "iris", *more)
    assert "--memory is for files" in fails(run, "predict", model, "iris", "--memory", "1GB")
    lacking = write(make_table(300).drop_columns("size"), tmp_path / "few.csv")
    code, answers, err = run("predict", model, lacking, "--memory", "1GB", "--proba")
    assert code == 0
    assert (
        err.count("lacks 1 of the model's 4 columns, which are unknown in every row: 'size'") == 1
    )
    assert answers == run("predict", model, lacking, "--proba")[1]
    code, _, error = run(
        "fit", data, "--target", "outcome", "--memory", "much", "-o", tmp_path / "m.json"
    )
    assert code == 2
    assert "memory is a number of bytes" in error


def semicolons(folder):
    path = folder / "semicolons.csv"
    pa.csv.write_csv(make_table(50), path, pa.csv.WriteOptions(delimiter=";"))
    return path

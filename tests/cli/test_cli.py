"""Every command, error and exit code of the command line; results on stdout, all else on stderr."""

from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discbayes import BayesNetClassifier, load, load_dataset
from discbayes import __version__ as version
from discbayes._text import listed, nearest_first
from discbayes.cli import COMMANDS, main, training
from discbayes.cli.console import describe, with_options
from discbayes.cli.evaluate import accuracy_and_loss
from discbayes.datasets import openml
from discbayes.streams.file_sources import FILE_ENDINGS


@pytest.fixture
def usage(capsys):
    """Run the command line with wrong usage: stderr."""

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        assert stop.value.code == 2
        return capsys.readouterr().err

    return call


@pytest.fixture
def offline(monkeypatch):
    def refuse(address):
        raise openml.urllib.error.URLError("no network in tests")

    monkeypatch.setattr(openml, "open_url", refuse)


def write_rows(path, n_rows=60, seed=0):
    """Columns of every type, codes with leading zeros, gaps, and classes that look like numbers."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    lines = ["size,colour,ward,smoker,outcome"]
    for row, label in enumerate(y):
        size = "" if row % 7 == 3 else f"{rng.normal(3 * label):.3f}"
        colour = ("red", "blue")[label if rng.random() < 0.9 else 1 - label]
        lines.append(
            f"{size},{colour},0{rng.integers(3)},{('true', 'false')[row % 3 == 0]},{label}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    return write_rows(tmp_path / "data.csv")


@pytest.fixture
def model(table, tmp_path):
    path = tmp_path / "model.json"
    arguments = [
        "fit",
        table,
        "--target",
        "outcome",
        "--categorical",
        "ward",
        "--quiet",
        "-o",
        path,
    ]
    assert main(list(map(str, arguments))) == 0
    return path


# ---- fit


def test_fit_writes_a_model_and_tells_its_stages(run, table, tmp_path):
    path = tmp_path / "model.json"
    code, out, err = run("fit", table, "--target", "outcome", "--categorical", "ward", "-o", path)
    assert (code, out) == (0, "")
    assert "reading" in err
    assert "model saved in" in err
    domain = load(path).network_.domain
    assert domain.names == ["size", "colour", "ward", "smoker"]
    assert [variable.kind for variable in domain.features] == [
        "numeric",
        "categorical",
        "categorical",
        "boolean",
    ]
    assert domain.features[2].values == ("00", "01", "02")
    assert (domain.target.name, domain.target.values) == ("outcome", ("0", "1"))


def test_fit_is_silent_if_asked_to(run, table, tmp_path):
    # as numbers they would not be used, which is said all the same
    quietly = ["--categorical", "ward", "--quiet"]
    assert run("fit", table, "--target", "outcome", *quietly, "-o", tmp_path / "m.json") == (
        0,
        "",
        "",
    )


def test_fit_passes_every_option_on(run, table, tmp_path):
    path = tmp_path / "m.json"
    options = (
        "--structure kdb --k 2 --parameters ml --discretizer equal-frequency --missing value --drop"
        " ward --seed 7"
    )
    assert (
        run("fit", table, "--target", "outcome", *options.split(), "--n-jobs", 1, "-o", path)[0]
        == 0
    )
    clf = load(path)
    assert (clf.structure.k, clf.parameters, clf.discretizer, clf.missing) == (
        2,
        "ml",
        "equal-frequency",
        "value",
    )
    assert (clf.random_state, clf.n_jobs, clf.verbose) == (7, 1, 0)
    assert clf.network_.domain.names == ["size", "colour", "smoker"]


@pytest.mark.parametrize(
    "options, parameters, calibrate, calibrated",
    [
        ("", "auto", "auto", True),
        ("--calibrate none", "auto", None, False),
        ("--parameters hybrid", "hybrid", "auto", True),
        ("--parameters hybrid --calibrate none", "hybrid", None, False),
        ("--parameters map", "map", "auto", False),
        ("--parameters map --calibrate temperature", "map", "temperature", True),
        ("--recipe TAN-E-G", None, None, False),
        ("--recipe TAN-E-G+T", None, "temperature", True),
        ("--recipe TAN-E-G --calibrate none", None, None, False),
        ("--recipe TAN-E-G --calibrate temperature", None, "temperature", True),
    ],
)
def test_fit_calibrates_the_default_and_what_it_is_told_to(
    run, table, tmp_path, options, parameters, calibrate, calibrated
):
    path = tmp_path / "m.json"
    quietly = ["--categorical", "ward", "--quiet"]
    assert run("fit", table, "--target", "outcome", *quietly, *options.split(), "-o", path) == (
        0,
        "",
        "",
    )
    clf = load(path)
    assert clf.calibrate == calibrate
    assert parameters is None or clf.parameters == parameters
    assert (clf.calibration_ is not None) == calibrated


def test_fit_without_options_is_the_default(run, table, tmp_path):
    fit = ["fit", table, "--target", "outcome", "--quiet", "-o", tmp_path / "m.json"]
    assert run(*fit)[0] == 0
    rows = pd.read_csv(table)
    X, y = rows.drop(columns="outcome"), rows["outcome"]
    found = load(tmp_path / "m.json").predict_proba(X)
    np.testing.assert_array_equal(found, BayesNetClassifier().fit(X, y).predict_proba(X))


def test_fit_with_the_former_default_is_the_recipe(run, table, tmp_path):
    models = []
    for options in (["--structure", "tan", "--parameters", "hybrid"], ["--recipe", "TAN-E-G+T"]):
        assert (
            run(
                "fit", table, "--target", "outcome", "--quiet", *options, "-o", tmp_path / "m.json"
            )[0]
            == 0
        )
        models.append(load(tmp_path / "m.json"))
    one, two = models
    assert one.structure_ == two.structure_
    np.testing.assert_array_equal(
        one.network_.parameters.log_theta, two.network_.parameters.log_theta
    )
    assert one.calibration_.temperature == two.calibration_.temperature


def test_fit_without_discretizer_takes_numbers_as_labels(run, tmp_path):
    data, path = tmp_path / "d.csv", tmp_path / "m.json"
    data.write_text("a,y\n1,n\n2,p\n1,n\n2,p\n")
    assert run("fit", data, "--target", "y", "--discretizer", "none", "-o", path)[0] == 0
    assert load(path).network_.domain.features[0].values == (1, 2)


def test_weights_count_rows(run, tmp_path):
    rows = ["a,w,y", "x,1,n", "z,2,p", "z,0,n"]
    (tmp_path / "w.csv").write_text("\n".join(rows))
    assert (
        run(
            "fit", tmp_path / "w.csv", "--target", "y", "--weights", "w", "-o", tmp_path / "m.json"
        )[0]
        == 0
    )
    net = load(tmp_path / "m.json").network_
    assert net.domain.names == ["a"]
    expected = BayesNetClassifier().fit([["x"], ["z"], ["z"]], ["n", "p", "p"]).network_
    np.testing.assert_allclose(net.parameters.log_prior, expected.parameters.log_prior)


def test_weights_must_be_numbers(run, tmp_path):
    (tmp_path / "w.csv").write_text("a,w,y\nx,1,n\nz,heavy,p\n")
    code, _, err = run(
        "fit", tmp_path / "w.csv", "--target", "y", "--weights", "w", "-o", tmp_path / "m.json"
    )
    assert code == 1
    assert "column 'w' must hold numbers" in err


def test_further_marks_of_gaps_and_another_delimiter(run, tmp_path):
    data, path = tmp_path / "d.csv", tmp_path / "m.json"
    data.write_text("a;b;y\n1;?;n\n2;u;p\nNA;v;n\n9;v;p\n")
    assert (
        run("fit", data, "--target", "y", "--delimiter", ";", "--na-values", "?,u", "-o", path)[0]
        == 0
    )
    domain = load(path).network_.domain
    assert domain.features[0].kind == "numeric"
    assert domain.features[1].values == ("v",)


def write_marks(path, decimal="."):
    """Numbers with marks of missing values, and a class that follows from them."""
    cells = [f"{at % 30}.5".replace(".", decimal) for at in range(120)]
    cells[5:8] = ["?", "n. a.", "-"]
    path.write_text(
        "a;y\n" + "\n".join(f"{cell};{at % 30 > 14}" for at, cell in enumerate(cells)) + "\n"
    )
    return path


@pytest.mark.parametrize("decimal", [".", ","])
def test_marks_of_missing_values_and_the_option_for_them(run, tmp_path, decimal):
    data = write_marks(tmp_path / "marks.csv", decimal)
    how = ["--target", "y", "--delimiter", ";", "--structure", "nb", "--parameters", "map"]
    models = []
    for command in (["evaluate", data, *how], ["fit", data, *how, "-o", tmp_path / "model.json"]):
        code, _, err = run(*command)
        assert (code, "warning" in err) == (0, False)
        (line,) = [line for line in err.splitlines() if "read as" in line]
        for mark in ("-", "?", "n. a."):
            assert f"{mark!r} missing in" in line
        assert ("before decimals" in line) == (decimal == ",")
    models.append(load(tmp_path / "model.json").network_.domain)
    code, _, err = run(*command, "--na-values=-,?,n. a.", "--decimal", decimal)
    assert (code, "warning" in err, "missing in" in err) == (0, False, False)
    models.append(load(tmp_path / "model.json").network_.domain)
    assert models[0] == models[1]


@pytest.mark.parametrize("more", [[], ["--memory", "1GB"]])
def test_decimal_commas(run, tmp_path, more):
    data, path = tmp_path / "d.csv", tmp_path / "m.json"
    data.write_text("a;y\n" + "".join(f"{k},5;{'np'[k > 9]}\n" for k in range(20)))
    fit = ["fit", data, "--target", "y", "--delimiter", ";", "-o", path, *more]
    fit += ["--discretizer", "mdlp"]
    assert (
        "'a' is text that looks like numbers with a comma, '0,5' for example: read it as numbers,"
        " with --decimal ," in (fails(run, *fit, "--decimal", "."))
    )
    for given in ([], ["--decimal", ","]):
        assert run(*fit, *given)[0] == 0
        assert load(path).network_.domain.features[0].cuts == (10.0,)
        code, answers, _ = run("predict", path, data, *more)  # the model knows how to read it
        assert (code, answers.split()[1:]) == (0, ["n"] * 10 + ["p"] * 10)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"])
def test_every_kind_of_file_gives_the_same_model(run, table, model, tmp_path, ending):
    content = pa.csv.read_csv(
        table, convert_options=pa.csv.ConvertOptions(column_types={"ward": pa.string()})
    )
    copy, path = tmp_path / f"copy{ending}", tmp_path / "again.json"
    if ending == ".parquet":
        pa.parquet.write_table(content, copy)
    else:
        text = table.read_text().replace(",", "\t" if "tsv" in ending else ",").encode()
        copy.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    assert run("fit", copy, "--target", "outcome", "--categorical", "ward", "-o", path)[0] == 0
    again, first = load(path).network_, load(model).network_
    assert again.domain == first.domain
    np.testing.assert_array_equal(again.parameters.log_theta, first.parameters.log_theta)


def test_the_first_run_on_a_machine_says_why_it_takes_long(run, tmp_path, monkeypatch):
    for kept in (True, False):
        monkeypatch.setattr(training, "is_kept", lambda kernel, kept=kept: kept)
        code, _, err = run("fit", "iris", "-o", tmp_path / "iris.json")
        assert (code, "the first run on a machine compiles code" in err) == (0, not kept)


def test_data_by_name(run, tmp_path):
    code, _, err = run("fit", "iris", "-o", tmp_path / "iris.json")
    assert code == 0
    assert "using Dataset(" in err
    iris = load_dataset("iris")
    expected = BayesNetClassifier().fit(iris.X, iris.y)
    np.testing.assert_array_equal(
        load(tmp_path / "iris.json").predict_proba(iris.X), expected.predict_proba(iris.X)
    )


def test_one_class_is_a_warning(run, tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,n\n2,n\n")
    code, _, err = run(
        "fit", tmp_path / "d.csv", "--target", "y", "--quiet", "-o", tmp_path / "m.json"
    )
    assert code == 0
    assert err.startswith("discbayes: warning: y has one class only")


# ---- predict


def test_predict_prints_a_class_for_every_row(run, table, model):
    code, out, _ = run("predict", model, table)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].strip('"') == "outcome"
    assert len(lines) == 61
    assert set(lines[1:]) == {"0", "1"}


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_predict_writes_probabilities(run, table, model, tmp_path, ending):
    path = tmp_path / f"out{ending}"
    assert run("predict", model, table, "--proba", "-o", path, "--quiet") == (0, "", "")
    if ending == ".parquet":
        answers = pa.parquet.read_table(path)
    else:
        parse = pa.csv.ParseOptions(delimiter="\t" if ending == ".tsv" else ",")
        convert = pa.csv.ConvertOptions(column_types={"outcome": pa.string()})
        answers = pa.csv.read_csv(path, parse_options=parse, convert_options=convert)
    assert answers.column_names == ["outcome", "P(0)", "P(1)"]
    shares = np.column_stack([answers["P(0)"], answers["P(1)"]])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert answers["outcome"].to_pylist() == [str(best) for best in shares.argmax(axis=1)]


def test_predict_is_what_the_library_predicts(run, table, model, tmp_path):
    run("predict", model, table, "--proba", "-o", tmp_path / "p.parquet")
    shares = pa.parquet.read_table(tmp_path / "p.parquet")
    columns = pa.csv.ConvertOptions(column_types={"ward": pa.string()}, strings_can_be_null=True)
    X = pa.csv.read_csv(table, convert_options=columns).drop_columns(["outcome"])
    expected = load(model).predict_proba(X)
    np.testing.assert_array_equal(np.column_stack([shares["P(0)"], shares["P(1)"]]), expected)


def test_columns_are_matched_by_name(run, table, model, tmp_path):
    shuffled = tmp_path / "shuffled.csv"
    rows = [line.split(",") for line in table.read_text().splitlines()]
    lines = [",".join([row[2], row[1], row[3], row[0]]) for row in rows]
    shuffled.write_text("\n".join(lines))
    _, plain, _ = run("predict", model, table, "--proba")
    code, out, err = run("predict", model, shuffled, "--proba")
    assert (code, out) == (0, plain)
    assert "another order" in err


def test_extra_columns_are_reported_unless_they_are_the_target(run, table, model, tmp_path):
    extra = tmp_path / "extra.csv"
    lines = table.read_text().splitlines()
    extra.write_text("\n".join([f"{lines[0]},note", *(f"{line},x" for line in lines[1:])]))
    _, _, err = run("predict", model, extra)
    assert "does not know: 'note'" in err
    assert "outcome" not in err
    assert "another order" not in err


def test_missing_columns_are_named(run, model, tmp_path):
    (tmp_path / "few.csv").write_text("size,smoker\n1,true\n")
    code, out, err = run("predict", model, tmp_path / "few.csv", "--proba", "--full-precision")
    assert code == 0
    assert (
        f"{tmp_path / 'few.csv'} lacks 2 of the model's 4 columns, which are unknown in every row:"
        " 'colour', 'ward'\n" in err
    )
    expected = load(model).predict_proba({"size": 1, "smoker": True})[0]
    assert [float(cell) for cell in out.split()[1].split(",")[1:]] == expected.tolist()
    (tmp_path / "none.csv").write_text("a,b\n1,true\n")
    line = fails(run, "predict", model, tmp_path / "none.csv", "--quiet")
    assert "none.csv has none of the model's columns: 'size', 'colour'" in line


def test_rows_with_gaps_and_unknown_values(run, model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("size,colour,ward,smoker\n,,,\n1.5,,02,\n1.5,green,02,\n")
    code, out, _ = run("predict", model, new, "--proba")
    lines = out.splitlines()
    assert code == 0
    assert lines[2] == lines[3]  # an unknown colour is a missing one
    shares = np.array(lines[1].split(",")[1:], dtype=float)
    # of a row without anything: those of the classes in the training rows
    np.testing.assert_allclose(shares, [0.5, 0.5])
    code, _, err = run("predict", model, new, "--unknown", "error")
    assert code == 1
    assert "column 'colour' holds 'green'" in err


def test_the_command_line_overrules_what_the_model_says_of_unknown_values(run, tmp_path):
    clf = BayesNetClassifier(unknown="error").fit(pa.table({"a": ["x", "z"] * 3}), ["n", "p"] * 3)
    clf.save(tmp_path / "m.json")
    (tmp_path / "new.csv").write_text("a\nother\n")
    assert run("predict", tmp_path / "m.json", tmp_path / "new.csv")[0] == 1
    assert (
        run("predict", tmp_path / "m.json", tmp_path / "new.csv", "--unknown", "marginalize")[0]
        == 0
    )


def test_draws_where_exact_answers_are_too_large(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(80, 6))
    X[:, 5] = X[:, :5].sum(axis=1) % 3
    frame = pa.table({f"x{j}": column for j, column in enumerate(X.T)})
    edges = [("x0", "x5"), ("x1", "x5"), ("x2", "x5")]
    clf = BayesNetClassifier(edges, "map", discretizer=None, max_cells=4)
    clf.fit(frame, (X[:, 5] == 0).astype(int))
    clf.save(tmp_path / "m.json")
    (tmp_path / "new.csv").write_text("x0,x1,x2,x3,x4,x5\n,,,1,1,1\n")
    predict = ("predict", tmp_path / "m.json", tmp_path / "new.csv")
    code, out, err = run(*predict)
    assert (code, len(out.splitlines())) == (0, 2)
    assert "1 row would need more than --max-cells=4 " in err
    assert "--beyond-max-cells raise refuses such rows" in err
    code, _, err = run(*predict, "--beyond-max-cells", "raise")
    assert code == 1
    assert "Raise --max-cells" in err
    assert "--beyond-max-cells estimate" in err
    for options in (
        ("--beyond-max-cells", 500),
        ("--beyond-max-cells", "raise", "--max-cells", 99),
    ):
        code, _, err = run(*predict, *options)
        assert (code, "warning" in err) == (0, False)
    code, _, err = run(*predict, "--n-draws", 500)
    assert code == 0
    assert (
        "--n-draws is deprecated and will be removed in version 0.4: use --beyond-max-cells" in err
    )
    code, _, err = run(*predict, "--beyond-max-cells", "guess")
    assert code == 2
    assert "'guess' is not estimate, raise or a number of draws" in err


def test_text_that_needs_quotes(run, tmp_path):
    clf = BayesNetClassifier().fit(pa.table({"a": ["x", "z"] * 3}), ["no, never", "yes"] * 3)
    clf.save(tmp_path / "m.json")
    (tmp_path / "new.csv").write_text("a\nx\n")
    assert run("predict", tmp_path / "m.json", tmp_path / "new.csv")[1] == '"class"\n"no, never"\n'


# ---- evaluate


def test_cross_validation(run, table):
    code, out, err = run("evaluate", table, "--target", "outcome", "--cv", 3, "--structure", "nb")
    sentence, folds, *_ = out.split("\n\n")
    lines = folds.splitlines()
    assert code == 0
    assert "than always predicting" in sentence
    assert lines[0].split() == ["fold", "accuracy", "log", "loss", "fit", "s", "predict", "s"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3", "mean"]
    assert "±" in lines[-1]
    accuracy = [float(line.split()[1]) for line in lines[1:4]]
    assert float(lines[-1].split()[3]) == pytest.approx(np.mean(accuracy), abs=1e-4)
    assert min(accuracy) > 0.6
    assert [f"fold {k} of 3" in err for k in (1, 2, 3)] == [True] * 3


def test_cross_validation_repeats_itself(run, table):
    def figures():
        out = run("evaluate", table, "--target", "outcome", "--quiet")[1]
        return [line.split()[:3] for line in out.splitlines()[3:8]]

    assert figures() == figures()


def test_evaluate_by_name(run):
    code, out, _ = run("evaluate", "corral", "--cv", 2)
    assert (code, len(out.split("\n\n")[1].splitlines())) == (0, 4)


def test_a_rare_class_is_a_warning_and_counts_as_wrong(run, tmp_path):
    rows = [
        f"{value},{label}"
        for value, label in zip(range(21), ["n", "p"] * 10 + ["rare"], strict=True)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["a,y", *rows]))
    code, out, err = run("evaluate", tmp_path / "d.csv", "--target", "y", "--cv", 3, "--quiet")
    assert code == 0
    assert "discbayes: warning: The least populated class" in err
    assert "nan" not in out


def test_score_of_a_saved_model(run, table, model):
    code, out, _ = run("evaluate", table, "--model", model, "--target", "outcome")
    header, line, note = out.split("\n\n")[1].splitlines()
    assert code == 0
    assert header.split() == ["model", "accuracy", "log", "loss", "predict", "s"]
    assert "optimistic if these are training rows of the model" in note
    _, shown, *_ = line.split()
    predicted = run("predict", model, table)[1].splitlines()[1:]
    truth = [row.split(",")[-1] for row in table.read_text().splitlines()[1:]]
    assert float(shown) == pytest.approx(np.mean(np.array(predicted) == np.array(truth)), abs=1e-4)


def test_score_of_a_model_whose_classes_are_numbers(run, tmp_path):
    BayesNetClassifier().fit(pa.table({"a": ["x", "z"] * 3}), [0, 1] * 3).save(tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("a,class\nx,0\nz,1\n")
    code, out, _ = run("evaluate", tmp_path / "d.csv", "--model", tmp_path / "m.json")
    assert code == 0
    assert out.splitlines()[3].split()[1] == "1.0000"


def test_classes_that_a_saved_model_does_not_know(run, model, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(table.read_text() + "1.0,red,01,true,2\n")
    code, _, err = run("evaluate", other, "--model", model, "--target", "outcome")
    assert code == 0
    assert "discbayes: warning: classes that the model has never seen count as errors: '2'" in err
    code, _, err = run("evaluate", table, "--model", model, "--target", "ward")
    assert code == 1
    assert "is --target right?" in err


def test_weighted_figures():
    shares, labels = np.array([[0.8, 0.2], [0.5, 0.5]]), np.array(["n", "p"])
    weighted = accuracy_and_loss(shares, ["n", "p"], labels, np.array([3.0, 1.0]))
    repeated = accuracy_and_loss(shares[[0, 0, 0, 1]], ["n", "p"], labels[[0, 0, 0, 1]], None)
    assert weighted == pytest.approx(repeated)
    assert weighted == pytest.approx((0.75, -(3 * np.log(0.8) + np.log(0.5)) / 4))


def test_weights_of_zero_cannot_be_scored_on(run, model, table, tmp_path):
    lines = table.read_text().splitlines()
    (tmp_path / "w.csv").write_text(
        "\n".join([f"{lines[0]},w", *(f"{line},0" for line in lines[1:])])
    )
    code, _, err = run("evaluate", tmp_path / "w.csv", "--model", model, "--weights", "w")
    assert code == 1
    assert "sum to zero" in err


# ---- the same labels from every kind of file


FLAGS = [True, False, True, True, False, False] * 5
CODES = [1.0, 2.0, 1.5, 1.0, 2.0, 2.0] * 5
SPELLINGS = {
    "pandas": ("True", "False", str),
    "arrow": ("true", "false", "{:g}".format),
    "caps": ("TRUE", "FALSE", str),
}


@pytest.fixture(params=SPELLINGS)
def twins(request, tmp_path):
    """The same rows as CSV, in the spelling of some program, and as Parquet."""
    yes, no, number = SPELLINGS[request.param]
    rows = [
        f"{yes if flag else no},{number(code)},{yes if flag else no}"
        for flag, code in zip(FLAGS, CODES, strict=True)
    ]
    (tmp_path / "b.csv").write_text("\n".join(["flag,code,t", *rows]))
    pa.parquet.write_table(
        pa.table({"flag": FLAGS, "code": CODES, "t": FLAGS}), tmp_path / "b.parquet"
    )
    return tmp_path / "b.csv", tmp_path / "b.parquet"


@pytest.mark.parametrize("turn", [1, -1])
def test_a_model_of_one_kind_of_file_reads_the_other(run, twins, tmp_path, turn):
    model = tmp_path / "c.json"
    assert (
        run("fit", twins[::turn][0], "--target", "t", "--categorical", "flag,code", "-o", model)[0]
        == 0
    )
    answers = [
        run("predict", model, data, "--proba", "--unknown", "error", "--quiet") for data in twins
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == 0
    for data in twins:
        code, out, err = run("evaluate", data, "--model", model, "--quiet")
        assert (code, err) == (0, "")
        assert out.splitlines()[3].split()[1] == "1.0000"


@pytest.mark.parametrize(
    "kind, stored", [(bool, bool), (int, int), (int, float), (float, int), (float, float)]
)
def test_a_model_of_python_knows_its_classes_in_every_file(run, tmp_path, kind, stored):
    x, y = ["x", "z"] * 6, [0, 1] * 6
    BayesNetClassifier().fit(pa.table({"a": x}), list(map(kind, y))).save(tmp_path / "m.json")
    table = pa.table({"a": x, "class": list(map(stored, y))})
    pa.parquet.write_table(table, tmp_path / "d.parquet")
    pa.csv.write_csv(table, tmp_path / "arrow.csv")
    table.to_pandas().to_csv(tmp_path / "pandas.csv", index=False)
    for name in ("d.parquet", "arrow.csv", "pandas.csv"):
        code, out, err = run("evaluate", tmp_path / name, "--model", tmp_path / "m.json", "--quiet")
        assert (code, err) == (0, "")
        assert out.splitlines()[3].split()[1] == "1.0000"


def test_text_values_of_a_model_of_python(run, tmp_path):
    clf = BayesNetClassifier(unknown="error").fit(
        pa.table({"a": ["1.0", "1", "01"] * 4}), ["n", "p", "q"] * 4
    )
    clf.save(tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("a\n1\n1.0\n01\n1.00\n")
    assert run("predict", tmp_path / "m.json", tmp_path / "d.csv")[1].split()[1:] == [
        "p",
        "n",
        "q",
        "p",
    ]


def test_columns_that_are_no_labels(run, tmp_path):
    table = pa.table(
        {
            "a": pa.array([[1], [2]]),
            "f": pa.array([0.5, np.nan], from_pandas=False),
            "y": ["n", "p"],
        }
    )
    pa.parquet.write_table(table, tmp_path / "d.parquet")
    arguments = (
        "fit",
        tmp_path / "d.parquet",
        "--target",
        "y",
        "-o",
        tmp_path / "m.json",
        "--categorical",
    )
    assert "column 'a' holds list" in fails(run, *arguments, "a")
    assert run(*arguments, "f", "--drop", "a")[0] == 0
    assert load(tmp_path / "m.json").network_.domain.features[0].values == ("0.5",)


# ---- datasets


def test_list_of_datasets(run):
    code, out, _ = run("datasets")
    assert code == 0
    assert out.splitlines()[0].split() == ["name", "source", "rows", "features", "classes"]
    assert any(line.split() == ["iris", "embedded", "150", "4", "3"] for line in out.splitlines())


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_dataset_as_a_file(run, tmp_path, ending):
    path = tmp_path / f"corral{ending}"
    assert run("datasets", "corral", "-o", path)[0] == 0
    read = pa.parquet.read_table if ending == ".parquet" else pa.csv.read_csv
    assert read(path).shape == (128, 7)
    assert len(run("datasets", "corral")[1].splitlines()) == 129


def test_an_unknown_dataset(run, offline):
    code, _, err = run("datasets", "corall")
    assert code == 1
    assert "corral" in err
    code, _, err = run("evaluate", "corall", "--target", "y")
    assert code == 1
    assert (
        err == "discbayes: error: 'corall' is neither a file nor an embedded data set; did you mean"
        " 'corral'? (openml:NAME downloads one of OpenML)\n"
    )


# ---- errors of files


def fails(run, *arguments):
    """The one line that an error gives."""
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    *_, last = err.splitlines()
    assert last.startswith("discbayes: error: ")
    assert "Traceback" not in err
    return last


def test_a_file_that_is_not_there(run, model, tmp_path):
    assert "no such file" in fails(run, "evaluate", tmp_path / "no.csv", "--target", "y")
    assert "no such file" in fails(run, "evaluate", "no.csv", "--target", "y")
    assert "no such file" in fails(run, "evaluate", "no.doc", "--target", "y")
    assert "no such file" in fails(run, "predict", tmp_path / "no.json", "iris")


def test_a_folder_is_no_file(run, tmp_path):
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    assert "is a folder" in fails(run, "evaluate", folder, "--target", "y")


def test_an_unknown_ending(run, table, model, tmp_path):
    other = tmp_path / "data.xlsx"
    other.write_text("a,y\n1,2\n")
    assert f"the endings are {', '.join(FILE_ENDINGS)}" in fails(
        run, "evaluate", other, "--target", "y"
    )
    assert "unknown file ending" in fails(run, "predict", model, table, "-o", tmp_path / "out.xlsx")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot read"),
        (b"a,y\n", "has no rows"),
        (b"a,y\n1,2\n3\n", "cannot read"),
        (b"a,a,y\n1,2,3\n", "several columns with the same name: 'a'"),
        (b"y\nn\np\n", "no columns left to learn from"),
        (
            b"time,y\n12:30:00,n\n13:30:00,p\n",
            "categories (the month) first, or leave it out with --drop",
        ),
        (
            b"id,y\n" + b"".join(b"n%d,p\n" % k for k in range(60)),
            "Leave it out with --drop id, group its values, or declare it with --categorical id",
        ),
        (b"a,y\n1,\n2,p\n", "column 'y' (the target) is empty in 1 of 2 rows (row 1; "),
        (
            b"a,y\n" + b"".join(b"1,%d.5\n" % k for k in range(60)),
            (
                "column 'y' (the target) holds 60 different values in 60 rows, '0.5' for example:"
                " these are not classes"
            ),
        ),
        (
            b"a,y\n" + b"".join(b"1,%d.5\n" % (k % 51) for k in range(900)),
            "holds 51 different values in 900 rows",
        ),
    ],
)
def test_files_that_cannot_be_learned_from(run, tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    assert message in fails(run, "fit", path, "--target", "y", "-o", tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,y\n\xff,n\nx,p\n", "not UTF-8 text"),
        (b"a,y\n1,\xe9\n2,p\n", "not UTF-8 text"),
        (b"\xe9a,y\n1,n\n2,p\n", "not UTF-8 text"),
        (b"a;b;y\n1;2;n\n1;3;p\n", "its header holds more ';' than ',': try --delimiter ';'"),
        (b"a\tb\ty\n1\t2\tn\n1\t3\tp\n", "try --delimiter '\\t'"),
    ],
)
def test_options_override_what_is_found_in_the_text(run, tmp_path, content, message):
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    fit = ["fit", path, "--target", "y", "-o", tmp_path / "m.json", "--structure", "nb"]
    fit += ["--parameters", "map"]
    assert message in fails(run, *fit, "--encoding", "utf-8", "--delimiter", ",")
    assert run(*fit)[0] == 0


def test_a_table_in_the_place_of_the_model(run, table, model):
    assert f"{table} is a table, not a model that fit has written: MODEL comes before DATA" in (
        fails(run, "predict", table, model)
    )


def test_damaged_files(run, tmp_path):
    for name in ("bad.parquet", "bad.csv.gz"):
        (tmp_path / name).write_bytes(b"not what the name says")
        assert "cannot read" in fails(run, "evaluate", tmp_path / name, "--target", "y")


def test_rows_without_a_class_are_left_out(run, tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,n\n2,\n3,p\n")
    _, _, err = run("evaluate", tmp_path / "d.csv", "--target", "y", "--cv", 2)
    assert "is empty in 1 of 3 rows (row 2; the first row below the header is 1): they are" in err
    (tmp_path / "d.csv").write_text("a,y\n1,n\n2,p\n3,p\n")
    assert "--cv 3 can" in fails(run, "evaluate", tmp_path / "d.csv", "--target", "y")


def test_rows_without_a_class_are_dropped_or_used_if_that_is_asked_for(run, tmp_path):
    rows = [f"{k % 3},{k % 2},{'' if k % 4 else 'np'[k % 3 > 0]}" for k in range(80)]
    (tmp_path / "d.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    command = ("fit", tmp_path / "d.csv", "--target", "y", "-o", tmp_path / "m.json")
    command += ("--structure", "nb", "--parameters", "map")
    assert "is empty in 60 of 80 rows" in (line := fails(run, *command))
    assert line.endswith("or use --unlabeled drop or --unlabeled use")
    for how in ("drop", "use"):
        code, _, err = run(*command, "--unlabeled", how)
        assert code == 0
        assert "60 of 80 rows have no label and are" in err
    assert "--ensemble learns from labeled rows only" in run(
        "fit", tmp_path / "d.csv", "--target", "y", "-o", tmp_path / "m.json", "--ensemble",
        "--unlabeled", "use",
    )[2]  # fmt: skip


def test_missing_columns_show_the_nearest_first(run, table, tmp_path):
    line = fails(run, "evaluate", table, "--target", "outcom")
    assert "no column 'outcom' (the target); its columns are 'outcome', " in line
    for option in ("--drop", "--categorical", "--weights"):
        line = fails(run, "evaluate", table, "--target", "outcome", option, "Wards")
        assert f"no column 'Wards' ({option}); its columns are 'ward', " in line


def test_another_delimiter_is_suggested_for_every_error_of_columns(run, model, tmp_path):
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"size;colour;ward;smoker\n1;red;00;true\n"))
    predict = ["predict", model, tmp_path / "d.csv.gz"]
    assert fails(run, *predict, "--delimiter", ",").endswith("try --delimiter ';'")
    assert run(*predict)[0] == 0
    (tmp_path / "d.tsv").write_bytes(b"a,b,y\n1,2,n\n")
    evaluate = ["evaluate", tmp_path / "d.tsv", "--target", "y", "--delimiter", "\t"]
    assert fails(run, *evaluate).endswith("try --delimiter ','")
    pa.parquet.write_table(pa.table({"a;b": [1]}), tmp_path / "d.parquet")
    assert "--delimiter" not in fails(run, "evaluate", tmp_path / "d.parquet", "--target", "y")


def test_errors_of_the_library_name_options(run, tmp_path):
    rows = [f"u{row},{row},{row % 2 - 0.5},{'np'[row % 2]}" for row in range(200)]
    (tmp_path / "d.csv").write_text("\n".join(["id,a,w,y", *rows, ",1,1,n"]))
    table = pa.csv.read_csv(tmp_path / "d.csv")
    pa.parquet.write_table(table, tmp_path / "d.parquet")  # a CSV file would be read without it
    arguments = ("--target", "y", "-o", tmp_path / "m.json")
    line = fails(run, "fit", tmp_path / "d.parquet", *arguments)
    assert line.endswith("declare it with --categorical id")
    arguments = ("fit", tmp_path / "d.csv", *arguments)
    assert "error: --weights is negative" in fails(
        run, *arguments, "--weights", "w", "--drop", "id"
    )
    assert "--missing available learns" in fails(
        run, *arguments, "--missing", "error", "--categorical", "id"
    )
    assert run(*arguments, "--categorical", "id,y")[0] == 0  # the target is a category anyway
    (tmp_path / "new.csv").write_text("id,a,w,y\nother,1,1,n\n")
    line = fails(
        run, "evaluate", tmp_path / "new.csv", "--model", tmp_path / "m.json", "--unknown", "error"
    )
    assert "use --unknown marginalize to" in line


def test_output_that_cannot_be_written_is_refused_before_the_work(run, table, model, tmp_path):
    nowhere = tmp_path / "nowhere" / "m.json"
    code, _, err = run("fit", table, "--target", "outcome", "-o", nowhere)
    assert code == 1
    assert err == f"discbayes: error: cannot write {nowhere}: there is no folder {nowhere.parent}\n"
    assert "it is a folder" in fails(run, "fit", table, "--target", "outcome", "-o", tmp_path)
    assert "no folder" in fails(run, "predict", model, table, "-o", tmp_path / "nowhere" / "p.csv")


def test_output_without_permission(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    line = fails(run, "fit", table, "--target", "outcome", "-o", tmp_path / "m.json")
    assert "permission denied" in line


def test_broken_model_files(run, table, model, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text(model.read_text()[:-50])
    assert "broken.json cannot be loaded" in fails(run, "predict", broken, table)
    broken.write_text("{}")
    assert "not a model file" in fails(
        run, "evaluate", table, "--model", broken, "--target", "outcome"
    )


def test_a_missing_package_says_what_to_install(run, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'discbayes[cli]'" in fails(run, "evaluate", table, "--target", "outcome")


def test_debug_shows_the_traceback(run, table):
    code, out, err = run("evaluate", table, "--target", "outcom", "--debug")
    assert (code, out) == (1, "")
    assert "Traceback (most recent call last)" in err
    assert "no column 'outcom'" in err.splitlines()[-1]


# ---- usage, interrupts, the script


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "learn a model from a table and save it"),
        ("--debug", "required: COMMAND"),
        ("learn", "invalid choice: 'learn'"),
        ("fit iris", "required: -o/--output"),
        ("fit iris -o m.json --k 2", "--k goes with --structure kdb"),
        ("fit iris -o m.json --evaluation 5", "--evaluation goes with --structure greedy"),
        ("fit iris -o m.json --structure greedy --evaluation 1", "not resubstitution"),
        ("fit iris -o m.json --structure greedy --max-time 0", "seconds above 0"),
        ("fit iris -o m.json --n-jobs 0", "0 threads"),
        ("fit iris -o m.json --seed x", "not a whole number of at least 0"),
        ("fit iris -o m.json --structure tree", "invalid choice: 'tree'"),
        ("fit iris -o m.json --delimiter ab", "not one character"),
        ("fit iris -o m.json --drop=", "expected names"),
        ("evaluate iris --cv 1", "not a whole number of at least 2"),
        (
            "evaluate iris --model m.json --structure nb --cv 3",
            "--structure, --cv: a saved model is not learned again",
        ),
        ("datasets -o iris.csv", "-o needs the NAME"),
    ],
)
def test_wrong_usage(usage, arguments, message):
    assert message in usage(*arguments.split())


def test_wrong_usage_is_two_lines_without_all_the_options(usage):
    assert usage("fit", "iris").splitlines() == [
        "discbayes fit: error: the following arguments are required: -o/--output",
        "`discbayes fit --help` shows the options",
    ]


def test_a_file_needs_a_target(usage, table, tmp_path):
    assert "--target is needed" in usage("fit", table, "-o", tmp_path / "m.json")
    assert "--target is needed" in usage("evaluate", table)


def test_an_interrupt(run, monkeypatch):
    def interrupt(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(COMMANDS["datasets"], "run", interrupt)
    assert run("datasets") == (130, "", "discbayes: error: interrupted\n")


def test_mistakes_of_the_program_are_not_hidden(monkeypatch):
    def stumble(args):
        raise AttributeError("a mistake")

    monkeypatch.setattr(COMMANDS["datasets"], "run", stumble)
    with pytest.raises(AttributeError):
        main(["datasets"])


def test_version_and_help(capsys):
    for arguments, expected in ([["--version"], version], [["--help"], "examples:"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert f"  discbayes {command} " in capsys.readouterr().out


def test_the_script(table, tmp_path):
    command = [sys.executable, "-W", "error", "-m", "discbayes.cli"]
    fit = [*command, "fit", "data.csv", "--target", "outcome", "-o", "m.json"]
    done = subprocess.run(fit, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    done = subprocess.run(
        [*command, "predict", "m.json", "data.csv"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 61)


def test_a_reader_that_goes_away(table, model):
    command = [sys.executable, "-m", "discbayes.cli", "predict", str(model), str(table), "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr.read() == ""
    process.stderr.close()


# ---- words


def test_words():
    assert describe(FileNotFoundError(2, "No such file", "x.csv")) == "x.csv: No such file"
    assert describe(ValueError("two\nlines")) == "two lines"
    assert describe(ValueError()) == "ValueError"
    assert (
        with_options("column 'sample_weight' of max_cells.csv")
        == "column 'sample_weight' of max_cells.csv"
    )
    assert with_options("a larger max_cells helps") == "a larger --max-cells helps"
    assert with_options("""categorical=['a, b', "it's"]""") == """--categorical '"a, b",it'"'"'s'"""
    assert listed(list("abc"), limit=2) == "'a', 'b', … (3 in all)"
    assert nearest_first("Ward", ["outcome", "ward"]) == ["ward", "outcome"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_one_screen_with_the_common_calls_first(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    lines = capsys.readouterr().out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("  discbayes "))
    assert first < 12
    assert len(lines) <= 45
    if any("--help-all" in line for line in lines):
        with pytest.raises(SystemExit):
            main([command, "--help-all"])
        assert len(capsys.readouterr().out.splitlines()) > len(lines)


@pytest.mark.parametrize(
    "arguments, meant",
    [
        ("fit iris -o m.json --taget y", "'--target'"),
        ("evalute iris", "'evaluate'"),
        ("fit iris -o m.json --structure tann", "'tan'"),
    ],
)
def test_words_that_were_meant(arguments, meant, usage):
    assert f"did you mean {meant}?" in usage(*arguments.split())


def test_a_column_that_was_meant(run, table):
    assert (
        run("evaluate", table, "--target", "Outcom")[2].rstrip().endswith("did you mean 'outcome'?")
    )


def test_messages_name_no_classes_of_the_library(run, table, tmp_path):
    how = ("--parameters", "hybrid", "-o", tmp_path / "m.json")
    _, _, err = run("fit", table, "--target", "outcome", *how)
    assert "generative=" not in err
    assert "<BayesNet" not in err
    assert "normalized tables by conditional likelihood" in err

"""``discbayes explain``, ``discbayes ask`` and ``discbayes report``."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import ArgumentTypeError

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.special import logsumexp

from discbayes import BayesNetClassifier, load, load_dataset
from discbayes.cli import main
from discbayes.cli.answers import choices, given_values, is_numbered, one_row, value_of
from discbayes.cli.console import UserError
from discbayes.cli.pricing import read_costs, read_prices
from discbayes.cli.rows import row_numbers
from discbayes.data import Domain, Variable

COLOUR = Variable("colour", "categorical", ("blue", "dark red", "Red", "stop"))
SIZE = Variable("size", "numeric", cuts=(2.5, 4.0))
GRADE = Variable("grade", "categorical", (1, 2, 3))
SMOKER = Variable("smoker", "boolean", (False, True))
NASTY = "<b>\x1b[31m\"x\"='1'</b>"


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line, with lines typed in: the exit code, stdout and stderr."""

    def call(*arguments, typed=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of iris, of breast cancer and of a table with all kinds of columns, with their tables."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("iris", "breast-cancer"):
        assert main(["fit", name, "--quiet", "-o", str(folder / f"{name}.json")]) == 0
    rng = np.random.default_rng(0)
    lines = ["size,colour,grade,smoker,outcome"]
    for row in range(80):
        label = row % 2
        size = "" if row % 9 == 4 else f"{rng.normal(4 * label):.2f}"
        colour = ("red", "dark blue", "stop")[min(2, label + (rng.random() < 0.3))]
        lines.append(f"{size},{colour},{rng.integers(1, 4)},{('true', 'false')[rng.random() < 0.5]},{('no', 'yes')[label]}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    fit = ["fit", folder / "rows.csv", "--target", "outcome", "--categorical", "grade", "--quiet", "-o", folder / "rows.json"]
    assert main(list(map(str, fit))) == 0
    return folder


# ---- what is typed


@pytest.mark.parametrize(
    "variable, text, value",
    [
        (COLOUR, "2", "dark red"),
        (COLOUR, " dark red ", "dark red"),
        (COLOUR, "RED", "Red"),
        (COLOUR, "'stop'", "stop"),
        (SIZE, "3", 3.0),
        (SIZE, "-1e2", -100.0),
        (SIZE, "< 2.5", np.nextafter(2.5, -np.inf)),
        (SIZE, "[2.5, 4)", 2.5),
        (SIZE, ">= 4", 4.0),
        (GRADE, "2", 2),
        (GRADE, "2.0", 2),
        (SMOKER, "1", False),
        (SMOKER, "TRUE", True),
        (SMOKER, "yes", True),
        (SMOKER, "n", False),
        (Variable("code", "categorical", ("007", "10")), "10", "10"),
        (Variable("code", "categorical", ("007", "10")), "1", "007"),
    ],
)
def test_what_is_typed_is_a_value(variable, text, value):
    found = value_of(variable, text)
    assert found == value
    assert type(found) is type(value) or variable is SIZE


@pytest.mark.parametrize(
    "variable, text, said",
    [
        (COLOUR, "5", "5 is no number of a value of 'colour': they go from 1 to 4"),
        (COLOUR, "0", "0 is no number"),
        (COLOUR, "bleu", "'bleu' is no value of 'colour'; its values are 'blue', "),
        (SIZE, "big", "'big' is no number, and 'size' takes numbers"),
        (SIZE, "nan", "'nan' is no number"),
        (SIZE, "1_0", "'1_0' is no number"),
        (SIZE, "inf", "'inf' is no number"),
        (GRADE, "4", "'4' is no value of 'grade'; its values are '1', '2', '3'"),
        (Variable("x", "numeric", cuts=()), "any", "'any' is no number"),
    ],
)
def test_what_is_no_value_is_refused_with_what_would_do(variable, text, said):
    with pytest.raises(UserError) as refused:
        value_of(variable, text)
    assert said in str(refused.value)


def test_values_that_are_whole_numbers_have_no_other_number():
    assert [is_numbered(v) for v in (COLOUR, SIZE, GRADE, SMOKER)] == [True, False, False, True]
    assert not is_numbered(Variable("x", "categorical", ("2.0", "none")))
    assert is_numbered(Variable("x", "categorical", ("0", "7")))


def test_missing_and_never_observed_cannot_be_chosen():
    assert choices(Variable("x", "categorical", ("a",), missing_value=True)) == ["a"]
    assert choices(Variable("x", "categorical")) == []
    with pytest.raises(UserError, match="no value"):
        value_of(Variable("x", "categorical", ("a",), missing_value=True), "2", numbers=False)


def test_what_is_known_is_given_by_column():
    domain = Domain((COLOUR, SIZE, Variable("size=x", "categorical", ("3", "4"))), Variable("y", "categorical", ("a",)))
    known = given_values(domain, ["colour=blue", "size=3", "size=x=4"])
    assert known == {"colour": "blue", "size": 3.0, "size=x": "4"}
    assert one_row(domain, {"size": 3.0}).to_pylist() == [{"colour": None, "size": 3.0, "size=x": None}]
    for text, said in (("colour", "column=value"), ("color=1", "its columns are 'colour'"), ("colour=2", "no value")):
        with pytest.raises(UserError, match=said):
            given_values(domain, [text])
    with pytest.raises(UserError, match="two things"):
        given_values(domain, ["size=3", "size=4"])


def test_costs_are_read_from_json_and_csv(tmp_path):
    labels, matrix = ["sick", "well"], [[0, 20], [1, 0]]
    text = '{"sick": {"well": 20}, "well": {"sick": 1}}'
    (tmp_path / "c.json").write_text(text)
    (tmp_path / "c.csv").write_text("truth,well,sick\nwell,0,1\nsick,20,0\n")
    for given in (text, tmp_path / "c.json", tmp_path / "c.csv", "[[0, 20], [1, 0]]"):
        assert read_costs(str(given), labels).tolist() == matrix
    assert read_costs(None, labels) is None
    (tmp_path / "short.csv").write_text("truth,well,sick\nwell,0\n")
    (tmp_path / "gap.csv").write_text("truth,well,sick\nwell,,1\nsick,20,0\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes("t,kränk\n".encode("latin-1"))
    for given, said in (
        ('{"ill": {"well": 1}}', "names a class 'ill'"),
        ("{", "this is no JSON"),
        ("[1]", "shape"),
        ("nowhere.json", "there is no file 'nowhere.json'"),
        (tmp_path / "short.csv", "the row of 'well' has 2 cells, and the header has 3"),
        (tmp_path / "gap.csv", "says '' for deciding 'well'"),
        (tmp_path / "empty.csv", "is empty"),
        (tmp_path / "latin.csv", "not UTF-8"),
    ):
        with pytest.raises(UserError, match="--costs") as refused:
            read_costs(str(given), labels)
        assert said in str(refused.value)


def test_prices_are_read_from_json_and_csv(tmp_path):
    (tmp_path / "p.csv").write_text('column,price\n"x, y",2\nage,0.5\n')
    assert read_prices(str(tmp_path / "p.csv"), ["age", "x, y"]) == {"x, y": 2.0, "age": 0.5}
    assert read_prices('{"age": 1}', ["age"]) == {"age": 1.0}
    assert read_prices(None, ["age"]) is None
    (tmp_path / "three.csv").write_text("a,b,c\n")
    for given, said in (
        ('{"agee": 1}', "its columns are 'age'"),
        ('{"age": -1}', "says -1 for 'age'"),
        ('{"age": "much"}', "says 'much' for 'age'"),
        ('{"age": null}', "says None for 'age'"),
        ("[1]", "must be {column: price}"),
        (tmp_path / "three.csv", "'a,b,c'"),
    ):
        with pytest.raises(UserError, match="--prices") as refused:
            read_prices(str(given), ["age"])
        assert said in str(refused.value)


def test_rows_are_numbered_from_one():
    assert (row_numbers("3"), row_numbers("3, 5"), row_numbers("all")) == ([3], [3, 5], "all")
    for text in ("0", "-1", "x", "1,", "2.5"):
        with pytest.raises(ArgumentTypeError, match="the first row is 1"):
            row_numbers(text)


# ---- explain


def test_a_row_is_explained_in_words(run, folder):
    code, out, err = run("explain", folder / "iris.json", "iris", "--row", 61, "--quiet")
    assert (code, err) == (0, "")
    iris = load_dataset("iris")
    clf = load(folder / "iris.json")
    shares = clf.predict_proba(iris.X.iloc[[60]])[0]
    assert out.splitlines()[0] == f"row 61: class = versicolor (P = {shares[1]:.3g})"
    assert out.split("\n", 1)[1] == clf.explain(iris.X.iloc[[60]]).text() + "\n"
    assert "petal width (cm) in [0.8, 1.75): +2.1 for versicolor\n" in out


def test_most_class_and_against_are_passed_on(run, folder):
    iris, clf = load_dataset("iris"), load(folder / "iris.json")
    options = ["--class", "virginica", "--against", "versicolor", "--most", 2]
    _, out, _ = run("explain", folder / "iris.json", "iris", "--row", "61", *options)
    expected = clf.explain(iris.X.iloc[[60]], against="versicolor").text(0, "virginica", 2)
    assert out.split("\n", 1)[1] == expected + "\n"
    assert "2 other columns" in out


def test_contributions_of_all_rows_as_a_table_add_up(run, folder, tmp_path):
    path = tmp_path / "all.csv"
    assert run("explain", folder / "iris.json", "iris", "--row", "all", "--class", "virginica", "-o", path)[0] == 0
    table = pa.csv.read_csv(path)
    iris, clf = load_dataset("iris"), load(folder / "iris.json")
    log_shares = clf.predict_log_proba(iris.X)
    odds = log_shares[:, 2] - logsumexp(log_shares[:, :2], axis=1)
    base = clf.explain(iris.X.iloc[[0]]).base[2]
    assert table["row"].to_pylist() == np.repeat(np.arange(1, 151), 4).tolist()
    assert set(table["class"].to_pylist()) == {"virginica"}
    sums = base + table["contribution"].to_numpy().reshape(150, 4).sum(axis=1)
    np.testing.assert_allclose(sums, odds, atol=1e-10)


def test_a_table_has_the_decision_of_each_row(run, folder):
    _, out, _ = run("explain", folder / "iris.json", "iris", "--row", "120,2", "--format", "csv")
    table = pa.csv.read_csv(io.BytesIO(out.encode()))
    clf, X = load(folder / "iris.json"), load_dataset("iris").X.iloc[[119, 1]]
    assert table["row"].to_pylist() == [120] * 4 + [2] * 4
    assert table["class"].to_pylist() == np.repeat(clf.predict(X), 4).tolist()
    found = clf.explain(X)
    for row in range(2):
        parts = found.contributions[row, list(found.order), found.decisions[row]]
        assert table["contribution"].to_pylist()[4 * row : 4 * row + 4] == pytest.approx(parts)


def test_json_has_gaps_given_and_everything_that_adds_up(run, folder):
    _, out, _ = run("explain", folder / "rows.json", folder / "rows.csv", "--row", 5, "--format", "json")
    [found] = json.loads(out)
    assert (found["row"], found["unknown"], found["against"]) == (5, ["size"], None)
    parts = {item["feature"]: item for item in found["contributions"]}
    assert set(parts) == {"colour", "grade", "smoker"}
    total = found["base"] + sum(item["contribution"] for item in parts.values())
    share = found["posterior"][found["class"]]
    assert total == pytest.approx(found["log_odds"]) == pytest.approx(np.log(share / (1 - share)))


def test_values_never_seen_are_said_to_count_as_missing(run, folder, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("colour,size,grade,smoker\nred,1,1,true\npurple,1,1,true\n")
    code, out, err = run("explain", folder / "rows.json", path, "--row", "1,2")
    assert code == 0
    assert "row 2 has 'purple' in column 'colour', which was never seen in learning" in err
    assert "unknown: colour" in out
    code, _, err = run("explain", folder / "rows.json", path, "--row", 2, "--unknown", "error")
    assert code == 1
    assert "--unknown marginalize" in err


@pytest.mark.parametrize(
    "options, said",
    [
        (["--row", "151"], "iris has 150 rows, so there is no row 151 (the first is 1)"),
        (["--row", "1", "--class", "virginia"], "--class 'virginia' is none of the classes 'virginica'"),
        (["--row", "1", "--against", "x"], "--against 'x' is none of"),
        (["--row", "1", "--counterfactual", "--wanted", "x"], "--wanted 'x' is none of"),
        (["--row", "1", "--counterfactual", "--keep", "petal"], "no column 'petal' (--keep)"),
        (["--row", "1", "--class", "setosa", "--against", "setosa"], "compared with"),
        (["--target", "species"], "no column 'species' (the target)"),
    ],
)
def test_what_cannot_be_explained_is_an_error_of_one_line(run, folder, options, said):
    code, out, err = run("explain", folder / "iris.json", "iris", "--quiet", *options)
    assert (code, out) == (1, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "options, said",
    [
        (["--class", "setosa"], "which row?"),
        (["--counterfactual"], "which row?"),
        (["--row", "1", "--relevance"], "leave out --row"),
        (["--row", "1", "--target", "class"], "leave it out with --row"),
        (["--row", "1", "--keep", "a"], "--keep goes with --counterfactual"),
        (["--row", "1", "--wanted", "a"], "--wanted goes with --counterfactual"),
        (["--row", "1", "--most", "3", "--format", "csv"], "--most goes with --format text"),
        (["--row", "1", "--counterfactual", "-o", "x.csv"], "no form as a table"),
        (["--row", "0"], "the first row is 1"),
    ],
)
def test_options_without_effect_are_wrong_usage(run, folder, options, said):
    code, _, err = run("explain", folder / "iris.json", "iris", *options)
    assert code == 2
    assert said in err


def test_the_ending_of_the_output_is_its_format(run, folder, tmp_path):
    for name in ("a.txt", "a.json", "a.csv", "a.parquet"):
        assert run("explain", folder / "iris.json", "iris", "--row", 2, "--quiet", "-o", tmp_path / name) == (0, "", "")
    assert (tmp_path / "a.txt").read_text().startswith("row 2: class = setosa")
    assert json.loads((tmp_path / "a.json").read_text())[0]["row"] == 2
    assert pa.parquet.read_table(tmp_path / "a.parquet").num_rows == pa.csv.read_csv(tmp_path / "a.csv").num_rows == 4
    code, _, err = run("explain", folder / "iris.json", "iris", "--row", 2, "-o", tmp_path / "none" / "a.txt")
    assert code == 1
    assert "there is no folder" in err

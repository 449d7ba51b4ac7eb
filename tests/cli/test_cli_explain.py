"""``discbayes explain``, ``discbayes ask`` and ``discbayes report``."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import ArgumentTypeError

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.special import logsumexp

from discbayes import BayesNetClassifier, load, load_dataset
from discbayes.cli import main
from discbayes.cli.ask import given_values, read_costs, read_prices
from discbayes.cli.console import UserError
from discbayes.cli.explain import row_numbers
from discbayes.cli.prompts import choices, is_numbered, value_of
from discbayes.data import Domain, Variable

COLOUR = Variable("colour", "categorical", ("blue", "dark red", "Red", "stop"))
SIZE = Variable("size", "numeric", cuts=(2.5, 4.0))
GRADE = Variable("grade", "categorical", (1, 2, 3))
SMOKER = Variable("smoker", "boolean", (False, True))
NASTY = "<b>\x1b[31m\"x\"='1'</b>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of iris, of breast cancer and of a table with all kinds of columns, with their
    tables.
    """
    folder = tmp_path_factory.mktemp("models")
    simple = ["--structure", "tan", "--parameters", "hybrid"]  # three values of each petal
    for name, options in (("iris", simple), ("breast-cancer", [])):
        assert main(["fit", name, *options, "--quiet", "-o", str(folder / f"{name}.json")]) == 0
    rng = np.random.default_rng(0)
    lines = ["size,colour,grade,smoker,outcome"]
    for row in range(80):
        label = row % 2
        size = "" if row % 9 == 4 else f"{rng.normal(4 * label):.2f}"
        colour = ("red", "dark blue", "stop")[min(2, label + (rng.random() < 0.3))]
        grade, flag = rng.integers(1, 4), ("true", "false")[rng.random() < 0.5]
        lines.append(f"{size},{colour},{grade},{flag},{('no', 'yes')[label]}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    fit = [
        "fit",
        folder / "rows.csv",
        "--target",
        "outcome",
        "--categorical",
        "grade",
        "--missing",
        "available",
        "--quiet",
        "-o",
        folder / "rows.json",
    ]
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
        (Variable("milk", "categorical", ("false", "true")), "Yes", "true"),
        (Variable("vote", "categorical", ("n", "y")), "y", "y"),
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
        (COLOUR, "5", "5 is not the number of a value of 'colour': they go from 1 to 4"),
        (COLOUR, "0", "0 is not the number"),
        (COLOUR, "bleu", "'bleu' is not a value of 'colour'; its values are 'blue', "),
        (SIZE, "big", "'big' is not a number, and 'size' takes numbers"),
        (SIZE, "nan", "'nan' is not a number"),
        (SIZE, "1_0", "'1_0' is not a number"),
        (SIZE, "inf", "'inf' is not a number"),
        (SIZE, "1,234", "'1,234' is not a number"),
        (SIZE, "1,2,3", "'1,2,3' is not a number"),
        (GRADE, "4", "'4' is not a value of 'grade'; its values are '1', '2', '3'"),
        (Variable("x", "numeric", cuts=()), "any", "'any' is not a number"),
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
    with pytest.raises(UserError, match="not a value"):
        value_of(Variable("x", "categorical", ("a",), missing_value=True), "2", numbers=False)


def test_what_is_known_is_given_by_column():
    domain = Domain(
        (COLOUR, SIZE, Variable("size=x", "categorical", ("3", "4"))),
        Variable("y", "categorical", ("a",)),
    )
    known = given_values(domain, ["colour=blue", "size=3", "size=x=4"])
    assert known == {"colour": "blue", "size": 3.0, "size=x": "4"}
    for text, said in (
        ("colour", "column=value"),
        ("color=1", "its columns are 'colour'"),
        ("colour=2", "not a value"),
    ):
        with pytest.raises(UserError, match=said):
            given_values(domain, [text])
    with pytest.raises(UserError, match="twice"):
        given_values(domain, ["size=3", "size=4"])


def test_costs_are_read_from_json_and_csv(tmp_path):
    labels, matrix = ["sick", "well"], [[0, 20], [1, 0]]
    text = '{"sick": {"well": 20}, "well": {"sick": 1}}'
    (tmp_path / "c.json").write_text(text)
    (tmp_path / "c.csv").write_text("truth,well,sick\nwell,0,1\nsick,20,0\n")
    for given in (text, tmp_path / "c.json", tmp_path / "c.csv", "[[0, 20], [1, 0]]"):
        assert read_costs(str(given), labels).matrix.tolist() == matrix
    assert read_costs(None, labels) is None
    (tmp_path / "short.csv").write_text("truth,well,sick\nwell,0\n")
    (tmp_path / "gap.csv").write_text("truth,well,sick\nwell,,1\nsick,20,0\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes("t,kränk\n".encode("latin-1"))
    for given, said in (
        ('{"ill": {"well": 1}}', "names a class 'ill'"),
        ("{", "this is not JSON"),
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
        ('{"age": -1}', "has -1 for 'age'"),
        ('{"age": "much"}', "has 'much' for 'age'"),
        ('{"age": null}', "has None for 'age'"),
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
    assert "petal width (cm) in [0.8, 1.75): +2.3 for versicolor\n" in out


def test_most_class_and_against_are_passed_on(run, folder):
    iris, clf = load_dataset("iris"), load(folder / "iris.json")
    options = ["--class", "virginica", "--against", "versicolor", "--max-columns", 2]
    _, out, _ = run("explain", folder / "iris.json", "iris", "--row", "61", *options)
    expected = clf.explain(iris.X.iloc[[60]], against="versicolor").text(0, "virginica", 2)
    assert out.split("\n", 1)[1] == expected + "\n"
    assert "2 other columns" in out


def test_contributions_of_all_rows_as_a_table_add_up(run, folder, tmp_path):
    path = tmp_path / "all.csv"
    assert (
        run(
            "explain",
            folder / "iris.json",
            "iris",
            "--row",
            "all",
            "--class",
            "virginica",
            "-o",
            path,
        )[0]
        == 0
    )
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
    _, out, _ = run(
        "explain", folder / "rows.json", folder / "rows.csv", "--row", 5, "--format", "json"
    )
    [found] = json.loads(out)
    assert (found["row"], found["unknown"], found["against"]) == (5, ["size"], None)
    parts = {item["column"]: item for item in found["contributions"]}
    assert set(parts) == {"colour", "grade", "smoker"}
    total = found["base"] + sum(item["contribution"] for item in parts.values())
    share = found["posterior"][found["class"]]
    assert total == pytest.approx(found["log_odds"]) == pytest.approx(np.log(share / (1 - share)))


def test_values_never_seen_are_said_to_count_as_missing(run, folder, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("colour,size,grade,smoker\nred,1,1,true\npurple,1,1,true\n")
    code, out, err = run("explain", folder / "rows.json", path, "--row", "1,2")
    assert code == 0
    assert "row 2 has 'purple' in column 'colour', which was never seen in training" in err
    assert "unknown: colour" in out
    code, _, err = run("explain", folder / "rows.json", path, "--row", 2, "--unknown", "error")
    assert code == 1
    assert "--unknown marginalize" in err


@pytest.mark.parametrize(
    "options, said",
    [
        (["--row", "151"], "iris has 150 rows, so there is no row 151 (the first is 1)"),
        (
            ["--row", "1", "--class", "virginia"],
            "--class 'virginia' is none of the classes 'virginica'",
        ),
        (["--row", "1", "--against", "x"], "--against 'x' is none of"),
        (["--row", "1", "--counterfactual", "--wanted", "x"], "--wanted 'x' is none of"),
        (
            ["--row", "1", "--counterfactual", "--keep", "petal"],
            "--keep 'petal' is none of the model's columns 'petal width (cm)'",
        ),
        (
            ["--row", "1", "--class", "setosa", "--against", "setosa"],
            "are the same class, 'setosa'",
        ),
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
        (
            ["--row", "1", "--max-columns", "3", "--format", "csv"],
            "--max-columns goes with --format text",
        ),
        (
            ["--row", "1", "--counterfactual", "--class", "setosa", "-o", "x.csv"],
            "not in a table of changes",
        ),
        (["--row", "0"], "the first row is 1"),
    ],
)
def test_options_without_effect_are_wrong_usage(run, folder, options, said):
    code, _, err = run("explain", folder / "iris.json", "iris", *options)
    assert code == 2
    assert said in err


def test_the_ending_of_the_output_is_its_format(run, folder, tmp_path):
    for name in ("a.txt", "a.json", "a.csv", "a.parquet"):
        assert run(
            "explain", folder / "iris.json", "iris", "--row", 2, "--quiet", "-o", tmp_path / name
        ) == (0, "", "")
    assert (tmp_path / "a.txt").read_text().startswith("row 2: class = setosa")
    assert json.loads((tmp_path / "a.json").read_text())[0]["row"] == 2
    assert (
        pa.parquet.read_table(tmp_path / "a.parquet").num_rows
        == pa.csv.read_csv(tmp_path / "a.csv").num_rows
        == 4
    )
    code, _, err = run(
        "explain", folder / "iris.json", "iris", "--row", 2, "-o", tmp_path / "none" / "a.txt"
    )
    assert code == 1
    assert "there is no folder" in err


def test_changes_are_found_and_columns_kept(run, folder):
    command = [
        "explain",
        folder / "rows.json",
        folder / "rows.csv",
        "--row",
        "1",
        "--counterfactual",
    ]
    clf, X = (
        load(folder / "rows.json"),
        pa.csv.read_csv(folder / "rows.csv").select(["size", "colour", "grade", "smoker"]),
    )
    X = X.slice(0, 1).set_column(2, "grade", pa.array(["1"]))
    code, out, _ = run(*command)
    assert code == 0
    assert "\nnow: no with the probability" in out
    found = json.loads(run(*command, "--format", "json")[1])[0]["counterfactual"]
    first = found["choices"][0]
    assert (found["found"], found["proven"], first["decision"]) == (True, True, "yes")
    assert [change["column"] for change in first["changes"]] == ["size"]
    kept = json.loads(run(*command, "--keep", "size", "--wanted", "yes", "--format", "json")[1])[0][
        "counterfactual"
    ]
    assert all(change["column"] != "size" for one in kept["choices"] for change in one["changes"])
    table = pa.csv.read_csv(io.BytesIO(run(*command, "--format", "csv")[1].encode()))
    assert table.column_names[:4] == ["row", "choice", "column", "from"]
    assert set(table["row"].to_pylist()) == {1}
    assert clf.classes_.tolist() == ["no", "yes"]
    same = run(*command, "--wanted", "no")[1]
    assert "nothing has to change" in same


def test_without_a_row_it_is_the_relevance_of_all_columns(run, folder):
    data, clf = load_dataset("breast-cancer"), load(folder / "breast-cancer.json")
    code, out, _ = run(
        "explain", folder / "breast-cancer.json", "breast-cancer", "--quiet", "--max-columns", 3
    )
    assert code == 0
    assert out == clf.relevance(data.X, data.y).text(3) + "\n"
    assert "consider dropping" in out
    assert "accuracy" in out
    assert "optimistic if the model was learned from them" in out
    assert (
        run(
            "explain",
            folder / "breast-cancer.json",
            "breast-cancer",
            "--relevance",
            "--quiet",
            "--max-columns",
            3,
        )[1]
        == out
    )
    table = pa.csv.read_csv(
        io.BytesIO(
            run("explain", folder / "breast-cancer.json", "breast-cancer", "--format", "csv")[
                1
            ].encode()
        )
    )
    assert table["column"].to_pylist()[0] == out.splitlines()[1].split("  ")[0]
    assert sum(table["share"].to_pylist()) == pytest.approx(1)


def test_relevance_without_classes_in_the_table(run, folder, tmp_path):
    rows = (folder / "rows.csv").read_text().splitlines()
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(line.rsplit(",", 1)[0] for line in rows) + "\n")
    code, out, _ = run("explain", folder / "rows.json", bare, "--format", "json")
    assert code == 0
    assert json.loads(out)["hidden"]["accuracy"] is None
    assert json.loads(out)["rows"] == 80
    code, _, err = run("explain", folder / "rows.json", bare, "--target", "outcome")
    assert code == 1
    assert "has no column 'outcome' (the target)" in err


def test_a_class_that_the_model_does_not_know_is_named_with_its_row(run, folder, tmp_path):
    lines = (folder / "rows.csv").read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ",perhaps"
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    for command in ("explain", "report"):
        code, _, err = run(command, folder / "rows.json", tmp_path / "odd.csv", "--quiet")
        assert code == 1
        assert "row 3 of" in err
        assert "has the class 'perhaps' in column 'outcome', and 1 rows in all" in err


# ---- ask


INVITATION = (
    "Answer with a value or its number; Enter or ? if it is not known; back, why or stop.\n"
)


def test_old_names_of_options_go_on_working_with_a_warning(run, folder):
    command = ["explain", folder / "iris.json", "iris", "--row", 1, "--quiet"]
    new, old = run(*command, "--max-columns", 1), run(*command, "--most", 1)
    assert (new[0], new[2]) == (0, "")
    assert old[:2] == new[:2]
    assert old[2] == (
        "discbayes: warning: --most is deprecated and will be removed in version 0.4: use"
        " --max-columns\n"
    )
    err = run("ask", folder / "iris.json", "--most", "1", "--sure", "1", typed="1.4\n")[2]
    assert "use --max-questions" in err
    assert "--most" not in run("ask", "--help")[1]


def test_fine_intervals_are_not_listed(run, folder, tmp_path):
    path = tmp_path / "two.json"
    options = ["--target", "class", "--parameters", "map", "--discretizer", "two-resolution"]
    assert run("fit", "iris", *options, "-o", path)[0] == 0
    variable = load(path).network_.domain.features[2]
    code, _, err = run("ask", path, "--sure", "0.5", typed="1.4\n")
    assert code == 0
    labels = variable.labels
    assert f"   {labels[0]}, …, {labels[-1]} ({len(labels)} intervals)\n" in err
    assert "petal length (cm) in [1.35, 1.45)\n" in err


def test_iris_is_asked_for_petals(run, folder):
    code, out, err = run("ask", folder / "iris.json", "--sure", "0.85", typed="1.4\n4.2\n")
    assert code == 0
    assert (
        err == f"{INVITATION}"
        "class: versicolor 34.6%, virginica 33.4%, setosa 31.9%\n"
        "\n"
        "1. petal width (cm): a number (reduces the expected entropy by 74%)\n"
        "   < 0.8, [0.8, 1.75), >= 1.75\n"
        "petal width (cm) in [0.8, 1.75)\n"
        "class: versicolor 84.1%, virginica 13.4%, setosa 2.5%\n"
        "\n"
        "2. petal length (cm): a number (reduces the expected entropy by 26%)\n"
        "   < 2.45, [2.45, 4.75), >= 4.75\n"
        "petal length (cm) in [2.45, 4.75)\n"
        "class: versicolor 93.9%, virginica 4.9%, setosa 1.2%\n"
        "\n"
    )
    assert out.splitlines()[:4] == [
        "decision: versicolor (P = 0.939)",
        "ended: sure enough (P ≥ 0.85)",
        "class: versicolor 93.9%, virginica 4.9%, setosa 1.2%",
        "",
    ]
    clf = load(folder / "iris.json")
    row = {"petal width (cm)": 1.4, "petal length (cm)": 4.2}
    assert out.split("\n\n")[1] == clf.explain(row).text(most=5) + "\n"


def test_the_default_asks_for_fine_intervals(run, tmp_path):
    path = tmp_path / "iris.json"
    assert run("fit", "iris", "--quiet", "-o", path)[0] == 0
    clf = load(path)
    answers = {
        "petal width (cm)": (1.6, "[1.55, 1.65)"),
        "petal length (cm)": (4.9, "[4.85, 4.95)"),
    }
    asked = sorted(answers, key=lambda name: name != clf.value_of_information({}).best)
    typed = "".join(f"{answers[name][0]}\n" for name in asked)
    code, out, err = run("ask", path, typed=typed)
    assert code == 0
    assert err.startswith(f"{INVITATION}class: setosa 33.3%, versicolor 33.3%, virginica 33.3%\n")
    known = {}
    for number, name in enumerate(asked, 1):
        value, interval = answers[name]
        labels = next(v for v in clf.network_.domain.features if v.name == name).labels
        assert f"\n{number}. {name}: a number (reduces the expected entropy by " in err
        assert (
            f"   {labels[0]}, …, {labels[-1]} ({len(labels)} intervals)\n{name} in {interval}"
            in err
        )
        known[name] = value
        shares = clf.predict_proba(known)[0]
        label = clf.classes_[shares.argmax()]
        assert f"{name} in {interval}\nclass: {label} {shares.max():.1%}, " in err
    assert "ended: the answers have ended\n" in out
    assert out.split("\n\n")[1] == clf.explain(known).text(most=5) + "\n"


def shares_of(err):
    """The probabilities that were shown, in their order."""
    return [line for line in err.splitlines() if line.startswith("outcome: ")]


def test_every_form_of_an_answer(run, folder):
    clf = load(folder / "rows.json")
    values = {"size": 2.0, "colour": "stop", "grade": "2", "smoker": True}
    typed = {"size": "2", "colour": "3", "grade": "2", "smoker": "yes"}
    shown = []
    # answer one question more each time: the order of the questions is the model's
    for _ in values:
        lines = "".join(f"{typed[name]}\n" for name in shown)
        err = run("ask", folder / "rows.json", "--sure", "1", typed=lines)[2]
        question = [line for line in err.splitlines() if line[:3] == f"{len(shown) + 1}. "]
        if not question:
            break
        shown.append(question[0][3:].split(" (")[0].split(":")[0])
    assert len(shown) >= 3
    lines = "".join(f"{typed[name]}\n" for name in shown)
    err = run("ask", folder / "rows.json", "--sure", "1", typed=lines)[2]
    known = {name: values[name] for name in shown}
    share = clf.predict_proba(known)[0]
    label = clf.classes_[share.argmax()]
    assert shares_of(err)[-1].startswith(f"outcome: {label} {share.max():.1%}")
    assert "1) dark blue   2) red   3) stop" in err
    assert "\n   1   2   3\n" in err or "grade" not in shown


def test_what_is_not_known_is_not_asked_again(run, folder):
    code, out, err = run("ask", folder / "rows.json", typed="?\n\n?\n\n")
    asked = [
        line[3:].split(" (")[0].split(":")[0] for line in err.splitlines() if line[1:3] == ". "
    ]
    assert len(asked) == len(set(asked)) >= 2
    assert len(set(shares_of(err))) == 1
    assert code == 0
    assert "ended: " in out
    assert "is not known" in err


def test_wrong_answers_are_asked_again_with_the_reason(run, folder):
    _, out, err = run("ask", folder / "iris.json", typed="wide\n1,400\n1,4\nstop\n")
    assert "'wide' is not a number, and 'petal width (cm)' takes numbers" in err
    assert "'1,400' is not a number" in err  # it may be a thousand
    assert err.count("1. petal width (cm)") == 1
    assert "ended: stopped" in out
    assert "decision: versicolor (P = 0.841)" in out


def test_back_takes_answers_back_one_by_one(run, folder):
    _, out, err = run(
        "ask", folder / "iris.json", "--sure", "1", typed="1.4\n?\nback\nback\nback\n0.2\nstop\n"
    )
    assert "taken back: petal length (cm)\n" in err
    assert "taken back: petal width (cm)\n" in err
    assert "there is no answer to take back\n" in err
    first = "class: versicolor 34.6%, virginica 33.4%, setosa 31.9%"
    assert err.count(first) == 2
    assert "decision: setosa" in out


def test_why_shows_what_is_known_so_far(run, folder):
    _, _, err = run("ask", folder / "iris.json", typed="why\n1.4\nwhy\nstop\n")
    assert err.count("prior: ") == 2
    assert "petal width (cm) in [0.8, 1.75): +2.3 for versicolor" in err


def test_what_is_known_before_is_not_asked_for(run, folder):
    options = ["--know", "petal width (cm)=0.2", "--sure", "0.8"]
    code, out, err = run("ask", folder / "iris.json", *options)
    assert code == 0
    assert "1. " not in err
    assert out.splitlines()[0].startswith("decision: setosa")
    code, out, err = run(
        "ask", folder / "rows.json", folder / "rows.csv", "--row", 5, "--sure", "1", "--quiet"
    )
    assert "\n1. size: a number" in err
    known = run(
        "ask",
        folder / "rows.json",
        folder / "rows.csv",
        "--row",
        5,
        "--know",
        "size=9",
        "--sure",
        "1",
    )[2]
    assert "1. " not in known


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--max-questions", "1", "--sure", "1"], "one question was asked"),
        (["--max-questions", "2", "--sure", "1"], "2 questions were asked"),
        (["--sure", "0.3"], "sure enough (P ≥ 0.3)"),
        (["--costs", '{"setosa": {"virginica": 0}}'], "no question would help"),
        (
            ["--costs", "[[0,1,1],[1,0,1],[1,1,0]]", "--prices", "PRICES"],
            "no question is worth its price",
        ),
        (
            [
                "--costs",
                "[[0,1,1],[1,0,1],[1,1,0]]",
                "--prices",
                '{"petal width (cm)": 9}',
                "--max-questions",
                "1",
            ],
            "one question",
        ),
        (["--sure", "1"], "the answers have ended"),
    ],
)
def test_how_it_ends(run, folder, options, reason):
    dear = json.dumps(dict.fromkeys(load_dataset("iris").X.columns, 1))
    options = [dear if option == "PRICES" else option for option in options]
    code, out, err = run("ask", folder / "iris.json", *options, typed="?\n?\n")
    assert code == 0
    assert f"ended: {reason}" in out
    if "--prices" in options and "--max-questions" in options:
        assert "1. petal length (cm)" in err
        assert "would save" in err


def test_it_ends_where_no_question_tells_more(run, folder):
    _, out, err = run("ask", folder / "iris.json", "--sure", "1", typed="1.4\n4\n3\n5.5\nlate\n")
    assert "ended: there is nothing left to ask" in out
    assert "late" not in err


def test_costs_decide(run, folder):
    costs = '{"no": {"yes": 1}, "yes": {"no": 100}}'
    clf = load(folder / "rows.json")
    _, out, _ = run("ask", folder / "rows.json", "--costs", costs, typed="stop\n")
    matrix = np.array([[0, 1], [100, 0]])
    expected = clf.predict_proba({}) @ matrix
    assert out.splitlines()[0].startswith("decision: yes")
    assert out.splitlines()[1] == f"expected cost: {expected[0, 1]:.4g}"


@pytest.mark.parametrize(
    "options, said",
    [
        (["--row", "2"], "DATA and --row go together"),
        (["rows.csv"], "DATA and --row go together"),
        (["--unknown", "error"], "--unknown is about the values of DATA"),
        (["--prices", "{}"], "give both"),
        (["--sure", "95"], "'95' is not a probability"),
        (["--sure", "x"], "'x' is not a probability"),
        (["--max-questions", "0"], "at least 1"),
    ],
)
def test_wrong_usage_of_ask(run, folder, options, said):
    code, _, err = run("ask", folder / "iris.json", *options)
    assert code == 2
    assert said in err


def test_what_is_known_must_be_a_value_of_a_column(run, folder):
    code, out, err = run("ask", folder / "rows.json", "--know", "colour=green")
    assert (code, out) == (1, "")
    assert err == (
        "discbayes: error: 'green' is not a value of 'colour'; its values are 'red',"
        " 'dark blue', 'stop'\n"
    )


def test_an_interrupt_leaves_with_what_is_known(run, folder, monkeypatch, capsys):
    class Typed(io.StringIO):
        def readline(self, *size):
            line = super().readline(*size)
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr(sys, "stdin", Typed("1.4\n"))
    assert main(["ask", str(folder / "iris.json")]) == 130
    out, err = capsys.readouterr()
    assert out.startswith("decision: versicolor (P = 0.841)\nended: interrupted\n")
    assert err.endswith("discbayes: error: interrupted\n")


def test_a_prompt_is_for_people_only(run, folder, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("stop\n"))
    assert main(["ask", str(folder / "iris.json")]) == 0
    assert capsys.readouterr().err.endswith("\n> \n")


def test_one_class_has_nothing_to_ask(run, tmp_path):
    (tmp_path / "one.csv").write_text("a,b,y\n1,x,no\n2,z,no\n3,x,no\n")
    assert run("fit", tmp_path / "one.csv", "--target", "y", "-o", tmp_path / "one.json")[0] == 0
    code, out, _ = run("ask", tmp_path / "one.json")
    assert code == 0
    assert out.startswith("decision: no (P = 1)\nended: sure enough")
    code, out, _ = run(
        "explain", tmp_path / "one.json", tmp_path / "one.csv", "--row", 1, "--counterfactual"
    )
    assert code == 0
    assert "row 1: y = no (P = 1)" in out
    assert "no set of up to 5 changes of known values leads to another decision" in out


def test_hostile_names_and_values_are_shown_as_text(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    labels = np.array([NASTY, "plain"], dtype=object)
    table = pa.table(
        {
            f"{NASTY} = a\nb": labels[np.where(rng.random(60) < 0.9, y, 1 - y)].tolist(),
            "x" * 500: rng.integers(0, 2, 60).astype(str).tolist(),
            "target\x07": labels[y].tolist(),
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    model = tmp_path / "m.json"
    assert (
        run("fit", tmp_path / "t.parquet", "--target", "target\x07", "--quiet", "-o", model)[0] == 0
    )
    answers = [
        run("ask", model, typed="1\nwhy\nback\nnonsense\n?\n"),
        run("ask", model, "--know", f"{NASTY}=1"),
    ]
    answers += [
        run("explain", model, tmp_path / "t.parquet", "--row", "1", *more)
        for more in ([], ["--counterfactual"])
    ]
    answers += [
        run("explain", model, tmp_path / "t.parquet"),
        run("explain", model, tmp_path / "t.parquet", "--row", "99"),
    ]
    for code, out, err in answers:
        assert code in (0, 1)
        assert "\x1b" not in out + err
        assert "\x07" not in out + err


# ---- report


def test_the_page_is_written_and_its_size_said(run, folder, tmp_path):
    page = tmp_path / "page.html"
    code, out, err = run("report", folder / "iris.json", "-o", page, "--quiet")
    assert (code, err) == (0, "")
    assert out == f"{page}: {page.stat().st_size / 1000:.1f} KB\n"
    bare = page.read_text(encoding="utf-8")
    code, out, _ = run("report", folder / "iris.json", "iris", "-o", page)
    assert code == 0
    assert len(page.read_text(encoding="utf-8")) > len(bare)
    assert "petal width (cm)" in bare


def test_wrong_usage_of_report(run, folder, tmp_path):
    code, _, err = run("report", folder / "iris.json", "--target", "class")
    assert code == 2
    assert "this needs DATA" in err
    code, _, err = run("report", folder / "iris.json", "-o", tmp_path / "none" / "page.html")
    assert code == 1
    assert "there is no folder" in err
    code, _, err = run("report", tmp_path / "none.json")
    assert code == 1
    assert "no such file" in err


# ---- as a program


def test_the_program_takes_answers_from_a_pipe(folder):
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "discbayes",
        "ask",
        str(folder / "iris.json"),
        "--sure",
        "0.8",
    ]
    done = subprocess.run(command, input="x\n1.4\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(
        "decision: versicolor (P = 0.841)\nended: sure enough (P ≥ 0.8)\n"
    )
    assert done.stderr.startswith(INVITATION)
    assert "\n> " not in done.stderr


# ---- missing as a value


def test_missing_is_an_answer_where_it_is_a_value(run, tmp_path):
    """A row that has it missing is asked for all the same: not known is something else than known
    to be missing.
    """
    y = np.repeat([0, 1], 60)
    cells = ["low" if label == 0 or at % 10 == 0 else None for at, label in enumerate(y)]
    cells[:20] = ["high"] * 20
    frame = pd.DataFrame({"marker": cells})
    clf = BayesNetClassifier("nb", "map", missing="value").fit(frame, y)
    clf.save(tmp_path / "model.json")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for asked in (["--know", "marker=(missing)"], [tmp_path / "rows.csv", "--row", 70]):
        code, out, err = run("ask", tmp_path / "model.json", *asked, typed="(missing)\n")
        assert code == 0
        assert f"decision: 1 (P = {clf.predict_proba({'marker': None})[0, 1]:.3g})" in out
        assert ("1) high   2) low   (missing)" in err) == ("--row" in asked)
    clf.set_params(missing="available").fit(frame, y).save(tmp_path / "other.json")
    assert (
        "'(missing)' is not a value"
        in run("ask", tmp_path / "other.json", "--know", "marker=(missing)")[2]
    )


def test_the_decision_may_be_an_action(run, folder):
    labels = ["setosa", "versicolor", "virginica"]
    costs = {c: {d: 10 for d in labels if d != c} | {"refer": 1} for c in labels}
    options = "--costs", json.dumps(costs), "--max-questions", "1"
    code, out, _ = run("ask", folder / "iris.json", *options, typed="?\n")
    assert code == 0
    assert out.startswith("decision: refer\nexpected cost: 1\n")
    code, out, _ = run("ask", folder / "iris.json", *options, typed="0.2\n")
    assert out.startswith("decision: setosa (P = ")


@pytest.mark.parametrize(
    ("text", "value"), [("37,5", 37.5), ("-0,125", -0.125), ("1,2345", 1.2345)]
)
def test_a_comma_that_can_only_be_a_decimal_one_is_one(text, value):
    assert value_of(SIZE, text) == value

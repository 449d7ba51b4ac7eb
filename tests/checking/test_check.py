"""`check`: what is found, what is never guessed, and what the model keeps of it."""

import datetime
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier, BayesNetEnsemble, check, load
from discbayes.checking import column_scan, findings, table_scan
from discbayes.checking.findings import PROBLEM, SUSPICION
from discbayes.checking.table_check import check_file
from discbayes.cli import main
from discbayes.io.document import checksum
from discbayes.streams import file_sources
from discbayes.streams.text_detection import detect_layout

CLEAN = sorted(Path(os.environ.get("DISCBAYES_DATA") or "no folder").glob("*.csv.gz"))
# these are true of some clean tables, and say nothing of how they are read
FACTS = {"constant column", "empty column", "duplicate column"}


def file_of(tmp_path, text, name="table.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return str(path)


def table_of(columns):
    """CSV text with semicolons."""
    rows = zip(*columns.values(), strict=True)
    return "\n".join(";".join(row) for row in [tuple(columns), *rows]) + "\n"


# ---- false alarms


@pytest.mark.data
@pytest.mark.parametrize("path", CLEAN, ids=lambda p: p.name)
def test_a_clean_table_raises_no_false_alarm(path):
    found = check(path, "class")
    alarms = {f.kind for f in found.findings if f.level in (PROBLEM, SUSPICION)} - FACTS
    assert len(alarms) <= 1
    assert found.assumptions == found.missing_values == ()
    assert not found.csv_format.numbers
    assert set(found.drop) <= {f.column for f in found.findings if f.kind in FACTS}
    assert not found.categorical


# ---- what is not guessed


def test_thousands_or_decimals_are_not_guessed(tmp_path, capsys):
    numbers = [f"{k},{k * 37 % 900 + 100}" for k in range(1, 61)]
    text = table_of({"price": numbers, "y": ["a", "b"] * 30})
    path = file_of(tmp_path, text)
    found = check(path, "y")
    assert "ambiguous numbers" in found.kinds
    assert main(["fit", path, "--target", "y", "-o", str(tmp_path / "m.json"), "--quiet"]) == 1
    assert "--decimal ," in capsys.readouterr().err
    for decimal, value in ((",", 1.137), (".", 1137.0)):
        X, _ = check_file(path, path, "y", decimal=decimal).read()
        assert X["price"][0] == value


def test_numbers_that_are_written_in_two_ways_are_named(tmp_path):
    text = table_of({"x": ["1,5", "2.5", "3,25", "4.75"] * 10, "y": ["a", "b"] * 20})
    found = check(file_of(tmp_path, text), "y")
    mixed = next(finding for finding in found.findings if finding.kind == "mixed numbers")
    assert mixed.column == "x"
    assert "'1,5', '2.5'" in mixed.text
    assert "x" not in found.csv_format.numbers


def test_a_dash_beside_a_plus_is_a_value(tmp_path):
    text = table_of({"rh": ["+", "-", "-", "+"] * 10, "n": ["1", "2"] * 20, "y": ["a", "b"] * 20})
    found = check(file_of(tmp_path, text), "y")
    assert "missing-value mark" not in found.kinds
    assert found.missing_values == ()


def test_marks_among_words_are_values_until_they_are_named(tmp_path):
    towns = ["Graz", "k.A.", "Linz", "Wels"] * 15
    path = file_of(tmp_path, table_of({"town": towns, "y": ["a", "b", "b"] * 20}))
    fast = ["--target", "y", "--structure", "nb", "--parameters", "map", "--quiet"]
    values = []
    for more in ([], ["--na-values", "k.A."]):
        assert main(["fit", path, *fast, *more, "-o", str(tmp_path / "m.json")]) == 0
        values.append(load(tmp_path / "m.json").network_.domain.features[0].values)
    assert values == [("Graz", "Linz", "Wels", "k.A."), ("Graz", "Linz", "Wels")]
    assert check(path, "y").missing_values == ("k.A.",)


def test_what_is_assumed_is_said_in_one_line(tmp_path, capsys):
    columns = {"Größe": ["1,5", "k.A.", "2,5"] * 20, "y": ["a", "b"] * 30}
    path = file_of(tmp_path, table_of(columns), encoding="cp1252")
    fast = ["--target", "y", "--structure", "nb", "--parameters", "map"]
    assert main(["fit", path, *fast, "-o", str(tmp_path / "m.json")]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "read as" in line]
    assert len(lines) == 1
    for part in ("Windows-1252", "';'", "','", "'k.A.' missing in 'Größe'"):
        assert part in lines[0]


# ---- text


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("cp1252", "cp1252"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
    ],
)
def test_encodings(encoding, found):
    layout = detect_layout("Straße|Ort\nÖdweg|Köln\n".encode(encoding))
    assert (layout.encoding, layout.delimiter) == (found, "|")


def test_a_letter_that_is_cut_by_a_block_is_utf_8(monkeypatch):
    monkeypatch.setattr("discbayes.streams.text_detection._BLOCK", 3)
    assert detect_layout("aß,ö\nxü,ä\n".encode()).encoding == "utf-8"
    assert detect_layout("aß,ö\nxü,ä\n".encode("latin-1")).encoding == "cp1252"


def test_what_is_found_does_not_depend_on_the_blocks(tmp_path, monkeypatch):
    rows = [f"{k},{k * 7 % 50}.5,w{k % 60},{'ab'[k % 3 == 0]}" for k in range(3000)]
    path = file_of(tmp_path, "\n".join(["id,x,w,y", *rows, *rows[:5]]) + "\n")
    whole = check(path, "y")
    monkeypatch.setattr(file_sources, "_TEXT_BLOCKS", (1000,))
    assert check(path, "y").text == whole.text
    assert "duplicate rows" in whole.kinds


def test_ragged_rows_are_named_with_their_lines(tmp_path, capsys):
    path = file_of(tmp_path, "x,y\n" + "1,a\n2,b\n" * 30 + "1,2,3\n")
    command = ["fit", path, "--target", "y", "--structure", "nb", "--parameters", "map"]
    assert main([*command, "-o", str(tmp_path / "m.json"), "--quiet"]) == 1
    error = capsys.readouterr().err
    assert "line 62 has 3 cells" in error
    assert "--skip-ragged" in error
    assert main([*command, "-o", str(tmp_path / "m.json"), "--quiet", "--skip-ragged"]) == 0
    assert "left out 1 row" in capsys.readouterr().err


# ---- the object


def test_a_check_is_text_html_and_a_frame():
    raw = pd.DataFrame({"<b>": ["1,5", "2,5", "k.A."] * 20, "y": ["a", "b"] * 30})
    found = check(raw, "y")
    assert "&lt;b&gt;" in found.html
    assert "<b>:" not in found.html
    assert found.to_frame()["holds"].tolist() == ["numbers", "classes"]
    X, y = found.read()
    assert X["<b>"].dtype == float
    assert len(y) == 60
    assert "discbayes.check(X, y).read()" in str(found)


def test_labels_may_come_beside_the_table():
    X = np.column_stack([np.arange(60) % 7, np.arange(60) * 0.5])
    found = check(X, ["a", "b", None] * 20)
    assert "unlabeled rows" in found.kinds
    read, y = found.read()
    assert (len(read), y.tolist()[:2]) == (40, ["a", "b"])


def test_a_target_that_is_not_there(tmp_path):
    path = file_of(tmp_path, "x,label\n1,a\n2,b\n")
    with pytest.raises(ValueError, match=r"no column 'lable'.*'label'"):
        check(path, "lable")
    with pytest.raises(TypeError, match="must be the name"):
        check(path, [1, 2])


# ---- the model keeps how its file was read


@pytest.fixture
def german(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=120).round(2)
    columns = {
        "Größe": [str(value).replace(".", ",") for value in x],
        "Kosten": [f"{1000 + k},50 €" for k in range(120)],
        "id": [f"P{k:04d}" for k in range(120)],
        "y": ["ja" if value > 0 else "nein" for value in x],
    }
    path = file_of(tmp_path, table_of(columns), "train.csv", "cp1252")
    options = ["--target", "y", "--drop", "id", "--structure", "nb", "--parameters", "map"]
    assert main(["fit", path, *options, "-o", str(tmp_path / "m.json"), "--quiet"]) == 0
    return tmp_path, columns


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-16"])
def test_new_files_are_read_as_the_training_file(german, encoding, capsys):
    folder, columns = german
    new = {name: columns[name][:1] for name in ("id", "Größe")}  # one row tells nothing by itself
    path = file_of(folder, table_of(new), "new.csv", encoding)
    capsys.readouterr()
    assert main(["predict", str(folder / "m.json"), path, "--proba", "--full-precision"]) == 0
    out, err = capsys.readouterr()
    model = load(folder / "m.json")
    expected = model.predict_proba({"Größe": float(columns["Größe"][0].replace(",", "."))})
    assert float(out.splitlines()[1].split(",")[1]) == expected[0, 0]
    assert "lacks 1 of the model's 2 columns" in err
    assert "ignoring" not in err  # the identifier was left out on purpose


def test_a_fit_to_other_rows_forgets_the_file(german):
    model = load(german[0] / "m.json")
    assert model.csv_format_.delimiter == ";"
    assert model.fit([[1], [2]] * 10, [0, 1] * 10).csv_format_ is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("encoding", "zip"),
        ("encoding", "no such"),
        ("encoding", 3),
        ("delimiter", ";;"),
        ("delimiter", "\n"),
        ("decimal", "x"),
        ("missing_values", "abc"),
        ("missing_values", ["x" * 2000]),
        ("dropped", [1]),
        ("numbers", {"x": {}}),
        ("numbers", {"x": {"decimal": ",", "thousands": "." * 99, "unit": "", "marks": []}}),
        ("skips_ragged", 1),
    ],
)
def test_a_hostile_format_is_refused(german, field, value):
    path = german[0] / "m.json"
    document = json.loads(path.read_text())
    document["model"]["csv_format"][field] = value
    document["sha256"] = checksum(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="csv_format"):
        load(path)


def test_an_ensemble_keeps_it_too(german):
    folder, _ = german
    options = ["--target", "y", "--drop", "id", "--ensemble", "2", "--quiet"]
    path = str(folder / "e.json")
    assert main(["fit", str(folder / "train.csv"), *options, "-o", path]) == 0
    assert load(path).csv_format_.delimiter == ";"


# ---- columns by name


def test_columns_by_name_are_those_of_a_mapping(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc")).assign(d=["u", "v"] * 40)
    X.loc[::5, "a"] = np.nan
    y = np.where(X["b"] > 0, "yes", "no")
    some = X[["d", "b"]].assign(other=1)
    rows = X[["d", "b"]].to_dict("records")
    for model in (BayesNetClassifier("tan", "map", missing="value"), BayesNetEnsemble(2)):
        clf = model.fit(X, y)
        with pytest.raises(ValueError, match="by-name"):
            clf.predict(some)
        by_name = clf.set_params(columns="by-name")
        assert np.array_equal(by_name.predict_proba(some), clf.predict_proba(rows))
        some.to_csv(tmp_path / "some.csv", index=False)
        in_file = by_name.predict_proba(tmp_path / "some.csv")
        assert np.array_equal(in_file, by_name.predict_proba(some))
        with pytest.raises(ValueError, match="none of the columns"):
            by_name.predict(X[["a"]].rename(columns={"a": "z"}))
        with pytest.raises(ValueError, match="columns='loose' is not known"):
            clf.set_params(columns="loose").fit(X, y)


def test_rows_without_a_class_are_left_out_of_batches_with_a_note(tmp_path, capsys):
    path = file_of(tmp_path, "x,y\n" + "1,a\n2,b\n,\n" * 30)
    command = ["fit", path, "--target", "y", "--structure", "nb", "--parameters", "map", "--quiet"]
    models = []
    for more in ([], ["--memory", "64MB"]):
        assert main([*command, *more, "-o", str(tmp_path / "m.json")]) == 0
        assert capsys.readouterr().err.count("left out") == 1
        models.append((tmp_path / "m.json").read_bytes())
    assert models[0] == models[1]


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M:%S"])
def test_dates_in_files_are_read_as_dates(form, tmp_path, capsys):
    start = datetime.datetime(2021, 1, 4, 7)
    days = [start + datetime.timedelta(days=k, hours=k % 5) for k in range(300)]
    y = ["yes" if day.weekday() >= 5 or k % 11 == 0 else "no" for k, day in enumerate(days)]
    texts = ["k.A." if k % 50 == 3 else day.strftime(form) for k, day in enumerate(days)]
    path = file_of(tmp_path, table_of({"day": texts, "y": y}))
    found = check(path, "y")
    assert {"date", "missing-value mark"} <= set(found.kinds)
    assert not [each for each in found.findings if each.level in (PROBLEM, SUSPICION)]
    assert found.columns[0].fit == "year, month, weekday, days"
    fast = ["--structure", "nb", "--parameters", "map", "--discretizer", "mdlp"]
    assert main(["fit", path, "--target", "y", *fast, "-o", str(tmp_path / "m.json")]) == 0
    model = load(tmp_path / "m.json")
    assert model.domain_.columns == ["day"]
    assert model.domain_.features[2].labels == ["< 5.5", ">= 5.5"]
    X, labels = found.read()
    in_python = BayesNetClassifier("nb", "map", discretizer="mdlp").fit(X, labels)
    assert in_python.domain_.features == model.domain_.features
    new = file_of(tmp_path, table_of({"day": [texts[6], texts[7], "k.A."]}), "new.csv")
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "m.json"), new, "--full-precision", "--proba"]) == 0
    out = capsys.readouterr().out
    rows = [{"day": days[6]}, {"day": days[7]}, {"day": None}]
    expected = model.predict_proba(rows)[:, 0]
    assert [float(line.split(",")[1]) for line in out.splitlines()[1:]] == expected.tolist()
    odd = file_of(tmp_path, table_of({"day": [texts[6], "soon"]}), "odd.csv")
    assert main(["predict", str(tmp_path / "m.json"), odd]) == 1
    assert "row 2 has 'soon'" in capsys.readouterr().err


def test_dates_that_have_no_order_are_named():
    found = check_file(b"day,y\n1/2/2024,a\n3/4/2024,b\n5/6/2024,a\n", "days.csv", "y")
    assert "cannot be told apart" in str(found)
    assert found.drop == ["day"]


def test_more_texts_than_are_counted_are_free_text(monkeypatch):
    for module in (column_scan, findings):
        monkeypatch.setattr(module, "MAX_KEYS", 100)
    rows = [f"round {k % 120} in the ward,{'ab'[k % 2]}" for k in range(600)]
    found = check_file("\n".join(["note,y", *rows]).encode(), "notes.csv", "y")
    assert "free text" in found.kinds
    assert found.drop == ["note"]


# ---- identifiers and free text


def ward(tmp_path, n_rows=240):
    """A ward's export: an identifier of the row, patients with several rows, and free text."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=n_rows).round(2)
    sick = x + 0.5 * rng.normal(size=n_rows) > 0
    columns = {
        "case": [f"KH{k:05d}" for k in range(n_rows)],
        "Patient-ID": [str(10_000 + k % 80) for k in range(n_rows)],
        "number of visits": [str(k % 60) for k in range(n_rows)],
        "CRP": [str(value).replace(".", ",") for value in x],
        "note": [f"seen on ward {k % 7}, file {k * 13}, no change" for k in range(n_rows)],
        "y": ["" if k % 50 == 7 else "yes" if sick[k] else "no" for k in range(n_rows)],
    }
    return file_of(tmp_path, table_of(columns), "ward.csv", "cp1252")


def test_a_patient_with_several_rows_is_named_and_left_out(tmp_path):
    found = check(ward(tmp_path), "y")
    kinds = {each.kind: each.column for each in found.findings}
    assert kinds["repeated identifier"] == "Patient-ID"
    assert found.drop == ["case", "Patient-ID", "note"]
    assert "--groups Patient-ID" in found.text


def test_one_command_leads_from_an_export_to_a_report(tmp_path, monkeypatch, capsys):
    ward(tmp_path)
    monkeypatch.chdir(tmp_path)
    fast = ["--structure", "nb", "--parameters", "map"]
    command = ["fit", "ward.csv", "--target", "y", "-o", "m.json", *fast]
    assert main([*command, "--test-size", "0.3", "--report", "r.html"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("better than always predicting")
    assert "left out 'case' (identifier), 'note' (free text): too many different texts" in err
    assert "'Patient-ID' (repeated identifier): `discbayes check` says" in err
    model = load("m.json")
    assert model.domain_.names == ["Patient-ID", "number of visits", "CRP"]
    assert set(model.csv_format_.dropped) == {"case", "note"}
    assert "test rows" in Path("r.html").read_text("utf-8")
    batches = [*command[:5], "b.json", *fast, "--memory", "64MB"]
    assert main(batches) == 0
    assert load("b.json").domain_.names == model.domain_.names
    assert main([*command, "--categorical", "case"]) == 0
    assert "case" in load("m.json").domain_.names


def test_columns_that_give_the_class_away_are_said_to_fit(tmp_path, capsys):
    y = ["a", "b"] * 60
    columns = {"x": [str(k % 13) for k in range(120)], "code": [f"D{v}" for v in y], "y": y}
    path = file_of(tmp_path, table_of(columns))
    fast = ["--structure", "nb", "--parameters", "map"]
    assert main(["fit", path, "--target", "y", "-o", str(tmp_path / "m.json"), *fast]) == 0
    assert "'code' (gives the class away)" in capsys.readouterr().err


# ---- lines, spellings, headers


def test_ragged_rows_are_named_with_their_lines_in_every_file(tmp_path):
    rows = ["a,b,y", '1,"two\nlines",p', "1,2,q", "", "7", *["1,2,p"] * 40, "1,2,3,4"]
    text = "\n".join(rows) + "\n"
    expected = "line 6 has 1 cell ('7'), line 47 has 4 cells ('1,2,3,4')"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        found = check(file_of(tmp_path, text, encoding=encoding), "y")
        ragged = next(each for each in found.findings if each.kind == "ragged rows")
        assert expected in ragged.text
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("1.csv", "2.csv"):
        file_of(folder, text, name)
    ragged = next(each for each in check(folder, "y").findings if each.kind == "ragged rows")
    assert ragged.text.startswith("4 rows")
    assert ragged.text.count("line 6 has 1 cell ") == 2


def test_spellings_that_differ_by_case_or_spaces_are_named(tmp_path, capsys):
    columns = {
        "smoker": ["Ja", "nein", "ja ", "Nein"] * 20,
        "x": [str(k % 23) for k in range(80)],
        "y": ["yes", "no", "Yes", "no"] * 20,
    }
    path = file_of(tmp_path, table_of(columns))
    texts = {each.kind: each.text for each in check(path, "y").findings}
    assert "'Yes', 'yes' differ by case or spaces only" in texts["similar classes"]
    assert "'Ja', 'ja '; 'Nein', 'nein' differ" in texts["similar values"]
    fast = ["--structure", "nb", "--parameters", "map"]
    assert main(["fit", path, "--target", "y", "-o", str(tmp_path / "m.json"), *fast]) == 0
    assert "'smoker' (similar values), 'y' (similar classes)" in capsys.readouterr().err


def test_a_header_below_a_title_is_found(tmp_path, capsys):
    title = "Ward 3;;\n;;\n" + table_of({"a": ["1", "2"] * 9, "b": ["3"] * 18, "y": ["p", "q"] * 9})
    path = file_of(tmp_path, title, encoding="cp1252")
    with pytest.raises(ValueError, match=r"'y'.*line 3 has it: remove the lines before"):
        check(path, "y")
    assert main(["fit", path, "--target", "y", "-o", str(tmp_path / "m.json"), "--quiet"]) == 1
    assert "line 3 has 'y': remove the lines before it" in capsys.readouterr().err


def test_columns_of_one_name_are_named_with_their_places(tmp_path):
    path = file_of(tmp_path, "x,a,x,y\n" + "1,2,3,p\n4,5,6,q\n" * 20)
    repeated = [each.text for each in check(path, "y").findings if each.kind == "repeated names"]
    assert repeated == ["columns 1, 3 have the same name, 'x'"]


def test_mixed_numbers_are_said_to_fit(tmp_path, capsys):
    numbers = ["1,5", "2.5", "3,25", "4.75"] * 10
    path = file_of(tmp_path, table_of({"x": numbers, "y": ["a", "b"] * 20}))
    fast = ["--structure", "nb", "--parameters", "map"]
    assert main(["fit", path, "--target", "y", "-o", str(tmp_path / "m.json"), *fast]) == 0
    assert "'x' (mixed numbers)" in capsys.readouterr().err


def test_identifiers_are_known_in_any_order_and_beside_repeated_rows(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{1000 + k},P{k * 7919 % 104729:06d},{k % 9},{'ab'[k % 4 == 0]}" for k in range(200)]
    rows = [rows[k] for k in rng.permutation(200)] + rows[:5]
    found = check(file_of(tmp_path, "\n".join(["case,name,x,y", *rows]) + "\n"), "y")
    named = [each.column for each in found.findings if each.kind == "identifier"]
    assert named == found.drop == ["case", "name"]
    assert "duplicate rows" in found.kinds


@pytest.mark.filterwarnings("ignore:more cells than rows")
def test_a_saved_model_is_scored_with_all_of_its_columns(tmp_path, capsys):
    names = [f"n{k}" for k in range(90)]
    y = ["a" if k % 3 else "b" for k in range(90)]
    model = BayesNetClassifier("nb", "map", categorical="all")
    model.fit(pd.DataFrame({"name": names}), pd.Series(y, name="y")).save(tmp_path / "m.json")
    path = file_of(tmp_path, table_of({"name": names, "y": y}))
    command = ["evaluate", path, "--target", "y", "--model", str(tmp_path / "m.json")]
    assert main([*command, "--delimiter", ";"]) == 0
    assert "left out" not in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_share_that_is_read_is_known(tmp_path, monkeypatch, encoding):
    rows = [f"{k},{k * 7 % 50}.5,w{k % 60},{'ab'[k % 3 == 0]}" for k in range(3000)]
    path = file_of(tmp_path, "\n".join(["id,x,w,y", *rows]) + "\n", encoding=encoding)
    shares = []
    monkeypatch.setattr(file_sources, "_TEXT_BLOCKS", (1000,))
    monkeypatch.setattr(
        table_scan.Throughput, "add", lambda self, n_rows, share=None: shares.append(share)
    )
    check(path, "y")
    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert shares[-1] == pytest.approx(1, abs=0.05)


def test_fit_says_that_a_class_may_be_a_missing_value(tmp_path, capsys):
    columns = {"x": [str(k % 23) for k in range(80)], "y": [*["yes", "no"] * 39, "k.A.", "yes"]}
    path = file_of(tmp_path, table_of(columns))
    fast = ["--structure", "nb", "--parameters", "map"]
    assert main(["fit", path, "--target", "y", "-o", str(tmp_path / "m.json"), *fast]) == 0
    assert "'y' (class 'k.A.' may be a missing-value mark)" in capsys.readouterr().err

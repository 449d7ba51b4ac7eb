"""What predict writes beside the class: kept columns, row numbers, probabilities, reasons."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from discbayes import BayesNetClassifier, load_dataset
from discbayes.cli import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    iris = load_dataset("iris")
    clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
    clf.save(folder / "m.json")
    table = iris.X.iloc[::10].copy()
    table.insert(0, "Patient-ID", [f"007-{i}" for i in range(len(table))])
    table["class"] = iris.y[::10]
    table.to_csv(folder / "new.csv", index=False)
    return folder, clf, table


def predicted(folder, *options):
    path = folder / "answers.csv"
    arguments = ["predict", folder / "m.json", folder / "new.csv", "--quiet", "-o", path, *options]
    assert main(list(map(str, arguments))) == 0
    return pyarrow.csv.read_csv(path).to_pydict()


@pytest.mark.parametrize("memory", [(), ("--memory", "1GB")])
def test_kept_columns_come_with_rows_classes_and_probabilities(files, memory):
    folder, clf, table = files
    found = predicted(folder, "--keep", "Patient-ID,class", "--why", "2", *memory)
    assert list(found) == [
        *("row", "Patient-ID", "class in DATA", "class", "probability", "why 1", "why 2"),
    ]
    assert found["row"] == list(range(1, 16))
    assert found["Patient-ID"] == table["Patient-ID"].tolist()
    assert found["class in DATA"] == table["class"].tolist()
    X = table[clf.feature_names_in_]
    assert found["class"] == clf.predict(X).tolist()
    shares = clf.predict_proba(X)
    np.testing.assert_allclose(found["probability"], shares.max(axis=1).round(4))
    explanation = clf.explain(X)
    assert found["why 1"] == [explanation.reasons(row)[0] for row in range(15)]


def test_all_columns_are_kept_by_one_word(files):
    folder, _, table = files
    found = predicted(folder, "--keep", "all")
    assert list(found)[:2] == ["row", "Patient-ID"]
    assert len(found) == 2 + table.shape[1] + 1


def test_probabilities_are_rounded_in_csv_only(files):
    folder, clf, table = files
    shares = clf.predict_proba(table[clf.feature_names_in_])
    columns = [f"P({label})" for label in clf.classes_]
    rounded = predicted(folder, "--proba")
    np.testing.assert_array_equal(np.transpose([rounded[c] for c in columns]), shares.round(4))
    exact = predicted(folder, "--proba", "--full-precision")
    np.testing.assert_allclose(np.transpose([exact[c] for c in columns]), shares, rtol=1e-12)
    path = folder / "answers.parquet"
    given = ["predict", folder / "m.json", folder / "new.csv", "--proba", "--quiet", "-o", path]
    assert main(list(map(str, given))) == 0
    stored = pyarrow.parquet.read_table(path).to_pydict()
    np.testing.assert_array_equal(np.transpose([stored[c] for c in columns]), shares)


def test_a_column_that_is_not_there(files, capsys):
    folder, _, _ = files
    given = ["predict", folder / "m.json", folder / "new.csv", "--keep", "Patient-Id", "--quiet"]
    assert main(list(map(str, given))) == 1
    assert "'Patient-ID'" in capsys.readouterr().err


@pytest.mark.parametrize("memory", [(), ("--memory", "1GB")])
def test_an_interval_is_beside_its_probability(files, memory):
    folder, clf, table = files
    found = predicted(folder, "--interval", "80", "--proba", *memory)
    assert list(found)[:5] == ["row", "class", "probability", "low", "high"]
    X = table[clf.feature_names_in_]
    best = clf.predict_proba(X).argmax(axis=1)
    for name, end in zip(("low", "high"), clf.dirichlet().interval(X, 0.8), strict=True):
        np.testing.assert_allclose(found[name], end[np.arange(15), best].round(4))


def test_an_interval_needs_counts(files, capsys):
    folder = files[0]
    iris = load_dataset("iris")
    BayesNetClassifier("nb", "hybrid").fit(iris.X, iris.y).save(folder / "hybrid.json")
    paths = str(folder / "hybrid.json"), str(folder / "new.csv")
    assert main(["predict", *paths, "--interval", "90"]) != 0
    assert "fit with --structure tan (or nb, kdb) --parameters map" in capsys.readouterr().err
    for percent in ("0", "100", "most"):
        with pytest.raises(SystemExit):
            main(["predict", *paths, "--interval", percent])
        assert "is not a number above 0 and below 100" in capsys.readouterr().err

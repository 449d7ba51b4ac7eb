"""Messy tables: every planted defect is named, and the ready command line learns what it should."""

import shlex

import numpy as np
import pytest

from discbayes import BayesNetClassifier, check, load
from discbayes.cli import main
from discbayes.evaluation.metrics import log_loss
from messy_tables import TARGET, german_money, made, messy_tables

TABLES = list(messy_tables())
FAST = ["--structure", "nb", "--parameters", "map", "--discretizer", "mdlp", "--quiet"]


def loss(model, table):
    """The log loss on the clean table, of the classes that it has."""
    shares = model.set_params(columns="by-name").predict_proba(table.clean)
    codes = np.array([model.classes_.tolist().index(label) for label in table.y])
    return log_loss(shares, codes)


def fitted_by_command(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert main([*shlex.split(command)[1:], *FAST]) == 0
    return load(folder / "model.json")


@pytest.mark.parametrize(("base", "defects"), TABLES, ids=lambda part: str(part))
def test_a_messy_table_is_read_as_the_clean_one(base, defects, tmp_path, monkeypatch):
    table = made(base, defects)
    path = tmp_path / "table.csv"
    path.write_bytes(table.content())
    monkeypatch.chdir(tmp_path)
    found = check("table.csv", TARGET)
    assert table.planted <= set(found.kinds)
    model = fitted_by_command(found.command, tmp_path, monkeypatch)
    clean = BayesNetClassifier("nb", "map", discretizer="mdlp").fit(table.clean, table.y)
    tolerance = 1e-9 if table.lossless else 0.06
    assert abs(loss(model, table) - loss(clean, table)) <= tolerance


def test_there_are_many_messy_tables():
    assert len(TABLES) >= 40


def test_python_reads_what_the_command_line_reads(tmp_path, monkeypatch):
    table = made("wine", ("decimal comma", "k.A.", "german dates", "identifier", "unlabeled"))
    german_money(table)
    path = tmp_path / "export.csv"
    path.write_bytes(table.content())
    found = check(path, TARGET)
    assert table.planted <= set(found.kinds)
    X, y = found.read()
    assert list(X.columns) == ["admitted", *table.clean.columns]
    assert len(X) == len(y) == len(table.y) - 3
    money = table.clean.iloc[:, 1].drop(index=[4, 60, 100]).to_numpy()
    assert np.allclose(X.iloc[:, 2], money)
    monkeypatch.chdir(tmp_path)
    command = check("export.csv", TARGET).command
    model = fitted_by_command(command, tmp_path, monkeypatch)
    in_python = BayesNetClassifier("nb", "map", discretizer="mdlp").fit(X, y)
    assert np.array_equal(model.predict_proba(X), in_python.predict_proba(X))

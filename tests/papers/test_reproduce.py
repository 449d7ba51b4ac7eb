"""``discbayes reproduce`` in a checkout, in the folder of the source, and where neither is."""

from __future__ import annotations

import sys

import pytest

from discbayes.cli import reproduce
from discbayes_papers import registry


@pytest.fixture
def search_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_the_experiments_of_a_checkout_are_found(run, search_path):
    code, out, _ = run("reproduce", "--list")
    assert code == 0
    assert "p10-table7" in out
    assert "p10-table3" in out


def test_those_of_the_current_folder_are_found(search_path, monkeypatch, tmp_path):
    package = tmp_path / "papers" / "other_papers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("EXPERIMENTS = ('one',)\n", encoding="utf-8")
    monkeypatch.setattr(reproduce, "PACKAGE", "other_papers")
    monkeypatch.chdir(tmp_path)
    assert reproduce.load_papers().EXPERIMENTS == ("one",)


def test_without_them_the_message_names_the_source(run, search_path, monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "PACKAGE", "no_papers")
    monkeypatch.chdir(tmp_path)
    code, _, error = run("reproduce", "p10-table7")
    assert code == 1
    assert "not in the installed package: get the source of discbayes" in error


def test_every_page_of_a_paper_has_a_verdict():
    papers = {name for name in registry.EXPERIMENTS if registry.find(name).paper != "ours"}
    assert set(registry.STATUS) == papers
    verdicts = {"met", "met with a reading", "not met"}
    assert {line["verdict"] for line in registry.STATUS.values()} <= verdicts
    assert all(line["why"] for line in registry.STATUS.values())

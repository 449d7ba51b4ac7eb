"""The tutorials in ``docs/developer/extending.md``: one source file and one registration each."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import discbayes
from discbayes import BayesNetClassifier, SpanningTree, load_dataset
from discbayes.cli import main
from discbayes.io import setting_values
from discbayes.parameters import PARAMETERS
from discbayes.scores import EDGE_SCORES
from discbayes.search import STRUCTURES

PAGE = Path(__file__).parents[2] / "docs" / "developer" / "extending.md"


@pytest.fixture
def fresh_names():
    """The names that model files know are listed anew, before the test and after it."""
    yield setting_values.learners.cache_clear
    setting_values.learners.cache_clear()


def code_with(word: str) -> str:
    """The first block of Python of the tutorial that has some words in it."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    return next(block for block in blocks if word in block)


def defined(*words: str) -> dict[str, object]:
    """What blocks of the tutorial define."""
    found = {"np": np}
    for word in words:
        exec(code_with(word), found)
    return found


@pytest.mark.parametrize(
    ("word", "name", "registry"),
    [
        ("class BayesianDirichlet", "BayesianDirichlet", EDGE_SCORES),
        ("class JelinekMercer", "JelinekMercer", PARAMETERS),
        ("class RandomTree", "RandomTree", STRUCTURES),
    ],
)
def test_a_class_that_is_registered_comes_back_from_a_file(
    tmp_path, registries, fresh_names, word, name, registry
):
    """One registration is all: the classifier, files and the command line know the name."""
    made = defined(word)[name]
    registry["new"] = made
    fresh_names()
    if registry is EDGE_SCORES:
        setting, option = {"structure": SpanningTree(score=made())}, "--score"
    elif registry is PARAMETERS:
        setting, option = {"parameters": made()}, "--parameters"
    else:
        setting, option = {"structure": made()}, "--structure"
    wine = load_dataset("wine")
    clf = BayesNetClassifier(**{"parameters": "map", **setting}, calibrate=None, random_state=0)
    clf.fit(wine.X, wine.y).save(tmp_path / "model.json")
    again = discbayes.load(tmp_path / "model.json")
    assert repr(again) == repr(clf)
    assert again.fit(wine.X, wine.y).structure_ == clf.structure_
    arguments = ["fit", "wine", option, "new", "--quiet"]
    assert main([*arguments, "-o", str(tmp_path / "command.json")]) == 0


def test_a_format_and_an_option_that_are_registered_work_on_the_command_line(
    tmp_path, registries, capsys
):
    pytest.importorskip("pyarrow")
    defined("FILE_ENDINGS[", "SEARCH_OPTIONS[")
    wine = load_dataset("wine")
    path = tmp_path / "wine.jsonl"
    wine.X.assign(kind=wine.y).to_json(path, orient="records", lines=True)
    read = BayesNetClassifier("nb", "map").fit(path, "kind")
    table = BayesNetClassifier("nb", "map").fit(wine.X, wine.y)
    assert read.predict_proba(wine.X).tobytes() == table.predict_proba(wine.X).tobytes()
    fit = ["fit", str(path), "--target", "kind", "--quiet", "-o", str(tmp_path / "model.json")]
    assert main([*fit, "--max-candidates", "2", "--parameters", "map"]) == 0
    with pytest.raises(SystemExit):
        main([*fit, "--structure", "nb", "--max-candidates", "2"])
    assert "--max-candidates goes with --structure" in capsys.readouterr().err


def test_every_learner_that_has_a_short_name_is_known_to_model_files():
    """Whoever forgets ``__all__`` learns it here."""
    made = [make() for make in (*STRUCTURES.values(), *PARAMETERS.values(), *EDGE_SCORES.values())]
    assert not [
        type(one).__name__
        for one in made
        if setting_values.learners().get(type(one).__name__) is not type(one)
    ]

"""Step 5 of the tutorial in ``docs/developer/extending.md``, followed to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discbayes
from discbayes import BayesNetClassifier, SpanningTree, load_dataset, scores
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


@pytest.mark.parametrize("score", ["bdeu", "class"])
def test_a_score_that_follows_the_tutorial_comes_back_from_a_file(
    tmp_path, monkeypatch, fresh_names, score
):
    text = PAGE.read_text(encoding="utf-8")
    into_the_library = text.partition("### 5. Into the library")[2].partition("\n## ")[0]
    code = next(
        block
        for block in re.findall(r"```python\n(.*?)```", text, re.S)
        if "class BayesianDirichlet" in block
    )
    own = {}
    exec(code, own)
    (name,) = re.findall(r'"(\w+)": BayesianDirichlet', into_the_library)
    (listed,) = re.findall(r'__all__ = \[\s+\.\.\.\s+"(\w+)"', into_the_library)
    monkeypatch.setitem(EDGE_SCORES, name, own[listed])
    monkeypatch.setattr(scores, listed, own[listed], raising=False)
    monkeypatch.setattr(scores, "__all__", [*scores.__all__, listed])
    fresh_names()
    wine = load_dataset("wine")
    clf = BayesNetClassifier(
        SpanningTree(score=name if score == "bdeu" else own[listed](strength=2.0)), "map"
    )
    clf.fit(wine.X, wine.y).save(tmp_path / "model.json")
    again = discbayes.load(tmp_path / "model.json")
    assert repr(again.structure) == repr(clf.structure)
    assert again.fit(wine.X, wine.y).structure_ == clf.structure_


def test_every_learner_that_has_a_short_name_is_known_to_model_files():
    """Whoever forgets ``__all__`` learns it here."""
    made = [make() for make in (*STRUCTURES.values(), *PARAMETERS.values(), *EDGE_SCORES.values())]
    assert not [
        type(one).__name__
        for one in made
        if setting_values.learners().get(type(one).__name__) is not type(one)
    ]

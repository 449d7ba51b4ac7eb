"""The head of the page has words for every short name."""

from __future__ import annotations

import pytest

from discbayes import BayesNetClassifier, load_dataset
from discbayes.classifier.learner_words import PARAMETER_WORDS, STRUCTURE_WORDS
from discbayes.parameters import PARAMETERS
from discbayes.report import summary
from discbayes.search import STRUCTURES


def test_every_short_name_has_words():
    assert set(STRUCTURE_WORDS) == set(STRUCTURES)
    assert set(PARAMETER_WORDS) == set(PARAMETERS)
    for words in (STRUCTURE_WORDS, PARAMETER_WORDS):
        assert len(set(words.values())) == len(words)


@pytest.mark.parametrize("name", ["map", "ccbn-w"])
def test_the_head_says_them(name):
    iris = load_dataset("iris")
    head = summary.summary_html(BayesNetClassifier("nb", name, calibrate=None).fit(iris.X, iris.y))
    assert PARAMETER_WORDS[name] in head

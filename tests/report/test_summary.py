"""The head of the page has words for every short name."""

from __future__ import annotations

import pytest

from discbayes import BayesNetClassifier, load_dataset
from discbayes.parameters import PARAMETERS
from discbayes.report import summary
from discbayes.search import STRUCTURES


def test_every_short_name_has_words():
    assert set(summary._STRUCTURES) == set(STRUCTURES)
    assert set(summary._PARAMETERS) == set(PARAMETERS)
    for words in (summary._STRUCTURES, summary._PARAMETERS):
        assert len(set(words.values())) == len(words)


@pytest.mark.parametrize("name", ["map", "ccbn-w"])
def test_the_head_says_them(name):
    iris = load_dataset("iris")
    head = summary.summary_html(BayesNetClassifier("nb", name, calibrate=None).fit(iris.X, iris.y))
    assert summary._PARAMETERS[name] in head

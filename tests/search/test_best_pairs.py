"""Trees of the best edges of each column, where all pairs do not fit in memory."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from coded import encoded
from discbayes import KDB, BayesNetClassifier, SpanningTree
from discbayes import _memory as memory
from discbayes.counts import count, pair_information
from discbayes.engine import Context
from discbayes.kernels.keep_best import keep_best
from discbayes.report.summary import _left_out
from discbayes.scores import DescriptionLength


@pytest.fixture
def little_memory(monkeypatch):
    """As if the weights of 30 columns did not fit in memory, and all else did."""
    monkeypatch.setattr(
        "discbayes.search.tree.pairs_fit_in_memory", lambda n_features: n_features < 30
    )


def rows(n_features=30, seed=2):
    return encoded(np.random.default_rng(seed), [2, 3, 4] * (n_features // 3), 2, 200, linked=True)


def learned(search, data):
    context = Context()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        structure = search.learn(data, count(data), context)
    return structure, context.history, [str(warning.message) for warning in caught]


def total(structure, weights):
    return sum(weights[p, i] for i, group in enumerate(structure.parents) for p in group)


@pytest.mark.parametrize("score", ["cmi", "ll", "fcll"])
@pytest.mark.parametrize("settings", [{}, {"root": 7}, {"min_weight": 0.02}])
def test_the_tree_is_the_same_if_all_edges_are_kept(score, settings, little_memory, monkeypatch):
    data = rows()
    expected, steps, _ = learned(SpanningTree(score=score, **settings), rows())
    monkeypatch.setattr("discbayes.search.tree.pairs_fit_in_memory", lambda n_features: True)
    whole, whole_steps, _ = learned(SpanningTree(score=score, **settings), data)
    assert expected.parents == whole.parents
    assert [(s["edge"], s["score"]) for s in steps] == [
        (s["edge"], s["score"]) for s in whole_steps
    ]


@pytest.mark.parametrize("n_kept", [1, 2, 5])
def test_the_stated_bound_holds(n_kept, little_memory, monkeypatch):
    monkeypatch.setattr("discbayes.search.best_pairs.MAX_KEPT", n_kept)
    data = rows()
    weights = pair_information(data, count(data)).conditional
    found, steps, messages = learned(SpanningTree(), data)
    monkeypatch.setattr("discbayes.search.tree.pairs_fit_in_memory", lambda n_features: True)
    best, _, none = learned(SpanningTree(), data)
    assert not none
    (message,) = messages
    floor, loss = map(
        float, re.search(r"above ([\d.e-]+) are .* weigh ([\d.e-]+) more", message).groups()
    )
    lost = total(best, weights) - total(found, weights)
    assert -1e-12 <= lost <= loss + 1e-3
    edges = {frozenset((p, i)) for i, group in enumerate(best.parents) for p in group}
    kept = {frozenset((p, i)) for i, group in enumerate(found.parents) for p in group}
    assert {pair for pair in edges if weights[tuple(pair)] > floor * 1.001} <= kept
    assert steps[0]["reason"] == message
    assert 0 < steps[0]["left_out"] < 30 * 29 // 2


def test_the_report_counts_pairs_that_were_left_out(little_memory, monkeypatch):
    monkeypatch.setattr("discbayes.search.best_pairs.MAX_KEPT", 2)
    data = rows()
    clf = BayesNetClassifier("tan", "map", categorical="all")
    with pytest.warns(UserWarning, match="do not fit in memory"):
        clf.fit(data.codes.T, data.y)
    assert re.fullmatch(r"; \d+ edges left out \(see History\)", _left_out(clf))


@pytest.mark.parametrize(
    "search",
    [KDB(k=2), SpanningTree(forbidden=[(0, 1)]), SpanningTree(score=DescriptionLength())],
)
def test_other_searches_need_all_weights(search, monkeypatch):
    monkeypatch.setattr(memory, "_SMALL", 1e3)
    monkeypatch.setattr(memory, "memory_limit", lambda: 1e4)
    with pytest.raises(memory.TooLargeError, match="all pairs of 30 columns"):
        learned(search, rows())


def test_the_best_weights_do_not_depend_on_the_order_of_calls():
    rng = np.random.default_rng(0)
    weights = np.round(rng.random((9, 9)), 1)  # with ties
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    for order in (range(8), reversed(range(8))):
        best, other = np.full((9, 3), -np.inf), np.full((9, 3), 9)
        for first in order:
            seconds = np.arange(first + 1, 9)
            keep_best(first, seconds, weights[first, seconds], best, other)
        for i in range(9):
            ranked = sorted((j for j in range(9) if j != i), key=lambda j: (-weights[i, j], j))
            assert other[i].tolist() == ranked[:3]
            assert best[i].tolist() == [weights[i, j] for j in ranked[:3]]

"""Searches on blocks of rows that stay where they are: the gains, the edges and the ties of
searches in memory.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sample_scores import PARENTS, SCORES, TASKS, gains_from_scratch, sample

from block_rows import far, make_rows
from discbayes import load_dataset
from discbayes.counts import contingency as counting
from discbayes.counts import count
from discbayes.data import FrameEncoder
from discbayes.data.folds import BYTES_OF_A_ROW, Folds, stratified_folds
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.parameters import MaximumAPosteriori
from discbayes.scores.sample import SampleScore
from discbayes.scoring.block_scorer import BlockScorer
from discbayes.scoring.candidates import Candidates, ParentMove, SearchCost
from discbayes.search import GreedyEdges, OrderBased, SuperParent, tuning
from slow_search import SlowScore


def found_by(search, data, n_jobs=2):
    context = Context(n_jobs=n_jobs)
    return search.learn(data, count(data), context), context.history


def assert_same_search(search, data, blocks):
    expected, trace = found_by(search, data)
    found, steps = found_by(search, blocks)
    assert found == expected
    assert [step["edge"] for step in steps] == [step["edge"] for step in trace]
    assert [step["score"] for step in steps] == pytest.approx(
        [step["score"] for step in trace], rel=1e-9
    )
    return found, steps


# ---- what candidates add


def network_of(data, name, evaluation, size, parameters="ml"):
    score = SampleScore(SCORES[name], evaluation, parameters).checked()
    blocks = far(data, size)
    return BlockScorer(
        blocks, count(blocks), score, Structure(tuple(PARENTS)), np.random.default_rng(0)
    )


def gains_of(network, tasks):
    extensions = [extension for task in tasks for extension in task.extensions()]
    return network._gains(extensions, lambda: None)


KINDS = {"rows": {}, "weights": {"weighted": True}, "gaps": {"gaps": 0.06}}


@pytest.mark.parametrize("cells", [counting.CELLS_OF_A_PASS, 100])
@pytest.mark.parametrize("evaluation", ["resubstitution", 3, "loo"])
@pytest.mark.parametrize("name, kind", list(product(SCORES, KINDS)))
def test_gains_are_those_of_networks_from_scratch(name, kind, evaluation, cells, monkeypatch):
    monkeypatch.setattr(counting, "CELLS_OF_A_PASS", cells)
    data = sample(5, n_rows=24 if evaluation == "loo" else 100, **KINDS[kind])
    network = network_of(data, name, evaluation, size=20)
    kept = SlowScore(data).data
    expected = [gains_from_scratch(kept, name, evaluation, task) for task in TASKS]
    np.testing.assert_allclose(gains_of(network, TASKS), np.concatenate(expected), atol=1e-7)
    assert network.total == pytest.approx(
        SlowScore(data, SCORES[name], evaluation)(PARENTS), rel=1e-9
    )


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("parameters", ["map", MaximumAPosteriori("m", 2.0)], ids=str)
def test_gains_after_changes_and_with_other_smoothing(name, parameters):
    data = sample(6, n_rows=120)
    network = network_of(data, name, 3, 50, parameters)
    network.set_parents(3, (4, 1))
    network.set_parents(2, ())
    groups = [(), (0,), (), (1, 4), ()]
    slow = SlowScore(data, SCORES[name], 3, learner=network.score.parameters)
    found = gains_of(network, [Candidates(2, np.array([0, 1]))])
    expected = [slow([*groups[:2], (p,), *groups[3:]]) - slow(groups) for p in (0, 1)]
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert network.total == pytest.approx(slow(groups))
    assert network.structure == Structure(tuple(groups))
    assert network.parents(3) == (4, 1)


@pytest.mark.parametrize("evaluation", ["resubstitution", 3])
@pytest.mark.parametrize("name, kind", list(product(SCORES, KINDS)))
def test_moves_change_several_families(name, kind, evaluation, monkeypatch):
    monkeypatch.setattr(counting, "CELLS_OF_A_PASS", 60)
    data = sample(7, n_rows=150, **KINDS[kind])
    slow = SlowScore(data, SCORES[name], evaluation)
    network = network_of(data, name, evaluation, size=40)
    moves = [
        ParentMove(0, (4,)),
        ParentMove(4, (0, 2)),
        ParentMove(4, (0, 2, 3)),
        ParentMove(0, (3, 4)),
        ParentMove(1, (4,)),
    ]
    worth = [
        slow([(*g, m.parent) if i in m.children else g for i, g in enumerate(PARENTS)])
        for m in moves
    ]
    effort = SearchCost()
    best, _ = network.best_move(moves, -np.inf, effort)
    assert best == moves[int(np.argmax(np.array(worth) > max(worth) - slow.tolerance))]
    assert effort.evaluations == len(moves)
    for child in best.children:
        network.set_parents(child, (best.parent, *network.parents(child)))
    assert network.total == pytest.approx(max(worth), rel=1e-9)
    again = network_of(data, name, evaluation, size=40)
    least = max(worth) - slow(PARENTS) + slow.tolerance
    assert again.best_move(moves, least, effort)[0] is None


def test_tables_beyond_the_cache_are_counted_again(monkeypatch):
    data = sample(8, n_rows=100)
    expected = gains_of(network_of(data, "cl", "resubstitution", 30), TASKS)
    monkeypatch.setattr("discbayes.scoring.block_scorer.MAX_CACHED", 30)
    network = network_of(data, "cl", "resubstitution", 30)
    for _ in range(2):
        np.testing.assert_array_equal(gains_of(network, TASKS), expected)
    assert len(network._known) < 8
    with_memory = BlockScorer(
        RowBlocks(RowsInMemory(data), memory=160),
        count(data),
        SampleScore("cl").checked(),
        Structure(tuple(PARENTS)),
        np.random.default_rng(0),
    )
    np.testing.assert_allclose(gains_of(with_memory, TASKS), expected, atol=1e-9)
    assert len(with_memory._known) < 6


# ---- searches

SEARCHES = {
    "super parent": SuperParent("cr"),
    "super parents": SuperParent("cl", k=2, parameters="map"),
    "super parent, margin": SuperParent(SCORES["mm"], k=2),
    "greedy, gaps": GreedyEdges("cr", k=2),
    "greedy, loo": GreedyEdges("cl", "loo"),
    "greedy, folds": GreedyEdges(SCORES["mm"], 3, random_state=4, fill=True),
    "super parent, folds": SuperParent("cl", 3, random_state=4, k=2),
    "super parent, loo": SuperParent("cr", "loo"),
    "order, folds": OrderBased("omisp", "cr", 4, k=2, random_state=1),
    "greedy, λ": GreedyEdges("mm", random_state=2),
    "super parent, λ and folds": SuperParent("mm", 3, random_state=2),
}


def related(n_rows, kind):
    """Rows in which edges help also where rows are held out."""
    data = make_rows(n_rows, 5, 2, seed=4, gaps=0.05 if kind == "gaps" else 0.0)
    weight = np.random.default_rng(0).choice([0.0, 0.25, 1.0, 2.5], n_rows, p=[0.1, 0.2, 0.5, 0.2])
    return replace(data, weight=weight) if kind == "weights" else data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_edges_as_in_memory(name, kind, monkeypatch):
    monkeypatch.setattr(tuning, "SCALES", (0.02, 0.3))
    monkeypatch.setattr(tuning, "N_FOLDS", 2)
    data = related(240 if kind == "gaps" else 400, kind)
    _, steps = assert_same_search(SEARCHES[name], data, far(data, 64))
    assert len(steps) > 1


@pytest.mark.parametrize("name", ["super parents", "greedy, loo", "super parent, folds"])
def test_shards_and_threads_do_not_show(name):
    data = make_rows(2100, 6, 3, seed=2)
    data = (
        replace(data, weight=np.random.default_rng(0).choice([0.5, 1.0, 3.0], 2100))
        if "loo" in name
        else data
    )
    expected, trace = found_by(SEARCHES[name], far(data, 300, 1), n_jobs=1)
    assert expected.n_edges
    for n_shards, n_jobs in ((2, 1), (7, 1), (7, 2)):
        found, steps = found_by(SEARCHES[name], far(data, 300, n_shards), n_jobs)
        assert found == expected
        assert [step["score"] for step in steps] == [step["score"] for step in trace]


def coded(name):
    table = load_dataset(name)
    return FrameEncoder().fit_transform(table.X, np.asarray(table.y))


@pytest.mark.parametrize(
    "name, n_rows, search",
    [
        ("chess", 3196, SuperParent("cr", max_candidates=3)),
        ("letter", 4000, SuperParent("cl", k=2, max_candidates=1)),
        ("satimage", 1500, GreedyEdges("cr", 5, max_candidates=2, random_state=0)),
    ],
)
def test_real_data(data_folder, name, n_rows, search):
    data = coded(name)
    data = data.take(np.arange(data.n_samples) < n_rows)
    found, _ = assert_same_search(search, data, far(data, 1 << 9))
    assert found.n_edges > 3


def test_real_data_with_gaps(data_folder):
    data = coded("soybean-large")
    data = replace(
        data, codes=data.codes[:8], domain=replace(data.domain, features=data.domain.features[:8])
    )
    assert data.n_missing.any()
    for search in (SuperParent("cr"), GreedyEdges("cl", max_candidates=3)):
        assert_same_search(search, data, far(data, 300))


def test_a_round_of_super_parents_takes_a_pass_for_all_and_one_for_their_edges(monkeypatch):
    passes, original = [], RowBlocks.map_reduce

    def counted(self, function, *arguments, **more):
        passes.append(function.__name__)
        return original(self, function, *arguments, **more)

    monkeypatch.setattr(RowBlocks, "map_reduce", counted)
    _, steps = found_by(SuperParent("cr"), far(make_rows(2000, 8), 300))
    assert len(steps) > 2
    assert passes.count("gains_in") <= 2 * len(steps)
    assert passes.count("_count_wanted") <= 1 + len(steps)


# ---- folds


@given(
    st.integers(5, 200), st.integers(1, 40), st.integers(2, 5), st.booleans(), st.integers(0, 99)
)
@settings(deadline=None, max_examples=40)
def test_folds_are_those_of_the_rows_in_memory(n_rows, size, n_folds, weighted, seed):
    data = make_rows(n_rows, 2, 3, seed)
    weight = np.random.default_rng(seed).choice([0.0, 1.0, 2.0], n_rows)
    weight[:5] = 1.0
    kept = weight != 0 if weighted else np.ones(n_rows, bool)
    blocks = far(replace(data, weight=weight) if weighted else data, size)
    folds = Folds.draw(blocks, n_folds, np.random.default_rng(seed))
    expected = stratified_folds(data.classes[kept], n_folds, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.concatenate(folds.by_block)[kept], expected)
    assert [part.size for part in folds.by_block] == [block.n_samples for block in blocks.blocks()]
    assert folds.part(1, 2).by_block == folds.by_block[1:2]


def test_too_few_rows_and_too_little_memory_for_folds():
    data = make_rows(300, 60, 2)
    with pytest.raises(ValueError, match="400 folds cannot be made of 300 rows"):
        found_by(GreedyEdges("cr", 400), far(data, 100))
    short = RowBlocks(RowsInMemory(data, size=100), memory=BYTES_OF_A_ROW * 300 - 1)
    assert short.nbytes > short.memory
    with pytest.raises(ValueError, match="GreedyEdges needs all rows in memory"):
        found_by(GreedyEdges("cr", 5), short)


def test_leaving_out_rows_of_many_weights_is_refused():
    data = make_rows(900, 3, 2, weighted=True)
    for rows in (data, far(data, 200)):
        with pytest.raises(ValueError, match="more than 256 different weights"):
            found_by(GreedyEdges("cr", "loo"), rows)


def test_the_class_must_be_a_parent_everywhere():
    blocks = far(sample(1), 100)
    score = SampleScore("cr").checked()
    loose = Structure(((),) * 5, (True, True, False, True, True))
    with pytest.raises(ValueError, match="the class as a parent of every feature"):
        BlockScorer(blocks, count(blocks), score, loose, np.random.default_rng(0))

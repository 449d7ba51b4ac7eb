"""A real cluster of two processes gives the same models as threads do, also when one of them is
killed.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
from operator import add

import numpy as np
import pytest
from test_blocks import (
    COUNTING,
    FITS,
    GREEDY,
    N_BLOCKS,
    N_ROWS,
    assert_same_model,
    chain_of,
    climb,
    fit,
    learn,
)

import block_rows
from block_rows import far, in_file, make_rows
from discbayes.counts import count
from discbayes.data import Domain, FrameEncoder, TwoResolutionDiscretizer, Variable
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.engine import Context, DaskEngine
from discbayes.parameters import WeightedCCBN
from discbayes.search import SuperParent
from workers import kill_a_worker, wait_for_workers

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")

pytestmark = pytest.mark.filterwarnings("ignore")  # of a cluster that comes and goes
cloudpickle.register_pickle_by_value(block_rows)  # the workers do not have the tests


@pytest.fixture(scope="module")
def rows():
    return make_rows(N_ROWS, gaps=0.001, weighted=True)


@pytest.fixture(scope="module")
def on_disk(rows, tmp_path_factory):
    return in_file(rows, tmp_path_factory.mktemp("codes"), 1 << 16)


@pytest.mark.parametrize("name", COUNTING)
def test_counting_learners_give_the_same_model(name, client, rows, on_disk):
    expected = learn(rows, *COUNTING[name])
    for n_shards in (1, 2, 7) if name == "kdb" else (7,):
        assert_same_model(
            expected, learn(RowBlocks(on_disk, DaskEngine(client, n_shards)), *COUNTING[name])
        )


@pytest.mark.parametrize("name", FITS)
def test_fits_give_the_same_model(name, client, rows, on_disk):
    expected, trace = fit(rows, FITS[name])
    for n_shards, memory in (
        ((1, None), (2, None), (7, 1 << 20)) if name == "ccbn-w" else ((2, None),)
    ):
        found, steps = fit(RowBlocks(on_disk, DaskEngine(client, n_shards), memory), FITS[name])
        assert steps == trace
        assert_same_model(expected, found)


def test_arrays_that_are_sent_can_be_written_to(client, on_disk):
    """Or kernels would be compiled once more for them."""

    def writable(block, n_jobs, array):
        return [array.flags.writeable]

    engine = DaskEngine(client, 2)
    assert (
        engine.map_reduce(writable, engine.load(on_disk), add, (np.zeros(100_000),))
        == [True] * N_BLOCKS
    )


def test_greedy_edges_ask_all_blocks_in_each_step(client, tmp_path):
    data = make_rows(3000, 6, 3, seed=3)
    there = RowBlocks(in_file(data, tmp_path, 500), DaskEngine(client))
    for search in (GREEDY["cr"], GREEDY["mm"]):
        assert climb(there, search)[0] == climb(data, search)[0]


@pytest.mark.parametrize(
    "search", [SuperParent("cr"), SuperParent("cl", 3, k=2, random_state=1)], ids=str
)
def test_super_parents_ask_all_blocks_in_each_round(search, client, tmp_path):
    data = make_rows(2000, 6, 3, seed=3, gaps=0.002, weighted=True)
    expected, trace = climb(far(data, 300), search)
    assert expected.n_edges
    assert climb(data, search)[0] == expected
    for source, n_shards in [(in_file(data, tmp_path, 300), 7), (RowsInMemory(data, size=300), 2)]:
        found, steps = climb(RowBlocks(source, DaskEngine(client, n_shards)), search)
        assert found == expected
        assert [step["score"] for step in steps] == [step["score"] for step in trace]


def test_rows_in_memory_are_sent_in_parts(client, rows):
    blocks = RowBlocks(RowsInMemory(rows), DaskEngine(client))
    assert_same_model(learn(rows, *COUNTING["kdb"]), learn(blocks, *COUNTING["kdb"]))
    weighted, by_class = make_rows(N_ROWS), np.array([0.5, 1.0, 3.0])
    here = learn(
        RowBlocks(RowsInMemory(weighted)).with_class_weights(by_class), *COUNTING["tan-fcll"]
    )
    there = RowBlocks(RowsInMemory(weighted), DaskEngine(client)).with_class_weights(by_class)
    assert_same_model(here, learn(there, *COUNTING["tan-fcll"]))


def test_rows_become_states_on_the_workers(client):
    rows = make_rows(N_ROWS, gaps=0.01)
    cuts = tuple(map(float, range(1, 5)))
    features = tuple(
        Variable(f"x{i}", "numeric", cuts=cuts[: card - 1], coarse_cuts=cuts[: card - 1 : 2])
        for i, card in enumerate(rows.cards)
    )
    rows = replace(rows, domain=Domain(features, rows.domain.target))
    there = RowBlocks(RowsInMemory(rows), DaskEngine(client)).coarse
    assert there.domain == rows.coarse.domain
    assert_same_model(learn(rows.coarse, *COUNTING["kdb"]), learn(there, *COUNTING["kdb"]))


def test_workers_know_groups_of_values(client):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 100, (2, 6000))
    y = rng.random(6000) < np.where((a ^ b) % 2, 0.8, 0.4 - 0.3 * (b % 2))
    X = np.array([[f"v{k}" for k in column] for column in (a, b)]).T
    encoder = FrameEncoder("two-resolution")
    here = encoder.fit_transform(X, y)
    data = FrameEncoder(TwoResolutionDiscretizer(n_groups=None)).fit_transform(X, y)
    encoder.use_domain(data.domain, encoder.classes_)
    there = encoder.group_values(RowBlocks(RowsInMemory(data, size=700), DaskEngine(client)))
    assert there.domain == here.domain
    assert there.domain.states is not None
    assert_same_model(learn(here.coarse, *COUNTING["kdb"]), learn(there.coarse, *COUNTING["kdb"]))


def test_a_block_that_cannot_be_read_is_named(client, tmp_path):
    source = in_file(make_rows(900), tmp_path / "codes", 300)
    (tmp_path / "codes" / "1.npz").unlink()
    with pytest.raises(OSError, match=r"block 1 of .*codes cannot be read: .*1\.npz"):
        count(RowBlocks(source, DaskEngine(client)))


def test_a_worker_that_dies_in_the_middle_of_a_fit_is_made_up_for(client, rows, on_disk):
    learner = WeightedCCBN(max_iter=25, tol=0)
    expected, trace = fit(rows, learner)
    killed = []

    class Killing(Context):
        def record(self, **step):
            super().record(**step)
            if len(self.history) == 5:
                killed.append(kill_a_worker(client))

    context, blocks = Killing(), RowBlocks(on_disk, DaskEngine(client, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = learner.learn(blocks, count(blocks), chain_of(rows), context)
    assert len(killed) == 1
    assert [step["score"] for step in context.history] == trace
    assert len(trace) == 25
    assert_same_model(expected, found)
    wait_for_workers(client, killed[0])


def test_shards_must_be_some(client):
    with pytest.raises(ValueError, match="n_shards=0"):
        DaskEngine(client, 0)


def test_importing_discbayes_imports_no_cluster():
    names = "'dask', 'distributed', 'pyarrow'"
    code = (
        f"import sys; sys.modules['pandas'] = None; import discbayes; print([m for m in ({names})"
        " if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )

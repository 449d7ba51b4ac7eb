"""Blocks of rows give what the rows in memory give, bit by bit, however they are divided."""

from __future__ import annotations

import gc
import pickle
import random
import tempfile
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from block_rows import in_file, make_rows
from discbayes._temporary import LOCK
from discbayes.counts import contingency as counting
from discbayes.counts import (
    count,
    count_extensions,
    count_families,
    count_family,
    count_pairs,
    pair_information,
    visit_pairs,
)
from discbayes.data import FrameEncoder
from discbayes.data import row_blocks as data_blocks
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.engine import Context, Threads
from discbayes.engine.shards import BlockShard, KeptShard, Node, ReductionTree, add_up, runs
from discbayes.network import Layout, Structure
from discbayes.objectives import ClassificationRate, ConditionalLikelihood, Margin
from discbayes.parameters import (
    BNSVM,
    DFE,
    MLBNSVM,
    PARAMETERS,
    DiscriminativeCCBN,
    ExtendedCCBN,
    MaximumAPosteriori,
    MaximumConditionalLikelihood,
    MaximumLikelihood,
    MaxMargin,
    WeightedCCBN,
    log_scores,
)
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Softmax
from discbayes.parameters.problem import Problem
from discbayes.scores import ConditionalInformation
from discbayes.search import (
    KDB,
    Annealing,
    Branching,
    GreedyEdges,
    HillClimb,
    OrderBased,
    SpanningTree,
)
from encoding import encode_source

N_ROWS, N_BLOCKS = 140_000, 3


class Letters:
    """A source whose blocks are letters."""

    def __init__(self, text):
        self.text = text

    def __len__(self):
        return len(self.text)

    def block(self, number):
        return self.text[number]


def joined(a, b):
    return f"({a}{b})"


def letter(item, n_jobs):
    return item


# ---- the tree


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a", "a"),
        ("abc", "((ab)c)"),
        ("abcdefg", "((((ab)(cd))(ef))g)"),
        ("abcdefgh", "(((ab)(cd))((ef)(gh)))"),
    ],
)
def test_blocks_are_combined_as_a_tree(text, expected):
    engine = Threads(1)
    assert engine.map_reduce(letter, engine.load(Letters(text)), joined) == expected


@given(st.integers(1, 60), st.integers(1, 70), st.sampled_from([1, 2, 3]))
@settings(deadline=None, max_examples=60)
def test_shards_and_threads_do_not_show(n_blocks, n_shards, n_jobs):
    text = "".join(chr(97 + k) for k in range(n_blocks))
    one, many = Threads(1), Threads(n_shards)
    expected = one.map_reduce(letter, one.load(Letters(text)), joined)
    assert many.map_reduce(letter, many.load(Letters(text)), joined, n_jobs=n_jobs) == expected


@given(st.integers(1, 80), st.randoms(use_true_random=False))
def test_shards_may_arrive_in_any_order(n_blocks, order: random.Random):
    text = "".join(chr(97 + k) for k in range(n_blocks))
    shards = [BlockShard(Letters(text), a, b) for a, b in runs(n_blocks, order.randint(1, 9))]
    parts = [add_up(shard, letter, joined, ()) for shard in shards]
    expected, tree = ReductionTree(joined), ReductionTree(joined)
    for k, item in enumerate(text):
        expected.add(Node(0, k, item))
    nodes = [node for part in parts for node in part]
    order.shuffle(nodes)
    for node in nodes:
        tree.add(node)
    assert tree.result() == expected.result()
    assert all(len(part) <= 2 * n_blocks.bit_length() for part in parts), "few results travel"


def test_no_blocks_and_no_shards_are_refused():
    with pytest.raises(ValueError, match="no blocks"):
        ReductionTree(joined).result()
    with pytest.raises(ValueError, match="n_shards=0"):
        Threads(0)


class Made:
    nbytes = 10

    def __init__(self, item):
        self.item = item


@pytest.fixture
def making():
    made = []

    def make(item):
        made.append(item)
        return Made(item)

    return made, make


def test_what_does_not_fit_is_in_a_folder_that_goes(making, tmp_path, monkeypatch):
    made, make = making
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shard = KeptShard(BlockShard(Letters("abcd"), 1, 4), make, memory=25)
    assert [shard.item(k).item for k in shard.numbers] == ["b", "c", "d"]
    assert made == ["b", "c", "d"]
    assert sorted(path.name for path in tmp_path.glob("*/*")) == ["3", LOCK]
    del shard
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_where_the_disk_is_full_things_are_made_again(making, tmp_path, monkeypatch):
    made, make = making
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(pickle, "dump", full_disk)
    shard = KeptShard(BlockShard(Letters("abcdef"), 1, 6), make, memory=15)
    assert made == ["b", "c"]
    assert [shard.item(k).item for k in shard.numbers] == list("bcdef")
    assert made == list("bccdef")
    assert [path.name for path in tmp_path.glob("*/*")] == [LOCK]


def full_disk(made, file, protocol):
    file.write(b"half of it")
    raise OSError(28, "No space left on device")


def test_a_copy_does_not_need_the_folder():
    shard = KeptShard(BlockShard(Letters("abc"), 0, 3), Made, memory=15)
    copy = pickle.loads(pickle.dumps(shard))
    assert [copy.item(k).item for k in copy.numbers] == ["a", "b", "c"]


# ---- counts


def divisions(data, folder, size):
    """The same rows as blocks, in memory and in files, in several shards."""
    for n_shards in (1, 2):
        yield RowBlocks(RowsInMemory(data, size=size), Threads(n_shards))
    yield RowBlocks(in_file(data, folder, size), Threads(7))


def same(mine, other):
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_array_equal(a, b)


@given(
    n_rows=st.integers(1, 60),
    gaps=st.sampled_from([0.0, 0.2]),
    weighted=st.booleans(),
    em=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=15)
def test_counts_of_small_blocks(n_rows, gaps, weighted, em, seed):
    data = make_rows(n_rows, 5, 2, seed, gaps, weighted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_blocks, "ROWS_OF_BLOCK", 8)
        patch.setattr(counting, "CELLS_OF_A_PASS", 50)
        expected = counts_of(data, em)
        for n_shards in (1, 3):
            same(expected, counts_of(RowBlocks(RowsInMemory(data), Threads(n_shards)), em))
    plain = counts_of(data, em)  # in one go
    for a, b in zip(expected, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def counts_of(data, em):
    counts = count(data, 2)
    layout = Layout(chain_of(data), data.cards, data.n_classes)
    families = count_families(data, layout, counts, 2)
    information = pair_information(data, counts, 2, em=em)
    seen = {}

    def visit(first, seconds, starts, cells):
        for second, start in zip(seconds, starts, strict=True):
            size = data.cards[first] * data.cards[second] * data.n_classes
            seen[first, second] = cells[start : start + size].copy()

    skip = np.zeros((data.n_features, data.n_features), bool)
    skip[1, 3] = skip[3, 1] = True
    visit_pairs(data, counts, visit, 2, skip, em)
    assert (1, 3) not in seen
    return [
        counts.class_count,
        counts.cells,
        families.cells,
        count_pairs(data, counts).cells,
        information.conditional,
        information.plain,
        information.joint,
        information.total,
        count_family(data, 2, (0, 1), em),
        *count_extensions(data, 2, (0,), [1, 3, 4], em),
        *(seen[key] for key in sorted(seen)),
    ]


def chain_of(data):
    return Structure(((), *((i,) for i in range(data.n_features - 1))), (True,) * data.n_features)


# ---- learners that count

COUNTING = {
    "tan-cmi": (SpanningTree(), MaximumLikelihood()),
    "tan-fcll": (SpanningTree(score="fcll"), MaximumAPosteriori()),
    "tan-acll": (Branching(score="acll"), MaximumAPosteriori("m")),
    "kdb": (KDB(k=2, max_candidates=4), MaximumAPosteriori()),
    "ghc": (HillClimb(score="mdl", max_parents=3, reverse=True), MaximumAPosteriori()),
    "tan-em": (SpanningTree(score=ConditionalInformation(missing="em")), MaximumAPosteriori()),
}


def learn(data, structure, parameters, n_jobs=2):
    context, counts = Context(n_jobs=n_jobs), count(data, n_jobs)
    found = structure.learn(data, counts, context)
    return parameters.learn(data, counts, found, context)


def assert_same_model(mine, other):
    assert mine.structure == other.structure
    np.testing.assert_array_equal(mine.log_prior, other.log_prior)
    np.testing.assert_array_equal(mine.log_theta, other.log_theta)


@pytest.fixture(scope="module", params=["rows", "weights and gaps"])
def many_rows(request):
    return (
        make_rows(N_ROWS)
        if request.param == "rows"
        else make_rows(N_ROWS, gaps=0.001, weighted=True)
    )


@pytest.mark.parametrize("name", COUNTING)
def test_counting_learners_give_the_same_model(name, many_rows, tmp_path):
    structure, parameters = COUNTING[name]
    expected = learn(many_rows, structure, parameters)
    assert expected.structure.n_edges
    for blocks in divisions(many_rows, tmp_path, 1 << 16):
        assert_same_model(expected, learn(blocks, structure, parameters))


def test_hill_climbing_takes_one_pass_for_a_step(monkeypatch):
    data = RowBlocks(RowsInMemory(make_rows(4000), size=500))
    passes, original = [], RowBlocks.map_reduce

    def counted(self, function, *arguments, **more):
        passes.append(function.__name__)
        return original(self, function, *arguments, **more)

    monkeypatch.setattr(RowBlocks, "map_reduce", counted)
    context, counts = Context(), count(data)
    HillClimb(score="fcll", max_parents=3).learn(data, counts, context)
    steps = len(context.history)
    assert steps > 3
    assert passes.count("_count_some") == 1
    # what a move adds, and what is around its family
    assert passes.count("_count_wanted") <= 2 * steps


def test_class_weights_as_in_memory(tmp_path):
    data, by_class = make_rows(N_ROWS), np.array([0.3, 1.0, 2.5])
    weighted = replace(data, weight=by_class[data.classes] * 1.0)
    np.testing.assert_array_equal(
        RowBlocks(RowsInMemory(data)).class_rows, np.bincount(data.classes)
    )
    blocks = RowBlocks(in_file(data, tmp_path, 1 << 16)).with_class_weights(by_class)
    assert_same_model(learn(weighted, *COUNTING["tan-fcll"]), learn(blocks, *COUNTING["tan-fcll"]))


def test_searches_that_need_rows_gather_them_or_say_why_not():
    data = make_rows(3000, 4, 2, gaps=0.1, weighted=True)
    source = RowsInMemory(data, size=500)
    search, counts = Annealing(random_state=0, max_tries=5, max_rejections=1), count(data)
    found = search.learn(RowBlocks(source), counts, Context())
    assert found == search.learn(data, counts, Context())
    with pytest.raises(
        ValueError, match=r"Annealing needs all rows in memory: .* 12,000 bytes, above .* 5,000"
    ):
        search.learn(RowBlocks(source, memory=5000), counts, Context())
    with pytest.raises(ValueError, match=r'MaximumLikelihood\(missing="em"\) needs all rows'):
        learn(RowBlocks(source, memory=5000), SpanningTree(), MaximumLikelihood(missing="em"))


GREEDY = {
    "cr": GreedyEdges("cr", fill=True),
    "cl": GreedyEdges("cl", parameters="map", k=2),
    "mm": GreedyEdges(Margin(0.2), parameters=MaximumAPosteriori("m", 2.0)),
    "cr, start": GreedyEdges(
        "cr",
        parameters=MaximumLikelihood(1e-3),
        k=2,
        start=[("x0", "x3")],
        forbidden=[("x1", "x2")],
    ),
}

IN_ORDER = {
    "omisp": OrderBased("omisp", k=2, refine=True),
    "random": OrderBased("random", "cl", strict=True, k=2, random_state=1),
    "given": OrderBased(["x3", "x0", "x5", "x1", "x2", "x4"], Margin(0.2), parameters="map"),
}


def climb(data, search):
    context = Context(n_jobs=2)
    found = search.learn(data, count(data), context)
    return found, context.history


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*GREEDY, *IN_ORDER])
def test_searches_on_blocks_that_stay_where_they_are(name, weighted, monkeypatch):
    data = make_rows(3000, 6, 3, seed=3, weighted=weighted)
    search = {**GREEDY, **IN_ORDER}[name]
    expected, trace = climb(data, search)
    assert len(trace) > 1
    blocks = RowBlocks(RowsInMemory(data, size=400), Threads(3), memory=data.codes.nbytes - 1)
    passes, original = [], RowBlocks.map_reduce

    def counted(self, function, *arguments, **more):
        passes.append(function.__name__)
        return original(self, function, *arguments, **more)

    monkeypatch.setattr(RowBlocks, "map_reduce", counted)
    found, steps = climb(blocks, search)
    assert found == expected
    assert [step["edge"] for step in steps] == [step["edge"] for step in trace]
    assert [step["score"] for step in steps] == pytest.approx([step["score"] for step in trace])
    assert [step["evaluations"] for step in steps] == [step["evaluations"] for step in trace]
    # the one that chooses parents again takes some away
    most = 3 * len(steps) if name == "omisp" else len(steps) + 1
    assert passes.count("gains_in") <= most
    assert passes.count("_count_wanted") <= (1 + 2 * (name == "omisp")) * len(steps) + 1


@pytest.mark.parametrize(
    "search",
    [
        GreedyEdges("cl", evaluation=3),
        GreedyEdges("mm"),
        GreedyEdges("cl", parameters="cl"),
        OrderBased("omi"),
    ],
)
def test_searches_that_need_more_than_sums_over_blocks(search):
    data = make_rows(300, 4, 2)
    with pytest.raises(ValueError, match=r"\w+ needs all rows in memory"):
        search.learn(RowBlocks(RowsInMemory(data, size=100), memory=100), count(data), Context())


def test_a_block_that_cannot_be_read_is_named(tmp_path):
    blocks = RowBlocks(in_file(make_rows(900), tmp_path / "codes", 300))
    (tmp_path / "codes" / "1.npz").unlink()
    with pytest.raises(OSError, match=r"block 1 of .*codes cannot be read: .*1\.npz"):
        count(blocks)
    (tmp_path / "codes" / "1.npz").write_bytes(b"no codes at all")
    with pytest.raises(OSError, match=r"block 1 of .*codes cannot be read"):
        count(blocks)


# ---- learners that follow a gradient, or go through the rows

FITS = {
    "cl": MaximumConditionalLikelihood(max_iter=4),
    "ccbn-d": DiscriminativeCCBN(penalty=1.0, max_iter=4),
    "ccbn-e": ExtendedCCBN(max_iter=4),
    "ccbn-w": WeightedCCBN(max_iter=4),
    "mm": MaxMargin(max_iter=4),
    "hybrid": PARAMETERS["hybrid"]().set_params(max_iter=4),
    "bn-svm": BNSVM(max_iter=4),
    "ml-bn-svm": MLBNSVM(lam=4.0, max_iter=4),
    "dfe": DFE(passes=2),
}


def fit(data, parameters, n_jobs=2):
    """The tables of a chain, in a few iterations, and the trace."""
    context = Context(n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tables = parameters.learn(data, count(data, n_jobs), chain_of(data), context)
    return tables, [step["score"] for step in context.history]


@pytest.mark.parametrize("name", FITS)
def test_fits_give_the_same_model(name, many_rows, tmp_path):
    expected, trace = fit(many_rows, FITS[name])
    for blocks in divisions(many_rows, tmp_path, 1 << 16):
        found, steps = fit(blocks, FITS[name])
        assert steps == trace
        assert_same_model(expected, found)


@pytest.mark.parametrize("full", [False, True])
def test_a_fit_in_little_memory(full, many_rows, monkeypatch):
    made, original = [], log_scores.BlockScores

    def make(*arguments):
        made.append(original(*arguments).nbytes)
        return original(*arguments)

    expected, trace = fit(many_rows, FITS["ccbn-w"])
    monkeypatch.setattr(log_scores, "BlockScores", make)
    fit(RowBlocks(RowsInMemory(many_rows)), FITS["ccbn-w"])
    assert len(made) == N_BLOCKS
    memory = sum(made) // 2
    made.clear()
    if full:
        monkeypatch.setattr(pickle, "dump", full_disk)
    found, steps = fit(RowBlocks(RowsInMemory(many_rows), memory=memory), FITS["ccbn-w"])
    assert len(made) > 2 * N_BLOCKS if full else len(made) == N_BLOCKS
    assert steps == trace
    assert_same_model(expected, found)


@given(
    n_rows=st.integers(9, 60),
    seed=st.integers(0, 99),
    gaps=st.sampled_from([0.0, 0.2]),
    name=st.sampled_from(list(FITS)),
)
@settings(deadline=None, max_examples=25)
def test_fits_of_small_blocks(n_rows, seed, gaps, name):
    data = make_rows(n_rows, 4, 2, seed, gaps, weighted=bool(seed % 2))
    with pytest.MonkeyPatch.context() as patch:
        _, score = fit(data, FITS[name])
        patch.setattr(data_blocks, "ROWS_OF_BLOCK", 8)
        expected, trace = fit(data, FITS[name])
        for n_shards in (1, 3):
            found, steps = fit(RowBlocks(RowsInMemory(data), Threads(n_shards)), FITS[name])
            assert steps == trace
            assert_same_model(expected, found)
    # later steps may part where a search of a step does
    np.testing.assert_allclose(trace[:1], score[:1], rtol=1e-9)


def test_margins_off_c1_and_their_bound_are_those_of_all_rows(monkeypatch):
    data, found = make_rows(300, 4, 3, weighted=True), []
    fork = Structure(((), (), (0, 1), (2,)))  # the parents of feature 2 are not joined
    monkeypatch.setattr(data_blocks, "ROWS_OF_BLOCK", 64)
    for rows in (data, RowBlocks(RowsInMemory(data)), RowBlocks(RowsInMemory(data), Threads(3))):
        context = Context(n_jobs=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            tables = MLBNSVM(64.0, 10.0, max_iter=80, tol=1e-9).learn(
                rows, count(rows), fork, context
            )
        found.append((tables, context.history[-1]["score"], context.history[-1]["gap"]))
    assert 0 < found[0][2] < 0.2
    for tables, score, gap in found[1:]:
        assert_same_model(found[0][0], tables)
        assert (score, gap) == found[0][1:]


def test_what_a_block_sums_up_is_what_all_rows_do():
    data = make_rows(3000, 6, 3, gaps=0.05, weighted=True)
    layout = Layout(chain_of(data), data.cards, data.n_classes)
    whole = Problem(ConditionalLikelihood(), LogScores(data, layout, True), Softmax(layout))
    blocks = LogScores(RowBlocks(RowsInMemory(data, size=700)), layout, True)
    parted = Problem(ConditionalLikelihood(), blocks, Softmax(layout))
    free = np.random.default_rng(0).normal(size=whole.parameterization.size)
    value, gradient = whole.value_and_gradient(free)
    found, slope = parted.value_and_gradient(free)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-12)
    assert parted.total_of(ClassificationRate(), free) == pytest.approx(
        whole.total_of(ClassificationRate(), free)
    )
    np.testing.assert_allclose(blocks.pair_weights(2), whole.scores.pair_weights(1), atol=1e-9)
    np.testing.assert_allclose(blocks.class_weights, whole.scores.class_weights)


@pytest.mark.parametrize(
    "learner",
    [
        WeightedCCBN(penalty=[1.0, 0.1], max_iter=3),
        ExtendedCCBN(stopping="cross-tuning", max_iter=3),
        DFE(shuffle=True),
    ],
)
def test_what_needs_all_rows_gathers_them_or_says_why_not(learner, monkeypatch):
    monkeypatch.setattr(data_blocks, "ROWS_OF_BLOCK", 500)
    data = make_rows(2000, 4, 2)
    expected, _ = fit(data, learner)
    found, _ = fit(RowBlocks(RowsInMemory(data)), learner)
    assert_same_model(expected, found)
    with pytest.raises(
        ValueError,
        match=r"(penalty=\[1.0, 0.1\]|cross-tuning|shuffle=True).* needs all rows in memory",
    ):
        fit(RowBlocks(RowsInMemory(data), memory=7999), learner)


def test_codes_on_disk_are_blocks(tmp_path):
    rows = make_rows(70_000, 5, 3, weighted=True)
    frame = pd.DataFrame(
        {v.name: v.decode(c) for v, c in zip(rows.domain.features, rows.codes, strict=True)}
    )
    frame["y"], frame["w"] = rows.domain.target.decode(rows.classes), rows.weight
    encoder = FrameEncoder()
    data = encoder.fit_transform(
        frame.drop(columns=["y", "w"]), frame["y"].to_numpy(), frame["w"].to_numpy()
    )
    halves = iter([frame[:30_000], frame[30_000:]])
    with encode_source(halves, FrameEncoder(), "y", "w", folder=tmp_path)[1] as spilled:
        for name in ("tan-fcll", "ghc"):
            assert_same_model(
                learn(data, *COUNTING[name]), learn(RowBlocks(spilled), *COUNTING[name])
            )
        expected, _ = fit(data, FITS["hybrid"])
        assert_same_model(expected, fit(RowBlocks(spilled, memory=1), FITS["hybrid"])[0])

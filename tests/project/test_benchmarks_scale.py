"""The benchmark of large data: its cost model says what the code does, and its page what the
results are.
"""

# ruff: noqa: E402

from __future__ import annotations

import sys
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discbayes.counts import count, pair_information
from discbayes.counts.pair_runs import BlockPairs, PairSet
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.engine.shards import BlockShard, add_up, runs
from discbayes.network import Layout
from discbayes.parameters.log_scores import _prepare

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import generate_rows
from scaling import cluster, files, growth, page, probe
from scaling.extrapolate import Cluster, Round, cost, pair_rounds, prepared_bytes, results_of_shards
from scaling.forecast import SCENARIOS, checks, forecasts
from scaling.model import NANO, Size, exponent, fitted, terms_of
from scaling.peers import Encoding, Regression
from scaling.results import Line, Results
from scaling.verdicts import verdicts


class Numbers:
    """A source whose blocks are their numbers."""

    def __init__(self, n_blocks):
        self.n_blocks = n_blocks

    def __len__(self):
        return self.n_blocks

    def block(self, number):
        return number


# ---- the model counts what the code does


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 30))
def test_results_of_shards_are_those_that_shards_send(n_blocks, n_shards):
    shards = [BlockShard(Numbers(n_blocks), *run) for run in runs(n_blocks, n_shards)]
    sent = [add_up(shard, lambda item, n_jobs: item, lambda a, b: a + b, ()) for shard in shards]
    assert results_of_shards(n_blocks, n_shards) == sum(map(len, sent))


@pytest.fixture(scope="module")
def rows():
    return growth.Rows(growth.Shape(3000, 9, 4, 5))


def test_cells_are_those_of_the_tables(rows):
    data = rows.encoded
    size = Size(data.n_samples, tuple(data.cards.tolist()), data.n_classes)
    for k in range(3):
        assert size.cells(k) == Layout(growth.chain(9, k), data.cards, data.n_classes).size
    assert size.pair_cells == PairSet(data.cards, data.n_classes).n_cells
    mixed = Size(10, (2, 7, 3), 4)
    assert mixed.pair_cells == PairSet(np.array(mixed.cards), 4).n_cells


@pytest.mark.parametrize("values", [2, 6, 30])
def test_pairs_are_counted_in_the_way_that_the_model_has(values):
    data = growth.Rows(growth.Shape(5000, 5, values, 3)).encoded
    run = BlockPairs(data, count(data), "auto", np.empty(0))
    by_bits = np.concatenate([run.by_bits(first, np.arange(first + 1, 5)) for first in range(4)])
    words, looped = Size.even(5000, 5, values, 3).pair_steps
    assert looped == (comb(5, 2) - by_bits.sum()) * 5000
    assert words == pytest.approx(by_bits.sum() * (values - 1) ** 2 * (5000 / 64 + 1.5))


def test_pairs_take_so_many_rounds(rows, monkeypatch):
    monkeypatch.setattr("discbayes.counts.contingency.CELLS_OF_A_PASS", 900)
    monkeypatch.setattr("scaling.extrapolate.CELLS_OF_A_PASS", 900)
    rounds, original = [], RowBlocks.map_reduce

    def counted(self, function, *arguments, **more):
        rounds.append(function)
        return original(self, function, *arguments, **more)

    monkeypatch.setattr(RowBlocks, "map_reduce", counted)
    pair_information(RowBlocks(RowsInMemory(rows.encoded, size=1000)), rows.counts)
    assert len(rounds) == pair_rounds(Size.even(3000, 9, 4, 5)) > 2


def test_bytes_of_prepared_rows(rows):
    kept = _prepare(rows.encoded, rows.layout(rows.tree), False).nbytes
    assert prepared_bytes(Size.even(3000, 9, 4, 5)) == pytest.approx(kept, rel=0.1)


def test_every_kind_of_work_has_terms():
    size = Size.even(1e5, 10, 4, 3)
    for name in (*growth.WORKS, *growth.SMALL_WORKS):
        assert min(terms_of(name)(size)) >= 0 < max(terms_of(name)(size))


def lines_of(name, seconds):
    shapes = growth.sizes(growth.BASE, growth.AROUND)
    return [
        Line("growth", name, s.rows, s.features, s.values, s.classes, seconds(s)) for s in shapes
    ]


def test_constants_are_found_again():
    def seconds(shape):
        size = Size.even(shape.rows, shape.features, shape.values, shape.classes)
        return float(np.dot((0.5, 30.0, 9.0, 2.0), terms_of("evaluation")(size)) * NANO)

    work = fitted("evaluation, CL", lines_of("evaluation, CL", seconds))
    assert work.constants == pytest.approx((0.5, 30.0, 9.0, 2.0), rel=1e-6)
    assert work.error < 1e-9
    by_rows = [
        line
        for line in lines_of("x", lambda s: 3e-6 * s.rows**1.5)
        if line.features == 40 and line.values == 5
    ]
    assert exponent([line for line in by_rows if line.classes == 3], "rows") == pytest.approx(1.5)


def test_a_round_by_hand():
    size = Size.even(4 * 65_536, 10, 4, 3)
    there = Cluster(workers=2, threads=1, network=1e6, latency=0.5, task=0.01, memory=1e5, disk=1e6)
    assert there.shards >= 4
    found = cost([Round("x", 8.0, numbers=1000, arguments=500, times=3)], size, there)
    up, down, left = 4 * 8000, 4 * 500, 4 * 65_536 * 11 / 2 - 5e4
    each = 4.0 + left / 1e6 + (up + down) / 1e6 + 0.5 + 4 * 0.01 + 4000 * 1e-9
    assert found.seconds == pytest.approx(3 * each)
    assert (found.rounds, found.largest_round, found.moved) == (3, up + down, 3 * (up + down))
    alone = cost([Round("x", 8.0, numbers=0, alone=True)], size, there)
    assert alone.computing == 8.0
    assert alone.moved == 4 * 65_536 * 11


# ---- peers


def batch(columns):
    """A batch of lists, which pyarrow 14 does not take."""
    return pa.RecordBatch.from_arrays(
        [pa.array(cells) for cells in columns.values()], list(columns)
    )


def test_encoding_written_by_hand():
    first = batch(
        {"n": [1.0, 2.0, 3.0, 4.0, None], "c": ["b", "a", "b", "a", "a"], "y": list("ppqqp")}
    )
    more = batch({"n": [0.0, 9.0, None], "c": ["z", "b", None], "y": list("qpp")})
    encoding = Encoding(first, {"n": 2})
    assert encoding.cards.tolist() == [2, 2]
    assert encoding.codes(first).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]]
    assert encoding.codes(more).tolist() == [[0, 2], [1, 0], [2, 2]]
    assert encoding.target(more).tolist() == [1, 0, 0]
    regression = Regression(1)
    regression.encoding = encoding
    assert regression.inputs(encoding.codes(more)).toarray().tolist() == [
        [1, 0, 0, 0, 0, 1],
        [0, 1, 0, 1, 0, 0],
        [0, 0, 1, 0, 0, 1],
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate_rows, "ROWS_OF_A_FILE", 5000)
        generate_rows.write_rows(place / "train", 8000)
        generate_rows.write_rows(place / "test", 4000, first=77)
        generate_rows.write_rows(place / "fewer", 500)
    return place


def test_rows_are_the_same_however_many_there_are(folder):
    import pyarrow.parquet as pq

    fewer = pq.read_table(folder / "fewer")
    assert fewer.equals(pq.read_table(folder / "train").slice(0, 500))
    assert not fewer.equals(pq.read_table(folder / "test").slice(0, 500))


def test_probes_learn_and_judge(folder):
    ours = probe.fit("NB + MAP", folder / "train", folder / "test", {})
    assert len(ours["bins"]) == 10
    assert len(ours["cards"]) == 40
    parts = probe.fit("NB + MAP, partial_fit", folder / "train", folder / "test", {})
    assert abs(parts["accuracy"] - ours["accuracy"]) < 0.02  # cut on the rows of the first file
    peers = {
        name: probe.fit(name, folder / "train", folder / "test", ours["bins"])
        for name in probe.PEERS
    }
    assert abs(peers["CategoricalNB"]["accuracy"] - ours["accuracy"]) < 0.03
    for found in (ours, *peers.values()):
        assert 0.55 < found["accuracy"] < 0.95
        assert found["log_loss"] < 1.0  # of three classes by their shares
        assert found["peak"] > 1e8
    assert (
        probe.predict("CategoricalNB", folder / "train", folder / "test", ours["bins"])["seconds"]
        > 0
    )


# ---- results and page


def test_results_are_kept_and_replaced(tmp_path):
    path = tmp_path / "scale.csv"
    results = Results(path)
    results.add(
        Line("files", "NB + MAP", 100, 40, seconds=2.0, peak_mb=300.0, repeats=3, cards="2 3")
    )
    results.add(Line("files", "NB + MAP", 300, 40, seconds=5.0))
    results.add(Line("files", "NB + MAP", 100, 40, seconds=1.5))
    again = Results(path)
    assert [(line.rows, line.seconds) for line in again.of("files", "NB + MAP")] == [
        (100, 1.5),
        (300, 5.0),
    ]
    assert list(again) == list(results)
    assert again.get("files", "NB + MAP").rows == 300
    assert again.get("files", "NB + MAP", 7) is None
    assert again.get("files", "NB + MAP").machine


@pytest.fixture
def all_measured(tmp_path):
    """Results in which every time is what one nanosecond for each step gives."""
    results = Results(tmp_path / "scale.csv")
    results._write = lambda: None
    works = {**dict.fromkeys(growth.WORKS, (growth.BASE, growth.AROUND))}
    works |= dict.fromkeys(growth.SMALL_WORKS, (growth.SMALL, growth.AROUND_SMALL))
    for name, (base, around) in works.items():
        for s in growth.sizes(base, around):
            steps = sum(terms_of(name)(Size.even(s.rows, s.features, s.values, s.classes)))
            results.add(Line("growth", name, s.rows, s.features, s.values, s.classes, steps * NANO))
    figures = Line("files", "", 0, 40, None, 3, 1.0, 400.0, 0.7, 0.8, 3, " ".join(["5"] * 40))
    for name, which in files.FITS.items():
        for n_rows in which((1000, 3000, 10_000)):
            results.add(replace(figures, what=name, rows=n_rows, seconds=n_rows / 1000))
    results.add(Line("files", files.READING, 1000, seconds=0.5))
    for name in files.ANSWERS:
        results.add(replace(figures, case=files.PREDICTING, what=name, rows=1000))
    for n_tasks, seconds in ((cluster.FEW, 0.104), (cluster.MANY, 0.504)):
        results.add(Line("cluster", f"a round of {n_tasks} tasks", 10, seconds=seconds))
    for name in ("pairs, fCLL", "evaluation, CCBN-w"):
        results.add(Line("cluster", name, 10**6, 40, 5, 3, 1.0))
    return results


def test_verdicts_and_forecasts(all_measured):
    found = {row.what: row for row in verdicts(all_measured)}
    assert all(row.ok is not False for row in found.values())
    assert found["TAN-fCLL + MAP, exponent of the rows in the time"].ours == pytest.approx(1.0)
    assert found[
        "NB + MAP, 1,000 rows, from files against memory without reading"
    ].ratio == pytest.approx(2.0)
    assert cluster.overheads(all_measured) == pytest.approx((0.1, 0.001))
    assert len(list(checks(all_measured))) == 4
    small, large = dict(forecasts(all_measured)).values()
    for name in small:
        assert 0 < small[name].seconds < large[name].seconds
        assert small[name].moved < large[name].moved
    all_measured.add(Line("files", "TAN-fCLL + MAP", 20_000, seconds=20.0, peak_mb=1600.0))
    all_measured.add(Line("files", "default", 20_000, seconds=40.0, peak_mb=400.0))
    refused = [row.what for row in verdicts(all_measured) if row.ok is False]
    assert refused == [
        "TAN-fCLL + MAP, 20,000 rows, largest memory",
        "default, exponent of the rows in the time",
    ]
    trees = large["TAN-fCLL + ML or MAP"]
    assert trees.rounds == 2 + pair_rounds(SCENARIOS[list(SCENARIOS)[-1]])


def test_the_page_says_all(all_measured):
    text = page.rendered(all_measured)
    assert "{{" not in text
    assert "Not measured yet" not in text
    assert all(f"| {name} |" in text for name in (*files.FITS, *growth.WORKS, *growth.SMALL_WORKS))
    assert "499,500 tables, 300 MB" in text
    assert "TAN-CR, greedy: " in text


def test_the_page_without_results(tmp_path):
    text = page.rendered(Results(tmp_path / "none.csv"))
    assert "{{" not in text
    assert "Not measured yet" in text

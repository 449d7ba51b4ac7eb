"""Classifiers that learn on a real cluster of two processes: the same models and the same errors as
in one process.
"""

from __future__ import annotations

import pickle
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import discbayes
from discbayes import BayesNetClassifier
from discbayes.classifier import training_rows
from discbayes.engine import Context, DaskEngine
from discbayes.engine import dask as clusters
from discbayes.io import ModelFileError
from discbayes.io.document import open_document, seal
from discbayes.parameters import MaximumAPosteriori, WeightedCCBN
from discbayes.search import KDB
from discbayes.streams import batches as stream_limits
from discbayes.streams import cluster_codes
from shop import FEATURES, OwnParameters, assert_same, make_frame, parts_of, write_parts
from workers import free_port, kill_a_worker, wait_for_workers

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")

pytestmark = [
    # of a cluster that comes and goes, and of fits with few iterations
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("small_blocks"),
]

SIZES = [1100, 2345, 17, 2000, 538]
LEARNERS = {
    "tan": BayesNetClassifier("tan-fcll", "map"),
    "kdb": BayesNetClassifier(KDB(k=2), WeightedCCBN(max_iter=4), class_weight="balanced"),
    "hybrid": BayesNetClassifier("tan", "hybrid", calibrate=None),
    "default": BayesNetClassifier(),
}
THERE = "kept on the workers"


@pytest.fixture(scope="module")
def frame():
    return make_frame(sum(SIZES)).drop(columns="w")


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    return write_parts(parts_of(frame, SIZES), tmp_path_factory.mktemp("rows") / "five")


@pytest.fixture
def shards(monkeypatch):
    """Set the number of shards."""
    return lambda n: monkeypatch.setattr(
        training_rows, "DaskEngine", partial(DaskEngine, n_shards=n)
    )


@pytest.fixture(scope="module")
def expected(frame):
    """The models of one process, each learned once."""
    made = {}

    def model(name):
        if name not in made:
            made[name] = clone(LEARNERS[name]).fit(frame[FEATURES], frame["bought"])
        return made[name]

    return model


# ---- the same models


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    "n_shards, source",
    [(1, "files"), (2, "files"), (7, "files"), (2, "iterator"), (7, "dask"), (7, "array")],
)
def test_the_same_bits(name, n_shards, source, client, frame, folder, shards, expected, capfd):
    shards(n_shards)
    clf, one = clone(LEARNERS[name]).set_params(cluster=client, verbose=1), expected(name)
    if source == "array":
        clf.fit(frame[FEATURES], frame["bought"])
    else:
        rows = {
            "files": folder,
            "iterator": iter(parts_of(frame, [3001, 2999])),
            "dask": dd.from_pandas(frame, npartitions=5),
        }[source]
        clf.fit(rows, "bought")
    # rows that are held out, to choose by or to calibrate, are read by this process
    there = source in ("files", "dask") and name != "default"
    assert (THERE in capfd.readouterr().err) == there
    assert_same(clf, one)
    assert (
        clf.predict_proba(frame[FEATURES]).tobytes() == one.predict_proba(frame[FEATURES]).tobytes()
    )


def test_calibrated_fits_are_the_same_too(client, frame, folder):
    clf = BayesNetClassifier(
        "nb", WeightedCCBN(max_iter=2), calibrate="temperature", calibrate_folds=2
    )
    here = clone(clf).fit(frame[FEATURES], frame["bought"])
    for rows, target in ((folder, "bought"), (frame[FEATURES], frame["bought"])):
        there = clone(clf).set_params(cluster=client).fit(rows, target)
        assert there.calibration_.temperature == here.calibration_.temperature
        assert (
            there.predict_proba(frame[FEATURES]).tobytes()
            == here.predict_proba(frame[FEATURES]).tobytes()
        )


def test_weights_and_what_is_left_to_one_process(client, frame, tmp_path, capfd):
    rng = np.random.default_rng(1)
    weights = {"whole": rng.integers(1, 4, len(frame)), "broken": rng.random(len(frame)) + 0.5}
    weights["late zero"] = np.where(
        np.arange(len(frame)) < 4000, 2.0, rng.integers(0, 3, len(frame))
    )
    clf = BayesNetClassifier("tan", "map", cluster=client, verbose=1)
    for name, weight in weights.items():
        folder = write_parts(parts_of(frame.assign(w=weight), SIZES), tmp_path / name)
        one = clone(clf).set_params(cluster=None).fit(frame[FEATURES], frame["bought"], weight)
        capfd.readouterr()
        assert_same(clone(clf).fit(folder, "bought", "w"), one)
        assert (THERE in capfd.readouterr().err) == (name == "whole"), name
    labels = frame["bought"]
    for number, (settings, rows, target) in enumerate(
        [({"missing": "drop"}, frame, "bought"), ({}, frame[FEATURES], labels)]
    ):
        here = clone(clf).set_params(cluster=None, **settings).fit(frame[FEATURES], labels)
        files = write_parts(parts_of(rows, SIZES), tmp_path / str(number))
        capfd.readouterr()
        assert_same(clone(clf).set_params(**settings).fit(files, target), here)
        assert THERE not in capfd.readouterr().err


def late_frame(n_rows=3000):
    """Columns and classes that show late what they are."""
    rng = np.random.default_rng(3)
    row = np.arange(n_rows)
    return pd.DataFrame(
        {
            "late": np.where(row < 1500, np.nan, rng.integers(0, 9, n_rows)),
            "town": np.where(row < 700, "A", np.where(row < 2500, "B", "C")),
            "never": np.full(n_rows, np.nan),
            "code": rng.integers(0, 5, n_rows) + (row > 2000),
            "kind": pd.Categorical.from_codes(rng.integers(0, 3, n_rows), list("xyz")),
            "y": np.where(row < 600, "m", np.where(rng.random(n_rows) < 0.5, "a", "z")),
        }
    )


def test_columns_and_classes_that_come_late(client, tmp_path, shards):
    frame = late_frame()
    shards(4)
    files = write_parts(
        parts_of(frame[["y", *frame.columns[:-1]]], [1000, 600, 1400]), tmp_path / "late"
    )
    swapped = frame[1000:1600][list(frame.columns)]  # columns in another order
    pq.write_table(pa.Table.from_pandas(swapped, preserve_index=False), files / "1.parquet")
    for settings in ({"missing": "value"}, {"categorical": ["code"]}):
        clf = BayesNetClassifier("nb", "map", **settings)
        here = clone(clf).fit(files, "y")
        assert (
            here.network_.domain
            == clone(clf).fit(frame.drop(columns="y"), frame["y"]).network_.domain
        )
        assert_same(clone(clf).set_params(cluster=client).fit(files, "y"), here)
        rows = dd.from_pandas(frame, npartitions=4)
        assert_same(
            clone(clf).set_params(cluster=client).fit(rows, "y"), clone(clf).fit(iter([frame]), "y")
        )


def test_summaries_do_not_depend_on_the_cluster(client, tmp_path, shards, monkeypatch):
    monkeypatch.setattr(stream_limits, "_MIN_MEMORY", 1000)
    rng = np.random.default_rng(0)
    x = rng.normal(size=6000)
    frame = pd.DataFrame({"x": x, "y": np.where(x + rng.normal(size=6000) > 0, "yes", "no")})
    files = write_parts(parts_of(frame, SIZES), tmp_path / "many")
    clf, found = BayesNetClassifier("nb", "map", memory=40_000), []
    for n_shards in (1, 2, 7):
        shards(n_shards)
        found.append(clone(clf).set_params(cluster=client).fit(files, "y"))
        assert_same(found[-1], found[0])
    cuts, exact = (
        np.array(model.network_.domain.features[0].cuts)
        for model in (found[0], clone(clf).fit(frame[["x"]], frame["y"]))
    )
    assert cuts.size > 0
    assert exact.size > 0
    assert cuts.tolist() != exact.tolist(), "there are more values than were kept"
    middle = np.abs([np.mean(x < cut) - 0.5 for cut in cuts]).min()
    assert middle < 0.1 + np.abs([np.mean(x < cut) - 0.5 for cut in exact]).min()


def test_arrays_of_dask_and_partitions_without_rows(client, capfd):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (1500, 4)).astype(float), rng.integers(0, 3, 1500)
    clf = BayesNetClassifier("tan", "map", verbose=1)
    one = clone(clf).fit(X, y)
    rows, classes = da.from_array(X, chunks=(400, 2)), da.from_array(y, chunks=400)
    found = clone(clf).set_params(cluster=client).fit(rows, classes)
    assert THERE in capfd.readouterr().err
    assert_same(found, one)
    assert not hasattr(found, "feature_names_in_")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    some = dd.from_pandas(frame, npartitions=6)
    some = some[some["a"] + 0 * some["b"] >= 0].map_partitions(lambda part: part[part.index >= 500])
    rest = frame[500:]
    expected = clone(clf).fit(rest[list("abcd")], rest["y"])
    assert_same(clone(clf).set_params(cluster=client).fit(some, "y"), expected)


def test_a_dask_collection_is_worked_on_where_it_is(client, frame, expected, capfd):
    rows = dd.from_pandas(frame, npartitions=3)
    clf = clone(LEARNERS["tan"]).set_params(verbose=1)
    with client.as_current():
        assert_same(clone(clf).fit(rows, "bought"), expected("tan"))
    assert THERE in capfd.readouterr().err
    assert_same(clone(clf).fit(rows, "bought"), expected("tan"))
    assert THERE not in capfd.readouterr().err


def test_blocks_are_sent_to_workers_that_do_not_see_the_file(
    client, frame, folder, expected, monkeypatch
):
    asked = []

    def refuse(engine, question, *arguments):
        asked.append(question.__name__)
        return False

    monkeypatch.setattr(DaskEngine, "agrees", refuse)
    assert_same(
        clone(LEARNERS["tan"]).set_params(cluster=client).fit(folder, "bought"), expected("tan")
    )
    assert asked == ["_see", "_finds"]  # the files, and then the file of the codes


def test_learners_that_need_all_rows(client, frame, folder, monkeypatch):
    for parameters in (OwnParameters(), MaximumAPosteriori(missing="em")):
        clf = BayesNetClassifier("nb", parameters)
        here = clone(clf).fit(frame[FEATURES], frame["bought"])
        for rows, target in ((folder, "bought"), (frame[FEATURES], frame["bought"])):
            assert_same(clone(clf).set_params(cluster=client).fit(rows, target), here)
    monkeypatch.setattr(stream_limits, "_MIN_MEMORY", 1000)
    with pytest.raises(
        ValueError,
        match=r"MaximumAPosteriori.missing=\"em\". needs all rows in memory: .* 30,000 bytes",
    ):
        BayesNetClassifier(
            "nb", MaximumAPosteriori(missing="em"), cluster=client, memory=20_000
        ).fit(folder, "bought")


# ---- what can go wrong


def test_a_worker_that_dies_in_the_middle_of_a_fit(client, frame, folder, monkeypatch):
    clf = BayesNetClassifier("nb", WeightedCCBN(max_iter=8, tol=0))
    here = clone(clf).fit(frame[FEATURES], frame["bought"])
    killed, record = [], Context.record

    def kill_at_the_third(context, **step):
        record(context, **step)
        if len(context.history) == 3:
            killed.append(kill_a_worker(client))

    monkeypatch.setattr(Context, "record", kill_at_the_third)
    found = clone(clf).set_params(cluster=client).fit(folder, "bought")
    assert len(killed) == 1
    assert len(found.history_) == len(here.history_) == 8
    assert_same(found, here)
    wait_for_workers(client, killed[0])


def spoil(folder, flaw):
    """Something that is wrong with the fourth of five files."""
    path = folder / "3.parquet"
    table = pq.read_table(path)
    if flaw == "bytes":
        content = bytearray(path.read_bytes())
        content[4:400] = bytes(396)
        path.write_bytes(content)
        return
    if flaw == "cut":
        path.write_bytes(path.read_bytes()[:1000])
        return
    if flaw == "column":
        table = table.drop_columns(["town"])
    elif flaw == "infinity":
        sizes = table.column("size").to_numpy().copy()
        sizes[1700] = np.inf
        table = table.set_column(0, "size", pa.array(sizes))
    elif flaw == "type":
        table = table.set_column(0, "size", pa.array(["large"] * table.num_rows))
    elif flaw == "class":
        labels = table.column("bought").to_pylist()
        labels[30] = None
        table = table.set_column(table.column_names.index("bought"), "bought", pa.array(labels))
    elif flaw == "classes":
        at = table.column_names.index("bought")
        table = table.set_column(at, "bought", pa.array(np.arange(table.num_rows) % 3))
    pq.write_table(table, path)


def temporary_folders(client):
    """The temporary folders of the library on the workers."""

    def count(dask_worker):
        from pathlib import Path

        return [str(found) for found in Path(dask_worker.local_directory).glob("discbayes-*")]

    return [path for found in client.run(count).values() for path in found]


@pytest.mark.parametrize(
    "flaw, named",
    [
        ("bytes", "cannot read"),
        ("cut", "cannot read"),
        ("column", "'town', which all rows before have"),
        ("infinity", "column 'size' contains infinity"),
        ("type", "column 'size' holds labels here, and numbers before"),
        ("class", "NaN or None"),
        ("classes", "mixes strings and numbers"),
        ("value", "'blue'"),
    ],
)
def test_errors_are_those_of_one_process(flaw, named, client, frame, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    folder = write_parts(parts_of(frame, SIZES), tmp_path / "five")
    spoil(folder, flaw)
    settings = {"domains": {"colour": ["red", "green", "black"]}} if flaw == "value" else {}
    clf = BayesNetClassifier("nb", "map", memory="16MiB", **settings)
    with pytest.raises((ValueError, OSError)) as here:
        clone(clf).fit(folder, "bought")
    with pytest.raises((ValueError, OSError)) as there:
        clone(clf).set_params(cluster=client).fit(folder, "bought")
    assert str(there.value) == str(here.value)
    assert type(there.value) is type(here.value)
    assert named in str(there.value)
    assert ("0.parquet" if flaw == "value" else "3.parquet") in str(there.value)
    assert not list(place.iterdir())
    wait_until(lambda: not temporary_folders(client))


def wait_until(fact):
    deadline = time.time() + 30
    while not fact():
        assert time.time() < deadline
        time.sleep(0.1)


def test_what_workers_put_on_disk_goes_with_the_fit(client, folder, monkeypatch):
    seen = []
    record = Context.record

    def look(context, **step):
        record(context, **step)
        seen.append(len(temporary_folders(client)))

    monkeypatch.setattr(Context, "record", look)
    monkeypatch.setattr(stream_limits, "_MIN_MEMORY", 1000)
    BayesNetClassifier("nb", WeightedCCBN(max_iter=2), cluster=client, memory=4000).fit(
        folder, "bought"
    )
    assert max(seen) > 0
    wait_until(lambda: not temporary_folders(client))


def test_files_that_change_between_the_passes(client, frame, tmp_path, monkeypatch):
    folder = write_parts(parts_of(frame, SIZES), tmp_path / "five")
    second = cluster_codes._second_pass

    def change_first(*arguments):
        other = frame[:1100].assign(town="A")  # without gaps
        pq.write_table(pa.Table.from_pandas(other, preserve_index=False), folder / "0.parquet")
        return second(*arguments)

    monkeypatch.setattr(cluster_codes, "_second_pass", change_first)
    with pytest.raises(RuntimeError, match=r"0\.parquet and 4 more files has changed between the"):
        BayesNetClassifier("nb", "map", cluster=client).fit(folder, "bought")


# ---- the setting


def test_the_setting_is_cloned_and_not_saved(client, frame, tmp_path):
    clf = BayesNetClassifier("nb", "map", cluster=client)
    assert clf.get_params()["cluster"] is client
    assert clone(clf).cluster is client
    assert clone(clf).set_params(cluster="tcp://there:8786").cluster == "tcp://there:8786"
    clf.fit(frame[FEATURES], frame["bought"])
    clf.save(tmp_path / "model.json")
    for again in (discbayes.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(clf))):
        assert again.cluster is None
        assert again.predict(frame[FEATURES]).tolist() == clf.predict(frame[FEATURES]).tolist()
    assert clf.cluster is client
    assert pickle.loads(pickle.dumps(BayesNetClassifier(cluster=3))).cluster == 3
    model, _ = open_document((tmp_path / "model.json").read_bytes())
    model["settings"]["cluster"] = "tcp://elsewhere:8786"
    (tmp_path / "model.json").write_bytes(seal(model))
    with pytest.raises(ModelFileError, match="no parameter 'cluster'"):
        discbayes.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    "cluster", [0, -1, True, 1.5, "here", "tcp://127.0.0.1", "http://there:1", object()]
)
def test_false_settings(cluster, frame):
    with pytest.raises(ValueError, match=r"cluster=.*tcp://10\.0\.0\.5:8786"):
        BayesNetClassifier("nb", "map", cluster=cluster).fit(frame[FEATURES], frame["bought"])


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64)], ids=["silent", "http", "zeros"]
)
def test_a_server_that_is_no_scheduler_is_given_up_soon(frame, monkeypatch, answer):
    """One that accepts and says nothing held `fit` for minutes."""
    monkeypatch.setattr(clusters, "_GREETING", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def accept():
            with suppress(OSError):
                while True:
                    held.append(server.accept()[0])
                    held[-1].sendall(answer)

        threading.Thread(target=accept, daemon=True).start()
        address, start = f"tcp://127.0.0.1:{server.getsockname()[1]}", time.perf_counter()
        with pytest.raises(
            ConnectionError, match=f"no Dask scheduler answers at {address} .*`dask scheduler`"
        ):
            BayesNetClassifier("nb", "map", cluster=address).fit(frame[FEATURES], frame["bought"])
        assert time.perf_counter() - start < 20
        server.shutdown(socket.SHUT_RDWR)
    for connection in held:
        connection.close()


def test_no_scheduler_and_no_workers(client, frame, monkeypatch):
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(
        ConnectionError, match=f"no Dask scheduler answers at {address} .*`dask scheduler`"
    ):
        BayesNetClassifier("nb", "map", cluster=address).fit(frame[FEATURES], frame["bought"])
    monkeypatch.setattr(clusters, "_PATIENCE", 0.2)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as empty:
        with pytest.raises(
            ConnectionError, match="has no workers: start some with `dask worker tcp://"
        ):
            BayesNetClassifier("nb", "map", cluster=empty.scheduler_address).fit(
                frame[FEATURES], frame["bought"]
            )
        closed = distributed.Client(empty, set_as_default=False)
        closed.close()
    with pytest.raises(ValueError, match="a client that is closed"):
        BayesNetClassifier("nb", "map", cluster=closed).fit(frame[FEATURES], frame["bought"])


def test_workers_must_have_the_same_version(client, frame, monkeypatch):
    monkeypatch.setattr(clusters, "__version__", "0.0.1")
    message = (
        rf"tcp://.* \(and 1 more\) has discbayes {discbayes.__version__}, this process 0\.0\.1:"
        r" install"
    )
    with pytest.raises(ImportError, match=message):
        BayesNetClassifier("nb", "map", cluster=client).fit(frame[FEATURES], frame["bought"])
    bare = SimpleNamespace(
        scheduler=SimpleNamespace(address="tcp://there:1"),
        wait_for_workers=lambda n_workers, timeout: None,
        run=lambda function: {"tcp://there:2": None},
    )
    with pytest.raises(
        ImportError,
        match=r"the worker tcp://there:2 of the cluster does not have discbayes: install",
    ):
        clusters._check_workers(bare)


def test_without_the_extra(frame, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs distributed.*pip install 'discbayes\[dask\]'"
    ):
        BayesNetClassifier("nb", "map", cluster=2).fit(frame[FEATURES], frame["bought"])

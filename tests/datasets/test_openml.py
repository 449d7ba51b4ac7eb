"""The OpenML client and the ARFF reader, on replies written here: no test touches the network."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import urllib.error

import pytest
from conftest import no_network

from discbayes.datasets import list_datasets, load_dataset, manifest, openml
from discbayes.datasets.arff import read_arff, split_cells
from discbayes_papers.parts import load_any

pytestmark = pytest.mark.usefixtures("isolated")


# ARFF


@pytest.mark.parametrize(
    "line, cells",
    [
        ("1, 2 ,x", ["1", "2", "x"]),
        ("'a, b',\"c'd\",?", ["a, b", "c'd", "?"]),
        (r"'it\'s',1", ["it's", "1"]),
        ("'',,x", ["", "", "x"]),
        ("'a',", ["a", ""]),
    ],
)
def test_arff_cells(line, cells):
    assert split_cells(line) == cells


@pytest.mark.parametrize(
    "text, message",
    [
        ("@attribute a real\n", "no @data"),
        ("@attribute a\n@data\n", "not an ARFF attribute"),
        ("@attribute a real\n@attribute a real\n@data\n", "twice"),
        ("@attribute a real\n@data\n{0 1}\n", "sparse"),
        ("@attribute a real\n@data\n1,2\n", "row 1 has 2 cells for 1 attributes"),
        ("@attribute a {x,y}\n@data\nx\nz\n", "row 2 has 'z', not a value of 'a'"),
        ("@attribute a {x,y}\n@data\n'x\n", "quote is not closed"),
        ("@attribute name\n@data\n", "not an ARFF attribute: '@attribute name'"),
        ("@attribute 'a b'\n@data\n", "not an ARFF attribute"),
    ],
)
def test_arff_errors(text, message):
    with pytest.raises(ValueError, match=message):
        list(read_arff(text)[1])


@pytest.mark.parametrize(
    "line", ["'q',a" + " " * 10**6 + "b", "'" + r"\'" * 10**6, "'a'" + " " * 10**6 + "b"]
)
def test_arff_lines_take_no_more_time_than_their_length(line):
    """With a pattern that goes back and forth, each of them would take hours."""
    with contextlib.suppress(ValueError):
        assert len(split_cells(line)) == 2
    with contextlib.suppress(ValueError):
        list(read_arff(f"@attribute {line}\n@data\n")[1])


# OpenML on stored replies

ARFF = b"""% a comment
@RELATION toy
@ATTRIBUTE id INTEGER
@ATTRIBUTE 'how big' REAL
@ATTRIBUTE colour {red, 'light blue'}
@ATTRIBUTE Class {yes,no}
@DATA
1, 0.5, red, yes
2, ?, 'light blue', no
3, 1e3, ?, yes
"""


class FakeOpenML:
    """Answers as OpenML does, from memory, and remembers what it was asked."""

    def __init__(self, content: bytes = ARFF, **changes):
        address = "http://api.openml.org/data/v1/download/7/toy.arff"
        about = {
            "id": "7",
            "name": "toy",
            "version": "2",
            "format": "ARFF",
            "url": address,
            "md5_checksum": hashlib.md5(ARFF).hexdigest(),
            "default_target_attribute": "Class",
            "row_id_attribute": "id",
        }
        found = [{"did": 9, "version": 3}, {"did": 7, "version": 2}]
        self.asked: list[str] = []
        self.replies = {
            f"{openml.API}/list/data_name/toy/status/active": (
                json.dumps({"data": {"dataset": found}}).encode()
            ),
            f"{openml.API}/7": json.dumps({"data_set_description": about | changes}).encode(),
            address.replace("http:", "https:"): content,
        }
        self.replies[f"{openml.API}/list/data_name/toy/status/active/data_version/2"] = (
            self.replies[f"{openml.API}/list/data_name/toy/status/active"]
        )

    def __call__(self, address: str) -> bytes:
        self.asked.append(address)
        if address not in self.replies:
            raise urllib.error.HTTPError(address, 412, "Precondition Failed", None, None)  # type: ignore[arg-type]
        return self.replies[address]


def use(monkeypatch, server):
    monkeypatch.setattr(openml, "open_url", server)
    return server


def test_openml_is_fetched_once_and_then_read_from_the_cache(monkeypatch):
    server = use(monkeypatch, FakeOpenML())
    first = load_dataset("openml:Toy", as_frame=False)
    assert server.asked == list(server.replies)[:3]
    assert first.source == "openml"
    assert first.X.tolist() == [[0.5, "red"], [None, "light blue"], [1000.0, None]]
    assert first.y.tolist() == ["yes", "no", "yes"]
    assert (first.feature_names, first.target) == (["how big", "colour"], "Class")
    assert "OpenML data set 7, version 2" in first.description
    use(monkeypatch, no_network)
    second = load_dataset("toy", as_frame=False)
    assert second.source == "cache"
    assert second.X.tolist() == first.X.tolist()
    assert second.y.tolist() == first.y.tolist()
    [info] = list_datasets("cache")
    assert (info.name, info.n_rows, info.n_features, info.n_classes) == ("toy", 3, 2, 2)


def test_openml_version_is_kept_under_its_own_name(monkeypatch):
    server = use(monkeypatch, FakeOpenML())
    load_dataset("openml:toy", version=2)
    load_dataset("openml:toy", version=2)
    assert len(server.asked) == 3
    assert [info.name for info in list_datasets("cache")] == ["toy.v2"]
    with pytest.raises(LookupError, match=r"OpenML has no active data set 'toy \(version 5\)'"):
        load_dataset("openml:toy", version=5)


def test_openml_can_be_forced(monkeypatch):
    server = use(monkeypatch, FakeOpenML())
    for _ in range(2):
        load_dataset("toy", source="openml")
    assert len(server.asked) == 6
    assert len(list_datasets("cache")) == 1


def test_openml_unknown_name(monkeypatch):
    use(monkeypatch, FakeOpenML())
    message = (
        "no data set 'iriss' here, and OpenML has no active data set 'iriss'; nearest names: iris"
    )
    with pytest.raises(LookupError, match=message):
        load_dataset("openml:iriss")


def test_offline():
    with pytest.raises(
        ConnectionError, match=r"'iriss' here, and OpenML cannot be reached .*nearest names: iris"
    ):
        load_dataset("openml:iriss")


@pytest.mark.parametrize("name", ["toy", "patients-2024", "../../toy", "iriss"])
def test_no_name_leaves_the_machine_unless_it_says_so(monkeypatch, name):
    """A mistyped file name of a list of patients was sent to OpenML."""
    server = use(monkeypatch, FakeOpenML())
    with pytest.raises(
        LookupError, match=re.escape(f"no data set {name!r} in embedded, files, cache")
    ) as error:
        load_dataset(name)
    assert f"load_dataset('openml:{name}') looks at OpenML" in str(error.value)
    assert not server.asked


def test_a_name_of_openml_goes_with_no_other_source():
    with pytest.raises(ValueError, match="'openml:toy' is a name of OpenML, but source is 'files'"):
        load_dataset("openml:toy", source="files")


def test_experiments_ask_openml_for_what_is_not_here(monkeypatch):
    server = use(monkeypatch, FakeOpenML())
    assert load_any("toy", as_frame=False).source == "openml"
    assert len(server.asked) == 3
    assert load_any("toy", as_frame=False).source == "cache"
    assert load_any("iris", as_frame=False).source == "embedded"
    assert len(server.asked) == 3


def test_openml_server_error(monkeypatch):
    def broken(address):
        raise urllib.error.HTTPError(address, 503, "Service Unavailable", None, None)  # type: ignore[arg-type]

    use(monkeypatch, broken)
    with pytest.raises(ConnectionError, match="OpenML answered 503"):
        load_dataset("openml:toy")


@pytest.mark.parametrize(
    "server, message",
    [
        (FakeOpenML(ARFF[:-5]), "is damaged: its checksum is"),
        (FakeOpenML(md5_checksum=None), "description of data set 7 lacks md5_checksum"),
        (FakeOpenML(format="Sparse_ARFF"), "as Sparse_ARFF; only dense ARFF"),
        (FakeOpenML(format=["ARFF"]), "description of data set 7 has no text for format"),
        (FakeOpenML(url="file:///etc/hostname"), "not an address of openml.org"),
        (FakeOpenML(url="https://openml.org.example.com/x"), "not an address of openml.org"),
        (FakeOpenML(default_target_attribute="a,b"), "does not have one class column"),
        (
            FakeOpenML(default_target_attribute="how big"),
            "the class 'how big' is of kind 'numeric'",
        ),
    ],
    ids=[
        "damaged",
        "no-checksum",
        "sparse",
        "no-text",
        "local-file",
        "other-host",
        "two-targets",
        "regression",
    ],
)
def test_openml_bad_answers_leave_no_trace(monkeypatch, server, message):
    use(monkeypatch, server)
    with pytest.raises(ValueError, match=message):
        load_dataset("openml:toy")
    assert not manifest.cache_folder().exists()


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>maintenance</html>",
        b"{}",
        b'{"data": 1}',
        b'{"data": {"dataset": 3}}',
        b'{"data": {"dataset": []}}',
        b'{"data": {"dataset": [{"did": "../x", "version": 1}]}}',
        b'{"data": {"dataset": [{"version": 1}]}}',
        b'{"data": {"dataset": [{"did": 7, "version": 1}]}, "data_set_description": [1]}',
        b"[" * 100_000,
    ],
    ids=lambda answer: repr(answer[:60]),
)
def test_openml_answer_of_another_shape(monkeypatch, answer):
    use(monkeypatch, lambda address: answer)
    with pytest.raises(ValueError, match="not what was expected"):
        load_dataset("openml:toy")


def test_a_name_is_never_a_path(monkeypatch, tmp_path):
    server = use(monkeypatch, FakeOpenML())
    hostile = "../../toy"
    address = f"{openml.API}/list/data_name/..%2F..%2Ftoy/status/active"
    server.replies[address] = server.replies[f"{openml.API}/list/data_name/toy/status/active"]
    load_dataset(f"openml:{hostile}")
    assert server.asked[0] == address
    kept = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(kept) == ["cache/MANIFEST.json", "cache/openml-7.csv.gz"]


def test_openml_size_limit(monkeypatch):
    use(monkeypatch, FakeOpenML())
    monkeypatch.setattr(openml, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="larger than 100 bytes"):
        load_dataset("openml:toy")


def test_openml_ignored_columns_and_old_encoding(monkeypatch):
    content = ARFF.replace(b"red", b"rouge\xe9")
    digest = hashlib.md5(content).hexdigest()
    use(monkeypatch, FakeOpenML(content, md5_checksum=digest, ignore_attribute=["how big"]))
    data = load_dataset("openml:toy", as_frame=False)
    assert data.feature_names == ["colour"]
    assert data.X[0, 0] == "rouge\xe9"


def test_half_written_files_never_appear(tmp_path):
    path = tmp_path / "new" / "file.csv.gz"

    def fail(stream):
        stream.write(b"half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError):
        manifest.write_atomically(path, fail)
    assert list(path.parent.iterdir()) == []
    manifest.write_atomically(path, lambda stream: stream.write(b"whole"))
    assert path.read_bytes() == b"whole"

"""Data sets of OpenML, on replies written here: no test touches the network."""

from __future__ import annotations

import email.message
import hashlib
import io
import json
import re
import urllib.error

import pytest
import sklearn.datasets._openml as fetching
from conftest import no_network

from discbayes.datasets import list_datasets, load_dataset, manifest, openml
from discbayes_papers.parts import load_any

pytestmark = pytest.mark.usefixtures("isolated")


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


def column(name, kind, **flags):
    """What OpenML states of a column."""
    return {
        "index": str(["id", "how big", "colour", "Class"].index(name)),
        "name": name,
        "data_type": kind,
        "is_target": "false",
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": "0",
    } | flags


COLUMNS = [
    column("id", "numeric", is_row_identifier="true"),
    column("how big", "numeric"),
    column("colour", "nominal"),
    column("Class", "nominal", is_target="true"),
]
NUMBER = re.compile(r"/data/(?:(features|qualities)/)?7$")


class Response(io.BytesIO):
    """What urlopen gives."""

    def info(self):
        return email.message.Message()


class FakeOpenML:
    """Answers as OpenML does, from memory, and remembers what it was asked."""

    def __init__(self, content: bytes = ARFF, columns=COLUMNS, **changes):
        address = "https://api.openml.org/data/v1/download/7/toy.arff"
        about = {
            "id": "7",
            "name": "toy",
            "version": "2",
            "format": "ARFF",
            "status": "active",
            "description": "A toy.",
            "file_id": "7",
            "url": address,
            "md5_checksum": hashlib.md5(ARFF).hexdigest(),
            "default_target_attribute": "Class",
            "row_id_attribute": "id",
        }
        found = [{"did": 9, "version": 3}, {"did": 7, "version": 2}]
        self.content, self.size = content, len(content)
        self.asked: list[str] = []
        self.replies = {
            f"{openml.API}/list/data_name/toy/status/active": (
                json.dumps({"data": {"dataset": found}}).encode()
            ),
            f"{openml.API}/7": json.dumps({"data_set_description": about | changes}).encode(),
        }
        self.replies[f"{openml.API}/list/data_name/toy/status/active/data_version/2"] = (
            self.replies[f"{openml.API}/list/data_name/toy/status/active"]
        )
        self.tables = {
            "features": json.dumps({"data_features": {"feature": columns}}).encode(),
            "qualities": b'{"data_qualities": {"quality": []}}',
        }

    def __call__(self, address: str) -> bytes:
        self.asked.append(address)
        if address not in self.replies:
            raise urllib.error.HTTPError(address, 412, "Precondition Failed", None, None)  # type: ignore[arg-type]
        return self.replies[address]

    def urlopen(self, request) -> Response:
        """What scikit-learn asks: whichever of OpenML's servers, the same answers."""
        kind = NUMBER.search(request.full_url)
        if kind is None:
            return Response(self.content)
        return Response(self.tables[kind[1]] if kind[1] else self.replies[f"{openml.API}/7"])


def use(monkeypatch, server):
    monkeypatch.setattr(openml, "open_url", server)
    if isinstance(server, FakeOpenML):
        monkeypatch.setattr(openml, "file_size", lambda address: server.size)
        monkeypatch.setattr(fetching, "urlopen", server.urlopen)
    return server


def test_openml_is_fetched_once_and_then_read_from_the_cache(monkeypatch):
    server = use(monkeypatch, FakeOpenML())
    first = load_dataset("openml:Toy", as_frame=False)
    assert server.asked == list(server.replies)[:2]
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
    assert len(server.asked) == 2
    assert [info.name for info in list_datasets("cache")] == ["toy.v2"]
    with pytest.raises(LookupError, match=r"OpenML has no active data set 'toy \(version 5\)'"):
        load_dataset("openml:toy", version=5)


def test_openml_can_be_forced(monkeypatch):
    server = use(monkeypatch, FakeOpenML())
    for _ in range(2):
        load_dataset("toy", source="openml")
    assert len(server.asked) == 4
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
    assert len(server.asked) == 2
    assert load_any("toy", as_frame=False).source == "cache"
    assert load_any("iris", as_frame=False).source == "embedded"
    assert len(server.asked) == 2


def test_openml_server_error(monkeypatch):
    def broken(address):
        raise urllib.error.HTTPError(address, 503, "Service Unavailable", None, None)  # type: ignore[arg-type]

    use(monkeypatch, broken)
    with pytest.raises(ConnectionError, match="OpenML answered 503"):
        load_dataset("openml:toy")


@pytest.mark.parametrize(
    "server, message",
    [
        (FakeOpenML(ARFF[:-5]), "OpenML's 'toy' cannot be read: .*checksum"),
        (FakeOpenML(md5_checksum=None), "description of data set 7 lacks md5_checksum"),
        (FakeOpenML(format="Sparse_ARFF"), "as Sparse_ARFF; only dense ARFF"),
        (FakeOpenML(format=["ARFF"]), "description of data set 7 has no text for format"),
        (FakeOpenML(url="file:///etc/hostname"), "not an https address of openml.org"),
        (FakeOpenML(url="https://openml.org.example.com/x"), "not an https address of openml.org"),
        (FakeOpenML(url="http://openml.org/x"), "not an https address of openml.org"),
        (FakeOpenML(default_target_attribute="a,b"), "does not have one class column"),
        (
            FakeOpenML(default_target_attribute="how big"),
            "the class 'how big' is numeric",
        ),
    ],
    ids=[
        "damaged",
        "no-checksum",
        "sparse",
        "no-text",
        "local-file",
        "other-host",
        "no-https",
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
    server = use(monkeypatch, FakeOpenML())
    server.size = openml.MAX_BYTES + 1
    with pytest.raises(ValueError, match=r"toy\.arff is larger than 500000000 bytes"):
        load_dataset("openml:toy")
    monkeypatch.setattr(openml, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="larger than 100 bytes"):
        load_dataset("openml:toy")


def test_openml_ignored_columns_and_free_text(monkeypatch):
    content = ARFF.replace(b"{red, 'light blue'}", b"STRING").replace(b"red", b"rot")
    digest = hashlib.md5(content).hexdigest()
    columns = [
        COLUMNS[0],
        column("how big", "numeric", is_ignore="true"),
        column("colour", "string"),
        COLUMNS[3],
    ]
    use(monkeypatch, FakeOpenML(content, columns, md5_checksum=digest))
    data = load_dataset("openml:toy", as_frame=False)
    assert data.feature_names == ["colour"]
    assert data.X[:, 0].tolist() == ["rot", "light blue", None]


def test_openml_without_pandas_gives_the_same(monkeypatch):
    use(monkeypatch, FakeOpenML())
    expected = load_dataset("toy", source="openml", as_frame=False)
    monkeypatch.setattr(openml, "is_installed", lambda name: name != "pandas")
    found = load_dataset("toy", source="openml", as_frame=False)
    assert found.X.tolist() == expected.X.tolist()
    assert found.y.tolist() == expected.y.tolist()
    assert found.categorical == expected.categorical == ["colour"]


@pytest.mark.parametrize(
    "content", [ARFF.replace(b"red, yes", b"green, yes"), ARFF.replace(b"3, 1e3", b"3, 1, 1e3")]
)
def test_openml_files_that_are_not_as_declared(monkeypatch, content):
    use(monkeypatch, FakeOpenML(content, md5_checksum=hashlib.md5(content).hexdigest()))
    with pytest.raises(ValueError, match="OpenML's 'toy' cannot be read"):
        load_dataset("openml:toy")
    assert not manifest.cache_folder().exists()


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

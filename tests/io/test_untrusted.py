"""What `docs/security.md` says: nothing in a file is run, limits hold before memory is taken,
messages stay short.
"""

from __future__ import annotations

import ast
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import damage
import discbayes
from discbayes import BayesNetClassifier
from discbayes.datasets import openml
from discbayes.io import BifError, ModelFileError, bif_read, document, load, model, read_bif
from discbayes.io.document import checksum
from discbayes.io.model import MAX_DRAWS, MAX_FACTOR_SIZE, MAX_FILE_CELLS
from discbayes.io.validation import MAX_DEPTH

PACKAGE = Path(discbayes.__file__).parent
RUNS = {"eval", "exec", "compile", "__import__"}
UNPICKLES = {"load", "loads", "Unpickler", "read_pickle"}
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "yaml"}
OWN = {
    "engine/dask.py": (
        "arguments on their way to the workers of a Dask cluster, which run code by design"
    ),
    "engine/shards.py": "what one process has put into its own temporary folder",
    "kernels/_cache.py": "compiled kernels in the cache of numba, which is code itself",
    "scoring/block_parts.py": "tables on their way to the workers of a Dask cluster",
    "evaluation/comparison/cells.py": (
        "what the processes of one run share in a temporary folder of its own"
    ),
}


# Nothing is run


def calls(path):
    """The calls in a file as dotted names, with their keywords."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield (
                ast.unparse(node.func),
                {word.arg: ast.unparse(word.value) for word in node.keywords},
            )


def runs_content(name, keywords):
    """Whether a call may run what it reads."""
    room, _, last = name.rpartition(".")
    if (
        name in RUNS
        or (room in MODULES and last in UNPICKLES)
        or last == "read_pickle"
        or name == "os.system"
    ):
        return True
    return name in ("np.load", "numpy.load") and keywords.get("allow_pickle") != "False"


def test_no_reader_runs_what_it_reads():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        wrong = [name for name, keywords in calls(path) if runs_content(name, keywords)]
        if wrong:
            found[path.relative_to(PACKAGE).as_posix()] = wrong
    assert set(found) <= set(OWN), found
    assert all(len(names) == 1 for names in found.values()), found


@pytest.mark.parametrize(
    "code",
    [
        "eval(x)",
        "pickle.loads(x)",
        "joblib.load(x)",
        "np.load(x)",
        "np.load(x, allow_pickle=True)",
        "yaml.load(x)",
    ],
)
def test_the_check_above_finds_what_it_looks_for(code, tmp_path):
    (tmp_path / "code.py").write_text(f"y = {code}\n")
    assert [runs_content(*call) for call in calls(tmp_path / "code.py")] == [True]


@pytest.mark.parametrize("room", ["io", "datasets"])
def test_readers_import_nothing_that_unpickles(room):
    for path in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {
                *MODULES,
                "subprocess",
                "importlib",
            }, path


# Limits


@pytest.fixture
def refuse(tmp_path):
    """Load a document as a file; the message of the error."""

    def message(content, **limits):
        path = tmp_path / "bad.json"
        path.write_bytes(content if isinstance(content, bytes) else damage.sealed(content))
        with pytest.raises(ModelFileError) as caught:
            load(path, **limits)
        assert len(str(caught.value)) < 1000
        assert str(caught.value).isprintable()
        return str(caught.value)

    return message


def test_the_page_names_the_limits_that_hold():
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    assert (model.MAX_BYTES, bif_read.MAX_BYTES, openml.MAX_BYTES) == (
        1 << 30,
        100_000_000,
        500_000_000,
    )
    for text in ("1 GiB", "100 MB", "500 MB"):
        assert text in page
    for limit in (
        MAX_DEPTH,
        MAX_FILE_CELLS,
        MAX_DRAWS,
        document.MAX_VALUES,
        bif_read.MAX_VALUES,
        bif_read.MAX_CELLS,
    ):
        assert f"| {limit:,}" in page


def test_the_memory_of_a_small_file_is_small(tmp_path):
    """Whatever the limits allow: reading asks for no more than there is."""
    (tmp_path / "model.json").write_bytes(damage.good_files()["default"])
    load(tmp_path / "model.json")
    tracemalloc.start()
    load(tmp_path / "model.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_the_number_of_values_is_looked_at_before_they_are_made(refuse):
    content = b'{"format": "discbayes-model", "model": [' + b"[]," * 2_000_000 + b"[]]}"
    tracemalloc.start()
    assert "more than 1000000 values, the limit of max_values" in refuse(
        content, max_values=1_000_000
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(content)
    assert "more than 5000000 values" in refuse(b"[" + b"1," * 5_000_000 + b"1]")


def test_a_file_at_the_limit_of_values_is_read(tmp_path):
    content = damage.good_files()["default"]
    (tmp_path / "model.json").write_bytes(content)
    n_values = document.count_values(content)
    load(tmp_path / "model.json", max_values=n_values, max_bytes=len(content))
    for limits in ({"max_values": n_values - 1}, {"max_bytes": len(content) - 1}):
        with pytest.raises(ModelFileError, match=f"limit of {next(iter(limits))}"):
            load(tmp_path / "model.json", **limits)


def test_depth(refuse, tmp_path):
    document = json.loads(damage.good_files()["default"])
    settings = document["model"]["settings"]
    inner = 3  # the file, the model and its settings
    settings["domains"] = _nested(MAX_DEPTH - inner)
    (tmp_path / "model.json").write_bytes(damage.sealed(document))
    load(tmp_path / "model.json")
    settings["domains"] = _nested(MAX_DEPTH - inner + 1)
    assert f"nested too deeply, in more than {MAX_DEPTH} levels" in refuse(document)


def _nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_what_is_nested_too_deeply_to_be_read_is_not_written(tmp_path):
    X, y = damage.shop_rows()
    classifier = (
        BayesNetClassifier("nb", "map").fit(X, y).set_params(class_prior=_nested(MAX_DEPTH))
    )
    classifier.save(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="class_prior was .*which a model file cannot hold"):
        assert load(tmp_path / "model.json").class_prior is None


@pytest.mark.parametrize(
    "name, most, setting, value",
    [
        ("max_cells", MAX_FILE_CELLS, "max_cells", MAX_FILE_CELLS),
        ("max_factor_size", MAX_FACTOR_SIZE, "max_cells", 6_400_000_000),
        ("n_draws", MAX_DRAWS, "beyond_max_cells", MAX_DRAWS),
    ],
)
def test_what_a_file_may_let_a_prediction_take(name, most, setting, value, refuse, tmp_path):
    document = json.loads(damage.good_files()["default"])
    document["model"]["settings"][name] = most
    (tmp_path / "model.json").write_bytes(damage.sealed(document))
    assert getattr(load(tmp_path / "model.json"), setting) == value
    document["model"]["settings"][name] = most + 1
    assert f"settings.{name} must be at most {most} in a file" in refuse(document)


def test_columns_without_names_in_the_domain(refuse):
    document = json.loads(damage.good_files()["default"])
    document["model"]["feature_names_in"][0] = "another"
    assert "feature_names_in must be the names of the features" in refuse(document)


def test_a_table_with_more_parents_than_an_array_has_axes(refuse):
    document = json.loads(damage.claiming(json.loads(damage.good_files()["default"]), 100))
    model = document["model"]
    for variable in model["domain"]["features"]:
        variable["values"] = [True]
    model["tables"]["log_theta"] = damage.packed(np.zeros(300))
    assert "feature 99 has 99 parents, and a table can have at most" in refuse(document)


# Messages

LONG = "x" * 2_000_000
HOSTILE = "\x1b[31m\nred\u202e"


@pytest.mark.parametrize("text", [LONG, HOSTILE], ids=["long", "hostile"])
@pytest.mark.parametrize(
    "place",
    [
        ("library",),
        ("format",),
        ("model", "settings", "structure"),
        ("model", "settings", "unknown"),
        ("model", "class_dtype"),
        ("model", "domain", "features", 1, "kind"),
        ("model", "tables", "log_prior", "dtype"),
    ],
    ids=lambda place: place[-1],
)
def test_messages_quote_little_of_a_file(place, text, refuse):
    document = json.loads(damage.good_files()["default"])
    if place == ("library",):
        document["version"] = 6
    refuse(damage.changed(document, place, text))


@pytest.mark.parametrize("text", [LONG, HOSTILE], ids=["long", "hostile"])
def test_messages_quote_little_of_names(text, refuse):
    document = json.loads(damage.good_files()["default"])
    for place in (("model", "settings", text), ("model", text), ("model", "calibration", text)):
        refuse(damage.changed(document, place, 1))
    learner = {"learner": text, "params": {}}
    refuse(damage.changed(document, ("model", "settings", "structure"), learner))
    refuse(damage.changed(document, ("model", "domain", "target", "values"), [text, 1, 2]))
    features = document["model"]["domain"]["features"]
    features[0]["name"] = features[1]["name"] = text
    refuse(document)


def test_a_note_about_a_setting_is_one_line_without_control_characters(tmp_path):
    document = json.loads(damage.good_files()["default"])
    document["model"]["settings"]["structure"] = {"opaque": HOSTILE + LONG}
    (tmp_path / "model.json").write_bytes(damage.sealed(document))
    with pytest.warns(UserWarning, match="which a model file cannot hold") as caught:
        load(tmp_path / "model.json")
    assert "\x1b" not in str(caught[0].message)
    assert "\n" not in str(caught[0].message)
    assert len(str(caught[0].message)) < 1000


def test_messages_of_bif_files_are_short(tmp_path):
    path = tmp_path / "in.bif"
    names = [f"{LONG[:100_000]}{i}" for i in range(20)]
    path.write_text(
        "".join(f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for name in names)
    )
    with pytest.raises(BifError) as caught:
        read_bif(path)
    assert len(str(caught.value)) < 1000
    path.write_text(f'variable "{HOSTILE[0]}c" {{ type discrete [ 2 ] {{ a, b }}; }}\n')
    with pytest.raises(BifError) as caught:
        read_bif(path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "part", ["/*", "/", " ", '"', "\n", "a ", "/ /", "//\n", "{", "property ", "network a { } "]
)
def test_bif_files_take_no_more_time_than_their_length(part, tmp_path):
    """With a pattern that goes back and forth, or lines counted anew at each token, some would take
    hours.
    """
    path = tmp_path / "in.bif"
    path.write_text(part * (400_000 // len(part)))
    with pytest.raises(BifError):
        read_bif(path)


# Files of other versions


def of_version(library, **fields):
    document = json.loads(damage.good_files()["default"])
    document["model"]["settings"] |= fields
    document["library"] = library
    document["sha256"] = checksum(document)
    return json.dumps(document).encode()


def test_a_newer_release_with_the_same_format_is_read(tmp_path):
    (tmp_path / "model.json").write_bytes(of_version("99.1.0"))
    assert load(tmp_path / "model.json").n_features_in_ == 4


@pytest.mark.parametrize(
    "library, told",
    [("99.1.0", True), (discbayes.__version__, False), ("0.0.1", False), ("", False)],
)
def test_a_setting_of_a_newer_release_says_what_to_do(library, told, refuse):
    message = refuse(of_version(library, invented=1))
    assert "has no parameter 'invented'" in message
    assert ("upgrade discbayes to read it" in message) == told

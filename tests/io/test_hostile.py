"""Small files that ask for much: sizes that follow from others, values that share a hash, numbers
of any size.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import damage
from discbayes import BayesNetClassifier
from discbayes.data import Domain, FrameEncoder, Variable
from discbayes.io import ModelFileError, document, load, model, read_bif
from discbayes.io.bif_notes import read_notes
from discbayes.io.domains import MAX_CLASS_BYTES
from discbayes.io.validation import MAX_EQUAL_HASHES

MODULUS = 2**61 - 1  # of the hash of a whole number
EQUAL_HASHES = [k * MODULUS for k in range(1, 6001)]


@contextmanager
def little_memory(n_bytes):
    """At most so many bytes at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


@contextmanager
def little_time(seconds):
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


@pytest.fixture
def default():
    return damage.documents()["default"]


@pytest.fixture
def read(tmp_path):
    """Load a document as a file."""

    def loaded(content):
        path = tmp_path / "model.json"
        path.write_bytes(damage.sealed(content))
        return load(path)

    return loaded


@pytest.fixture
def refuse(read):
    """The message of the error."""

    def message(content):
        with pytest.raises(ModelFileError) as caught:
            read(content)
        return str(caught.value)

    return message


def network(document, features, classes=("a", "b"), parents=None, log_theta=None):
    """The document with another network: values by feature, uniform tables."""
    inner = document["model"]
    inner.pop("calibration", None)
    no_cuts = {"cuts": None, "missing_value": False}
    inner["domain"]["features"] = [
        {"name": f"x{i}", "kind": "categorical", "values": list(values), **no_cuts}
        for i, values in enumerate(features)
    ]
    inner["domain"]["target"] = {
        "name": "y",
        "kind": "categorical",
        "values": list(classes),
        **no_cuts,
    }
    inner["class_dtype"] = "str" if isinstance(classes[0], str) else "object"
    parents = parents or [[] for _ in features]
    inner["structure"] = {"parents": parents, "class_children": [True] * len(features)}
    inner["n_features_in"], inner["feature_names_in"] = len(features), None
    sizes = [
        len(v) * int(np.prod([len(features[p]) for p in g]))
        for v, g in zip(features, parents, strict=True)
    ]
    cards = [len(values) for values in features]
    if log_theta is None:
        log_theta = -np.log(np.repeat(cards, np.multiply(sizes, len(classes))))
    prior = np.full(len(classes), -np.log(len(classes)))
    inner["tables"] = {"log_prior": damage.packed(prior), "log_theta": damage.packed(log_theta)}
    return document


def with_families(document, features, parents):
    """A document with counts of families, of which there are none."""
    inner = network(document, features)["model"]
    n_cells = 2 * sum(map(len, features))
    structure = {"parents": parents, "class_children": [True] * len(features)}
    inner["tallies"] = {
        "rows": damage.packed([1, 1], "<i8"),
        "class_count": damage.packed([1.0, 1.0]),
        "cells": damage.packed(np.ones(n_cells), "|u1"),
        "pairs": None,
        "families": {"structure": structure, "cells": damage.packed(np.ones(4), "|u1")},
        "weighted": False,
        "fixed_classes": False,
    }
    return document


# Sizes that follow from others


def test_one_long_class_label_among_many_is_refused_before_the_array_is_made(default, refuse):
    classes = ["x" * 5000, *(f"c{i}" for i in range(5000))]  # 100 MB as an array of strings
    content = network(default, [["u"]], classes)
    with little_memory(20_000_000):
        assert (
            "5,001 class labels, of which the longest has 5,000 characters, takes 100.0 MB"
            in refuse(content)
        )


def test_long_class_labels_are_read_as_objects(default, read):
    classes = ["x" * 5000, *(f"c{i}" for i in range(5000))]
    content = network(default, [["u"]], classes)
    content["model"]["class_dtype"] = "object"
    with little_memory(20_000_000):
        found = read(content)
        assert found.predict([["u"]]).tolist() == classes[:1]


def test_arrays_of_class_labels_up_to_the_limit_are_read(default, read):
    longest = MAX_CLASS_BYTES // 4 // 100
    classes = ["x" * longest, *(f"c{i}" for i in range(99))]
    assert read(network(default, [["u"]], classes)).classes_.tolist() == classes


def test_a_bif_file_with_one_long_class_label(tmp_path):
    classes = ["x" * 4000, *(f"c{i}" for i in range(4000))]
    even = ", ".join([repr(1 / len(classes))] * len(classes))
    (tmp_path / "net.bif").write_text(
        f"variable c {{ type discrete [ {len(classes)} ] {{ {', '.join(classes)} }}; }}\n"
        "variable x { type discrete [ 1 ] { u }; }\n"
        f"probability ( c ) {{ table {even}; }}\nprobability ( x ) {{ table 1; }}\n"
    )
    with little_memory(20_000_000):  # 64 MB as an array of strings
        assert read_bif(tmp_path / "net.bif", "c").posterior([["u"]]).shape == (1, 4001)


@pytest.mark.parametrize("cuts", [None, (0.0, 900.0)])
def test_look_up_tables_of_many_columns_are_short(cuts):
    """Whole numbers are looked up in tables, whose length follows from the values: few columns may
    have long ones.
    """
    values = () if cuts else (0, 900)
    features = tuple(
        Variable(f"x{i}", "numeric" if cuts else "categorical", values, cuts) for i in range(20_000)
    )
    domain = Domain(features, Variable("y", "categorical", ("a", "b")))
    with little_memory(60_000_000):  # 160 MB and more with a thousand entries for each column
        encoder = FrameEncoder.from_domain(domain)
    rows = np.array([[0], [5], [899], [900], [-7]]).repeat(20_000, axis=1)
    few = FrameEncoder.from_domain(Domain(features[:10], domain.target)).transform(rows[:, :10])
    expected = np.searchsorted(cuts, rows[:, 0], side="right").tolist() if cuts else [0, 2, 2, 1, 2]
    assert few.tolist() == [expected] * 10
    assert (encoder.transform(rows) == few[:1]).all()


def test_a_question_about_a_variable_of_many_values_among_many_columns(default, read):
    classifier = read(network(default, [[f"v{i}" for i in range(40_000)], *[["u", "v"]] * 2000]))
    with little_memory(100_000_000):  # 160 MB and more if all values were rows of codes at once
        found = classifier.network_.query(["x0", "y"], {"x7": "u"})
    np.testing.assert_allclose(found.probabilities, np.full((40_000, 2), 1 / 80_000))


def test_products_of_many_values_are_not_computed_to_the_end(default, refuse):
    n = 60_000
    content = with_families(
        default, [["u", "v"]] * n, [[] for _ in range(n - 1)] + [list(range(n - 1))]
    )
    assert "tallies.families.cells has 4 cells, too few for the domain and structure" in refuse(
        content
    )


def test_counts_of_families_with_more_parents_than_an_array_has_axes(default, refuse):
    content = with_families(default, [["u"]] * 100, [[] for _ in range(99)] + [list(range(99))])
    content["model"]["tallies"]["families"]["cells"] = damage.packed(np.ones(200), "|u1")
    assert "tallies.families: feature 99 has 99 parents" in refuse(content)


def test_arrays_without_cells_claim_no_endless_axis(default, refuse):
    default["model"]["settings"]["class_prior"] = {"array": damage.packed([], shape=[10**9, 0])}
    assert "0 bytes do not fill the shape [1000000000, 0]" in refuse(default)


def test_lists_and_objects_count_for_the_memory_that_they_take(default, refuse):
    default["model"]["history"] = [{"a": 1}] * 600_000
    assert "more than 5000000 values" in refuse(default)
    assert document.count_values(b'[{"a": 1}, []]') == 3 + 8 + 1 + 3


def test_too_little_memory_is_an_error_of_the_file(default, refuse, monkeypatch):
    def fail(content):
        raise MemoryError

    monkeypatch.setattr(model, "_restore", fail)
    assert "cannot be loaded: there is not enough memory to read it" in refuse(default)


# Values that share a hash


@pytest.mark.parametrize(
    "place, value",
    [
        (("domain", "features", 1, "values"), EQUAL_HASHES),
        (("domain", "target", "values"), EQUAL_HASHES),
        (("settings", "categorical"), {"set": EQUAL_HASHES}),
        (("settings", "categorical"), {"set": [{"tuple": [k]} for k in EQUAL_HASHES]}),
        (("settings", "class_weight"), {"dict": [[k, 1] for k in EQUAL_HASHES]}),
        (("settings", "domains"), {"dict": [["colour", {"set": EQUAL_HASHES}]]}),
        (("history",), [{"rates": {"dict": [[k, 0.5] for k in EQUAL_HASHES]}}]),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_values_of_one_hash_are_refused(place, value, default, refuse):
    content = damage.changed(default, ("model", *place), value)
    assert (
        "6000 entries have the same hash, so that looking them up would take long: use strings"
        in refuse(content)
    )


def test_parents_of_one_hash_are_refused_before_they_are_compared(default, refuse):
    default["model"]["structure"]["parents"][0] = [k * MODULUS for k in range(1, 30_001)]
    with little_time(5):
        assert "but the features are 0 to 3" in refuse(default)


def test_bif_notes_of_one_hash_are_refused(tmp_path):
    notes = ",".join(f"i:{k}" for k in EQUAL_HASHES)
    even = ", ".join([repr(1 / 6000)] * 6000)
    (tmp_path / "net.bif").write_text(
        f"variable x {{ type discrete [ 6000 ] {{ {', '.join(f'v{k}' for k in range(6000))}"
        " };\nproperty discbayes_name = x ;\nproperty discbayes_kind = categorical ;\nproperty"
        f" discbayes_values = {notes} ; }}\nvariable c {{ type discrete [ 2 ] {{ a, b }};"
        f" }}\nprobability ( c ) {{ table 0.5, 0.5; }}\nprobability ( x ) {{ table {even}; }}\n"
    )
    with pytest.raises(ValueError, match="6000 entries have the same hash"):
        read_bif(tmp_path / "net.bif", "c")


def test_a_note_in_many_parts_takes_time_in_proportion_to_its_length():
    parts = [f"discbayes_values = {'x' * 500}"] * 20_000
    with little_time(2):
        assert len(read_notes(parts)["values"]) == 10_000_000


def test_large_whole_numbers_of_other_hashes_are_read_and_answer(default, read):
    rng = np.random.default_rng(0)
    values = [int(high) << 64 | int(low) for high, low in rng.integers(2**62, size=(3000, 2))]
    values += [k * MODULUS for k in range(MAX_EQUAL_HASHES)]
    classifier = read(network(default, [values]))
    found = classifier.network_.encode(np.array([[values[7]], [values[-3]], [1]], dtype=object))
    assert found.tolist() == [[7, len(values) - 3, len(values)]]
    assert classifier.predict_proba([[values[7]]]).tolist() == [[0.5, 0.5]]


# Numbers of any size


@pytest.mark.parametrize(
    "parents", [[[], [], []], [[], [0], [1]], [[], [0], [0, 1]]], ids=["nb", "chain", "kdb"]
)
@pytest.mark.parametrize("number", [1e99, -1e99, 1e100, -1e100, 800.0, -np.inf])
def test_finite_numbers_of_any_size_answer(number, parents, default, read):
    sizes = [2 * 2 ** (len(group) + 1) for group in parents]
    rng = np.random.default_rng(1)
    log_theta = rng.normal(size=sum(sizes))
    log_theta[2] = number  # x0 = 1 in class a
    classifier = read(network(default, [["u", "v"]] * 3, parents=parents, log_theta=log_theta))
    rows = np.array(
        [[None] * 3, ["v", None, "u"], ["u", None, None], ["v", "u", "v"]], dtype=object
    )
    shares = classifier.predict_proba(rows)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    expected = {1.0: [1.0, 0.0], -1.0: [0.0, 1.0]}[np.sign(number)]
    np.testing.assert_allclose(
        shares[[1, 3]], [expected] * 2, atol=1e-200 if abs(number) > 1000 else 1e-300
    )
    assert np.isfinite(classifier.network_.query(["x1", "y"], {"x0": "v"}).probabilities).all()


@pytest.mark.parametrize("name", ["log_prior", "log_theta", "prior_offset"])
@pytest.mark.parametrize("number", [np.nan, np.inf, 1.1e100, -1.1e100, 1e308])
def test_numbers_without_meaning_are_refused(name, number, default, refuse):
    tables = default["model"]["tables"]
    n_classes = len(default["model"]["domain"]["target"]["values"])
    values = damage.unpacked(tables[name]) if name in tables else np.zeros(n_classes)
    values[0] = number
    tables[name] = damage.packed(values)
    assert f"tables.{name} holds NaN, infinity or numbers beyond 1e+100" in refuse(default)


@pytest.mark.parametrize("odds", [[-1e308, 1e308], [0.0, 2e9], [np.nan, 1.0]])
def test_thresholds_that_no_log_odds_reach_are_refused(odds, refuse):
    content = damage.documents()["isotonic"]
    calibration = content["model"]["calibration"]
    calibration["log_odds"][0] = damage.packed(odds)
    calibration["probabilities"][0] = damage.packed([0.25, 0.75])
    assert (
        "calibration: the log-odds of an isotonic calibration must be finite (at most ±1e+09)"
        in refuse(content)
    )


POOLS = {
    "scale": ("scale", 0.001, "the scale of a pool is from 0.01 to 10.0, not 0.001"),
    "large scale": ("scale", 1e300, "the scale of a pool is from 0.01 to 10.0, not 1e+300"),
    "no scale": ("scale", ..., "calibration has wrong fields: missing 'scale'"),
    "doubt": ("doubt", -0.1, "doubt of a pool is a share, not -0.1"),
    "usual_missing": ("usual_missing", 1.5, "usual_missing of a pool is a share, not 1.5"),
    "unusual": ("unusual", 1.5, "unusual of a pool is a share, not 1.5"),
    "unusual that is no number": ("unusual", "0.1", "unusual"),
    "text": ("doubt", "0.1", "doubt"),
    "no tables": ("tables", {}, "calibration: tables has wrong fields: missing 'log_prior'"),
}


@pytest.mark.parametrize("name", POOLS)
def test_pools_out_of_range_are_refused(name, refuse):
    field, value, message = POOLS[name]
    document = damage.changed(damage.documents()["default"], ("model", "calibration", field), value)
    assert message in refuse(document)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e308])
@pytest.mark.parametrize("name", ["log_prior", "log_theta"])
def test_generative_tables_without_meaning_are_refused(name, number, refuse):
    document = damage.documents()["default"]
    tables = document["model"]["calibration"]["tables"]
    values = damage.unpacked(tables[name])
    values[-1] = number
    tables[name] = damage.packed(values)
    assert f"calibration: tables.{name} holds NaN, infinity" in refuse(document)


@pytest.mark.parametrize("name", ["log_prior", "log_theta"])
def test_generative_tables_of_another_network_are_refused(name, refuse):
    document = damage.documents()["default"]
    other = damage.documents()["isotonic"]["model"]["tables"]
    tables = document["model"]["calibration"]["tables"]
    tables[name] = other[name] if name == "log_theta" else damage.packed([0.0])
    assert "calibration: tables" in refuse(document)


@pytest.mark.parametrize("doubt", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("usual", [0.0, 1.0])
def test_pools_of_impossible_values_give_probabilities(doubt, usual, read):
    """Numbers that no fit writes, and that are valid."""
    document = damage.documents()["default"]
    calibration = document["model"]["calibration"]
    calibration |= {"doubt": doubt, "usual_missing": usual}
    calibration["class_shares"] = damage.packed([0.0, 0.400002, 0.6])
    tables = (document["model"]["tables"], calibration["tables"])
    for one, number in zip(tables, (-np.inf, -1e100), strict=True):
        for name in ("log_prior", "log_theta"):
            values = damage.unpacked(one[name])
            values[1::3] = number
            one[name] = damage.packed(values)
    classifier = read(document)
    X, _ = damage.shop_rows()
    X = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.5)
    X.iloc[0] = None
    shares = classifier.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-9)
    found = classifier.explain(X)
    assert not np.isnan(found.log_odds).any()
    assert np.isfinite(classifier.value_of_information({}).gain).all()


# The same bytes


def test_a_file_has_no_time_of_day(tmp_path):
    X, y = damage.shop_rows()
    classifier = BayesNetClassifier("tan", "cl", random_state=1).fit(X, y)
    assert all("seconds" in step for step in classifier.history_)
    classifier.save(tmp_path / "model.json")
    history = json.loads((tmp_path / "model.json").read_bytes())["model"]["history"]
    kept = [
        {key: value for key, value in step.items() if key != "seconds"}
        for step in classifier.history_
    ]
    assert load(tmp_path / "model.json").history_ == kept
    assert len(history) == len(kept) > 0
    assert not any("seconds" in step for step in history)


def test_files_of_earlier_versions_keep_their_seconds(default, read):
    default["model"]["history"] = [{"iteration": 1, "score": -2.5, "seconds": 0.25}]
    assert read(default).history_ == [{"iteration": 1, "score": -2.5, "seconds": 0.25}]


@pytest.mark.parametrize(
    "structure, parameters", [("tan", "cl"), ("kdb", "map"), ("ghc", "map"), ("nb", "mm")]
)
def test_threads_do_not_show_in_a_file(structure, parameters, tmp_path):
    X, y = damage.shop_rows(200)
    contents = []
    for n_jobs in (1, 2):
        classifier = BayesNetClassifier(structure, parameters, random_state=1, n_jobs=n_jobs).fit(
            X, y
        )
        classifier.set_params(n_jobs=None).save(tmp_path / "model.json")
        contents.append((tmp_path / "model.json").read_bytes())
    assert contents[0] == contents[1]


FITTED = """
import sys
import damage
from discbayes import BayesNetClassifier

class Foreign:
    pass

X, y = damage.shop_rows(120)
learners = {"tan": "cl", "ghc": "map", "superparent": "map", "order": "ml", "anneal": "map"}
for name, parameters in learners.items():
    model = BayesNetClassifier(name, parameters, random_state=1, categorical=["old", "flat"])
    model.fit(X, y)
    model.set_params(categorical={"size", "colour", "old", "flat"})
    model.set_params(class_weight=Foreign(), discretizer=Foreign.__init__)
    model.save(sys.argv[1] + name)
"""


def test_the_same_fit_in_another_process_gives_the_same_bytes(tmp_path):
    """With other hashes of strings, and other addresses of objects."""
    found = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        subprocess.run(
            [sys.executable, "-c", FITTED, f"{folder}{os.sep}"],
            env=environment,
            check=True,
            timeout=300,
        )
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert len(found[0]) == 5
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []

"""Rows of all shapes, settings, and networks beyond exact inference, by numpy alone."""

from __future__ import annotations

import datetime
import json
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import conformance
import damage
import oracle
from conformance import fitted
from discbayes import (
    BayesNet,
    BayesNetClassifier,
    BayesNetEnsemble,
    Between,
    Likelihood,
    Not,
    OneOf,
    Structure,
)
from discbayes.calibration import (
    MAX_EXPONENT,
    MAX_SCALE,
    MAX_TEMPERATURE,
    MIN_SCALE,
    MIN_TEMPERATURE,
    POOL_EXPONENT,
    RARE,
)
from discbayes.classifier.ensemble import MAX_MEMBERS
from discbayes.data import Domain, Variable
from discbayes.io import model_fields
from discbayes.predict import ModelFileError, load, load_bytes, model_reader, pooling
from discbayes.predict.network_sums import NetworkSums


@pytest.fixture(scope="module")
def shop():
    return damage.shop_rows()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    def both(clf):
        """The classifier and what numpy makes of its file."""
        clf.save(folder / "model.json")
        return clf, load(folder / "model.json")

    return both


@pytest.fixture(scope="module")
def tan(saved, shop):
    return saved(BayesNetClassifier("tan", "map").fit(*shop))


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_rows_of_every_shape_have_the_same_answer(tan, shop):
    clf, model = tan
    X = shop[0]
    expected = clf.predict_proba(X)
    records = [dict(row) for _, row in X.iterrows()]
    for rows in (
        X,
        X[X.columns[::-1]],
        pl.from_pandas(X),
        pa.Table.from_pandas(X, preserve_index=False),
        records,
        {name: X[name].tolist() for name in X},
        {name: X[name].to_numpy() for name in X},
        X.to_numpy(dtype=object),
        X.to_numpy(dtype=object).tolist(),
        [tuple(row) for row in X.to_numpy(dtype=object).tolist()],
    ):
        assert_same(model.predict_proba(rows), expected)
    assert_same(model.predict_proba(records[0]), expected[:1])
    assert model.predict(X).tolist() == clf.predict(X).tolist()
    assert model.predict(X).dtype == clf.predict(X).dtype
    assert model.classes == ["lo", "mid", "top"]
    assert model.columns == list(X.columns)
    assert repr(model) == "Predictor(4 columns, classes: 'lo', 'mid', 'top')"


def test_columns_of_numbers_are_read_in_any_type(saved):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(90, 3)) * 3)
    clf, model = saved(BayesNetClassifier("nb", "map").fit(X, X[:, 0] > 0))
    for kind in ("f2", "f4", "f8", "i1", "i8", ">f8", "O"):
        assert_same(model.predict_proba(X.astype(kind)), clf.predict_proba(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])  # of a model without names, by position
    assert_same(model.predict_proba(frame), clf.predict_proba(X))
    assert_same(model.predict_proba([{0: -1.0, "x2": 3}]), clf.predict_proba([{0: -1.0, "x2": 3}]))
    assert model.classes == [False, True]


def test_frames_of_categories_and_nullable_types(tan, shop):
    clf, model = tan
    X = shop[0].assign(colour=shop[0]["colour"].astype("category"))
    assert_same(model.predict_proba(X), clf.predict_proba(X))
    X = shop[0].convert_dtypes()
    assert_same(model.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "same length|mappings"),
        ([[1, 2]], "2 columns, and the model 4"),
        ([[1], [1, 2]], "lists of the same length"),
        (np.zeros(4), "two dimensions"),
        (np.zeros((0, 4)), "no rows"),
        (np.zeros((1, 4), complex), "complex128"),
        ({"sise": 1}, "'sise' is not a column; the nearest are 'size'"),
        ({"size": [1], "old": True}, "some values are lists and others are not"),
        ({"size": [1], "old": [1, 2]}, "same length"),
        ({"size": [1]}, "missing 'colour', 'old', 'flat'"),
        ({"size": np.inf}, "column 'size' contains infinity"),
        ({"size": 10**400}, "too large to convert to float"),
        ({"size": "1"}, "column 'size' was numeric at fit and now holds the string '1'"),
        ({"size": datetime.date(2020, 1, 1)}, "column 'size', row 0 .* type date"),
        ([{"colour": "red"}, {"colour": 1}], "column 'colour' mixes strings and numbers"),
        ({"size": {"above": 3}}, "column 'size', row 0: evidence is an object with one of"),
        ({"size": {"likelihood": [[1, 0], [2, 0]]}}, "some of them above 0"),
    ],
)
def test_rows_that_make_no_sense_are_refused(tan, rows, message):
    with pytest.raises(ValueError, match=message):
        tan[1].predict_proba(rows)


def test_things_that_are_no_rows_are_refused(tan):
    for rows in (3, "size", None):
        with pytest.raises(TypeError, match="rows are mappings, lists"):
            tan[1].predict_proba(rows)


def test_a_column_of_new_values_only_is_told(tan, shop):
    rows = shop[0].assign(colour="violet")
    with pytest.warns(UserWarning, match="no value of column 'colour' was seen at fit"):
        found = tan[1].predict_proba(rows)
    assert_same(found, tan[1].predict_proba(rows.assign(colour=None)))


def test_unknown_values_are_refused_where_the_settings_say_so(saved, shop):
    _, model = saved(BayesNetClassifier("nb", "map", unknown="error").fit(*shop))
    with pytest.raises(ValueError, match="column 'colour' holds 'violet', which is none of"):
        model.predict({"colour": "violet"})


def test_evidence_as_objects_and_as_json(tan):
    clf, model = tan
    for kind, form in (
        (OneOf("red", "blue"), {"one_of": ["red", "blue"]}),
        (Not("red"), {"not": ["red"]}),
        (
            Likelihood({"red": 1, "blue": 2, "grün": 0}),
            {"likelihood": [["red", 1], ["blue", 2], ["grün", 0]]},
        ),
    ):
        expected = clf.predict_proba({"colour": kind})
        assert_same(model.predict_proba({"colour": kind}), expected)
        assert_same(model.predict_proba({"colour": form}), expected)
    between = Between(0, 1, "neither")
    assert_same(
        model.predict_proba({"size": {"between": [0, 1], "inclusive": "neither"}}),
        clf.predict_proba({"size": between}),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: fitted("tan", "hybrid"),
        lambda: fitted("tan", "map", calibrate=None),
        lambda: fitted("nb", "cl", calibrate=None),
        lambda: fitted(),
        lambda: fitted("tan", "map", calibrate="isotonic"),
        lambda: BayesNetEnsemble(2, random_state=0).fit(*damage.shop_rows()),
    ],
)
def test_other_class_shares_change_the_answers_as_in_the_library(make, saved):
    clf, model = saved(make())
    rows = [{}, {"size": 1.0}, {"old": True, "size": -1}]
    for prior in ([0.1, 0.3, 0.6], [0.0, 1.0, 0.0]):
        expected = clf.predict_proba(rows, class_prior=prior)
        assert_same(model.predict_proba(rows, class_prior=prior), expected)
        assert model.predict(rows, prior).tolist() == clf.predict(rows, prior).tolist()
    for prior in ([1.0], [0.5, 0.5, 0.5], [2.0, -0.5, -0.5], [np.nan, 0.5, 0.5]):
        with pytest.raises(ValueError, match="class_prior"):
            model.predict_proba(rows, class_prior=prior)


def random_network(rng, structure, cards, normalized, zeros, states):
    tables = oracle.random_tables(rng, structure, cards, 3, normalized, zeros, states)
    kinds = ((f"x{i}", card) for i, card in enumerate(cards))
    features = tuple(Variable(n, "categorical", tuple(range(card))) for n, card in kinds)
    domain = Domain(features, Variable("class", "categorical", ("a", "b", "c")))
    return domain, tables


@pytest.mark.parametrize("seed", range(12))
def test_log_joints_equal_enumeration_on_every_pattern(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    structure = (oracle.random_structure, oracle.random_forest)[seed % 2](rng, n)
    cards = rng.integers(1, 4, n)
    domain, tables = random_network(rng, structure, cards, seed % 3 != 0, seed % 4 == 1, None)
    codes = oracle.every_pattern(rng, cards)
    parts = [tables.log_table(i) for i in range(n)]
    sums = NetworkSums(domain, structure, tables.log_prior, parts)
    expected = oracle.log_joint(tables, codes)
    np.testing.assert_allclose(sums.log_joint(codes), expected, atol=1e-10)


def test_tables_of_any_range_are_exact(saved):
    """Products that no double holds."""
    rng = np.random.default_rng(1)
    structure = Structure(((), (0,), (0, 1), (2,)))
    domain, tables = random_network(rng, structure, [3, 3, 3, 3], False, False, None)
    tables.log_theta[:] = rng.normal(size=tables.log_theta.size) * 3000
    clf, model = saved(BayesNetClassifier.from_network(BayesNet(domain, tables)))
    codes = oracle.every_pattern(rng, np.array([3, 3, 3, 3]))
    rows = [{f"x{i}": int(k) for i, k in enumerate(row) if k < 3} for row in codes.T]
    np.testing.assert_allclose(model.predict_proba(rows), clf.predict_proba(rows), atol=1e-9)


def test_rows_beyond_exact_inference_are_refused_by_name(saved):
    """Columns that all depend on each other: a factor of 10²⁰ cells."""
    rng = np.random.default_rng(0)
    n = 40
    parents = tuple(tuple(range(max(0, i - 3), i)) for i in range(n))
    parents = (*parents[:-20], *((i, i + 5, i + 11) for i in range(n - 20)))
    domain, tables = random_network(rng, Structure(parents), [10] * n, True, False, None)
    _, model = saved(BayesNetClassifier.from_network(BayesNet(domain, tables)))
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"discbayes\.predict does not estimate such rows"):
        model.predict_proba({f"x{i}": 1 for i in range(n - 20, n)})
    assert time.perf_counter() - start < 5
    assert model.predict_proba({f"x{i}": 1 for i in range(n)}).shape == (1, 3)


def test_long_chains_take_no_time(saved):
    rng = np.random.default_rng(0)
    n = 3000
    structure = Structure(((), *((i,) for i in range(n - 1))))
    domain, tables = random_network(rng, structure, [2] * n, False, False, None)
    clf, model = saved(BayesNetClassifier.from_network(BayesNet(domain, tables)))
    start = time.perf_counter()
    found = model.predict_proba({"x0": 1})
    assert time.perf_counter() - start < 5
    np.testing.assert_allclose(found, clf.predict_proba({"x0": 1}), atol=1e-9)


def test_limits_are_those_of_the_library():
    assert (model_fields.MAX_MEMBERS, pooling.RARE) == (MAX_MEMBERS, RARE)
    assert model_reader.TEMPERATURES == (MIN_TEMPERATURE, MAX_TEMPERATURE)
    assert model_reader.SCALES == (MIN_SCALE, MAX_SCALE)
    assert model_reader.EXPONENTS == (0, MAX_EXPONENT)
    assert model_fields.OPTIONAL_POOL == {"unusual": 0, "exponent": POOL_EXPONENT}


def test_files_of_another_kind_are_refused(tmp_path):
    for content in (b"", b"[]", b"\xff", b'{"format": "discbayes-model", "version": 9}'):
        with pytest.raises(ModelFileError, match="the file cannot be loaded: "):
            load_bytes(content)
    (tmp_path / "model.json").write_bytes(b" " * 1000)
    with pytest.raises(ModelFileError, match="more than 999 bytes"):
        load(tmp_path / "model.json", max_bytes=999)
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        load(tmp_path / "nothing.json")


def test_what_is_not_known_is_refused_by_name():
    document = damage.documents()["temperature"]
    document["model"]["tables"]["class_table"] = {}
    with pytest.raises(ModelFileError, match="unknown 'class_table'"):
        load_bytes(json.dumps(document | {"sha256": damage.checksum(document)}).encode())


@pytest.mark.parametrize("make", [conformance.dates, conformance.dates_with_hours])
def test_dates_of_every_type(saved, make):
    clf, model = saved(make())
    column = next(part.column for part in clf.domain_.dates if part is not None)
    assert column in model.columns
    assert len(model.columns) == clf.n_features_in_
    days = [datetime.datetime(2021, 12, 24, 15), None, datetime.datetime(2022, 2, 1)]
    written = "%d.%m.%Y %H:%M" if make is conformance.dates_with_hours else "%Y-%m-%d %H:%M"
    as_text = [None if day is None else day.strftime(written) for day in days]
    expected = clf.predict_proba([{column: day} for day in days])
    assert_same(model.predict_proba([{column: day} for day in days]), expected)
    assert_same(model.predict_proba([{column: day} for day in as_text]), expected)
    table = {name: [None] * 3 for name in model.columns}
    for cells in (days, as_text):
        assert_same(model.predict_proba(table | {column: cells}), expected)
    frame = pd.DataFrame(table | {column: pd.to_datetime(pd.Series(days))})
    assert_same(model.predict_proba(frame), expected)
    assert_same(model.predict_proba(pl.from_pandas(frame)), expected)
    part = {f"{column} (month)": 12, "size": 1.0}
    assert_same(model.predict_proba(part), clf.predict_proba(part))
    for odd in ("24th of May", 3):
        with pytest.raises(ValueError, match=f"column '{column}' holds dates"):
            model.predict_proba({column: odd})

"""Labels, names, values and settings as people bring them: taken as what they are, or refused by
name.
"""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import discbayes
from discbayes import BayesNetClassifier
from discbayes.data import FrameEncoder
from discbayes.recipes import recipe
from discbayes.recipes.parameter_words import LEARNERS
from discbayes.recipes.structure_words import structure_tags
from drawn_tables import FRAMES, PLAIN_KINDS, Column, tables
from judging_fits import assert_probabilities, assert_same_network, fit_or_refuse
from properties import for_all

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
BY_FOLDS = ("CL", "MM", "MM13", "BNSVM", "MLBNSVM")  # fits for each setting and fold take seconds
TAGS = [
    f"{tree}-{tag}"
    for tree in structure_tags()
    if "-SA-" not in tree
    for tag in LEARNERS
    if tag not in BY_FOLDS
]
BAD_CELLS = (
    np.inf,
    -np.inf,
    1j,
    datetime.date(2026, 1, 2),
    datetime.datetime(2026, 1, 2),
    datetime.timedelta(1),
    np.datetime64("2026-01-02"),
    [1, 2],
    {"a": 1},
    b"bytes",
    object(),
)
LABELS = {
    "list": list,
    "array": np.array,
    "objects": lambda y: np.array(y, dtype=object),
    "series": lambda y: pd.Series(y, name="target"),
    "categories": pd.Categorical,
    "polars": lambda y: pl.Series("target", y),
    "pyarrow": pa.array,
}


@for_all(20, table=tables(PLAIN_KINDS, most_columns=2), hows=st.permutations(list(LABELS)))
def test_labels_of_every_make_are_the_same_classes(table, hows):
    X = table.frame()
    models = [
        BayesNetClassifier("nb", "map").fit(X, LABELS[how](list(table.y)), table.weight)
        for how in hows[:3]
    ]
    weight = table.weight or [1] * table.n_rows
    expected = sorted({label for label, counted in zip(table.y, weight, strict=True) if counted})
    for model in models:
        assert model.classes_.tolist() == expected
        assert set(model.predict(X).tolist()) <= set(expected)
        np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))


@for_all(
    80,
    table=tables(),
    how=st.sampled_from(FRAMES),
    discretizer=st.sampled_from(["mdlp", "equal-frequency", "two-resolution", None]),
)
def test_rows_of_the_fit_have_the_same_codes_when_they_come_again(table, how, discretizer):
    encoder, X = FrameEncoder(discretizer), table.frame(how)
    codes = encoder.fit_transform(X, table.labels).codes
    np.testing.assert_array_equal(encoder.transform(X, unknown="error"), codes)
    for column, variable, found in zip(table.columns, encoder.domain_.features, codes, strict=True):
        assert (found == variable.card).tolist() == [value is None for value in column.cells]
        known = [
            (value, int(code))
            for value, code in zip(column.cells, found, strict=True)
            if value is not None
        ]
        if variable.cuts is None:
            assert all(variable.values[code] in (value, str(value)) for value, code in known)
        else:
            assert all(code == sum(cut <= value for cut in variable.cuts) for value, code in known)


@for_all(
    15,
    table=tables(surrogates=True, most_rows=40),
    how=st.sampled_from(["pandas", "objects", "lists"]),
)
def test_broken_unicode_is_a_value_like_others(folder, table, how):
    X = table.frame(how)
    clf = BayesNetClassifier("nb", "map").fit(X, table.labels)
    clf.save(folder / "broken.json")
    assert (
        discbayes.load(folder / "broken.json").predict_proba(X).tobytes()
        == clf.predict_proba(X).tobytes()
    )
    clf.report(folder / "broken.html")
    clf.network_.to_bif(folder / "broken.bif")
    assert discbayes.read_bif(folder / "broken.bif").domain == clf.network_.domain


@for_all(
    15,
    table=tables(PLAIN_KINDS, most_rows=40),
    names=st.permutations([0, 1, 2, 3, 4, 5, -1, 10**20]),
)
def test_numbers_are_names_of_columns(table, names):
    X = table.frame()
    X.columns = names[: len(table.columns)]
    clf = BayesNetClassifier("tan", "map").fit(X, table.labels)
    plain = BayesNetClassifier("tan", "map").fit(table.frame("pandas"), table.labels)
    assert clf.network_.domain.names == [str(name) for name in X.columns]
    np.testing.assert_array_equal(clf.predict_proba(X), plain.predict_proba(table.frame("pandas")))


@for_all(40, table=tables(PLAIN_KINDS), cell=st.sampled_from(BAD_CELLS), seed=st.integers(0, 999))
def test_what_is_no_value_is_refused_with_the_name_of_its_column(table, cell, seed):
    rng = np.random.default_rng(seed)
    at, row = rng.integers(len(table.columns)), rng.integers(table.n_rows)
    cells = [*table.columns[at].cells]
    cells[row] = cell
    columns = [*table.columns]
    columns[at] = Column("wrong 'one'", "text", tuple(cells))
    if len({column.name for column in columns}) < len(columns):
        return
    with pytest.raises((ValueError, TypeError), match=r"wrong 'one'"):
        BayesNetClassifier("nb", "map").fit(
            replace(table, columns=tuple(columns)).frame(), table.labels
        )


@for_all(
    30,
    table=tables(most_rows=40),
    seed=st.integers(0, 999),
    discretizer=st.sampled_from(["mdlp", "two-resolution", None]),
)
def test_priors_weights_and_domains_that_are_given(table, seed, discretizer):
    rng, X = np.random.default_rng(seed), table.frame()
    first = BayesNetClassifier("tan", "map", discretizer=discretizer).fit(X, table.labels)
    prior = rng.dirichlet(np.ones(first.classes_.size))
    settings = {"class_weight": dict.fromkeys(first.classes_.tolist(), 1.0), "unknown": "error"}
    clf = BayesNetClassifier(
        "tan", "map", class_prior=prior, domains=first.network_.domain, **settings
    )
    shares = clf.fit(X, table.labels).predict_proba(X)
    assert clf.network_.domain == first.network_.domain
    assert clf.structure_ == first.structure_
    np.testing.assert_allclose(shares, first.predict_proba(X, class_prior=prior), atol=1e-9)


@for_all(
    25,
    seed=st.integers(0, 9999),
    dtype=st.sampled_from(["f2", "f4", "f8", ">f8", "i1", ">i2", "i4", "i8", "u1", "u8", "?", "O"]),
    order=st.sampled_from(["C", "F", "backwards", "every second", "read-only", "masked"]),
)
def test_numbers_are_the_same_in_arrays_of_any_type_and_order(seed, dtype, order):
    rng = np.random.default_rng(seed)
    numbers, y = rng.integers(0, 2 if dtype == "?" else 4, (20, 3)), rng.integers(0, 2, 20)
    X = numbers.astype(dtype)
    if order == "F":
        X = np.asfortranarray(X)
    elif order == "backwards":
        X = X[::-1, ::-1].copy()[::-1, ::-1]
    elif order == "every second":
        X = np.repeat(X, 2, axis=0)[::2]
    elif order == "masked":
        X = np.ma.masked_array(X)
    X.flags.writeable = order != "read-only"
    clf = BayesNetClassifier("tan", "map", discretizer=None)
    expected = clf.fit(numbers.astype(float), y).predict_proba(numbers.astype(float))
    np.testing.assert_allclose(clf.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(
        clf.fit(X, y).predict_proba(X), expected, atol=1e-12 if dtype != "?" else 0.2
    )


@for_all(15, table=tables(PLAIN_KINDS, most_rows=40), seed=st.integers(0, 999))
def test_the_index_of_a_frame_says_nothing(table, seed):
    rng, X = np.random.default_rng(seed), table.frame()
    odd = X.set_axis(rng.integers(0, 3, table.n_rows), axis=0)
    y = pd.Series(table.labels, index=rng.permutation(table.n_rows))
    weight = (
        None
        if table.weight is None
        else pd.Series(table.weight, index=rng.permutation(table.n_rows))
    )
    one = BayesNetClassifier("nb", "map").fit(X, table.labels, table.weight)
    two = BayesNetClassifier("nb", "map").fit(odd, y, weight)
    assert_same_network(one, two)
    assert two.network_.fill(odd).index.tolist() == odd.index.tolist()


@for_all(15, tag=st.sampled_from(TAGS), table=tables(most_rows=30, most_columns=3, least_classes=2))
def test_every_recipe_answers_or_says_what_is_wrong(tag, table):
    fitted = fit_or_refuse(recipe(tag, random_state=0), table, "objects")
    if fitted is not None:
        assert_probabilities(
            fitted.predict_proba(table.frame("objects")), table.n_rows, fitted.classes_.size
        )

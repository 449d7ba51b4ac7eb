"""Lazy frames of polars and relations of DuckDB as sources: the same as the table of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discbayes import BayesNetClassifier
from discbayes.streams.batch_sources import open_source
from discbayes.streams.batches import Limits
from shop import assert_same, make_frame

KINDS = ("polars", "duckdb")
COLUMNS = ["size", "age", "colour", "town", "old"]


@pytest.fixture(scope="module")
def frame():
    return make_frame(3000)[[*COLUMNS, "bought", "w"]]


@pytest.fixture(params=KINDS)
def query(request, frame):
    """A query that gives some columns of the shop."""

    def of(columns, where_old=False):
        if request.param == "polars":
            lazy = pl.from_pandas(frame).lazy()
            if not hasattr(lazy, "collect_batches"):
                pytest.skip("this polars cannot read in batches")
            return (lazy.filter(pl.col("old")) if where_old else lazy).select(columns)
        duckdb = pytest.importorskip("duckdb")
        relation = duckdb.connect().from_df(frame)
        return (relation.filter("old") if where_old else relation).project(", ".join(columns))

    return of


@pytest.mark.parametrize("structure, parameters", [("tan", "map"), ("nb", "hybrid")])
def test_fit_and_predict_are_those_of_the_table(query, frame, structure, parameters):
    columns = [*COLUMNS, "bought"]
    clf = BayesNetClassifier(structure, parameters).fit(query(columns), "bought")
    table = BayesNetClassifier(structure, parameters).fit(frame[COLUMNS], frame["bought"])
    assert_same(clf, table)
    expected = table.predict_proba(frame[COLUMNS])
    np.testing.assert_array_equal(clf.predict_proba(query(columns)), expected)
    assert clf.predict(query(COLUMNS)).tolist() == table.predict(frame[COLUMNS]).tolist()
    assert clf.score(query(columns), "bought") == table.score(frame[COLUMNS], frame["bought"])


def test_weights_and_conditions_of_the_query(query, frame):
    clf = BayesNetClassifier("tan", "map").fit(
        query([*COLUMNS, "bought", "w"], True), "bought", "w"
    )
    some = frame[frame["old"]]
    table = BayesNetClassifier("tan", "map").fit(some[COLUMNS], some["bought"], some["w"])
    assert_same(clf, table)


def test_rows_come_in_batches_and_in_order(query, frame):
    source = open_source(query(["size", "w"]))
    batches = list(source.batches(Limits(most_rows=512)))
    assert [batch.first_row for batch in batches][:3] == [0, 512, 1024]
    found = np.concatenate([np.asarray(batch.frame["w"]) for batch in batches])
    np.testing.assert_array_equal(found, frame["w"])
    assert {batch.where for batch in batches} == {source.name}


def test_a_column_that_is_not_there_is_named(query):
    with pytest.raises(ValueError, match="'sold'"):
        BayesNetClassifier("nb", "map").fit(query(COLUMNS), "sold")


def test_an_old_polars_is_told():
    class LazyFrame:
        """Of a version without batches."""

    LazyFrame.__module__ = "polars.lazyframe.frame"
    with pytest.raises(TypeError, match="upgrade polars, or call collect"):
        open_source(LazyFrame())

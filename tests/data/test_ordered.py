"""Categories in an order: smoothed over neighbors, kept in files, and ranges as evidence."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discbayes import BayesNetClassifier, Between, HierarchicalSmoothing, load
from discbayes.counts import count
from discbayes.data import FrameEncoder, Ordered
from discbayes.network import Structure

LEVELS = ["none", "mild", "moderate", "strong", "severe"]
RNG = np.random.default_rng(0)
PLACES = RNG.integers(0, 5, 400)
Y = np.where(RNG.random(400) < 0.1 + 0.2 * PLACES, "sick", "well")
TEXT = [LEVELS[place] for place in PLACES]
TYPE = pd.CategoricalDtype(LEVELS, ordered=True)
FRAME = pd.DataFrame({"pain": pd.Categorical(TEXT, dtype=TYPE), "age": RNG.normal(size=400)})
PLAIN = FRAME.assign(pain=FRAME["pain"].astype("object"))


def fitted(frame=FRAME, **options):
    return BayesNetClassifier("nb", "hierarchy", **options).fit(frame, Y)


def test_the_order_of_the_types_is_that_of_the_domain(tmp_path):
    assert fitted().domain_.features[0].ordered
    assert fitted().domain_.features[0].values == tuple(LEVELS)
    declared = fitted(PLAIN, domains={"pain": Ordered(LEVELS)})
    assert np.array_equal(declared.predict_proba(PLAIN), fitted().predict_proba(FRAME))
    assert not fitted(PLAIN, domains={"pain": LEVELS}).domain_.features[0].ordered
    unordered = FRAME.assign(pain=FRAME["pain"].cat.as_unordered())
    assert not fitted(unordered).domain_.features[0].ordered
    arrow = pl.from_pandas(PLAIN).to_arrow()
    kind = pa.DictionaryArray.from_arrays(np.array(PLACES, np.int32), LEVELS, ordered=True)
    table = arrow.set_column(0, "pain", kind)
    assert fitted(table).domain_ == fitted().domain_


def test_counts_are_spread_over_neighbors_as_those_of_intervals():
    """The same smoothing as a number whose intervals are these values."""
    ordered = fitted().network_
    numbers = FRAME.assign(pain=PLACES.astype(float))
    by_number = fitted(numbers, discretizer="two-resolution").network_
    assert np.allclose(
        np.exp(ordered.parameters.log_table(0)), np.exp(by_number.parameters.log_table(0))
    )
    plain = fitted(PLAIN, domains={"pain": LEVELS}).network_
    assert not np.allclose(ordered.parameters.log_theta, plain.parameters.log_theta)


def test_without_a_bandwidth_nothing_is_spread():
    smoothing = HierarchicalSmoothing(bandwidth=0)
    data = FrameEncoder().fit_transform(FRAME[["pain"]], Y)
    plain = FrameEncoder(domains={"pain": LEVELS}).fit_transform(PLAIN[["pain"]], Y)
    tables = [
        smoothing.levels(rows, count(rows), Structure.naive(1)).tables() for rows in (data, plain)
    ]
    assert np.array_equal(tables[0].log_theta, tables[1].log_theta)


def test_the_default_learns_from_an_order():
    clf = BayesNetClassifier().fit(FRAME, Y)
    assert clf.predict_proba(FRAME).shape == (400, 2)
    report = clf.report().html
    places = [report.index(f'"{level}"') for level in LEVELS]
    assert places == sorted(places)


def test_between_is_a_range_of_the_order():
    variable = fitted().domain_.features[0]
    assert Between("mild", "strong").members(variable).tolist() == [0, 1, 1, 1, 0]
    assert Between("mild", "strong", "neither").members(variable).tolist() == [0, 0, 1, 0, 0]
    assert Between("strong").members(variable).tolist() == [0, 0, 0, 1, 1]
    assert Between(None, "mild", "left").members(variable).tolist() == [1, 0, 0, 0, 0]
    net = fitted().network_
    some = net.query("class", {"pain": Between("strong", None)}).probabilities
    joint = net.query(["class", "pain"]).probabilities
    assert np.allclose(some, joint[:, 3:].sum(axis=1) / joint[:, 3:].sum())
    assert str(Between("mild", "strong")) == "≥ mild and ≤ strong"


def test_ranges_that_are_none():
    variable = fitted().domain_.features[0]
    with pytest.raises(ValueError, match=r"'awful' of .* is not a value of the column 'pain'"):
        Between("awful", None).members(variable)
    with pytest.raises(ValueError, match="mixes strings and numbers"):
        Between("mild", 3)
    with pytest.raises(ValueError, match=r"'age' has numbers, and .* has labels"):
        Between("mild", None).members(fitted().domain_.features[1])
    with pytest.raises(ValueError, match=r"inclusive='all'"):
        Between("mild", None, "all")
    plain = fitted(PLAIN).domain_.features[0]
    with pytest.raises(ValueError, match="use OneOf"):
        Between("mild", None).members(plain)


def test_files_keep_the_order(tmp_path):
    clf = fitted(PLAIN, domains={"pain": Ordered(LEVELS)})
    clf.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.domain_ == clf.domain_
    assert type(again.domains["pain"]) is Ordered
    assert np.array_equal(again.predict_proba(PLAIN), clf.predict_proba(PLAIN))
    assert again.fit(PLAIN, Y).domain_ == clf.domain_


def test_files_in_batches_have_the_order(tmp_path):
    FRAME.assign(y=Y).to_parquet(tmp_path / "t.parquet")
    clf = BayesNetClassifier("nb", "hierarchy").fit(tmp_path / "t.parquet", "y")
    assert clf.domain_ == fitted().domain_ or clf.domain_.features == fitted().domain_.features
    batches = ((FRAME[k : k + 100], Y[k : k + 100]) for k in range(0, 400, 100))
    assert BayesNetClassifier("nb", "hierarchy").fit(batches).domain_.features[0].ordered

"""What must not matter: the order of rows and columns, what values and classes are called, rows
twice or of weight two.

Where it cannot be so is written down in ``docs/developer/robustness.md``: folds and draws follow
the order of the rows and the seed, equal candidates of a search go to the first column, DFE goes
through the rows in their order, ties between classes go to the first one, and sums of numbers that
are not whole have other last digits in another order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.base import clone

from discbayes import BayesNetClassifier
from discbayes.parameters import PARAMETERS
from discbayes.search import STRUCTURES
from drawn_learners import BY_COUNTS, BY_ORDER, BY_SEED, classifiers, structure_of
from drawn_tables import tables
from judging_fits import assert_same_network, fit_or_refuse
from properties import for_all

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
# by the name alone they have no folds either
CERTAIN = tuple(name for name in STRUCTURES if name not in BY_SEED)
# no structure of the kind has a larger score, whichever comes first
OPTIMAL = ("tan", "tan-fcll", "tan-acll")
CONCAVE = ("hybrid",)  # one optimum, which a fit reaches to its tolerance from wherever it comes
SMALL = {"most_rows": 40, "most_columns": 4}
HOW = "objects"  # what is read fastest
TYPED = "pyarrow"  # columns have names, and types that do not depend on which rows count
WEIGHTS = (None, "whole", "broken", "zeros")  # sums of the broken ones are exact: they are quarters


def renamed_classes(table, name_of):
    return replace(table, y=tuple(name_of(label) for label in table.y))


def by_rank(values, name):
    """New names of values; ``name`` is given the rank of each in rising order."""
    return {value: name(rank) for rank, value in enumerate(sorted(set(values)))}.__getitem__


def texts_of(table):
    columns = (column for column in table.columns if column.kind == "text")
    return [value for column in columns for value in column.cells if value is not None]


def fitted_on(clf, table, how=HOW):
    return clone(clf).fit(table.frame(how), table.labels, table.weight)


@for_all(
    30,
    name=st.sampled_from(CERTAIN),
    parameters=st.sampled_from(BY_COUNTS),
    discretizer=st.sampled_from(["mdlp", "equal-frequency", "two-resolution", None]),
    table=tables(**SMALL, weights=WEIGHTS),
    seed=st.integers(0, 999),
)
def test_the_order_of_rows_changes_no_bit_of_what_is_counted(
    name, parameters, discretizer, table, seed
):
    clf = BayesNetClassifier(
        structure_of(name), parameters, discretizer=discretizer, random_state=0
    )
    rows = np.random.default_rng(seed).permutation(table.n_rows)
    assert_same_network(fitted_on(clf, table.take(rows)), fitted_on(clf, table))


@for_all(10, parameters=st.sampled_from(CONCAVE), table=tables(**SMALL), seed=st.integers(0, 999))
def test_the_order_of_rows_changes_a_fit_by_gradients_as_little_as_its_tolerance(
    parameters, table, seed
):
    clf = BayesNetClassifier("tan", parameters, calibrate_folds=2)
    rows = np.random.default_rng(seed).permutation(table.n_rows)
    one, two = fitted_on(clf, table), fitted_on(clf, table.take(rows))
    assert one.structure_ == two.structure_
    np.testing.assert_allclose(
        two.predict_proba(table.frame(HOW)), one.predict_proba(table.frame(HOW)), atol=1e-4
    )


@for_all(
    25,
    parameters=st.sampled_from([*BY_COUNTS, *BY_COUNTS, *CONCAVE]),
    table=tables(**SMALL, weights=WEIGHTS),
    seed=st.integers(0, 999),
)
def test_the_order_of_columns_changes_nothing_where_the_structure_is_given(parameters, table, seed):
    rng, names = np.random.default_rng(seed), table.names
    order = rng.permutation(len(names))
    edges = [
        (names[order[rng.integers(place)]], names[order[place]]) for place in range(1, len(names))
    ]
    clf = BayesNetClassifier(edges, parameters, calibrate=None)
    other = table.reorder(rng.permutation(len(names)))
    one, two = fitted_on(clf, table, TYPED), fitted_on(clf, other, TYPED)
    assert sorted(one.network_.edges()) == sorted(two.network_.edges()) == sorted(edges)
    within = 1e-9 if parameters in BY_COUNTS else 1e-4
    np.testing.assert_allclose(
        two.predict_proba(other.frame(TYPED)), one.predict_proba(table.frame(TYPED)), atol=within
    )


@for_all(
    25,
    name=st.sampled_from(OPTIMAL),
    table=tables(**SMALL, weights=WEIGHTS),
    seed=st.integers(0, 999),
)
def test_the_order_of_columns_changes_no_score_of_an_optimal_search(name, table, seed):
    clf = BayesNetClassifier(name, "map")
    other = table.reorder(np.random.default_rng(seed).permutation(len(table.names)))
    one, two = (
        sum(step["score"] for step in fitted_on(clf, columns).history_)
        for columns in (table, other)
    )
    assert one == pytest.approx(two, rel=1e-9, abs=1e-9)


def with_other_column_names(table):
    columns = tuple(
        replace(column, name=f"{9 - at} of {at}") for at, column in enumerate(table.columns)
    )
    return replace(table, columns=columns)


@for_all(
    25,
    name=st.sampled_from(CERTAIN),
    parameters=st.sampled_from([*BY_COUNTS, *CONCAVE]),
    calibrate=st.sampled_from(["temperature", "isotonic"]),
    table=tables(gaps=("none", "scattered"), **SMALL, weights=WEIGHTS, least_classes=24),
)
def test_the_names_of_columns_change_no_bit(name, parameters, calibrate, table):
    clf = BayesNetClassifier(
        structure_of(name), parameters, calibrate=calibrate, calibrate_folds=2, random_state=0
    )
    one, two = (
        fit_or_refuse(clf, table, TYPED),
        fit_or_refuse(clf, with_other_column_names(table), TYPED),
    )
    assert (one is None) == (two is None)
    if one is None:
        return
    assert one.structure_ == two.structure_
    assert (
        one.network_.parameters.log_theta.tobytes() == two.network_.parameters.log_theta.tobytes()
    )
    assert repr(one.calibration_) == repr(two.calibration_)


@for_all(
    40,
    parameters=st.sampled_from(BY_COUNTS),
    table=tables(gaps=("none", "scattered"), most_rows=40, weights=WEIGHTS, least_classes=24),
    seed=st.integers(0, 999),
)
def test_the_order_of_columns_changes_no_calibration(parameters, table, seed):
    clf = BayesNetClassifier("nb", parameters, calibrate="temperature", calibrate_folds=2)
    other = table.reorder(np.random.default_rng(seed).permutation(len(table.names)))
    one, two = fit_or_refuse(clf, table, TYPED), fit_or_refuse(clf, other, TYPED)
    assert (one is None) == (two is None)
    if one is None or one.calibration_ is None:
        return
    assert two.calibration_.temperature == pytest.approx(one.calibration_.temperature, rel=1e-6)


# what is in a row says which fold it is in
@for_all(25, clf=classifiers(calibrate=None), table=tables(**SMALL))
def test_names_in_the_same_order_change_no_bit(clf, table):
    one = fit_or_refuse(clf, table, HOW)
    other = table.changed(lambda value: "v" + value, ("text",)).changed(
        lambda value: 2 * value, ("number",)
    )
    other = renamed_classes(other, by_rank(other.y, lambda rank: f"c{rank}"))
    two = fit_or_refuse(clf, other, HOW)
    assert (one is None) == (two is None)
    if one is None:
        return
    assert one.structure_ == two.structure_
    assert (
        one.network_.parameters.log_theta.tobytes() == two.network_.parameters.log_theta.tobytes()
    )
    assert (
        one.predict_proba(table.frame(HOW)).tobytes()
        == two.predict_proba(other.frame(HOW)).tobytes()
    )


@for_all(
    25,
    name=st.sampled_from(["nb", "tan", "tan-fcll", "tan-acll", "kdb", "ghc"]),
    parameters=st.sampled_from(BY_COUNTS),
    table=tables(("text", "bool", "number"), **SMALL, weights=WEIGHTS),
    missing=st.sampled_from(["available", "value"]),
)
def test_names_in_another_order_change_no_probability(name, parameters, table, missing):
    clf = BayesNetClassifier(name, parameters, missing=missing)
    other = table.changed(by_rank(texts_of(table), lambda rank: f"v{999 - rank}"), ("text",))
    other = renamed_classes(other, by_rank(other.y, lambda rank: f"c{9 - rank}"))
    one, two = fitted_on(clf, table), fitted_on(clf, other)
    assert one.structure_ == two.structure_
    shares = two.predict_proba(other.frame(HOW))[:, ::-1]
    np.testing.assert_allclose(shares, one.predict_proba(table.frame(HOW)), atol=1e-9)


@pytest.mark.parametrize(
    "parameters", [name for name in PARAMETERS if name not in (*BY_ORDER, *BY_COUNTS)]
)
@for_all(2, table=tables(**SMALL, weights=("whole", "zeros")))
def test_a_row_of_weight_two_is_the_row_twice_for_all_parameters(parameters, table):
    twice_is_weight_two(
        BayesNetClassifier("tan", parameters, calibrate_folds=2, random_state=0), table
    )


@for_all(
    30,
    name=st.sampled_from(CERTAIN),
    parameters=st.sampled_from(BY_COUNTS),
    calibrate=st.sampled_from([None, None, "temperature"]),
    table=tables(**SMALL, weights=("whole", "zeros")),
)
def test_a_row_of_weight_two_is_the_row_twice(name, parameters, calibrate, table):
    twice_is_weight_two(
        BayesNetClassifier(
            structure_of(name), parameters, calibrate=calibrate, calibrate_folds=2, random_state=0
        ),
        table,
    )


def twice_is_weight_two(clf, table):
    repeated = replace(table.take(np.repeat(np.arange(table.n_rows), table.weight)), weight=None)
    one, two = fit_or_refuse(clf, table, TYPED), fit_or_refuse(clf, repeated, TYPED)
    assert (one is None) == (two is None)
    if one is None:
        return
    assert one.network_.domain == two.network_.domain
    assert one.structure_ == two.structure_
    np.testing.assert_allclose(
        two.predict_proba(table.frame(TYPED)), one.predict_proba(table.frame(TYPED)), atol=1e-9
    )

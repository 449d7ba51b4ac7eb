"""Tables to start from: what fits is taken as it is, and what does not is refused by name."""

from __future__ import annotations

import re

import numpy as np
import pytest

from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters.starts import start_tables
from oracle import random_structure, random_tables

NAMES = ["age", "job", "sex"]
CARDS = np.array([2, 3, 2])
TREE = Structure(((), (0,), (1, 0)), (True, True, False))
LAYOUT = Layout(TREE, CARDS, 2)


def tables_of(structure=TREE, cards=CARDS, n_classes=2, normalized=True):
    return random_tables(np.random.default_rng(0), structure, cards, n_classes, normalized)


def refused(given, message, kind=ValueError):
    with pytest.raises(kind, match=re.escape(message)):
        start_tables(given, LAYOUT, NAMES)


@pytest.mark.parametrize("normalized", [True, False])
def test_what_fits_is_taken_as_it_is(normalized):
    given = tables_of(normalized=normalized)
    assert start_tables(given, LAYOUT, NAMES) is given


@pytest.mark.parametrize("seed", range(5))
def test_any_structure_fits_itself(seed):
    rng = np.random.default_rng(seed)
    structure = random_structure(rng, 4)
    given = random_tables(rng, structure, [2, 1, 3, 2], 3)
    assert start_tables(given, Layout(structure, np.array([2, 1, 3, 2]), 3), list("abcd")) is given


def test_no_columns_and_one_class():
    given = random_tables(np.random.default_rng(0), Structure(()), [], 1)
    assert start_tables(given, Layout(Structure(()), np.empty(0, np.int64), 1), []) is given


@pytest.mark.parametrize("given", ["generative", None, np.zeros(3), CPTs])
def test_what_is_no_tables_is_refused(given):
    refused(
        given,
        " is neither the name of a start nor CPTs, as clf.network_.parameters of a fitted",
        TypeError,
    )


@pytest.mark.parametrize(
    "structure, message",
    [
        (Structure.naive(4), "the start has 4 columns and the data 3"),
        (Structure.naive(3), "the parents of 'job' are none but the class, here 'age'"),
        (
            Structure(((), (0,), (0,)), TREE.class_children),
            "the parents of 'sex' are 'age', here 'job', 'age'",
        ),
        (
            Structure(((), (0,), (0, 1)), TREE.class_children),
            "the parents of 'sex' are 'age', 'job', here 'job', 'age', and the order counts",
        ),
        (
            Structure(TREE.parents),
            "another structure: 'sex' depends on the class there, but not here",
        ),
        (
            Structure(TREE.parents, (False, True, False)),
            "'age' depends on the class here, but not there",
        ),
    ],
)
def test_another_structure_is_refused_by_what_differs(structure, message):
    cards = [2, 3, 2, 2][: structure.n_features]
    refused(tables_of(structure, cards), message)


def test_other_values_and_classes_are_refused():
    refused(
        tables_of(cards=[2, 4, 2]),
        "the start has 4 values of 'job' and the data 3: it must come from data with",
    )
    refused(tables_of(n_classes=3), "the start has 3 classes and the data 2")


def test_zeros_are_refused_with_their_column_and_the_way_out():
    given = tables_of()
    log_theta = given.log_theta.copy()
    LAYOUT.table(log_theta, 1)[0, 2, :] = -np.inf
    refused(
        CPTs(LAYOUT, given.log_prior, log_theta),
        "the start gives 'job' a probability of zero (log θ = -inf, 2 times), and no gradient leads"
        " away from there: smooth it, as MaximumAPosteriori() does",
    )
    refused(
        CPTs(LAYOUT, np.array([0.0, -np.inf]), given.log_theta),
        "gives class number 1 a probability of zero",
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_other_numbers_that_are_not_finite_are_in_no_tables(value):
    given = tables_of()
    for prior, theta in [
        (np.full(2, value), given.log_theta),
        (given.log_prior, np.full_like(given.log_theta, value)),
    ]:
        with pytest.raises(ValueError, match="the tables contain NaN or infinite probabilities"):
            CPTs(LAYOUT, prior, theta)

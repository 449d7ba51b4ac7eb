"""Answers of ``discbayes ask`` that are not one value."""

import pytest

from discbayes.cli.console import UserError
from discbayes.cli.prompts import value_of
from discbayes.data import Between, Likelihood, Not, OneOf, Variable

SIZE = Variable("size", "categorical", ("small", "medium", "large"))
AGE = Variable("age", "numeric", cuts=(30.0, 60.0))


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        (AGE, "40..60", Between(40, 60)),
        (AGE, "..60", Between(None, 60)),
        (AGE, "not 40..", Not(Between(40))),
        (AGE, "..20 | 70", OneOf(Between(None, 20), 70)),
        (AGE, "< 30=1 | [30, 60)=2 | >= 60=0", Likelihood({"< 30": 1, "[30, 60)": 2, ">= 60": 0})),
        (SIZE, "medium | LARGE", OneOf("medium", "large")),
        (SIZE, "not 1", Not("small")),
        (
            SIZE,
            "small=0.2|medium=0.3|large=1",
            Likelihood({"small": 0.2, "medium": 0.3, "large": 1}),
        ),
        (Variable("a", "categorical", ("x | y", "z")), "x | y", "x | y"),
    ],
)
def test_texts_of_evidence(variable, text, expected):
    assert value_of(variable, text) == expected


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        (AGE, "60..40", "low is above high"),
        (SIZE, "1..2", "has no numbers"),
        (SIZE, "medium | huge", "'huge' is not a value"),
        (SIZE, "small=0.2 | medium=0.8", "no number for large"),
        (AGE, "old", "is not a number"),
    ],
)
def test_texts_that_are_no_evidence(variable, text, message):
    with pytest.raises(UserError, match=message):
        value_of(variable, text)

"""What people type, and the value of a column that they mean by it.

The values of a column of labels are numbered from 1, and an answer is such a number or the value
itself. Where values are whole numbers themselves there is no numbering, so that 2 is never in
doubt. A value that reads like a word of the dialogue can be put in quotes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discbayes._text import nearest_first
from discbayes.cli.console import UserError, listed
from discbayes.cli.spelling import matcher, worth
from discbayes.data import Domain, Variable
from discbayes.data.domain import MISSING_LABEL

_YES_NO = {"yes": "True", "y": "True", "no": "False", "n": "False"}
_QUOTES = ("'", '"')


def choices(variable: Variable) -> list[str]:
    """The values that can be given: "(missing)" and "(never observed)" are none."""
    known = len(variable.values) if variable.cuts is None else len(variable.cuts) + 1
    return variable.labels[:known]


def is_numbered(variable: Variable) -> bool:
    """Whether values have numbers: those of labels do, unless they look like such numbers."""
    labels = choices(variable)
    numbers = {str(number) for number in range(1, len(labels) + 1)}
    return variable.cuts is None and not numbers & {worth(label) for label in labels}


def value_of(variable: Variable, text: str, numbers: bool = True) -> Any:
    """The value that a text means; a `UserError` that says what would do where it means none.

    >>> colour = Variable("colour", "categorical", ("blue", "red"))
    >>> [value_of(colour, text) for text in ("2", "red", "RED", "'red'")]
    ['red', 'red', 'red', 'red']
    >>> value_of(Variable("size", "numeric", cuts=(2.5,)), "3")
    3.0
    """
    text = text.strip()
    if text == MISSING_LABEL and variable.reads_missing:
        return math.nan  # missing, which is something else than not known
    if variable.cuts is not None:
        return _number(variable, variable.cuts, text)
    if numbers and text.isdecimal() and is_numbered(variable) and text not in choices(variable):
        return _numbered(variable, int(text))
    place = _place(variable, text)
    if place is None:
        near = listed(nearest_first(text, choices(variable)))
        raise UserError(f"{text!r} is no value of {variable.name!r}; its values are {near}")
    return variable.values[place]


def _number(variable: Variable, cuts: Sequence[float], text: str) -> float:
    """A number, or one of the interval that is meant."""
    labels = choices(variable)
    if cuts and text in labels:
        place = labels.index(text)
        return float(cuts[place - 1]) if place else math.nextafter(cuts[0], -math.inf)
    try:
        number = float(text) if "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(
            f"{text!r} is no number, and {variable.name!r} takes numbers, with a point and no unit"
        )
    return number


def _numbered(variable: Variable, number: int) -> Any:
    most = len(choices(variable))
    if not 1 <= number <= most:
        raise UserError(
            f"{number} is no number of a value of {variable.name!r}: they go from 1 to {most}"
        )
    return variable.values[number - 1]


def _place(variable: Variable, text: str) -> int | None:
    """Where the value stands that a text is: as it stands, by what it is worth, or but for
    capitals.
    """
    labels = choices(variable)
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES else text
    match = matcher(labels)
    found = next((match(given) for given in (text, bare) if match(given) in labels), None)
    if found is None:
        found = {worth(label): label for label in labels}.get(_YES_NO.get(text.lower(), ""))
    if found is None:
        alike = [label for label in labels if label.casefold() == bare.casefold()]
        found = alike[0] if len(alike) == 1 else None
    return labels.index(found) if found in labels else None


# ---- columns that are known before anything is asked


def given_values(domain: Domain, texts: Sequence[str]) -> dict[str, Any]:
    """Values by column from texts such as ``age=45``."""
    known: dict[str, Any] = {}
    for text in texts:
        name = _column(domain.names, text)
        if name in known:
            raise UserError(f"--know says two things of the column {name!r}")
        known[name] = value_of(
            domain.features[domain.position(name)], text[len(name) + 1 :], numbers=False
        )
    return known


def _column(names: Sequence[str], text: str) -> str:
    """The column before the equals sign; the longest one, as names may hold that sign."""
    fitting = [name for name in names if text.startswith(f"{name}=")]
    if fitting:
        return max(fitting, key=len)
    if "=" not in text:
        raise UserError(f"--know {text!r}: write it as column=value")
    near = listed(nearest_first(text.split("=")[0], names))
    raise UserError(
        f"--know {text!r}: no column of the model has that name; its columns are {near}"
    )

"""Texts of explanations: values, contributions, probabilities and classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes._text import did_you_mean, listed
from discbayes.data import Variable


def values_in_words(variable: Variable) -> list[str]:
    """Return the name of a column with each of its values.

    >>> values_in_words(Variable("glucose", "numeric", cuts=(127.0, 155.0)))
    ['glucose < 127', 'glucose in [127, 155)', 'glucose ≥ 155']
    >>> values_in_words(Variable("odor", "categorical", ("foul", "none")))
    ['odor = foul', 'odor = none']
    """
    n_intervals = len(variable.cuts) + 1 if variable.cuts else 0
    texts = []
    for code, label in enumerate(variable.labels):
        if variable.kind == "evidence":
            relation = label
        elif code >= n_intervals:
            relation = f"= {label}"
        elif 0 < code < n_intervals - 1:
            relation = f"in {label}"
        else:
            relation = label.replace(">=", "≥")
        texts.append(f"{variable.name} {relation}")
    return texts


def signed(number: float) -> str:
    """Return the text of a contribution: one decimal, or two below 1.

    >>> signed(1.27), signed(-0.314), signed(-np.inf)
    ('+1.3', '−0.31', '−∞')
    """
    sign = "−" if number < 0 else "+"
    if np.isinf(number):
        return f"{sign}∞"
    return f"{sign}{abs(number):.2f}" if abs(number) < 0.995 else f"{sign}{abs(number):.1f}"


def probability_in_words(posterior: np.ndarray, place: int) -> str:
    """Return the text of one probability; close to 1, of its difference from 1.

    >>> probability_in_words(np.array([0.25, 0.75]), 1)
    '0.75'
    >>> probability_in_words(np.array([2e-6, 1.0]), 1)
    '1 − 2e-06'
    """
    probability, rest = float(posterior[place]), float(np.delete(posterior, place).sum())
    if 0 < rest < 0.001:
        return f"1 − {rest:.2g}"
    return f"{probability:.3g}"


def check_most(most: int) -> None:
    """Raise an error if ``most`` is not a number of lines."""
    if not isinstance(most, (int, np.integer)) or most < 0:
        raise ValueError(f"most={most!r} is a number of lines, so at least 0")


def class_position(labels: np.ndarray, label: Any, what: str) -> int:
    """Return the position of a class; ``what`` names the argument in the error."""
    known = labels.tolist()
    if label not in known:
        raise ValueError(
            f"{what}={label!r} is not one of the classes {listed(known, 20)}"
            f"{did_you_mean(str(label), map(str, known))}"
        )
    return int(known.index(label))

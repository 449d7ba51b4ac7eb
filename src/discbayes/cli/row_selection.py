"""Single rows of a table, by the numbers that people see: the first row below the header is 1."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

import numpy as np

from discbayes.classifier import BayesNetClassifier
from discbayes.cli.console import UserError, complain, listed
from discbayes.cli.input_tables import InputTable
from discbayes.cli.spelling import as_text, matched
from discbayes.data.table import is_missing

ALL = "all"


def row_numbers(text: str) -> list[int] | str:
    """Numbers of rows from 1 on, with commas between them, or "all".

    >>> row_numbers("3,5")
    [3, 5]
    """
    if text == ALL:
        return ALL
    parts = [part.strip() for part in text.split(",")]
    odd = next((part for part in parts if not (part.isdecimal() and int(part) > 0)), None)
    if odd is not None:
        raise ArgumentTypeError(
            f"{odd!r} is no number of a row: the first row is 1, and all rows are 'all'"
        )
    return [int(part) for part in parts]


def chosen_rows(X: Any, numbers: list[int], name: str) -> Any:
    """Some rows of a table."""
    beyond = [number for number in numbers if number > X.num_rows]
    if beyond:
        raise UserError(
            f"{name} has {X.num_rows} rows, so there is no row {beyond[0]} (the first is 1)"
        )
    return X.take([number - 1 for number in numbers])


def known_values(model: BayesNetClassifier, row: Any, number: int) -> dict[str, Any]:
    """The values of the one row of a table by column, without gaps and what counts as such."""
    unseen = {name for _, name, _ in note_unseen(model, row, [number])}
    values = row.to_pylist()[0]
    return {
        name: value
        for name, value in values.items()
        if name not in unseen and not is_missing(value)
    }


def note_unseen(
    model: BayesNetClassifier, rows: Any, numbers: list[int]
) -> list[tuple[int, str, Any]]:
    """Values never seen in learning, with row and column; the first is warned of, or refused if the
    model does so.
    """
    found = _unseen(model, rows)
    if found:
        row, name, value = min(found, key=lambda one: one[0])
        text = (
            f"row {numbers[row]} has {value!r} in column {name!r}, which was never seen in learning"
        )
        if model.unknown == "error":
            raise UserError(f"{text}; --unknown marginalize counts it as missing")
        complain("warning", f"{text}: such values count as missing")
    return found


def _unseen(model: BayesNetClassifier, rows: Any) -> list[tuple[int, str, Any]]:
    """Only columns of labels can hold them: any number is in some interval."""
    found, codes = [], model.network_.encode(rows)
    for place, variable in enumerate(model.network_.domain.features):
        if variable.cuts is None:
            column = rows.column(place)
            odd = (codes[place] >= variable.card) & column.is_valid().to_numpy()
            cells = ((int(row), column[int(row)].as_py()) for row in np.flatnonzero(odd))
            found += [(row, variable.name, value) for row, value in cells if not is_missing(value)]
    return found


def classes_of(model: BayesNetClassifier, source: InputTable, target: str) -> np.ndarray:
    """The class of every row, as the model has it; a class that it does not know is refused."""
    source.require([target], "the target")
    labels = model.network_.domain.target.labels
    found = matched(as_text(source.table, [target]).column(target), labels).to_pylist()
    place = {label: k for k, label in enumerate(labels)}
    odd = [number for number, label in enumerate(found, 1) if label not in place]
    if odd:
        what = "no class" if found[odd[0] - 1] is None else f"the class {found[odd[0] - 1]!r}"
        raise UserError(
            f"row {odd[0]} of {source.name} has {what} in column {target!r}, and {len(odd)} rows in"
            f" all have none of the model's classes, {listed(labels)}: leave those rows out, or say"
            " with --target where the classes are"
        )
    return model.classes_[[place[label] for label in found]]

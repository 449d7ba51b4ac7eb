"""What mistakes cost and what it costs to ask, from JSON on the command line, a JSON file or a CSV
file.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._text import nearest_first
from discbayes.cli.console import UserError, listed
from discbayes.costs import cost_matrix


def read_costs(text: str | None, labels: Sequence[str]) -> np.ndarray | None:
    """The costs as a matrix, a row for each true class and a column for each decision, in the order
    of the labels.
    """
    if text is None:
        return None
    found = _cost_table(_csv_rows(text, "--costs")) if _is_csv(text) else _json(text, "--costs")
    if not isinstance(found, (dict, list)):
        raise UserError(
            f"--costs holds {found!r}: it must be {{truth: {{decision: cost}}}} or rows of numbers"
        )
    try:
        return cost_matrix(found, np.array(labels, dtype=object))
    except ValueError as error:
        raise UserError(f"--costs: {error}") from error


def _cost_table(rows: list[list[str]]) -> dict[str, dict[str, str]]:
    """A table with the decisions in its header and the true class at the beginning of each row."""
    header, *body = rows
    short = next((row for row in body if len(row) != len(header)), None)
    if short is not None:
        raise UserError(
            f"--costs: the row of {short[0]!r} has {len(short)} cells, and the header has"
            f" {len(header)}"
        )
    return {truth: dict(zip(header[1:], cells, strict=True)) for truth, *cells in body}


def read_prices(text: str | None, names: Sequence[str]) -> dict[str, float] | None:
    """The price of each column that has one."""
    if text is None:
        return None
    found = _price_pairs(_csv_rows(text, "--prices")) if _is_csv(text) else _json(text, "--prices")
    if not isinstance(found, dict):
        raise UserError(f"--prices holds {found!r}: it must be {{column: price}}")
    strange = [name for name in found if name not in names]
    if strange:
        near = listed(nearest_first(strange[0], names))
        raise UserError(
            f"--prices names {listed(strange)}, which the model does not know; its columns are"
            f" {near}"
        )
    return {name: _price(name, value) for name, value in found.items()}


def _price_pairs(rows: list[list[str]]) -> dict[str, str]:
    """Lines of a column and its price; a header is one of ``column,price``."""
    odd = next((row for row in rows if len(row) != 2), None)
    if odd is not None:
        raise UserError(
            f"--prices: expected lines of a column and its price, but there is {','.join(odd)!r}"
        )
    return {name: price for name, price in rows if (name, price) != ("column", "price")}


def _price(name: str, value: Any) -> float:
    try:
        price = float(value)
    except (TypeError, ValueError):
        price = math.nan
    if not 0 <= price < math.inf:
        raise UserError(f"--prices says {value!r} for {name!r}: a price is a number of at least 0")
    return price


# ---- files


def _is_csv(text: str) -> bool:
    return text.lower().endswith(".csv")


def _csv_rows(path: str, option: str) -> list[list[str]]:
    rows = [
        row for row in csv.reader(_content(path, option).splitlines(), skipinitialspace=True) if row
    ]
    if not rows:
        raise UserError(f"{option}: {path} is empty")
    return rows


def _json(text: str, option: str) -> Any:
    inline = text.lstrip().startswith(("{", "["))
    try:
        return json.loads(text if inline else _content(text, option))
    except json.JSONDecodeError as error:
        raise UserError(f"{option}: {'this' if inline else text} is no JSON: {error}") from error


def _content(path: str, option: str) -> str:
    if not Path(path).exists():
        raise UserError(
            f"{option}: there is no file {path!r}; give a file, or JSON such as {{…}} in quotes"
        )
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{option}: {path} is not UTF-8 text; save it as UTF-8") from error

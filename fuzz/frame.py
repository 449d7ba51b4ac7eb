"""Small tables of any kind, written as bytes: `FrameEncoder` gives codes that fit its domain, or
says what is wrong.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl

from discbayes.data import FrameEncoder
from discbayes.data.table_reader import read_table
from discbayes.io.domains import pack_domain, unpack_domain

NUMBERS = (
    0.0,
    1.0,
    -1.0,
    0.5,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    -0.0,
    2.0**53,
    1e-300,
    3.0,
)
WHOLE = (
    0,
    1,
    -1,
    2,
    127,
    255,
    2**31,
    -(2**31),
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**400,
)
TEXTS = (
    "",
    " ",
    "a",
    "A",
    "b",
    "nan",
    "None",
    "1",
    "1.0",
    "é",
    "e\u0301",
    "日本",
    "\x00",
    "\ud800",
    "x" * 300,
    "?",
)
ODD = (
    None,
    True,
    False,
    b"a",
    1j,
    (1,),
    [1],
    {},
    datetime.date(2020, 1, 1),
    Decimal("0.1"),
    np.float32(1),
    pd.NA,
    pd.NaT,
)
KINDS = ("numbers", "whole", "text", "bool", "odd", "gaps", "small", "few")
MAX_ROWS, MAX_COLUMNS = 24, 5


class Draws:
    """Choices made by bytes; without any left, the first of everything."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1."""
        self._at += 1
        return self._data[self._at - 1] % n if self._at <= len(self._data) else 0

    def of(self, items):
        """Return one of the items."""
        return items[self.below(len(items))]


def column(draws: Draws, n_rows: int) -> list:
    """Cells of one kind, sometimes with another among them."""
    kind = draws.of(KINDS)
    sources = {
        "numbers": NUMBERS,
        "whole": WHOLE,
        "text": TEXTS,
        "bool": (True, False),
        "odd": ODD,
        "gaps": (None, math.nan),
        "small": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
        "few": ("a", "b"),
    }
    cells = [draws.of(sources[kind]) for _ in range(n_rows)]
    if draws.below(4) == 1:
        cells[draws.below(n_rows)] = draws.of((None, *ODD, *NUMBERS, *TEXTS))
    return cells


def table(draws: Draws, columns: dict[str, list]):
    """The columns as a frame, an array or a list of rows; None where the library itself refuses
    them.
    """
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    kind = draws.of(("pandas", "polars", "objects", "rows", "array", "categorical", "nullable"))
    try:
        if kind == "polars":
            return pl.DataFrame(columns, strict=bool(draws.below(2)))
        if kind == "objects":
            objects = np.empty((len(rows), len(columns)), dtype=object)
            for at, row in enumerate(rows):
                for place, cell in enumerate(row):
                    objects[at, place] = cell
            return objects
        if kind == "rows":
            return rows
        if kind == "array":
            return np.array(rows)
        frame = pd.DataFrame(columns)
        if kind == "categorical":
            return frame.astype("category")
        return frame.convert_dtypes() if kind == "nullable" else frame
    except Exception:  # any error of pandas, polars and numpy about such cells
        return None


def check(data: bytes) -> None:
    """Learn from a table and read it again."""
    draws = Draws(data)
    n_rows = 1 + draws.below(MAX_ROWS)
    names = [
        draws.of(("a", "b", "class", "", "x0", "日", "a "))
        for _ in range(1 + draws.below(MAX_COLUMNS))
    ]
    X = table(draws, {name: column(draws, n_rows) for name in names})
    y = column(draws, n_rows)
    weight = (
        [draws.of((1.0, 0.0, 2.5, -1.0, math.nan, 1e-300, 1e300)) for _ in range(n_rows)]
        if draws.below(4) == 1
        else None
    )
    settings = {
        "discretizer": draws.of(("mdlp", "equal-frequency", None, "other")),
        "categorical": draws.of(("auto", "all", ["a"], [0], [True], "a", [99], [None])),
        "domains": draws.of(
            (
                None,
                None,
                None,
                {"a": ["a", "b"]},
                {"a": [0, 1]},
                {"a": []},
                {"a": [math.nan]},
                {"q": [1]},
            )
        ),
        "missing": draws.of(("available", "value", "drop", "error", "other")),
        "unknown": draws.of(("marginalize", "error")),
    }
    if X is None:
        return
    try:
        encoder = FrameEncoder(**settings)
        data_ = encoder.fit_transform(X, y, weight)
    except (ValueError, TypeError) as error:
        check_message(error)
        return
    check_codes(encoder, data_, X)


def check_message(error: Exception) -> None:
    """Check that an error has a text, and was raised on purpose."""
    assert len(str(error)) > 10, error
    trace, last = error.__traceback__, ""
    while trace is not None:
        last = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    assert last.startswith(("discbayes.", "sklearn.utils.")), f"{last}: {error!r}"


def check_codes(encoder: FrameEncoder, data, X) -> None:
    """Codes are within the domain, reading the same rows again gives them again, and the domain can
    be stored.
    """
    domain = encoder.domain_
    for codes, variable in zip(data.codes, domain.features, strict=True):
        assert codes.max(initial=0) <= variable.card
        if encoder.missing in ("value", "drop", "error"):
            assert codes.max(initial=0) < max(variable.card, 1) or not len(variable.labels)
    assert data.classes.max() < domain.n_classes
    table, kept = read_table(X), encoder.kept_rows_
    # others may hold anything
    again = encoder.transform(table if kept is None else table.take(np.flatnonzero(kept)))
    for codes, same, variable in zip(data.codes, again, domain.features, strict=True):
        gaps = variable.card - 1 if variable.missing_value else variable.card
        same = np.where((same == variable.card) & variable.missing_value, gaps, same)
        assert (codes == same).all(), variable
    assert unpack_domain(pack_domain(domain)) == domain

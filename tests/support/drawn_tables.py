"""Tables as people bring them, drawn by hypothesis: columns, gaps, classes and weights of every
kind, in every frame.

Hypothesis draws what a table is made of (kinds of columns, their values, patterns of gaps, sizes)
and a seed, by which the cells are taken from those values. That is many times as fast as drawing
each cell, and a table that fails still shrinks to few rows and columns of simple values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

KINDS = ("float", "int", "number", "bool", "text", "category")
PLAIN_KINDS = ("float", "int", "number", "bool", "text")  # what every frame holds in the same way
LABELLED = ("bool", "text", "category")
FRAMES = ("pandas", "nullable", "arrow-backed", "polars", "pyarrow", "objects", "lists")
GAPS = ("none", "scattered", "column", "row", "all but one", "many")
_ODD_FLOATS = (0.0, -0.0, 1.0, 0.1, 1e-9, 1e15, -1e300, 1.7e308, 5e-324, 2.0**53)
_ODD_TEXTS = (
    "",
    " ",
    "nan",
    "None",
    "(missing)",
    "1",
    "True",
    "a,b",
    "a\nb",
    '"',
    "\\",
    "\0",
    "é",
    "é",
    "y" * 3000,
)
_ODD_NAMES = (
    "",
    "class",
    "class_",
    "probability",
    "x1",
    "0",
    "None",
    'a"b',
    "a\tb",
    "{",
    "target",
    "</script>",
)


@dataclass(frozen=True)
class Column:
    """A column of Python values, None where there is a gap; ``levels`` are all that a category can
    be.
    """

    name: str
    kind: str
    cells: tuple
    levels: tuple = ()


@dataclass(frozen=True)
class Table:
    """Columns, the class of each row, and perhaps its weight."""

    columns: tuple[Column, ...]
    y: tuple
    weight: tuple | None = None

    @property
    def n_rows(self):
        return len(self.y)

    @property
    def names(self):
        return [column.name for column in self.columns]

    @property
    def labels(self):
        """The classes as an array of their own type."""
        return np.array(self.y)

    def take(self, rows):
        """Some rows, by position, in this order."""
        columns = tuple(
            replace(column, cells=tuple(column.cells[m] for m in rows)) for column in self.columns
        )
        weight = None if self.weight is None else tuple(self.weight[m] for m in rows)
        return Table(columns, tuple(self.y[m] for m in rows), weight)

    def reorder(self, positions):
        """The columns in another order."""
        return replace(self, columns=tuple(self.columns[i] for i in positions))

    def changed(self, change, kinds=KINDS):
        """Every value of columns of some kinds replaced; gaps stay gaps."""

        def one(column):
            if column.kind not in kinds:
                return column
            cells = tuple(None if value is None else change(value) for value in column.cells)
            return replace(column, cells=cells, levels=tuple(map(change, column.levels)))

        return replace(self, columns=tuple(map(one, self.columns)))

    def hidden(self, mask):
        """The table with more gaps; the mask has a row for each row and a column for each
        column.
        """

        def one(column, hide):
            cells = (None if gap else value for value, gap in zip(column.cells, hide, strict=True))
            return replace(column, cells=tuple(cells))

        return replace(self, columns=tuple(map(one, self.columns, np.asarray(mask).T)))

    def frame(self, how="pandas"):
        """The table in the frame, array or list that is asked for."""
        return _MAKERS[how](self)


# What tables are made of


@cache
def _texts(surrogates):
    letters = st.characters() if surrogates else st.characters(exclude_categories=("Cs",))
    return st.text(letters, max_size=3) | st.sampled_from(_ODD_TEXTS)


def _some(values, most=4):
    return st.lists(values, min_size=1, max_size=most, unique=True)


@cache  # making a strategy takes longer than drawing from it
def _pool(kind, surrogates):
    """The values that a column of a kind may have."""
    if kind == "float":
        return _some(
            st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(_ODD_FLOATS), 8
        )
    if kind == "int":
        return _some(st.integers(-3, 3)) | _some(st.integers(-(2**53), 2**53), 8)
    if kind == "number":  # so many that they must be cut
        return st.integers(0, 99).map(
            lambda seed: np.random.default_rng(seed).normal(size=40).round(2).tolist()
        )
    if kind == "bool":
        return _some(st.booleans(), 2)
    if kind == "category":
        return _some(_texts(False)) | _some(st.integers(-3, 3))
    return _some(_texts(surrogates))


@cache
def _sizes(most_rows):
    """Mostly few rows: what is odd shows there."""
    few, some = st.integers(1, 10), st.integers(1, min(40, most_rows))
    return st.one_of(few, few, few, some, some, some, some, st.integers(1, most_rows))


@cache
def _kinds(kinds, most):
    return st.lists(st.sampled_from(kinds), min_size=1, max_size=most)


def _gap_mask(rng, pattern, n_rows, n_columns):
    mask = np.zeros((n_rows, n_columns), dtype=bool)
    if pattern in ("scattered", "many"):
        mask |= rng.random(mask.shape) < {"scattered": 0.2, "many": 0.8}[pattern]
    elif pattern == "column":
        mask[:, rng.integers(n_columns)] = True
    elif pattern == "row":
        mask[rng.integers(n_rows)] = True
    elif pattern == "all but one":
        mask[:] = True
        mask[rng.integers(n_rows), rng.integers(n_columns)] = False
    return mask


@cache
def _names(n_columns):
    """Names as arrays have them, or one that is drawn and others that are odd."""
    plain = [f"x{i}" for i in range(n_columns)]
    odd = st.tuples(_texts(False), st.integers(0, len(_ODD_NAMES)))

    def all_of(drawn):
        name, first = drawn
        return list(dict.fromkeys([name, *_ODD_NAMES[first:], *_ODD_NAMES]))[:n_columns]

    return st.just(plain) | odd.map(all_of)


@cache
def _classes():
    # an array of text has no room for these
    plain = _texts(False).map(lambda text: text.rstrip("\0"))
    texts, numbers = _some(plain), _some(st.integers(-(2**40), 2**40))
    return st.one_of(
        st.just(["no", "yes"]), texts, numbers, _some(st.booleans(), 2), st.just([0.0, 1.0, 2.0])
    )


def _weights(rng, how, n_rows):
    if how is None:
        return None
    weight = rng.choice(
        {"whole": [1, 2, 3], "broken": [0.25, 0.5, 1.5, 2.0], "zeros": [0, 0, 1, 2]}[how], n_rows
    )
    weight[rng.integers(n_rows)] = 1
    return tuple(weight.tolist())


@st.composite
def tables(
    draw,
    kinds=KINDS,
    gaps=GAPS,
    weights=(None, None, "whole", "broken", "zeros"),
    most_rows=300,
    most_columns=6,
    surrogates=False,
    least_classes=1,
):
    """A table; half of its columns depend on the class, so that there is something to learn."""
    n_rows = draw(_sizes(most_rows))
    of_kinds = draw(_kinds(kinds, most_columns))
    pools = [draw(_pool(kind, surrogates)) for kind in of_kinds]
    names = draw(_names(len(of_kinds)))
    classes = draw(_classes())
    pattern, weighted = draw(st.sampled_from(gaps)), draw(st.sampled_from(weights))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    place = rng.integers(len(classes), size=max(n_rows, least_classes))
    place[:least_classes] = np.arange(least_classes) % len(classes)
    mask = _gap_mask(rng, pattern, place.size, len(of_kinds))
    columns = []
    for i, (name, kind, pool) in enumerate(zip(names, of_kinds, pools, strict=True)):
        at = rng.integers(len(pool), size=place.size)
        linked = rng.random(place.size) < rng.choice([0.0, 0.8])
        at = np.where(linked, place % len(pool), at)
        cells = tuple(
            None if gap else pool[k] for k, gap in zip(at.tolist(), mask[:, i], strict=True)
        )
        columns.append(Column(name, kind, cells, tuple(pool) if kind == "category" else ()))
    y = tuple(classes[k] for k in place.tolist())
    return Table(tuple(columns), y, _weights(rng, weighted, place.size))


# Frames of every make


def _whole(column):
    return column.kind == "int" and None not in column.cells


def _objects(table):
    array = np.empty((table.n_rows, len(table.columns)), dtype=object)
    for i, column in enumerate(table.columns):
        array[:, i] = column.cells
    return array


def _pandas(table):
    def series(column):
        if column.kind == "category":
            return pd.Categorical(column.cells, categories=list(column.levels))
        if column.kind in ("float", "number", "int"):
            return pd.Series(column.cells, dtype="int64" if _whole(column) else "float64")
        if column.kind == "bool" and None not in column.cells:
            return pd.Series(column.cells, dtype=bool)
        return pd.Series(column.cells, dtype=object)

    return pd.DataFrame({column.name: series(column) for column in table.columns})


def _typed_pandas(types):
    def make(table):
        def series(column):
            if column.kind == "category":
                return pd.Categorical(column.cells, categories=list(column.levels))
            return pd.Series(column.cells, dtype=types[column.kind])

        return pd.DataFrame({column.name: series(column) for column in table.columns})

    return make


def _polars(table):
    types = {
        "float": pl.Float64,
        "number": pl.Float64,
        "int": pl.Int64,
        "bool": pl.Boolean,
        "text": pl.String,
    }

    def series(column):
        if column.kind != "category":
            return pl.Series(column.name, column.cells, dtype=types[column.kind])
        texts = [None if value is None else str(value) for value in column.cells]
        return pl.Series(column.name, texts, dtype=pl.Enum(list(map(str, column.levels))))

    return pl.DataFrame([series(column) for column in table.columns])


_ARROW = {
    "float": pa.float64(),
    "number": pa.float64(),
    "int": pa.int64(),
    "bool": pa.bool_(),
    "text": pa.string(),
}


def _pyarrow(table):
    def array(column):
        if column.kind != "category":
            return pa.array(column.cells, type=_ARROW[column.kind])
        texts = [None if value is None else str(value) for value in column.cells]
        return pa.array(texts, type=pa.string()).dictionary_encode()

    return pa.table([array(column) for column in table.columns], names=table.names)


_MAKERS = {
    "pandas": _pandas,
    "nullable": _typed_pandas(
        {
            "float": "Float64",
            "number": "Float64",
            "int": "Int64",
            "bool": "boolean",
            "text": "string",
        }
    ),
    "arrow-backed": _typed_pandas({kind: pd.ArrowDtype(of) for kind, of in _ARROW.items()}),
    "polars": _polars,
    "pyarrow": _pyarrow,
    "objects": _objects,
    "lists": lambda table: [
        list(row) for row in zip(*(column.cells for column in table.columns), strict=True)
    ],
}

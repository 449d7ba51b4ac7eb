"""Where rows come from: a file, or a data set that the library knows by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes._text import nearest_first
from discbayes.cli.console import UserError, listed
from discbayes.cli.file_tables import (
    STANDARD,
    STANDARD_INPUT,
    FileReading,
    has_known_ending,
    read_table,
)
from discbayes.cli.spelling import as_text
from discbayes.datasets import Dataset, list_datasets, load_dataset
from discbayes.datasets.loading import OPENML
from discbayes.engine import Progress


@dataclass(frozen=True)
class InputTable:
    """A table with all its columns; a data set known by name brings its target along.

    ``hint`` ends an error about columns that are not there.
    """

    name: str
    table: Any
    target: str | None = None
    hint: str = ""

    def require(self, names: Sequence[str], what: str) -> None:
        """Refuse columns that are not there, with those that are, nearest first."""
        columns = self.table.column_names
        lacking = [name for name in names if name not in columns]
        if lacking:
            near = listed(nearest_first(lacking[0], columns))
            raise UserError(
                f"{self.name} has no column {listed(lacking)} ({what}); its columns are"
                f" {near}{self.hint}"
            )

    def without(self, names: Collection[str]) -> Any:
        """The table without some columns."""
        kept = [name for name in self.table.column_names if name not in names]
        if not kept:
            raise UserError(f"{self.name} has no columns left to learn from{self.hint}")
        return self.table.select(kept)

    def numbers(self, name: str) -> np.ndarray:
        """A column as numbers, gaps as NaN."""
        values = self.table.column(name).to_pylist()
        try:
            return np.array([np.nan if value is None else float(value) for value in values])
        except (TypeError, ValueError):
            odd = next(value for value in values if not isinstance(value, (int, float, type(None))))
            raise UserError(f"column {name!r} must hold numbers, but there is {odd!r}") from None


class LabelSettings:
    """The class of every row as text, under the name of its column, which the model remembers."""

    def __init__(self, name: str, values: np.ndarray):
        self.name = name
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: np.ndarray) -> LabelSettings:
        """The labels of some rows."""
        return LabelSettings(self.name, self.values[rows])


def text_labels(table: Any, name: str) -> LabelSettings:
    """A column as labels."""
    return LabelSettings(name, np.array(table.column(name).to_pylist(), dtype=object))


def open_source(
    data: str, reading: FileReading, text: Collection[str], progress: Progress
) -> InputTable:
    """Read DATA: an existing file, the standard input, or else a data set of that name."""
    if is_read(data):
        progress.stage(f"reading {named(data)}")
        table, hint = read_table(data, reading, text)
        return InputTable(named(data), table, hint=hint)
    if _looks_like_file(data):
        raise UserError(f"{data}: no such file{_nearest_file(data)}")
    found = named_dataset(data)
    progress.stage(f"using {found!r}, since there is no file {data!r}")
    return InputTable(data, as_text(dataset_table(found), text), found.target)


def is_read(data: str) -> bool:
    """Whether DATA is a file, a folder or the standard input, not the name of a data set."""
    return data == STANDARD or Path(data).exists()


def named(data: str) -> str:
    """What messages call DATA."""
    return STANDARD_INPUT if data == STANDARD else data


def _looks_like_file(data: str) -> bool:
    """A path, or a name with an ending, unless a data set is called that."""
    if data.lower().startswith(OPENML):
        return False
    if has_known_ending(data) or Path(data).name != data:
        return True
    return bool(Path(data).suffix) and data not in {info.name for info in list_datasets()}


def _nearest_file(data: str) -> str:
    """The file in the same folder whose name is most like one that is not there; nothing if none is
    like it.
    """
    try:
        names = [entry.name for entry in Path(data).absolute().parent.iterdir()]
    except OSError:
        return ""
    near = get_close_matches(Path(data).name, names, n=1)
    return f"; did you mean {str(Path(data).parent / near[0])!r}?" if near else ""


def named_dataset(name: str) -> Dataset:
    """A data set of the library, its features as an arrow table; only ``openml:NAME`` asks a
    server.
    """
    need("pyarrow")
    try:
        return load_dataset(name, as_frame="pyarrow")
    except (LookupError, ConnectionError) as error:
        if name.lower().startswith(OPENML):
            raise UserError(str(error.args[0])) from error
        near = get_close_matches(name.lower(), [info.name.lower() for info in list_datasets()], n=1)
        meant = (
            f"; did you mean {near[0]!r}?"
            if near
            else _nearest_file(name) or ": `discbayes datasets` lists them"
        )
        raise UserError(
            f"{name!r} is neither a file nor an embedded data set{meant} ({OPENML}NAME downloads"
            " one of OpenML)"
        ) from error


def dataset_table(data: Dataset) -> Any:
    """The features and the class of a data set in one table."""
    return data.X.append_column(data.target, need("pyarrow").array(data.y.tolist()))

"""How values are written as text, so that every kind of file gives a model the same labels.

Text stays as it stands. Booleans and numbers that a file stores as such are written as Python
prints them: True, 1.0, 1. The values of a saved model are matched first as they stand, and then by
what they are worth: true, TRUE and True are one value, and so are 1, 1.0 and 1.00. Leading zeros
are never dropped: 01 is a code, not a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from discbayes._lazy_imports import need
from discbayes.cli.console import UserError
from discbayes.streams.file_sources import FALSE, TRUE

_BOOLEANS = {**dict.fromkeys(TRUE, "True"), **dict.fromkeys(FALSE, "False")}
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")


def worth(text: str) -> str:
    """One spelling for all texts that mean the same boolean or number; any other text is its own.

    >>> [worth(text) for text in ("TRUE", "1.0", "1.50", "10", "01.0", "red")]
    ['True', '1', '1.5', '10', '01.0', 'red']
    """
    if _DECIMAL.fullmatch(text):
        return text.rstrip("0").rstrip(".")
    return _BOOLEANS.get(text, text)


def matcher(known: Sequence[str]) -> Callable[[str], str]:
    """A function that turns a text into the known one that it means, and leaves it alone where
    there is none.

    >>> list(map(matcher(["true", "01"]), ["True", "01", "1"]))
    ['true', '01', '1']
    """
    exact = {text: text for text in known}
    by_worth = {worth(text): text for text in reversed(known)}
    return lambda text: exact.get(text) or by_worth.get(worth(text), text)


def matched(column: Any, known: Sequence[str]) -> Any:
    """A column of text in the spelling of the known values."""
    match = matcher(known)
    return _mapped(
        column,
        lambda levels: [None if text is None else match(text) for text in levels.to_pylist()],
    )


def as_text(table: Any, names: Collection[str]) -> Any:
    """The table with some of its columns as text."""
    pa = need("pyarrow")
    for place, name in enumerate(table.column_names):
        if name in names and not pa.types.is_string(table.schema.field(place).type):
            table = table.set_column(place, name, _written(table.column(place), name))
    return table


def _written(column: Any, name: str) -> Any:
    pa = need("pyarrow")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type) or pa.types.is_floating(column.type):
        return _mapped(column, _printed)
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UserError(
            f"column {name!r} holds {column.type}, which cannot be turned into text labels"
        ) from error


def _printed(levels: Any) -> list[str | None]:
    """Booleans and floats as Python prints them; NaN is a gap."""
    return [
        str(value) if value == value else None for value in levels.to_numpy(zero_copy_only=False)
    ]


def _mapped(column: Any, texts: Callable[[Any], list[str | None]]) -> Any:
    """A column of the texts that a function gives for its distinct values."""
    pa = need("pyarrow")
    chunks = [chunk.dictionary_encode() for chunk in column.chunks]
    written = [
        pa.array(texts(chunk.dictionary), pa.string()).take(chunk.indices) for chunk in chunks
    ]
    return pa.chunked_array(written, pa.string())

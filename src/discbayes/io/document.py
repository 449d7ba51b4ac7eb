"""The file around a model: JSON with a format, a version and a checksum.

The checksum covers everything else in canonical form (sorted keys, no spaces). It detects damage;
it does not prove where a file comes from, so that each field is checked all the same.

A value of JSON takes up to thirty times its characters in memory. Therefore the number of values is
limited too, and checked before they are parsed: a value follows a bracket, a brace or a comma.
Lists and objects count as many values as take the same memory, so that reading takes at most 200 MB
and ten times the size of a file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, NoReturn

from discbayes._version import __version__
from discbayes.io.validation import MAX_DEPTH, as_int, as_object, as_text, is_deeper, shown

FORMAT = "discbayes-model"
VERSION = 5  # the newest that is read; a file has the lowest number that tells what it holds
MAX_VALUES = 5_000_000
_WEIGHTS = {b",": 1, b"[": 3, b"{": 8}  # of a value, a list, an object
_HEAD = ("format", "version", "library", "sha256", "model")


def seal(model: dict[str, Any], version: int = 1) -> bytes:
    """Return the content of the file for a model, in a version of the format that can tell it."""
    document = {
        "format": FORMAT,
        "version": version,
        "library": __version__,
        "sha256": "",
        "model": model,
    }
    document["sha256"] = checksum(document)
    return _text(document) + b"\n"


def checksum(document: dict[str, Any]) -> str:
    """Return the checksum of all fields but itself."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(_text(rest, sort_keys=True)).hexdigest()


def _text(value: Any, sort_keys: bool = False) -> bytes:
    text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def open_document(content: bytes, max_values: int = MAX_VALUES) -> tuple[dict[str, Any], str]:
    """Return the model in a file and the version that wrote it, after checks of the whole file.

    Parameters
    ----------
    content : bytes
        The content of the file.
    max_values : int
        The maximum number of values (`count_values`).
    """
    # before parsing, since a small file can hold very many values
    if count_values(content) > max_values:
        raise ValueError(f"it has more than {max_values} values, the limit of max_values")
    document = _parse(content)
    if is_deeper(document, MAX_DEPTH):
        raise ValueError(f"it is nested too deeply, in more than {MAX_DEPTH} levels")
    if type(document) is not dict or document.get("format") != FORMAT:
        raise ValueError(f"it is JSON, but not a model file (its format is not {FORMAT!r})")
    version = as_int(document.get("version"), "version", 1)
    if version > VERSION:
        library = shown(document.get("library")).strip("'")
        raise ValueError(
            f"it was written by a newer discbayes ({library}, format version {shown(version)});"
            f" this is {__version__}, which reads up to version {VERSION}: upgrade discbayes to"
            " read it"
        )
    as_object(document, "the file", _HEAD)
    library = as_text(document["library"], "library")
    if as_text(document["sha256"], "sha256") != checksum(document):
        raise ValueError(
            "its checksum does not match: it was changed or damaged after it was written"
        )
    return as_object(document["model"], "model"), library


def count_values(content: bytes) -> int:
    """Return the number of values of a file; a list counts as three and an object as eight.

    >>> count_values(b'{"a": [1, 2]}')
    12
    """
    return sum(weight * content.count(sign) for sign, weight in _WEIGHTS.items())


def hint_of_version(library: str) -> str:
    """Return the advice to upgrade if a file that is refused was written by a newer version."""
    written, ours = _release(library), _release(__version__)
    if written is None or ours is None or written <= ours:
        return ""
    return (
        f"; it was written by discbayes {shown(library)}, and this is {__version__}: upgrade"
        " discbayes to read it"
    )


def _release(version: str) -> list[int] | None:
    numbers = re.match(r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}", version)
    return [int(number) for number in numbers[0].split(".")] if numbers else None


def _parse(content: bytes) -> Any:
    try:
        text = content.decode("utf-8")
        return json.loads(
            text, parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_no_duplicates
        )
    except ValueError as error:
        raise ValueError(f"it is not JSON, or not all of it is there ({error})") from None


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_constant(shown(text))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has a field twice")
    return fields

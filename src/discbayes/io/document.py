"""The file around a model: JSON with a format, a version and a checksum.

The checksum is taken over everything else in canonical form (sorted keys, no spaces). It finds damage; it does not
prove where a file comes from, so that what it covers is checked field by field all the same.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

from discbayes._version import __version__
from discbayes.io.checks import as_int, as_object, as_text

FORMAT = "discbayes-model"
VERSION = 1
_HEAD = ("format", "version", "library", "sha256", "model")


def seal(model: dict[str, Any]) -> bytes:
    """The content of the file for a model."""
    document = {"format": FORMAT, "version": VERSION, "library": __version__, "sha256": "", "model": model}
    document["sha256"] = checksum(document)
    return _text(document) + b"\n"


def checksum(document: dict[str, Any]) -> str:
    """The checksum of everything but itself."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(_text(rest, sort_keys=True)).hexdigest()


def _text(value: Any, sort_keys: bool = False) -> bytes:
    text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def open_document(content: bytes) -> dict[str, Any]:
    """The model in the file, after the checks that concern the file as a whole."""
    document = _parse(content)
    if type(document) is not dict or document.get("format") != FORMAT:
        raise ValueError(f"it is JSON, but no model file (its format is not {FORMAT!r})")
    version = as_int(document.get("version"), "version", 1)
    if version > VERSION:
        library = str(document.get("library"))[:20]
        raise ValueError(
            f"it was written by a newer discbayes ({library}, format version {version}); "
            f"this is {__version__}, which reads up to version {VERSION}"
        )
    as_object(document, "the file", _HEAD)
    as_text(document["library"], "library")
    if as_text(document["sha256"], "sha256") != checksum(document):
        raise ValueError("its checksum does not fit: it was changed or damaged after it was written")
    return as_object(document["model"], "model")


def _parse(content: bytes) -> Any:
    try:
        text = content.decode("utf-8")
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except ValueError as error:
        raise ValueError(f"it is not JSON, or not all of it is there ({error})") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has a field twice")
    return fields

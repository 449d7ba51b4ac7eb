"""A small client of OpenML: find a data set by name, fetch it, check it, keep it in the cache.

Everything goes through an *opener*, a function from an address to bytes, so that tests need no
network. The fetched table is stored in the format of ``files.py`` and read from there, so the first
load and the next give the same.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import http.client
import io
import json
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import IO, Any

import numpy as np

from discbayes._version import __version__
from discbayes.datasets.arff import Attribute, read_arff
from discbayes.datasets.dataset import Columns
from discbayes.datasets.manifest import (
    FileEntry,
    add_to_manifest,
    canonical,
    read_manifest,
    write_atomically,
)
from discbayes.datasets.text_tables import columns_from_rows, missing_cells

API = "https://api.openml.org/api/v1/json/data"
MAX_BYTES = 500_000_000
TIMEOUT_SECONDS = 60
_DESCRIBED = ("id", "name", "version", "format", "url", "md5_checksum")
_NO_RESULTS = 412  # the status with which OpenML answers that nothing matches

Opener = Callable[[str], bytes]


def open_url(address: str) -> bytes:
    """Fetch an address of OpenML, up to MAX_BYTES (one byte more tells that there was more)."""
    request = urllib.request.Request(address, headers={"User-Agent": f"discbayes/{__version__}"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        return bytes(response.read(MAX_BYTES + 1))


def cached_name(name: str, version: int | None) -> str:
    """The name of a fetched data set in the cache."""
    return canonical(name) if version is None else f"{canonical(name)}.v{version}"


def fetch(
    name: str, folder: Path, *, version: int | None = None, opener: Opener = open_url
) -> FileEntry:
    """Fetch a data set from OpenML into a folder.

    Parameters
    ----------
    name : str
        Its name on OpenML.
    folder : Path
        The cache; data file and manifest are each replaced in one step, so a broken run leaves no
        half file.
    version : int, optional
        Its version; by default the lowest that is active.
    opener : callable
        From an address to the bytes there.

    Returns
    -------
    FileEntry
        The stored data set.

    Raises
    ------
    LookupError
        OpenML has no active data set of that name.
    ConnectionError
        OpenML did not answer.
    ValueError
        The answer is damaged, too large, or not a dense table with one nominal class.
    """
    number = _find(name, version, opener)
    about = _describe(number, opener)
    text = _download(about, opener)
    header, rows, numeric = _select(about, text)
    target = header[-1]
    columns = columns_from_rows(header, rows, numeric, target)
    file = f"openml-{number}.csv.gz"
    write_atomically(folder / file, lambda stream: _write_csv(stream, header, rows))
    add_to_manifest(folder, _manifest_entry(cached_name(name, version), file, about, columns))
    return read_manifest(folder, "cache")[cached_name(name, version)]


def _get(address: str, opener: Opener) -> bytes:
    try:
        content = opener(address)
    except urllib.error.HTTPError as error:
        if error.code == _NO_RESULTS:
            raise LookupError(f"OpenML has nothing at {address}") from error
        raise ConnectionError(f"OpenML answered {error.code} to {address}") from error
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(f"OpenML cannot be reached ({error})") from error
    if len(content) > MAX_BYTES:
        raise ValueError(f"{address} is larger than {MAX_BYTES} bytes")
    return content


def _json(content: bytes, *path: str) -> Any:
    """What stands at a path of keys in an answer."""
    try:
        return reduce(getitem, path, json.loads(content))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"OpenML's answer is not what was expected: {content[:60]!r}") from error


def _find(name: str, version: int | None, opener: Opener) -> int:
    """The number of the data set: the given version, or the lowest active one."""
    wanted = f"/data_name/{urllib.parse.quote(name.strip().lower(), safe='')}/status/active"
    if version is not None:
        wanted += f"/data_version/{version}"
    try:
        answer = _get(f"{API}/list{wanted}", opener)
    except LookupError as error:
        label = name if version is None else f"{name} (version {version})"
        raise LookupError(f"OpenML has no active data set {label!r}") from error
    found = _json(answer, "data", "dataset")
    try:
        return int(min(found, key=lambda each: int(each["version"]))["did"])
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(
            f"OpenML's list of data sets is not what was expected: {answer[:60]!r}"
        ) from error


def _describe(number: int, opener: Opener) -> dict[str, Any]:
    about = _json(_get(f"{API}/{number}", opener), "data_set_description")
    if not isinstance(about, dict):
        raise ValueError(
            f"OpenML's description of data set {number} is not what was expected:"
            f" {str(about)[:60]!r}"
        )
    lacking = [field for field in _DESCRIBED if not about.get(field)]
    if lacking:
        raise ValueError(f"OpenML's description of data set {number} lacks {', '.join(lacking)}")
    odd = [field for field in _DESCRIBED if not isinstance(about[field], (str, int))]
    if odd:
        raise ValueError(
            f"OpenML's description of data set {number} has no text for {', '.join(odd)}"
        )
    return {**about, **{field: str(about[field]) for field in _DESCRIBED}}


def _download(about: dict[str, Any], opener: Opener) -> str:
    if about["format"].lower() != "arff":
        raise ValueError(
            f"OpenML keeps {about['name']!r} as {about['format']}; only dense ARFF is read"
        )
    content = _get(_safe_address(about["url"]), opener)
    # The checksum guards against damage, not against an attacker: it comes from the same server.
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if digest != about["md5_checksum"]:
        raise ValueError(
            f"{about['url']} is damaged: its checksum is {digest}, not {about['md5_checksum']}"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # some of the older uploads


def _safe_address(address: str) -> str:
    """The address over https; an answer must not be able to send us to a local file or another
    server.
    """
    parts = urllib.parse.urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not (
        host == "openml.org" or host.endswith(".openml.org")
    ):
        raise ValueError(
            f"OpenML points to {address[:200]!r}, which is not an address of openml.org"
        )
    return urllib.parse.urlunsplit(parts._replace(scheme="https"))


def _select(about: dict[str, Any], text: str) -> tuple[list[str], list[list[str]], list[str]]:
    """Header, rows and numeric columns, with identifiers left out and the class last."""
    attributes, rows = read_arff(text)
    names = [attribute.name for attribute in attributes]
    target = about.get("default_target_attribute")
    if target not in names:
        raise ValueError(
            f"OpenML's {about['name']!r} does not have one class column (it says {target!r})"
        )
    left_out = {
        target,
        *_listed(about.get("row_id_attribute")),
        *_listed(about.get("ignore_attribute")),
    }
    keep = [at for at, name in enumerate(names) if name not in left_out] + [names.index(target)]
    for at in keep:
        _check_kind(attributes[at], is_target=names[at] == target)
    numeric = [names[at] for at in keep if attributes[at].kind == "numeric"]
    return [names[at] for at in keep], [[row[at] for at in keep] for row in rows], numeric


def _listed(value: Any) -> list[str]:
    """OpenML gives one name, several with commas, a list, or nothing."""
    if not value:
        return []
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else list(value)


def _check_kind(attribute: Attribute, is_target: bool) -> None:
    allowed = ("nominal", "string") if is_target else ("numeric", "nominal", "string")
    if attribute.kind not in allowed:
        role = "class" if is_target else "column"
        raise ValueError(
            f"the {role} {attribute.name!r} is of kind {attribute.kind!r}; it must be one of"
            f" {allowed}"
        )


def _write_csv(stream: IO[bytes], header: list[str], rows: list[list[str]]) -> None:
    # No time stamp, so that the same data give the same file.
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _manifest_entry(
    name: str, file: str, about: dict[str, Any], columns: Columns
) -> dict[str, Any]:
    numeric = [key for key, values in columns.features.items() if values.dtype == np.float64]
    return {
        "name": name,
        "file": file,
        "n_rows": len(columns.y),
        "n_features": len(columns.features),
        "n_classes": len(np.unique(columns.y)),
        "numeric_features": numeric,
        "categorical_features": columns.categorical,
        "missing_cells": missing_cells(columns),
        "split": "cv5",
        "class_counts": dict(Counter(columns.y.tolist())),
        "source": f"OpenML data set {about['id']}, version {about['version']}",
        "note": "",
    }

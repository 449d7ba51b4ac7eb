"""Data sets of OpenML: found by name, read by scikit-learn's ``fetch_openml``, kept in the cache.

The name is looked up here, with one request for the list and one for the description, so that a
data set that is too large, sparse or at a foreign address is refused before it is downloaded. The
table is stored in the format of ``manifest.py`` and read from there, so the first load and the next
ones give the same.
"""

from __future__ import annotations

import csv
import gzip
import http.client
import io
import json
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from discbayes._lazy_imports import is_installed
from discbayes._version import __version__
from discbayes.datasets.dataset import Columns
from discbayes.datasets.manifest import (
    FileEntry,
    add_to_manifest,
    canonical,
    read_manifest,
    write_atomically,
)
from discbayes.datasets.text_tables import missing_cells

API = "https://api.openml.org/api/v1/json/data"
MAX_BYTES = 500_000_000
TIMEOUT_SECONDS = 60
_DESCRIBED = ("id", "name", "version", "format", "url", "md5_checksum")
_NO_RESULTS = 412  # the status with which OpenML answers that nothing matches

Opener = Callable[[str], bytes]


def open_url(address: str) -> bytes:
    """Return the answer of OpenML at an address, up to one byte more than is allowed."""
    with _request(address) as response:
        return bytes(response.read(MAX_BYTES + 1))


def file_size(address: str) -> int:
    """Return the size of a file in bytes, as the server states it; 0 if it does not."""
    with _request(address, "HEAD") as response:
        return int(response.headers.get("Content-Length") or 0)


def _request(address: str, method: str = "GET") -> Any:
    headers = {"User-Agent": f"discbayes/{__version__}"}
    request = urllib.request.Request(address, headers=headers, method=method)
    return urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)


def cached_name(name: str, version: int | None) -> str:
    """Return the name of a fetched data set in the cache."""
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
        The cache; data file and manifest are each replaced in one step, so an interrupted run
        leaves no incomplete file.
    version : int, optional
        Its version; by default the lowest that is active.
    opener : callable
        From an address to the bytes there; for looking up the name.

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
    _check_file(about)
    columns = _download(number, about)
    file = f"openml-{number}.csv.gz"
    write_atomically(folder / file, lambda stream: _write_csv(stream, columns))
    add_to_manifest(folder, _manifest_entry(cached_name(name, version), file, about, columns))
    return read_manifest(folder, "cache")[cached_name(name, version)]


# ---- looking up a name


def _get(address: str, opener: Opener) -> bytes:
    try:
        content = opener(address)
    except urllib.error.HTTPError as error:
        if error.code == _NO_RESULTS:
            raise LookupError(f"OpenML has nothing at {address}") from error
        raise ConnectionError(f"OpenML answered {error.code} to {address}") from error
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(f"OpenML cannot be reached ({error})") from error
    _check_size(len(content), address)
    return content


def _check_size(n_bytes: int, address: str) -> None:
    if n_bytes > MAX_BYTES:
        raise ValueError(f"{address} is larger than {MAX_BYTES} bytes")


def _json(content: bytes, *path: str) -> Any:
    """Return what stands at a path of keys in an answer."""
    try:
        return reduce(getitem, path, json.loads(content))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"OpenML's answer is not what was expected: {content[:60]!r}") from error


def _find(name: str, version: int | None, opener: Opener) -> int:
    """Return the number of the data set: the given version, or the lowest active one."""
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


def _check_file(about: dict[str, Any]) -> None:
    """Refuse a sparse file, one that is too large, and one on another server."""
    if about["format"].lower() != "arff":
        raise ValueError(
            f"OpenML keeps {about['name']!r} as {about['format']}; only dense ARFF is read"
        )
    # An answer must not be able to send us to a local file or another server.
    address = urllib.parse.urlsplit(about["url"])
    host = address.hostname or ""
    if address.scheme != "https" or not (host == "openml.org" or host.endswith(".openml.org")):
        raise ValueError(
            f"OpenML points to {about['url'][:200]!r}, which is not an https address of openml.org"
        )
    try:
        size = file_size(about["url"])
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(f"OpenML cannot be reached ({error})") from error
    _check_size(size, about["url"])


# ---- reading it


def _download(number: int, about: dict[str, Any]) -> Columns:
    """Read the table: columns that OpenML marks as identifiers or to be ignored are left out."""
    from sklearn.datasets import fetch_openml

    target = about.get("default_target_attribute")
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of files that are downloaded again, which errors repeat
        try:
            found = fetch_openml(
                data_id=number,
                target_column=str(target),
                # without pandas there are arrays, and no columns of free text
                as_frame=is_installed("pandas"),
                # nominal values stay text as it is written, with or without pandas
                parser="liac-arff",
                data_home=folder,
            )
        except KeyError as error:
            raise ValueError(
                f"OpenML's {about['name']!r} does not have one class column (it states {target!r})"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionError(f"OpenML cannot be reached ({error})") from error
        except Exception as error:  # of whatever kind: the parser of ARFF has errors of its own
            raise ValueError(f"OpenML's {about['name']!r} cannot be read: {error}") from error
    # nominal values are text: numbers are not classes
    y = np.asarray(found.target)
    if y.dtype.kind != "O":
        raise ValueError(f"the class {target!r} is numeric; it must be nominal")
    names = found.feature_names
    features = {name: _values(found, at, name) for at, name in enumerate(names)}
    return Columns(features, y.astype(str), str(target))


def _values(found: Any, at: int, name: str) -> np.ndarray:
    """Return a column: float64 with NaN, or text with None, where values are missing."""
    if found.frame is not None:
        column = found.data[name]
        if column.dtype.kind in "if":
            return column.to_numpy(np.float64, na_value=np.nan)
        return column.astype(object).where(column.notna(), None).to_numpy(object)
    codes = found.data[:, at]
    if name not in found.categories:
        return codes
    missing = np.isnan(codes)
    known = np.array([*found.categories[name], None], dtype=object)
    return known[np.where(missing, len(known) - 1, codes).astype(int)]


# ---- keeping it


def _write_csv(stream: IO[bytes], columns: Columns) -> None:
    # No time stamp, so that the same data give the same file.
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*columns.features, columns.target])
        cells = [_cells(values) for values in columns.features.values()]
        writer.writerows(zip(*cells, columns.y.tolist(), strict=True))


def _cells(values: np.ndarray) -> list[Any]:
    """Return the cells of a column; missing ones are empty."""
    if values.dtype == object:
        return values.tolist()
    return [None if value != value else value for value in values.tolist()]


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

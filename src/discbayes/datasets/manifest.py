"""A folder of data files described by its ``MANIFEST.json``: the user's own, and the cache.

The manifest is a list of entries. An entry has ``name``, ``file`` (a ``.csv.gz`` or ``.npz`` in the
same folder), ``n_rows``, ``n_features``, ``n_classes``, ``numeric_features``,
``categorical_features`` and ``split`` (``"cv5"`` or ``{"train": n, "test": m}``: the first n rows
and the m after them). ``source`` and ``note`` describe the origin of the data. An entry with
``alias_of`` takes what it does not state from the entry of that name.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discbayes._files import Content, replace_file
from discbayes.datasets.dataset import Columns, DatasetInfo, Split
from discbayes.datasets.text_tables import read_csv, read_npz

MANIFEST = "MANIFEST.json"
DATA_VARIABLE = "DISCBAYES_DATA"
CACHE_VARIABLE = "DISCBAYES_CACHE"


def canonical(name: str) -> str:
    """Return the form in which names are compared: lower case, hyphens."""
    return name.strip().lower().replace("_", "-")


def data_folder() -> Path | None:
    """Return the folder that DISCBAYES_DATA names, or None; a folder without data is an error."""
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not (folder / MANIFEST).is_file():
        raise FileNotFoundError(f"{DATA_VARIABLE} is {named!r}, where there is no {MANIFEST}")
    return folder


def cache_folder() -> Path:
    """Return the folder of fetched data sets: DISCBAYES_CACHE, or that of the platform."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "discbayes"


@dataclass(frozen=True)
class FileEntry:
    """One entry of a manifest, checked."""

    info: DatasetInfo
    path: Path
    numeric: list[str]
    categorical: list[str]

    def load(self) -> Columns:
        """Read the file and check it against the manifest."""
        if not self.path.is_file():
            raise FileNotFoundError(
                f"{self.path.name} is in {MANIFEST} but not in {self.path.parent}"
            )
        if self.path.name.endswith(".npz"):
            columns = read_npz(self.path, self.numeric, self.info.split)
        else:
            columns = read_csv(self.path, self.numeric, self.categorical)
        if len(columns.y) != self.info.n_rows:
            raise ValueError(
                f"{self.path.name} has {len(columns.y)} rows, its manifest states"
                f" {self.info.n_rows}"
            )
        return replace(columns, split=self.info.split)


def read_manifest(folder: Path, source: str) -> dict[str, FileEntry]:
    """Return the entries of a folder by canonical name; without a manifest there are none."""
    raw = {canonical(str(entry["name"])): entry for entry in _raw_entries(folder)}
    return {name: _parse(folder, source, _resolved(entry, raw)) for name, entry in raw.items()}


def _raw_entries(folder: Path) -> list[dict[str, Any]]:
    path = folder / MANIFEST
    if not path.is_file():
        return []
    entries = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise ValueError(f"{path} must be a list of entries")
    return entries


def _resolved(entry: dict[str, Any], entries: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {**entries.get(canonical(str(entry.get("alias_of", ""))), {}), **entry}


def _parse(folder: Path, source: str, entry: dict[str, Any]) -> FileEntry:
    file = str(entry["file"])
    if Path(file).name != file or not file.endswith((".csv.gz", ".npz")):
        raise ValueError(
            f"{MANIFEST} names {file!r}: a .csv.gz or .npz file in the same folder was expected"
        )
    description = " ".join(str(entry[key]) for key in ("note", "source") if entry.get(key))
    info = DatasetInfo(
        str(entry["name"]),
        source,
        int(entry["n_rows"]),
        int(entry["n_features"]),
        int(entry["n_classes"]),
        _split(entry),
        description,
    )
    return FileEntry(
        info, folder / file, list(entry["numeric_features"]), list(entry["categorical_features"])
    )


def _split(entry: dict[str, Any]) -> Split:
    split = entry.get("split")
    if not isinstance(split, dict):
        return None
    sizes = int(split["train"]), int(split["test"])
    if sum(sizes) != entry["n_rows"]:
        raise ValueError(
            f"the split of {entry['name']!r} does not add up to its {entry['n_rows']} rows"
        )
    return sizes


def write_atomically(path: Path, content: Content) -> None:
    """Write a file that appears under its name only when it is complete, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def add_to_manifest(folder: Path, entry: dict[str, Any]) -> None:
    """Add an entry, or put it in place of the one of the same name.

    Two processes that add at the same moment may lose one entry, never the file: the lost one is
    fetched again.
    """
    name = canonical(str(entry["name"]))
    kept = [other for other in _raw_entries(folder) if canonical(str(other["name"])) != name]
    write_atomically(folder / MANIFEST, json.dumps([*kept, entry], indent=1))

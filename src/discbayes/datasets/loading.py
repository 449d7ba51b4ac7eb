"""``load_dataset`` and ``list_datasets``: three places for a name, and OpenML on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from discbayes.data.frames import build_table, choose_library
from discbayes.datasets import openml
from discbayes.datasets.dataset import Columns, Dataset, DatasetInfo
from discbayes.datasets.embedded import EMBEDDED, Embedded
from discbayes.datasets.manifest import (
    DATA_VARIABLE,
    FileEntry,
    cache_folder,
    canonical,
    data_folder,
    read_manifest,
)

Found = tuple[DatasetInfo, Columns]
OPENML = "openml:"  # before a name that may be sent to OpenML


def load_dataset(
    name: str, *, source: str = "auto", as_frame: bool | str = "auto", **options: Any
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        As ``list_datasets`` has it, or ``"openml:NAME"`` for a data set of OpenML, which is
        downloaded unless it is in the cache. Case does not matter, nor does ``_`` against ``-``.
    source : {"auto", "embedded", "files", "cache", "openml"}, default="auto"
        Where to look. ``"auto"`` takes the first of embedded, files and cache that has the name,
        and never asks a server; ``"openml"`` downloads again. Note that a made set comes before a
        file of the same name; the training part of ``mofn-3-7-10`` is then our own draw.
    as_frame : {"auto", True, False, "pandas", "polars", "pyarrow"}, default="auto"
        The form of ``X``. ``"auto"`` is a frame of the first of these libraries that is installed,
        or else an array; True insists on a frame. An array is float64 where all columns are numbers
        and otherwise holds objects, with None for missing values.
    **options
        Options of the data set itself: ``n_samples``, ``random_state`` and the like of the
        generated sets, ``version`` of an OpenML set. An option that it does not have is an error.

    Returns
    -------
    Dataset
        The features, the classes, and the split if there is one.

    Raises
    ------
    LookupError
        No source has the name; the message shows the nearest ones.
    ConnectionError
        OpenML did not answer.

    Examples
    --------
    >>> from discbayes.datasets import load_dataset
    >>> data = load_dataset("three_feature", as_frame=False, n_samples=500)
    >>> data.X_train.shape, data.X_test.shape
    ((250, 3), (250, 3))
    >>> load_dataset("iris").classes.tolist()
    ['setosa', 'versicolor', 'virginica']
    """
    if source != "auto" and source not in _SOURCES:
        raise ValueError(f"source must be one of {', '.join(('auto', *_SOURCES))}; got {source!r}")
    library = choose_library(as_frame)  # before the wait, so that a wrong choice costs none
    bare, places = _places(name, source)
    for place in places:
        found = _SOURCES[place](bare, options)
        if found is not None:
            return _dataset(bare, *found, library)
    elsewhere = f"; load_dataset('{OPENML}{name}') looks at OpenML" if source == "auto" else ""
    raise LookupError(f"no data set {name!r} in {', '.join(places)}{_nearest(name)}{elsewhere}")


def _places(name: str, source: str) -> tuple[str, list[str]]:
    """Return the bare name, and where to look: only the prefix or the source lead to OpenML."""
    if name.strip().lower().startswith(OPENML):
        if source not in ("auto", "openml"):
            raise ValueError(
                f"{name!r} is a name of OpenML, but source is {source!r}: leave out one of them"
            )
        return name.strip()[len(OPENML) :], ["cache", "openml"] if source == "auto" else ["openml"]
    return name, ["embedded", "files", "cache"] if source == "auto" else [source]


def list_datasets(source: str | None = None) -> list[DatasetInfo]:
    """List the data sets that can be loaded without a network, by source and name.

    Only manifests are read.

    Parameters
    ----------
    source : {"embedded", "files", "cache"}, optional
        List this one only.

    Returns
    -------
    list of DatasetInfo
        Records with ``name``, ``source``, ``n_rows``, ``n_features``, ``n_classes``, ``split`` and
        ``description``.

    Examples
    --------
    >>> from discbayes.datasets import list_datasets
    >>> [info.name for info in list_datasets("embedded")][:4]
    ['balance-scale', 'breast-cancer', 'conditioned-logistic', 'corral']
    """
    entries: dict[str, Callable[[], Mapping[str, Embedded | FileEntry]]] = {
        "embedded": lambda: EMBEDDED,
        "files": _file_entries,
        "cache": _cache_entries,
    }
    if source is not None and source not in entries:
        raise ValueError(f"source must be one of {', '.join(entries)}; got {source!r}")
    places = entries if source is None else [source]
    listed = [entry.info for place in places for entry in entries[place]().values()]
    return sorted(listed, key=lambda info: (list(entries).index(info.source), info.name))


def _dataset(name: str, info: DatasetInfo, columns: Columns, library: str | None) -> Dataset:
    rows = None
    if columns.split is not None:
        n_train, n_test = columns.split
        rows = slice(0, n_train), slice(n_train, n_train + n_test)
    return Dataset(
        name=canonical(name),
        X=build_table(columns.features, library),
        y=columns.y,
        feature_names=list(columns.features),
        categorical=columns.categorical,
        target=columns.target,
        split=rows,
        source=info.source,
        description=info.description,
    )


def _file_entries() -> dict[str, FileEntry]:
    folder = data_folder()
    return {} if folder is None else read_manifest(folder, "files")


def _cache_entries() -> dict[str, FileEntry]:
    return read_manifest(cache_folder(), "cache")


def _from_embedded(name: str, options: dict[str, Any]) -> Found | None:
    entry = EMBEDDED.get(canonical(name))
    return None if entry is None else (entry.info, entry.load(options))


def _from_files(name: str, options: dict[str, Any]) -> Found | None:
    entry = _file_entries().get(canonical(name))
    if entry is None:
        return None
    if options:
        raise TypeError(
            f"data set {name!r} of {DATA_VARIABLE} has no option {', '.join(sorted(options))}"
        )
    return entry.info, entry.load()


def _from_cache(name: str, options: dict[str, Any]) -> Found | None:
    entry = _cache_entries().get(openml.cached_name(name, _version(name, options)))
    return None if entry is None else (entry.info, entry.load())


def _from_openml(name: str, options: dict[str, Any]) -> Found:
    try:
        entry = openml.fetch(
            name, cache_folder(), version=_version(name, options), opener=openml.open_url
        )
    except (LookupError, ConnectionError) as error:
        raise type(error)(f"no data set {name!r} here, and {error}{_nearest(name)}") from error
    return replace(entry.info, source="openml"), entry.load()


def _version(name: str, options: dict[str, Any]) -> int | None:
    wrong = sorted(set(options) - {"version"})
    if wrong:
        raise TypeError(
            f"data set {name!r} is not a generated one and has no option {', '.join(wrong)}"
        )
    return options.get("version")


def _nearest(name: str) -> str:
    known = sorted({canonical(info.name) for info in list_datasets()})
    near = get_close_matches(canonical(name), known, n=3, cutoff=0.5)
    return (
        f"; nearest names: {', '.join(near)}" if near else "; list_datasets() shows what there is"
    )


_SOURCES: dict[str, Callable[[str, dict[str, Any]], Found | None]] = {
    "embedded": _from_embedded,
    "files": _from_files,
    "cache": _from_cache,
    "openml": _from_openml,
}

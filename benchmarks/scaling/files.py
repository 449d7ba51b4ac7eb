"""Fits and predictions on Parquet files of several sizes, ours and the peers', each in a process of
its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from generate_rows import N_CATEGORIES, N_CLASSES, N_NUMBERS, ROWS_OF_A_FILE, write_rows
from scaling.probe import PEERS, ours
from scaling.results import Line, Results
from suite.measure import in_new_process
from suite.settings import settings_of

CASE, PREDICTING, READING = "files", "predict", "reading into memory"
TEST_ROWS, TEST_FILE = 100_000, 1_000_000  # the number of a file that no training rows have
QUICK, REPEATS = 60.0, 3  # what takes fewer seconds is measured so many times

Choice = Callable[[Sequence[int]], Sequence[int]]


def _all(sizes: Sequence[int]) -> Sequence[int]:
    return sizes


def _first(sizes: Sequence[int]) -> Sequence[int]:
    return sizes[:1]


def _ends(sizes: Sequence[int]) -> Sequence[int]:
    return sizes[0], sizes[-1]


FITS: dict[str, Choice] = {  # on which of the sizes, the smallest first
    "NB + MAP": _all,
    "TAN-fCLL + MAP": _all,
    "NB + MAP, partial_fit": _all,
    "CategoricalNB": _all,
    "SGDClassifier": _all,
    "NB + MAP, in memory": _first,
    "TAN-fCLL + MAP, in memory": _first,
    "SGDClassifier, 3 epochs": _first,
    "NB + CCBN-d": _ends,
    "TAN-fCLL + CCBN-w": _ends,
    "default": _all,
    "default, in memory": _first,
}
# where nothing is measured: processes start slowly
TRIED = ("NB + MAP", "NB + MAP, in memory", "TAN-fCLL + CCBN-w")
ANSWERS = ("NB + MAP", "TAN-fCLL + MAP", "CategoricalNB", "SGDClassifier")
SETTINGS = {name: settings_of(ours(name)) for name in FITS if name not in PEERS}


class Files:
    """Rows on disk: a folder for each number of them, and one for the test."""

    def __init__(self, folder: Path, test_rows: int = TEST_ROWS):
        self.folder, self.test_rows = folder, test_rows

    def rows(self, n_rows: int) -> Path:
        return self._written(self.folder / f"rows-{n_rows}", n_rows)

    @property
    def test(self) -> Path:
        return self._written(self.folder / "test", self.test_rows, TEST_FILE)

    def _written(self, folder: Path, n_rows: int, first: int = 0) -> Path:
        """The files, written if they are not there yet."""
        there = [pq.read_metadata(path).num_rows for path in folder.glob("*.parquet")]
        if len(there) != -(-n_rows // ROWS_OF_A_FILE) or sum(there) != n_rows:
            write_rows(folder, n_rows, first=first)
        return folder


def run(
    results: Results, files: Files, sizes: Sequence[int], repeats: int, smoke: bool = False
) -> Iterator[Line]:
    """Measure all fits, the small sizes first, then the predictions of the smallest; or try some of
    them.
    """
    bins, sizes = {}, sorted(sizes)
    for n_rows in sizes:
        for name in TRIED if smoke else FITS:
            if n_rows in FITS[name](sizes):
                found = _measured(repeats, "fit", name, files.rows(n_rows), files.test, bins)
                # the first is ours: its intervals are as many as the peers get
                bins = bins or found["bins"]
                yield from _lines(results, name, n_rows, found)
    for name in ANSWERS[:1] if smoke else ANSWERS:
        found = _measured(repeats, "predict", name, files.rows(sizes[0]), files.test, bins)
        yield results.add(_line(PREDICTING, name, sizes[0], found))


def _measured(
    repeats: int, action: str, name: str, folder: Path, test: Path, bins: dict[str, int]
) -> dict[str, Any]:
    """The quickest of some runs, or of one where that takes long, with the largest memory of all of
    them.
    """
    runs: list[dict[str, Any]] = []
    while not runs or (len(runs) < repeats and runs[0]["seconds"] < QUICK):
        runs.append(
            in_new_process("scaling.probe", action, name, str(folder), str(test), json.dumps(bins))
        )
    most = max(run["peak"] for run in runs)
    return {**min(runs, key=lambda run: run["seconds"]), "peak": most, "repeats": len(runs)}


def _lines(results: Results, name: str, n_rows: int, found: dict[str, Any]) -> Iterator[Line]:
    yield results.add(_line(CASE, name, n_rows, found))
    if found["reading"]:
        line = Line(CASE, READING, n_rows, seconds=found["reading"], repeats=found["repeats"])
        yield results.add(line)


def _line(case: str, name: str, n_rows: int, found: dict[str, Any]) -> Line:
    shape = (n_rows, N_CATEGORIES + N_NUMBERS, None, N_CLASSES)
    return Line(
        case,
        name,
        *shape,
        found["seconds"],
        found["peak"] / 1e6,
        found.get("accuracy"),
        found.get("log_loss"),
        found["repeats"],
        " ".join(map(str, found.get("cards", ()))),
        SETTINGS.get(name, ""),
    )

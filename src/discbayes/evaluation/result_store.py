"""Results in a CSV file that grows line by line, so that an interrupted run can resume.

A line is one piece of work: data, fold, recipe and seed, then the metrics, the seconds that it
took, the version that did it, and a note. A line is written in one step and forced to the disk; an
incomplete last line of an interrupted step is removed when the file is opened again.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discbayes._files import replace_file
from discbayes._version import __version__

KEY = ("data", "fold", "recipe", "seed")
AFTER = ("seconds", "version", "note")


@dataclass(frozen=True)
class Result:
    """One line of the file; a missing metric is NaN."""

    data: str
    fold: int
    recipe: str
    seed: int
    measured: Mapping[str, float] = field(default_factory=dict)
    seconds: float = math.nan
    version: str = __version__
    note: str = ""

    @property
    def key(self) -> tuple[str, int, str, int]:
        """The key of the line: data, fold, recipe and seed."""
        return self.data, self.fold, self.recipe, self.seed

    def __getitem__(self, metric: str) -> float:
        return self.measured.get(metric, math.nan)


class Store:
    """The results of one experiment, or of several that share their runs.

    Parameters
    ----------
    path : Path
        The file; it need not exist yet.
    metrics : sequence of str
        The columns of metrics. Those that the file has beyond them are kept.
    """

    def __init__(self, path: str | Path, metrics: Sequence[str]):
        self.path = Path(path)
        self.results: dict[tuple[str, int, str, int], Result] = {}
        found = self._read()
        self.metrics = (*found, *(metric for metric in metrics if metric not in found))
        if found and self.metrics != tuple(found):
            replace_file(self.path, _csv([self._header(), *map(self._cells, self)]))

    def __contains__(self, key: object) -> bool:
        return key in self.results

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results.values())

    def add(self, result: Result) -> None:
        """Write a line at once."""
        unknown = set(result.measured) - set(self.metrics)
        if unknown:
            raise KeyError(
                f"{', '.join(sorted(unknown))} is not a column of {self.path.name}:"
                f" {', '.join(self.metrics)}"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists() or self.path.stat().st_size == 0
        lines = ([self._header()] if new else []) + [self._cells(result)]
        with self.path.open("ab") as file:
            file.write(_csv(lines))
            file.flush()
            os.fsync(file.fileno())
        self._keep(dict(zip(self._header(), lines[-1], strict=True)), self.metrics)

    def where(self, **wanted: object) -> list[Result]:
        """Return the results with these values of data, fold, recipe or seed."""
        asked = wanted.items()
        return [r for r in self if all(getattr(r, name) == value for name, value in asked)]

    def values(self, metric: str, **wanted: object) -> list[float]:
        """Return the values of one metric, missing ones left out."""
        found = (result[metric] for result in self.where(**wanted))
        return [value for value in found if not math.isnan(value)]

    def data(self) -> list[str]:
        """Return the data sets in the order in which they came."""
        return list(dict.fromkeys(result.data for result in self))

    def mean(self, metric: str, data: str, recipe: str, by: str = "n_test") -> float:
        """Return the mean over the folds and seeds of a data set, weighted by the test rows."""
        results = self.where(data=data, recipe=recipe)
        found = [(r[metric], r[by]) for r in results if not math.isnan(r[metric])]
        if not found:
            return math.nan
        weights = [1.0 if math.isnan(weight) else weight for _, weight in found]
        total = sum(w * value for w, (value, _) in zip(weights, found, strict=True))
        return total / sum(weights)

    # ---- the file

    def _header(self) -> list[str]:
        return [*KEY, *self.metrics, *AFTER]

    def _cells(self, result: Result) -> list[str]:
        measured = [_text(result[metric]) for metric in self.metrics]
        after = [_text(result.seconds, 4), result.version, result.note]
        return [*map(str, result.key), *measured, *after]

    def _read(self) -> list[str]:
        """Read the lines of the file, and return its metrics."""
        if not self.path.exists():
            return []
        whole = self.path.read_bytes()
        sound = whole[: whole.rfind(b"\n") + 1]
        if len(sound) < len(whole):  # the last line was cut short
            os.truncate(self.path, len(sound))
        lines = csv.DictReader(io.StringIO(sound.decode("utf-8"), newline=""))
        names = list(lines.fieldnames or [])
        if names and (tuple(names[: len(KEY)]) != KEY or tuple(names[-len(AFTER) :]) != AFTER):
            raise ValueError(
                f"{self.path} is not a file of results: its columns are {', '.join(names)}"
            )
        metrics = names[len(KEY) : -len(AFTER)]
        for line in lines:
            self._keep(line, metrics)
        return metrics

    def _keep(self, line: Mapping[str, str], metrics: Sequence[str]) -> None:
        """Keep a line as the file has it, so that a run and its file show the same digits."""
        measured = {metric: float(line[metric]) for metric in metrics if line[metric]}
        key = line["data"], int(line["fold"]), line["recipe"], int(line["seed"])
        seconds = float(line["seconds"] or "nan")
        self.results[key] = Result(*key, measured, seconds, line["version"], line["note"])


def _text(value: float, digits: int = 7) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def _csv(lines: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_one_line(cell) for cell in line] for line in lines)
    return text.getvalue().encode("utf-8")


def _one_line(cell: str) -> str:
    return " ".join(cell.split()) if "\n" in cell or "\r" in cell else cell

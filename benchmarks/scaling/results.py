"""The one file of results: a line for each measurement, which takes the place of an earlier one of
the same.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from suite.report import machine, versions


@dataclass(frozen=True)
class Line:
    """A measurement: what, on which rows, and the figures; None where there is none of a kind."""

    case: str
    what: str
    rows: int
    features: int | None = None
    values: int | None = None
    classes: int | None = None
    seconds: float | None = None
    peak_mb: float | None = None
    accuracy: float | None = None
    log_loss: float | None = None
    repeats: int | None = None
    cards: str = ""  # the values of each feature, where they are not all the same
    settings: str = ""  # all of those of the learner, where there is one of ours
    date: str = ""
    machine: str = ""
    versions: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from other measurements."""
        return self.case, self.what, self.rows, self.features, self.values, self.classes

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.time

    @property
    def time(self) -> float:
        """The seconds, of a line that has them."""
        if self.seconds is None:
            raise ValueError(f"{self.case}, {self.what}: no seconds")
        return self.seconds


WHOLE = ("rows", "features", "values", "classes", "repeats")
TEXTS = ("case", "what", "cards", "settings", "date", "machine", "versions")
FIELDS = tuple(field.name for field in fields(Line))


class Results:
    """The lines of a file, written anew with each one that is added: a run may take an hour."""

    def __init__(self, path: Path):
        self.path = path
        self._lines = {line.key: line for line in _read(path)} if path.exists() else {}

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines.values())

    def add(self, line: Line) -> Line:
        """Take up a measurement made just now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = replace(line, date=now, **_place())
        self._lines[line.key] = line
        self._write()
        return line

    def of(self, case: str, what: str | None = None) -> list[Line]:
        """The lines of a case, or of one thing that was measured in it, by rows."""
        found = [line for line in self if line.case == case and what in (None, line.what)]
        return found if what is None else sorted(found, key=lambda line: line.rows)

    def get(self, case: str, what: str, rows: int | None = None) -> Line | None:
        """One line: that of so many rows, or of the most rows; None if it was not measured."""
        found = [line for line in self.of(case, what) if rows in (None, line.rows)]
        return found[-1] if found else None

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(
                {name: _text(value) for name, value in asdict(line).items()} for line in self
            )


@cache
def _place() -> dict[str, str]:
    return {"machine": machine(), "versions": versions()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _read(path: Path) -> list[Line]:
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Line(**{name: _value(name, text) for name, text in row.items()})
            for row in csv.DictReader(file)
        ]


def _value(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    if not text:
        return None
    return int(text) if name in WHOLE else float(text)

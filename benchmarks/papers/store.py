"""Results as CSV files that grow row by row, so that a run that was interrupted goes on where it was."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "results" / "papers"


class Results:
    """One file, with the given columns; a cell that a row does not have is empty."""

    def __init__(self, name: str, columns: tuple[str, ...], fresh: bool = False):
        self.path, self.columns = FOLDER / f"{name}.csv", columns
        self.rows: list[dict[str, str]] = []
        if fresh:
            self.path.unlink(missing_ok=True)
        if self.path.exists():
            with self.path.open(newline="", encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, **key: Any) -> bool:
        """Whether there is a row with these values."""
        return bool(self._where(key))

    def add(self, **row: Any) -> None:
        """Write a row at once, and show it."""
        texts = dict.fromkeys(self.columns, "") | {name: _text(value) for name, value in row.items()}
        new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns)
            if new:
                writer.writeheader()
            writer.writerow(texts)
        self.rows.append(texts)
        print("  ".join(f"{name} {text}" for name, text in texts.items() if text), flush=True)

    def column(self, name: str, **where: Any) -> list[float]:
        """The numbers of a column, in the rows where others have the given values."""
        return [float(row[name]) for row in self._where(where) if row[name]]

    def _where(self, key: dict[str, Any]) -> list[dict[str, str]]:
        return [row for row in self.rows if all(row[name] == _text(value) for name, value in key.items())]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

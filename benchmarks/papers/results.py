"""Results as CSV files that grow row by row, so that a run that was interrupted goes on where it was."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "results" / "papers"


class Results:
    """One file; ``keys`` are the columns that tell its rows apart."""

    def __init__(self, name: str, keys: tuple[str, ...]):
        self.path, self.keys = FOLDER / f"{name}.csv", keys
        self.rows: list[dict[str, str]] = []
        if self.path.exists():
            with self.path.open(newline="", encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, **key: Any) -> bool:
        return any(all(row[name] == str(value) for name, value in key.items()) for row in self.rows)

    def add(self, **row: Any) -> None:
        """Write a row at once, and show it."""
        texts = {name: _text(value) for name, value in row.items()}
        new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self.rows[0] if self.rows else texts))
            if new:
                writer.writeheader()
            writer.writerow(texts)
        self.rows.append(texts)
        print("  ".join(f"{name} {text}" for name, text in texts.items()), flush=True)

    def column(self, name: str, **where: Any) -> list[float]:
        """The numbers of a column, in the rows where others have the given values."""
        return [
            float(row[name])
            for row in self.rows
            if row[name] and all(row[key] == str(value) for key, value in where.items())
        ]


def _text(value: Any) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)

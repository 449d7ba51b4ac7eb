"""Rows for measurements of what does not fit in memory: Parquet files with numbers, categories and
a class.

The 30 categories come from a network: the class is a parent of each of them, and so is, but for the
first, one of the three columns before it. The 10 numbers are normal around a mean that depends on
the class and on one category; some are rounded, some have gaps. The class makes a small difference
to each column, so that no classifier is always right. A file depends on its number and the seed
alone: the first million rows of ten million are the same as one million rows, and rows for a test
are files with other numbers.

    python benchmarks/generate_rows.py FOLDER --rows 1000000
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_CATEGORIES, N_NUMBERS, N_CLASSES = 30, 10, 3
ROWS_OF_A_FILE = 250_000
GAPS = 0.03
SIGNAL = 0.3  # how much of a table is that of its class alone; the rest is the same for all classes


class Network:
    """The tables behind the rows."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.prior = np.array([0.5, 0.3, 0.2])
        self.cards = rng.integers(2, 9, N_CATEGORIES)
        self.parents = [-1] + [
            int(at - rng.integers(1, min(at, 3) + 1)) for at in range(1, N_CATEGORIES)
        ]
        parent_cards = [1 if parent < 0 else int(self.cards[parent]) for parent in self.parents]
        self.tables = [
            _mixed(rng, above, int(card)).cumsum(axis=2)
            for card, above in zip(self.cards, parent_cards, strict=True)
        ]
        self.leaders = rng.integers(0, N_CATEGORIES, N_NUMBERS)
        self.means = [
            rng.normal(0, 1, (card, 1)) + SIGNAL * rng.normal(0, 1, (card, N_CLASSES))
            for card in self.cards[self.leaders].tolist()
        ]

    def rows(self, rng: np.random.Generator, n_rows: int) -> pa.Table:
        """Rows drawn at random."""
        y = rng.choice(N_CLASSES, n_rows, p=self.prior)
        codes: list[np.ndarray] = []
        for table, parent in zip(self.tables, self.parents, strict=True):
            above = np.zeros(n_rows, dtype=int) if parent < 0 else codes[parent]
            drawn = (rng.random(n_rows)[:, None] > table[above, y]).sum(axis=1)
            codes.append(np.minimum(drawn, table.shape[2] - 1))
        columns = {
            f"c{at:02d}": _categories(values, int(self.cards[at]))
            for at, values in enumerate(codes)
        }
        for at, (leader, means) in enumerate(zip(self.leaders, self.means, strict=True)):
            columns[f"n{at:02d}"] = _numbers(rng, means[codes[leader], y], at)
        columns["y"] = _categories(y, N_CLASSES, "class ")
        return pa.table(columns)


def _mixed(rng: np.random.Generator, above: int, card: int) -> np.ndarray:
    """The table of a category given one before it and the class."""
    shared = rng.dirichlet(np.full(card, 0.7), (above, 1))
    return (1 - SIGNAL) * shared + SIGNAL * rng.dirichlet(np.full(card, 0.7), (above, N_CLASSES))


def _categories(codes: np.ndarray, card: int, prefix: str = "value ") -> pa.Array:
    names = pa.array([f"{prefix}{code}" for code in range(card)])
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), names).cast(pa.string())


def _numbers(rng: np.random.Generator, means: np.ndarray, at: int) -> pa.Array:
    """Numbers of several makes: whole, with two digits, with all digits, and with gaps."""
    values = means + rng.normal(size=means.size)
    if at % 4 == 0:
        return pa.array(np.round(20 * values).astype(np.int32))
    if at % 4 == 1:
        return pa.array(np.round(values, 2))
    if at % 4 == 2:
        return pa.array(values, mask=rng.random(means.size) < GAPS)
    return pa.array(np.exp(values))


def write_rows(folder: Path, n_rows: int, seed: int = 0, first: int = 0) -> list[Path]:
    """Write the files, numbered from ``first`` on, and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    network = Network(seed)
    paths = []
    for number, start in enumerate(range(0, n_rows, ROWS_OF_A_FILE), first):
        rows = network.rows(np.random.default_rng([seed, number]), ROWS_OF_A_FILE)
        paths.append(folder / f"rows-{number:05d}.parquet")
        pq.write_table(rows.slice(0, n_rows - start), paths[-1], row_group_size=ROWS_OF_A_FILE // 2)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    paths = write_rows(options.folder, options.rows, options.seed)
    size = sum(path.stat().st_size for path in paths)
    print(f"{options.rows:,} rows in {len(paths)} files, {size / 1e6:,.1f} MB in {options.folder}")


if __name__ == "__main__":
    main()

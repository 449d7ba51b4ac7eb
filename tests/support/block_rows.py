"""Rows for the tests of blocks: made quickly, in memory or in a file that a worker can read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discbayes.data import Domain, Encoded, Variable
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.engine import Threads


def make_rows(
    n_rows: int, n_features: int = 8, n_classes: int = 3, seed: int = 0, gaps=0.0, weighted=False
) -> Encoded:
    """Rows in which each feature depends on the class and on the feature before it."""
    rng = np.random.default_rng(seed)
    cards = 2 + np.arange(n_features) % 4
    y = rng.choice(
        n_classes, n_rows, p=np.arange(2, 2 + n_classes) / np.arange(2, 2 + n_classes).sum()
    )
    codes = np.empty((n_features, n_rows), np.uint8)
    before = y
    for i, card in enumerate(cards):
        noise = rng.integers(0, 3, n_rows)
        codes[i] = (before + y * (i % 2) + noise * (noise > 1) + (rng.random(n_rows) < 0.3)) % card
        before = codes[i]
    if gaps:
        for row, card in zip(codes, cards, strict=True):
            row[rng.random(n_rows) < gaps] = card
    return Encoded(
        codes, domain_of(cards, n_classes), y, rng.random(n_rows) * 2 if weighted else None
    )


def domain_of(cards, n_classes: int) -> Domain:
    features = tuple(
        Variable(f"x{i}", "categorical", tuple(f"v{k}" for k in range(card)))
        for i, card in enumerate(cards)
    )
    return Domain(features, Variable("y", "categorical", tuple("abcdefgh"[:n_classes])))


@dataclass(frozen=True)
class RowsInFile:
    """Blocks in a file of their own each, read when they are asked for."""

    path: Path
    domain: Domain
    n_rows: int
    n_missing: np.ndarray
    n_blocks: int

    def __len__(self) -> int:
        return self.n_blocks

    def block(self, number: int) -> Encoded:
        with np.load(self.path / f"{number}.npz") as arrays:
            return Encoded(arrays["codes"], self.domain, arrays["y"], arrays.get("weight"))


def in_file(data: Encoded, folder: Path, size: int) -> RowsInFile:
    """Write the blocks of some rows."""
    folder.mkdir(exist_ok=True)
    starts = range(0, data.n_samples, size)
    for number, start in enumerate(starts):
        rows = slice(start, start + size)
        weight = {} if data.weight is None else {"weight": data.weight[rows]}
        np.savez(
            folder / f"{number}.npz", codes=data.codes[:, rows], y=data.classes[rows], **weight
        )
    return RowsInFile(folder, data.domain, data.n_samples, data.n_missing, len(starts))


class FarThreads(Threads):
    """Threads for rows that are not to be gathered, as if they were on a cluster."""

    is_local = False


def far(data, size, n_shards=3):
    return RowBlocks(RowsInMemory(data, size=size), FarThreads(n_shards))

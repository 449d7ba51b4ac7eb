"""Which cells to remove at random; masks of a larger share contain those of a smaller one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


def missing_masks(
    n_rows: int, n_features: int, shares: Sequence[float], rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield a mask per share, with the same number of missing features in each row.

    Parameters
    ----------
    n_rows, n_features : int
        The shape of each mask.
    shares : sequence of float
        Percentages of the features, rounded to whole features.
    rng : Generator
        Draws the order in which each row loses its features.

    Examples
    --------
    >>> [int(mask.sum()) for mask in missing_masks(2, 10, [0, 30, 90], np.random.default_rng(0))]
    [0, 6, 18]
    """
    places = rng.permuted(np.tile(np.arange(n_features, dtype=np.int32), (n_rows, 1)), axis=1)
    for share in shares:
        yield places < round(share / 100 * n_features)


def cell_masks(
    shape: tuple[int, int], shares: Sequence[int], rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield a mask per share, each cell missing independently with that probability in per cent.

    Examples
    --------
    >>> [int(mask.sum()) for mask in cell_masks((100, 10), [0, 30, 100], np.random.default_rng(0))]
    [0, 277, 1000]
    """
    draws = rng.random(shape)
    return (draws < share / 100 for share in shares)

"""Where a published figure lies among many draws of what a paper leaves to chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Figures
from discbayes_papers.figures import runs_text

CENTRAL = (0.025, 0.975)
DIGIT = 0.005  # half of the last digit that is published


class Place(NamedTuple):
    """Accuracies over draws, in per cent, and the published figure.

    >>> Place(np.array([80.0, 82.0, 84.0]), 83.0).is_within
    True
    """

    values: np.ndarray
    published: float

    @property
    def central(self) -> tuple[float, float]:
        """The range of the central 95 % of the draws."""
        low, high = np.quantile(self.values, CENTRAL)
        return float(low), float(high)

    @property
    def is_within(self) -> bool:
        """Whether the published figure is in the central range, to its two digits."""
        low, high = self.central
        return low - DIGIT <= self.published <= high + DIGIT


Places = Mapping[tuple[str, str], Place]  # by data set and recipe


def places(store: Store, published: Figures) -> dict[tuple[str, str], Place]:
    """The draws of each set and recipe; what follows a comma in a recipe is a reading of it."""
    drawn: dict[tuple[str, str], list[float]] = {}
    for one in store:
        drawn.setdefault((one.data, one.recipe), []).append(100 * one["accuracy"])
    named = {key: (key[0], key[1].partition(", ")[0]) for key in drawn}
    return {
        key: Place(np.array(values), published[named[key]])
        for key, values in drawn.items()
        if named[key] in published
    }


def draws_table(found: Places, title: str) -> ResultTable:
    """One line for each set and recipe: the draws, and the published figure among them."""
    rows = []
    for (data, recipe), place in found.items():
        low, high = place.central
        above = 100 * float(np.mean(place.values >= place.published - DIGIT))
        rows.append(
            [
                data, recipe, f"{place.published:.2f}", str(place.values.size),
                f"{place.values.mean():.2f}", f"{place.values.std():.2f}",
                f"{low:.2f} to {high:.2f}", f"{above:.0f} %", "yes" if place.is_within else "no",
            ]
        )  # fmt: skip
    header = [
        "data set", "recipe", "published", "draws", "mean", "deviation", "central 95 %",
        "draws at least as good as published", "published within",
    ]  # fmt: skip
    return ResultTable(title, header, rows, left=2)


def draws_of(found: Places, keys: Sequence[tuple[str, str]], title: str) -> list[Block]:
    """The draws of some figures, with the readings of each below it."""
    kept = {
        key: place
        for data, recipe in keys
        for key, place in found.items()
        if key[0] == data and key[1].partition(", ")[0] == recipe
    }
    return [draws_table(kept, title)] if kept else []


def draws_page(store: Store, tasks: Sequence[Task], found: Places, title: str) -> list[Block]:
    """How many of all tasks are stored, and the table of all draws."""
    return [Text(f"Stored: {runs_text(store, tasks)}."), draws_table(found, title)]

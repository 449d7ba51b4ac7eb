"""Counts that stand where learners expect rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discbayes.network import Layout

if TYPE_CHECKING:
    from discbayes.counts.contingency import FamilyCounts
    from discbayes.counts.pairs import PairInformation

Visit = Callable[[int, np.ndarray, np.ndarray, np.ndarray], None]


class Counted(ABC):
    """Rows that were counted and are gone: it answers what `count_families`, `pair_information` and
    so on ask.
    """

    @abstractmethod
    def families_of(self, layout: Layout) -> FamilyCounts:
        """As `count_families`."""

    @abstractmethod
    def pair_information(self, n_jobs: int | None, skip: np.ndarray | None) -> PairInformation:
        """As `discbayes.counts.pair_information`."""

    @abstractmethod
    def visit_pairs(self, visit: Visit, n_jobs: int | None, skip: np.ndarray | None) -> None:
        """As `discbayes.counts.visit_pairs`."""

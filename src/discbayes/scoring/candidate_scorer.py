"""What a search on a sample score asks of a network: its value, and the best way to extend it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from discbayes.network import Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring.candidates import (
    BestCandidate,
    Candidates,
    Extension,
    ParentMove,
    SearchCost,
    best_extension,
    best_move,
)

ROUNDING = 1e-9  # of the total weight: values that differ by less are equal

Check = Callable[[], None]  # called between steps; raises when the time is over


def no_check() -> None:
    """Check nothing."""


class CandidateScorer(ABC):
    """A network under a sample score, which a search extends by the best of its candidates.

    Implementations differ in where the rows are and in how parameters are learned; a search does
    not know which one it has. They agree on the winner, ties included.

    Attributes
    ----------
    score : SampleScore
        The score, checked.
    total_weight : float
        The weight of all rows.
    n_jobs : int or None
        The number of threads.
    """

    # Whether candidates that cannot win are abandoned, so that a good first guess saves work.
    abandons = False

    score: SampleScore
    total_weight: float
    n_jobs: int | None

    # ---- the value of the network

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """The structure of the network."""

    @abstractmethod
    def parents(self, child: int) -> tuple[int, ...]:
        """Return the parents of a feature, the last to join first."""

    @property
    @abstractmethod
    def total(self) -> float:
        """The weighted sum of the objective over all rows."""

    @cached_property
    def tolerance(self) -> float:
        """Gains that differ by no more are equal."""
        return ROUNDING * self.total_weight

    def reported(self, total: float | None = None) -> float:
        """Return the value as the papers report it: a mean for CR, a sum for CL and MM."""
        total = self.total if total is None else total
        return total / self.total_weight if self.score.is_mean else total

    # ---- changes

    @abstractmethod
    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Replace the parents of a feature."""

    def add_parents(self, child: int, joining: tuple[int, ...]) -> None:
        """Let some features join the parents of a feature."""
        self.set_parents(child, (*joining, *self.parents(child)))

    # ---- candidates

    @abstractmethod
    def best(
        self,
        all_candidates: Sequence[Candidates],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        ties: str = "child",
    ) -> BestCandidate | None:
        """Find the candidate of largest gain.

        Parameters
        ----------
        all_candidates : sequence of Candidates
            The candidates of each child.
        min_gain : float
            The gain must be above it.
        cost : SearchCost
            To which the number of scored and abandoned candidates is added.
        check : callable
            Called now and then.
        ties : {"child", "parent"}
            Of equal candidates the first child wins, then the fewest and the first parents; or the
            fewest and the first parents, then the first child.

        Returns
        -------
        BestCandidate or None
            The best candidate.
        """

    @abstractmethod
    def best_move(
        self,
        moves: Sequence[ParentMove],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        expected_gains: Sequence[float] = (),
    ) -> tuple[ParentMove | None, np.ndarray]:
        """Find the first of the moves of largest gain.

        Parameters
        ----------
        moves : sequence of ParentMove
            The moves.
        min_gain : float
            The gain must be above it.
        cost : SearchCost
            To which the number of scored and abandoned moves is added.
        check : callable
            Called now and then.
        expected_gains : sequence of float
            A guess of each gain; scorers that abandon moves score those of the largest first.

        Returns
        -------
        move : ParentMove or None
            The winner.
        gains : array
            The gain of each move, or an upper bound of it that is below that of the winner.
        """

    @abstractmethod
    def move_gains(self, moves: Sequence[ParentMove], check: Check = no_check) -> np.ndarray:
        """Return the gain of each move."""


class ExhaustiveScorer(CandidateScorer):
    """A scorer that finds the gain of every candidate; subclasses define how."""

    @abstractmethod
    def _gains(self, extensions: Sequence[Extension], check: Check) -> np.ndarray:
        """Return the gain of each extension."""

    def best(
        self,
        all_candidates: Sequence[Candidates],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        ties: str = "child",
    ) -> BestCandidate | None:
        """Find the candidate of largest gain, see ``CandidateScorer.best``."""
        extensions = [each for some in all_candidates for each in some.extensions()]
        gains = self._gains(extensions, check)
        cost.evaluations += len(extensions)
        return best_extension(extensions, gains, min_gain, self.tolerance, ties)

    def best_move(
        self,
        moves: Sequence[ParentMove],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        expected_gains: Sequence[float] = (),
    ) -> tuple[ParentMove | None, np.ndarray]:
        """Find the first of the moves of largest gain, see ``CandidateScorer.best_move``."""
        gains = self.move_gains(moves, check)
        cost.evaluations += len(moves)
        return best_move(moves, gains, min_gain, self.tolerance), gains

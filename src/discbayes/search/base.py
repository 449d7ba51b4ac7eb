"""The base class of all searches: settings, time limit, trace and interrupts."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from discbayes._settings import require_integer
from discbayes._shared_settings import SharedSettings
from discbayes.counts import Counts
from discbayes.data.rows import Rows
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.search.constraints import Constraints


class SearchStopped(Exception):
    """The time limit is reached, or the callback ended the search."""


class Search(SharedSettings):
    """A structure search; subclasses name their own settings and pass on the shared ones.

    Parameters
    ----------
    required : iterable of edges (parent, child)
        Edges that must be in the structure. An end may be a pattern such as ``"lab_*"``, which
        stands for all columns that match it.
    forbidden : iterable of edges (parent, child)
        Edges that must not be in the structure, with patterns too: ``("*", "age")`` leaves "age"
        without parents.
    max_candidates : int or None
        For each feature, only this many others, those of largest I(Xi;Xj|C), may become its
        parents. All by default.
    max_table_size : int or None
        The largest number of cells of the table of a feature. An edge that would need a larger one
        is left out; a warning, ``history_`` and the report list how many were, between which
        columns. By default a table has at most 10 million cells and no more than the rows could
        fill: two for each row with one parent, and ten times as many for each further parent, where
        fewer than 2,500 rows count as 2,500. A number is the only limit: 10 million switches off
        what depends on the rows. Required edges and those of ``start`` are refused above the
        number, or above 10 million, and no matter how many rows there are.
    start : Structure, edges or None
        Where the search starts; naive Bayes by default. A search that only adds edges keeps those
        of the start.
    random_state : int, Generator or None
        For random searches, and for the folds of a score; by default that of the classifier.
    max_time : float or None
        Time limit in seconds; the best structure so far is returned, with a warning.
    callback : callable or None
        Called with the record of each step, a dict; if it returns True the search ends there.
    tiers : iterable of columns, or of groups of columns
        The order of the columns in time: none has a parent of a later tier. A tier is a column, a
        pattern, or a list of them; columns in no tier may be anywhere.

    Examples
    --------
    >>> from discbayes import SpanningTree
    >>> isinstance(SpanningTree(max_candidates=5), Search)
    True
    """

    # `learn` takes blocks of rows, and gathers them if a search needs all rows.
    interruptible = True  # the best structure so far is returned when it is interrupted
    # The counts that are enough to learn from, as `partial_fit` keeps them: "features", "pairs" or
    # "families" of a given structure; None if rows are needed.
    statistics_needed: str | None = None
    supports_blocks = True
    # Whether the search needs no more than counts, which can be summed over blocks of rows.
    works_on_blocks = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Ask a search of its own to declare the counts that are enough for it."""
        super().__init_subclass__(**options)
        if {"learn", "_search"} & set(vars(cls)) and "statistics_needed" not in vars(cls):
            cls.statistics_needed = None

    def __init__(
        self,
        *,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        max_candidates: int | None = None,
        max_table_size: int | None = None,
        start: Any = None,
        random_state: Any = None,
        max_time: float | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        tiers: Iterable[Any] = (),
    ):
        self.required = required
        self.forbidden = forbidden
        self.max_candidates = max_candidates
        self.max_table_size = max_table_size
        self.start = start
        self.random_state = random_state
        self.max_time = max_time
        self.callback = callback
        self.tiers = tiers

    def learn(self, data: Rows, counts: Counts, context: Context) -> Structure:
        """Search for a structure; when interrupted, return the best one so far.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        context : Context
            Threads, randomness, interrupts, and where steps are recorded.

        Returns
        -------
        Structure
            The structure.

        Examples
        --------
        >>> from discbayes import KDB
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> KDB().learn(data, count(data), Context()).parents
        ((), (0,))
        """
        self._check()
        rows = data if self._takes(data) else data.in_memory(type(self).__name__)
        run, first_step = Run(self, rows, counts, context), len(context.history)
        try:
            run.check()
            self._search(run)
        except (KeyboardInterrupt, SearchStopped) as stop:
            if isinstance(stop, KeyboardInterrupt) and not context.interrupts.take():
                raise
            why = str(stop) or "interrupted"
            warnings.warn(
                f"{type(self).__name__}: {why}; the best structure so far, with"
                f" {run.structure.n_edges} edges, is used",
                stacklevel=2,
            )
        self._report_left_out(run, first_step)
        return run.structure

    def _report_left_out(self, run: Run, first_step: int) -> None:
        """Report edges that were left out, in a warning and in the trace before all steps."""
        sizes, history = run.limits.sizes, run.context.history
        if sizes.n_left_out:
            run.left_out(sizes.n_left_out, sizes.reason(), sizes.edges())
        for number, why, edges in run.all_left_out:
            reason = f"{type(self).__name__}: {why}"
            run.context.record(left_out=number, reason=reason, edges=edges)
            # The last step of a search has its result, so this record goes before all steps.
            history.insert(first_step, history.pop())
            warnings.warn(reason, stacklevel=3)

    def _takes(self, data: Rows) -> bool:
        """Return whether the search works on the data as they are; others are gathered."""
        return self.works_on_blocks

    def _check(self) -> None:
        """Raise an error for invalid settings."""
        if self.max_time is not None and not self.max_time > 0:
            raise ValueError(
                f"max_time={self.max_time!r} must be a number of seconds above 0, or None"
            )
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback={self.callback!r} cannot be called")

    @abstractmethod
    def _search(self, run: Run) -> None:
        """Search, and leave the best structure so far in ``run.structure`` after every step."""


class Run:
    """One run of a search: data, limits, clock, trace, and the best structure so far.

    A run that is part of an ``outer`` one has its clock, and ends with it.
    """

    def __init__(
        self, search: Search, data: Any, counts: Counts, context: Context, outer: Run | None = None
    ):
        # Blocks only if the search works on them.
        self.data, self.counts = data, counts
        self.context, self.n_jobs = context, context.n_jobs
        self.names = data.domain.names
        seed = search.random_state
        self.rng = context.rng if seed is None else np.random.default_rng(seed)
        self.limits = Constraints.of(
            data,
            search.required,
            search.forbidden,
            search.max_table_size,
            search.max_candidates,
            search.start,
            n_rows=float(counts.class_count.sum()),
            tiers=search.tiers,
        )
        self.structure = self.limits.start
        self.all_left_out: list[tuple[int, str, list[tuple[str, str]]]] = []
        self.evaluations = 0
        self._callback = search.callback
        self._outer, self._interrupted = outer, context.interrupted
        self.started: float = time.perf_counter() if outer is None else outer.started
        self._seconds = search.max_time

    def step(
        self, edge: tuple[int, int] | None, score: float, evaluations: int, **more: Any
    ) -> None:
        """Record a step.

        It raises ``SearchStopped`` when the time is over or the callback ends the search, so it has
        to be called after ``run.structure`` was set.

        Parameters
        ----------
        edge : tuple of int or None
            The edge (parent, child) by position.
        score : float
            The score after the step.
        evaluations : int
            The number of scores computed for it.
        **more
            Further entries of the record.
        """
        self.evaluations += evaluations
        named = None if edge is None else tuple(self.names[end] for end in edge)
        record = {"edge": named, "score": float(score), "evaluations": int(evaluations), **more}
        self.context.record(**record)
        if self._callback is not None:
            stop = self._callback(self.context.history[-1])
            if isinstance(stop, (bool, np.bool_)) and stop:
                raise SearchStopped("stopped by the callback")
        self.check()

    def left_out(self, number: int, reason: str, edges: Sequence[tuple[str, str]] = ()) -> None:
        """Note that edges were left out; ``edges`` are the first of them, if they are known."""
        self.all_left_out.append((number, reason, list(edges)))

    def check(self) -> None:
        """Raise ``SearchStopped`` if the time is over, or if another thread was interrupted."""
        if self._seconds is not None and time.perf_counter() - self.started > self._seconds:
            raise SearchStopped(f"max_time of {self._seconds:g} s is over")
        if self._interrupted or (self._outer is not None and self._outer._interrupted):
            raise SearchStopped("interrupted")

    @contextmanager
    def one_of_several(self) -> Iterator[None]:
        """Work on one of several threads: what interrupts it, such as Ctrl-C, ends the others."""
        try:
            yield
        except BaseException:
            self._interrupted = True
            raise


def check_k(k: Any, least: int = 1) -> int:
    """Return a valid number of parents, or raise an error."""
    require_integer("k", k, least)
    return int(k)


def check_start(run: Run, k: int) -> None:
    """Refuse a start, or required edges, with more parents than a search allows."""
    for name, group in zip(run.names, run.structure.parents, strict=True):
        if len(group) > k:
            raise ValueError(
                f"{len(group)} parents of {name!r} are required, or in the start, above k={k}"
            )

"""A network under a sample score: its log-joint, its value, and what further parents would add to
it.

A candidate costs one family. Candidates are bounded: those that cannot win are abandoned as soon as
that is known, which changes nothing about who wins (``kernels/candidate_scan.py`` says how).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.engine import parallel_map
from discbayes.kernels import candidate_scan
from discbayes.kernels import family_theta as kernels
from discbayes.network import Layout, Structure
from discbayes.scores.candidate_families import Extensions, Family, FamilyMaker
from discbayes.scores.candidates import (
    BestCandidate,
    Candidates,
    SearchCost,
    in_turns,
    joined,
    stretches,
)
from discbayes.scores.incomplete_rows import IncompleteRowScores, complete_first
from discbayes.scores.incomplete_scan_order import IncompleteScanOrder
from discbayes.scores.sample import SampleScore
from discbayes.scores.scan_orders import (
    AccuracyScanOrder,
    LikelihoodScanOrder,
    MarginScanOrder,
    View,
)
from discbayes.scores.scoring_rows import ScoringRows

MAX_CACHED = 80_000_000  # cells of extension tables that are kept between steps: 640 MB
MAX_MADE = 20_000_000  # cells of extension tables that are made at a time: 160 MB
PREPARED = 16  # children whose extensions are made at a time
USUAL_REACH = 24.0  # of a family table: twice the logarithm of a floor of 1e-5
SCAN_COST = {
    candidate_scan.RATE: 0.5,
    candidate_scan.MARGIN: 1.0,
    candidate_scan.LIKELIHOOD: 8.0,
}  # nanoseconds for a row, roughly
# nanoseconds of one child's scan from which on a second thread is worth the interpreter's lock
SHORTEST = 250_000.0
ROUNDING = 1e-9  # of the total weight: values that differ by less are equal


class CountingScorer:
    """A structure with the log-joint of every row under it, ready to be extended."""

    _known_total: float | None
    _n_candidates = 0

    def __init__(
        self,
        data: Encoded,
        score: SampleScore,
        structure: Structure,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ):
        rows, n_whole = complete_first(ScoringRows.of(data, score.evaluation, rng))
        maker = FamilyMaker(rows, score.smoothing, n_jobs)
        self._set_up(rows, n_whole, score, maker, _log_prior(rows, score), n_jobs)
        self.reset(structure)

    def _set_up(
        self,
        rows: ScoringRows,
        n_whole: int,
        score: SampleScore,
        maker: FamilyMaker,
        log_prior: np.ndarray,
        n_jobs: int | None,
    ) -> None:
        """Take up the rows, those without gaps first, and what makes tables for them."""
        self.rows, self.n_whole, self.score, self.n_jobs = rows, n_whole, score, n_jobs
        self._whole = rows if n_whole == rows.y.size else rows.take(np.arange(n_whole))
        self.maker, self.log_prior = maker, log_prior
        self.total_weight = float(rows.weight.sum())
        self.tolerance = ROUNDING * self.total_weight

    def reset(self, structure: Structure) -> None:
        """Start again from another structure; extensions of families that stay the same are
        kept.
        """
        if not all(structure.class_children):
            raise ValueError("a sample score needs the class as a parent of every feature")
        kept: dict[tuple[int, tuple[int, ...]], Extensions] = getattr(self, "_extensions", {})
        self._extensions = kept if all(not group for _, group in kept) else {}
        known = {(f.child, f.parents): f for f in getattr(self, "families", [])}
        self.families: list[Family] = [
            known.get((i, group)) or self.maker.make(i, group)
            for i, group in enumerate(structure.parents)
        ]
        self.log_joint = self.log_prior[self.rows.group, self.rows.y][: self.n_whole]
        for family in self.families:
            self._add(family, 1.0)
        self.gaps = IncompleteRowScores(self.rows, self.n_whole, self.log_prior, self.families)
        self._last: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}
        self._changed()

    # ---- what it is worth

    @property
    def structure(self) -> Structure:
        """The structure as it is now."""
        return Structure(tuple(tuple(sorted(family.parents)) for family in self.families))

    def parents(self, child: int) -> tuple[int, ...]:
        """The parents of a feature now."""
        return self.families[child].parents

    @property
    def total(self) -> float:
        """The weighted sum of the objective over all rows."""
        if self._known_total is None:
            whole = (self.score.rows(self.log_joint, self._whole.y) * self._whole.weight).sum()
            self._known_total = float(whole) + self._incomplete_value(self.gaps.log_joint)
        return self._known_total

    def reported(self, total: float | None = None) -> float:
        """The value as the papers give it: a rate for CR, a sum for CL and MM."""
        total = self.total if total is None else total
        return total / self.total_weight if self.score.kind == candidate_scan.RATE else total

    def _incomplete_value(self, log_joint: np.ndarray) -> float:
        if not self.gaps.size:
            return 0.0
        return float((self.score.rows(log_joint, self.gaps.rows.y) * self.gaps.rows.weight).sum())

    # ---- changing it

    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Give a feature other parents."""
        self.replace(self.maker.make(child, parents))

    def replace(self, new: Family) -> None:
        """Put a family in the place of the one that its child has."""
        old = self.families[new.child]
        if self.gaps.size:
            self.gaps.log_joint = self.gaps.after(self.families, new, self.gaps.log_joint)
        self._add(old, -1.0)
        self._add(new, 1.0)
        self.families[new.child] = new
        self._extensions.pop((old.child, old.parents), None)
        self._changed()

    def _add(self, family: Family, sign: float) -> None:
        whole = self._whole
        base = family.base[: self.n_whole]
        kernels.add_family(
            self.log_joint,
            whole.y,
            whole.group,
            base,
            family.n_base,
            family.tables,
            family.own,
            sign,
        )

    def _changed(self) -> None:
        self._view: View | None = None
        self._incomplete_scan_order: IncompleteScanOrder | None = None
        self._known_total = None

    # ---- what could be added

    def best(
        self,
        tasks: Sequence[Candidates],
        least: float,
        effort: SearchCost,
        check: Callable[[], None] = lambda: None,
    ) -> BestCandidate | None:
        """The candidate that adds most, if it adds more than ``least``; of equal ones the first
        child, the fewest parents, and of those the first.

        The candidates that looked best last time go first, so that the bound is high from the
        start; batches, and so the number of candidates abandoned, do not depend on the number of
        threads.
        """
        found: list[tuple[float, int, tuple[int, ...]]] = []
        # gains are known only after the rows with gaps are added
        rise = np.inf if self.gaps.size else self.tolerance
        bound, self._n_candidates = least, sum(task.parents.size for task in tasks)
        for batch in self._batches(tasks):
            check()
            for task, (gains, exact) in zip(
                batch, self._scan_batch(batch, bound, rise), strict=True
            ):
                self._last_gains(task)[task.parents] = gains
                effort.evaluations += gains.size
                effort.abandoned += gains.size - int(exact.sum())
                found += [
                    (float(gains[k]), task.child, (int(task.parents[k]), *task.through))
                    for k in np.flatnonzero(exact)
                ]
            top = max((gain for gain, _, _ in found), default=-np.inf)
            bound = max(bound, top - self.tolerance)
        winners = [
            (child, joining, gain)
            for gain, child, joining in found
            if gain >= bound and gain > least
        ]
        if not winners:
            return None
        child, joining, gain = min(winners, key=lambda w: (w[0], len(w[1]), sorted(w[1])))
        return BestCandidate(gain, child, joining)

    def _last_gains(self, task: Candidates) -> np.ndarray:
        """What each parent added the last time that it was tried with this child; infinite where it
        was not.
        """
        return self._last.setdefault(
            (task.child, task.through), np.full(self.rows.cards.size, np.inf)
        )

    def _batches(self, tasks: Sequence[Candidates]) -> Iterator[list[Candidates]]:
        """The candidates of largest last gain first, then the rest, in batches that become larger.

        A child whose tables have to be made waits for the rest, so that those of all of its
        candidates are made, and kept, together.
        """
        gains = [
            (
                self._last_gains(task)[task.parents]
                if not self._cells_to_make(task)
                else np.full(task.parents.size, np.inf)
            )
            for task in tasks
        ]
        first, second, rest = in_turns(tasks, gains)
        yield from (batch for batch in (first, second) if batch)
        pieces = [piece for task in rest for piece in self._pieces(task)]
        promise = [float(self._last_gains(piece)[piece.parents].max()) for piece in pieces]
        order = sorted(range(len(pieces)), key=lambda t: (-promise[t], t))
        # with a bound from the start, few batches will do
        done, size = 0, max(2, len(order) // (2 if first else 16))
        while done < len(order):
            yield [pieces[t] for t in order[done : done + size]]
            done, size = done + size, size * 2

    def _cells_to_make(self, task: Candidates) -> float:
        """The cells of the tables that have to be made for a task; none if they were kept."""
        family, rows = self.families[task.child], self.rows
        known = None if task.through else self._extensions.get((task.child, family.parents))
        if known is not None and (known.where(task.parents) >= 0).all():
            return 0.0
        beside = float(family.n_base * rows.n_classes * rows.n_groups)
        for p in task.through:
            beside *= float(rows.cards[p])
        return beside * float(rows.cards[task.parents].sum())

    def _pieces(self, task: Candidates) -> list[Candidates]:
        """A task in as many pieces as it takes for the tables of each to fit into the memory that
        they may have.
        """
        cells = self._cells_to_make(task)
        if cells <= MAX_MADE:
            return [task]
        share = np.cumsum(self.rows.cards[task.parents]) / self.rows.cards[task.parents].sum()
        piece = np.ceil(share * (cells / MAX_MADE))
        return [replace(task, parents=task.parents[piece == k]) for k in np.unique(piece)]

    def _portions(self, tasks: Sequence[Candidates], most: int) -> Iterator[list[Candidates]]:
        """Tasks whose tables fit into memory together, one portion after the other."""
        portion: list[Candidates] = []
        used = 0.0
        for task in tasks:
            cells = self._cells_to_make(task)
            if portion and (used + cells > MAX_MADE or len(portion) == most):
                yield portion
                portion, used = [], 0.0
            portion.append(task)
            used += cells
        if portion:
            yield portion

    def _scan_batch(
        self, batch: Sequence[Candidates], bound: float, rise: float = np.inf
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each task the gains, and which are exact: those not below the bound, which rises to
        ``rise`` below the gains as they are found.
        """
        portions = self._portions(batch, len(batch))
        return [
            result for portion in portions for result in self._scan_portion(portion, bound, rise)
        ]

    def _scan_portion(
        self, batch: Sequence[Candidates], bound: float, rise: float
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        work = (
            sum(task.parents.size for task in batch) * self.rows.y.size * SCAN_COST[self.score.kind]
        )
        missing = any(self._cells_to_make(task) for task in batch)
        extensions = parallel_map(self._extend, batch, self.n_jobs, work=work * missing)
        self._keep(batch, extensions)
        reach = max((e.spreads.max(initial=0.0) for e in extensions), default=0.0)
        if self._view is None or self._view.reach < reach:
            self._view = self._make_view(max(reach, USUAL_REACH))
        if (
            self._incomplete_scan_order is None
            and any(map(self._joins_trees, batch))
            and IncompleteScanOrder.possible(self.gaps, self.families)
        ):
            self._incomplete_scan_order = IncompleteScanOrder(
                self.gaps, self.families, self.score, self.n_jobs
            )
        hope = self._gap_hope(self.gaps.log_joint)
        cut = [stretches(task) for task in batch]
        pairs = [
            (part, made) for parts, made in zip(cut, extensions, strict=True) for part in parts
        ]
        n_jobs = self.n_jobs if work >= SHORTEST * len(pairs) else 1
        scanned = iter(
            parallel_map(
                lambda pair: self._scan(*pair, bound, rise, hope), pairs, n_jobs, work=work
            )
        )
        return [joined([next(scanned) for _ in parts]) for parts in cut]

    def _make_view(self, reach: float) -> View:
        if self.score.kind == candidate_scan.RATE:
            return AccuracyScanOrder(self._whole, self.log_joint, self._n_candidates, self.n_jobs)
        if self.score.kind == candidate_scan.LIKELIHOOD:
            return LikelihoodScanOrder(self._whole, self.log_joint)
        return MarginScanOrder(
            self._whole, self.log_joint, self.score.scale, reach, self._n_candidates, self.n_jobs
        )

    def _joins_trees(self, task: Candidates) -> bool:
        """Whether, on a forest, a candidate puts the tree of the child below a feature of another
        tree.
        """
        return not task.through and not self.parents(task.child)

    def _extend(self, task: Candidates) -> Extensions:
        family = self.families[task.child]
        known = None if task.through else self._extensions.get((task.child, family.parents))
        if known is not None and (known.where(task.parents) >= 0).all():
            return known
        return self.maker.extend(family, task.parents, task.through)

    def prepare(self, tasks: Sequence[Candidates], check: Callable[[], None]) -> None:
        """Make and keep the extensions that are not there yet, as long as there is memory for
        them.
        """
        missing = [task for task in tasks if 0.0 < self._cells_to_make(task) <= MAX_MADE]
        for batch in self._portions(missing, PREPARED):
            check()
            work = sum(task.parents.size for task in batch) * self.rows.y.size
            self._keep(batch, parallel_map(self._extend, batch, self.n_jobs, work=work))
            if (batch[-1].child, self.parents(batch[-1].child)) not in self._extensions:
                return

    def extension(self, child: int, parent: int) -> tuple[np.ndarray, np.ndarray]:
        """What a further parent adds to log θ of a family: the tables, and those for the row's own
        class.
        """
        family = self.families[child]
        made = self._extensions.get((child, family.parents))
        if made is None or parent not in made.place:
            made = self.maker.extend(family, np.array([parent], np.int64))
        span = slice(made.starts[made.place[parent]], made.starts[made.place[parent] + 1])
        tables = made.tables[span]
        return tables, tables if made.own is made.tables else made.own[span]

    def _keep(self, batch: Sequence[Candidates], extensions: Sequence[Extensions]) -> None:
        """Keep extensions for the next step, as long as they do not take too much memory."""
        used = sum(e.tables.size for e in self._extensions.values())
        for task, made in zip(batch, extensions, strict=True):
            key = (task.child, self.families[task.child].parents)
            if (
                not task.through
                and key not in self._extensions
                and used + made.tables.size <= MAX_CACHED
            ):
                self._extensions[key] = made
                used += made.tables.size

    def _scan(
        self, task: Candidates, extensions: Extensions, bound: float, rise: float, hope: float
    ) -> tuple[np.ndarray, np.ndarray]:
        family, view = self.families[task.child], self._view
        assert view is not None
        which = extensions.where(task.parents)
        base, n_base = family.base, family.n_base
        if task.through:
            base, n_base = self.maker.cells(task.child, (*task.through, *family.parents))
        base = base[: self.n_whole]
        gains, exact = view.scan(
            family, base, n_base, task.through, extensions, which, bound - hope, rise
        )
        if self.gaps.size:
            gains[~exact] += hope
            if self._incomplete_scan_order is not None and self._joins_trees(task):
                some = np.flatnonzero(exact)
                more, exact[some] = self._incomplete_scan_order.scan(
                    family, extensions, which[some], bound - gains[some]
                )
                gains[some] += more
            else:
                self._add_gaps(task, gains, exact, bound)
        return gains, exact

    def _gap_hope(self, log_joint: np.ndarray) -> float:
        """The most that rows with gaps could add to what they have."""
        if not self.gaps.size:
            return 0.0
        most = (
            0.0
            if self.score.kind == candidate_scan.LIKELIHOOD
            else float(self.gaps.rows.weight.sum())
        )
        return most - self._incomplete_value(log_joint)

    def _add_gaps(
        self, task: Candidates, gains: np.ndarray, exact: np.ndarray, bound: float
    ) -> None:
        """Add what the rows with gaps gain, for the candidates that may still win: by inference for
        each of them.
        """
        now = self._incomplete_value(self.gaps.log_joint)
        for k in np.flatnonzero(exact):
            joining = (int(task.parents[k]), *task.through, *self.parents(task.child))
            new = self.maker.make(task.child, joining)
            gains[k] += (
                self._incomplete_value(self.gaps.after(self.families, new, self.gaps.log_joint))
                - now
            )
            exact[k] = gains[k] >= bound


def _log_prior(rows: ScoringRows, score: SampleScore) -> np.ndarray:
    by_group = np.zeros((rows.n_groups, rows.n_classes))
    np.add.at(by_group, (rows.group, rows.y), rows.weight)
    return log_prior_of(by_group, rows.scheme, rows.removed, score)


def log_prior_of(
    by_group: np.ndarray, scheme: int, removed: np.ndarray, score: SampleScore
) -> np.ndarray:
    """Log P(c) for a row of each group and true class, shape ``(n_groups, n_classes, n_classes)``,
    from the weight of each class in each group.
    """
    n_groups, n_classes = by_group.shape
    total = by_group.sum(axis=0)
    counts = np.tile(total, (n_groups, n_classes, 1))
    if scheme == kernels.FOLDS:
        counts -= by_group[:, None, :]
    if scheme == kernels.LEAVE_ONE_OUT:
        counts -= removed[:, None, None] * np.eye(n_classes)
    counts[counts < ROUNDING * total.sum()] = 0.0
    alone = Layout.of_class(n_classes)
    shares = [score.parameters._smooth(row, alone) for row in counts.reshape(-1, n_classes)]
    return np.log(np.array(shares)).reshape(counts.shape)

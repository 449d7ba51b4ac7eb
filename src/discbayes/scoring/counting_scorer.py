"""Candidates that are scored by counting: the tables of a family follow from its counts.

A candidate changes one family, so only the table of that family is made, and the log-joint of the
rows is updated by it. Candidates that cannot win are abandoned as soon as that is known, which does
not change who wins (``kernels/candidate_scan.py`` explains the bounds).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.engine import parallel_map
from discbayes.kernels import candidate_scan, family_theta
from discbayes.kernels.scan_records import ParentTables, ScoringRows
from discbayes.network import Layout, Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring.candidate_families import Extensions, Family, FamilyMaker, Smoothing
from discbayes.scoring.candidate_scorer import ROUNDING, CandidateScorer, Check, no_check
from discbayes.scoring.candidates import (
    BestCandidate,
    Candidates,
    Extension,
    ParentMove,
    SearchCost,
    best_extension,
    best_move,
    seeds_first,
)
from discbayes.scoring.incomplete_rows import (
    IncompleteRowScores,
    IncompleteScanOrder,
    complete_first,
)
from discbayes.scoring.multi_child_moves import MoveScan
from discbayes.scoring.scan_orders import (
    AccuracyScanOrder,
    LikelihoodScanOrder,
    MarginScanOrder,
    ScanOrder,
)
from discbayes.scoring.scoring_rows import hold_out

MAX_CACHED = 80_000_000  # cells of extension tables that are kept between steps: 640 MB
MAX_MADE = 20_000_000  # cells of extension tables that are made at a time: 160 MB
MAX_PREPARED = 16  # children whose extensions are made at a time
USUAL_RANGE = 24.0  # of a family table: twice the logarithm of a floor of 1e-5
# Nanoseconds for a row, roughly.
SCAN_COST = {
    candidate_scan.ACCURACY: 0.5,
    candidate_scan.MARGIN: 1.0,
    candidate_scan.LIKELIHOOD: 8.0,
}
# Nanoseconds of one child's scan from which on a second thread is worth the interpreter's lock.
MIN_THREAD_WORK = 250_000.0
COMPLETE_FOR_EACH = 4  # complete rows for each incomplete one: then these are scanned first

Gains = tuple[np.ndarray, np.ndarray]  # the gains of candidates, and which are exact


class CountingScorer(CandidateScorer):
    """A network of generative estimates, with the log-joint of every row.

    Parameters
    ----------
    data : Encoded
        The rows.
    score : SampleScore
        The score; its parameters are generative estimates.
    structure : Structure
        Where the search starts.
    rng : Generator
        For the folds of the score.
    n_jobs : int, optional
        The number of threads.
    """

    abandons = True
    _total: float | None

    def __init__(
        self,
        data: Encoded,
        score: SampleScore,
        structure: Structure,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ):
        held_out_data, scheme = hold_out(data, score.evaluation, rng)
        rows, n_complete = complete_first(scheme.rows(held_out_data))
        by_group = np.zeros((rows.n_groups, rows.n_classes))
        np.add.at(by_group, (rows.group, rows.y), rows.weight)
        log_prior = log_class_priors(by_group, rows.scheme, rows.removed, score)
        maker = FamilyMaker(rows, Smoothing(score.parameters), n_jobs)
        self._set_up(rows, n_complete, score, maker, log_prior, n_jobs)
        self.reset(structure)

    def _set_up(
        self,
        rows: ScoringRows,
        n_complete: int,
        score: SampleScore,
        maker: FamilyMaker,
        log_prior: np.ndarray,
        n_jobs: int | None,
    ) -> None:
        self.rows, self.n_complete = rows, n_complete
        self.score, self.n_jobs = score, n_jobs
        self.maker, self.log_prior = maker, log_prior
        all_complete = n_complete == rows.y.size
        self.complete_rows = rows if all_complete else rows.take(np.arange(n_complete))
        self.total_weight = float(rows.weight.sum())
        self.families: list[Family] = []
        self._extensions: dict[Extension, Extensions] = {}
        self._n_candidates = 0

    def reset(self, structure: Structure) -> None:
        """Start again from another structure; extensions of families that stay are kept."""
        require_class_parents(structure)
        if any(parents for _, parents in self._extensions):
            self._extensions = {}
        known = {(family.child, family.parents): family for family in self.families}
        self.families = [
            known.get((i, group)) or self.maker.make(i, group)
            for i, group in enumerate(structure.parents)
        ]
        self.log_joint = self.log_prior[self.rows.group, self.rows.y][: self.n_complete]
        for family in self.families:
            self._add(family, 1.0)
        self.incomplete = IncompleteRowScores(
            self.rows, self.n_complete, self.score, self.log_prior, self.families
        )
        # What each parent gained when it was last scored for a child with some others.
        self._last_gains: dict[Extension, np.ndarray] = {}
        self._forget_scans()

    # ---- the value of the network

    @property
    def structure(self) -> Structure:
        """The structure of the network."""
        return Structure(tuple(tuple(sorted(family.parents)) for family in self.families))

    def parents(self, child: int) -> tuple[int, ...]:
        """Return the parents of a feature, the last to join first."""
        return self.families[child].parents

    @property
    def total(self) -> float:
        """The weighted sum of the objective over all rows."""
        if self._total is None:
            rows = self.complete_rows
            complete = (self.score.rows(self.log_joint, rows.y) * rows.weight).sum()
            self._total = float(complete) + self.incomplete.value(self.incomplete.log_joint)
        return self._total

    # ---- changes

    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Replace the parents of a feature."""
        old, new = self.families[child], self.maker.make(child, parents)
        if self.incomplete.size:
            self.incomplete.log_joint = self.incomplete.after(
                self.families, new, self.incomplete.log_joint
            )
        self._add(old, -1.0)
        self._add(new, 1.0)
        self.families[child] = new
        self._extensions.pop((child, old.parents), None)
        self._forget_scans()

    def _add(self, family: Family, sign: float) -> None:
        rows, base = self.complete_rows, family.base[: self.n_complete]
        family_theta.add_family(
            self.log_joint,
            rows.y,
            rows.group,
            base,
            family.n_base,
            family.tables,
            family.own,
            sign,
        )

    def _forget_scans(self) -> None:
        """Forget what belongs to the network as it was."""
        self._total = None
        self._scan_order: ScanOrder | None = None
        self._incomplete_order: IncompleteScanOrder | None = None
        self._move_scan: MoveScan | None = None

    # ---- candidates

    def best(
        self,
        all_candidates: Sequence[Candidates],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        ties: str = "child",
    ) -> BestCandidate | None:
        """Find the candidate of largest gain, see ``CandidateScorer.best``.

        The candidates of largest last gain are scored first, so that the threshold is high from the
        start. Batches, and so the number of abandoned candidates, do not depend on the number of
        threads.
        """
        extensions: list[Extension] = []
        found = [np.empty(0)]
        threshold = min_gain
        self._n_candidates = sum(some.parents.size for some in all_candidates)
        for batch in self._batches(all_candidates):
            check()
            results = self._scan_batch(batch, threshold, self.tolerance)
            for candidates, (gains, exact) in zip(batch, results, strict=True):
                self._last_gains_of(candidates)[candidates.parents] = gains
                some = exact.nonzero()[0]
                cost.evaluations += gains.size
                cost.abandoned += gains.size - some.size
                # In most steps few children have a candidate that may win.
                if some.size:
                    extensions += candidates.extensions(some)
                    found.append(gains[some])
                    threshold = max(threshold, float(found[-1].max()) - self.tolerance)
        return best_extension(extensions, np.concatenate(found), min_gain, self.tolerance, ties)

    def gains(self, all_candidates: Sequence[Candidates]) -> list[np.ndarray]:
        """Return the gain of each candidate, child by child; none is abandoned."""
        self._n_candidates = sum(some.parents.size for some in all_candidates)
        return [gains for gains, _ in self._scan_batch(all_candidates, -np.inf)]

    def _last_gains_of(self, candidates: Candidates) -> np.ndarray:
        """Return what each parent gained the last time; infinite if it was not scored."""
        key = (candidates.child, candidates.others)
        if key not in self._last_gains:
            self._last_gains[key] = np.full(self.rows.cards.size, np.inf)
        return self._last_gains[key]

    def _batches(self, all_candidates: Sequence[Candidates]) -> Iterator[list[Candidates]]:
        """Yield the candidates of largest last gain, then the rest in batches that grow.

        A child whose tables are not there belongs to the rest, so that the tables of all of its
        candidates are made, and kept, at the same time.
        """
        gains = [
            np.full(some.parents.size, np.inf)
            if self._cells_to_make(some)
            else self._last_gains_of(some)[some.parents]
            for some in all_candidates
        ]
        first, second, rest = seeds_first(all_candidates, gains)
        yield from (batch for batch in (first, second) if batch)
        pieces = [piece for some in rest for piece in self._pieces(some)]
        expected = [float(self._last_gains_of(piece)[piece.parents].max()) for piece in pieces]
        order = sorted(range(len(pieces)), key=lambda t: (-expected[t], t))
        # With a threshold from the start, few batches are enough.
        done, size = 0, max(2, len(order) // (2 if first else 16))
        while done < len(order):
            yield [pieces[t] for t in order[done : done + size]]
            done, size = done + size, size * 2

    def _kept_extensions(self, candidates: Candidates) -> Extensions | None:
        """Return the extensions by all of the candidates, if they were kept."""
        if candidates.others:
            return None
        child = candidates.child
        known = self._extensions.get((child, self.families[child].parents))
        return known if known is not None and known.has(candidates.parents) else None

    def _cells_to_make(self, candidates: Candidates) -> float:
        """Return the cells of the tables that must be made for candidates."""
        if self._kept_extensions(candidates) is not None:
            return 0.0
        rows = self.rows
        cells = float(self.families[candidates.child].n_base * rows.n_classes * rows.n_groups)
        for p in candidates.others:
            cells *= float(rows.cards[p])
        return cells * float(rows.cards[candidates.parents].sum())

    def _pieces(self, candidates: Candidates) -> list[Candidates]:
        """Split candidates into as many pieces as it takes to hold the tables of each in memory."""
        cells = self._cells_to_make(candidates)
        if cells <= MAX_MADE:
            return [candidates]
        cards = self.rows.cards[candidates.parents]
        piece = np.ceil(np.cumsum(cards) / cards.sum() * (cells / MAX_MADE))
        return [
            replace(candidates, parents=candidates.parents[piece == k]) for k in np.unique(piece)
        ]

    def _fitting_batches(
        self, all_candidates: Sequence[Candidates], max_children: int
    ) -> Iterator[tuple[list[Candidates], bool]]:
        """Yield batches of children whose tables fit in memory, and whether some must be made."""
        batch: list[Candidates] = []
        used = 0.0
        for candidates in all_candidates:
            cells = self._cells_to_make(candidates)
            if batch and (used + cells > MAX_MADE or len(batch) == max_children):
                yield batch, used > 0.0
                batch, used = [], 0.0
            batch.append(candidates)
            used += cells
        if batch:
            yield batch, used > 0.0

    def _scan_batch(
        self, batch: Sequence[Candidates], threshold: float, tolerance: float = np.inf
    ) -> list[Gains]:
        """Return for each child the gains of its candidates, and which of them are exact.

        Those below the threshold are upper bounds. The threshold rises to ``tolerance`` below the
        gains that are found.
        """
        return [
            result
            for fitting, to_make in self._fitting_batches(batch, len(batch))
            for result in self._scan_fitting(fitting, to_make, threshold, tolerance)
        ]

    def _scan_fitting(
        self, batch: Sequence[Candidates], to_make: bool, threshold: float, tolerance: float
    ) -> list[Gains]:
        """Score candidates whose tables fit in memory at the same time."""
        n_candidates = sum(some.parents.size for some in batch)
        work = n_candidates * self.rows.y.size * SCAN_COST[self.score.kind]
        extensions = parallel_map(self._extend, batch, self.n_jobs, work=work * to_make)
        self._keep(batch, extensions)
        max_range = max((e.record.ranges.max(initial=0.0) for e in extensions), default=0.0)
        if self._scan_order is None or self._scan_order.max_range < max_range:
            self._scan_order = self._make_scan_order(max(max_range, USUAL_RANGE))
        if (
            self._incomplete_order is None
            and any(map(self._joins_trees, batch))
            and IncompleteScanOrder.is_possible(self.incomplete, self.families)
        ):
            self._incomplete_order = IncompleteScanOrder(
                self.incomplete, self.families, self.n_jobs
            )
        max_gain = self.incomplete.max_gain(self.incomplete.log_joint)
        split = [some.chunks() for some in batch]
        chunks = [
            (chunk, made) for some, made in zip(split, extensions, strict=True) for chunk in some
        ]
        n_jobs = self.n_jobs if work >= MIN_THREAD_WORK * len(chunks) else 1
        scanned = iter(
            parallel_map(
                lambda each: self._scan(*each, threshold, tolerance, max_gain),
                chunks,
                n_jobs,
                work=work,
            )
        )
        return [_joined([next(scanned) for _ in some]) for some in split]

    def _make_scan_order(self, max_range: float) -> ScanOrder:
        rows, log_joint = self.complete_rows, self.log_joint
        if self.score.kind == candidate_scan.ACCURACY:
            return AccuracyScanOrder(rows, log_joint, self._n_candidates, self.n_jobs)
        if self.score.kind == candidate_scan.LIKELIHOOD:
            return LikelihoodScanOrder(rows, log_joint, self.abandons)
        return MarginScanOrder(
            rows, log_joint, self.score.scale, max_range, self._n_candidates, self.n_jobs
        )

    def _joins_trees(self, candidates: Candidates) -> bool:
        """Return whether, in a forest, the child is a root that one further parent joins."""
        return not candidates.others and not self.parents(candidates.child)

    def _scan(
        self,
        candidates: Candidates,
        extensions: Extensions,
        threshold: float,
        tolerance: float,
        max_gain: float,
    ) -> Gains:
        """Score some candidates of a child on all rows.

        ``max_gain`` is the most that the incomplete rows can gain: a candidate must reach the
        threshold less that on complete rows.
        """
        family, scan_order = self.families[candidates.child], self._scan_order
        assert scan_order is not None
        parents = (*candidates.others, *family.parents)
        base, n_base = family.base, family.n_base
        if candidates.others:
            base, n_base = self.maker.cells(candidates.child, parents)
        further = extensions.take(candidates.parents)
        known = self._gains_of_incomplete(candidates, further)
        if known is not None:
            max_gain = known.max()
            # a gain on complete rows rules out those that cannot make up for it on incomplete ones
            tolerance += max_gain - known.min()
        elif self.incomplete.size:
            tolerance = np.inf
        gains, exact = scan_order.scan(
            candidates.child,
            parents,
            base[: self.n_complete],
            n_base,
            further,
            threshold - max_gain,
            tolerance,
        )
        if known is not None:
            gains += known
            return gains, exact & (gains >= threshold)
        if not self.incomplete.size:
            return gains, exact
        gains[~exact] += max_gain
        some = np.flatnonzero(exact)
        if self._incomplete_order is not None and self._joins_trees(candidates):
            further = extensions.take(candidates.parents[some])
            more, exact[some] = self._incomplete_order.scan(
                family, further, threshold - gains[some]
            )
            gains[some] += more
            return gains, exact
        incomplete = self.incomplete
        now = incomplete.value(incomplete.log_joint)
        for k in some:
            new = self.maker.make(candidates.child, (int(candidates.parents[k]), *parents))
            after = incomplete.after(self.families, new, incomplete.log_joint)
            gains[k] += incomplete.value(after) - now
            exact[k] = gains[k] >= threshold
        return gains, exact

    def _gains_of_incomplete(
        self, candidates: Candidates, further: ParentTables
    ) -> np.ndarray | None:
        """Return what few incomplete rows of a forest gain by each candidate.

        Candidates gain far less there than all rows could. Known beforehand, that leaves the bounds
        on complete rows nearly as tight as without incomplete ones. Many incomplete rows come after
        the others instead (None), for the candidates that are left.
        """
        few = self.incomplete.size * COMPLETE_FOR_EACH <= self.n_complete
        if self._incomplete_order is None or not few or not self._joins_trees(candidates):
            return None
        every = np.full(candidates.parents.size, -np.inf)
        known, _ = self._incomplete_order.scan(self.families[candidates.child], further, every)
        return known if known.size and np.isfinite(known).all() else None

    # ---- extensions

    def _extend(self, candidates: Candidates) -> Extensions:
        """Return the extensions by the candidates; they are made if they were not kept."""
        known = self._kept_extensions(candidates)
        if known is not None:
            return known
        family = self.families[candidates.child]
        return self.maker.extend(family, candidates.parents, candidates.others)

    def _keep(self, batch: Sequence[Candidates], extensions: Sequence[Extensions]) -> None:
        """Keep extensions for the next step, as long as there is memory for them."""
        used = sum(e.record.tables.size for e in self._extensions.values())
        for candidates, made in zip(batch, extensions, strict=True):
            key = (candidates.child, self.parents(candidates.child))
            size = made.record.tables.size
            if not candidates.others and key not in self._extensions and used + size <= MAX_CACHED:
                self._extensions[key] = made
                used += size

    def extension(self, child: int, parent: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what a further parent adds to log θ, and that for the own class of rows."""
        family = self.families[child]
        made = self._extensions.get((child, family.parents))
        if made is None or parent not in made.position_of:
            made = self.maker.extend(family, np.array([parent], np.int64))
        return made.tables_of(parent)

    # ---- moves

    def best_move(
        self,
        moves: Sequence[ParentMove],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        expected_gains: Sequence[float] = (),
    ) -> tuple[ParentMove | None, np.ndarray]:
        """Find the first of the moves of largest gain, see ``CandidateScorer.best_move``.

        Batches, and so the number of abandoned moves, do not depend on the number of threads.
        """
        if self._move_scan is None:
            self._move_scan = MoveScan(self)
            self._prepare(moves, check)
        order = np.arange(len(moves))
        if len(expected_gains):
            order = np.argsort(-np.asarray(expected_gains, float), kind="stable")
        gains, exact = np.empty(len(moves)), np.zeros(len(moves), np.bool_)
        threshold, done = min_gain, 0
        size = max(4, len(moves) // 64)
        while done < len(moves):
            check()
            batch = np.sort(order[done : done + size])
            done, size = done + size, min(size * 2, max(16, len(moves) // 8))
            gains[batch], exact[batch] = self._move_scan.scan([moves[k] for k in batch], threshold)
            threshold = max(threshold, gains[exact].max(initial=-np.inf) - self.tolerance)
        cost.evaluations += len(moves)
        cost.abandoned += len(moves) - int(exact.sum())
        known = np.where(exact, gains, -np.inf)
        return best_move(moves, known, min_gain, self.tolerance), gains

    def move_gains(self, moves: Sequence[ParentMove], check: Check = no_check) -> np.ndarray:
        """Return the gain of each move."""
        if self._move_scan is None:
            self._move_scan = MoveScan(self)
        return self._move_scan.scan(moves)[0]

    def _prepare(self, moves: Sequence[ParentMove], check: Check) -> None:
        """Make and keep the extensions that moves need, as long as there is memory for them."""
        parents: dict[int, list[int]] = {}
        for move in moves:
            for child in move.children:
                parents.setdefault(child, []).append(move.parent)
        all_candidates = [Candidates(i, np.array(parents[i], np.int64)) for i in sorted(parents)]
        to_make = [some for some in all_candidates if 0.0 < self._cells_to_make(some) <= MAX_MADE]
        for batch, _ in self._fitting_batches(to_make, MAX_PREPARED):
            check()
            work = sum(some.parents.size for some in batch) * self.rows.y.size
            self._keep(batch, parallel_map(self._extend, batch, self.n_jobs, work=work))
            last = batch[-1].child
            if (last, self.parents(last)) not in self._extensions:
                return  # there is no memory for more


def _joined(results: list[Gains]) -> Gains:
    """Join the gains of the chunks of a child."""
    if len(results) == 1:
        return results[0]
    gains, exact = zip(*results, strict=True)
    return np.concatenate(gains), np.concatenate(exact)


def require_class_parents(structure: Structure) -> None:
    """Refuse a structure in which the class is not a parent of every feature."""
    if not all(structure.class_children):
        raise ValueError("a sample score needs the class as a parent of every feature")


def log_class_priors(
    by_group: np.ndarray, scheme: int, removed: np.ndarray, score: SampleScore
) -> np.ndarray:
    """Return log P(class) for a row of each group and true class.

    Parameters
    ----------
    by_group : array (n_groups, n_classes)
        The weight of each class in each group.
    scheme, removed
        How rows are held out, see ``ScoringRows``.
    score : SampleScore
        Its parameter learner smooths the counts.

    Returns
    -------
    array (n_groups, n_classes, n_classes)
        By group, true class and class.
    """
    n_groups, n_classes = by_group.shape
    total = by_group.sum(axis=0)
    counts = np.tile(total, (n_groups, n_classes, 1))
    if scheme == family_theta.FOLDS:
        counts -= by_group[:, None, :]
    if scheme == family_theta.LEAVE_ONE_OUT:
        counts -= removed[:, None, None] * np.eye(n_classes)
    # What subtraction leaves of nothing is rounding.
    counts[counts < ROUNDING * total.sum()] = 0.0
    class_layout = Layout.of_class(n_classes)
    priors = [score.parameters._smooth(row, class_layout) for row in counts.reshape(-1, n_classes)]
    return np.log(np.array(priors)).reshape(counts.shape)

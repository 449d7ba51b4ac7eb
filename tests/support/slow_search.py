"""Searches as the papers state them: every candidate network is learned and scored from scratch."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from discbayes.counts import count
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Structure
from discbayes.network.graph import descendants
from discbayes.objectives import ClassificationRate, ConditionalLikelihood, objective_of
from discbayes.parameters import MaximumLikelihood


def subset(data, kept):
    weight = None if data.weight is None else data.weight[kept]
    return replace(
        data, codes=np.ascontiguousarray(data.codes[:, kept]), y=data.y[kept], weight=weight
    )


def without(data, m):
    """The data less one row, or less one of the rows that it stands for by its weight."""
    if data.weight is None or data.weight[m] <= 1:
        return subset(data, np.delete(np.arange(data.n_samples), m))
    weight = data.weight.copy()
    weight[m] -= 1
    return replace(data, weight=weight)


def held_out_joint(data, structure, evaluation, seed, learner):
    """The log-joint of every row, by tables of the rows that may be learned from."""
    everything = np.arange(data.n_samples)
    if evaluation == "resubstitution":
        parts = [(data, everything)]
    elif evaluation == "loo":
        parts = [(without(data, m), everything[m : m + 1]) for m in everything]
    else:
        fold = stratified_folds(data.y, evaluation, np.random.default_rng(deepcopy(seed)))
        parts = [(subset(data, fold != f), everything[fold == f]) for f in range(evaluation)]
    out = np.empty((data.n_samples, data.n_classes))
    for rows, test in parts:
        tables = learner.learn(rows, count(rows), structure, Context())
        out[test] = log_joint(tables, np.ascontiguousarray(data.codes[:, test]))
    return out


class SlowScore:
    """The value of a structure, from scratch; scores of the same rows, folds and learner may share
    their ``joints``.
    """

    def __init__(
        self, data, score="cr", evaluation="resubstitution", seed=0, learner=None, joints=None
    ):
        if data.weight is not None:
            data = subset(data, np.flatnonzero(data.weight))  # a row of weight zero is not there
        self.data, self.evaluation, self.seed = data, evaluation, seed
        self.objective, self.learner = objective_of(score), learner or MaximumLikelihood()
        self.weight = np.ones(data.n_samples) if data.weight is None else data.weight
        self.tolerance = 1e-9 * self.weight.sum()
        self.calls = 0
        self._joints = {} if joints is None else joints
        self._known = {}

    def __call__(self, parents):
        key = tuple(tuple(sorted(group)) for group in parents)
        self.calls += 1
        if key not in self._known:
            self._known[key] = float(
                self.objective.rows(self._joint(key), self.data.y) @ self.weight
            )
        return self._known[key]

    def _joint(self, key):
        if key not in self._joints:
            joint = held_out_joint(
                self.data, Structure(key), self.evaluation, self.seed, self.learner
            )
            self._joints[key] = joint
        return self._joints[key]

    def reported(self, value):
        return (
            value / self.weight.sum() if isinstance(self.objective, ClassificationRate) else value
        )

    def first_best(self, candidates):
        """The best of (parents of all features) and its value; of equal ones the first."""
        values = [self(candidate) for candidate in candidates]
        best = max(values)
        place = next(k for k, value in enumerate(values) if value >= best - self.tolerance)
        return candidates[place], values[place]


def with_family(parents, child, group):
    return [*parents[:child], tuple(group), *parents[child + 1 :]]


def is_strict(parents):
    """Whether the parents of each feature are joined with each other."""
    return all(
        a in parents[b] or b in parents[a] for group in parents for a, b in combinations(group, 2)
    )


def greedy_edges(score, k=1, fill=False, start=None, allowed=None, ties="child", strict=False):
    """P10 4.4.1 and P12 4.2."""
    data = score.data
    n = data.n_features
    parents = list(start.parents) if start else [()] * n
    value = score(parents)
    while True:
        below = descendants(parents)
        edges = product(range(n), range(n))  # sorted by the first of both
        candidates = [
            with_family(parents, i, (*parents[i], p))
            for i, p in (edges if ties == "child" else ((i, p) for p, i in edges))
            if len(parents[i]) < k
            and not below[i, p]
            and p not in parents[i]
            and data.cards[[i, p]].min() > 1
            and (allowed is None or allowed[p, i])
        ]
        if strict:
            candidates = [each for each in candidates if is_strict(each)]
        if not candidates:
            return Structure(tuple(tuple(sorted(g)) for g in parents)), value
        best, new = score.first_best(candidates)
        if not fill and new <= value + score.tolerance:
            return Structure(tuple(tuple(sorted(g)) for g in parents)), value
        parents, value = best, new


def super_parent(score, k=1, start=None, allowed=None, strict=False):
    """P10 4.4.2."""
    data = score.data
    n = data.n_features
    parents = list(start.parents) if start else [()] * n
    value = score(parents)

    def joined(p, children):
        return [(*group, p) if i in children else group for i, group in enumerate(parents)]

    while True:
        below = descendants(parents)
        children = {
            p: [
                i
                for i in range(n)
                if len(parents[i]) < k
                and not below[i, p]
                and p not in parents[i]
                and data.cards[[i, p]].min() > 1
                and (allowed is None or allowed[p, i])
            ]
            for p in range(n)
        }
        if strict:
            children = {
                p: max(
                    (c for size in range(len(some) + 1) for c in combinations(some, size)
                     if is_strict(joined(p, c))),
                    key=len,
                )
                for p, some in children.items()
            }  # fmt: skip
        candidates = [joined(p, some) for p, some in children.items() if some]
        improved = False
        if candidates:
            best, new = score.first_best(candidates)
            if new > value + score.tolerance:
                p = [p for p, some in children.items() if some][candidates.index(best)]
                sets = combinations(children[p], min(k, len(children[p])))
                moved = [joined(p, some) for some in sets]
                best, new = score.first_best([m for m in moved if is_strict(m) or not strict])
                improved = new > value + score.tolerance
        if not improved:
            return Structure(tuple(tuple(sorted(g)) for g in parents)), value
        parents, value = best, new


def order_based(
    score,
    order,
    first=None,
    k=1,
    strict=False,
    refine=False,
    listing=False,
    exactly_k=False,
    allowed=None,
    required=None,
    start=None,
    most_cells=np.inf,
):
    """P10 5.2 for a given order and the edge that it starts with; 6.5.4 with ``refine``."""
    data, place = score.data, {i: at for at, i in enumerate(order)}
    n = data.n_features
    allowed = np.ones((n, n), bool) if allowed is None else allowed
    required = np.zeros((n, n), bool) if required is None else required
    parents = (
        list(start.parents)
        if start
        else [tuple(np.flatnonzero(column).tolist()) for column in required.T]
    )
    begun = {(p, i) for i, group in enumerate(parents) for p in group}
    if first is not None and allowed[first] and not parents[first[1]]:
        parents[first[1]] = (first[0],)

    def neighbours(a, b):
        return a in parents[b] or b in parents[a]

    def choose(child, kept, empty=True):
        """The best of all sets with the kept parents; of equal ones the smallest, then that of the
        first columns.
        """
        free = sorted(
            p
            for p in order[: place[child]]
            if p not in kept and (allowed[p, child] or (p, child) in begun)
        )
        live = [p for p in free if data.cards[[p, child]].min() > 1]
        groups = [
            (*kept, *more) for size in range(k - len(kept) + 1) for more in combinations(live, size)
        ]
        groups = [
            g
            for g in groups
            if np.prod(data.cards[[child, *g]], dtype=float) * data.n_classes <= most_cells
        ]
        if exactly_k:
            full = min(k, len(kept) + len(live))
            groups = [g for g in groups if g == tuple(kept) or len(g) == full]
        if strict:
            groups = [g for g in groups if all(neighbours(a, b) for a, b in combinations(g, 2))]
        groups = groups if empty else [g for g in groups if g != kept] or groups
        best, _ = score.first_best([with_family(parents, child, group) for group in groups])
        return best

    for child in order[1:]:
        if child != order[1] or not parents[child]:
            before = parents[child]
            parents = choose(child, before, empty=not listing)
            listing = listing and parents[child] == before
    changed = refine
    while changed:
        last = list(map(set, parents))
        for child in order[1:]:
            kept = {p for p in parents[child] if required[p, child]}
            if strict:  # others rely on these edges: they have both ends as parents
                kept |= {
                    p for p in parents[child] if any({p, child} <= set(group) for group in parents)
                }
            parents = choose(child, tuple(sorted(kept)))
        changed = last != list(map(set, parents))
    return Structure(tuple(tuple(sorted(g)) for g in parents)), score(parents)


def annealing(
    score,
    seed,
    scale,
    max_tries,
    max_successes,
    max_rejections,
    temperature=1.0,
    cooling=0.8,
    start=None,
    allowed=None,
    at_once=4096,
):
    """Algorithm 1 of P12, with the best structure kept; draws are made as many at once as the
    annealer makes.

    It ends as well when no score can be higher, and after ``max_rejections`` changes in a row that
    have no effect.
    """
    data, rng = score.data, np.random.default_rng(seed)
    n, live = data.n_features, np.flatnonzero(data.cards > 1)
    allowed = np.ones((n, n), bool) if allowed is None else allowed
    parents = list(start.parents) if start else [()] * n
    tolerance = score.reported(score.tolerance)

    def neighbours():
        below = descendants(parents)
        return {
            (p, i)
            for i in live
            for p in live
            if p != i and allowed[p, i] and parents[i] != (p,) and not below[i, p]
        }

    def drawn():
        while True:
            for child, parent, luck in rng.random((at_once, 3)):
                yield (live[int(parent * live.size)], live[int(child * live.size)]), luck

    draws, rounds = drawn(), []
    old = value = score.reported(score(parents))
    most = score.reported(
        0.0 if isinstance(score.objective, ConditionalLikelihood) else score.weight.sum()
    )
    best, rejected, idle = parents, 0, 0
    while max(rejected, idle) < max_rejections and neighbours() and value < most - tolerance:
        tried = successes = 0
        while (
            successes < max_successes
            and tried < max_tries
            and value < most - tolerance
            and (possible := neighbours())
        ):
            edge, luck = next((edge, luck) for edge, luck in draws if edge in possible)
            tried += 1
            tree = with_family(parents, int(edge[1]), (int(edge[0]),))
            new = score.reported(score(tree))
            if new - old > tolerance:
                rejected = 0
            elif not np.log(luck) <= (new - old + tolerance) / (scale * temperature):
                rejected, idle = rejected + 1, 0
                continue
            idle = idle + 1 if abs(new - old) <= tolerance else 0
            successes += 1
            parents, old = tree, new
            if new > value + tolerance:
                best, value = tree, new
        rounds.append((tried, successes, value))
        temperature *= cooling
    return Structure(tuple(best)), value, rounds

"""Searches as the papers state them: every candidate network is learned and scored from scratch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discbayes.counts import count
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Structure
from discbayes.network.graph import descendants
from discbayes.objectives import ClassificationRate, objective_of
from discbayes.parameters import MaximumLikelihood


def subset(data, kept):
    weight = None if data.weight is None else data.weight[kept]
    return replace(data, codes=np.ascontiguousarray(data.codes[:, kept]), y=data.y[kept], weight=weight)


def held_out_joint(data, structure, evaluation, seed, learner):
    """The log-joint of every row, by tables of the rows that may be learned from."""
    everything = np.arange(data.n_samples)
    if evaluation == "resubstitution":
        parts = [(everything, everything)]
    elif evaluation == "loo":
        parts = [(np.delete(everything, m), everything[m : m + 1]) for m in everything]
    else:
        fold = stratified_folds(data.y, evaluation, np.random.default_rng(seed))
        parts = [(everything[fold != f], everything[fold == f]) for f in range(evaluation)]
    out = np.empty((data.n_samples, data.n_classes))
    for train, test in parts:
        rows = subset(data, train)
        tables = learner.learn(rows, count(rows), structure, Context())
        out[test] = log_joint(tables, np.ascontiguousarray(data.codes[:, test]))
    return out


class SlowScore:
    """The value of a structure, from scratch."""

    def __init__(self, data, score="cr", evaluation="resubstitution", seed=0, learner=None):
        if data.weight is not None:
            data = subset(data, np.flatnonzero(data.weight))  # a row of weight zero is not there
        self.data, self.evaluation, self.seed = data, evaluation, seed
        self.objective, self.learner = objective_of(score), learner or MaximumLikelihood()
        self.weight = np.ones(data.n_samples) if data.weight is None else data.weight
        self.tolerance = 1e-9 * self.weight.sum()
        self.calls = 0
        self._known = {}

    def __call__(self, parents):
        key = tuple(tuple(sorted(group)) for group in parents)
        self.calls += 1
        if key not in self._known:
            joint = held_out_joint(self.data, Structure(key), self.evaluation, self.seed, self.learner)
            self._known[key] = float(self.objective.rows(joint, self.data.y) @ self.weight)
        return self._known[key]

    def reported(self, value):
        return value / self.weight.sum() if isinstance(self.objective, ClassificationRate) else value

    def first_best(self, candidates):
        """The best of (parents of all features) and its value; of equal ones the first."""
        values = [self(candidate) for candidate in candidates]
        best = max(values)
        place = next(k for k, value in enumerate(values) if value >= best - self.tolerance)
        return candidates[place], values[place]


def with_family(parents, child, group):
    return [*parents[:child], tuple(group), *parents[child + 1 :]]


def greedy_edges(score, k=1, fill=False, start=None, allowed=None):
    """P10 4.4.1 and P12 4.2."""
    data = score.data
    n = data.n_features
    parents = list(start.parents) if start else [()] * n
    value = score(parents)
    while True:
        below = descendants(parents)
        candidates = [
            with_family(parents, i, (*parents[i], p))
            for i in range(n)
            for p in range(n)
            if len(parents[i]) < k and not below[i, p] and p not in parents[i] and data.cards[[i, p]].min() > 1
            and (allowed is None or allowed[p, i])
        ]  # fmt: skip
        if not candidates:
            return Structure(tuple(tuple(sorted(g)) for g in parents)), value
        best, new = score.first_best(candidates)
        if not fill and new <= value + score.tolerance:
            return Structure(tuple(tuple(sorted(g)) for g in parents)), value
        parents, value = best, new

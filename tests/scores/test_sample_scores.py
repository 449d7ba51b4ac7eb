"""Gains of further parents against networks that are learned and scored from scratch, whichever way
they are found.
"""

from __future__ import annotations

import numpy as np
import pytest

from coded import encoded
from discbayes.counts import count
from discbayes.engine import Context
from discbayes.kernels import candidate_scan, family_theta
from discbayes.network import Structure
from discbayes.objectives import Margin
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.scores.sample import SampleScore
from discbayes.scoring import bit_sets, scan_orders
from discbayes.scoring.candidate_families import FamilyMaker, Smoothing
from discbayes.scoring.candidates import Candidates, SearchCost
from discbayes.scoring.counting_scorer import CountingScorer
from discbayes.scoring.scoring_rows import hold_out
from slow_search import SlowScore, held_out_joint, subset, with_family, without

SCORES = {"cr": "cr", "cl": "cl", "mm": Margin(0.3)}
PARENTS = [(), (0,), (1,), (1,), ()]


def sample(seed, n_rows=700, n_classes=3, cards=(3, 2, 4, 3, 2), **options):
    return encoded(
        np.random.default_rng(seed), list(cards), n_classes, n_rows, linked=True, **options
    )


def scored(data, name, evaluation, n_jobs=None):
    score = SampleScore(SCORES[name], evaluation).checked()
    return CountingScorer(data, score, Structure(tuple(PARENTS)), np.random.default_rng(0), n_jobs)


def gains_from_scratch(data, name, evaluation, task):
    slow = SlowScore(data, SCORES[name], evaluation)
    group = (*task.others, *PARENTS[task.child])
    return np.array(
        [slow(with_family(PARENTS, task.child, (p, *group))) for p in task.parents]
    ) - slow(PARENTS)


TASKS = [
    Candidates(0, np.array([4])),
    Candidates(3, np.array([0, 2, 4])),
    Candidates(4, np.array([0, 1, 2, 3])),
    Candidates(4, np.array([2, 3]), others=(0,)),
]


@pytest.mark.parametrize("most_values", [64, 0], ids=["bits", "rows"])
@pytest.mark.parametrize("near_rows", [1, 384])
@pytest.mark.parametrize("evaluation", ["resubstitution", 4, "loo"])
@pytest.mark.parametrize("name", SCORES)
def test_gains(monkeypatch, name, evaluation, near_rows, most_values):
    monkeypatch.setattr(scan_orders, "MIN_NEAR", near_rows)
    monkeypatch.setattr(bit_sets, "MAX_VALUES", most_values)
    data = sample(0, n_rows=700 if evaluation != "loo" else 60)
    network = scored(data, name, evaluation)
    for task, (gains, exact) in zip(TASKS, network._scan_batch(TASKS, -np.inf), strict=True):
        assert exact.all()
        np.testing.assert_allclose(
            gains, gains_from_scratch(data, name, evaluation, task), atol=1e-7
        )


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    "options", [{"weighted": True}, {"n_classes": 2}, {"cards": (9, 7, 70, 5, 3)}], ids=str
)
def test_gains_on_other_data(monkeypatch, name, options):
    monkeypatch.setattr(scan_orders, "MIN_NEAR", 16)
    data = sample(1, **options)
    network = scored(data, name, 3)
    kept = SlowScore(data).data
    for task, (gains, _) in zip(TASKS, network._scan_batch(TASKS, -np.inf), strict=True):
        np.testing.assert_allclose(gains, gains_from_scratch(kept, name, 3, task), atol=1e-7)


@pytest.mark.parametrize("name", SCORES)
def test_a_bound_changes_nothing_above_it(monkeypatch, name):
    monkeypatch.setattr(scan_orders, "MIN_NEAR", 16)
    network = scored(sample(2, n_rows=900), name, 3)
    free = network._scan_batch(TASKS, -np.inf)
    middle = float(np.median(np.concatenate([gains for gains, _ in free])))
    for (gains, _), (bounded, exact) in zip(free, network._scan_batch(TASKS, middle), strict=True):
        np.testing.assert_array_equal(exact, gains >= middle)
        np.testing.assert_allclose(bounded[exact], gains[exact], atol=1e-9)
        assert (bounded[~exact] >= gains[~exact] - 1e-9).all()
        assert (bounded[~exact] < middle).all()


@pytest.mark.parametrize("name", SCORES)
def test_weighted_rows_are_rows_that_come_more_than_once(name):
    data = sample(3, n_rows=200)
    times = np.random.default_rng(1).integers(0, 3, data.n_samples)
    repeated = np.repeat(np.arange(data.n_samples), times)
    from dataclasses import replace

    heavy = replace(data, weight=times.astype(float))
    doubled = replace(data, codes=np.ascontiguousarray(data.codes[:, repeated]), y=data.y[repeated])
    for evaluation in ("resubstitution", "loo"):
        one, other = scored(heavy, name, evaluation), scored(doubled, name, evaluation)
        assert one.total == pytest.approx(other.total)
        for (a, _), (b, _) in zip(
            one._scan_batch(TASKS, -np.inf), other._scan_batch(TASKS, -np.inf), strict=True
        ):
            np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("name", SCORES)
def test_changes_and_threads(name):
    data = sample(4, n_rows=3000)
    one, two = scored(data, name, 5), scored(data, name, 5, n_jobs=2)
    tasks = [Candidates(i, np.array([p for p in range(5) if p != i])) for i in (0, 4)]
    for network in (one, two):
        network.set_parents(2, ())
        network.set_parents(3, (2, 0))
    effort, again = SearchCost(), SearchCost()
    assert one.best(tasks, -np.inf, effort) == two.best(tasks, -np.inf, again)
    assert effort == again
    joint = held_out_joint(data, one.structure, 5, 0, one.score.parameters)
    np.testing.assert_allclose(one.log_joint, joint, atol=1e-9)
    assert one.total == pytest.approx(float(one.score.rows(joint, data.y).sum()), abs=1e-7)


@pytest.mark.parametrize(
    "learner", [MaximumLikelihood(1e-3), MaximumAPosteriori("m", 2.0)], ids=str
)
@pytest.mark.parametrize("evaluation", ["resubstitution", 3, "loo"])
def test_tables_of_counts_are_those_of_the_rows_that_may_be_learned_from(evaluation, learner):
    data, child, card = sample(6, n_rows=24), 3, 3
    held_out, scheme = hold_out(data, evaluation, np.random.default_rng(0))
    rows = scheme.rows(held_out)
    base, n_base = FamilyMaker(rows, Smoothing(learner)).cells(child, (1,))
    counts = np.zeros((rows.n_groups if evaluation == 3 else 1, n_base, 3))
    np.add.at(counts, (rows.group, base, rows.y), rows.weight)
    found, own = np.empty((2, rows.n_groups, n_base, 3))
    smoothing = Smoothing(learner)
    family_theta.tables_of_counts(
        counts.ravel(),
        n_base,
        card,
        3,
        rows.scheme,
        rows.removed,
        smoothing.mode,
        smoothing.amount(n_base * 3, card),
        found.ravel(),
        own.ravel(),
    )

    def learned(rest):
        tables = learner.learn(rest, count(rest), Structure(tuple(PARENTS)), Context())
        return tables.layout.table(tables.log_theta, child).reshape(n_base, 3)

    for g in range(rows.n_groups):
        rest = subset(data, rows.group != g) if evaluation == 3 else data
        np.testing.assert_allclose(found[g], learned(rest), atol=1e-12)
    for m in range(24) if evaluation == "loo" else ():
        cell = base[m], rows.y[m]
        assert own[0][cell] == pytest.approx(learned(without(data, m))[cell], abs=1e-12)


def test_the_score_says_what_is_wrong():
    for bad, match in [
        (SampleScore("auc"), "not an objective"),
        (SampleScore("cr", 1), "evaluation=1"),
        (SampleScore("cr", "cv"), "resubstitution"),
        (SampleScore("cr", parameters=3), "generative estimates"),
        (SampleScore(Margin(0.1, eta=10.0)), "hard margin"),
    ]:
        with pytest.raises(ValueError, match=match):
            bad.checked()


def test_kinds_are_those_of_the_kernels():
    assert [SampleScore(s).checked().kind for s in SCORES.values()] == [
        candidate_scan.ACCURACY,
        candidate_scan.LIKELIHOOD,
        candidate_scan.MARGIN,
    ]

"""λ of the margin by cross-validation, against a plain loop over scales and folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_greedy import run, sample

from coded import encoded
from discbayes.counts import count
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Structure
from discbayes.objectives import ClassificationRate, Margin
from discbayes.parameters import MaximumAPosteriori, MaximumConditionalLikelihood, MaximumLikelihood
from discbayes.search import GreedyEdges, OrderBased, SuperParent, tuning
from slow_search import subset

DATA = sample(7, n_features=4, n_rows=40)


def plain_rates(data, evaluation, learner):
    """For each scale the share of held-out rows that are classified right."""
    rng = np.random.default_rng(3).spawn(1)[0]
    folds = stratified_folds(data.y, 5, rng)
    seed = int(rng.integers(2**63))
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    right = dict.fromkeys(tuning.SCALES, 0.0)
    for lam in right:
        for fold in range(5):
            rest, test = subset(data, np.flatnonzero(folds != fold)), np.flatnonzero(folds == fold)
            structure, _ = run(
                GreedyEdges(Margin(lam), evaluation, learner, random_state=seed), rest
            )
            tables = learner.learn(rest, count(rest), structure, Context())
            scores = log_joint(tables, np.ascontiguousarray(data.codes[:, test]))
            right[lam] += float(ClassificationRate().rows(scores, data.y[test]) @ weight[test])
    return {lam: value / weight.sum() for lam, value in right.items()}


@pytest.mark.parametrize(
    "evaluation, learner, weighted",
    [
        ("resubstitution", MaximumLikelihood(), False),
        (3, MaximumAPosteriori("dirichlet", 0.5), True),
    ],
    ids=str,
)
def test_the_scale_of_a_plain_loop(evaluation, learner, weighted):
    data = sample(7, n_features=4, n_rows=40, weighted=weighted)
    kept = data if data.weight is None else subset(data, np.flatnonzero(data.weight))
    rates = plain_rates(kept, evaluation, learner)
    best = min(lam for lam, rate in rates.items() if rate == max(rates.values()))
    found, history = run(GreedyEdges("mm", evaluation, learner, random_state=3), data)
    first = history[0]
    assert first["stage"] == "lambda"
    assert first["lam"] == best
    assert first["edge"] is None
    assert first["evaluations"] > 0
    assert first["score"] == pytest.approx(rates[best])
    assert first["rates"] == pytest.approx(rates)
    given, rest = run(GreedyEdges(Margin(best), evaluation, learner, random_state=3), data)
    assert found == given
    assert [r["score"] for r in history[1:]] == [r["score"] for r in rest]


def test_the_scale_makes_a_difference():
    _, history = run(GreedyEdges("mm", random_state=3), DATA)
    assert len(set(history[0]["rates"].values())) > 1


def test_equal_rates_give_the_smallest_scale(monkeypatch):
    monkeypatch.setattr(tuning, "SCALES", (0.05, 0.1, 1.0))
    _, history = run(GreedyEdges("mm"), sample(7, n_features=1, n_rows=40))  # no edge is possible
    assert history[0]["lam"] == 0.05
    assert len(set(history[0]["rates"].values())) == 1


def test_a_given_scale_is_not_tuned():
    _, history = run(GreedyEdges(Margin()), DATA)
    assert all("stage" not in record for record in history)


@pytest.mark.parametrize(
    "data", [sample(7, n_rows=4), sample(7, n_classes=1), sample(7, n_rows=6)], ids=["4", "1", "6"]
)
def test_without_folds_or_classes_the_default_is_taken(data):
    # of 6 rows, 4 are left for the 5 folds of the score
    evaluation = 5 if data.n_samples == 6 else "resubstitution"
    found, history = run(GreedyEdges("mm", evaluation, random_state=0), data)
    assert all("stage" not in record for record in history)
    assert found == run(GreedyEdges(Margin(), evaluation, random_state=0), data)[0]


@pytest.mark.parametrize(
    "learner", [SuperParent("mm"), OrderBased("random", "mm")], ids=["superparent", "order"]
)
def test_threads_and_size_change_nothing(monkeypatch, learner):
    monkeypatch.setattr(tuning, "SCALES", (0.05, 1.0))
    traces = []
    for n_jobs, small in [(1, 10**6), (3, 10**6), (3, 0)]:
        monkeypatch.setattr(tuning, "SMALL", small)
        found, history = run(learner, DATA, n_jobs)
        traces.append((found, [{k: v for k, v in r.items() if k != "seconds"} for r in history]))
    assert traces[0] == traces[1] == traces[2]


def test_constraints_hold_inside(monkeypatch):
    monkeypatch.setattr(tuning, "SCALES", (0.05, 1.0))
    found, _ = run(
        GreedyEdges("mm", required=[("x0", "x1")], forbidden=[(0, 2)], start=[("x0", "x1")]), DATA
    )
    assert 0 in found.parents[1]
    assert 0 not in found.parents[2]


def test_when_the_time_is_over_the_start_is_returned():
    start = Structure(((), (0,), (), ()))
    with pytest.warns(
        UserWarning, match=r"GreedyEdges: max_time of 1e-09 s is over; .* with 1 edges"
    ):
        found, history = run(GreedyEdges("mm", start=start, max_time=1e-9), DATA)
    assert found == start
    assert history == []


def test_a_callback_sees_the_scale_once(monkeypatch):
    monkeypatch.setattr(tuning, "SCALES", (0.05, 1.0))
    seen = []
    run(GreedyEdges("mm", callback=seen.append), DATA)
    assert [r.get("stage") for r in seen] == ["lambda"] + [None] * (len(seen) - 1)
    with pytest.warns(UserWarning, match="stopped by the callback"):
        found, _ = run(GreedyEdges("mm", callback=lambda record: True), DATA)
    assert found.n_edges == 0


@pytest.mark.filterwarnings("error")
def test_trained_parameters_inside(monkeypatch):
    monkeypatch.setattr(tuning, "SCALES", (0.05, 1.0))
    data = encoded(np.random.default_rng(0), [2, 3, 2], 2, 30, linked=True)
    learner = MaximumConditionalLikelihood(max_iter=2)
    _, history = run(GreedyEdges("mm", parameters=learner), data, n_jobs=2)
    assert history[0]["stage"] == "lambda"


def test_rows_without_weight_are_not_there(monkeypatch):
    monkeypatch.setattr(tuning, "SCALES", (0.05, 1.0))
    weight = np.random.default_rng(0).integers(0, 2, DATA.n_samples).astype(float)
    weighted, kept = replace(DATA, weight=weight), subset(DATA, np.flatnonzero(weight))
    (one, first), (two, second) = (
        run(GreedyEdges("mm", random_state=1), data) for data in (weighted, kept)
    )
    assert one == two
    assert first[0]["rates"] == second[0]["rates"]

"""Z17 Figure 3: features that differ in influence, and how fast weights and unconstrained
parameters converge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes.data import FrameEncoder
from discbayes.datasets import make_conditioned_logistic
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import Structure
from discbayes_papers.experiment import Experiment
from discbayes_papers.z17 import curves

ALPHAS = (0.0, 0.5, 1.0)
N_ROWS, N_DRAWS = 10_000, 20
TAGS = {"w": "NB-W", "d": "NB-D", "e": "NB-E"}
NEAR = (1e-2, 1e-4, 1e-6)  # nats for each row above the lowest value that was found


def tasks(quick: bool) -> list[Task]:
    """Every α with several draws of the rows."""
    n_draws, n_rows = (2, 500) if quick else (N_DRAWS, N_ROWS)
    return [
        Task(
            _name(alpha),
            0,
            tuple(TAGS.values()),
            seed,
            descents,
            {"alpha": alpha, "n_rows": n_rows},
        )
        for alpha in ALPHAS
        for seed in range(n_draws)
    ]


def descents(task: Task) -> Iterator[Result]:
    """The curves of one draw, with naive Bayes."""
    X, y = make_conditioned_logistic(
        task.options["n_rows"], alpha=task.options["alpha"], random_state=task.seed
    )
    part = curves.as_part(FrameEncoder(None, n_jobs=1).fit_transform(X, y))
    for tag in task.recipes:
        found = curves.descent(part, Structure.naive(3), tag)
        yield task.result(tag, found, found["seconds_per_iteration"] * found["iterations"])


def page(store: Store) -> list[Block]:
    """Iterations to come near the optimum, and the curves."""
    done = f"{len(store)} of {len(ALPHAS) * N_DRAWS * len(TAGS)} runs are there."
    if not len(store):
        return [Text(done)]
    return [
        Text(done),
        _table(store),
        Picture("curves", "NLL after each iteration, by α", lambda: _draw(store)),
    ]


def _name(alpha: float) -> str:
    return f"alpha {alpha:g}"


def _curves(store: Store, alpha: float, tag: str) -> np.ndarray:
    """The curves of all draws, in rows."""
    found = sorted(store.where(data=_name(alpha), recipe=tag), key=lambda result: result.seed)
    return np.array([[result[metric] for metric in curves.CURVE] for result in found])


def _table(store: Store) -> ResultTable:
    rows = []
    for alpha in ALPHAS:
        found = {name: _curves(store, alpha, tag) for name, tag in TAGS.items()}
        if not all(map(len, found.values())) or len(set(map(len, found.values()))) > 1:
            continue
        lowest = np.min([values[:, -1] for values in found.values()], axis=0)
        rows += [[f"{alpha:g}", f"{near:g}", *_iterations(found, lowest + near)] for near in NEAR]
    note = "Median over the draws, with the smallest and the largest number."
    return ResultTable(
        "Iterations until the optimum is so near",
        ["α", "nats for each row", *TAGS],
        rows,
        note,
        left=2,
    )


def _iterations(found: dict[str, np.ndarray], targets: np.ndarray) -> list[str]:
    cells = []
    for values in found.values():
        near = values <= targets[:, None]
        steps = np.where(near.any(axis=1), near.argmax(axis=1), curves.N_ITER + 1)
        cells.append(f"{np.median(steps):g} ({steps.min()}–{steps.max()})")
    return cells


def _draw(store: Store) -> Any:
    colours = leaf("plot.style").COLORS
    figure, panels = need("matplotlib.pyplot").subplots(
        1, len(ALPHAS), figsize=(10.5, 3.4), layout="constrained"
    )
    for panel, alpha in zip(panels, ALPHAS, strict=True):
        for (name, tag), colour in zip(TAGS.items(), colours, strict=False):
            found = _curves(store, alpha, tag)
            if len(found):
                panel.plot(
                    range(1, curves.N_ITER + 2),
                    found.mean(axis=0),
                    color=colour,
                    label=f"NB {name}",
                )
        panel.set(
            xscale="log", xlabel="iteration (the first is the start)", ylabel="NLL for each row"
        )
        panel.set_title(f"α = {alpha:g}", fontsize=10)
        panel.legend(frameon=False)
    return figure


EXPERIMENT = Experiment(
    name="z17-fig3",
    paper="Z17",
    where="Figure 3, section 5.5.1",
    title="Weights as a preconditioner: three features of different influence",
    tasks=tasks,
    page=page,
    metrics=curves.METRICS,
)

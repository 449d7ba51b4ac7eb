"""Z17's "e" as its published code has it, simulated beside w, d and e as the paper defines them.

The objective of that code adds the unconstrained numbers β themselves, without the softmax, which
is d's objective; the gradient of a cell is that of d times 1 + θ, in which θ is the softmax. Value
and gradient do not belong together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from time import process_time

import numpy as np
from scipy.optimize import minimize

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes.network import CPTs, Layout
from discbayes.objectives import ConditionalLikelihood
from discbayes.parameters import MaximumAPosteriori
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Numbers, Plain
from discbayes.parameters.problem import Problem
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import runs_text
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.parts import Part, one_part
from discbayes_papers.z17 import curves

SETS = (
    "iris", "glass", "wine", "balance-scale", "diabetes", "breast", "vehicle", "car", "cmc",
    "german", "segment", "satimage", "nursery", "chess", "vote", "waveform-21", "pendigits",
    "letter", "adult", "spambase",
)  # fmt: skip
STRUCTURES = ("NB", "TAN")
MAX_ROWS = 8000
AFTER = (5, 10)
METRICS = ("n_rows", *(f"nll_{n}" for n in AFTER))
METHODS = ("w", "d", "e", "code", "code from -1")
# Wins, draws and losses of w against e in Z17's Table 6, all sets.
PUBLISHED = {
    (5, "NB"): "69/0/2", (5, "TAN"): "67/4/0", (10, "NB"): "68/0/3", (10, "TAN"): "65/5/1",
}  # fmt: skip


def tasks(quick: bool) -> list[Task]:
    """All methods on all sets."""
    tags = tuple(f"{s}, {method}" for s in STRUCTURES for method in METHODS)
    return [Task(name, 0, tags, 0, work) for name in (SETS[:2] if quick else SETS)]


def work(task: Task) -> Iterator[Result]:
    """The mean of −log P(y | x) after some iterations of SciPy's L-BFGS-B."""
    data = curves.training_part(task.data).data
    part = curves.as_part(one_part(data, -(-data.n_samples // MAX_ROWS)))
    for tag in task.recipes:
        structure, method = tag.split(", ")
        started = process_time()
        found = _Descent(part, structure).run(method)
        yield task.result(tag, found, process_time() - started)


class _Descent:
    """The losses of one network as functions of unconstrained numbers, and their descent."""

    def __init__(self, part: Part, structure: str):
        self.n_rows = part.data.n_samples
        graph = learn_structure(part, parse(structure).structure).value
        self.layout = Layout.of(graph, part.data)
        tables: CPTs = learn_tables(part, graph, MaximumAPosteriori("m", 1.0)).value
        self.generative = np.concatenate([tables.log_prior, tables.log_theta])
        scores = LogScores(part.data, self.layout, normalized=False)
        self.problem = Problem(ConditionalLikelihood(), scores, Plain(self.layout))

    def run(self, method: str) -> dict[str, float]:
        """Return the mean loss after each number of iterations; a descent that ends stays there."""
        losses: dict[str, Callable[[np.ndarray], tuple[float, np.ndarray]]] = {
            "w": self._weights,
            "d": self._direct,
            "e": self._softmax,
            "code": self._code,
            "code from -1": self._code,
        }
        start = self.generative
        if method == "w":
            start = np.ones_like(start)
        elif method == "code from -1":
            start = np.full_like(start, -1.0)
        values: list[float] = []
        loss = losses[method]
        minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=lambda free: values.append(loss(free)[0]),
            options={"maxiter": max(AFTER), "maxcor": 5},
        )
        values = [loss(start)[0], *values]
        reached = {f"nll_{n}": values[min(n, len(values) - 1)] for n in AFTER}
        return {"n_rows": self.n_rows, **reached}

    def _direct(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        n_classes = self.layout.n_classes
        numbers = Numbers(free[:n_classes].copy(), free[n_classes:].copy())
        value, slopes = self.problem.total_and_slopes(numbers)
        gradient = np.concatenate([slopes.prior, slopes.cells])
        return -value / self.n_rows, -gradient / self.n_rows

    def _weights(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self._direct(free * self.generative)
        return value, gradient * self.generative

    def _softmax(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        theta = self._theta(free)
        value, gradient = self._direct(np.log(theta))
        return value, gradient - theta * self._totals(gradient)

    def _code(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self._direct(free)
        return value, gradient * (1.0 + self._theta(free))

    def _theta(self, free: np.ndarray) -> np.ndarray:
        powers = np.exp(np.clip(free, -700.0, 700.0))
        return np.maximum(powers / self._totals(powers), np.finfo(float).tiny)

    def _totals(self, values: np.ndarray) -> np.ndarray:
        """Return for each number the sum over the row of its table."""
        n_classes = self.layout.n_classes
        prior = np.full(n_classes, values[:n_classes].sum())
        return np.concatenate([prior, self.layout.row_totals(values[n_classes:])])


def page(store: Store) -> Sequence[Block]:
    """Wins, draws and losses of w against each of the others."""
    found: dict[str, dict[str, Result]] = defaultdict(dict)
    for result in store:
        found[result.recipe][result.data] = result
    rows = []
    for after, against in product(AFTER, METHODS[1:]):
        cells = [_counts(found, structure, against, after) for structure in STRUCTURES]
        published = [PUBLISHED[after, s] if against == "code" else "" for s in STRUCTURES]
        rows.append([str(after), against, *cells, *published])
    header = ["after", "against", *STRUCTURES, *(f"Z17, {s}" for s in STRUCTURES)]
    note = f"Wins/draws/losses of w; a difference of at most {curves.DRAW:g} is a draw."
    title = "w against d, e, and e as the published code has it, from the generative estimates"
    return [
        Text(f"Stored: {runs_text(store, tasks(False))}."),
        ResultTable(title, header, rows, note, left=2),
    ]


def _counts(found: dict[str, dict[str, Result]], structure: str, against: str, after: int) -> str:
    ours, others = found[f"{structure}, w"], found[f"{structure}, {against}"]
    both = [name for name in SETS if name in ours and name in others]
    if not both:
        return "–"
    metric = f"nll_{after}"
    counts = win_draw_loss(
        [ours[name][metric] for name in both],
        [others[name][metric] for name in both],
        larger_is_better=False,
        tolerance=curves.DRAW,
    )
    return f"{counts.wins}/{counts.draws}/{counts.losses}"


EXPERIMENT = Experiment(
    name="z17-e-code",
    paper="Z17",
    where="Table 6, section 7.4",
    title="Which e Z17's tables may be of: its published code, simulated",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)

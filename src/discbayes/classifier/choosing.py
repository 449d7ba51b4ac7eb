"""Choose the network of a fit by held-out rows: how many parents, and which free parameters.

The folds are those of calibration. In each of them the columns are discretized and the parents of
each feature are found once, in the order in which they help: a network of fewer parents takes the
first ones. Choices are compared by the log loss of the held-out rows: first other penalties of the
weights of features with one parent, where a fit is quick, then one parent more or less, as long as
that helps, then smaller penalties of free parameters. A fit begins with the parameters of the
choice that it is compared with, so that few iterations show which of them is better, and the fit
on all rows with those of the first fold. If rows to learn from have missing values, it is tried
first whether they are better marginalized or a value of their own, which is then evidence in rows
whose missing values are like those of the rows to learn from. Then values of held-out rows are
hidden: predictions of these rows, by the best choice and by the generative estimates of the same
structure, determine the weights of a log pool of both.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from discbayes._arrays import starts_of
from discbayes._text import count_of
from discbayes.bayesnet import BayesNet
from discbayes.calibration import (
    MAX_LOSS,
    UNUSUAL,
    LogPool,
    PredictedRows,
    learn_doubt,
    learn_pool_weights,
)
from discbayes.classifier.calibrating import calibration_weights
from discbayes.classifier.fitting import (
    MAX_PARENTS,
    FitPlan,
    learn_structure,
    make_network,
    share_missing,
    weigh_and_count,
)
from discbayes.classifier.hidden_values import draws_of, predict_hidden
from discbayes.classifier.training_rows import TrainingRows
from discbayes.counts import Counts
from discbayes.data import FrameEncoder
from discbayes.data.folds import FoldAssignment, rows_beyond
from discbayes.data.rows import Rows
from discbayes.engine import Context
from discbayes.inference import log_marginal
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters import HierarchicalSmoothing, LevelWeightedCCBN
from discbayes.parameters.configurations import Configurations, cells_of
from discbayes.parameters.level_weights import FittedWeights, LevelWeights, PreparedLevels
from discbayes.search import KDB, NaiveBayes

# Iterations of the fits that are compared, whose order is clear by then: of the first one, and of
# those that begin with the parameters of another choice, which has another number of parents,
# another penalty of weights, or one of free parameters. Weights are hard to fit where many features
# tell the same.
MAX_ITER, PARENT_ITER = 150, 12
WEIGHT_ITER, CELL_ITER = 20, 5
TOLERANCE = 1e-4
MAX_FINAL_ITER = 500  # of the fit on all rows, which ends before
# It ends when an iteration gains little of the loss that the held-out rows had.
FINAL_SHARE, FINAL_TOLERANCE = 3e-4, (2e-5, 1e-4)
MAX_CHOICE_ROWS = 20_000  # that compared networks learn from: more rarely change the choice
MIN_GAIN = 0.5  # standard errors, for more parameters
MIN_PARENT_GAIN = 0.0  # for another parent, which helps the generative estimates as well
# standard errors of a loss, and of a gain, that are clear without the other folds
CLEAR_LOSS, CLEAR_GAIN = 1.0, 2.0
MAX_CELLS = 4_000_000  # of all tables, for more than one parent: a fit takes some seconds
PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)  # of free parameters
# of the weights of features, beyond those that all features share: the first, then away from it
WEIGHT_PENALTY = 10.0
WEIGHT_PENALTIES = ((30.0, 100.0), (3.0, 1.0))


@dataclass(frozen=True)
class Choice:
    """What is chosen: the largest number of parents, the penalties of weights and of free cells."""

    max_parents: int
    cell_penalty: float | None = None
    weight_penalty: float = WEIGHT_PENALTY

    def of_structure(self, structure: Structure) -> Structure:
        """Return a structure with no more than the first parents of each feature."""
        parents = tuple(group[: self.max_parents] for group in structure.parents)
        return Structure(parents, structure.class_children)

    def __str__(self) -> str:
        parents = "all parents"
        if self.max_parents != EVERY_PARENT:
            parents = f"at most {count_of(self.max_parents, 'parent')}"
        if self.weight_penalty != WEIGHT_PENALTY:
            parents += f", weights with penalty {self.weight_penalty:g}"
        if self.cell_penalty is None:
            return parents
        return f"{parents}, free parameters with penalty {self.cell_penalty:g}"

    @property
    def parameters(self) -> LevelWeightedCCBN:
        """The parameter learner."""
        return LevelWeightedCCBN(
            weight_penalty=self.weight_penalty,
            cell_penalty=self.cell_penalty,
            max_iter=MAX_FINAL_ITER,
        )


FIRST = Choice(1)
EVERY_PARENT = np.iinfo(np.int64).max  # of a structure that is given


def choose_network(
    plan: FitPlan, rows: TrainingRows, encoder: FrameEncoder, folds: FoldAssignment | None
) -> tuple[FitPlan, Callable[[BayesNet], LogPool] | None]:
    """Choose structure and parameters by held-out rows, where they are to be chosen.

    Parameters
    ----------
    plan : FitPlan
        The settings of the fit.
    rows : TrainingRows
        The rows of the fit.
    encoder : FrameEncoder
        The encoder of all rows.
    folds : FoldAssignment or None
        The rows that each fold holds out; None if there are too few.

    Returns
    -------
    plan : FitPlan
        The plan with the learners that were chosen.
    pool : callable or None
        Makes the log pool of the generative network of all rows.
    """
    if folds is None:  # rows that cannot be held out cannot tell more than their counts do
        structure = NaiveBayes() if plan.chooses_structure else plan.structure
        return replace(plan, structure=structure, parameters=HierarchicalSmoothing()), None
    with ExitStack() as opened:
        comparison = ChoiceComparison(list(open_folds(plan, rows, encoder, folds, opened)))
        of_missing = {}
        if plan.chooses_missing and any(part.share_missing for part in comparison.parts):
            plans = {"available": plan, "value": plan.with_missing("value")}
            as_value = ChoiceComparison(
                list(open_folds(plans["value"], rows, encoder, folds, opened))
            )
            compared = {"available": comparison, "value": as_value}
            first = FIRST if plan.chooses_structure else Choice(EVERY_PARENT)
            of_missing = {name: one.mean_loss(first) for name, one in compared.items()}
            missing = min(of_missing, key=of_missing.__getitem__)
            plan, comparison = plans[missing], compared[missing]
        chosen = comparison.choose(plan.chooses_structure)
        plan.context.record(
            chosen=str(chosen),
            missing=plan.encoder.missing,
            log_loss=comparison.mean_loss(chosen),
            compared={f"missing={name!r}": loss for name, loss in of_missing.items()}
            | comparison.means,
        )
        pools = plan.calibration is not None and plan.calibration.method == "pool"
        pool = _learn_pool(plan, encoder, folds, comparison, chosen) if pools else None
    loss, start = comparison.mean_loss(chosen), comparison.parts[0].fitted(chosen)
    plan = _with_choice(plan, chosen)
    plan.parameters.begin_with = start
    plan.parameters.tol = float(np.clip(FINAL_SHARE * loss, *FINAL_TOLERANCE))
    return plan, pool


def _learn_pool(
    plan: FitPlan,
    encoder: FrameEncoder,
    folds: FoldAssignment,
    comparison: ChoiceComparison,
    chosen: Choice,
) -> Callable[[BayesNet], LogPool]:
    """Learn the numbers of the log pool from held-out rows; its generative network comes later."""
    parts, probabilities = comparison.parts, np.exp(-comparison.losses(chosen))
    # a user who asks for missing="value" means it in every row
    unusual = UNUSUAL if plan.chooses_missing and plan.encoder.missing == "value" else 0.0
    n_rows = folds.rows.size
    hidden = [
        predict_hidden(*part.networks(chosen), part.codes, part.weight, n_rows, unusual)
        for part in parts
    ]
    weight, shares = calibration_weights(plan, folds, encoder.classes_)
    usual = float(np.mean([part.share_missing for part in parts]))
    starts = starts_of([part.classes.size for part in parts])
    places = np.concatenate([starts[k] + found.rows for k, found in enumerate(hidden)])
    scale, exponent = learn_pool_weights(
        PredictedRows(*(np.concatenate(found) for found in zip(*hidden, strict=True))),
        folds.classes[places],
        weight[places] / draws_of(n_rows),
        shares,
        usual,
    )
    return partial(
        LogPool,
        shares,
        scale=scale,
        doubt=learn_doubt(probabilities, shares[folds.classes], weight),
        usual_missing=usual,
        unusual=unusual,
        exponent=exponent,
    )


class ChoiceComparison:
    """Choices that are compared on the held-out rows of some folds.

    Parameters
    ----------
    parts : list of HeldOutFold
        The folds.
    """

    def __init__(self, parts: list[HeldOutFold]):
        self.parts = parts
        self._losses: dict[Choice, list[np.ndarray]] = {}

    def choose(self, chooses_structure: bool) -> Choice:
        """Return the best choice: of the number of parents, and of free parameters."""
        if not chooses_structure:
            return self._with_penalty(Choice(EVERY_PARENT))
        first = self._with_weight_penalty(FIRST)
        best = self._with_more_parents(first)
        if best == first:
            none = replace(first, max_parents=0)
            if self._gain(none, first)[0] > 0:
                best = none
        best = self._with_penalty(best)
        # free parameters may make something of parents that are no use without them
        more = self._with_more_parents(best)
        return best if more == best else self._with_penalty(more)

    def _with_more_parents(self, best: Choice) -> Choice:
        """Return the best of choices with more and more parents, as long as they help."""
        # where no feature has more parents, another number of them is the same network
        most = min(MAX_PARENTS, max(part.most_parents for part in self.parts))
        while best.max_parents < most:
            other = replace(best, max_parents=best.max_parents + 1)
            if max(part.n_cells(other) for part in self.parts) > MAX_CELLS:
                break
            if not self._helps(other, best):
                break
            best = other
        return best

    def _with_weight_penalty(self, best: Choice) -> Choice:
        """Return the best of choices with larger penalties of weights, or with smaller ones."""
        first = best
        for penalties in WEIGHT_PENALTIES:
            for penalty in penalties:
                other = replace(best, weight_penalty=penalty)
                if not self._helps(other, best):
                    break
                best = other
            if best != first:
                break
        return best

    def _with_penalty(self, best: Choice) -> Choice:
        """Return the best of choices with smaller and smaller penalties, as long as they help."""
        for penalty in PENALTIES:
            if best.cell_penalty is not None and penalty >= best.cell_penalty:
                continue
            other = replace(best, cell_penalty=penalty)
            if not self._helps(other, best):
                break
            best = other
        return best

    def losses(self, choice: Choice) -> np.ndarray:
        """Return the losses of the held-out rows of all folds."""
        return np.concatenate([self._of_fold(choice, fold) for fold in range(len(self.parts))])

    def mean_loss(self, choice: Choice) -> float:
        """Return the mean loss of the held-out rows of all folds."""
        weight = np.concatenate([part.weight for part in self.parts])
        return float(weight @ self.losses(choice) / weight.sum())

    @property
    def means(self) -> dict[str, float]:
        """The mean losses of the choices that were tried on all folds."""
        tried = [c for c, found in self._losses.items() if len(found) == len(self.parts)]
        return {str(choice): self.mean_loss(choice) for choice in tried}

    def _of_fold(self, choice: Choice, fold: int, near: Choice | None = None) -> np.ndarray:
        found = self._losses.setdefault(choice, [])
        while len(found) <= fold:
            found.append(self.parts[len(found)].losses(choice, near))
        return found[fold]

    def _helps(self, other: Choice, best: Choice) -> bool:
        """Return whether a choice has a smaller loss, one of more parameters beyond chance."""
        gain, error = self._gain(other, best)
        more_parents = other.max_parents > best.max_parents
        return gain > (MIN_PARENT_GAIN if more_parents else MIN_GAIN) * error

    def _gain(self, other: Choice, best: Choice) -> tuple[float, float]:
        """Return by how much a choice lowers the loss over all folds, and the standard error.

        If it is clear after some folds which choice is better, they are not compared on the others.
        """
        gains = np.zeros(0)
        for fold, part in enumerate(self.parts):
            gain = self._of_fold(best, fold) - self._of_fold(other, fold, best)
            gains = np.concatenate([gains, part.weight * gain])
            error = float(np.sqrt(gains.size) * gains.std())
            if error > 0 and not -CLEAR_LOSS * error <= gains.sum() <= CLEAR_GAIN * error:
                break
        return float(gains.sum()), error


def _with_choice(plan: FitPlan, choice: Choice) -> FitPlan:
    structure = plan.structure
    if isinstance(structure, KDB) and plan.chooses_structure:
        structure = KDB(choice.max_parents, score="loo", selective=True)
        if not choice.max_parents:
            structure = NaiveBayes()
    return replace(plan, structure=structure, parameters=choice.parameters)


@dataclass
class HeldOutFold:
    """The rows of one fold, and networks that are learned without those that it holds out."""

    plan: FitPlan
    data: Rows
    counts: Counts
    structure: Structure
    codes: np.ndarray
    classes: np.ndarray
    weight: np.ndarray
    context: Context
    _kept: dict[int, PreparedLevels] = field(default_factory=dict)
    _points: dict[Choice, np.ndarray] = field(default_factory=dict)
    _cells: dict[int, tuple[Configurations, np.ndarray]] = field(default_factory=dict)

    @property
    def most_parents(self) -> int:
        """The largest number of parents that a feature has."""
        return max(map(len, self.structure.parents), default=0)

    def n_cells(self, choice: Choice) -> int:
        """Return the number of cells of all tables."""
        shapes = Layout.of(choice.of_structure(self.structure), self.data).shapes
        return sum(map(math.prod, shapes))

    def losses(self, choice: Choice, near: Choice | None = None) -> np.ndarray:
        """Return the log loss of each held-out row.

        The fit begins with the parameters of a choice that was fitted before, if there is one.
        """
        prepared = self._prepared(choice.max_parents)
        start, max_iter = None, MAX_ITER
        if near is not None and near in self._points:
            start = self.fitted(near)
            max_iter = CELL_ITER
            if near.max_parents != choice.max_parents:
                max_iter = PARENT_ITER
            elif near.weight_penalty != choice.weight_penalty:
                max_iter = WEIGHT_ITER
        quick = choice.parameters.set_params(max_iter=max_iter, tol=TOLERANCE)
        weights, outcome = quick.maximize(prepared, self.context, start)
        self._points[choice] = outcome.point
        if self._reads_cells:
            return self._losses_at(weights, choice.max_parents, outcome.point)
        return self.losses_of(self.network(quick, weights.tables(outcome.point)))

    def fitted(self, choice: Choice) -> FittedWeights | None:
        """Return the fit of a choice, if there is one."""
        if choice not in self._points:
            return None
        return FittedWeights(self._prepared(choice.max_parents).levels, self._points[choice])

    @property
    def _reads_cells(self) -> bool:
        """Whether cells of the held-out rows are all that is needed of a network."""
        complete = (self.codes < self.data.cards[:, None]).all()
        return bool(complete) and self.plan.class_prior is None

    def _losses_at(self, weights: LevelWeights, max_parents: int, point: np.ndarray) -> np.ndarray:
        """Return the log loss of each held-out row, from the cells that it reads."""
        if max_parents not in self._cells:
            layout = weights.levels.layout
            used = np.zeros(layout.size // layout.n_classes, bool)
            cells = cells_of(layout, self.codes)
            used[cells] = True
            some = Configurations.some_of(layout, used)
            self._cells[max_parents] = some, some.position[cells]
        some, cells = self._cells[max_parents]
        prior, values = weights.at(some).numbers(point)
        table = values[: some.size].reshape(-1, prior.size)
        log_joint = np.broadcast_to(prior, (self.classes.size, prior.size)).copy()
        for of_feature in cells:
            log_joint += table[of_feature]
        return self._losses(log_joint)

    def losses_of(self, network: BayesNet) -> np.ndarray:
        """Return the log loss of each held-out row under a network."""
        return self._losses(network.log_joint_of(self.codes))

    def _losses(self, log_joint: np.ndarray) -> np.ndarray:
        own = log_joint[np.arange(self.classes.size), self.classes]
        return np.minimum(log_marginal(log_joint) - own, MAX_LOSS)

    @property
    def share_missing(self) -> float:
        """The share of missing values in the rows to learn from."""
        return share_missing(self.data, self.counts)

    def networks(self, choice: Choice) -> tuple[BayesNet, BayesNet]:
        """Return the network of a choice that was compared, and its generative estimates."""
        levels, smoothing = self._prepared(choice.max_parents).levels, HierarchicalSmoothing()
        weights = LevelWeights(levels, choice.cell_penalty is not None, self.context.n_jobs)
        structure = choice.of_structure(self.structure)
        generative = smoothing.learn(self.data, self.counts, structure, self.context)
        return (
            self.network(choice.parameters, weights.tables(self._points[choice])),
            self.network(smoothing, generative),
        )

    def _prepared(self, max_parents: int) -> PreparedLevels:
        """Return the levels of a number of parents, and the rows for fits of their weights."""
        if max_parents not in self._kept:
            structure = Choice(max_parents).of_structure(self.structure)
            self._kept[max_parents] = LevelWeightedCCBN().prepare(
                self.data, self.counts, structure, self.context.n_jobs
            )
        return self._kept[max_parents]

    def network(self, parameters: Any, tables: CPTs) -> BayesNet:
        """Return the network of tables that were learned without the held-out rows."""
        plan = replace(self.plan, parameters=parameters)
        return make_network(plan, self.data.domain, tables, self.counts.class_count)


def open_folds(
    plan: FitPlan,
    rows: TrainingRows,
    encoder: FrameEncoder,
    folds: FoldAssignment,
    opened: ExitStack,
) -> Iterator[HeldOutFold]:
    """Iterate over the folds that hold out rows; what they need stays open."""
    assert plan.calibration is not None
    omitted = rows_beyond(rows.keys(), encoder.domain_.n_classes, MAX_CHOICE_ROWS)
    for fold, rng in enumerate(plan.context.rng.spawn(plan.calibration.n_folds)):
        held_out, weight = folds.fold(fold)
        if not held_out.size:
            continue
        plan.context.progress.stage(f"choosing: fold {fold + 1} of {plan.calibration.n_folds}")
        context = plan.context.of_fold(rng)
        fold_encoder = plan.new_encoder(encoder.domain_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit on all rows warns
            data, codes_of = opened.enter_context(
                rows.encode_without(held_out, weight, fold_encoder, context.progress, omitted)
            )
            data, counts = weigh_and_count(plan, data, fold_encoder.classes_)
            structure = learn_structure(plan, data, counts, context)
            codes = codes_of()
        classes = folds.classes[np.searchsorted(folds.folds, fold) :][: held_out.size]
        yield HeldOutFold(plan, data, counts, structure, codes, classes, weight, context)

"""Choose the network of a fit by held-out rows: how many parents, and which free parameters.

The folds are those of calibration. In each of them the columns are discretized and the parents of
each feature are found once, in the order in which they help: a network of fewer parents takes the
first ones. Choices are compared by the log loss of the held-out rows, whose predictions by the
generative estimates of the best one also determine the scale of a log pool with these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.calibration import LogPool, learn_doubt, learn_scale
from discbayes.classifier.calibrating import calibration_weights
from discbayes.classifier.fitting import (
    FitPlan,
    learn_structure,
    make_network,
    weigh_and_count,
)
from discbayes.classifier.training_rows import TrainingRows
from discbayes.counts import Counts
from discbayes.data import FrameEncoder
from discbayes.data.folds import FoldAssignment
from discbayes.data.rows import Rows
from discbayes.engine import Context, Interrupts, Progress
from discbayes.inference import log_marginal
from discbayes.network import Structure
from discbayes.parameters import HierarchicalSmoothing, LevelWeightedCCBN
from discbayes.search import KDB

MAX_LOSS = 20.0  # nats: one row must not decide
MAX_ITER = 40  # of the fits that are compared: their order is clear by then


@dataclass(frozen=True)
class Choice:
    """What is chosen: the largest number of parents, and the penalty of free parameters."""

    max_parents: int
    cell_penalty: float | None = None

    def of_structure(self, structure: Structure) -> Structure:
        """Return a structure with no more than the first parents of each feature."""
        parents = tuple(group[: self.max_parents] for group in structure.parents)
        return Structure(parents, structure.class_children)

    @property
    def parameters(self) -> LevelWeightedCCBN:
        """The parameter learner."""
        return LevelWeightedCCBN(cell_penalty=self.cell_penalty)


CHOICES = (Choice(1), Choice(1, 10.0), Choice(2, 10.0), Choice(2, 1.0))


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
    if folds is None:
        return _with_choice(plan, Choice(1)), None
    with ExitStack() as opened:
        parts = list(_open_folds(plan, rows, encoder, folds, opened))
        chosen, losses = _best(_candidates(plan), parts)
        pools = plan.calibration is not None and plan.calibration.method == "pool"
        predicted = [part.generative_log_joint(chosen) for part in parts] if pools else []
    plan = _with_choice(plan, chosen)
    if not pools:
        return plan, None
    factors, shares = calibration_weights(plan, folds, encoder.classes_)
    weight = factors[folds.classes] * folds.weight
    scale = learn_scale(np.concatenate(predicted), folds.classes, weight, shares)
    doubt = learn_doubt(np.exp(-losses), shares[folds.classes], weight)
    usual = np.mean([part.share_missing for part in parts])
    return plan, lambda generative: LogPool(shares, generative, scale, doubt, float(usual))


def _best(choices: list[Choice], parts: list[_Fold]) -> tuple[Choice, np.ndarray]:
    """Return the choice of the smallest loss over all folds, and the losses of all rows.

    A choice that is clearly worse than the best one is not tried on further folds.
    """
    losses: dict[Choice, list[np.ndarray]] = {choice: [] for choice in choices}
    for part in parts:
        for choice, found in losses.items():
            found.append(part.losses(choice))
        weight = np.concatenate([each.weight for each in parts[: len(found)]])
        totals = {choice: weight @ np.concatenate(found) for choice, found in losses.items()}
        best = min(totals, key=totals.__getitem__)
        of_best = np.concatenate(losses[best])
        losses = {
            choice: found
            for choice, found in losses.items()
            if not _is_clearly_larger(weight * (np.concatenate(found) - of_best))
        }
    return best, of_best


def _is_clearly_larger(differences: np.ndarray) -> bool:
    """Return whether the sum of differences is above zero by more than two standard errors."""
    return bool(differences.sum() > 2.0 * np.sqrt(differences.size) * differences.std() > 0)


def _with_choice(plan: FitPlan, choice: Choice) -> FitPlan:
    structure = plan.structure
    if isinstance(structure, KDB) and plan.chooses_structure:
        structure = KDB(choice.max_parents, score="loo", selective=True)
    return replace(plan, structure=structure, parameters=choice.parameters)


def _candidates(plan: FitPlan) -> list[Choice]:
    """Return what is compared; a structure that is given keeps its parents."""
    if plan.chooses_structure:
        return list(CHOICES)
    every = np.iinfo(np.int64).max
    return list(dict.fromkeys(replace(choice, max_parents=every) for choice in CHOICES))


@dataclass
class _Fold:
    """The rows of one fold, and networks that are learned without those that it holds out."""

    plan: FitPlan
    data: Rows
    counts: Counts
    structure: Structure
    codes: np.ndarray
    classes: np.ndarray
    weight: np.ndarray
    context: Context

    def losses(self, choice: Choice) -> np.ndarray:
        """Return the log loss of each held-out row."""
        quick = choice.parameters.set_params(max_iter=MAX_ITER)
        network = self._network(quick, choice)
        log_joint = network.log_joint_of(self.codes)
        own = log_joint[np.arange(self.classes.size), self.classes]
        return np.minimum(log_marginal(log_joint) - own, MAX_LOSS)

    @property
    def share_missing(self) -> float:
        """The share of missing values in the rows to learn from."""
        used = self.data.cards > 1
        n_cells = max(1, self.data.n_samples * int(used.sum()))
        return float(self.data.n_missing[used].sum() / n_cells)

    def _network(self, parameters: Any, choice: Choice) -> BayesNet:
        structure = choice.of_structure(self.structure)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit on all rows warns
            tables = parameters.learn(self.data, self.counts, structure, self.context)
        plan = replace(self.plan, parameters=parameters)
        return make_network(plan, self.data.domain, tables, self.counts.class_count)

    def generative_log_joint(self, choice: Choice) -> np.ndarray:
        """Return the log-joint of the held-out rows under the generative estimates."""
        return self._network(HierarchicalSmoothing(), choice).log_joint_of(self.codes)


def _open_folds(
    plan: FitPlan,
    rows: TrainingRows,
    encoder: FrameEncoder,
    folds: FoldAssignment,
    opened: ExitStack,
) -> Iterator[_Fold]:
    """Iterate over the folds that hold out rows; what they need stays open."""
    assert plan.calibration is not None
    for fold, rng in enumerate(plan.context.rng.spawn(plan.calibration.n_folds)):
        held_out, weight = folds.fold(fold)
        if not held_out.size:
            continue
        plan.context.progress.stage(f"choosing: fold {fold + 1} of {plan.calibration.n_folds}")
        # an interrupt ends the whole fit, since a part of the folds is not a result
        context = Context(
            rng,
            plan.context.n_jobs,
            Progress(plan.context.progress.verbose - 1),
            interrupts=Interrupts(0),
        )
        fold_encoder = plan.new_encoder(encoder.domain_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit on all rows warns
            data, codes_of = opened.enter_context(
                rows.encode_without(held_out, weight, fold_encoder, context.progress)
            )
            data, counts = weigh_and_count(plan, data, fold_encoder.classes_)
            structure = learn_structure(plan, data, counts, context)
        classes = folds.classes[np.searchsorted(folds.folds, fold) :][: held_out.size]
        yield _Fold(plan, data, counts, structure, codes_of(), classes, weight, context)

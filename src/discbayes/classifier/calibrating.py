"""How a classifier is calibrated: by what networks say of rows that they were not learned from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.calibrated_posterior import log_prior_of
from discbayes.calibration import (
    AUTO,
    CALIBRATIONS,
    ENOUGH_ROWS,
    Calibration,
    check_alone,
    check_calibration,
    possible_rows,
)
from discbayes.data import Domain, Encoded, FrameEncoder
from discbayes.data.folds import (
    MAX_KEYS,
    FoldAssignment,
    KeyedBatches,
    assign_folds,
    in_batches,
)
from discbayes.data.row_keys import table_keys
from discbayes.data.table import Table
from discbayes.engine import Context, Interrupts, Progress
from discbayes.parameters import HYBRID

# What a network that is learned without so much of some rows says of them: say(rows, weight,
# context).
Say = Callable[[np.ndarray, np.ndarray, Context], np.ndarray]
Calibrate = Callable[[Context], Calibration | None]


class Calibrating:
    """The methods of the classifier that learn its calibration."""

    parameters: Any
    class_weight: Any
    class_prior: Sequence[float] | None
    calibrate: str | None
    calibrate_folds: int
    n_jobs: int | None
    verbose: int
    _learn: Callable[[Any, np.ndarray, Context], BayesNet]
    _make_encoder: Callable[[Any], FrameEncoder]
    _class_weights: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def _calibration_name(self) -> str | None:
        """How probabilities are calibrated; the default is a matter of the parameters."""
        check_calibration(self.calibrate, self.calibrate_folds)
        if self.calibrate != AUTO:
            return self.calibrate
        return "temperature" if self.parameters == HYBRID else None

    def _calibration_of_table(
        self, name: str | None, table: Table, encoder: FrameEncoder, data: Encoded
    ) -> Calibrate:
        """Deal out the rows of a table; what calibrates by them, once the network of all rows was
        learned.
        """
        if name is None or data.n_classes == 1:
            return not_at_all
        rows = table if encoder.kept_rows_ is None else table.take(encoder.kept_rows_)
        keys = table_keys(rows, data.classes, data.weight)
        portions = partial(in_batches, keys, data.classes, data.weight)
        say = partial(self._said_of_table, rows, encoder.classes_, data)
        return self._calibration_of(name, portions, data.domain, encoder.classes_, say)

    def _calibration_of(
        self,
        name: str,
        portions: KeyedBatches,
        domain: Domain,
        classes: np.ndarray,
        say: Say,
        room: int = MAX_KEYS,
    ) -> Calibrate:
        """The same for rows that come in portions, of which there are several classes."""
        dealt = assign_folds(
            portions, domain.n_classes, self.calibrate_folds, ENOUGH_ROWS.get(name, np.inf), room
        )
        if self.calibrate != AUTO:
            check_alone(name, dealt.alone, list(domain.target.values))
        return (
            partial(self._learn_calibration, name, dealt, classes, say)
            if dealt.rows.size
            else not_at_all
        )

    def _learn_calibration(
        self, name: str, dealt: FoldAssignment, classes: np.ndarray, say: Say, context: Context
    ) -> Calibration:
        """The map to calibrated probabilities."""
        said = []
        for fold, rng in enumerate(context.rng.spawn(self.calibrate_folds)):
            rows, weight = dealt.fold(fold)
            if rows.size:
                context.progress.stage(f"calibration: fold {fold + 1} of {self.calibrate_folds}")
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # the fit on all rows has said it
                    own = self._context_of_fold(rng, context)
                    said.append(say(rows, weight, own))
        factors, shares = self._calibration_weights(dealt, classes)
        weight = factors[dealt.classes] * dealt.weight
        return CALIBRATIONS[name](np.concatenate(said), dealt.classes, weight, shares)

    def _said_of_table(
        self,
        table: Table,
        classes: np.ndarray,
        data: Encoded,
        rows: np.ndarray,
        held_out: np.ndarray,
        context: Context,
    ) -> np.ndarray:
        """What a network that is learned without so much of some rows of a table says of them."""
        weight = np.ones(data.n_samples) if data.weight is None else data.weight.copy()
        weight[rows] -= held_out
        rest = weight > 0
        encoder = self._encoder_of_fold(data.domain)
        counted = None if (weight[rest] == 1).all() else weight[rest]
        seen = encoder.fit_selected(table.take(rest), classes[data.classes[rest]], counted)
        network = self._learn(seen, encoder.classes_, context)
        return held_out_log_joint(network, encoder.transform(table.take(rows), "marginalize"))

    def _context_of_fold(self, rng: np.random.Generator, context: Context) -> Context:
        """What the network of a fold is learned with; an interrupt ends the whole run, as a part of
        it is no result.
        """
        progress = Progress(self.verbose - 1)
        return Context(rng, self.n_jobs, progress, engine=context.engine, interrupts=Interrupts(0))

    def _encoder_of_fold(self, domain: Domain) -> FrameEncoder:
        """An encoder that takes nothing from all rows but the kinds of the columns."""
        return self._make_encoder([variable.kind == "categorical" for variable in domain.features])

    def _calibration_weights(
        self, dealt: FoldAssignment, classes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What a row of each class counts in calibration, and the shares of the classes that
        follow.

        The classes have the shares that the network takes for their prior.
        """
        factors = np.ones(classes.size)
        if self.class_weight is not None:
            factors = self._class_weights(classes, dealt.class_rows)
        total = dealt.class_weight * factors
        shares = total / total.sum()
        if self.class_prior is None:
            return factors, shares
        prior = np.exp(log_prior_of(self.class_prior, classes.size))
        if not (prior * shares).any():
            raise ValueError(
                "calibrate has no rows: the classes that class_prior allows have no weight in"
                " class_weight"
            )
        factors = factors * np.divide(prior, shares, out=np.zeros_like(prior), where=shares > 0)
        total = dealt.class_weight * factors
        return factors, total / total.sum()


def held_out_log_joint(network: BayesNet, codes: np.ndarray) -> np.ndarray:
    """The log-joint of rows; where they are impossible, that of the prior."""
    return possible_rows(network.log_joint_of(codes), network.prior)


def not_at_all(context: Context) -> None:
    """No calibration."""

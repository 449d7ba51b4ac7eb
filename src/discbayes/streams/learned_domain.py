"""The first pass: what rows say of the domain, gathered in their order or in parts, and what is
learned from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discbayes._text import listed
from discbayes.data.discretize import CutPointDiscretizer
from discbayes.data.domain import Domain, Variable
from discbayes.data.frame_encoder import EVERY_ROW, FrameEncoder, refuse_missing
from discbayes.data.histogram import ClassLabels
from discbayes.data.targets import refuse_zero_weights, target_variable, warn_of_light_weights
from discbayes.data.variables import Declared
from discbayes.streams.batch_rows import BatchRows, Classes, WeightTotals, located
from discbayes.streams.column_summaries import CutColumn, Summary
from discbayes.streams.rereading import RowReader


@dataclass(frozen=True)
class LearnedDomain:
    """What the first pass learned, and what the second has to know of it."""

    features: list[Variable]
    target: Variable
    classes: np.ndarray
    seen: Classes
    class_codes: np.ndarray
    gaps: np.ndarray
    rank_error: np.ndarray
    n_rows: int
    weighted: bool

    def adopted_by(self, encoder: FrameEncoder) -> FrameEncoder:
        """The encoder, which knows from now on what was learned."""
        if isinstance(encoder.domains, Domain):
            encoder.use_domain(encoder.domains, self.classes)
        else:
            encoder.adopt(self.features, self.gaps, self.target, self.classes)
        return encoder

    def known_missing(self, domain: Domain) -> np.ndarray:
        """The missing cells that the codes of all rows have, as gaps may be a value of their
        own.
        """
        return np.array(
            [
                0 if v.missing_value else gap
                for v, gap in zip(domain.features, self.gaps, strict=True)
            ]
        )


@dataclass
class ColumnStatistics:
    """What is known of rows, or of the rows of a part.

    ``dropped`` are the gaps in rows that were left out for them, ``where`` is where the first rows
    were.
    """

    summary: Summary
    dropped: np.ndarray
    classes: Classes = field(default_factory=Classes)
    weights: WeightTotals = field(default_factory=WeightTotals)
    target_name: Any = None
    where: str = ""

    def take_in(self, later: ColumnStatistics) -> ColumnStatistics:
        """Add what is known of rows that come after these ones."""
        with located(later.where):
            numbers = self.classes.take_in(later.classes)
        self.summary.take_in(later.summary, numbers)
        self.weights.take_in(later.weights)
        self.dropped = self.dropped + later.dropped
        return self

    def learned(self, encoder: FrameEncoder) -> LearnedDomain:
        """What follows from all rows."""
        self._check_rows()
        if isinstance(encoder.domains, Domain):
            return self._given(encoder.domains, encoder)
        classes, class_codes = self.classes.settled()
        summary = self.summary
        features = summary.variables(classes.size, class_codes)
        errors = [
            c.distribution.rank_share if isinstance(c, CutColumn) else 0.0 for c in summary.columns
        ]
        target = target_variable(self.target_name, classes, summary.names)
        return LearnedDomain(
            features, target, classes, self.classes, class_codes, summary.gaps, np.array(errors), summary.n_rows,
            self.weights.needed,
        )  # fmt: skip

    def _check_rows(self) -> None:
        weights = self.weights
        if not weights.n_positive:
            refuse_zero_weights()
        if weights.needed:
            warn_of_light_weights(weights.total, weights.n_positive)
        if not self.summary.n_rows:
            refuse_missing(self.summary.names, self.dropped, EVERY_ROW)

    def _given(self, domain: Domain, encoder: FrameEncoder) -> LearnedDomain:
        """What is known where the domain is given: how its classes are numbered here, and which
        rows there are.
        """
        labels, numbers = self.classes.settled()
        known = FrameEncoder.from_domain(domain, encoder.unknown, encoder.n_jobs)
        class_codes = known.transform_y(labels)[numbers]
        classes = known.classes_.astype(object) if labels.dtype.kind == "O" else known.classes_
        return LearnedDomain(
            list(domain.features), domain.target, classes, self.classes, class_codes, self.summary.gaps,
            np.zeros(len(domain.features)), self.summary.n_rows, self.weights.needed,
        )  # fmt: skip


def gather(
    reader: RowReader,
    encoder: FrameEncoder,
    discretizer: CutPointDiscretizer | None,
    note: Callable[[BatchRows], None] = lambda rows: None,
    n_numeric: int | None = None,
) -> ColumnStatistics:
    """What is known of the rows of a reader, each of which is noted.

    ``n_numeric`` is the number of numeric columns, which share the memory for their values, if the
    first rows are not the ones to tell it.
    """
    classes, weights = Classes(), WeightTotals()
    gathered: ColumnStatistics | None = None
    for rows in reader.rows(classes, weights, encoder.missing):
        if gathered is None:
            names = rows.table.names
            summary = Summary(
                names,
                _declared(encoder, names),
                discretizer,
                reader.limits,
                encoder.n_jobs,
                n_numeric,
            )
            gathered = ColumnStatistics(
                summary, np.zeros(len(names), dtype=np.int64), classes, weights, where=rows.where
            )
        weight = np.ones(rows.y.size) if rows.weight is None else rows.weight
        with located(rows.where):
            gathered.summary.add(rows.table, ClassLabels(rows.y, weight, len(classes)), rows.where)
        if rows.ends_block:
            gathered.summary.close_block()
        if rows.dropped_missing is not None:
            gathered.dropped += rows.dropped_missing
        note(rows)
    assert gathered is not None  # a source without rows was refused
    gathered.target_name = reader.target_name
    return gathered


def _declared(encoder: FrameEncoder, names: list[str]) -> Declared:
    """What is known of the columns; where a whole domain is given, nothing is left to learn."""
    if not isinstance(encoder.domains, Domain):
        return encoder.declared(names)
    if names != encoder.domains.names:
        odd = sorted(set(names) ^ set(encoder.domains.names)) or names
        raise ValueError(
            f"the columns differ from those of the domain, or stand in another order: {listed(odd)}"
        )
    return Declared(
        frozenset(), {at: variable.values for at, variable in enumerate(encoder.domains.features)}
    )

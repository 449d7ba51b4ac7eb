"""Discriminative frequency estimates (Su, Zhang, Ling and Matwin 2008; section 6 of Z17).

Rows are counted as for relative frequencies, but each by its loss 1 − P(y | x) under the tables so
far: a row that is classified well adds next to nothing, one that is not adds up to its weight. The
tables are relative frequencies of these pseudo-counts, smoothed and normalised like any others.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.counts import Counts, FamilyCounts
from discbayes.counts.contingency import kernel_classes, kernel_weight
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import RowBlocks, all_rows, in_blocks
from discbayes.engine import Context
from discbayes.kernels.frequency_passes import Pseudocounts, frequency_pass
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters.generative import MaximumAPosteriori

STRENGTHS = (1e-100, 1e100)  # with room to the ends of a double for a table of any size
BITS = 1000.0  # of the exponent of a product: a double has 1022


class DFE(BaseEstimator):
    """Frequencies in which each row counts by 1 − P(y | x), in passes over the rows.

    The tables depend on the order of the rows: those of the estimator are met in the order in which
    they are given. So weights are not repetitions here. A row of weight 2 adds twice its loss at
    once, while the second of two rows meets tables that know the first, and adds less. A weight of
    0 is the same as the row left out.

    Data that do not fit in memory are gone through block after block. That is no work for several
    threads or machines, as each row meets what the ones before it have left; ``shuffle`` needs all
    rows in memory.

    A family with a gap in it is left out of the row, in P(y | x) as in the counts. For the counts
    that is the usual count of available cases. For P(y | x) it is exact where a gap has no observed
    children; elsewhere the children of a gap have no say in it, as summing out would cost each row
    an inference, for a loss that is a weight only.

    Parameters
    ----------
    passes : int, default=4
        How often the rows are gone through.
    prior : {"dirichlet", "ess", "m"}, default="dirichlet"
        How virtual observations are spread, as in ``MaximumAPosteriori``: the first rows meet
        nothing else.
    strength : float, default=1.0
        How many there are. Pseudo-counts are much smaller than counts, so the same strength smooths
        more.
    shuffle : bool, default=False
        Whether each pass has an order of its own, drawn at random.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> clf = BayesNetClassifier("nb", DFE(passes=8)).fit(wine.X, wine.y)
    >>> round(float(clf.score(wine.X, wine.y)), 2)
    1.0
    """

    supports_blocks = True

    def __init__(
        self,
        passes: int = 4,
        prior: str = "dirichlet",
        strength: float = 1.0,
        shuffle: bool = False,
    ):
        self.passes = passes
        self.prior = prior
        self.strength = strength
        self.shuffle = shuffle

    def learn(
        self, data: Encoded | RowBlocks, counts: Counts, structure: Structure, context: Context
    ) -> CPTs:
        """Start with virtual observations alone, and go through the rows."""
        self._check()
        layout = Layout(structure, data.cards, data.n_classes)
        smoothing = MaximumAPosteriori(self.prior, self.strength)
        virtual = FamilyCounts(
            layout,
            np.repeat(
                smoothing.virtual_counts(Layout.of_class(layout.n_classes)), layout.n_classes
            ),
            np.repeat(smoothing.virtual_counts(layout), np.diff(layout.offsets)),
        )
        smoothed = FamilyCounts(layout, virtual.class_count.copy(), virtual.cells.copy())
        self._go_through(data, smoothed, float(counts.class_count.sum()), context)
        return smoothing.tables(
            FamilyCounts(
                layout, smoothed.class_count - virtual.class_count, smoothed.cells - virtual.cells
            )
        )

    def _go_through(
        self, data: Encoded | RowBlocks, smoothed: FamilyCounts, weight: float, context: Context
    ) -> None:
        """Add the loss of each row to the counts, pass after pass."""
        layout = smoothed.layout
        depends = np.array(layout.structure.class_children, bool)
        totals = layout.row_totals(smoothed.cells)
        at_once = self._factors_at_once(smoothed, totals, weight)
        rows = all_rows(data, "DFE(shuffle=True)") if self.shuffle else in_blocks(data)
        for k in range(self.passes):
            seen = 0.0
            for portion in rows if isinstance(rows, RowBlocks) else [rows]:
                order = np.arange(portion.n_samples)
                seen += frequency_pass(
                    np.ascontiguousarray(portion.codes.T),
                    context.rng.permutation(order) if self.shuffle else order,
                    kernel_classes(portion), kernel_weight(portion), np.flatnonzero(depends),
                    np.flatnonzero(~depends), layout.arrays(), at_once,
                    Pseudocounts(smoothed.class_count, smoothed.cells, totals),
                )  # fmt: skip
            context.record(most=self.passes, iteration=k + 1, score=float(seen))

    def _factors_at_once(self, smoothed: FamilyCounts, totals: np.ndarray, weight: float) -> int:
        """How many counts, totals or shares can be multiplied, whatever the passes make of them."""
        largest = totals.max(initial=1.0) + self.passes * weight
        bits = np.log2(largest) - np.log2(smoothed.cells.min(initial=1.0))
        return max(1, int(BITS // max(1.0, bits)))

    def _check(self) -> None:
        """Refuse settings that make no sense."""
        if (
            not isinstance(self.passes, (int, np.integer))
            or isinstance(self.passes, bool)
            or self.passes < 1
        ):
            raise ValueError(f"passes={self.passes!r} must be a whole number that is at least 1")
        MaximumAPosteriori(self.prior, self.strength)._check()
        least, most = STRENGTHS
        if not least <= self.strength <= most:
            raise ValueError(
                f"strength={self.strength!r} must be between {least} and {most}: the passes start"
                " with nothing else"
            )
        if not isinstance(self.shuffle, (bool, np.bool_)):
            raise ValueError(f"shuffle={self.shuffle!r} must be True or False")

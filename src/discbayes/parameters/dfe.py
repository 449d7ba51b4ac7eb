"""Discriminative frequency estimates (Su, Zhang, Ling and Matwin 2008; section 6 of Z17).

Rows are counted as for relative frequencies, but each with its loss 1 − P(y | x) under the current
tables: a row that is classified well adds almost nothing, one that is not adds up to its weight.
The tables are relative frequencies of these pseudo-counts, smoothed and normalized like others.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from discbayes._settings import require_integer
from discbayes.counts import Counts, FamilyCounts
from discbayes.counts.contingency import kernel_classes, kernel_weight
from discbayes.data.row_blocks import in_blocks
from discbayes.data.rows import Rows
from discbayes.engine import Context
from discbayes.kernels.frequency_passes import Pseudocounts, frequency_pass
from discbayes.kernels.network_arrays import LayoutArrays
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters.generative import MaximumAPosteriori

STRENGTHS = (1e-100, 1e100)  # far from the limits of a double for a table of any size
BITS = 1000.0  # of the exponent of a product: a double has 1022


class DFE(BaseEstimator):
    """Relative frequencies in which each row is weighted by 1 − P(y | x).

    The tables depend on the order of the rows, which is that of the table. So weights are not
    repetitions here: a row of weight 2 adds twice its loss at once, while the second of two equal
    rows is evaluated by tables that include the first, and adds less. A weight of 0 is the same as
    leaving the row out.

    Data that do not fit in memory are processed block after block. That cannot be done by several
    threads or machines, as the loss of each row depends on the rows before it; ``shuffle`` needs
    all rows in memory.

    A family with a missing value is left out of the row, in P(y | x) as in the counts. For the
    counts that is available-case analysis. For P(y | x) it is exact if a missing value has no
    observed children; otherwise its children are ignored, as marginalization would cost an
    inference for each row, for a loss that is only a weight.

    Parameters
    ----------
    passes : int, default=4
        The number of passes over the rows.
    prior : {"dirichlet", "ess", "m"}, default="dirichlet"
        How virtual observations are distributed, as in ``MaximumAPosteriori``: the first rows are
        evaluated by nothing else.
    strength : float, default=1.0
        The number of virtual observations. Pseudo-counts are much smaller than counts, so that the
        same strength smooths more.
    shuffle : bool, default=False
        Whether each pass has a random order of its own.

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

    def learn(self, data: Rows, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Learn the tables of a structure.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        structure : Structure
            The structure.
        context : Context
            The random generator, and the trace of the passes.

        Returns
        -------
        CPTs
            The conditional probability tables.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes import DFE
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> from discbayes.network import Structure
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> tables = DFE().learn(data, count(data), Structure.naive(1), Context())
        >>> np.exp(tables.log_prior).round(2)
        array([0.43, 0.57])
        """
        self._check()
        layout = Layout.of(structure, data)
        smoothing = MaximumAPosteriori(self.prior, self.strength)
        virtual = FamilyCounts(
            layout,
            np.repeat(
                smoothing.virtual_counts(Layout.of_class(layout.n_classes)), layout.n_classes
            ),
            np.repeat(smoothing.virtual_counts(layout), np.diff(layout.offsets)),
        )
        smoothed = FamilyCounts(layout, virtual.class_count.copy(), virtual.cells.copy())
        self._add_losses(data, smoothed, float(counts.class_count.sum()), context)
        return smoothing.tables(
            FamilyCounts(
                layout, smoothed.class_count - virtual.class_count, smoothed.cells - virtual.cells
            )
        )

    def _add_losses(
        self, data: Rows, smoothed: FamilyCounts, weight: float, context: Context
    ) -> None:
        """Add the loss of each row to the counts, pass after pass."""
        layout = smoothed.layout
        depends = np.array(layout.structure.class_children, bool)
        totals = layout.row_totals(smoothed.cells)
        at_once = self._factors_at_once(smoothed, totals, weight)
        rows = data.in_memory("DFE(shuffle=True)") if self.shuffle else in_blocks(data)
        arrays = _parents_behind(layout)
        for k in range(self.passes):
            seen = 0.0
            for block in rows.blocks():
                order = np.arange(block.n_samples)
                seen += frequency_pass(
                    _with_parents(block.codes, layout),
                    context.rng.permutation(order) if self.shuffle else order,
                    kernel_classes(block), kernel_weight(block), np.flatnonzero(depends),
                    np.flatnonzero(~depends), arrays, at_once,
                    Pseudocounts(smoothed.class_count, smoothed.cells, totals),
                )  # fmt: skip
            context.record(most=self.passes, iteration=k + 1, score=float(seen))

    def _factors_at_once(self, smoothed: FamilyCounts, totals: np.ndarray, weight: float) -> int:
        """Return how many counts, totals or shares can be multiplied without underflow."""
        largest = totals.max(initial=1.0) + self.passes * weight
        bits = np.log2(largest) - np.log2(smoothed.cells.min(initial=1.0))
        return max(1, int(BITS // max(1.0, bits)))

    def _check(self) -> None:
        """Raise an error for invalid settings."""
        require_integer("passes", self.passes, 1)
        MaximumAPosteriori(self.prior, self.strength)._check()
        least, most = STRENGTHS
        if not least <= self.strength <= most:
            raise ValueError(
                f"strength={self.strength!r} must be between {least} and {most}: the passes start"
                " with virtual observations alone"
            )
        if not isinstance(self.shuffle, (bool, np.bool_)):
            raise ValueError(f"shuffle={self.shuffle!r} must be True or False")


def _with_parents(codes: np.ndarray, layout: Layout) -> np.ndarray:
    """Return rows of codes; with two resolutions, with the states of all features behind them."""
    states = layout.parent_codes(codes)
    return np.ascontiguousarray((codes if states is codes else np.concatenate([codes, states])).T)


def _parents_behind(layout: Layout) -> LayoutArrays:
    """Return the arrays of a layout for such rows: parents are read behind the features."""
    arrays = layout.arrays()
    if layout.states is None:
        return arrays
    return arrays._replace(
        cards=np.concatenate([layout.cards, layout.n_states]),
        parent_index=arrays.parent_index + layout.cards.size,
    )

"""Generative parameters: smoothed relative frequencies.

The estimates of the papers differ in the smoothing and its amount:

=============  ========================================  ==========================================
in papers      learner                                   a cell with count n in a row with total N
=============  ========================================  ==========================================
ML (P10, P12)  ``MaximumLikelihood(epsilon=1e-5)``       n/N; zeros become ε, rows are renormalized
OFE (C11)      ``MaximumAPosteriori("dirichlet", 0.5)``  (n + a) / (N + a·r)
P13-ML         ``MaximumAPosteriori("ess", 1)``          (n + α/cells) / (N + α/rows)
Z17-MAP        ``MaximumAPosteriori("m", 1)``            (n + m/r) / (N + m)
=============  =========================================  ==========================================
=============  ========================================  ==========================================
``r`` is the number of values; ``cells`` and ``rows`` are those of the whole table. A row of a table
without data is uniform. If values are missing, n counts the rows in which the family is complete,
or is an expected count (``missing="em"``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes._deprecation import GapsIsMissing, renamed_parameters
from discbayes._settings import require_choice, require_integer, require_number
from discbayes.counts import Counts, FamilyCounts, count_families
from discbayes.data.domain import Domain
from discbayes.data.rows import Rows
from discbayes.engine import Context
from discbayes.network import CPTs, Layout, Structure, absorb_class, reduce_states
from discbayes.parameters.em import IncompleteRows, maximize
from discbayes.parameters.monotone import (
    monotone_child,
    monotone_class,
    monotone_positions,
    read_monotone,
)
from discbayes.parameters.network_prior import NetworkPrior, is_network

PRIORS = ("ess", "dirichlet", "m")
MISSING = ("available", "em")


class _Frequency(GapsIsMissing, BaseEstimator):
    """Turn counts into tables by a smoothing that subclasses define."""

    learns_from_counts = True  # of families, unless missing values need EM
    supports_blocks = True
    prior_is_shares = True  # of the classes, smoothed, and nothing else
    uses_unlabeled = True
    supports_class_parents = True

    missing: str
    max_iter: int
    tol: float

    @abstractmethod
    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        """Return probabilities from counts, normalized over the values of each feature."""

    def _check(self) -> None:
        """Raise an error for invalid settings."""
        require_choice("missing", self.missing, MISSING)
        require_integer("max_iter", self.max_iter, 1)
        require_number("tol", self.tol)

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
            Threads, and where iterations are recorded.

        Returns
        -------
        CPTs
            The conditional probability tables.
        """
        self._check()
        layout = Layout.of(structure, data)
        families = count_families(data, layout, counts, context.n_jobs)
        families = self._with_knowledge(families, data.domain)
        if structure.class_parents:
            return self._absorbed(data, families, counts, context)
        if self.missing == "em" and data.n_missing.any():
            who = f'{type(self).__name__}(missing="em")'
            rows = IncompleteRows(data.in_memory(who), layout)
            if rows.n_samples:
                return self._maximized(rows, families, context)
        return self._constrained(self._tables(families), families, data.domain)

    def _with_knowledge(self, families: FamilyCounts, domain: Domain) -> FamilyCounts:
        """Return the counts with what is known before, if that depends on names and values."""
        return families

    def _constrained(self, tables: CPTs, families: FamilyCounts, domain: Domain) -> CPTs:
        """Return the tables within constraints on columns."""
        return tables

    def _class_shares(self, counted: np.ndarray, layout: Layout, domain: Domain) -> np.ndarray:
        """Return P(c | parents) from counts; the layout is that of all tables."""
        own = class_table_layout(counted.shape)
        cells = np.zeros(own.size)
        own.table(cells, counted.ndim - 1)[...] = counted[..., None]
        return own.table(self._smooth(cells, own), counted.ndim - 1)[..., 0]

    def _absorbed(
        self, data: Rows, families: FamilyCounts, counts: Counts, context: Context
    ) -> CPTs:
        """Return the tables of a network in which the class has parents."""
        if self.missing == "em" and data.n_missing.any():
            raise ValueError(
                f'{type(self).__name__}(missing="em") needs a class without parents: use'
                ' missing="available"'
            )
        above = families.layout.structure.class_parents
        counted = class_counts(data, counts, above, context.n_jobs)
        shares = self._class_shares(counted, families.layout, data.domain)
        features = self._constrained(self._tables(families), families, data.domain)
        with np.errstate(divide="ignore"):
            return absorb_class(features, above, np.log(shares))

    def tables(self, families: FamilyCounts) -> CPTs:
        """Return tables from counts of the families.

        Parameters
        ----------
        families : FamilyCounts
            The counts.

        Returns
        -------
        CPTs
            The conditional probability tables.
        """
        self._check()
        if self.missing == "em":
            raise ValueError(
                f'{self!r}: EM needs rows, and here there are counts only: use missing="available"'
            )
        return self._tables(families)

    def _tables(self, families: FamilyCounts) -> CPTs:
        layout = families.layout
        theta = self._smooth(families.layout.pool_columns(families.cells), layout)
        prior = self._smooth(families.class_count, Layout.of_class(layout.n_classes))
        with np.errstate(divide="ignore"):
            return CPTs(layout, np.log(prior), np.log(theta, out=theta))

    def _maximized(self, rows: IncompleteRows, families: FamilyCounts, context: Context) -> CPTs:
        start = self._tables(families)
        if np.isneginf(start.log_theta).any():  # EM never leaves a probability of zero
            start = MaximumAPosteriori("m", 1.0)._tables(families)

        def step(expected: np.ndarray) -> CPTs:
            return self._tables(self._with_expected(families, expected))

        return maximize(
            rows, families, start, step, self._log_density, self.max_iter, self.tol, context
        )

    def _with_expected(self, families: FamilyCounts, expected: np.ndarray) -> FamilyCounts:
        """Add the expected counts of missing values to the counts."""
        return replace(families, cells=families.cells + expected)

    def _log_density(self, tables: CPTs) -> float:
        """Return the log density of the prior that the smoothing stands for, up to a constant."""
        return 0.0


class MaximumLikelihood(_Frequency):
    """Relative frequencies; zeros become ``epsilon`` and rows are renormalized.

    Parameters
    ----------
    epsilon : float, default=1e-5
        The value that replaces a probability of zero.
    missing : {"available", "em"}, default="available"
        How rows with missing values are used. "available" counts each family in the rows in which
        it is complete. "em" starts there and maximizes Σ w·log P(y, x observed) by
        expectation-maximization, which is not biased if the missing values of a column depend on
        observed values. A value that was never counted and has an expected share below ``epsilon``
        is taken as zero. Without ``epsilon`` no iteration lowers the likelihood; with it, one can
        by a small amount, and is then the last.
    max_iter : int, default=200
        The maximum number of iterations of EM.
    tol : float, default=1e-6
        EM ends when an iteration raises the log likelihood by no more than this, relative to
        ``max(|log likelihood|, 1)``.

    Examples
    --------
    >>> import numpy as np
    >>> from discbayes import MaximumLikelihood
    >>> from discbayes.counts import FamilyCounts
    >>> from discbayes.network import Layout, Structure
    >>> layout = Layout(Structure.naive(1), np.array([3]), 1)
    >>> counts = FamilyCounts(layout, np.array([4.0]), np.array([3.0, 1.0, 0.0]))
    >>> np.exp(MaximumLikelihood().tables(counts).log_theta).round(5).tolist()
    [0.74999, 0.25, 1e-05]
    """

    @renamed_parameters(gaps="missing")
    def __init__(
        self,
        epsilon: float = 1e-5,
        missing: str = "available",
        max_iter: int = 200,
        tol: float = 1e-6,
    ):
        self.epsilon = epsilon
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol

    def _check(self) -> None:
        super()._check()
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon={self.epsilon!r} must be at least 0 and below 1")

    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        share = _share(counts, layout)
        floored = np.where(share > 0, share, self.epsilon)
        return floored / layout.row_totals(floored)

    def _with_expected(self, families: FamilyCounts, expected: np.ndarray) -> FamilyCounts:
        both = super()._with_expected(families, expected)
        pooled = both.layout.pool_columns(both.cells)
        little = pooled < self.epsilon * families.layout.row_totals(pooled)
        both.cells[little & (families.layout.pool_columns(families.cells) == 0)] = 0.0
        return both


class MaximumAPosteriori(_Frequency):
    """Relative frequencies with virtual observations added.

    Parameters
    ----------
    prior : {"ess", "dirichlet", "m"} or BayesNet, default="ess"
        Where virtual observations are added: "ess" distributes ``strength`` observations over a
        whole table, "dirichlet" adds ``strength`` to every cell, "m" adds ``strength`` observations
        to every row. A network, such as one of an expert (`BayesNet.from_tables`, `read_bif`),
        distributes them by its probabilities: it counts as ``strength`` rows. Its variables are
        found by their names and must have the values of the columns (``domains=`` of the
        classifier); its structure and its class may be others.
    strength : float, default=1.0
        The number of virtual observations: of a network, the equivalent sample size.
    missing : {"available", "em"}, default="available"
        How rows with missing values are used. "available" counts each family in the rows in which
        it is complete. "em" starts there and maximizes Σ w·log P(y, x observed) + Σ a·log θ by
        expectation-maximization, where a are the virtual observations: the density of a Dirichlet
        prior. No iteration lowers that sum.
    max_iter : int, default=200
        The maximum number of iterations of EM.
    tol : float, default=1e-6
        EM ends when an iteration raises that sum by no more than this, relative to
        ``max(|sum|, 1)``.
    monotone : dict of columns to +1 or -1, optional
        Numeric, ordered or boolean columns in which the odds of the second of two classes never
        fall (+1) or never rise (-1), whatever else is known of a row and whatever is missing. The
        tables are those of largest posterior density under this constraint, by isotonic regression.
        The class must be the only neighbor of such a column: its only parent, or its only child.

    Notes
    -----
    Why the odds never fall: let e be what is observed of the other columns. If the class is the
    only parent of a column x that has no children, P(1 | x, e) / P(0 | x, e) = P(1, e) / P(0, e) ·
    P(x | 1) / P(x | 0), and the estimates have a last factor that never falls in x. If x has no
    parents and the class is its only child, P(c, x, e) = P(x)·Σ w(c, h)·P(c | x, h) over the values
    h of the other parents, with weights that do not depend on x; P(1 | x, h) never falls in x for
    each h, so the sum of class 1 never falls and that of class 0 never rises.

    Examples
    --------
    >>> import numpy as np
    >>> from discbayes import MaximumAPosteriori
    >>> from discbayes.counts import FamilyCounts
    >>> from discbayes.network import Layout, Structure
    >>> layout = Layout(Structure.naive(1), np.array([3]), 1)
    >>> counts = FamilyCounts(layout, np.array([4.0]), np.array([3.0, 1.0, 0.0]))
    >>> np.exp(MaximumAPosteriori("dirichlet", 0.5).tables(counts).log_theta).round(3)
    array([0.636, 0.273, 0.091])
    """

    @renamed_parameters(gaps="missing")
    def __init__(
        self,
        prior: Any = "ess",
        strength: float = 1.0,
        missing: str = "available",
        max_iter: int = 200,
        tol: float = 1e-6,
        monotone: Mapping[str, int] | None = None,
    ):
        self.prior = prior
        self.strength = strength
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.monotone = monotone

    @property
    def is_informed(self) -> bool:
        """Whether the tables depend on names and values of columns: on a network, or an order."""
        return bool(self.monotone) or is_network(self.prior)

    @property
    def learns_from_counts(self) -> bool:  # type: ignore[override]
        """Whether counts of families are enough: what is known of columns needs their names."""
        return not self.is_informed

    @property
    def uses_unlabeled(self) -> bool:  # type: ignore[override]
        """Whether rows without a label can be used, by EM over the class."""
        return not self.is_informed

    def _check(self) -> None:
        super()._check()
        if not (is_network(self.prior) or (isinstance(self.prior, str) and self.prior in PRIORS)):
            known = ", ".join(map(repr, PRIORS))
            raise ValueError(f"prior={self.prior!r} is not one of {known}, nor a network")
        read_monotone(self.monotone)
        if self.is_informed and self.missing == "em":
            raise ValueError(
                'missing="em" goes with neither a prior network nor monotone columns: use'
                ' missing="available"'
            )
        require_number("strength", self.strength)

    def tables(self, families: FamilyCounts) -> CPTs:
        """Return tables from counts of the families.

        Parameters
        ----------
        families : FamilyCounts
            The counts.

        Returns
        -------
        CPTs
            The conditional probability tables.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.counts import FamilyCounts
        >>> layout = Layout(Structure.naive(1), np.array([2]), 1)
        >>> counts = FamilyCounts(layout, np.array([4.0]), np.array([3.0, 1.0]))
        >>> np.exp(MaximumAPosteriori("dirichlet", 1.0).tables(counts).log_theta).round(2)
        array([0.67, 0.33])
        """
        self._require_plain("counts without the names of columns")
        return super().tables(families)

    def _require_plain(self, what: str) -> None:
        """Refuse a prior network and monotone columns."""
        if self.is_informed:
            raise ValueError(
                f"{what} take neither a prior network nor monotone columns: these are for"
                " BayesNetClassifier(structure, MaximumAPosteriori(...)).fit"
            )

    def _with_knowledge(self, families: FamilyCounts, domain: Domain) -> FamilyCounts:
        if not is_network(self.prior):
            return families
        return NetworkPrior(self.prior, domain, self.strength).added_to(families)

    def _constrained(self, tables: CPTs, families: FamilyCounts, domain: Domain) -> CPTs:
        structure = tables.structure
        directions = monotone_positions(read_monotone(self.monotone), domain, structure)
        children = [i for i in directions if structure.class_children[i]]
        if not children:
            return tables
        log_theta = tables.log_theta.copy()
        counts = families.cells + self._virtual(tables.layout)
        for i in children:
            feature = domain.features[i]
            own = tables.layout.table(counts, i)
            n_ordered = feature.card - feature.missing_value
            with np.errstate(divide="ignore"):
                fitted = np.log(monotone_child(own, directions[i], n_ordered))
            tables.layout.table(log_theta, i)[...] = fitted
        return replace(tables, log_theta=log_theta)

    def _class_shares(self, counted: np.ndarray, layout: Layout, domain: Domain) -> np.ndarray:
        above = layout.structure.class_parents
        if is_network(self.prior):
            prior = NetworkPrior(self.prior, domain, self.strength)
            counted = prior.of_class(layout, above, counted)
        directions = monotone_positions(read_monotone(self.monotone), domain, layout.structure)
        along = [directions.get(p, 0) for p in above]
        if not any(along):
            return super()._class_shares(counted, layout, domain)
        unordered = [domain.names[p] for p in above if domain.features[p].missing_value]
        if unordered:
            raise ValueError(
                f"monotone: {unordered[0]!r} is a parent of the class with a value for missing,"
                ' which has no place in an order: use missing="available"'
            )
        own = class_table_layout(counted.shape)
        virtual = own.table(self._virtual(own), counted.ndim - 1)[..., 0]
        return monotone_class(counted + virtual, along)

    def _virtual(self, layout: Layout) -> np.ndarray:
        """Return the virtual observations of each cell that do not depend on names and values."""
        if is_network(self.prior):  # they are among the counts already
            return np.zeros(layout.size)
        return np.repeat(self.virtual_counts(layout), np.diff(layout.offsets))

    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        return _share(counts + self._virtual(layout), layout)

    def virtual_counts(self, layout: Layout) -> np.ndarray:
        """Return the virtual observations in each cell of the table of each feature.

        Parameters
        ----------
        layout : Layout
            The layout of the tables.

        Returns
        -------
        ndarray
            One number for each feature.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes import MaximumAPosteriori
        >>> from discbayes.network import Layout, Structure
        >>> layout = Layout(Structure([(), (0,)]), np.array([2, 3]), 2)
        >>> MaximumAPosteriori("ess", 1.0).virtual_counts(layout)
        array([0.25      , 0.08333333])
        """
        if is_network(self.prior):
            self._require_plain("counts without the names of columns")
        sizes = np.diff(layout.offsets)
        depends = np.array(layout.structure.class_children)
        among = {
            "ess": np.where(depends, sizes, sizes // layout.n_classes),
            "dirichlet": np.ones_like(sizes),
            "m": layout.cards,
        }
        return self.strength / among[self.prior]

    def virtual_cells(self, layout: Layout) -> tuple[float, np.ndarray]:
        """Return the virtual observations of each class and of each cell.

        Tables that do not depend on the class have equal columns, which share the observations.

        Parameters
        ----------
        layout : Layout
            The layout of the tables.

        Returns
        -------
        in_class : float
            The virtual observations of each class.
        in_cells : ndarray
            Those of each cell.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes import MaximumAPosteriori
        >>> from discbayes.network import Layout, Structure
        >>> layout = Layout(Structure.naive(1), np.array([2]), 2)
        >>> MaximumAPosteriori("ess", 1.0).virtual_cells(layout)
        (0.5, array([0.25, 0.25, 0.25, 0.25]))
        """
        shared = np.where(layout.structure.class_children, 1, layout.n_classes)
        cells = np.repeat(self.virtual_counts(layout) / shared, np.diff(layout.offsets))
        return float(self.virtual_counts(Layout.of_class(layout.n_classes))[0]), cells

    def _log_density(self, tables: CPTs) -> float:
        if not self.strength:
            return 0.0
        own = tables.class_table
        if own is None:
            in_class, in_cells = self.virtual_cells(tables.layout)
            return float((in_cells * tables.log_theta).sum() + (in_class * tables.log_prior).sum())
        _, in_cells = self.virtual_cells(own.features.layout)
        in_class = self.virtual_counts(class_table_layout(own.log_table.shape))[-1]
        return float((in_cells * own.features.log_theta).sum() + (in_class * own.log_table).sum())


def class_table_layout(shape: Sequence[int]) -> Layout:
    """Return the layout of P(c | parents) as the table of the last of some features.

    Parameters
    ----------
    shape : sequence of int
        The number of states of each parent, and at the end that of classes.
    """
    above = range(len(shape) - 1)
    structure = Structure((*((),) * len(above), tuple(above)))
    return Layout(structure, np.array([*shape], np.int64), 1)


def class_counts(
    data: Rows, counts: Counts, parents: Sequence[int], n_jobs: int | None
) -> np.ndarray:
    """Return the counts of the classes for each combination of the states of some features.

    They are those of a family of which one of the features is the child, and the others and the
    class are the parents.
    """
    *others, child = parents
    groups = [tuple(others) if i == child else () for i in range(data.n_features)]
    layout = Layout.of(Structure(tuple(groups)), data)
    table = count_families(data, layout, counts, n_jobs).table(child)
    return reduce_states(table, layout.states_of(child), np.add)


def _share(counts: np.ndarray, layout: Layout) -> np.ndarray:
    """Divide counts by their row totals; rows without counts become uniform."""
    total = layout.row_totals(counts)
    uniform = np.repeat(1.0 / layout.cards, np.diff(layout.offsets))
    return np.divide(counts, total, out=uniform, where=total > 0)

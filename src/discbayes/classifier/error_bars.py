"""Error bars: networks as they could have been learned from other rows of the same distribution.

=============  ===================================================================================
draws          what they are
=============  ===================================================================================
``bootstrap``  refits of structure and parameters, whatever the learners, with the weight of each
               row multiplied by how often it is drawn among as many rows, with replacement
``dirichlet``  draws of the tables of one structure from their posterior distribution given the
               counts: each row of a table has a Dirichlet distribution, each cell a Beta one
=============  ===================================================================================

The rows are encoded once: cut points and calibration are those of the classifier, and a log pool
gets generative estimates of the same weights. A draw of an ensemble is the pool of its members,
each refitted with the same rows.

An interval of ``dirichlet`` goes from one quantile of the draws to the other; that of a cell is in
closed form. Refits are biased as the estimate itself is: where few rows are in a cell, smoothing
pulls both the same way, so that the quantiles of refits alone hold the truth too seldom. So an
interval of ``bootstrap`` is the union of two: that between the quantiles, and the same one
reflected at the estimate, which is right where the bias of refits is that of the estimate.
Probabilities are reflected as log odds.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv, expit, logit

from discbayes._memory import require_memory
from discbayes._settings import float_or_nan, is_integer
from discbayes.bayesnet import BayesNet
from discbayes.calibration import (
    CalibratedPosterior,
    Calibration,
    LogPool,
    PooledPosterior,
    log_odds,
)
from discbayes.classifier.calibrating import assign_calibration_folds
from discbayes.classifier.choosing import choose_network
from discbayes.classifier.fitting import (
    FitPlan,
    class_weights,
    learn_generative,
    learn_network,
    make_network,
    weigh_and_count,
)
from discbayes.classifier.training_rows import open_training_rows
from discbayes.counts import SufficientStatistics, count_families
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.frames import make_frame
from discbayes.data.targets import weight_array
from discbayes.engine import Context, Interrupts, Progress, parallel_map
from discbayes.explanations import Explanation, explain, explain_pool
from discbayes.network import CLASS, CPTs, Layout, Structure, absorb_class
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.parameters.generative import class_counts
from discbayes.streams import is_source

BOOTSTRAP = "bootstrap"
DIRICHLET = "dirichlet"
LEVEL = 0.9
_TINY = 1e-300

Interval = tuple[np.ndarray, np.ndarray]
Draw = CalibratedPosterior | PooledPosterior


@dataclass(frozen=True, eq=False)
class DirichletTables:
    """The Dirichlet distributions of the rows of all tables, by parameters that are like counts.

    Parameters
    ----------
    layout : Layout
        The layout of the tables of the features.
    cells : ndarray
        The parameters of the cells of these tables.
    class_parents : tuple of int
        The parents of the class, by position.
    of_class : ndarray of shape (n_states of the parents ..., n_classes)
        The parameters of the table of the class.
    """

    layout: Layout
    cells: np.ndarray
    class_parents: tuple[int, ...]
    of_class: np.ndarray

    def draw(self, rng: np.random.Generator) -> CPTs:
        """Draw all tables."""
        layout = self.layout
        theta = rng.standard_gamma(self.cells)
        for i, of_class in enumerate(layout.structure.class_children):
            if not of_class:  # one table, which all classes share
                table = layout.table(theta, i)
                table[...] = table[..., :1]
        theta = np.maximum(theta, _TINY)
        theta /= layout.row_totals(theta)
        if not self.class_parents:
            prior = rng.dirichlet(self.of_class)
            return CPTs(layout, np.log(np.maximum(prior, _TINY)), np.log(theta))
        shares = np.maximum(rng.standard_gamma(self.of_class), _TINY)
        shares /= shares.sum(axis=-1, keepdims=True)
        features = CPTs(layout, np.zeros(layout.n_classes), np.log(theta))
        return absorb_class(features, self.class_parents, np.log(shares))

    def ends(self, share: float) -> tuple[Interval, Interval]:
        """Return the ends of the intervals of the class and of all cells in closed form."""
        low, high = share / 2, 1 - share / 2
        totals = self.layout.row_totals(self.cells)
        of_class = self.of_class.sum(axis=-1, keepdims=True)
        return (
            (_beta(low, self.of_class, of_class), _beta(high, self.of_class, of_class)),
            (_beta(low, self.cells, totals), _beta(high, self.cells, totals)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class ErrorBars:
    """Intervals of what a classifier says, from draws of its network.

    ``clf.bootstrap`` and ``clf.dirichlet`` make them.

    Parameters
    ----------
    classifier : BayesNetClassifier or BayesNetEnsemble
        The fitted classifier.
    kind : {"bootstrap", "dirichlet"}
        Where the draws are from.
    draws : tuple of CalibratedPosterior or PooledPosterior
        The draws.
    counts : DirichletTables or None
        The Dirichlet distributions of which the draws are.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> clf = BayesNetClassifier("tan", "map").fit(wine.X, wine.y)
    >>> clf.bootstrap(wine.X, wine.y, n=20)
    <ErrorBars: 20 draws by bootstrap>
    """

    classifier: Any
    kind: str
    draws: tuple[Draw, ...]
    counts: DirichletTables | None = None

    def interval(self, X: Any, level: float = LEVEL) -> Interval:
        """Return intervals of P(c | x observed).

        Parameters
        ----------
        X : frame, array or list of rows
            The rows.
        level : float, default=0.9
            The share of intervals that should hold the truth.

        Returns
        -------
        low : ndarray of shape (n_samples, n_classes)
            The lower ends of the intervals.
        high : ndarray of shape (n_samples, n_classes)
            The upper ends.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
        >>> low, high = clf.dirichlet().interval({"petal width (cm)": 1.7})
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([[0.0, 0.82, 0.05]], [[0.03, 0.95, 0.17]])
        """
        observed, draws, codes = self._observe(X)
        odds = np.array([log_odds(draw.log_posterior(codes)) for draw in draws])
        now = log_odds(observed.log_posterior(codes))
        low, high = self._ends(odds, now, level)
        return expit(low), expit(high)

    def contributions(self, X: Any, level: float = LEVEL) -> Interval:
        """Return intervals of the contributions of ``explain``.

        Draws of other structures have another order in which values become known: fix the
        structure if that should not count.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows.
        level : float, default=0.9
            The share of intervals that should hold the truth.

        Returns
        -------
        low : ndarray of shape (n_samples, n_features, n_classes)
            The lower ends of the intervals; NaN where the value is missing.
        high : ndarray of shape (n_samples, n_features, n_classes)
            The upper ends.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
        >>> low, high = clf.dirichlet().contributions(iris.X[:1])
        >>> bool((low <= clf.explain(iris.X[:1]).contributions).all())
        True
        """
        pooled = isinstance(self._posterior, PooledPosterior)
        if pooled:
            self.classifier.encode(X)  # which refuses evidence, as explain does
        explained: Callable[..., Explanation] = explain_pool if pooled else explain
        observed, draws, codes = self._observe(X)
        found = np.array([explained(draw, codes).contributions for draw in draws])
        return self._ends(found, explained(observed, codes).contributions, level)

    def tables(self, level: float = LEVEL, library: bool | str = "auto") -> tuple[Any, Any]:
        """Return intervals of the cells of all conditional probability tables.

        Parameters
        ----------
        level : float, default=0.9
            The share of intervals that should hold the truth.
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default the first that is installed.

        Returns
        -------
        low : dict of str to frame
            The lower ends of the intervals, as ``BayesNet.tables`` has the probabilities.
        high : dict of str to frame
            The upper ends.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
        >>> low, high = clf.dirichlet().tables(library="pandas")
        >>> low["class"]["probability"].round(2).tolist()
        [0.27, 0.27, 0.27]
        """
        share = 1 - check_level(level)
        if len(self._posterior.members) > 1:
            raise ValueError(
                "an ensemble has tables in each of its members: use"
                " clf.members_[0].bootstrap(X, y).tables()"
            )
        network = self.classifier.network_
        features, log_class = _apart(network.parameters)
        if self.counts is not None:
            of_class, thetas = self.counts.ends(share)
        else:
            self._require_one_structure()
            drawn = [_apart(draw.network.parameters) for draw in self._members]
            odds = np.array([_odds(one) for _, one in drawn])
            of_class = _expit_both(self._ends(odds, _odds(log_class), level))
            cells = np.array([_odds(one.log_theta) for one, _ in drawn])
            thetas = _expit_both(self._ends(cells, _odds(features.log_theta), level))
        if self.classifier.class_prior is not None and not network.class_parents:
            of_class = (network.prior, network.prior)  # it is given, and not estimated
        low, high = (
            _with_tables(network, np.log(np.maximum(one, _TINY)), np.log(np.maximum(theta, _TINY)))
            for one, theta in zip(of_class, thetas, strict=True)
        )
        return low.tables(library), high.tables(library)

    def _require_one_structure(self) -> None:
        """Refuse draws whose tables are not those of the classifier."""
        own = self.classifier.network_.own_structure
        if any(draw.network.own_structure != own for draw in self._members):
            raise ValueError(
                "the draws have other edges than the classifier, and so other tables: use"
                " clf.dirichlet, or fix the edges with structure=clf.structure_"
            )

    @property
    def _members(self) -> Iterator[CalibratedPosterior]:
        """The networks of all draws with their calibration: several of each draw of a pool."""
        return (member for draw in self.draws for member in draw.members)

    # ---- edges

    @cached_property
    def _edges(self) -> Counter[tuple[int, int]]:
        """In how many networks of draws each edge is, those of the class with its position."""
        found: Counter[tuple[int, int]] = Counter()
        for member in self._members:
            structure = member.network.own_structure
            for child, parents in enumerate(structure.parents):
                found.update((parent, child) for parent in parents)
                found[CLASS, child] += structure.class_children[child]
            found.update((parent, CLASS) for parent in structure.class_parents)
        return found

    def _name(self, position: int) -> str:
        domain = self.classifier.domain_
        return domain.target.name if position == CLASS else domain.names[position]

    def edges(self, library: bool | str = "auto") -> Any:
        """Return how often each edge is in the draws: the bootstrap strength of edges.

        Parameters
        ----------
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default the first that is installed.

        Returns
        -------
        frame
            The columns "parent" and "child", the "share" of draws with an edge in this direction,
            and the share of those with one in "either" direction; the most frequent edges first.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> clf.bootstrap(iris.X, iris.y, n=20).edges("pandas").columns.tolist()
        ['parent', 'child', 'share', 'either']
        """
        shares = self.edge_shares()
        either = {edge: share + shares.get(edge[::-1], 0.0) for edge, share in shares.items()}
        order = sorted(shares, key=lambda edge: (-either[edge], -shares[edge]))
        columns = {
            "parent": np.array([parent for parent, _ in order], dtype=object),
            "child": np.array([child for _, child in order], dtype=object),
            "share": np.array([shares[edge] for edge in order]),
            "either": np.array([either[edge] for edge in order]),
        }
        return make_frame(columns, library)

    def edge_shares(self) -> dict[tuple[str, str], float]:
        """Return the share of draws that have each edge, those from the class included.

        Returns
        -------
        dict of (parent, child) to float
            The shares, by name.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
        >>> set(clf.bootstrap(iris.X, iris.y, n=5).edge_shares().values())
        {1.0}
        """
        return {
            (self._name(parent), self._name(child)): count / self._n_networks
            for (parent, child), count in self._edges.items()
            if count
        }

    @property
    def _n_networks(self) -> int:
        return sum(len(draw.members) for draw in self.draws)

    def average_structure(self, share: float = 0.5) -> Structure:
        """Return the structure of the edges that are in more than a share of the draws.

        An edge counts in either direction, and has the more frequent one. Edges come in the order
        of their shares; one that would close a cycle is turned around, or left out.

        Parameters
        ----------
        share : float, default=0.5
            The share of draws.

        Returns
        -------
        Structure
            The structure, to learn parameters for: ``BayesNetClassifier(structure, "map")``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> wine = load_dataset("wine")
        >>> clf = BayesNetClassifier("tan", "map").fit(wine.X, wine.y)
        >>> average = clf.bootstrap(wine.X, wine.y, n=20).average_structure(0.7)
        >>> BayesNetClassifier(average, "map").fit(wine.X, wine.y).structure_ == average
        True
        """
        least = float_or_nan(share) * self._n_networks
        if not 0 <= float_or_nan(share) < 1:
            raise ValueError(f"share={share!r} must be a number from 0 up to, and without, 1")
        edges, n_features = self._edges, len(self.classifier.domain_.features)
        pairs = sorted(
            {(min(edge), max(edge)) for edge in edges},
            key=lambda pair: (-edges[pair] - edges[pair[::-1]], pair),
        )
        # by position; that of the class is CLASS
        parents: dict[int, list[int]] = {node: [] for node in (CLASS, *range(n_features))}
        for pair in pairs:
            if edges[pair] + edges[pair[::-1]] <= least:
                break
            ways = sorted((pair, pair[::-1]), key=lambda edge: -edges[edge])
            for parent, child in ways:
                if not _is_above(parents, child, parent):
                    parents[child].append(parent)
                    break
        groups = [[p for p in parents[i] if p != CLASS] for i in range(n_features)]
        of_class = tuple(CLASS in parents[i] for i in range(n_features))
        return Structure(tuple(map(tuple, groups)), of_class, tuple(parents[CLASS]))

    # ---- intervals

    def _observe(self, X: Any) -> tuple[Draw, Iterator[Draw], Any]:
        """Return the posterior and the draws with the evidence of rows, and their codes."""
        codes, columns = self.classifier._encode_evidence(X)
        draws = (draw.with_evidence(columns) for draw in self.draws)
        return self._posterior.with_evidence(columns), draws, codes

    @property
    def _posterior(self) -> Draw:
        posterior: Draw = self.classifier.calibrated_posterior()
        return posterior

    def _ends(self, draws: np.ndarray, now: np.ndarray, level: float) -> Interval:
        """Return the ends of the intervals of numbers, from draws of them and the estimate."""
        share = 1 - check_level(level)
        low, high = np.quantile(draws, [share / 2, 1 - share / 2], axis=0)
        if self.kind == DIRICHLET:
            return low, high
        with np.errstate(invalid="ignore"):  # infinite contributions have no reflection
            return np.fmin(low, 2 * now - high), np.fmax(high, 2 * now - low)

    def __repr__(self) -> str:
        return f"<ErrorBars: {len(self.draws)} draws by {self.kind}>"


def check_level(level: Any) -> float:
    """Return a level of confidence, and refuse what is not between 0 and 1."""
    if not 0 < float_or_nan(level) < 1:
        raise ValueError(f"level={level!r} must be a probability between 0 and 1, such as 0.9")
    return float(level)


def _apart(tables: CPTs) -> tuple[CPTs, np.ndarray]:
    """Return the tables of the features, and the logarithms of the table of the class."""
    own = tables.class_table
    return (tables, tables.log_prior) if own is None else (own.features, own.log_table)


def _with_tables(network: BayesNet, log_class: np.ndarray, log_theta: np.ndarray) -> BayesNet:
    """Return the network with other cells in the tables of the class and of the features."""
    own = network.parameters.class_table
    if own is None:
        return replace(network, parameters=CPTs(network.parameters.layout, log_class, log_theta))
    features = CPTs(own.features.layout, own.features.log_prior, log_theta)
    return replace(network, parameters=absorb_class(features, own.parents, log_class))


def _is_above(parents: Mapping[int, Sequence[int]], above: int, below: int) -> bool:
    """Return whether a node is another one, or an ancestor of it."""
    if above == below:
        return True
    return any(_is_above(parents, above, parent) for parent in parents[below])


def _odds(log_shares: np.ndarray) -> np.ndarray:
    """Return the log odds of probabilities that are logarithms."""
    return np.asarray(logit(np.clip(np.exp(log_shares), 1e-15, 1 - 1e-15)))


def _expit_both(ends: Interval) -> Interval:
    """Return probabilities of log odds."""
    return expit(ends[0]), expit(ends[1])


def _beta(quantile: float, alpha: np.ndarray, total: np.ndarray | float) -> np.ndarray:
    """Return a quantile of each cell of Dirichlet distributions; that of a single cell is 1."""
    rest = total - alpha
    alone = rest <= 1e-12 * alpha
    return np.where(alone, 1.0, betaincinv(alpha, np.where(alone, 1.0, rest), quantile))


# ---- drawing


def bootstrap(
    classifier: Any, X: Any, y: Any, n: int, sample_weight: Any, random_state: Any
) -> ErrorBars:
    """Refit the network of a classifier with rows drawn with replacement."""
    _check_number(n)
    data = _training_rows(classifier, X, y, sample_weight)
    plan = FitPlan.of(classifier)
    if plan.chooses:
        plan = _chosen(plan, X, y, sample_weight)
    _require_memory(n, classifier.network_)
    weight = np.ones(data.n_samples) if data.weight is None else data.weight

    def refit(rng: np.random.Generator) -> CalibratedPosterior:
        often = rng.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples))
        drawn = replace(data, weight=weight * often)
        context = Context(rng, None, Progress(0), interrupts=Interrupts(0))
        one = replace(plan, context=context)
        rows, counts = weigh_and_count(one, drawn, classifier.classes_)
        network = learn_network(one, rows, counts, context)
        calibration: Calibration | None = classifier.calibration_
        if isinstance(calibration, LogPool):
            generative = learn_generative(one, drawn, network, classifier.classes_)
            calibration = replace(calibration, generative=generative)
        return CalibratedPosterior(network, classifier.classes_, calibration)

    draws = _quietly(refit, np.random.default_rng(random_state).spawn(n), classifier.n_jobs)
    return ErrorBars(classifier, BOOTSTRAP, tuple(draws))


def bootstrap_ensemble(
    ensemble: Any, X: Any, y: Any, n: int, sample_weight: Any, random_state: Any
) -> ErrorBars:
    """Refit the members of an ensemble, with the same rows in each draw."""
    if random_state is None:
        random_state = int(np.random.default_rng().integers(2**32))
    of_members = [
        bootstrap(member, X, y, n, sample_weight, random_state).draws
        for member in ensemble.members_
    ]
    pool = ensemble.calibrated_posterior()
    draws = tuple(replace(pool, members=members) for members in zip(*of_members, strict=True))
    return ErrorBars(ensemble, BOOTSTRAP, draws)


def dirichlet(
    classifier: Any, X: Any, y: Any, n: int, virtual: float, sample_weight: Any, random_state: Any
) -> ErrorBars:
    """Draw tables of the structure of a classifier from their posterior distribution."""
    _check_number(n)
    if not 0 < float_or_nan(virtual) < np.inf:
        raise ValueError(f"virtual={virtual!r} must be a number above 0")
    plan = FitPlan.of(classifier)
    if not isinstance(plan.parameters, MaximumLikelihood | MaximumAPosteriori):
        raise ValueError(
            f"parameters={classifier.parameters!r} are not relative frequencies, whose tables have"
            ' Dirichlet distributions: use parameters="map", or clf.bootstrap'
        )
    network = classifier.network_
    rows: Any = None
    if X is not None:
        rows = _training_rows(classifier, X, y, sample_weight)
        rows, counts = weigh_and_count(plan, rows, classifier.classes_)
    else:
        rows = _kept_counts(classifier, plan)
        counts = rows.counts
    layout = _apart(network.parameters)[0].layout
    families = count_families(rows, layout, counts)
    above = network.own_structure.class_parents
    of_class = class_counts(rows, counts, above, None) if above else families.class_count
    cells = layout.pool_columns(families.cells)
    alphas = DirichletTables(layout, cells + virtual, above, of_class + virtual)
    _require_memory(n, network)

    def draw(rng: np.random.Generator) -> CalibratedPosterior:
        drawn = make_network(plan, network.domain, alphas.draw(rng), counts.class_count)
        return CalibratedPosterior(drawn, classifier.classes_, classifier.calibration_)

    draws = _quietly(draw, np.random.default_rng(random_state).spawn(n), classifier.n_jobs)
    return ErrorBars(classifier, DIRICHLET, tuple(draws), alphas)


def _quietly(
    function: Callable[[np.random.Generator], CalibratedPosterior],
    generators: list[np.random.Generator],
    n_jobs: int | None,
) -> list[CalibratedPosterior]:
    """Return a draw of each generator; the fit has warned already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return parallel_map(function, generators, n_jobs)


def _check_number(n: Any) -> None:
    if not is_integer(n, 2):
        raise ValueError(f"n={n!r} must be a whole number of draws, at least 2")


def _require_memory(n: int, network: BayesNet) -> None:
    require_memory(8 * n * network.parameters.layout.size, f"{n:,} draws", "use fewer, n=100")


def _kept_counts(classifier: Any, plan: FitPlan) -> SufficientStatistics:
    """Return the counts that a classifier keeps, with class weights."""
    statistics: SufficientStatistics | None = classifier.sufficient_statistics_
    if statistics is None:
        raise ValueError(
            "the classifier keeps no counts: pass the training rows, clf.dirichlet(X, y)"
        )
    if plan.class_weight is None:
        return statistics
    by_class = class_weights(plan.class_weight, classifier.classes_, statistics.rows)
    return statistics.with_class_weights(by_class)


def _training_rows(classifier: Any, X: Any, y: Any, sample_weight: Any) -> Encoded:
    """Return rows as the classifier encodes them, with their classes and weights."""
    if is_source(X):
        raise ValueError("error bars need a table in memory, and X is a source of rows to read")
    codes = classifier.encode(X)
    n_rows = codes.shape[1]
    classes = FrameEncoder.from_domain(classifier.domain_).transform_y(y)
    if classes.size != n_rows:
        raise ValueError(f"X has {n_rows} rows and y has {classes.size}")
    weight = None if sample_weight is None else weight_array(sample_weight, n_rows)
    if classifier.missing == "drop":
        kept = (codes < classifier.domain_.cards[:, None]).all(axis=0)
        codes, classes = np.ascontiguousarray(codes[:, kept]), classes[kept]
        weight = None if weight is None else weight[kept]
    if not classes.size:
        raise ValueError("X has no rows to learn from")
    return Encoded(codes, classifier.domain_, classes, weight)


def _chosen(plan: FitPlan, X: Any, y: Any, sample_weight: Any) -> FitPlan:
    """Return the plan with the learners that a fit on these rows chooses."""
    with open_training_rows(X, y, sample_weight, plan) as rows:
        encoder = plan.new_encoder()
        with warnings.catch_warnings(), rows.encode(encoder, Progress(0)):
            warnings.simplefilter("ignore", UserWarning)
            folds = assign_calibration_folds(plan, rows, encoder)
            chosen, _ = choose_network(plan, rows, encoder, folds)
    return replace(plan, structure=chosen.structure, parameters=chosen.parameters)

"""An ensemble of Bayesian networks: the log pool of members that differ at random."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discbayes import inference
from discbayes._lazy_imports import leaf
from discbayes._settings import is_integer
from discbayes.bayesnet import BayesNet
from discbayes.calibration import (
    AUTO,
    MAX_SCALE,
    MIN_SCALE,
    UNUSUAL,
    LogPool,
    PooledPosterior,
    learn_scale,
    log_prior_of,
    normalized,
    possible_rows,
)
from discbayes.classifier.calibrating import assign_calibration_folds, calibration_weights
from discbayes.classifier.error_bars import ErrorBars, bootstrap_ensemble
from discbayes.classifier.estimator import BayesNetClassifier
from discbayes.classifier.fitting import (
    COLUMN_ATTRIBUTES,
    STRICT,
    CalibrationPlan,
    FitPlan,
    FittedModel,
    adopt,
    learn_structure,
    make_network,
    share_missing,
    weigh_and_count,
)
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.classifier.training_rows import TableRows, TrainingRows, open_training_rows
from discbayes.counts import Counts
from discbayes.data import Domain, TwoResolutionDiscretizer
from discbayes.data.dates import EXPAND
from discbayes.data.evidence import EvidenceColumn
from discbayes.data.folds import FoldAssignment
from discbayes.data.frames import make_frame
from discbayes.data.rows import Rows
from discbayes.data.table import Table
from discbayes.engine import Context, Interrupts, Progress, parallel_map, worker_count
from discbayes.explanations import PooledExplanation, explain_pool
from discbayes.explanations.wording import class_position
from discbayes.network import CPTs, Structure
from discbayes.parameters import HierarchicalSmoothing, LevelWeightedCCBN
from discbayes.parameters.level_weights import FittedWeights, PreparedLevels
from discbayes.search import KDB

PENALTIES = (10.0, 1.0)  # of free parameters, of which held-out rows choose one
N_STATES = (4, 9)  # the smallest and the largest number of coarse intervals of a member
MAX_MEMBERS = 1000
# Iterations of the weights of a member: a pool gains nothing by more. Those of members that are
# compared are fewer, and fewer still where a fit begins with that of another penalty.
MAX_ITER = 40
HELD_OUT_ITER, PENALTY_ITER = 20, 6
TOLERANCE = 1e-4  # of members that are compared
N_FOLDS = 5
SETTINGS_OF_MEMBERS = (
    "categorical",
    "missing",
    "dates",
    "unknown",
    "columns",
    "class_weight",
    "class_prior",
    "max_cells",
    "beyond_max_cells",
)


class BayesNetEnsemble(PosteriorClassifier):
    """An ensemble of Bayesian networks: the log pool of members that differ at random.

    Each member is a network of two resolutions. Members differ in the number of coarse intervals,
    in the quantiles at which columns are cut, and in the order of the features in the search for
    edges, which is drawn by relevance. The log posteriors of all members are averaged, and the mean
    is scaled away from the class shares by a factor that held-out rows determine. Missing values
    are marginalized exactly in each member.

    Parameters
    ----------
    n_members : int, default=8
        The number of networks.
    max_parents : int, default=3
        The largest number of feature parents in a member.
    categorical : "auto", "all" or list, default="auto"
        The numeric columns that are categories, as in ``BayesNetClassifier``.
    missing : {"auto", "available", "value", "drop", "error"}, default="auto"
        Missing values at fit, as in ``BayesNetClassifier``; held-out rows choose between
        "available" and "value".
    dates : {"expand", "drop", "error"}, default="expand"
        Columns of dates, as in ``BayesNetClassifier``.
    unknown : {"marginalize", "error"}, default="marginalize"
        Values at prediction time that were not seen at fit: treated as missing, or an error.
    columns : {"strict", "by-name"}, default="strict"
        Frames and files at prediction time have the columns of the fit, or are matched by the names
        of their columns, where what is not there is unknown, as in ``BayesNetClassifier``.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes.
    class_prior : sequence of float, optional
        Class shares where the ensemble will be used, in the order of ``classes_``.
    max_cells : int, default=100_000_000
        The number of cells that exact marginalization may compute for a row in a member.
    beyond_max_cells : "estimate", "raise" or int, default="estimate"
        What is done with rows that need more, as in ``BayesNetClassifier``.
    n_jobs : int, optional
        The number of threads over members; None is one, -1 all cores. The result does not depend on
        it.
    memory : int or str, optional
        Where rows are read from files or in batches: about how many bytes they may take at a time.
        Each member reads the rows twice, and twice more for each fold.
    cluster : str, int or distributed.Client, optional
        The Dask cluster on which members are learned, as in ``BayesNetClassifier``.
    random_state : int, RandomState or None, default=None
        The seed of the differences between members.
    verbose : int, default=0
        1 shows the stages of a fit, 2 those of each member.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    members_ : list of BayesNetClassifier
        The members, each of which can be read, asked and saved alone.
    scale_ : float
        The factor on the mean log odds of the members beyond those of the class shares: above 1
        where members are less sure than they could be together.
    class_shares_ : ndarray
        The class shares of the fit.
    cell_penalty_ : float
        The penalty of free parameters that held-out rows chose.
    n_samples_seen_ : int or None
        The number of training rows.
    feature_importances_ : ndarray
        The mutual information of each column with the class, in the mean of the members.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray
        The names of the columns, if they have names.

    Examples
    --------
    >>> from discbayes import BayesNetEnsemble, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetEnsemble(4, random_state=0).fit(iris.X, iris.y)
    >>> clf.predict(iris.X.iloc[[0, 60]]).tolist()
    ['setosa', 'versicolor']
    >>> clf.members_[0].network_
    <BayesNet: 4 features, 3 classes, ...>
    """

    members_: list[BayesNetClassifier]
    scale_: float
    class_shares_: np.ndarray
    cell_penalty_: float
    n_samples_seen_: int | None

    def __init__(
        self,
        n_members: int = 8,
        *,
        max_parents: int = 3,
        categorical: str | Sequence[Any] = "auto",
        missing: str = AUTO,
        dates: str = EXPAND,
        unknown: str = "marginalize",
        columns: str = STRICT,
        class_weight: str | Mapping[Any, float] | None = None,
        class_prior: Sequence[float] | None = None,
        max_cells: int = inference.MAX_CELLS,
        beyond_max_cells: str | int = inference.ESTIMATE,
        n_jobs: int | None = None,
        memory: int | str | None = None,
        cluster: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_members = n_members
        self.max_parents = max_parents
        self.categorical = categorical
        self.missing = missing
        self.dates = dates
        self.unknown = unknown
        self.columns = columns
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.max_cells = max_cells
        self.beyond_max_cells = beyond_max_cells
        self.n_jobs = n_jobs
        self.memory = memory
        self.cluster = cluster
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BayesNetEnsemble:
        """Learn the members, and the scale of their pool.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``BayesNetClassifier.fit``.
        y : sequence of labels, or str
            The class labels. Of a source, the name of the target column; None for pairs.
        sample_weight : sequence of float or str, optional
            A weight of 2 equals the row twice. Of a source, the name of a column.

        Returns
        -------
        BayesNetEnsemble
            The fitted ensemble itself.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> wine = load_dataset("wine")
        >>> len(BayesNetEnsemble(3, random_state=0).fit(wine.X, wine.y).members_)
        3
        """
        plans = self.member_plans()
        progress = Progress(self.verbose)
        with open_training_rows(X, y, sample_weight, plans[0]) as rows:
            encoder = plans[0].new_encoder()
            with rows.encode(encoder, progress) as data:
                has_missing = bool(data.n_missing.any())
                n_rows = data.n_samples
                encoder.warn_of_unused()
                folds = assign_calibration_folds(plans[0], rows, encoder)
            learning = _Learning(rows, folds, encoder.domain_, has_missing, self.n_jobs, progress)
            choice = learning.choose(plans, chooses_missing=self.missing == AUTO)
            members = learning.learn([plan.with_missing(choice.missing) for plan in plans], choice)
        fitted = {
            "classes_": encoder.classes_,
            "members_": members,
            "scale_": choice.scale,
            "class_shares_": choice.shares,
            "cell_penalty_": choice.cell_penalty,
            "n_samples_seen_": n_rows,
            "_encoder": members[0]._encoder,
        }
        kept = {name: value for name, value in vars(self).items() if name not in COLUMN_ATTRIBUTES}
        # in one step, so that an interrupt finds the ensemble as it was or as it will be
        self.__dict__ = {**kept, **rows.columns, **fitted}
        progress.stage(f"done: {len(members)} networks")
        return self

    def member_plans(self) -> list[FitPlan]:
        """Return the plans of members that differ at random.

        Returns
        -------
        list of FitPlan
            The settings of each member, checked and resolved.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble
        >>> len(BayesNetEnsemble(3).member_plans())
        3
        """
        if not is_integer(self.n_members, 1) or self.n_members > MAX_MEMBERS:
            raise ValueError(
                f"n_members={self.n_members!r} must be a whole number from 1 to {MAX_MEMBERS}"
            )
        worker_count(self.n_jobs)
        random_state = self.random_state
        if isinstance(random_state, np.random.RandomState):
            random_state = random_state.randint(2**32, dtype=np.uint64)
        rng = np.random.default_rng(random_state)
        # with a stream of its own for each, so that the first members are the same in any number
        return [self._member_plan(one) for one in rng.spawn(self.n_members)]

    def _member_plan(self, rng: np.random.Generator) -> FitPlan:
        low, high = N_STATES
        n_states, shift = int(rng.integers(low, high, endpoint=True)), float(rng.uniform(-0.5, 0.5))
        seed = int(rng.integers(2**32))
        member = BayesNetClassifier(
            KDB(self.max_parents, score="loo", selective=True, order="sampled", random_state=seed),
            _parameters(PENALTIES[0]),
            discretizer=TwoResolutionDiscretizer(n_states, shift=round(shift, 3)),
            calibrate=None,
            memory=self.memory,
            cluster=self.cluster,
            random_state=seed,
            **{name: getattr(self, name) for name in SETTINGS_OF_MEMBERS},
        )
        return replace(FitPlan.of(member), calibration=CalibrationPlan("ensemble", N_FOLDS, False))

    # ---- predicting

    @property
    def domain_(self) -> Domain:
        """The columns and the classes; the cut points are those of the first member."""
        return self.members_[0].network_.domain

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mutual information of each column with the class, in the mean of the members."""
        check_is_fitted(self)
        return np.mean([member.feature_importances_ for member in self.members_], axis=0)

    def encode(self, X: Any) -> list[np.ndarray]:
        """Return the codes of rows with the columns of the fit, for each member.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.

        Returns
        -------
        list of ndarray of shape (n_features, n_samples)
            The codes, as ``BayesNetClassifier.encode`` returns them.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> [codes.shape for codes in clf.encode(iris.X)]
        [(4, 150), (4, 150)]
        """
        check_is_fitted(self)
        return self._codes_of(self._read_known(X))

    def _encode_evidence(self, X: Any) -> tuple[list[np.ndarray], list[list[EvidenceColumn]]]:
        """Return the codes of rows and their evidence, for each member."""
        table = self._read_known(X)
        if not table.evidence:
            return self._codes_of(table), [[] for _ in self.members_]
        pairs = [one._encoder.transform_evidence(table, self.unknown) for one in self.members_]
        return [codes for codes, _ in pairs], [columns for _, columns in pairs]

    def _codes_of(self, table: Table) -> list[np.ndarray]:
        return parallel_map(
            lambda member: member._encoder.transform(table, self.unknown),
            self.members_,
            self.n_jobs,
        )

    def calibrated_posterior(self, class_prior: Sequence[float] | None = None) -> PooledPosterior:
        """Return the log pool of the members as one function of their codes.

        Parameters
        ----------
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        PooledPosterior
            The posterior of rows that are codes, as ``encode`` returns them.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> clf.calibrated_posterior().decisions(clf.encode(iris.X.iloc[[0, 60]])).tolist()
        [0, 1]
        """
        check_is_fitted(self)
        limits: dict[str, Any] = {
            "max_cells": self.max_cells,
            "beyond_max_cells": self.beyond_max_cells,
        }
        members = [member.calibrated_posterior() for member in self.members_]
        with np.errstate(divide="ignore"):
            log_shares = np.log(self.class_shares_)
        return PooledPosterior(
            tuple(replace(one, network=replace(one.network, **limits)) for one in members),
            self.classes_,
            log_shares,
            self.scale_,
            None if class_prior is None else log_prior_of(class_prior, self.classes_.size),
            self.n_jobs,
        )

    # ---- explaining

    @inference.one_warning()
    def explain(self, X: Any, against: Any = None) -> PooledExplanation:
        """Explain predictions by what each observed value adds to the log odds of each class.

        A contribution is the scaled mean of the contributions in the members. The log odds without
        any value and all contributions add up to the log odds of ``predict_proba``.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows to explain.
        against : label, optional
            The class to compare each class with, instead of all others together.

        Returns
        -------
        PooledExplanation
            The contributions of all values, for each row and class.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> clf.explain(iris.X.iloc[[60]])
        prior: −0.59 for versicolor
        petal ...
        """
        check_is_fitted(self)
        reference = None if against is None else class_position(self.classes_, against, "against")
        table = self._read_known(X)
        return explain_pool(self.calibrated_posterior(), self._codes_of(table), table, reference)

    def bootstrap(
        self,
        X: Any,
        y: Any,
        n: int = 200,
        *,
        sample_weight: Any = None,
        random_state: int | None = 0,
    ) -> ErrorBars:
        """Refit the members with rows drawn with replacement: error bars of the pool.

        In each draw all members have the same rows. Cut points, the settings that held-out rows
        chose and the scale of the pool stay as they are. That is ``n`` refits of each member: it
        takes ``n_members`` times as long as error bars of one.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows of the fit.
        y : sequence of labels
            Their classes.
        n : int, default=200
            The number of draws.
        sample_weight : sequence of float, optional
            The weights of the rows.
        random_state : int or None, default=0
            The seed of the draws.

        Returns
        -------
        ErrorBars
            Intervals of probabilities and contributions, and how often each edge is found in all
            members. Tables are those of members: ``members_[0].bootstrap(X, y).tables()``.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> low, high = clf.bootstrap(iris.X, iris.y, n=5).interval(iris.X[:1])
        >>> bool((low <= clf.predict_proba(iris.X[:1])).all())
        True
        """
        check_is_fitted(self)
        return bootstrap_ensemble(self, X, y, n, sample_weight, random_state)

    def edge_frequencies(self, library: bool | str = "auto") -> Any:
        """Return how many members have each edge between features: the consensus network.

        Parameters
        ----------
        library : str or bool, default="auto"
            Frame library ("pandas", "polars" or "pyarrow"); the first that is installed by default.

        Returns
        -------
        frame
            The columns "parent", "child", "share" (of the members that have the edge in this
            direction) and "either" (in either direction), the most frequent first.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(4, random_state=0).fit(iris.X, iris.y)
        >>> list(clf.edge_frequencies("pandas").columns)
        ['parent', 'child', 'share', 'either']
        """
        edges = self._edge_shares()
        either = {edge: share + edges.get(edge[::-1], 0.0) for edge, share in edges.items()}
        names = self.domain_.names
        ranked = sorted(edges, key=lambda edge: (-edges[edge], -either[edge], edge))
        columns = {
            "parent": np.array([names[p] for p, _ in ranked], dtype=object),
            "child": np.array([names[i] for _, i in ranked], dtype=object),
            "share": np.array([edges[edge] for edge in ranked], dtype=float),
            "either": np.array([either[edge] for edge in ranked], dtype=float),
        }
        return make_frame(columns, library)

    def consensus(self, share: float = 0.5) -> Structure:
        """Return the structure of the edges that at least a share of the members have.

        Edges count in either direction, and have the one that more members have. The most frequent
        come first; one that would close a cycle is turned around or, if that does not help, left
        out. The structure can be learned as one network: ``BayesNetClassifier(clf.consensus())``.

        Parameters
        ----------
        share : float, default=0.5
            The share of the members.

        Returns
        -------
        Structure
            The consensus network.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(4, random_state=0).fit(iris.X, iris.y)
        >>> clf.consensus(0.01).n_edges >= clf.consensus(1.0).n_edges
        True
        """
        edges = self._edge_shares()
        either = {edge: one + edges.get(edge[::-1], 0.0) for edge, one in edges.items()}
        ranked = sorted(edges, key=lambda edge: (-either[edge], -edges[edge], edge))
        parents: list[list[int]] = [[] for _ in self.domain_.names]
        for parent, child in ranked:
            if either[parent, child] < share:
                break
            if parent in parents[child] or child in parents[parent]:
                continue
            if child not in _ancestors(parents, parent):
                parents[child].append(parent)
            elif parent not in _ancestors(parents, child):
                parents[parent].append(child)
        return Structure(tuple(tuple(sorted(group)) for group in parents))

    def _edge_shares(self) -> dict[tuple[int, int], float]:
        """Return the share of the members that have each edge (parent, child)."""
        check_is_fitted(self)
        counts: dict[tuple[int, int], int] = {}
        for member in self.members_:
            for child, parents in enumerate(member.structure_.parents):
                for parent in parents:
                    counts[parent, child] = counts.get((parent, child), 0) + 1
        return {edge: number / len(self.members_) for edge, number in counts.items()}

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write the fitted ensemble to one JSON file; ``discbayes.load`` reads it.

        Parameters
        ----------
        path : str or Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> from discbayes import BayesNetEnsemble, load, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(f"{folder}/iris.json")
        ...     loaded = load(f"{folder}/iris.json")
        >>> bool((loaded.predict_proba(iris.X) == clf.predict_proba(iris.X)).all())
        True
        """
        check_is_fitted(self)
        leaf("io").save(self, path)

    def report(
        self,
        path: str | Path | None = None,
        X: Any = None,
        y: Any = None,
        *,
        title: str = "",
        source: str = "",
        card: Mapping[str, str] | None = None,
        by: Any = None,
    ) -> Any:
        """Make a single self-contained HTML report of the fitted ensemble; it needs no server.

        The report draws the consensus network and lists the members; ``members_[0].report()`` is
        that of a member. Rows and their labels add an evaluation.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.
        X : frame, array or list of rows, optional
            Rows that the ensemble has not learned from.
        y : sequence of labels, optional
            The class labels of these rows.

        title : str, optional
            The title of the report; the name of the target by default.
        source : str, optional
            Where the data are from, such as "Ward 3, 2019 to 2024, 1,204 patients".
        card : mapping of str to str, optional
            A model card: headings such as "Intended use", "Limits" and "Contact", and their texts.
            "Data" and "Metrics" are written if they are not given. It can be printed by itself.
        by : str or sequence, optional
            A column of ``X`` such as "sex", or a value for each row: the model card has the metrics
            of each group.

        Returns
        -------
        Report
            The report, as of ``BayesNetClassifier.report``.

        Examples
        --------
        >>> from discbayes import BayesNetEnsemble, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
        >>> clf.report().html.startswith("<!doctype html>")
        True
        """
        heading = leaf("report.heading").Heading(title, source, card or {})
        report = leaf("report").make_ensemble_report(self, X, y, heading=heading, by=by)
        if path is not None:
            report.save(path)
        return report


def _ancestors(parents: Sequence[Sequence[int]], feature: int) -> set[int]:
    """Return a feature and all features from which a path leads to it."""
    found, left = {feature}, [feature]
    while left:
        new = [one for one in parents[left.pop()] if one not in found]
        found.update(new)
        left += new
    return found


# ---- learning the members


@dataclass(frozen=True)
class _Choice:
    """What held-out rows determine: missing values, a penalty, scales; and the class shares."""

    missing: str
    cell_penalty: float
    shares: np.ndarray
    scale: float = 1.0
    generative_scale: float = 1.0
    score: float = 0.0  # Σ log P(y | x) of the held-out rows
    unusual: float = 0.0  # how probable it is that missing values are no evidence in a row


@dataclass
class _Learning:
    """The rows of a fit, from which all members are learned."""

    rows: TrainingRows
    folds: FoldAssignment | None
    domain: Domain
    has_missing: bool
    n_jobs: int | None
    progress: Progress

    def _map(self, function: Any, items: Sequence[Any]) -> list[Any]:
        """Apply a function to members; in threads if all rows are in memory."""
        in_memory = isinstance(self.rows, TableRows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return parallel_map(function, items, self.n_jobs if in_memory else 1)

    def choose(self, plans: list[FitPlan], chooses_missing: bool) -> _Choice:
        """Choose what depends on the pool of all members, on held-out rows."""
        missing = plans[0].encoder.missing
        if self.folds is None:
            n_classes = self.domain.n_classes
            return _Choice(missing, PENALTIES[0], np.full(n_classes, 1 / n_classes))
        self.progress.stage(f"held-out rows: {len(plans)} networks without each fold")
        choice = self._choose(plans, self.folds)
        if not (chooses_missing and self.has_missing):
            return choice
        other = self._choose([plan.with_missing("value") for plan in plans], self.folds)
        return replace(other, unusual=UNUSUAL) if other.score > choice.score else choice

    def _choose(self, plans: list[FitPlan], folds: FoldAssignment) -> _Choice:
        # generative estimates first, then those of each penalty
        predicted = np.sum(self._map(self._held_out, plans), axis=0) / len(plans)
        labels = np.array(self.domain.target.values, dtype=object)
        weight, shares = calibration_weights(plans[0], folds, labels)
        classes = folds.classes
        score = _log_posterior_of_class(predicted[1:], classes) @ weight
        best = int(np.argmax(score))
        own = learn_scale(predicted[1 + best], classes, weight, shares)
        # members are pooled with their generative estimates, before their pool is scaled
        generative = learn_scale(predicted[0], classes, weight, shares) / own
        return _Choice(
            plans[0].encoder.missing,
            PENALTIES[best],
            shares,
            own,
            float(np.clip(generative, MIN_SCALE, MAX_SCALE)),
            float(score[best]),
        )

    def _held_out(self, plan: FitPlan) -> np.ndarray:
        """Return the log posteriors of held-out rows: generative ones, and of each penalty."""
        assert self.folds is not None
        found = []
        for fold in range(N_FOLDS):
            held_out, weight = self.folds.fold(fold)
            if not held_out.size:
                continue
            encoder = plan.new_encoder(self.domain)
            opened = self.rows.encode_without(held_out, weight, encoder, Progress(0))
            with opened as (data, codes_of):
                part = _Member(plan, *weigh_and_count(plan, data, encoder.classes_))
                networks = [part.generative, *part.compared()]
                codes = codes_of()
            found.append(
                [
                    normalized(possible_rows(network.log_joint_of(codes), network.prior))
                    for network in networks
                ]
            )
        return np.concatenate(found, axis=1)

    def learn(self, plans: list[FitPlan], choice: _Choice) -> list[BayesNetClassifier]:
        """Learn all members from all rows."""
        self.progress.stage(f"{len(plans)} networks of all rows")
        return self._map(lambda plan: self._fitted(plan, choice), plans)

    def _fitted(self, plan: FitPlan, choice: _Choice) -> BayesNetClassifier:
        encoder = plan.new_encoder()
        with self.rows.encode(encoder, Progress(0)) as data:
            part = _Member(plan, *weigh_and_count(plan, data, encoder.classes_))
            network, generative = part.network(choice.cell_penalty), part.generative
            missing, n_rows = part.share_missing, data.n_samples
        pool = LogPool(
            choice.shares, generative, choice.generative_scale, 0.0, missing, choice.unusual
        )
        member = BayesNetClassifier(
            plan.structure,
            _parameters(choice.cell_penalty),
            discretizer=plan.encoder.discretizer,
            calibrate=None,
            **self._settings(plan),
        )
        adopt(member, FittedModel(encoder, network, pool, None, [], self.rows.columns, n_rows))
        return member

    @staticmethod
    def _settings(plan: FitPlan) -> dict[str, Any]:
        return {
            "categorical": plan.encoder.categorical,
            "missing": plan.encoder.missing,
            "dates": plan.encoder.dates,
            "unknown": plan.encoder.unknown,
            "class_weight": plan.class_weight,
            "class_prior": plan.class_prior,
            "max_cells": plan.limits.max_cells,
            "beyond_max_cells": plan.limits.beyond_max_cells,
            "random_state": plan.structure.random_state,
        }


@dataclass
class _Member:
    """A member on some rows: its structure, and networks of it."""

    plan: FitPlan
    data: Rows
    counts: Counts

    def __post_init__(self) -> None:
        # an interrupt ends the whole fit, since a part of the members is not a result
        self.context = Context(np.random.default_rng(0), None, interrupts=Interrupts(0))
        self.structure: Structure = learn_structure(self.plan, self.data, self.counts, self.context)

    @cached_property
    def _prepared(self) -> PreparedLevels:
        return _parameters(PENALTIES[0]).prepare(self.data, self.counts, self.structure)

    def network(self, penalty: float) -> BayesNet:
        """Return the network of a penalty."""
        learner = _parameters(penalty)
        weights, outcome = learner.maximize(self._prepared, self.context)
        return self._made(learner, weights.tables(outcome.point))

    def compared(self) -> list[BayesNet]:
        """Return the networks of all penalties, soon; each fit begins where the last one ended."""
        found: list[BayesNet] = []
        start: FittedWeights | None = None
        for penalty in PENALTIES:
            max_iter = HELD_OUT_ITER if start is None else PENALTY_ITER
            learner = _parameters(penalty).set_params(max_iter=max_iter, tol=TOLERANCE)
            weights, outcome = learner.maximize(self._prepared, self.context, start)
            start = FittedWeights(self._prepared.levels, outcome.point)
            found.append(self._made(learner, weights.tables(outcome.point)))
        return found

    @property
    def generative(self) -> BayesNet:
        """The network of generative estimates."""
        smoothing = HierarchicalSmoothing()
        tables = smoothing.learn(self.data, self.counts, self.structure, self.context)
        return self._made(smoothing, tables)

    def _made(self, learner: Any, tables: CPTs) -> BayesNet:
        plan = replace(self.plan, parameters=learner)
        return make_network(plan, self.data.domain, tables, self.counts.class_count)

    @property
    def share_missing(self) -> float:
        """The weight of missing values, as a share of all values."""
        return share_missing(self.data, self.counts)


def _parameters(cell_penalty: float) -> LevelWeightedCCBN:
    return LevelWeightedCCBN(cell_penalty=cell_penalty, max_iter=MAX_ITER)


def _log_posterior_of_class(predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return log P of the class of each row in pools, which are not normalized; at least −20."""
    own = predicted[:, np.arange(classes.size), classes]
    with np.errstate(invalid="ignore"):
        found = own - np.logaddexp.reduce(predicted, axis=2)
    return np.maximum(np.nan_to_num(found, nan=-20.0), -20.0)

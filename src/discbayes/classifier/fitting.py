"""Resolve the settings of a classifier into a plan, and learn networks as the plan says."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from discbayes._text import count_of, listed
from discbayes.bayesnet import BayesNet
from discbayes.calibration import AUTO, Calibration, check_calibration, log_prior_of
from discbayes.classifier.learner_words import learner_in_words
from discbayes.counts import Counts, SufficientStatistics, count
from discbayes.counts.sufficient_statistics import pair_cells
from discbayes.data import (
    Domain,
    FrameEncoder,
    TwoResolutionDiscretizer,
)
from discbayes.data.discretize import DISCRETIZERS
from discbayes.data.frame_encoder import MISSING
from discbayes.data.rows import Rows
from discbayes.data.table_reader import arrow_table
from discbayes.engine import Context, Progress, worker_count
from discbayes.inference import InferenceOptions
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters import (
    HYBRID,
    PARAMETERS,
    HierarchicalSmoothing,
    LevelWeightedCCBN,
)
from discbayes.scores import edge_score_of
from discbayes.search import KDB, STRUCTURES, FixedStructure
from discbayes.search.constraints import read_structure
from discbayes.search.table_sizes import warn_of_sparse_columns

MAX_KEPT_CELLS = 1_000_000  # of the sufficient statistics that fit keeps: 8 MB
UNLABELED = ("error", "drop", "use")
MAX_PARENTS = 3  # of a structure that is chosen
MIN_STATES = 8  # of a numeric column, as its children see it
_AUTO_CALIBRATIONS = {AUTO: "pool", HYBRID: "temperature"}
# what a fit to other rows replaces or forgets
COLUMN_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "csv_format_")
STRICT = "strict"  # how the columns of rows to predict are matched
BY_NAME = "by-name"
COLUMNS = (STRICT, BY_NAME)


# ---- the plan of a fit


@dataclass(frozen=True)
class CalibrationPlan:
    """A calibration method, its number of folds, and whether the user asked for it by name."""

    method: str
    n_folds: int
    required: bool


@dataclass(frozen=True)
class FitPlan:
    """The settings of a classifier, checked and resolved once for one fit.

    Parameters
    ----------
    structure, parameters : learner
        Clones of the learners that the user gave, or the learners of the names.
    encoder : FrameEncoder
        An encoder that is not fitted; `new_encoder` copies it.
    calibration : CalibrationPlan or None
        How the probabilities are calibrated.
    context : Context
        The random generator, threads, progress display and trace of the run.
    rows_needed : str or None
        Why sufficient statistics are not enough to learn from; None if they are.
    class_weight, class_prior, memory, cluster, unlabeled
        As the classifier has them.
    limits : InferenceOptions
        The limits of exact inference.
    chooses, chooses_structure, chooses_missing : bool
        Whether parameters, and the structure and the treatment of missing values as well, are
        chosen by held-out rows.
    """

    structure: Any
    parameters: Any
    encoder: FrameEncoder
    calibration: CalibrationPlan | None
    context: Context
    rows_needed: str | None
    class_weight: Any
    class_prior: Sequence[float] | None
    memory: int | str | None
    cluster: Any
    limits: InferenceOptions
    unlabeled: str = "error"
    chooses: bool = False
    chooses_structure: bool = False
    chooses_missing: bool = False

    @classmethod
    def of(cls, classifier: Any) -> FitPlan:
        """Resolve the settings of a classifier."""
        more = ", None or a transformer"
        _refuse_unknown_name("discretizer", classifier.discretizer, DISCRETIZERS, more)
        _refuse_unknown_name("missing", classifier.missing, MISSING)
        check_columns(classifier.columns)
        structure, parameters = resolve_learners(classifier)
        _check_unlabeled(classifier, parameters)
        calibration = resolve_calibration(classifier)
        chooses = is_auto(classifier.parameters)
        encoder = FrameEncoder(
            resolve_discretizer(classifier.discretizer, parameters),
            classifier.categorical,
            classifier.domains,
            "available" if is_auto(classifier.missing) else classifier.missing,
            classifier.unknown,
            n_jobs=classifier.n_jobs,
            dates=classifier.dates,
        )
        return cls(
            structure=structure,
            parameters=parameters,
            encoder=encoder,
            calibration=calibration,
            context=_new_context(classifier.random_state, classifier.n_jobs, classifier.verbose),
            rows_needed=_why_rows_are_needed(classifier, structure, parameters, calibration),
            class_weight=classifier.class_weight,
            class_prior=classifier.class_prior,
            memory=classifier.memory,
            cluster=classifier.cluster,
            limits=InferenceOptions(
                max_cells=classifier.max_cells, beyond_max_cells=classifier.beyond_max_cells
            ),
            unlabeled=classifier.unlabeled,
            chooses=chooses,
            chooses_structure=chooses and is_auto(classifier.structure),
            chooses_missing=chooses
            and is_auto(classifier.missing)
            and not isinstance(classifier.domains, Domain),
        )

    def new_encoder(self, domain: Domain | None = None) -> FrameEncoder:
        """Return an encoder to fit; of a domain it takes the kinds of the columns, nothing else."""
        encoder = copy(self.encoder)
        if domain is not None:
            encoder.categorical = [variable.kind == "categorical" for variable in domain.features]
        return encoder

    def with_missing(self, missing: str) -> FitPlan:
        """Return the plan with another treatment of missing values."""
        encoder = copy(self.encoder)
        encoder.missing = missing
        return replace(self, encoder=encoder)

    @property
    def learner_of_tables(self) -> str | None:
        """The first learner that needs all rows in one table; None if all of them take blocks."""
        learners = (self.structure, self.parameters)
        return next((type(one).__name__ for one in learners if not supports_blocks(one)), None)


def _new_context(random_state: Any, n_jobs: int | None, verbose: int) -> Context:
    worker_count(n_jobs)  # refuses an invalid n_jobs, however small the data are
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**32, dtype=np.uint64)
    return Context(np.random.default_rng(random_state), n_jobs, Progress(verbose))


def resolve_calibration(classifier: Any) -> CalibrationPlan | None:
    """Return how probabilities are calibrated; "auto" depends on the parameter learner."""
    method = classifier.calibrate
    check_calibration(method, classifier.calibrate_folds)
    if method == AUTO or (method is None and is_auto(classifier.parameters)):
        name = classifier.parameters
        method = _AUTO_CALIBRATIONS.get(name) if isinstance(name, str) else None
    if method is None:
        return None
    return CalibrationPlan(method, classifier.calibrate_folds, classifier.calibrate != AUTO)


def is_auto(setting: Any) -> bool:
    """Return whether a setting is left to the library."""
    return isinstance(setting, str) and setting == AUTO


def resolve_discretizer(discretizer: Any, parameters: Any) -> Any:
    """Return the discretizer; "auto" depends on what the parameter learner can make of numbers."""
    if not is_auto(discretizer):
        return discretizer
    if getattr(parameters, "uses_two_resolutions", False):
        return TwoResolutionDiscretizer("mdlp", min_states=MIN_STATES)
    return "mdlp"


def resolve_learners(classifier: Any) -> tuple[Any, Any]:
    """Return the structure learner and the parameter learner of a classifier.

    Where parameters are chosen, they are those of the first choice, and a structure that is chosen
    too is the largest one.
    """
    structure = classifier.structure
    if is_auto(structure):
        structure = "tan"
        if is_auto(classifier.parameters):
            structure = KDB(MAX_PARENTS, score="loo", selective=True)
    if not isinstance(structure, (str, type)) and not hasattr(structure, "learn"):
        if not isinstance(structure, Structure) and _is_graph(structure):
            structure = list(structure.edges())
        if isinstance(structure, (Structure, Iterable)):
            structure = FixedStructure(structure)
    return (
        _resolve_learner("structure", structure, {AUTO: None, **STRUCTURES}),
        _resolve_learner(
            "parameters", classifier.parameters, {AUTO: LevelWeightedCCBN, **PARAMETERS}
        ),
    )


def _refuse_unknown_name(setting: str, given: Any, known: Iterable[str], others: str = "") -> None:
    """Refuse a name that is not known, and list those that are."""
    names = dict.fromkeys([AUTO, *known])
    if isinstance(given, str) and given not in names:
        choices = ", ".join(map(repr, names))
        raise ValueError(f"{setting}={given!r} is not known; it is one of {choices}{others}")


def _check_unlabeled(classifier: Any, parameters: Any) -> None:
    """Refuse learners that have no use for rows without a label, and unknown words."""
    given = classifier.unlabeled
    if given not in UNLABELED:
        listed = ", ".join(map(repr, UNLABELED))
        raise ValueError(f"unlabeled={given!r} is not known; it is one of {listed}")
    if given == "use" and not getattr(parameters, "uses_unlabeled", False):
        raise ValueError(
            f"unlabeled='use': parameters={classifier.parameters!r} are learned from labeled rows"
            " only. Take 'auto', 'levels', 'hybrid', 'cl', 'mm' or 'ml-bn-svm', whose tables are"
            " normalized, 'map', 'ml' or 'hierarchy' (generative), or unlabeled='drop'"
        )


def check_columns(columns: Any) -> None:
    """Refuse a setting ``columns`` that is not known."""
    if columns not in COLUMNS:
        raise ValueError(f"columns={columns!r} is not known; it is one of {STRICT!r}, {BY_NAME!r}")


def _is_graph(structure: Any) -> bool:
    """Return whether a structure is a graph of networkx, which need not be installed."""
    return hasattr(structure, "edges") and hasattr(structure, "nodes")


def _resolve_learner(setting: str, given: Any, known: Mapping[str, Any]) -> Any:
    """Return a new learner of a name, or a clone of a learner, so that a fit changes no setting."""
    names = ", ".join(map(repr, known))
    if isinstance(given, str):
        _refuse_unknown_name(setting, given, known, ", or a learner")
        return known[given]()
    if isinstance(given, type):
        name = given.__name__
        raise TypeError(f"{setting}={name} is a class: pass an object, {name}(...)")
    if not hasattr(given, "learn"):
        raise TypeError(f"{setting}={given!r} is neither a name ({names}) nor a learner")
    learns_parameters = "structure" in signature(given.learn).parameters
    if learns_parameters != (setting == "parameters"):
        other = "parameters" if learns_parameters else "structure"
        raise TypeError(f"{setting}={given!r} is a learner of the {other}: pass it as {other}=")
    return clone(given)


def supports_blocks(learner: Any) -> bool:
    """Return whether ``learn`` takes blocks of rows, as the class of the learner declares.

    The flag ``supports_blocks`` is inherited, but not by a class that has a ``learn`` of its own.
    """
    for ancestor in type(learner).__mro__:
        if "supports_blocks" in vars(ancestor):
            return bool(vars(ancestor)["supports_blocks"])
        if "learn" in vars(ancestor):
            return False
    return False


# ---- learning a network


def learn_all_rows(
    plan: FitPlan, data: Rows, classes: np.ndarray
) -> tuple[BayesNet, SufficientStatistics | None]:
    """Learn the network of all rows of a fit, and keep their counts where it follows from those.

    An interrupt of the first pass over the rows leaves a search with the best structure so far.
    """
    if data.n_classes == 1:
        warnings.warn(
            f"y has one class only, {data.domain.target.values[0]!r}: it is all that can be"
            " predicted",
            stacklevel=3,
        )
    context = plan.context
    statistics = None
    try:
        if plan.rows_needed is None and _n_cells(plan, data) <= MAX_KEPT_CELLS:
            statistics = count_rows(plan, data, isinstance(plan.encoder.domains, Domain))
    except KeyboardInterrupt:
        if not (getattr(plan.structure, "interruptible", False) and context.interrupts.take()):
            raise
        context = replace(context, interrupted=True)
    if statistics is None:
        data, counts = weigh_and_count(plan, data, classes)
        return learn_network(plan, data, counts, context), None
    return learn_from_statistics(plan, statistics, classes), statistics


def learn_from_statistics(
    plan: FitPlan, statistics: SufficientStatistics, classes: np.ndarray
) -> BayesNet:
    """Learn a network from sufficient statistics alone."""
    if plan.class_weight is not None:
        by_class = class_weights(plan.class_weight, classes, statistics.rows)
        statistics = statistics.with_class_weights(by_class)
    return learn_network(plan, statistics, statistics.counts, plan.context)


def weigh_and_count(plan: FitPlan, data: Any, classes: np.ndarray) -> tuple[Any, Counts]:
    """Multiply class weights into the weights of rows, and count each feature with the class."""
    if plan.class_weight is not None:
        by_class = class_weights(plan.class_weight, classes, data.class_rows)
        data = data.with_class_weights(by_class)
    return data, count(data, plan.context.n_jobs)


def learn_network(plan: FitPlan, data: Any, counts: Counts, context: Context) -> BayesNet:
    """Learn the structure, then the parameters, from weighted rows or sufficient statistics."""
    structure = learn_structure(plan, data, counts, context)
    context.progress.stage(
        "parameters: {learner}, on {edges}",
        learner=learner_in_words(plan.parameters),
        edges=count_of(structure.n_edges, "edge"),
    )
    parameters = plan.parameters.learn(data, counts, structure, context)
    return make_network(plan, data.domain, parameters, counts.class_count)


def learn_structure(plan: FitPlan, data: Any, counts: Counts, context: Context) -> Structure:
    """Learn the structure, and refuse one whose tables are too large."""
    warn_of_sparse_columns(data, counts)
    context.progress.stage(
        "structure: {learner}, on {rows}",
        learner=learner_in_words(plan.structure),
        rows=count_of(data.n_samples, "row"),
    )
    # edges are between columns at the resolution that children see
    coarse_counts = counts.by_state(data.domain.states)
    structure: Structure = plan.structure.learn(data.coarse, coarse_counts, context)
    layout = Layout.of(structure, data)
    layout.require(data.domain.names)
    if structure.class_parents:
        _check_class_parents(plan, data, structure)
    return structure


def _check_class_parents(plan: FitPlan, data: Any, structure: Structure) -> None:
    """Refuse parents of the class where the parameters or the rows do not allow for them."""
    if not getattr(plan.parameters, "supports_class_parents", False):
        parents = listed([data.domain.names[p] for p in structure.class_parents])
        raise ValueError(
            f"{type(plan.parameters).__name__} needs a class without parents, and the structure"
            f" gives {data.domain.target.name!r} the parents {parents}: use the parameters"
            ' "map", "ml", "hybrid", "cl" or "mm"'
        )
    if isinstance(data, SufficientStatistics):
        raise ValueError(
            "partial_fit and merge need a class without parents: use fit, which reads the rows"
        )


def learn_generative(plan: FitPlan, data: Rows, network: BayesNet, classes: np.ndarray) -> BayesNet:
    """Learn the generative estimates of a network, for a log pool with it."""
    data, counts = weigh_and_count(plan, data, classes)
    learner = HierarchicalSmoothing()
    tables = learner.learn(data, counts, network.structure, plan.context)
    return make_network(replace(plan, parameters=learner), data.domain, tables, counts.class_count)


def make_network(
    plan: FitPlan, domain: Domain, parameters: CPTs, class_weight: np.ndarray
) -> BayesNet:
    """Make the network; the ``class_prior`` of the settings replaces that of the rows.

    ``class_weight`` is the weight of the rows of each class. A discriminative learner's prior is
    not the shares of the classes: it is changed by as much as the shares change.
    """
    learned_prior = not getattr(plan.parameters, "prior_is_shares", False)
    if learned_prior and parameters.class_table is None:
        parameters = parameters.learned_with(class_weight)
    network = BayesNet(
        domain,
        parameters,
        max_cells=plan.limits.max_cells,
        beyond_max_cells=plan.limits.beyond_max_cells,
        n_jobs=plan.context.n_jobs,
    )
    if plan.class_prior is None:
        return network
    return network.with_prior(log_prior_of(plan.class_prior, parameters.n_classes))


def share_missing(data: Rows, counts: Counts) -> float:
    """Return the weight of missing values as a share of all values of features that are used."""
    total = counts.class_count.sum()
    used: list[int] = np.flatnonzero(data.cards > 1).tolist()
    if not used or not total > 0:
        return 0.0
    observed = np.sum([counts.feature(i).sum() for i in used])
    return float(np.clip(1 - observed / (total * len(used)), 0.0, 1.0))


def class_weights(class_weight: Any, classes: np.ndarray, class_rows: np.ndarray) -> np.ndarray:
    """Return the weight of a row of each class.

    Parameters
    ----------
    class_weight : "balanced" or mapping
        The setting of the classifier.
    classes : ndarray
        The class labels.
    class_rows : ndarray
        The number of rows of each class.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return class_rows.sum() / (np.count_nonzero(class_rows) * np.maximum(class_rows, 1))
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight={class_weight!r} must be 'balanced' or a dict of weights by class"
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    unnamed = [label for label in labels if label not in class_weight]
    # a class that is not named has weight 1, but beside an unknown name it may be a typing error
    if unknown and unnamed:
        raise ValueError(
            f"class_weight names {unknown[0]!r}, which is not a class, and not {unnamed[0]!r},"
            " which is one"
        )
    try:
        by_class = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight={class_weight!r} must hold numbers: {error}") from error
    if not np.isfinite(by_class).all() or (by_class < 0).any() or not by_class.any():
        raise ValueError(
            f"class_weight={class_weight!r} must hold finite weights, none negative, not all zero"
        )
    return by_class


# ---- sufficient statistics


def count_rows(plan: FitPlan, data: Rows, fixed_classes: bool) -> SufficientStatistics:
    """Count what the structure learner of a plan needs to know of rows."""
    learner, n_jobs = plan.structure, plan.context.n_jobs
    if learner.statistics_needed == "families":
        structure = read_structure(data, learner.structure, "given")
        statistics = SufficientStatistics.of_families(data, structure, n_jobs)
    elif learner.statistics_needed == "features":
        statistics = SufficientStatistics.of_features(data, n_jobs)
    else:
        statistics = SufficientStatistics.of_pairs(data, n_jobs)
    return replace(statistics, fixed_classes=fixed_classes)


def _n_cells(plan: FitPlan, data: Rows) -> int:
    """Return the number of counts that `count_rows` would keep."""
    learner = plan.structure
    if learner.statistics_needed == "features":
        return 0
    if learner.statistics_needed == "pairs":
        return pair_cells(data.domain)
    structure = read_structure(data, learner.structure, "given")
    layout = Layout.of(structure, data)
    layout.require(data.domain.names)
    # the table of a class with parents is not among the counts of families
    return MAX_KEPT_CELLS + 1 if structure.class_parents else layout.size


def why_not_incremental(classifier: Any) -> str | None:
    """Return why a classifier cannot learn from sufficient statistics alone; None if it can."""
    try:
        structure, parameters = resolve_learners(classifier)
        calibration = resolve_calibration(classifier)
    except (ValueError, TypeError) as error:
        return str(error)
    return _why_rows_are_needed(classifier, structure, parameters, calibration)


def _why_rows_are_needed(
    classifier: Any, structure: Any, parameters: Any, calibration: CalibrationPlan | None
) -> str | None:
    """Return which setting needs the rows, and the way out; None if counts are enough."""
    if classifier.unlabeled != "error":
        return f"unlabeled={classifier.unlabeled!r} needs all rows at once: use unlabeled='error'"
    given = f"parameters={classifier.parameters!r}"
    if not getattr(parameters, "learns_from_counts", False):
        return f"{given} needs all rows at once: use parameters='map' or 'ml', or fit"
    if parameters.missing != "available":
        return f"{given}: EM needs all rows at once: use missing='available', or fit"
    reason = _why_search_needs_rows(f"structure={classifier.structure!r}", structure)
    if reason is None and calibration is not None:
        reason = f"calibrate={calibration.method!r} needs held-out rows: use calibrate=None"
    return reason


def _why_search_needs_rows(given: str, learner: Any) -> str | None:
    statistics = getattr(learner, "statistics_needed", None)
    fix = "fix what a fit on some rows finds (structure=clf.structure_), or fit"
    if statistics is None:
        names = "'nb', 'tan', 'tan-fcll', 'tan-acll' or 'kdb' with k=1"
        return f"{given} needs all rows at once: use {names}, {fix} on all"
    if statistics != "pairs":
        return None
    score = edge_score_of(learner.score)
    if not score.counts_pairs_only:
        return f"{given} has a score of your own, which may need rows: {fix} on all"
    if score.em:
        return f"{given}: EM needs all rows at once: use missing='available', or fit"
    return None


# ---- the result of a fit


@dataclass(frozen=True)
class FittedModel:
    """The parts of a fitted classifier.

    Parameters
    ----------
    encoder : FrameEncoder
        The fitted encoder.
    network : BayesNet
        The network of all rows.
    calibration : Calibration or None
        The map to calibrated probabilities.
    statistics : SufficientStatistics or None
        What ``partial_fit`` and ``merge`` go on from.
    history : list of dict
        The trace of the search.
    columns : dict or None
        ``n_features_in_`` and ``feature_names_in_``; None keeps those of the classifier.
    n_rows : int or None
        The number of training rows, if it is known.
    """

    encoder: FrameEncoder
    network: BayesNet
    calibration: Calibration | None = None
    statistics: SufficientStatistics | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    columns: dict[str, Any] | None = None
    n_rows: int | None = None


def adopt(classifier: Any, model: FittedModel) -> None:
    """Give a classifier its fitted attributes in one step.

    An interrupt finds the classifier as it was, or as it will be, and never in between.
    """
    kept = {
        name: value
        for name, value in vars(classifier).items()
        if model.columns is None or name not in COLUMN_ATTRIBUTES
    }
    fitted = {
        "_encoder": model.encoder,
        "sufficient_statistics_": model.statistics,
        "calibration_": model.calibration,
        "classes_": model.encoder.classes_,
        "network_": model.network,
        "structure_": model.network.own_structure,
        "history_": list(model.history),
        "n_samples_seen_": model.n_rows,
    }
    classifier.__dict__ = {**kept, **(model.columns or {}), **fitted}


def table_columns(X: Any) -> dict[str, Any]:
    """Return ``n_features_in_`` and ``feature_names_in_`` of a table, as scikit-learn does."""
    found = BaseEstimator()
    validate_data(found, arrow_table(X), skip_check_array=True)
    return dict(vars(found))


def read_columns(names: Sequence[str], named: bool) -> dict[str, Any]:
    """Return ``n_features_in_``, and ``feature_names_in_`` if columns that were read have names."""
    columns: dict[str, Any] = {"n_features_in_": len(names)}
    if named:
        columns["feature_names_in_"] = np.array(names, dtype=object)
    return columns

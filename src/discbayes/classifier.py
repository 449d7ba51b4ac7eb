"""The estimator: a structure learner, a parameter learner and what stands around them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from discbayes import inference
from discbayes._leaves import leaf
from discbayes.bayesnet import BayesNet
from discbayes.beliefs import Beliefs, log_prior_of
from discbayes.calibration import (
    AUTO,
    CALIBRATIONS,
    ENOUGH_ROWS,
    Calibration,
    check_calibration,
    check_held_out,
    held_out_weights,
    possible_rows,
)
from discbayes.costs import cheapest, cost_matrix
from discbayes.counts import Counts, count
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.columns import Table
from discbayes.data.distinct import table_keys
from discbayes.data.reading import read_table
from discbayes.engine import Context, Progress, worker_count
from discbayes.explanations import (
    Counterfactual,
    Explanation,
    Information,
    Relevance,
    counterfactual,
    explain,
    relevance,
    value_of_information,
)
from discbayes.explanations.relevance import TOLERANCE
from discbayes.explanations.rows import one_row
from discbayes.explanations.wording import class_position
from discbayes.learners import learner_of
from discbayes.network import Structure, Tables
from discbayes.parameters import HYBRID, PARAMETERS
from discbayes.search import STRUCTURES


class BayesNetClassifier(ClassifierMixin, BaseEstimator):
    """A Bayesian network classifier: any way to learn the structure with any way to learn the parameters.

    Parameters
    ----------
    structure : str, learner, Structure or edges, default="tan"
        "nb" (naive Bayes), "tan" (tree by conditional mutual information), "tan-fcll" and "tan-acll" (trees by
        approximations of conditional likelihood), "kdb" (one parent by relevance), "ghc" (hill climbing), a learner
        such as ``KDB(k=2)``, or a known structure: a ``Structure`` or a list of edges ``(parent, child)``.
    parameters : str or learner, default="hybrid"
        "hybrid" (maximises the conditional likelihood of the classes with a pull towards relative frequencies), "ml"
        (relative frequencies, zeros become 1e-5), "map" (one virtual observation spread over each table), "cl"
        (maximises the conditional likelihood alone), "ccbn-d", "ccbn-e" and "ccbn-w" (the same over free numbers,
        normalised tables, or weights on generative ones), "mm" (maximises a soft margin), "dfe" (rows counted by how
        badly they are predicted), "bn-svm" and "ml-bn-svm" (support vector margins), or a learner such as
        ``MaximumAPosteriori("dirichlet", 0.5)``.
    discretizer : "mdlp", "equal-frequency", None or transformer, default="mdlp"
        How numeric columns are cut into intervals, on the training rows only. With None their values are categories.
    categorical : "auto", "all" or list, default="auto"
        Numeric columns that are categories; text columns with very many values must be listed too.
    domains : dict, optional
        All values that a column can have, by column name, where not all of them may be in the training rows.
    missing : {"available", "value", "drop", "error"}, default="available"
        Gaps at fit: counted where they are not, an extra value of the column, rows dropped, or an error. At predict
        gaps are always summed out.
    unknown : {"marginalize", "error"}, default="marginalize"
        Values at predict that were not there at fit: treated as missing, or an error.
    class_weight : "balanced", dict or None
        Weights of the classes, for counting; the cut points do not depend on them.
    class_prior : sequence of float, optional
        Prior probabilities of the classes in the order of ``classes_``; from the data by default.
    calibrate : {"auto", "temperature", "isotonic"} or None, default="auto"
        How the probabilities are made to mean what they say, by what networks that were learned without them say of
        the training rows. "temperature" divides the log-joint by one number, which changes no decision; "isotonic"
        has a rising function for each class, which needs some thousand rows, and two of each class at least.
        "auto" is "temperature" for the default parameters and None for others. ``network_`` and
        ``predict_joint_log_proba`` stay as they are.
    calibrate_folds : int, default=5
        The number of such networks: everything, the cuts included, is learned anew without one fold of the rows. For a
        temperature there are fewer as soon as 5,000 rows were held out. What is in the rows says which fold they are
        in, and a weight of two is the same as the row twice.
    max_factor_size : int
        Cells of the largest factor that exact prediction with gaps may build; more is an error.
    n_draws : int, optional
        Where the factor would be larger, estimate by this many draws instead.
    n_jobs : int, optional
        Threads; None is one, -1 all cores. The result does not depend on it.
    random_state : int, RandomState or None
        For learners that draw.
    verbose : int, default=0
        1 shows the stages of a fit, 2 the steps of a search.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    network_ : BayesNet
        The fitted network: edges, tables, likelihood, queries, samples.
    structure_ : Structure
        Its structure.
    history_ : list of dict
        The trace of the search.
    calibration_ : Temperature, Isotonic or None
        What ``calibrate`` has found: its ``temperature``, or its thresholds ``log_odds`` and ``probabilities``. None
        without it, with one class, and where every class has one row.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier(structure="tan").fit(iris.X, iris.y)
    >>> clf.predict(iris.X.iloc[[0, 60]]).tolist()
    ['setosa', 'versicolor']
    >>> clf.network_.edges()
    [('petal length (cm)', 'sepal length (cm)'), ('sepal length (cm)', 'sepal width (cm)'), ...]
    """

    def __init__(
        self,
        structure: Any = "tan",
        parameters: Any = HYBRID,
        *,
        discretizer: Any = "mdlp",
        categorical: str | Sequence[Any] = "auto",
        domains: Mapping[str, Sequence[Any]] | None = None,
        missing: str = "available",
        unknown: str = "marginalize",
        class_weight: str | Mapping[Any, float] | None = None,
        class_prior: Sequence[float] | None = None,
        calibrate: str | None = AUTO,
        calibrate_folds: int = 5,
        max_factor_size: int = inference.MAX_FACTOR_SIZE,
        n_draws: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.structure = structure
        self.parameters = parameters
        self.discretizer = discretizer
        self.categorical = categorical
        self.domains = domains
        self.missing = missing
        self.unknown = unknown
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.calibrate = calibrate
        self.calibrate_folds = calibrate_folds
        self.max_factor_size = max_factor_size
        self.n_draws = n_draws
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesNetClassifier:
        """Learn the network.

        Parameters
        ----------
        X : frame, array or list of rows
            Numbers, text, categories, booleans; NaN and None are gaps.
        y : sequence of labels
        sample_weight : sequence of float, optional
            A weight of 2 is the same as the row twice, a weight of 0 as the row left out. So their scale matters:
            weights that sum to 1 say that there is one row.
        """
        table = read_table(X)
        validate_data(BaseEstimator(), X, skip_check_array=True)  # this one stays as it is until all is learned
        calibrate = self._calibration_name()
        self._learners()  # refuses what is none before any work is done
        context = self._context()
        context.progress.stage("reading and discretising")
        encoder = self._make_encoder(self.categorical)
        data = encoder.fit_transform(table, y, sample_weight)
        if data.n_classes == 1:
            warnings.warn(
                f"y has one class only, {data.domain.target.values[0]!r}: it is all that can be predicted", stacklevel=2
            )
        held_out = self._held_out(calibrate, table, encoder, data)
        network, calibration = self._learn(data, encoder.classes_, context), None
        if calibrate is not None and held_out is not None:
            calibration = self._learn_calibration(calibrate, held_out, table, encoder, data, context)
        validate_data(self, X, skip_check_array=True)
        self._adopt(encoder, network, calibration)
        self.history_ = context.history
        context.progress.stage("done: {network!r}", network=self.network_)
        return self

    def _learn(self, data: Encoded, classes: np.ndarray, context: Context) -> BayesNet:
        """The network of some rows."""
        parameters = self._learners()[1]
        data, counts, found = self._find_structure(data, classes, context)
        context.progress.stage("parameters: {learner!r} on {edges} edges", learner=parameters, edges=found.n_edges)
        return self._network(data, parameters.learn(data, counts, found, context))

    def _find_structure(
        self, data: Encoded, classes: np.ndarray, context: Context
    ) -> tuple[Encoded, Counts, Structure]:
        """The structure of some rows; with them, weighted, and their counts."""
        learner = self._learners()[0]
        data = self._weighted(data, classes)
        counts = count(data, self.n_jobs)
        context.progress.stage("structure: {learner!r} on {rows} rows", learner=learner, rows=data.n_samples)
        return data, counts, learner.learn(data, counts, context)

    def _network(self, data: Encoded, tables: Tables) -> BayesNet:
        return BayesNet(data.domain, self._with_prior(tables), self.max_factor_size, self.n_draws, self.n_jobs)

    def _calibration_name(self) -> str | None:
        """How probabilities are calibrated; the default is a matter of the parameters."""
        check_calibration(self.calibrate, self.calibrate_folds)
        if self.calibrate != AUTO:
            return self.calibrate
        return "temperature" if self.parameters == HYBRID else None

    def _held_out(self, name: str | None, table: Table, encoder: FrameEncoder, data: Encoded) -> np.ndarray | None:
        """How much of each row is held out in each fold, to calibrate by it; None where nothing is."""
        if name is None or data.n_classes == 1:
            return None
        rows = table if encoder.kept_rows_ is None else table.take(encoder.kept_rows_)
        enough = ENOUGH_ROWS.get(name, np.inf)
        held_out = held_out_weights(table_keys(rows), data.classes, _weights(data), self.calibrate_folds, enough)
        if self.calibrate != AUTO:
            check_held_out(name, held_out, data.classes, list(data.domain.target.values))
        return held_out if held_out.any() else None

    def _learn_calibration(
        self, name: str, held_out: np.ndarray, table: Table, encoder: FrameEncoder, data: Encoded, context: Context
    ) -> Calibration:
        """The map to calibrated probabilities, from what networks say of rows that they were not learned from."""
        rows = table if encoder.kept_rows_ is None else table.take(encoder.kept_rows_)
        said = []
        for fold, rng in enumerate(context.rng.spawn(self.calibrate_folds)):
            if held_out[fold].any():
                context.progress.stage(f"calibration: fold {fold + 1} of {self.calibrate_folds}")
                own = Context(rng, self.n_jobs, Progress(self.verbose - 1))
                said.append(self._held_out_log_joint(rows, encoder.classes_, data, held_out[fold], own))
        weight = self._calibration_weight(data, encoder.classes_)
        shares = np.bincount(data.classes, weight, data.n_classes) / weight.sum()
        at = np.nonzero(held_out)  # fold by fold
        weight = (weight / _weights(data))[at[1]] * held_out[at]
        return CALIBRATIONS[name](np.concatenate(said), data.classes[at[1]], weight, shares)

    def _held_out_log_joint(
        self, rows: Table, classes: np.ndarray, data: Encoded, held_out: np.ndarray, context: Context
    ) -> np.ndarray:
        """What a network that is learned without what is held out says of those rows.

        Only the kinds of the columns are taken from all rows.
        """
        weight = _weights(data) - held_out
        rest = weight > 0
        encoder = self._make_encoder([variable.kind == "categorical" for variable in data.domain.features])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit on all rows has said it
            weight = None if (weight[rest] == 1).all() else weight[rest]
            seen = encoder.fit_transform(rows.take(rest), classes[data.classes[rest]], weight)
            network = self._learn(seen, encoder.classes_, context)
            codes = encoder.transform(rows.take(held_out > 0), "marginalize")
        return possible_rows(network.log_joint_of(codes), network.prior)

    def _calibration_weight(self, data: Encoded, classes: np.ndarray) -> np.ndarray:
        """What each row counts in calibration: the classes have the shares that the network takes for their prior."""
        weight = _weights(self._weighted(data, classes))
        if self.class_prior is None:
            return weight
        shares = np.bincount(data.classes, weight, data.n_classes) / weight.sum()
        prior = np.exp(log_prior_of(self.class_prior, data.n_classes))
        if not (prior * shares).any():
            raise ValueError(
                "calibrate has no rows: the classes that class_prior allows have no weight in class_weight"
            )
        return weight * np.divide(prior, shares, out=np.zeros_like(prior), where=shares > 0)[data.classes]

    def _adopt(self, encoder: FrameEncoder, network: BayesNet, calibration: Calibration | None) -> None:
        self._encoder = encoder
        self.calibration_ = calibration
        self.classes_ = encoder.classes_
        self.network_ = network
        self.structure_ = network.structure

    def _accept(self, X: Any, encoder: FrameEncoder, data: Encoded, tables: Tables, history: list[Any]) -> None:
        """Become a classifier with tables that were learned elsewhere, from data of this encoder."""
        validate_data(self, X, skip_check_array=True)
        self._adopt(encoder, self._network(data, tables), None)
        self.history_ = history

    def _learners(self) -> tuple[Any, Any]:
        return (
            learner_of("structure", self.structure, STRUCTURES, fixed=True),
            learner_of("parameters", self.parameters, PARAMETERS),
        )

    def _context(self) -> Context:
        worker_count(self.n_jobs)  # refuses what is no number of threads, whatever the size of the work
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**32, dtype=np.uint64)
        return Context(np.random.default_rng(seed), self.n_jobs, Progress(self.verbose))

    def _make_encoder(self, categorical: str | Sequence[Any]) -> FrameEncoder:
        return FrameEncoder(self.discretizer, categorical, self.domains, self.missing, self.unknown, n_jobs=self.n_jobs)

    def _weighted(self, data: Encoded, classes: np.ndarray) -> Encoded:
        """The data with the class weights multiplied in."""
        if self.class_weight is None:
            return data
        by_class = compute_class_weight(self.class_weight, classes=classes, y=classes[data.classes])
        if not np.isfinite(by_class).all() or (by_class < 0).any() or not by_class.any():
            raise ValueError(
                f"class_weight={self.class_weight!r} must hold finite weights, none negative, not all zero"
            )
        weight = by_class[data.classes] * (1.0 if data.weight is None else data.weight)
        return replace(data, weight=weight)

    def _with_prior(self, tables: Tables) -> Tables:
        if self.class_prior is None:
            return tables
        return replace(tables, log_prior=log_prior_of(self.class_prior, tables.n_classes))

    # ---- predicting

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log P(c, x observed) of the network, not calibrated: a row for each row of X, a column for each class."""
        return self._current_network().log_joint_of(self._codes(X))

    def predict_proba(self, X: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """P(c | x observed); gaps and unseen values are summed out exactly.

        ``class_prior`` replaces the prior of the fit, for data in which the classes have other shares. Calibrated
        probabilities are those of the shares of the fit; their odds then change as those of the shares do.
        """
        return self._beliefs(class_prior).posterior(self._codes(X))

    def predict_log_proba(self, X: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """Log P(c | x observed), exact also where P is too small for a number."""
        return self._beliefs(class_prior).log_posterior(self._codes(X))

    def predict(self, X: Any, class_prior: Sequence[float] | None = None, costs: Any = None) -> np.ndarray:
        """The most probable class of each row, or the one of the least expected cost; ties go to the first class.

        Parameters
        ----------
        X : frame, array or list of rows
        class_prior : sequence of float, optional
            As in ``predict_proba``.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            ``costs[i][j]`` is what it costs to decide for class j where class i is true, in the order of ``classes_``;
            or ``{truth: {decision: cost}}``, where all else costs nothing.
        """
        beliefs, codes = self._beliefs(class_prior), self._codes(X)
        if costs is None:
            return self.classes_[beliefs.decisions(codes)]
        return self.classes_[cheapest(beliefs.posterior(codes), cost_matrix(costs, self.classes_))]

    def expected_costs(self, X: Any, costs: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """What each decision is expected to cost: a row for each row of X, a column for each class.

        ``costs`` and ``class_prior`` are as in ``predict``.
        """
        beliefs = self._beliefs(class_prior)
        return beliefs.posterior(self._codes(X)) @ cost_matrix(costs, self.classes_)

    # ---- explaining

    def explain(self, X: Any, against: Any = None, class_prior: Sequence[float] | None = None) -> Explanation:
        """What each known value of a row adds to the log odds of each class.

        The values become known one after the other, parents before children (``Explanation.order``); each adds what it
        changes, given those before it. The log odds without any value and all contributions add up to the log odds of
        ``predict_proba``. Gaps and unseen values are summed out and listed as unknown.

        Parameters
        ----------
        X : frame, array or list of rows
        against : label, optional
            Compare each class with this one instead of all others together.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.explain(iris.X.iloc[[60]])
        prior: −0.64 for versicolor
        petal width (cm) in [0.8, 1.75): +2.1 for versicolor
        petal length (cm) in [2.45, 4.75): +0.96 for versicolor, given petal width (cm) in [0.8, 1.75)
        sepal length (cm) < 5.55: −0.64 for versicolor, given petal length (cm) in [2.45, 4.75)
        sepal width (cm) < 2.95: +0.42 for versicolor, given sepal length (cm) < 5.55
        sum: +2.2 for versicolor, which has the probability 0.901
        """
        beliefs = self._beliefs(class_prior)
        place = None if against is None else class_position(self.classes_, against, "against")
        return explain(beliefs, self._codes(X), place)

    def relevance(
        self, X: Any, y: Any = None, tolerance: float = TOLERANCE, class_prior: Sequence[float] | None = None
    ) -> Relevance:
        """How much each column matters for the decisions in some rows, and which columns could go.

        The relevance of a column is how far it moves the log odds of the decisions, by the contributions of
        ``explain``: a column that says what its parents have said already counts for little. Columns could go, the
        least relevant first, where hiding all of them together loses little of what the columns say about the classes;
        ``hidden`` has what becomes of the decisions then. Hidden columns are summed out: what a fit without them would
        be is for another fit to tell.

        Parameters
        ----------
        X : frame, array or list of rows
        y : sequence of labels, optional
            With them it also says what hiding the columns does to accuracy and log loss.
        tolerance : float, default=0.01
            How much may be lost, as a share: what the columns say is the mean divergence (Kullback-Leibler) of
            P(c | x) with them from P(c | x) without.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> wine = load_dataset("wine")
        >>> clf = BayesNetClassifier().fit(wine.X, wine.y)
        >>> print(clf.relevance(wine.X).text(most=2))
        column            changes the log odds by  share  unknown
        flavanoids                           1.51  18.4%     0.0%
        alcohol                              1.00  12.2%     0.0%
        11 other columns                           69.4%
        5 columns could go: proanthocyanins, total_phenols, ...; without them 0.00% of the decisions change
        """
        beliefs, codes = self._beliefs(class_prior), self._codes(X)
        classes = None if y is None else beliefs.network._classes(y, codes.shape[1])
        return relevance(beliefs, codes, classes, tolerance)

    def counterfactual(
        self,
        x: Any,
        target: Any = None,
        keep: str | Sequence[Any] = (),
        max_changes: int = 5,
        class_prior: Sequence[float] | None = None,
    ) -> Counterfactual:
        """The smallest set of changes of known values that leads to another decision of ``predict``.

        One and two changes are exact: all of them are tried, and of the smallest sets the one that makes the new
        decision most probable is taken. More changes are searched for, and the result says whether fewer may be enough
        (``proven``). Gaps stay gaps. Where nothing leads there the result says so (``found``).

        Parameters
        ----------
        x : row
            A frame, array or list of one row, a list of the values of a row, or a mapping (or series) of column names
            to values, where what is left out is missing.
        target : label, optional
            The decision to reach; any other than that of the row by default.
        keep : column or columns, optional
            What must not change, such as age and sex.
        max_changes : int, default=5
            The largest set to look for.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.counterfactual(iris.X.iloc[[60]], keep="petal width (cm)")
        now: versicolor with the probability 0.901
        2 changes, the fewest possible, lead to setosa with the probability 0.571:
          sepal width (cm) from < 2.95 to ≥ 3.35 (now 2, then 3.35 or more)
          petal length (cm) from [2.45, 4.75) to < 2.45 (now 3.5, then below 2.45)
        others of that size:
          sepal width (cm) to [2.95, 3.35), petal length (cm) to < 2.45: setosa with the probability 0.429
          sepal width (cm) to ≥ 3.35, petal length (cm) to ≥ 4.75: setosa with the probability 0.423
        """
        beliefs, (row, codes) = self._beliefs(class_prior), self._one_row(x)
        return counterfactual(beliefs, codes, row, target, keep, max_changes)

    def value_of_information(
        self,
        x: Any,
        costs: Any = None,
        prices: Mapping[str, float] | None = None,
        class_prior: Sequence[float] | None = None,
    ) -> Information:
        """What to ask next: how much of the doubt about the class each missing column of a row is expected to remove.

        With costs also what it is expected to save, less its price. All of it is exact, on any structure.

        Parameters
        ----------
        x : row
            As in ``counterfactual``. A value that was never seen at fit counts as missing.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            As in ``predict``.
        prices : mapping of column names to numbers, optional
            What it costs to know a column, in the unit of the costs; nothing for those left out.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.value_of_information({"sepal length (cm)": 5.0}).best
        'petal width (cm)'
        """
        beliefs, (_, codes) = self._beliefs(class_prior), self._one_row(x)
        return value_of_information(beliefs, codes, costs, prices)

    def _one_row(self, x: Any) -> tuple[Table, np.ndarray]:
        """A row as it was read, and its codes."""
        row = one_row(x, self.network_.domain.names)
        return row, self._encoder.transform(row, self.unknown)

    def _beliefs(self, class_prior: Sequence[float] | None = None) -> Beliefs:
        """What is believed under the settings in force now."""
        network = self._current_network()
        log_prior = None if class_prior is None else log_prior_of(class_prior, self.classes_.size)
        return Beliefs(network, self.classes_, self.calibration_, log_prior)

    def _codes(self, X: Any) -> np.ndarray:
        table = read_table(X)
        try:
            validate_data(self, X, skip_check_array=True, reset=False)
        except ValueError as error:
            raise ValueError(f"{str(error).rstrip()}\n{self._way_out(table)}".rstrip()) from None
        return self._encoder.transform(table, self.unknown)

    def _way_out(self, table: Table) -> str:
        """What to do about columns that are not those of the fit, after scikit-learn has said that they are not."""
        if not (table.named and hasattr(self, "feature_names_in_")):
            return ""
        names = [repr(str(name)) for name in self.feature_names_in_]
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        return (
            f"The columns of the fit are {listed}: select them with X[list(clf.feature_names_in_)], and add what you "
            "do not have as a column of None\n"
        )

    def _current_network(self) -> BayesNet:
        """The network under the settings in force now: ``set_params`` after ``fit`` counts."""
        check_is_fitted(self)
        return replace(self.network_, max_factor_size=self.max_factor_size, n_draws=self.n_draws, n_jobs=self.n_jobs)

    # ---- files, notebook, scikit-learn

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to one JSON file; ``discbayes.load`` reads it."""
        check_is_fitted(self)
        leaf("io").save(self, path)

    def report(self, path: str | Path | None = None, X: Any = None, y: Any = None) -> Any:
        """One HTML page about the fitted classifier, to look at, to ask and to send to others; it fetches nothing.

        It draws the network with its tables, and answers in the page itself what follows from any values that are set:
        the probabilities, why, and what to ask next. Rows and their labels add how well it does on them.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the page.
        X, y : optional
            Rows and labels that the classifier has not learned from. Neither goes into the page, only figures of them.

        Returns
        -------
        Report
            It shows itself in a notebook; ``html`` is the whole page and ``save(path)`` writes it.
        """
        page = leaf("report").make_report(self, X, y)
        if path is not None:
            page.save(path)
        return page

    def _repr_html_inner(self) -> str:
        page = super()._repr_html_inner()
        return page + self.network_._repr_html_() if hasattr(self, "network_") else page

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle and hasattr(self, "network_"):
            bundle["text/html"] += self.network_._repr_html_()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _weights(data: Encoded) -> np.ndarray:
    return np.ones(data.n_samples) if data.weight is None else data.weight

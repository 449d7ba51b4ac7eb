"""The estimator: a structure learner, a parameter learner and what stands around them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discbayes import inference
from discbayes._lazy_imports import leaf
from discbayes.bayesnet import BayesNet
from discbayes.calibrated_posterior import CalibratedPosterior, log_prior_of
from discbayes.calibration import AUTO, Calibration
from discbayes.classifier.calibrating import Calibrating
from discbayes.classifier.columns import COLUMNS, columns_of
from discbayes.classifier.incremental import Incremental
from discbayes.classifier.learners import learner_of
from discbayes.classifier.passes import Passes, over_batches
from discbayes.costs import cheapest, cost_matrix
from discbayes.counts import Counts, SufficientStatistics, count
from discbayes.data import Domain, Encoded, FrameEncoder
from discbayes.data.rows import Rows
from discbayes.data.table_reader import read_table
from discbayes.engine import Context, DaskEngine, Progress, worker_count
from discbayes.explanations.mixin import Explaining
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters import HYBRID, PARAMETERS
from discbayes.search import STRUCTURES
from discbayes.search.base import Search
from discbayes.search.table_sizes import warn_of_sparse_columns
from discbayes.streams import is_source


class BayesNetClassifier(
    Explaining, Calibrating, Incremental, Passes, ClassifierMixin, BaseEstimator
):
    """A Bayesian network classifier: any way to learn the structure with any way to learn the
    parameters.

    Parameters
    ----------
    structure : str, learner, Structure or edges, default="tan"
        "nb" (naive Bayes), "tan" (tree by conditional mutual information), "tan-fcll" and
        "tan-acll" (trees by approximations of conditional likelihood), "kdb" (one parent by
        relevance), "ghc" (hill climbing), a learner such as ``KDB(k=2)``, or a known structure: a
        ``Structure`` or a list of edges ``(parent, child)``.
    parameters : str or learner, default="hybrid"
        "hybrid" (maximises the conditional likelihood of the classes with a pull towards relative
        frequencies), "ml" (relative frequencies, zeros become 1e-5), "map" (one virtual observation
        spread over each table), "cl" (maximises the conditional likelihood alone), "ccbn-d",
        "ccbn-e" and "ccbn-w" (the same over free numbers, normalised tables, or weights on
        generative ones), "mm" (maximises a soft margin), "dfe" (rows counted by how badly they are
        predicted), "bn-svm" and "ml-bn-svm" (support vector margins), or a learner such as
        ``MaximumAPosteriori("dirichlet", 0.5)``.
    discretizer : "mdlp", "equal-frequency", None or transformer, default="mdlp"
        How numeric columns are cut into intervals, on the training rows only. With None their
        values are categories.
    categorical : "auto", "all" or list, default="auto"
        Numeric columns that are categories; text columns with very many values must be listed too.
    domains : dict or Domain, optional
        All values that a column can have, by column name, where not all of them may be in the
        training rows. Or all there is to know about all columns and the class, cut points included,
        such as ``network_.domain`` of another classifier: ``discretizer`` and ``categorical`` have
        no part then, nor has ``missing="value"``.
    missing : {"available", "value", "drop", "error"}, default="available"
        Missing values at fit: statistics are estimated from the observed values, "missing" is one
        more value of the columns that have any, rows are dropped, or an error. At predict missing
        values are marginalized exactly; with "value", those of columns that had any at fit are that
        value. Columns that a mapping does not name are unknown and always marginalized.
    unknown : {"marginalize", "error"}, default="marginalize"
        Values at predict that were not there at fit: treated as missing, or an error.
    class_weight : "balanced", dict or None
        Weights of the classes, for counting; the cut points do not depend on them.
    class_prior : sequence of float, optional
        Shares of the classes where the classifier will be used, in the order of ``classes_``; those
        of the rows, as ``class_weight`` counts them, by default. With frequencies they are the
        prior of the network; a prior that was learned to tell classes apart changes by as much as
        the shares do.
    calibrate : {"auto", "temperature", "isotonic"} or None, default="auto"
        How the probabilities are made to mean what they say, by what networks that were learned
        without them say of the training rows. "temperature" divides the log-joint by one number,
        which changes no decision; "isotonic" has a rising function for each class, which needs some
        thousand rows, and two of each class at least. "auto" is "temperature" for the default
        parameters and None for others. ``network_`` and ``predict_joint_log_proba`` stay as they
        are.
    calibrate_folds : int, default=5
        The number of such networks: everything, the cuts included, is learned anew without one fold
        of the rows. For a temperature there are fewer as soon as 5,000 rows were held out. What is
        in the rows says which fold they are in, and a weight of two is the same as the row twice.
        Of more than 500,000 rows, so many are held out in all.
    max_factor_size : int
        Cells of the largest factor that exact prediction with gaps may build; more is an error.
    n_draws : int, optional
        Where the factor would be larger, estimate by this many draws instead.
    n_jobs : int, optional
        Threads; None is one, -1 all cores. The result does not depend on it.
    memory : int or str, optional
        Where rows are read from files or in batches: about how many bytes they may take at a time,
        such as ``"2GB"``, beside the library itself; 512 MiB by default. The temporary folder, for
        codes, is that of ``tempfile``. Rows are read twice, and twice more for each network that
        ``calibrate`` needs.
    cluster : str, int or distributed.Client, optional
        Where ``fit`` works on the rows (extra ``dask``): the address of a Dask scheduler, such as
        ``"tcp://10.0.0.5:8786"``, a number of worker processes that are started on this machine for
        the time of the fit (a script needs ``if __name__ == "__main__":`` then), or a client. The
        model has the same bits as without it, unless columns are cut on a summary (see ``fit``),
        which differs within its bound. ``memory`` is that of this process and of each worker. A
        Dask collection is worked on by the client that is active, if there is one. Model files do
        not hold this setting, and pickles hold no client.
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
        The trace of the search. If it left out edges because of the size of their tables, the first
        step says so: ``left_out`` is their number, ``edges`` the first hundred, and ``reason`` the
        text of the warning. The ``seconds`` of its steps are not saved.
    calibration_ : Temperature, Isotonic or None
        What ``calibrate`` has found: its ``temperature``, or its thresholds ``log_odds`` and
        ``probabilities``. None without it, with one class, and where every class has one row.
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
        domains: Mapping[str, Sequence[Any]] | Domain | None = None,
        missing: str = "available",
        unknown: str = "marginalize",
        class_weight: str | Mapping[Any, float] | None = None,
        class_prior: Sequence[float] | None = None,
        calibrate: str | None = AUTO,
        calibrate_folds: int = 5,
        max_factor_size: int = inference.MAX_FACTOR_SIZE,
        n_draws: int | None = None,
        n_jobs: int | None = None,
        memory: int | str | None = None,
        cluster: Any = None,
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
        self.memory = memory
        self.cluster = cluster
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BayesNetClassifier:
        """Learn the network.

        Rows that do not fit in memory are read twice from where they are, in the order of the rows,
        and kept as codes in a temporary file. The network has the same bits as that of the whole
        table, but for numeric columns with more than 200,000 values, or fewer if ``memory`` is
        short (20 such columns need 512 MiB): they are cut on a summary. Learners that need all rows
        at once get the codes in memory if they fit in ``memory``, and are refused by name if not.
        Calibrating reads the rows twice more for each fold, of which the default needs one from
        25,000 rows on: ``calibrate=None`` avoids it.

        Parameters
        ----------
        X : frame, array, list of rows, or where to read them
            Numbers, text, categories, booleans; NaN and None are gaps. To be read: a file (Parquet,
            CSV, Arrow), a folder or a list of files, a pyarrow dataset, a Dask DataFrame or Array,
            or an iterator of frames or of pairs (X, y).
        y : sequence of labels, or str
            The name of the target column where rows are read; nothing for pairs.
        sample_weight : sequence of float or str, optional
            A weight of 2 is the same as the row twice, a weight of 0 as the row left out. So their
            scale matters. Weights that sum to 1 or less over several rows can only be shares of
            rows, as boosting gives them: they are scaled to a mean of 1 over the rows of positive
            weight, with a `DataWarning`. Where rows are read, the name of a column.
        """
        with self._engine(X) as engine:
            learn = self._fit_source if is_source(X) else self._fit_table
            return learn(X, y, sample_weight, engine)

    def _fit_table(
        self, X: Any, y: Any, sample_weight: Any, engine: DaskEngine | None
    ) -> BayesNetClassifier:
        """Learn the network of a table in memory."""
        table = read_table(X)
        columns = columns_of(X)
        name = self._calibration_name()
        context = self._context(engine)
        context.progress.stage("reading and discretising")
        encoder, data = self._encode_training(table, y, sample_weight)
        calibrate = self._calibration_of_table(name, table, encoder, data)
        network, tallies = self._learn_and_count(data, encoder.classes_, context)
        calibration = calibrate(context)
        self._adopt(encoder, network, calibration, tallies, context.history, columns)
        context.progress.stage("done: {network!r}", network=self.network_)
        return self

    def _encode_training(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[FrameEncoder, Encoded]:
        """The rows of a fit as codes, and the encoder; warns of what is noteworthy in the
        columns.
        """
        encoder = self._make_encoder(self.categorical)
        data = encoder.fit_transform(X, y, sample_weight)
        encoder.warn_of_unused()
        return encoder, data

    def _learn_and_count(
        self, data: Rows, classes: np.ndarray, context: Context
    ) -> tuple[BayesNet, SufficientStatistics | None]:
        """The network of all rows, and their counts where it follows from those."""
        if data.n_classes == 1:
            warnings.warn(
                f"y has one class only, {data.domain.target.values[0]!r}: it is all that can be"
                " predicted",
                stacklevel=4,
            )
        data = self._on_cluster(data, context)
        try:
            tallies = self._tallies_of_fit(data, context)
        except KeyboardInterrupt:
            if not (isinstance(self._learners()[0], Search) and context.interrupts.take()):
                raise
            tallies, context = None, replace(context, interrupted=True)
        if tallies is None:
            return self._learn(data, classes, context), None
        return self._learn_from(tallies, classes, context), tallies

    def _learn(self, data: Any, classes: np.ndarray, context: Context) -> BayesNet:
        """The network of some rows."""
        parameters = self._learners()[1]
        data = self._on_cluster(data, context)
        data, counts, found = self._find_structure(data, classes, context)
        context.progress.stage(
            "parameters: {learner!r} on {edges} edges", learner=parameters, edges=found.n_edges
        )
        return self._network(
            data, parameters.learn(data, counts, found, context), counts.class_count
        )

    def _find_structure(
        self, data: Any, classes: np.ndarray, context: Context
    ) -> tuple[Any, Counts, Structure]:
        """The structure of some rows; with them, weighted, and their counts."""
        learner = self._learners()[0]
        data = self._weighted(data, classes)
        counts = count(data, self.n_jobs)
        warn_of_sparse_columns(data, counts)
        context.progress.stage(
            "structure: {learner!r} on {rows} rows", learner=learner, rows=data.n_samples
        )
        found = learner.learn(data, counts, context)
        Layout(found, data.cards, data.n_classes).require(data.domain.names)
        return data, counts, found

    def _network(self, data: Any, tables: CPTs, class_weight: np.ndarray | None = None) -> BayesNet:
        """The network, with the prior that was asked for in the place of the shares of the rows."""
        if class_weight is not None and not getattr(self._learners()[1], "prior_is_shares", False):
            tables = tables.learned_with(class_weight)
        if self.class_prior is not None:
            tables = tables.with_prior(log_prior_of(self.class_prior, tables.n_classes))
        return BayesNet(data.domain, tables, self.max_factor_size, self.n_draws, self.n_jobs)

    def _adopt(
        self,
        encoder: FrameEncoder,
        network: BayesNet,
        calibration: Calibration | None,
        tallies: SufficientStatistics | None = None,
        history: Sequence[dict[str, Any]] = (),
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Become what was learned, in one step: an interrupt finds the classifier as it was, or as
        it will be.
        """
        kept = {
            name: value
            for name, value in vars(self).items()
            if columns is None or name not in COLUMNS
        }
        learned = {
            "_encoder": encoder,
            "_tallies": tallies,
            "calibration_": calibration,
            "classes_": encoder.classes_,
            "network_": network,
            "structure_": network.structure,
            "history_": list(history),
        }
        self.__dict__ = {**kept, **(columns or {}), **learned}

    def _accept(
        self, X: Any, encoder: FrameEncoder, data: Encoded, tables: CPTs, history: list[Any]
    ) -> None:
        """Become a classifier with tables that were learned elsewhere, from data of this
        encoder.
        """
        class_weight = np.bincount(data.classes, data.weight, data.n_classes)
        self._adopt(
            encoder, self._network(data, tables, class_weight), None, None, history, columns_of(X)
        )

    def _learners(self) -> tuple[Any, Any]:
        return (
            learner_of("structure", self.structure, STRUCTURES, fixed=True),
            learner_of("parameters", self.parameters, PARAMETERS),
        )

    def _context(self, engine: DaskEngine | None = None) -> Context:
        # refuses what is no number of threads, whatever the size of the work
        worker_count(self.n_jobs)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**32, dtype=np.uint64)
        return Context(
            np.random.default_rng(seed), self.n_jobs, Progress(self.verbose), engine=engine
        )

    def _make_encoder(self, categorical: str | Sequence[Any]) -> FrameEncoder:
        return FrameEncoder(
            self.discretizer,
            categorical,
            self.domains,
            self.missing,
            self.unknown,
            n_jobs=self.n_jobs,
        )

    def _weighted(self, data: Any, classes: np.ndarray) -> Any:
        """The data with the class weights multiplied in."""
        if self.class_weight is None:
            return data
        return data.with_class_weights(self._class_weights(classes, data.class_rows))

    def _class_weights(self, classes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """What a row of each class counts, where there are so many rows of each."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return rows.sum() / (np.count_nonzero(rows) * np.maximum(rows, 1))
        by_class = self._given_class_weights(classes)
        if not np.isfinite(by_class).all() or (by_class < 0).any() or not by_class.any():
            raise ValueError(
                f"class_weight={self.class_weight!r} must hold finite weights, none negative, not"
                " all zero"
            )
        return by_class

    def _given_class_weights(self, classes: np.ndarray) -> np.ndarray:
        """The weights of a mapping; a class that it does not name counts once, unless it names what
        is no class.
        """
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(
                f"class_weight={self.class_weight!r} must be 'balanced' or a dict of weights by"
                " class"
            )
        labels = classes.tolist()
        odd = [label for label in self.class_weight if label not in labels]
        without = [label for label in labels if label not in self.class_weight]
        if odd and without:
            raise ValueError(
                f"class_weight names {odd[0]!r}, which is no class, and not {without[0]!r}, which"
                " is one"
            )
        try:
            return np.array([float(self.class_weight.get(label, 1.0)) for label in labels])
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"class_weight={self.class_weight!r} must hold numbers: {error}"
            ) from error

    # ---- predicting

    @over_batches
    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log P(c, x observed) of the network, not calibrated: a row for each row of X, a column
        for each class.
        """
        return self._current_network().log_joint_of(self._codes(X))

    @over_batches
    def predict_proba(self, X: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """P(c | x observed); missing and unseen values are marginalized exactly.

        With ``missing="value"`` a missing value is a value of its column, if the column had any at
        fit; what a mapping leaves out is unknown.

        ``class_prior`` replaces the prior of the fit, for data in which the classes have other
        shares. Calibrated probabilities are those of the shares of the fit; their odds then change
        as those of the shares do.
        """
        return self.calibrated_posterior(class_prior).posterior(self._codes(X))

    @over_batches
    def predict_log_proba(self, X: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """Log P(c | x observed), exact also where P is too small for a number."""
        return self.calibrated_posterior(class_prior).log_posterior(self._codes(X))

    @over_batches
    def predict(
        self, X: Any, class_prior: Sequence[float] | None = None, costs: Any = None
    ) -> np.ndarray:
        """The most probable class of each row, or the one of the least expected cost; ties go to
        the first class.

        Parameters
        ----------
        X : frame, array, list of rows, or where to read them, as in ``fit``
            Of a file, columns that the fit did not have are left out.
        class_prior : sequence of float, optional
            As in ``predict_proba``.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            ``costs[i][j]`` is what it costs to decide for class j where class i is true, in the
            order of ``classes_``; or ``{truth: {decision: cost}}``, where all else costs nothing.
        """
        beliefs, codes = self.calibrated_posterior(class_prior), self._codes(X)
        if costs is None:
            return self.classes_[beliefs.decisions(codes)]
        return self.classes_[cheapest(beliefs.posterior(codes), cost_matrix(costs, self.classes_))]

    @over_batches
    def expected_costs(
        self, X: Any, costs: Any, class_prior: Sequence[float] | None = None
    ) -> np.ndarray:
        """What each decision is expected to cost: a row for each row of X, a column for each class.

        ``costs`` and ``class_prior`` are as in ``predict``.
        """
        beliefs = self.calibrated_posterior(class_prior)
        return beliefs.posterior(self._codes(X)) @ cost_matrix(costs, self.classes_)

    def calibrated_posterior(
        self, class_prior: Sequence[float] | None = None
    ) -> CalibratedPosterior:
        """What is believed under the settings in force now."""
        network = self._current_network()
        log_prior = None if class_prior is None else log_prior_of(class_prior, self.classes_.size)
        return CalibratedPosterior(network, self.classes_, self.calibration_, log_prior)

    def _codes(self, X: Any) -> np.ndarray:
        return self._encoder.transform(self._known_table(X), self.unknown)

    def _current_network(self) -> BayesNet:
        """The network under the settings in force now: ``set_params`` after ``fit`` counts."""
        check_is_fitted(self)
        return replace(
            self.network_,
            max_factor_size=self.max_factor_size,
            n_draws=self.n_draws,
            n_jobs=self.n_jobs,
        )

    # ---- files, notebook, scikit-learn

    def save(self, path: str | Path, counts: bool = True) -> None:
        """Write the fitted classifier to one JSON file; ``discbayes.load`` reads it.

        With ``counts`` it can go on learning by ``partial_fit`` and ``merge`` where it could
        before. They take 1.3 to 5 bytes each, or 11 where rows have weights: twice the rest of the
        file is common with ``"tan"``.
        """
        check_is_fitted(self)
        leaf("io").save(self, path, counts)

    def report(self, path: str | Path | None = None, X: Any = None, y: Any = None) -> Any:
        """One HTML page about the fitted classifier, to look at, to ask and to send to others; it
        fetches nothing.

        It draws the network with its tables, and answers in the page itself what follows from any
        values that are set: the probabilities, why, and what to ask next. Rows and their labels add
        how well it does on them.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the page.
        X, y : optional
            Rows and labels that the classifier has not learned from. Neither goes into the page,
            only figures of them.

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

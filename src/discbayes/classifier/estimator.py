"""The scikit-learn estimator: `BayesNetClassifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from discbayes import inference
from discbayes._lazy_imports import leaf
from discbayes._settings import is_integer, require_integer
from discbayes._text import count_of
from discbayes.bayesnet import BayesNet
from discbayes.calibration import AUTO, CalibratedPosterior, Calibration, log_prior_of
from discbayes.classifier.calibrating import assign_calibration_folds, learn_calibration
from discbayes.classifier.choosing import choose_network
from discbayes.classifier.error_bars import ErrorBars, bootstrap, dirichlet
from discbayes.classifier.fitting import (
    STRICT,
    FitPlan,
    FittedModel,
    adopt,
    learn_all_rows,
    learn_from_statistics,
    learn_generative,
    read_columns,
    table_columns,
)
from discbayes.classifier.incremental import (
    add_batches,
    available_with_counts,
    merge_statistics,
    statistics_so_far,
)
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.classifier.training_rows import open_training_rows
from discbayes.classifier.unlabeled import use_unlabeled
from discbayes.costs import DecisionCosts
from discbayes.counts import SufficientStatistics
from discbayes.data import Domain, FrameEncoder
from discbayes.data.dates import EXPAND
from discbayes.data.evidence import EvidenceColumn
from discbayes.data.mappings import positions
from discbayes.data.table import Table
from discbayes.explanations import (
    Counterfactual,
    DecisionDraws,
    Explanation,
    Information,
    Lookahead,
    Questionnaire,
    Relevance,
    build_questionnaire,
    column_prices,
    counterfactual,
    explain,
    learn_decision_map,
    relevance,
    value_of_information,
)
from discbayes.explanations.relevance import TOLERANCE
from discbayes.explanations.single_row import one_row
from discbayes.explanations.wording import class_position
from discbayes.inference import WithOldLimits, renamed_limits
from discbayes.network import Structure
from discbayes.streams import BatchRows, LabeledRows, bytes_of, is_source


class BayesNetClassifier(WithOldLimits, PosteriorClassifier):
    """A Bayesian network classifier: any structure learner with any parameter learner.

    Parameters
    ----------
    structure : str, learner, Structure or edges, default="auto"
        The structure learner: "auto" (with the parameters "auto", features ordered by relevance
        with up to three parents each, their number chosen by held-out rows; "tan" with others),
        "nb" (naive Bayes), "tan" (tree by conditional mutual information), "tan-fcll" and
        "tan-acll" (trees by approximations of the conditional likelihood), "kdb" (one parent,
        features ordered by relevance), "ghc" (hill climbing), "blanket" (hill climbing where the
        class may have parents), a learner such as ``KDB(k=2)``, or a known structure: a
        ``Structure`` or a list of edges ``(parent, child)``.
    parameters : str or learner, default="auto"
        The parameter learner: "auto" (``LevelWeightedCCBN``, weights of back-off levels that
        maximize the conditional likelihood, with free parameters if held-out rows speak for them),
        "hierarchy" (``HierarchicalSmoothing``, its generative estimates), "levels"
        (``LevelWeightedCCBN`` without a choice), "hybrid" (maximizes the conditional likelihood of
        the classes, regularized towards the generative estimates), "ml" (maximum likelihood, zeros
        become 1e-5), "map" (one virtual observation spread over each table), "cl" (maximizes the
        conditional likelihood, with a penalty), "ccbn-d", "ccbn-e" and "ccbn-w" (maximize it over
        unconstrained parameters, normalized tables, or weights on generative ones), "mm" (maximizes
        a soft margin, with a penalty), "dfe" (discriminative frequency estimates), "bn-svm" and
        "ml-bn-svm" (support vector margins), or a learner such as
        ``MaximumAPosteriori("dirichlet", 0.5)``.
    discretizer : str, None or transformer, default="auto"
        How numeric columns are discretized, on the training rows only: "auto" (two resolutions for
        parameters "auto", "levels" and "hierarchy", else "mdlp"), "mdlp", "equal-frequency",
        "two-resolution" (fine intervals for the column itself, coarse ones for its children, which
        also see groups of the values of a column of categories that has very many), or a
        discretizer such as ``TwoResolutionDiscretizer("equal-frequency", n_fine=20)``. With None
        their values are categories.
    categorical : "auto", "all" or list, default="auto"
        The numeric columns that are categories; text columns with very many values must be listed
        too.
    domains : dict or Domain, optional
        All values of a column, by column name, where not all of them may be in the training rows.
        Or the domain of all columns and the class, cut points included, such as
        ``network_.domain`` of another classifier: ``discretizer``, ``categorical`` and
        ``missing="value"`` have no effect then.
    missing : {"auto", "available", "value", "drop", "error"}, default="auto"
        Missing values at fit. "available": statistics are estimated from the observed values
        (available-case analysis). "value": "missing" is one more value of the columns that have
        any. "auto": the one of both that predicts held-out rows better, if parameters are "auto",
        and "available" else; ``history_`` has the choice. "drop": incomplete rows are left out.
        "error": they are refused. At prediction time missing values are marginalized exactly; with
        "value", those of columns that had any at fit are that value. Where "auto" has chosen
        "value", that holds for rows whose missing values are like those of the training rows; in
        other rows they are marginalized (``LogPool.usual``). Columns that a mapping does not name
        are always marginalized.
    dates : {"expand", "drop", "error"}, default="expand"
        Columns of dates. "expand": year, month, weekday (1 to 7, from Monday on), hour, and days
        since 2000 are columns in their place, named such as "admission (month)"; a part without an
        informative cut point is not used. Later rows have the dates. "drop": they are not used.
        "error": they are refused. Text of which all values are dates counts as dates if it has more
        than 50 values, or a new one in most rows.
    unlabeled : {"error", "drop", "use"}, default="error"
        Rows without a label (NaN or None) at fit. "error": they are refused. "drop": they are left
        out. "use": parameters are learned from them as well, as far as that lowers the log loss of
        held-out labeled rows; their weight is chosen by these, and may be 0. Generative parameters
        take them by expectation-maximization over the class, "auto", "levels", "hybrid", "cl", "mm"
        and "ml-bn-svm" add their marginal likelihood; others are refused. Cut points, structure,
        folds, calibration and what "auto" chooses are those of labeled rows. A `DataWarning` counts
        the rows and tells whether they help. Rows must be in memory.
    unknown : {"marginalize", "error"}, default="marginalize"
        Values at prediction time that were not seen at fit: treated as missing, or an error.
    columns : {"strict", "by-name"}, default="strict"
        Frames and files at prediction time. "strict": frames have the columns of the fit, in their
        order, as scikit-learn wants it, and files have all of them. "by-name": columns are matched
        by their names, those that are not there are unknown and marginalized, and others are
        ignored.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes; the cut points do not depend on them.
    class_prior : sequence of float, optional
        Class shares where the classifier will be used, in the order of ``classes_``; by default
        those of the rows, weighted by ``class_weight``. They replace the prior of generative
        learners. The prior of a discriminative learner is changed by the ratio of the shares.
    calibrate : {"auto", "temperature", "isotonic"} or None, default="auto"
        How probabilities are calibrated, from cross-validated predictions of the training rows.
        "temperature" divides the log-joint by one number, which changes no decision; "isotonic"
        has an increasing function for each class, which needs some thousand rows, and two of each
        class at least. "auto" is "temperature" for the parameters "hybrid" and None for others,
        but for "auto": these have a log pool with their generative estimates, which weigh the
        more, the more values of a row are missing (``LogPool``).
        ``network_`` and ``predict_joint_log_proba`` are not calibrated.
    calibrate_folds : int, default=5
        The number of cross-validation folds for calibration and for the choices of "auto":
        everything, the cut points included, is learned anew without each fold. A temperature uses
        fewer folds as soon as 5,000 rows were held out, "auto" as soon as 1,000 were. The fold of a
        row follows from its content, and a weight of two equals the row twice. Of more than 500,000
        rows, 500,000 are held out in all.
    max_cells : int, default=100_000_000
        The number of cells that exact marginalization may compute for a row, over all steps; the
        default takes about a tenth of a second.
    beyond_max_cells : "estimate", "raise" or int, default="estimate"
        Rows that need more are estimated by importance sampling, with a warning that names their
        number (``EstimateWarning``); are an error (``TooManyCellsError``); or are estimated by this
        number of draws for each class, with a warning only where that is not reliable.
    n_jobs : int, optional
        The number of threads; None is one, -1 all cores. The result does not depend on it.
    memory : int or str, optional
        Where rows are read from files or in batches: about how many bytes they may take at a time,
        such as ``"2GB"``, beside the library itself; 512 MiB by default. The codes are kept in the
        temporary folder of ``tempfile``. Rows are read twice, and twice more for each fold that is
        held out.
    cluster : str, int or distributed.Client, optional
        The Dask cluster on which ``fit`` works (extra ``dask``): the address of a scheduler, such
        as ``"tcp://10.0.0.5:8786"``, a number of worker processes to start on this machine during
        the fit (a script needs ``if __name__ == "__main__":`` then), or a client. The model has
        the same bits as without it, unless columns are discretized on a summary (see ``fit``),
        which differs within its bound. ``memory`` is that of this process and of each worker. A
        Dask collection is processed by the active client, if there is one. Model files do not hold
        this setting, and pickles hold no client.
    random_state : int, RandomState or None, default=None
        The seed of learners that draw random numbers.
    verbose : int, default=0
        1 shows the stages of a fit, 2 the steps of a search.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    network_ : BayesNet
        The fitted network: edges, conditional probability tables, likelihood, queries, samples.
    structure_ : Structure
        The structure of the network.
    calibration_ : LogPool, Temperature, Isotonic or None
        The map to calibrated probabilities: its ``generative`` network, ``scale`` and ``doubt``,
        its ``temperature``, or its thresholds ``log_odds`` and ``probabilities``. None without
        calibration, with one class, and where every class has one row.
    history_ : list of dict
        The trace of the search. Where something was chosen by held-out rows, the first step has the
        ``chosen`` settings and the mean ``log_loss`` of what was compared. If edges were left out
        because of the size of their tables, the first step of the search lists them: ``left_out``
        is their number, ``edges`` the first hundred, and ``reason`` the text of the warning. The
        ``seconds`` of the steps are not saved.
    sufficient_statistics_ : SufficientStatistics or None
        The counts that ``partial_fit`` and ``merge`` go on from, where the learners need nothing
        else.
    n_samples_seen_ : int or None
        The number of training rows; None in models of version 0.1 that hold no counts.
    feature_importances_ : ndarray
        The mutual information of each column with the class, as shares of their sum.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray
        The names of the columns, if they have names.

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

    batch_methods = (*PosteriorClassifier.batch_methods, "predict_joint_log_proba")
    network_: BayesNet
    structure_: Structure
    calibration_: Calibration | None
    history_: list[dict[str, Any]]
    sufficient_statistics_: SufficientStatistics | None
    n_samples_seen_: int | None

    @renamed_limits()
    def __init__(
        self,
        structure: Any = AUTO,
        parameters: Any = AUTO,
        *,
        discretizer: Any = AUTO,
        categorical: str | Sequence[Any] = "auto",
        domains: Mapping[str, Sequence[Any]] | Domain | None = None,
        missing: str = AUTO,
        dates: str = EXPAND,
        unlabeled: str = "error",
        unknown: str = "marginalize",
        columns: str = STRICT,
        class_weight: str | Mapping[Any, float] | None = None,
        class_prior: Sequence[float] | None = None,
        calibrate: str | None = AUTO,
        calibrate_folds: int = 5,
        max_cells: int = inference.MAX_CELLS,
        beyond_max_cells: str | int = inference.ESTIMATE,
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
        self.dates = dates
        self.unlabeled = unlabeled
        self.unknown = unknown
        self.columns = columns
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.calibrate = calibrate
        self.calibrate_folds = calibrate_folds
        self.max_cells = max_cells
        self.beyond_max_cells = beyond_max_cells
        self.n_jobs = n_jobs
        self.memory = memory
        self.cluster = cluster
        self.random_state = random_state
        self.verbose = verbose

    @renamed_limits()
    def set_params(self, **params: Any) -> BayesNetClassifier:
        """Set parameters, as scikit-learn does.

        Parameters
        ----------
        **params
            The parameters by name; those of a learner as ``structure__name``.

        Returns
        -------
        BayesNetClassifier
            The classifier itself.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier
        >>> BayesNetClassifier().set_params(max_cells=1_000_000).max_cells
        1000000
        """
        super().set_params(**params)
        return self

    # ---- learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BayesNetClassifier:
        """Learn the network.

        Rows that do not fit in memory are read twice from where they are, in their order, and kept
        as codes in a temporary file. The network has the same bits as that of the whole table, but
        for numeric columns with more than 200,000 values, or fewer if ``memory`` is short (20 such
        columns need 512 MiB): they are discretized on a summary. Learners that need all rows at
        once get the codes in memory if they fit in ``memory``, and are refused by name if not.
        The default reads rows twice more for each fold of held-out rows by which it chooses the
        network, one fold from 5,000 rows on. No rows are held out with ``parameters="levels"``, nor
        with "hybrid" and ``calibrate=None``.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            Numbers, text, categories, booleans; NaN and None are missing values. A source is a
            file (Parquet, CSV, Arrow), a folder or a list of files, a pyarrow dataset, a Dask
            DataFrame or Array, or an iterator of frames or of pairs (X, y).
        y : sequence of labels, or str
            The class labels. Of a source, the name of the target column; None for pairs.
        sample_weight : sequence of float or str, optional
            A weight of 2 equals the row twice, a weight of 0 the row left out, so their scale
            matters. Weights that sum to 1 or less over several rows can only be shares of rows, as
            boosting gives them: they are scaled to a mean of 1 over the rows of positive weight,
            with a `DataWarning`. Of a source, the name of a column.

        Returns
        -------
        BayesNetClassifier
            The fitted classifier itself.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> wine = load_dataset("wine")
        >>> BayesNetClassifier("nb", "map").fit(wine.X, wine.y).network_
        <BayesNet: 13 features, 3 classes, 0 edges between features, ...>
        """
        plan = FitPlan.of(self)
        progress = plan.context.progress
        with open_training_rows(X, y, sample_weight, plan) as rows, ExitStack() as opened:
            encoder = plan.new_encoder()
            data = opened.enter_context(rows.encode(encoder, progress))
            encoder.warn_of_unused()
            folds = assign_calibration_folds(plan, rows, encoder)
            pool = None
            if plan.chooses:
                plan, pool = choose_network(plan, rows, encoder, folds)
                if plan.encoder.missing != encoder.missing:
                    encoder = plan.new_encoder(encoder.domain_)
                    data = opened.enter_context(rows.encode(encoder, progress))
            if rows.unlabeled is not None:  # the network is that of labeled rows
                plan = use_unlabeled(plan, rows, encoder)
            if folds is None or pool is not None:
                rows.close()  # they are not read again
            network, statistics = learn_all_rows(plan, data, encoder.classes_)
            calibration: Calibration | None = None
            if pool is not None and self.calibrate is not None:
                calibration = pool(learn_generative(plan, data, network, encoder.classes_))
            elif folds is not None and pool is None:
                calibration = learn_calibration(plan, rows, encoder, folds)
        fitted = (encoder, network, calibration, statistics, plan.context.history)
        adopt(self, FittedModel(*fitted, rows.columns, data.n_samples))
        n_edges = count_of(network.structure.n_edges, "edge")
        n_features = count_of(len(network.domain.features), "feature")
        unused = network.domain.unused
        note = f" ({len(unused)} not used)" if unused else ""
        progress.stage(f"done: {n_edges} between {n_features}{note}")
        return self

    @available_with_counts
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> BayesNetClassifier:
        """Learn from more rows, or from the first ones.

        The method exists for learners that need counts only: ``structure`` "nb", "tan",
        "tan-fcll", "tan-acll", "kdb" and known structures, with ``parameters`` "ml" or "map", not
        calibrated. Others need all rows in ``fit``.

        The result is that of ``fit`` on all rows so far, for unweighted rows to the bit, with two
        exceptions. Cut points are those of the *first* rows: give as many as you can, or
        ``domains``. And a value that a declared column does not have is treated as the setting
        ``unknown`` tells. Undeclared columns of text or categories get new values as they come,
        and so do the classes, unless ``classes`` or a ``Domain`` declares them.

        The network is learned anew at each call. That does not depend on the number of rows, so
        large parts are faster than small ones. The classifier keeps counts: those of all pairs of
        columns where the structure is searched for. ``fit`` keeps up to a million of them, to go
        on from; a classifier that begins with ``partial_fit`` keeps a hundred million.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``fit``. A source is read in batches of 65,536 rows at most, and in smaller ones
            where a file ends: the first batch determines the cut points. The network is learned
            once, after the last one.
        y : sequence of labels, or str
            The class labels. Of a source, the name of the target column; None for pairs.
        classes : sequence of labels, optional
            At the first call: all classes that will ever come.
        sample_weight : sequence of float or str, optional
            As in ``fit``, but never scaled: the rows of one call do not tell what the weights of
            all rows sum to.

        Returns
        -------
        BayesNetClassifier
            The fitted classifier itself.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map")
        >>> for k in range(3):
        ...     clf = clf.partial_fit(iris.X[k::3], iris.y[k::3])
        >>> clf.network_
        <BayesNet: 4 features, 3 classes, 3 edges between features, ...>
        """
        known = statistics_so_far(self, classes)
        labels = None if known is None else self.classes_
        plan = FitPlan.of(self)
        columns = None
        if is_source(X):
            domain = None if known is None else known.domain
            rows = LabeledRows(
                X, y, sample_weight, bytes_of(self.memory), domain, dates=plan.encoder
            )
            encoder, statistics = rows.read(
                lambda batches: add_batches(
                    plan, batches, known, labels, classes, rows.target_name
                ),
                self.missing,
            )
            if known is None:
                columns = read_columns(rows.names, rows.named)
        else:
            if known is None:
                table = plan.encoder.read_new(X)
                columns = table_columns(X)
            else:
                table = self._read_known(X)
            batch = BatchRows(table, y, sample_weight, "")
            encoder, statistics = add_batches(plan, [batch], known, labels, classes)
        network = learn_from_statistics(plan, statistics, encoder.classes_)
        fitted = (encoder, network, None, statistics, plan.context.history)
        adopt(self, FittedModel(*fitted, columns, statistics.n_samples))
        return self

    def merge(self, other: Any) -> BayesNetClassifier:
        """Return a new classifier that is learned from the rows of this one and of another.

        The result is that of training on all rows together. The method works for the learners of
        ``partial_fit``. Both classifiers must have the same domain: the same columns, values, cut
        points and classes. To use one domain in several places, give it to all of them::

            domain = BayesNetClassifier("tan", "map").fit(X_some, y_some).network_.domain
            here = BayesNetClassifier("tan", "map", domains=domain).fit(X_here, y_here)

        A model file carries it too: ``discbayes.load(path).network_.domain``. Without weights the
        result is the same to the bit, in whatever order. The settings are those of this
        classifier; both classifiers stay as they are.

        Parameters
        ----------
        other : BayesNetClassifier
            A classifier learned by ``fit`` or ``partial_fit``, or loaded from a file.

        Returns
        -------
        BayesNetClassifier
            The merged classifier.

        Examples
        --------
        >>> from sklearn.base import clone
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> wine = load_dataset("wine")
        >>> whole = BayesNetClassifier("tan", "map").fit(wine.X, wine.y)
        >>> place = BayesNetClassifier("tan", "map", domains=whole.network_.domain)
        >>> one, two = (clone(place).fit(wine.X[k::2], wine.y[k::2]) for k in range(2))
        >>> bool((one.merge(two).predict_proba(wine.X) == whole.predict_proba(wine.X)).all())
        True
        """
        if not isinstance(other, BayesNetClassifier):
            raise TypeError(f"merge takes another BayesNetClassifier, not {type(other).__name__}")
        model = merge_statistics(self, other)
        merged = clone(self)
        adopt(merged, model)
        return merged

    @classmethod
    def from_network(cls, network: BayesNet) -> BayesNetClassifier:
        """Return a classifier that predicts by a network, as if it had been fitted.

        So networks that were read, or made by experts, can predict, explain and ask. They are not
        calibrated.

        Parameters
        ----------
        network : BayesNet
            The network, such as ``read_bif`` returns.

        Returns
        -------
        BayesNetClassifier
            The classifier. Its settings, which another ``fit`` would use, are the default ones.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> BayesNetClassifier.from_network(net).predict({"petal width (cm)": 0.3})
        array(['setosa'], dtype=...)
        """
        limits = {name: getattr(network, name) for name in ("max_cells", "beyond_max_cells")}
        classifier = cls(n_jobs=network.n_jobs, **limits)
        encoder = FrameEncoder.from_domain(network.domain, n_jobs=network.n_jobs)
        columns = read_columns(network.domain.names, True)
        adopt(classifier, FittedModel(encoder, network, columns=columns))
        return classifier

    # ---- predicting

    @property
    def domain_(self) -> Domain:
        """The columns, their values and cut points, and the classes."""
        return self.network_.domain

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mutual information of each column with the class, as shares of their sum.

        It is that of one column alone, by the model, exact within ``max_cells``: by how much a
        value of the column is expected to reduce the entropy of the class where nothing else is
        known. Two columns that tell the same have the same importance; ``relevance`` has what a
        column adds to others, for given rows.
        """
        check_is_fitted(self)
        shares = self.value_of_information({}).importances(self.domain_.names)
        return self.domain_.by_column(shares)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(c, x observed) of the network, which is not calibrated.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The log-joint, in the order of ``classes_``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.predict_joint_log_proba(iris.X).shape
        (150, 3)
        """
        if is_source(X):
            return self._predict_source(X, "predict_joint_log_proba")
        network = self._current_network()
        codes, columns = self._encode_evidence(X)
        log_joint = network.with_evidence(columns).log_joint_of(codes)
        for column in columns:
            log_joint += column.log_scale[:, None]
        return log_joint

    def calibrated_posterior(
        self, class_prior: Sequence[float] | None = None
    ) -> CalibratedPosterior:
        """Return the network, its calibration and the class prior as one function of codes.

        The settings in force now count, also those that ``set_params`` changed after ``fit``.

        Parameters
        ----------
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        CalibratedPosterior
            The posterior of rows that are codes, as ``encode`` returns them.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.calibrated_posterior().decisions(clf.encode(iris.X.iloc[[0, 60]])).tolist()
        [0, 1]
        """
        network = self._current_network()
        log_prior = None if class_prior is None else log_prior_of(class_prior, self.classes_.size)
        return CalibratedPosterior(network, self.classes_, self.calibration_, log_prior)

    def _current_network(self) -> BayesNet:
        """Return the network with the settings in force now."""
        check_is_fitted(self)
        names = ("max_cells", "beyond_max_cells", "n_jobs")
        settings = {name: getattr(self, name) for name in names}
        if all(getattr(self.network_, name) == value for name, value in settings.items()):
            return self.network_
        return replace(self.network_, **settings)

    def encode(self, X: Any) -> np.ndarray:
        """Return the codes of rows with the columns of the fit.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The position of each value in the domain of its column; the number of values of the
            column stands for missing and unseen values.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.encode({"petal width (cm)": 1.0}).ravel().tolist()
        [34, 23, 37, 6]
        """
        check_is_fitted(self)
        # of columns that had no names at fit, scikit-learn has something to tell in any case
        if hasattr(self, "feature_names_in_"):
            few = self._encoder.encode_few(X, self.unknown)
            if few is not None:
                return few
        return self._encoder.transform(self._read_known(X), self.unknown)

    def _encode_evidence(self, X: Any) -> tuple[np.ndarray, list[EvidenceColumn]]:
        """Return the codes of rows with the columns of the fit, and their evidence."""
        if hasattr(self, "feature_names_in_"):
            few = self._encoder.encode_few(X, self.unknown)
            if few is not None:
                return few, []
        return self._encoder.transform_evidence(self._read_known(X), self.unknown)

    # ---- explaining

    @inference.one_warning()
    def explain(
        self, X: Any, against: Any = None, class_prior: Sequence[float] | None = None
    ) -> Explanation:
        """Explain predictions by what each observed value adds to the log odds of each class.

        The values are observed one after the other, parents before children
        (``Explanation.order``); each adds what it changes, given those before it. The log odds
        without any value and all contributions add up to the log odds of ``predict_proba``.
        Missing and unseen values are marginalized and listed as unknown, unless "missing" is a
        value of the column.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows to explain.
        against : label, optional
            The class to compare each class with, instead of all others together.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        Explanation
            The contributions of all values, for each row and class.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.explain(iris.X.iloc[[60]])
        prior: −0.79 for versicolor
        petal length (cm) in [3.4, 3.65): +2.9 for versicolor
        petal width (cm) in [0.8, 1.05): +2.4 for versicolor
        ...
        """
        posterior, codes = self._observe(X, class_prior)
        reference = None if against is None else class_position(self.classes_, against, "against")
        return explain(posterior, codes, reference)

    @inference.one_warning()
    def relevance(
        self,
        X: Any,
        y: Any = None,
        tolerance: float = TOLERANCE,
        class_prior: Sequence[float] | None = None,
    ) -> Relevance:
        """Measure how much each column matters for the decisions, and which are uninformative.

        The relevance of a column is how far it moves the log odds of the decisions, by the
        contributions of ``explain``: a column that repeats what its parents tell counts for
        little. The least relevant columns are uninformative where marginalizing all of them
        together loses little of the information on the classes; ``hidden`` has what becomes of the
        decisions then. A fit without these columns may differ.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows.
        y : sequence of labels, optional
            The class labels: with them the result has the accuracy and the log loss without the
            uninformative columns.
        tolerance : float, default=0.01
            The share of the information that may be lost. The information is the mean divergence
            (Kullback-Leibler) of P(c | x) with the columns from P(c | x) without.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        Relevance
            The relevance of all columns.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> wine = load_dataset("wine")
        >>> clf = BayesNetClassifier().fit(wine.X, wine.y)
        >>> found = clf.relevance(wine.X)
        >>> sorted(found.names[i] for i in found.ranking[:2])
        ['color_intensity', 'flavanoids']
        """
        posterior = self.calibrated_posterior(class_prior)
        codes = self.encode(X)
        classes = None if y is None else posterior.network.class_codes(y, codes.shape[1])
        return relevance(posterior, codes, classes, tolerance)

    @inference.one_warning()
    def counterfactual(
        self,
        x: Any,
        target: Any = None,
        keep: str | Sequence[Any] = (),
        max_changes: int = 5,
        class_prior: Sequence[float] | None = None,
    ) -> Counterfactual:
        """Find the fewest changes of observed values that lead to another decision of ``predict``.

        One and two changes are exact: all of them are tried, and of the smallest sets the one that
        makes the new decision most probable is taken. More changes are searched for, and the
        result tells whether fewer may be enough (``proven``). Missing values stay missing. Where
        no changes lead there, ``found`` is False.

        Parameters
        ----------
        x : row
            A frame, array or list of one row, a list of the values of a row, or a mapping (or
            series) of column names to values, where columns that are left out are unknown.
        target : label, optional
            The decision to reach; any other than that of the row by default.
        keep : column or columns, optional
            The columns that must not change, such as age and sex.
        max_changes : int, default=5
            The largest set to look for.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        Counterfactual
            The changes, and the decision that they lead to.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> clf.counterfactual(iris.X.iloc[[60]], keep="petal width (cm)")
        now: versicolor with the probability 0.984
        1 change, the fewest possible, leads to setosa with the probability 0.875:
          petal length (cm) from [3.4, 3.65) to [1.35, 1.45) (now 3.5, then just below 1.45)
        ...
        """
        posterior = self.calibrated_posterior(class_prior)
        row, codes = self._encode_row(x)
        return counterfactual(posterior, codes, row, target, keep, max_changes)

    @inference.one_warning()
    def value_of_information(
        self,
        x: Any,
        costs: Any = None,
        prices: Mapping[str, float] | None = None,
        class_prior: Sequence[float] | None = None,
    ) -> Information:
        """Measure how much observing each missing column of a row reduces the expected entropy.

        With costs, it is also what observing the column is expected to save, less its price. The
        expectations are exact, for any structure, within ``max_cells``.

        Parameters
        ----------
        x : row
            As in ``counterfactual``. A value that was never seen at fit counts as missing. In a
            column in which ``missing="value"`` made "missing" a value, None is that value: leave
            the column out to ask for it.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            As in ``predict``.
        prices : mapping of column names to numbers, optional
            The price of observing a column, in the unit of the costs; zero for those left out.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        Information
            The value of information of all missing columns.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> clf.value_of_information({"sepal length (cm)": 5.0}).best
        'petal width (cm)'
        """
        posterior = self.calibrated_posterior(class_prior)
        row = one_row(x, self.domain_.names, self.domain_.dates)
        codes, columns = self._encoder.transform_evidence(row, self.unknown)
        return value_of_information(posterior.with_evidence(columns), codes, costs, prices)

    @inference.one_warning()
    def questionnaire(
        self,
        costs: Any = None,
        prices: float | Mapping[str, float] = 0.0,
        known: Mapping[str, Any] | None = None,
        max_questions: int = 50,
        class_prior: Sequence[float] | None = None,
    ) -> Questionnaire:
        """Make a tree of questions that stops where asking costs more than it saves.

        The next question is found two steps ahead: each answer may be followed by one more
        question. The tree grows where most is at stake; what it asks, decides and costs on other
        rows is in ``Questionnaire.evaluate``.

        Parameters
        ----------
        costs : array of shape (n_classes, n_classes) or mapping, optional
            As in ``predict``; by default every mistake costs 1.
        prices : float or mapping of column names to numbers, default=0
            The price of asking for a column, in the unit of the costs: one for all, or by name,
            where those that are left out cost nothing.
        known : mapping of column names to values, optional
            What is known before the first question; values may be evidence of any kind.
        max_questions : int, default=50
            The number of questions in the tree.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        Questionnaire
            The tree: ``text()``, ``to_dot()`` and ``to_svg()`` draw it.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> clf.questionnaire(prices=0.03).n_questions
        1
        """
        require_integer("max_questions", max_questions, 1)
        lookahead = self._lookahead(costs, prices, class_prior)
        codes, columns = self._encode_evidence(dict(known or {}))
        observed = replace(lookahead, posterior=lookahead.posterior.with_evidence(columns))
        return build_questionnaire(self, observed, codes, max_questions)

    @inference.one_warning()
    def next_question(
        self,
        x: Any,
        costs: Any = None,
        prices: float | Mapping[str, float] = 0.0,
        exclude: Sequence[str] = (),
        class_prior: Sequence[float] | None = None,
    ) -> tuple[str, float] | None:
        """Return the column to ask for next, two steps ahead, and what that is expected to save.

        Parameters
        ----------
        x : row
            As in ``counterfactual``: what is known.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            As in ``questionnaire``.
        prices : float or mapping of column names to numbers, default=0
            As in ``questionnaire``.
        exclude : sequence of str, optional
            Columns that cannot be asked for.
        class_prior : sequence of float, optional
            As in ``predict_proba``.

        Returns
        -------
        tuple of (str, float) or None
            The column, and the expected saving less its price; None where no question is worth it.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> clf.next_question({}, prices=0.03)[0]
        'petal width (cm)'
        """
        lookahead = self._lookahead(costs, prices, class_prior)
        codes, columns = self._encoder.transform_evidence(
            one_row(x, self.domain_.names), self.unknown
        )
        observed = replace(lookahead, posterior=lookahead.posterior.with_evidence(columns))
        excluded = frozenset(positions(exclude, self.domain_.names, "exclude names"))
        question = observed.question(codes, excluded)
        return None if question is None else (self.domain_.names[question.feature], question.gain)

    def _lookahead(
        self, costs: Any, prices: float | Mapping[str, float], class_prior: Sequence[float] | None
    ) -> Lookahead:
        """Return the choice of the next question as a function of codes."""
        if costs is None:
            costs = 1.0 - np.eye(self.classes_.size)
        found = DecisionCosts.of(costs, self.classes_)
        names = self.domain_.names
        if not isinstance(prices, Mapping):
            prices = dict.fromkeys(names, prices)
        priced = column_prices(prices, names, found.matrix)
        return Lookahead(self.calibrated_posterior(class_prior), found, priced)

    @inference.one_warning()
    def same_decision(
        self,
        X: Any,
        held_out: Any = None,
        costs: Any = None,
        class_prior: Sequence[float] | None = None,
        n_draws: int = 100,
        random_state: int = 0,
    ) -> np.ndarray:
        """Return how probable it is that each decision stays if all missing values were known.

        The missing values of a row are drawn given the observed ones, and each completed row is
        decided exactly. The share of draws with the decision of the row is too sure where the
        network is wrong about how columns depend on each other, which held-out rows correct: the
        values that are missing in ``X`` are hidden in them, and it is known whether the decision
        stays.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows. Rows without missing values have the probability 1.
        held_out : frame, array or list of rows, optional
            Rows that the classifier has not learned from, without labels: some hundred are enough.
            Without them the result is not calibrated.
        costs : array of shape (n_classes, n_classes) or mapping, optional
            As in ``predict``, for decisions of the least expected cost.
        class_prior : sequence of float, optional
            As in ``predict_proba``.
        n_draws : int, default=100
            The number of draws for each row.
        random_state : int, default=0
            The seed of the draws.

        Returns
        -------
        ndarray of shape (n_samples,)
            The probabilities.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X[::2], iris.y[::2])
        >>> rows = [{"petal width (cm)": 0.2}, {"sepal width (cm)": 3.0}]
        >>> clf.same_decision(rows, held_out=iris.X[1::2]).round(1).tolist()
        [1.0, 0.5]
        """
        require_integer("n_draws", n_draws, 1)
        if not is_integer(random_state, 0):
            raise ValueError(f"random_state={random_state!r} must be a whole number")
        priced = None if costs is None else DecisionCosts.of(costs, self.classes_)
        observed, codes = self._observe(X, class_prior)
        n_columns = len(self.domain_.features)
        draws = DecisionDraws(observed, n_columns, priced, n_draws)
        rng = np.random.default_rng(random_state)
        shares = draws.shares(codes, rng)
        missing = draws.missing(codes)
        incomplete = missing.any(axis=0)
        if held_out is None or not incomplete.any():
            return shares
        # evidence belongs to the rows of X
        plain = replace(draws, posterior=self.calibrated_posterior(class_prior))
        learned = learn_decision_map(plain, self.encode(held_out), missing[:, incomplete], rng)
        shares[incomplete] = learned(shares[incomplete])
        return shares

    def _encode_row(self, x: Any) -> tuple[Table, np.ndarray]:
        """Return a row as it was read, and its codes."""
        row = one_row(x, self.domain_.names, self.domain_.dates)
        return row, self._encoder.transform(row, self.unknown)

    # ---- error bars

    def bootstrap(
        self,
        X: Any,
        y: Any,
        n: int = 200,
        *,
        sample_weight: Any = None,
        random_state: int | None = 0,
    ) -> ErrorBars:
        """Refit the network with rows drawn with replacement: error bars for any learner.

        Rows are encoded once and refits have other weights of them, so that 200 refits of a tree
        take seconds. Cut points and calibration stay as they are. The default parameters are
        maximized anew each time: 200 of their refits take a minute or more on some hundred rows.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows of the fit.
        y : sequence of labels
            Their classes.
        n : int, default=200
            The number of refits.
        sample_weight : sequence of float, optional
            The weights of the rows.
        random_state : int or None, default=0
            The seed of the draws.

        Returns
        -------
        ErrorBars
            Intervals of probabilities, contributions and tables, and how often each edge is found.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> bars = clf.bootstrap(iris.X, iris.y, n=50)
        >>> low, high = bars.interval({"petal width (cm)": 1.7})
        >>> low.shape
        (1, 3)
        """
        check_is_fitted(self)
        return bootstrap(self, X, y, n, sample_weight, random_state)

    def dirichlet(
        self,
        X: Any = None,
        y: Any = None,
        n: int = 200,
        *,
        virtual: float = 0.5,
        sample_weight: Any = None,
        random_state: int | None = 0,
    ) -> ErrorBars:
        """Draw the tables from their posterior distribution: error bars of generative estimates.

        The structure is taken for granted. The method exists for the parameters "ml" and "map",
        whose tables have Dirichlet distributions given the counts, also that of a class with
        parents.

        Parameters
        ----------
        X : frame, array or list of rows, optional
            The rows of the fit; by default the counts that the classifier keeps.
        y : sequence of labels, optional
            Their classes.
        n : int, default=200
            The number of draws.
        virtual : float, default=0.5
            The virtual observations of each cell before any row is seen: a half is Jeffreys' prior.
        sample_weight : sequence of float, optional
            The weights of the rows.
        random_state : int or None, default=0
            The seed of the draws.

        Returns
        -------
        ErrorBars
            Intervals of probabilities, contributions and tables.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
        >>> clf.dirichlet()
        <ErrorBars: 200 draws by dirichlet>
        """
        check_is_fitted(self)
        return dirichlet(self, X, y, n, virtual, sample_weight, random_state)

    # ---- files, notebook, scikit-learn

    def save(self, path: str | Path, counts: bool = True) -> None:
        """Write the fitted classifier to one JSON file; ``discbayes.load`` reads it.

        Parameters
        ----------
        path : str or Path
            The file.
        counts : bool, default=True
            Whether to write the sufficient statistics, so that the loaded classifier can go on
            learning by ``partial_fit`` and ``merge`` if this one can. They take 1.3 to 5 bytes
            each, or 11 where rows have weights: twice the rest of the file is common with "tan".

        Examples
        --------
        >>> import tempfile
        >>> from discbayes import BayesNetClassifier, load, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(f"{folder}/iris.json")
        ...     loaded = load(f"{folder}/iris.json")
        >>> bool((loaded.predict(iris.X) == clf.predict(iris.X)).all())
        True
        """
        check_is_fitted(self)
        leaf("io").save(self, path, counts)

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
        error_bars: ErrorBars | None = None,
    ) -> Any:
        """Make a single self-contained HTML report of the fitted classifier; it needs no server.

        The report draws the network with its conditional probability tables, and computes in the
        browser what follows from any values that are set: the probabilities, why, and what to ask
        next. Rows and their labels add an evaluation.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.
        X : frame, array or list of rows, optional
            Rows that the classifier has not learned from. The report holds only figures of them.
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
        error_bars : ErrorBars, optional
            What ``bootstrap`` or ``dirichlet`` of this classifier returned: a section shows how
            sure probabilities are, those of ``X`` too, and how often edges are found again.

        Returns
        -------
        Report
            The report shows itself in a notebook; ``html`` is the whole file and ``save(path)``
            writes it.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> report = BayesNetClassifier().fit(iris.X, iris.y).report()
        >>> report.html.startswith("<!doctype html>")
        True
        """
        heading = leaf("report.heading").Heading(title, source, card or {})
        report = leaf("report").make_report(
            self, X, y, heading=heading, by=by, error_bars=error_bars
        )
        if path is not None:
            report.save(path)
        return report

    def _repr_html_inner(self) -> str:
        html = super()._repr_html_inner()
        return html + self.network_._repr_html_() if hasattr(self, "network_") else html

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle and hasattr(self, "network_"):
            bundle["text/html"] += self.network_._repr_html_()
        return bundle

"""The fitted network as people use it: with names and values instead of positions and codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from discbayes import inference
from discbayes._arrays import WithArrays
from discbayes._deprecation import renamed_method, warn_renamed
from discbayes._lazy_imports import leaf
from discbayes._settings import require_integer
from discbayes._text import count_of, listed, shortened
from discbayes.data import Domain, Evidence, FrameEncoder, Variable
from discbayes.data.evidence import EvidenceColumn, evidence_columns
from discbayes.data.frames import frame_like, free_name, make_frame, values_of, with_own_values
from discbayes.data.labels import is_missing
from discbayes.engine import row_blocks
from discbayes.inference import InferenceOptions, TooManyCellsError, WithOldLimits, renamed_limits
from discbayes.inference.completion import BATCH_CELLS, without_missing_values
from discbayes.network import CLASS, CPTs, Structure, absorb_class, add_leaves, normalize


@dataclass(frozen=True, eq=False)
class Posterior:
    """A distribution over some variables.

    Parameters
    ----------
    names : tuple of str
        The variables.
    labels : tuple of tuple of str
        The values of each variable.
    probabilities : ndarray
        The probabilities, with one axis for each variable.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
    >>> net.query("class").probabilities.round(2).tolist()
    [0.33, 0.33, 0.33]
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    probabilities: np.ndarray

    def to_frame(self, library: bool | str = "auto") -> Any:
        """Return a frame with a row for every combination of values, and its probability.

        Parameters
        ----------
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default the first that is installed.

        Returns
        -------
        frame
            A column for each variable, and the column "probability".

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> list(net.query("class").to_frame("pandas").columns)
        ['class', 'probability']
        """
        rows = list(product(*self.labels))
        columns: dict[str, np.ndarray] = {
            name: np.array([row[k] for row in rows], dtype=object)
            for k, name in enumerate(self.names)
        }
        columns[free_name("probability", self.names)] = self.probabilities.ravel()
        return make_frame(columns, library)

    def __repr__(self) -> str:
        cells = zip(product(*self.labels), self.probabilities.ravel(), strict=True)
        lines = [f"  {', '.join(labels)}: {value:.6g}" for labels, value in cells]
        shown = lines if len(lines) <= 20 else [*lines[:20], f"  … {len(lines) - 20} more"]
        return "\n".join([f"P({', '.join(self.names)} | evidence)", *shown])


@dataclass(frozen=True, eq=False)
class BayesNet(WithOldLimits, WithArrays):
    """A Bayesian network classifier with known conditional probability tables.

    Rows are given as frames, arrays, lists or mappings of column names to values, as in
    ``BayesNetClassifier.predict``; missing values, and values never seen at fit, are marginalized.

    Parameters
    ----------
    domain : Domain
        The columns, and the values that their codes stand for.
    parameters : CPTs
        The structure and the conditional probability tables.
    max_cells : int, default=100_000_000
        The number of cells that exact marginalization may compute for a row, over all steps.
    beyond_max_cells : "estimate", "raise" or int, default="estimate"
        Rows that need more are estimated by importance sampling, with a warning; are an error
        (``TooManyCellsError``); or are estimated by this number of draws for each class.
    n_jobs : int, optional
        The number of threads.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
    >>> net.query([net.domain.target.name], {"petal width (cm)": 0.3})
    P(class | evidence)
      setosa: 0.96...
    """

    domain: Domain
    parameters: CPTs
    _: KW_ONLY
    max_cells: int = inference.MAX_CELLS
    beyond_max_cells: str | int = inference.ESTIMATE
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not np.array_equal(self.domain.cards, self.parameters.cards):
            raise ValueError(
                "the tables and the domain have different numbers of values: they do not belong"
                " together"
            )
        if self.domain.n_classes != self.parameters.n_classes:
            raise ValueError("the tables and the domain have different numbers of classes")
        if not self.parameters.layout.has_states(self.domain.states):
            raise ValueError(
                "the tables and the domain have different states of values as seen by children:"
                " they do not belong together"
            )
        _ = self.inference_options  # refuses invalid limits

    # ---- the network itself

    @property
    def structure(self) -> Structure:
        """The structure."""
        return self.parameters.structure

    @property
    def class_parents(self) -> tuple[str, ...]:
        """The names of the parents of the class, which has none in most networks."""
        own = self.parameters.class_table
        return () if own is None else tuple(self.domain.names[p] for p in own.parents)

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        own = self.parameters.class_table
        if own is None:
            return self.parameters.n_parameters
        of_class = own.log_table.size // own.log_table.shape[-1] - 1
        return own.features.n_parameters + of_class * (self.parameters.n_classes - 1)

    def require_root(self, what: str) -> None:
        """Refuse a network in which the class has parents.

        Parameters
        ----------
        what : str
            What needs a class without parents, for the message.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_.require_root("this")
        """
        if self.class_parents:
            raise ValueError(
                f"{what} needs a class without parents, and {self.domain.target.name!r} has the"
                f" parents {listed(self.class_parents)}"
            )

    @property
    def inference_options(self) -> InferenceOptions:
        """The limits of exact inference."""
        return InferenceOptions(self.max_cells, self.beyond_max_cells, n_jobs=self.n_jobs)

    @property
    def effort(self) -> InferenceOptions:
        """Deprecated: use ``inference_options``."""
        warn_renamed("BayesNet.effort", "inference_options")
        return self.inference_options

    @cached_property
    def prior(self) -> np.ndarray:
        """The normalized table of the class: P(c) if all tables are normalized.

        Of a class that has parents, it is P(c) too.
        """
        if self.class_parents:
            blank = inference.blank_rows(self.parameters, 1)
            uniform = np.full(self.domain.n_classes, 1 / self.domain.n_classes)
            return inference.posterior(self.log_joint_of(blank), uniform)[0]
        prior = np.exp(self.parameters.log_prior - self.parameters.log_prior.max())
        return prior / prior.sum()

    def with_prior(self, log_prior: np.ndarray) -> BayesNet:
        """Return the network with other class shares.

        Parameters
        ----------
        log_prior : ndarray of shape (n_classes,)
            The logarithms of the class shares.

        Returns
        -------
        BayesNet
            A new network.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> net.with_prior(np.log([0.5, 0.25, 0.25])).prior.round(2).tolist()
        [0.5, 0.25, 0.25]
        """
        if self.class_parents:
            # the odds change as those of the shares do, whatever the parents are
            with np.errstate(divide="ignore"):
                change = log_prior - np.log(self.prior)
            change = np.where(np.isnan(change), -np.inf, change)
            return replace(self, parameters=replace(self.parameters, log_prior=change))
        return replace(self, parameters=self.parameters.with_prior(log_prior))

    def with_evidence(self, columns: Sequence[EvidenceColumn]) -> BayesNet:
        """Return the network with a leaf for each column of evidence.

        Parameters
        ----------
        columns : sequence of EvidenceColumn
            The evidence, as ``FrameEncoder.transform_evidence`` returns it.

        Returns
        -------
        BayesNet
            The network; its last columns are the evidence, whose names are those of the columns
            that it is about.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> net.with_evidence([]) is net
        True
        """
        if not columns:
            return self
        features = list(self.domain.features)
        for column in columns:
            about = self._variable(column.position)
            if column.position != CLASS:
                features[column.position] = replace(about, coarse_cuts=None, groups=None)
            features.append(replace(column.variable, name=about.name))
        domain = replace(self.domain, features=tuple(features))
        leaves = [(column.position, column.probabilities) for column in columns]
        return replace(self, domain=domain, parameters=add_leaves(self.parameters, leaves))

    def edges(self, with_class: bool = False) -> list[tuple[str, str]]:
        """Return the edges between columns by name; those into a class with parents come last.

        Parameters
        ----------
        with_class : bool, default=False
            Whether to include the edges from and to the class.

        Returns
        -------
        list of tuple of str
            The pairs (parent, child).

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_.edges()[0]
        ('petal length (cm)', 'sepal length (cm)')
        """
        target = self.domain.target.name
        return self.own_structure.edges(self.domain.names, target if with_class else None)

    @property
    def own_structure(self) -> Structure:
        """The structure with the parents of the class; ``structure`` is that of inference."""
        own = self.parameters.class_table
        if own is None:
            return self.structure
        return replace(own.features.structure, class_parents=own.parents)

    @property
    def _own_tables(self) -> CPTs:
        """The tables of the features, without that of a class with parents."""
        own = self.parameters.class_table
        return self.parameters if own is None else own.features

    def tables(self, library: bool | str = "auto") -> dict[str, Any]:
        """Return the conditional probability tables as frames, by column name.

        The class comes first. A row stands for one class and one combination of values of the
        parents; there is a column for each value. Parents of two resolutions are there by their
        coarse intervals.

        Parameters
        ----------
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default the first that is installed.

        Returns
        -------
        dict of str to frame
            The tables.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> net.tables("pandas")["petal width (cm)"].shape
        (3, 4)
        """
        target = self.domain.target
        own = self.parameters.class_table
        if own is None:
            prior = {
                target.name: np.array(target.labels, dtype=object),
                free_name("probability", [target.name]): np.exp(self.parameters.log_prior),
            }
        else:
            given = [self.domain.coarse.features[p] for p in own.parents]
            prior = _readable(given, np.exp(own.log_table), target.labels)
        tables = {target.name: make_frame(prior, library)}
        for feature, name in enumerate(self.domain.names):
            tables[name] = make_frame(self._table_columns(feature), library)
        return tables

    def _table_columns(self, feature: int) -> dict[str, np.ndarray]:
        """Return the columns of the readable table of one feature."""
        tables = self._own_tables
        table = np.exp(tables.log_table(feature))
        given = [self.domain.coarse.features[p] for p in tables.structure.parents[feature]]
        if tables.structure.class_children[feature]:
            given = [self.domain.target, *given]
            table = np.moveaxis(table, -1, 0)
        else:
            table = table[..., 0]
        return _readable(given, table, self.domain.features[feature].labels)

    def with_table(self, name: str, table: Any) -> BayesNet:
        """Return the network with another conditional probability table, as an expert knows it.

        Parameters
        ----------
        name : str
            The column, or the class by the name of the target.
        table : array-like
            The probabilities, with the axes of ``to_networkx``: the class, if it is a parent, the
            other parents in their order, and the values of the column at the end. Parents of two
            resolutions are there by their coarse intervals, as in ``tables``.

        Returns
        -------
        BayesNet
            A new network.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> net.with_table("class", [0.5, 0.3, 0.2]).prior.round(2).tolist()
        [0.5, 0.3, 0.2]
        """
        position = self._position(name)
        features, of_class = self._own_tables, self.parameters.class_table
        if position == CLASS:
            shape = (self.domain.n_classes,) if of_class is None else of_class.log_table.shape
        else:
            *above, card, n_classes = features.layout.shapes[position]
            by_class = features.structure.class_children[position]
            shape = (*[n_classes] * by_class, *above, card)
        with np.errstate(divide="ignore"):
            logs = np.log(_distributions(table, shape, name))
        if position == CLASS and of_class is None:
            return replace(self, parameters=replace(features, log_prior=logs, prior_offset=None))
        if position != CLASS:
            log_theta = features.log_theta.copy()
            own = features.layout.table(log_theta, position)
            own[...] = np.moveaxis(logs, 0, -1) if by_class else logs[..., None]
            features = replace(features, log_theta=log_theta)
        if of_class is not None:
            logs = logs if position == CLASS else of_class.log_table
            features = absorb_class(features, of_class.parents, logs)
        return replace(self, parameters=features)

    def normalized(self, keep: str = "joint") -> BayesNet:
        """Return the network with normalized tables, which some discriminative learners lack.

        P(class, row) stays as it is, and so do posteriors, likelihoods and queries. That needs a
        structure where each column has a covering parent, as in naive Bayes, TAN and KDB-1;
        elsewhere it is an error that names the columns.

        Parameters
        ----------
        keep : {"joint", "posterior"}, default="joint"
            With "posterior", columns that do not depend on the class need no covering parent, but
            where they have none only P(class | row) of complete rows stays as it is.

        Returns
        -------
        BayesNet
            A network whose tables sum to one.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "ccbn-d").fit(iris.X, iris.y).network_
        >>> net.parameters.is_normalized, net.normalized().parameters.is_normalized
        (False, True)
        """
        if self.class_parents:
            return self  # each of its tables is normalized by itself
        tables = normalize(self.parameters, keep, self.domain.names)
        return self if tables is self.parameters else replace(self, parameters=tables)

    # ---- rows in, numbers out

    def log_joint(self, X: Any) -> np.ndarray:
        """Return log P(c, x observed) of each row and class.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The log-joint.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> net.log_joint(iris.X).shape
        (150, 3)
        """
        codes, columns = self._encoder.transform_evidence(X)
        log_joint = self.with_evidence(columns).log_joint_of(codes)
        for column in columns:
            log_joint += column.log_scale[:, None]
        return log_joint

    def log_joint_of(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(c, x observed) of rows that are codes already.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The codes, as ``encode`` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The log-joint.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> net.log_joint_of(net.encode(iris.X)).shape
        (150, 3)
        """
        with self._named_limits():
            return inference.log_joint(self.parameters, codes, self.inference_options)

    def posterior(self, X: Any) -> np.ndarray:
        """Return P(c | x observed) of the network, which is not calibrated.

        A row that is impossible in every class, or has no observed value, gets the class prior.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> net.posterior({}).round(2).tolist()
        [[0.33, 0.33, 0.33]]
        """
        return inference.posterior(self.log_joint(X), self.prior, self.n_jobs)

    def posterior_with_error(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return P(c | x observed) and its standard error.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.

        Returns
        -------
        posterior : ndarray of shape (n_samples, n_classes)
            The probabilities.
        error : ndarray of shape (n_samples, n_classes)
            Zero where the posterior is exact, above zero where it is an estimate.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> float(net.posterior_with_error(iris.X)[1].max())
        0.0
        """
        codes, columns = self._encoder.transform_evidence(X)
        relative = np.zeros((codes.shape[1], self.parameters.n_classes))
        tables = self.with_evidence(columns).parameters
        with self._named_limits():
            log_joint = inference.log_joint(tables, codes, self.inference_options, relative)
        posterior = inference.posterior(log_joint, self.prior, self.n_jobs)
        return posterior, inference.posterior_error(posterior, relative)

    def log_likelihood(self, X: Any, y: Any = None) -> np.ndarray:
        """Return log P(x observed) of each row or, with labels, log P(x observed, y).

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.
        y : sequence of labels, optional
            The class labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            The log-likelihood.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> bool((net.log_likelihood(iris.X) > net.log_likelihood(iris.X, iris.y)).all())
        True
        """
        log_joint = self.log_joint(X) - self._log_partition()
        if y is None:
            return inference.log_marginal(log_joint)
        classes = self.class_codes(y, log_joint.shape[0])
        return log_joint[np.arange(classes.size), classes]

    def _log_partition(self) -> float:
        with self._named_limits():
            return inference.log_partition(self.parameters, self.inference_options)

    def novelty(self, X: Any, n_draws: int = 1000, random_state: Any = 0) -> np.ndarray:
        """Return how unusual each row is: the share of drawn rows that are more probable.

        Rows are drawn from the network and compared on the columns that the row has, so that rows
        with different missing values can be compared with one another. Every pattern of missing
        values scores all draws again, so the cost grows with the number of different patterns;
        ``n_jobs`` threads share it.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.
        n_draws : int, default=1000
            The number of rows to draw.
        random_state : int, Generator or None, default=0
            The seed of the draws.

        Returns
        -------
        ndarray of shape (n_samples,)
            The novelty, from 0 to 1.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> novelty = net.novelty(iris.X)
        >>> bool((novelty >= 0).all() and (novelty <= 1).all())
        True
        """
        require_integer("n_draws", n_draws, 1)
        codes = self.encode(X)
        rng = np.random.default_rng(random_state)
        with self._named_limits():
            drawn, _ = inference.sample(self.parameters, int(n_draws), rng, self.inference_options)
        own = inference.log_marginal(self.log_joint_of(codes))
        patterns = inference.group_by_missing(codes, np.arange(codes.shape[1]), self.domain.cards)
        novelty = np.empty(own.size)
        cells = drawn.shape[1] * max(drawn.shape[0], 8 * self.domain.n_classes)
        for groups in row_blocks(patterns.n_groups, max(1, BATCH_CELLS // cells)):
            first_rows = patterns.rows[patterns.start[groups]]
            hidden = codes[:, first_rows] >= self.domain.cards[:, None]
            for group, others in enumerate(self._masked_marginals(drawn, hidden), groups.start):
                rows = patterns.rows[patterns.start[group] : patterns.start[group + 1]]
                # rounding must not make a row less probable than itself
                below = np.searchsorted(np.sort(others), own[rows] + 1e-9, side="right")
                novelty[rows] = 1 - below / others.size
        return novelty

    def _masked_marginals(self, drawn: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Return log P of all rows of codes (columns) under all patterns of missing values (rows).

        A pattern is a column of ``hidden``.
        """
        n_features, n_rows = drawn.shape
        n_patterns = hidden.shape[1]
        missing = self.domain.cards.astype(drawn.dtype)[:, None, None]
        masked = np.where(hidden[:, :, None], missing, drawn[:, None, :])
        codes = masked.reshape(n_features, n_patterns * n_rows)
        return inference.log_marginal(self.log_joint_of(codes)).reshape(n_patterns, n_rows)

    # ---- queries

    def query(
        self, variables: str | Sequence[str], evidence: Mapping[str, Any] | None = None
    ) -> Posterior:
        """Return the joint posterior of any columns and the class, given values of any others.

        Parameters
        ----------
        variables : str or sequence of str
            The columns to ask for; the class by the name of the target.
        evidence : mapping of column names to values, optional
            What is observed of columns and of the class: values, or evidence such as
            ``OneOf("medium", "large")``, ``Between(40, 60)``, ``Not("red")`` and ``Likelihood``.

        Returns
        -------
        Posterior
            The distribution.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> net.query("petal width (cm)", {"class": "setosa"})
        P(petal width (cm) | evidence)
          < 0.8: 0.99...
        """
        asked = [variables] if isinstance(variables, str) else list(variables)
        tables, known, _ = self._given(evidence or {})
        positions = [self._position(name) for name in asked]
        repeated = {
            name for name in asked if asked.count(name) > 1 or self._position(name) in known
        }
        if repeated or not asked:
            raise ValueError(
                "ask for each variable once, and not for what is given:"
                f" {sorted(repeated) or 'nothing'}"
            )
        with self._named_limits():
            try:
                probabilities = inference.joint_posterior(
                    tables, positions, known, self.inference_options
                )
            except inference.ImpossibleEvidenceError:
                raise _impossible(evidence) from None
        labels = tuple(tuple(self._variable(p).labels) for p in positions)
        return Posterior(tuple(asked), labels, probabilities)

    def most_probable(
        self, evidence: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], float]:
        """Return the most probable values of all variables that are not given.

        Parameters
        ----------
        evidence : mapping of column names to values, optional
            What is observed of columns and of the class: values, or evidence such as
            ``OneOf("medium", "large")``, ``Between(40, 60)``, ``Not("red")`` and ``Likelihood``.

        Returns
        -------
        values : dict of str to value
            The values of all other columns and of the class.
        log_probability : float
            The log probability of these values and the evidence together.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> values, _ = net.most_probable({"class": "setosa"})
        >>> values["petal width (cm)"]
        '< 0.8'
        """
        tables, known, log_scale = self._given(evidence or {})
        codes = inference.blank_rows(tables, 1)
        for position, code in known.items():
            if position != CLASS:
                codes[position] = code
        classes = np.array([known[CLASS]]) if CLASS in known else None
        with self._named_limits():
            filled, chosen, value = inference.most_probable(
                tables, codes, classes, self.inference_options
            )
        if value[0] == -np.inf:
            raise _impossible(evidence)
        found = {
            v.name: v.decode([filled[i, 0]])[0]
            for i, v in enumerate(self.domain.features)
            if i not in known
        }
        if classes is None:
            found[self.domain.target.name] = self.domain.target.decode(chosen)[0]
        return found, float(value[0] + log_scale - self._log_partition())

    def missing_posteriors_of(self, codes: np.ndarray) -> dict[int, np.ndarray]:
        """Return P(value | x observed, c) of every missing value of one row of codes.

        Parameters
        ----------
        codes : ndarray of shape (n_features, 1)
            The codes of the row.

        Returns
        -------
        dict of int to ndarray
            By the position of the column, an array with a row for each value and a column for each
            class.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> found = net.missing_posteriors_of(net.encode({"petal width (cm)": 1.0}))
        >>> sorted(found)
        [0, 1, 2]
        """
        with self._named_limits():
            return inference.missing_posteriors(self.parameters, codes, self.inference_options)

    gap_posteriors_of = renamed_method("gap_posteriors_of", missing_posteriors_of)

    def fill(
        self,
        X: Any,
        how: str = "each",
        y: Any = None,
        random_state: Any = None,
        library: bool | str = "auto",
    ) -> Any:
        """Return the rows as a frame in which missing values are imputed.

        Numeric columns come back as intervals, written as text: the network knows no more. Such a
        frame cannot go back to ``predict``, ``posterior`` or any other method that needs numbers in
        these columns.

        A value that was never seen at fit is not missing: it stays as it is, and counts as unknown
        when the missing values of its row are imputed. Missing values are imputed by real values
        only, also where ``missing="value"`` made "missing" a value of its own; there all missing
        values of a row are taken to hide real values. A column without any real value at fit, which
        has nothing but "missing", keeps its missing values.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The rows.
        how : {"each", "joint", "draw"}, default="each"
            "each" is the most probable value of each missing value by itself, "joint" the most
            probable values of a row together, and of the class unless ``y`` gives it, and "draw"
            draws values from their distribution given the rest of the row. With many columns and
            features that have several feature parents, "joint" is much faster than "each".
        y : sequence of labels, optional
            The class labels, for "joint" and "draw".
        random_state : int, Generator or None, default=None
            The seed of "draw".
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default that of X and, where X is not a frame, the first that is
            installed. A pandas index is kept.

        Returns
        -------
        frame
            The rows without missing values.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> net.fill({"petal width (cm)": 0.3}, library="pandas")["petal length (cm)"].tolist()
        ['< 2.45']
        """
        table = self._encoder.read(X)
        codes = self.encode(table)
        classes = None if y is None else self.class_codes(y, codes.shape[1])
        filled = self.filled_of(codes, how, classes, random_state)
        unseen = (codes >= self.domain.cards[:, None]) & ~table.missing_mask()
        filled[unseen] = codes[unseen]
        columns = {
            v.name: values_of(v, row) for v, row in zip(self.domain.features, filled, strict=True)
        }
        for i in np.flatnonzero(unseen.any(axis=1)).tolist():
            rows = np.flatnonzero(unseen[i])
            variable = self.domain.features[i]
            columns[variable.name] = with_own_values(
                variable.decode(filled[i]), rows, table.cells(i, rows)
            )
        return frame_like(columns, library, X)

    def filled_of(
        self,
        codes: np.ndarray,
        how: str = "each",
        classes: np.ndarray | None = None,
        random_state: Any = None,
    ) -> np.ndarray:
        """Return rows that are codes already with missing values imputed, by real values only.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The codes, as ``encode`` returns them.
        how : {"each", "joint", "draw"}, default="each"
            As in ``fill``.
        classes : ndarray of shape (n_samples,), optional
            The position of the class of each row, for "joint" and "draw".
        random_state : int, Generator or None, default=None
            The seed of "draw".

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The codes without missing values.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> net.filled_of(net.encode({"petal width (cm)": 0.3}), "joint").ravel().tolist()
        [0, 2, 0, 0]
        """
        tables = self._real_tables
        options = self.inference_options
        known = np.minimum(codes, tables.cards.astype(codes.dtype)[:, None])
        with self._named_limits():
            if how == "each":
                if classes is not None:
                    raise ValueError('how="each" does not look at y; use how="joint" or how="draw"')
                filled = inference.most_probable_each(tables, known, options)
            elif how == "joint":
                filled, _, _ = inference.most_probable(tables, known, classes, options)
            elif how == "draw":
                rng = np.random.default_rng(random_state)
                filled, _ = inference.draw(tables, known, rng, classes, options)
            else:
                raise ValueError(f'how={how!r} is not "each", "joint" or "draw"')
        nothing = [v.missing_value and v.card == 1 for v in self.domain.features]
        filled[nothing] = 1  # the code for missing
        return filled

    @cached_property
    def _real_tables(self) -> CPTs:
        """The tables without the values that stand for "missing at fit"."""
        return without_missing_values(self.domain, self.parameters)

    def sample(
        self, n_samples: int = 1, random_state: Any = None, library: bool | str = "auto"
    ) -> tuple[Any, Any]:
        """Draw rows and their labels from the network.

        Numeric columns are intervals, written as text: the network knows no more. Where there are
        such columns the frame cannot go back to ``predict``, ``posterior`` or any other method that
        needs numbers in them.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed.
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default the first that is installed.

        Returns
        -------
        X : frame
            The rows.
        y : ndarray
            Their class labels.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> X, y = net.sample(5, random_state=0)
        >>> X.shape, y.shape
        ((5, 4), (5,))
        """
        rng = np.random.default_rng(random_state)
        with self._named_limits():
            codes, classes = inference.sample(
                self.parameters, int(n_samples), rng, self.inference_options
            )
        return self.decode(codes, library), self._encoder.classes_[classes]

    # ---- files and notebooks

    def to_bif(self, path: str | Path) -> None:
        """Write the network as a BIF file, which most Bayesian network programs read.

        Parameters
        ----------
        path : str or Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.to_bif(f"{folder}/iris.bif")
        """
        leaf("io").write_bif(self, path)

    def to_pyagrum(self) -> Any:
        """Return the network as a ``pyagrum.BayesNet`` (extra ``exchange``).

        Variables have the names of the columns, and labels the texts of their values. A column of
        two resolutions that has children is two variables, as in `to_bif`.

        Returns
        -------
        pyagrum.BayesNet
            The network.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> bn = net.to_pyagrum()  # doctest: +SKIP
        """
        return leaf("io").to_pyagrum(self)

    @classmethod
    def from_pyagrum(cls, bn: Any, target: str) -> BayesNet:
        """Return a ``pyagrum.BayesNet`` as a network.

        Parameters
        ----------
        bn : pyagrum.BayesNet
            The network; all variables are categories by their labels.
        target : str
            The name of the class variable, any variable of the network.

        Returns
        -------
        BayesNet
            The network.

        Examples
        --------
        >>> import pyagrum  # doctest: +SKIP
        >>> BayesNet.from_pyagrum(pyagrum.fastBN("a->b->c"), "b")  # doctest: +SKIP
        """
        found: BayesNet = leaf("io").from_pyagrum(bn, target)
        return found

    def to_pgmpy(self) -> Any:
        """Return the network as a ``pgmpy.models.DiscreteBayesianNetwork``; needs pgmpy.

        Nodes have the names of the columns, and states the texts of their values. A column of two
        resolutions that has children is two nodes, as in `to_bif`.

        Returns
        -------
        pgmpy.models.DiscreteBayesianNetwork
            The network.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> model = net.to_pgmpy()  # doctest: +SKIP
        """
        return leaf("io").to_pgmpy(self)

    @classmethod
    def from_pgmpy(cls, model: Any, target: str) -> BayesNet:
        """Return a network of pgmpy as a network.

        Parameters
        ----------
        model : pgmpy.models.DiscreteBayesianNetwork
            The network; all variables are categories by the texts of their states.
        target : str
            The name of the class variable, any variable of the network.

        Returns
        -------
        BayesNet
            The network.

        Examples
        --------
        >>> from pgmpy.example_models import load_model  # doctest: +SKIP
        >>> BayesNet.from_pgmpy(load_model("bnlearn/asia"), "lung")  # doctest: +SKIP
        """
        found: BayesNet = leaf("io").from_pgmpy(model, target)
        return found

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], target: str) -> BayesNet:
        """Return a network of conditional probability tables, as an expert writes them down.

        Parameters
        ----------
        tables : mapping of str to frame, or to mapping of columns
            For each variable a table as `tables` gives it: a column for each parent, by its name,
            and a column of probabilities for each value; a row for each combination of values of
            the parents. A variable without parents may also have its values in a column of its name
            and their probabilities in another one, or be a mapping of values to probabilities.
        target : str
            The name of the class variable, any variable of the network.

        Returns
        -------
        BayesNet
            The network; all variables are categories by the texts of their values.

        Examples
        --------
        >>> rain = {"no": 0.8, "yes": 0.2}
        >>> wet = {"rain": ["no", "yes"], "dry": [0.9, 0.2], "wet": [0.1, 0.8]}
        >>> net = BayesNet.from_tables({"rain": rain, "ground": wet}, "rain")
        >>> net.posterior({"ground": "wet"}).round(2).tolist()
        [[0.33, 0.67]]
        """
        found: BayesNet = leaf("io").from_tables(tables, target)
        return found

    def to_networkx(self) -> Any:
        """Return the network as a ``networkx.DiGraph`` with tables (extra ``exchange``).

        Returns
        -------
        networkx.DiGraph
            Nodes have the attributes ``labels``, ``parents`` and ``table``, an array with an axis
            for each parent in that order and the own one at the end.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
        >>> net.to_networkx().nodes["petal width (cm)"]["table"].shape
        (3, 3)
        """
        return leaf("io").to_networkx(self)

    @classmethod
    def from_networkx(cls, graph: Any, target: str) -> BayesNet:
        """Return a ``networkx.DiGraph`` with tables as a network.

        Parameters
        ----------
        graph : networkx.DiGraph
            A graph whose nodes have the attributes ``labels`` and ``table``, as ``to_networkx``
            gives them; ``parents`` tells the order of axes, by default that of the edges.
        target : str
            The name of the class variable, any variable of the network.

        Returns
        -------
        BayesNet
            The network.

        Examples
        --------
        >>> import networkx
        >>> graph = networkx.DiGraph([("rain", "wet")])
        >>> graph.add_node("rain", labels=["no", "yes"], table=[0.8, 0.2])
        >>> graph.add_node("wet", labels=["no", "yes"], table=[[0.9, 0.1], [0.2, 0.8]])
        >>> BayesNet.from_networkx(graph, "rain").posterior({"wet": "yes"}).round(2).tolist()
        [[0.33, 0.67]]
        """
        found: BayesNet = leaf("io").from_networkx(graph, target)
        return found

    def to_dot(self) -> str:
        """Return the structure in the DOT language, which Graphviz draws.

        Returns
        -------
        str
            The text of a file such as ``network.dot``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "map").fit(iris.X, iris.y).network_
        >>> print(net.to_dot().splitlines()[-2])
          "petal width (cm)" -> "petal length (cm)";
        """
        target = self.domain.target.name
        nodes = [f"  {_dot_name(target)} [shape=box];"]
        nodes += [f"  {_dot_name(name)};" for name in self.domain.names]
        edges = [f"  {_dot_name(a)} -> {_dot_name(b)};" for a, b in self.edges(with_class=True)]
        return "\n".join(["digraph {", *nodes, *edges, "}"])

    def to_html(self, path: str | Path | None = None, *, title: str = "", source: str = "") -> Any:
        """Make a self-contained HTML page with the picture of the network.

        Boxes of networks of up to 40 features have the distribution of the column as bars, and
        wider edges share more information, where both can be computed within ``max_cells``.
        ``BayesNetClassifier.report`` has much more than that.

        Parameters
        ----------
        path : str or Path, optional
            The file to write.
        title : str, optional
            The title; the name of the class by default.
        source : str, optional
            Where the network is from.

        Returns
        -------
        Report
            The page shows itself in a notebook; ``html`` is the whole file.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "map").fit(iris.X, iris.y).network_
        >>> net.to_html(title="Irises").html.startswith("<!doctype html>")
        True
        """
        made = leaf("report").make_network_page(self, leaf("report.heading").Heading(title, source))
        if path is not None:
            made.save(path)
        return made

    def _repr_html_(self) -> str:
        return leaf("report").network_html(self)

    def __repr__(self) -> str:
        unused = f" ({len(self.domain.unused)} not used)" if self.domain.unused else ""
        n_parents = len(self.class_parents)
        of_class = f"{count_of(n_parents, 'parent')} of the class, " if n_parents else ""
        return (
            f"<BayesNet: {len(self.domain.features)} features{unused}, {self.domain.n_classes}"
            f" classes, {self._own_tables.structure.n_edges} edges between features, {of_class}"
            f"{self.n_parameters} parameters>"
        )

    # ---- between values and codes

    def encode(self, X: Any) -> np.ndarray:
        """Return the codes of rows.

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
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> net.encode(iris.X.iloc[[0, 60]]).tolist()
        [[0, 0], [2, 0], [0, 1], [0, 1]]
        """
        return self._encoder.transform(X)

    def decode(self, codes: np.ndarray, library: bool | str = "auto") -> Any:
        """Return a frame of values from codes.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The codes, as ``encode`` returns them.
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default the first that is installed.

        Returns
        -------
        frame
            Intervals for numeric columns, None for missing values.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> net.decode(net.encode(iris.X.iloc[[0]]), "pandas")["petal width (cm)"].tolist()
        ['< 0.8']
        """
        columns = {
            v.name: values_of(v, row) for v, row in zip(self.domain.features, codes, strict=True)
        }
        return make_frame(columns, library)

    def class_codes(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the class codes of labels, and refuse another number of them than of rows.

        Parameters
        ----------
        y : sequence of labels
            The class labels.
        n_rows : int
            The number of rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The positions of the labels among the classes.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> net = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y).network_
        >>> net.class_codes(["virginica", "setosa"], 2).tolist()
        [2, 0]
        """
        classes = self._encoder.transform_y(y)
        if classes.size != n_rows:
            raise ValueError(f"X has {n_rows} rows and y has {classes.size}")
        return classes

    @cached_property
    def _encoder(self) -> FrameEncoder:
        return FrameEncoder.from_domain(self.domain, n_jobs=self.n_jobs)

    @contextmanager
    def _named_limits(self) -> Iterator[None]:
        """Name the columns of a row that needs too many cells; warn of estimates once."""
        try:
            with inference.one_warning():
                yield
        except TooManyCellsError as error:
            raise TooManyCellsError(
                error.size, error.features, error.limit, self.domain.names
            ) from None

    def _position(self, name: str) -> int:
        """Return the position of a column by its name, or that of the class."""
        target = self.domain.target.name
        if name == target:
            return CLASS
        try:
            return self.domain.position(name)
        except KeyError as error:
            raise KeyError(f"{error.args[0]}; the target is named {target!r}") from None

    def _variable(self, position: int) -> Variable:
        return self.domain.target if position == CLASS else self.domain.features[position]

    def _given(self, evidence: Mapping[str, Any]) -> tuple[CPTs, dict[int, int], float]:
        """Return tables with leaves for evidence that is not one value, and the observed codes.

        The last number is the logarithm of what the likelihoods were divided by.
        """
        soft = {
            self._position(name): {0: kind}
            for name, kind in evidence.items()
            if isinstance(kind, Evidence)
        }
        known = self._evidence(
            {name: value for name, value in evidence.items() if self._position(name) not in soft}
        )
        columns = evidence_columns(soft, [*self.domain.features, self.domain.target], 1)
        for place, _ in enumerate(columns, self.structure.n_features):
            known[place] = 0
        scale = sum(float(column.log_scale[0]) for column in columns)
        return self.with_evidence(columns).parameters, known, scale

    def _evidence(self, evidence: Mapping[str, Any]) -> dict[int, int]:
        """Return the codes of observed values by position, and refuse values never seen at fit."""
        given = {self._position(name): value for name, value in evidence.items()}
        codes = self.encode(
            {name: value for name, value in evidence.items() if self._position(name) != CLASS}
        )[:, 0]
        known = {p: int(codes[p]) for p in given if p != CLASS and codes[p] < self.domain.cards[p]}
        for position in sorted(given.keys() - known.keys() - {CLASS}):
            if not is_missing(given[position]):
                variable = self.domain.features[position]
                raise ValueError(
                    f"{given[position]!r} is not a value of the column {variable.name!r}; give one"
                    f" of {listed(variable.labels, 20, str)}, or leave the column out"
                )
        if CLASS in given:
            known[CLASS] = int(self._encoder.transform_y([given[CLASS]])[0])
        return known


def _impossible(evidence: Mapping[str, Any] | None) -> ValueError:
    """Return the error for evidence that has probability zero, with its columns."""
    if not evidence:
        return ValueError(
            "the evidence has probability zero under this network, whatever it is: its tables give"
            " no combination of values a probability"
        )
    given = (f"{name!r} = {shortened(repr(value), 60)}" for name, value in evidence.items())
    return ValueError(
        f"the evidence {listed(given, show=str)} has probability zero under this network, so"
        " nothing follows from it"
    )


def _distributions(table: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return a table of probabilities, and refuse what is not one."""
    found = np.asarray(table, dtype=np.float64)
    if found.shape != shape:
        raise ValueError(f"the table of {name!r} has the shape {found.shape}, and needs {shape}")
    total = found.sum(axis=-1, keepdims=True)
    if not ((found >= 0).all() and (np.abs(total - 1) <= 1e-4).all()):
        raise ValueError(
            f"the distributions in the table of {name!r} must be at least 0 and sum to 1; their"
            f" sums go from {total.min():.6g} to {total.max():.6g}"
        )
    return np.asarray(found / total)


def _readable(
    given: Sequence[Variable], table: np.ndarray, labels: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return the columns of a readable table: those of what is given, and one for each value."""
    rows = list(product(*(variable.labels for variable in given)))
    columns = {
        v.name: np.array([row[k] for row in rows], dtype=object) for k, v in enumerate(given)
    }
    flat = table.reshape(len(rows), -1)
    for k, label in enumerate(labels):
        columns[free_name(label, columns)] = flat[:, k]
    return columns


BayesNet.__init__ = renamed_limits(  # type: ignore[method-assign]
    "domain", "parameters", "max_factor_size", "n_draws", "n_jobs"
)(BayesNet.__init__)


def _dot_name(name: str) -> str:
    """Return a name as a quoted identifier of the DOT language.

    >>> _dot_name('size "cm"')
    '"size \\\\"cm\\\\""'
    """
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(escaped.split())}"'

"""The fitted network as people use it: structure, tables and domain, with names and values instead
of codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from discbayes import inference
from discbayes._deprecation import renamed_method
from discbayes._lazy_imports import leaf
from discbayes.data import Domain, FrameEncoder, Variable
from discbayes.data.frames import frame_like, free_name, make_frame, values_of, with_own_values
from discbayes.data.mappings import mappings_of, read_mappings
from discbayes.data.table import is_missing
from discbayes.data.table_reader import read_table
from discbayes.engine import row_blocks
from discbayes.inference import FactorTooLargeError, InferenceOptions
from discbayes.inference.completion import BATCH_CELLS, without_missing_values
from discbayes.network import CLASS, CPTs, Structure, normalize


@dataclass(frozen=True, eq=False)
class Posterior:
    """A distribution over some variables: ``probabilities`` has one axis for each, in the order of
    ``names``.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    probabilities: np.ndarray

    def to_frame(self, library: bool | str = "auto") -> Any:
        """A row for every combination of values, with its probability."""
        rows = list(product(*self.labels))
        columns: dict[str, np.ndarray] = {
            name: np.array([row[k] for row in rows], dtype=object)
            for k, name in enumerate(self.names)
        }
        return make_frame(
            {**columns, free_name("probability", self.names): self.probabilities.ravel()}, library
        )

    def __repr__(self) -> str:
        cells = zip(product(*self.labels), self.probabilities.ravel(), strict=True)
        lines = [f"  {', '.join(labels)}: {value:.6g}" for labels, value in cells]
        shown = lines if len(lines) <= 20 else [*lines[:20], f"  … {len(lines) - 20} more"]
        return "\n".join([f"P({', '.join(self.names)} | evidence)", *shown])


@dataclass(frozen=True, eq=False)
class BayesNet:
    """A Bayesian network classifier with known tables.

    Rows are given as frames, arrays, lists or mappings of column names to values, as in
    ``predict``; missing values, and values never seen at fit, are marginalized.

    Parameters
    ----------
    domain : Domain
        The columns, and what their codes mean.
    parameters : CPTs
        The structure and the numbers.
    max_factor_size : int
        Cells of the largest factor that exact inference may build.
    n_draws : int or None
        Estimate by this many draws where the factor would be larger; an error by default.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier().fit(iris.X, iris.y).network_
    >>> net.query([net.domain.target.name], {"petal width (cm)": 0.3})
    P(class | evidence)
      setosa: 0.96...
    """

    domain: Domain
    parameters: CPTs
    max_factor_size: int = inference.MAX_FACTOR_SIZE
    n_draws: int | None = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not np.array_equal(self.domain.cards, self.parameters.cards):
            raise ValueError(
                "the tables and the domain have different numbers of values: they do not belong"
                " together"
            )
        if self.domain.n_classes != self.parameters.n_classes:
            raise ValueError("the tables and the domain have different numbers of classes")
        _ = self.inference_options  # refuses limits that make no sense

    # ---- what it is

    @property
    def structure(self) -> Structure:
        """The structure."""
        return self.parameters.structure

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        return self.parameters.n_parameters

    @cached_property
    def prior(self) -> np.ndarray:
        """The table of the class: P(c) where all tables are normalised, as ``query`` gives it for
        any tables.
        """
        prior = np.exp(self.parameters.log_prior - self.parameters.log_prior.max())
        return prior / prior.sum()

    def with_prior(self, log_prior: np.ndarray) -> BayesNet:
        """The network where the classes have other shares, given as logarithms."""
        return replace(self, parameters=self.parameters.with_prior(log_prior))

    def edges(self, with_class: bool = False) -> list[tuple[str, str]]:
        """The edges between columns by name, and from the class if asked for."""
        return self.structure.edges(
            self.domain.names, self.domain.target.name if with_class else None
        )

    def tables(self, library: bool | str = "auto") -> dict[str, Any]:
        """The conditional probability tables as frames, by column name; the class comes first.

        A row stands for one class and one combination of values of the parents; there is a column
        for each value. ``library`` names the frame library ("pandas", "polars" or "pyarrow"); by
        default the first that is installed.
        """
        target = self.domain.target
        prior = {
            target.name: np.array(target.labels, dtype=object),
            free_name("probability", [target.name]): np.exp(self.parameters.log_prior),
        }
        names = self.domain.names
        return {target.name: make_frame(prior, library)} | {
            names[i]: make_frame(self._columns(i), library) for i in range(len(names))
        }

    def _columns(self, feature: int) -> dict[str, np.ndarray]:
        """The columns of the readable table of one feature."""
        table = np.exp(self.parameters.log_table(feature))
        given = [self.domain.features[p] for p in self.structure.parents[feature]]
        if self.structure.class_children[feature]:
            given, table = [self.domain.target, *given], np.moveaxis(table, -1, 0)
        else:
            table = table[..., 0]
        rows = list(product(*(variable.labels for variable in given)))
        columns = {
            v.name: np.array([row[k] for row in rows], dtype=object) for k, v in enumerate(given)
        }
        flat = table.reshape(len(rows), -1)
        for k, label in enumerate(self.domain.features[feature].labels):
            columns[free_name(label, columns)] = flat[:, k]
        return columns

    def normalized(self, keep: str = "joint") -> BayesNet:
        """The same network with tables whose rows sum to one, as those of some discriminative
        learners do not.

        P(class, row) stays as it is, and so do posteriors, likelihoods and queries. That needs a
        structure where each column has a covering parent, as in naive Bayes, TAN and KDB-1;
        elsewhere it is an error that names the columns. With ``keep="posterior"`` columns that do
        not depend on the class need none, but where they have none only P(class | row) of complete
        rows stays as it is.
        """
        tables = normalize(self.parameters, keep, self.domain.names)
        return self if tables is self.parameters else replace(self, parameters=tables)

    # ---- rows in, numbers out

    def log_joint(self, X: Any) -> np.ndarray:
        """Log P(c, x observed), a row for each row of X and a column for each class."""
        return self.log_joint_of(self.encode(X))

    def posterior(self, X: Any) -> np.ndarray:
        """P(c | x observed). A row that is impossible in every class, or has no value at all, gets
        the class prior.
        """
        return inference.posterior(self.log_joint(X), self.prior, self.n_jobs)

    def posterior_with_error(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """P(c | x observed) and its standard error: zero where it is exact, above zero where
        ``n_draws`` was used.
        """
        codes = self.encode(X)
        relative = np.zeros((codes.shape[1], self.parameters.n_classes))
        scores = self._named(
            inference.log_joint, self.parameters, codes, self.inference_options, relative
        )
        shares = inference.posterior(scores, self.prior, self.n_jobs)
        return shares, inference.posterior_error(shares, relative)

    def log_likelihood(self, X: Any, y: Any = None) -> np.ndarray:
        """Log P(x observed) of each row or, with labels, log P(x observed, y)."""
        scores = self.log_joint(X) - self._named(
            inference.log_partition, self.parameters, self.inference_options
        )
        if y is None:
            return inference.log_marginal(scores)
        classes = self.class_codes(y, scores.shape[0])
        return scores[np.arange(classes.size), classes]

    def novelty(self, X: Any, n_draws: int = 1000, random_state: Any = 0) -> np.ndarray:
        """How unusual each row is, from 0 to 1: the share of rows of this network that are more
        probable than it.

        ``n_draws`` rows are drawn from the network and compared on the columns that the row has, so
        that rows with different gaps can be compared with one another. Every pattern of gaps scores
        all draws again, so the cost grows with the number of different patterns; ``n_jobs`` threads
        share it.
        """
        if not isinstance(n_draws, (int, np.integer)) or isinstance(n_draws, bool) or n_draws < 1:
            raise ValueError(f"n_draws={n_draws!r} must be a whole number of at least 1")
        codes = self.encode(X)
        drawn, _ = self._named(
            inference.sample,
            self.parameters,
            int(n_draws),
            np.random.default_rng(random_state),
            self.inference_options,
        )
        own = inference.log_marginal(self.log_joint_of(codes))
        gaps = inference.group_by_missing(codes, np.arange(codes.shape[1]), self.domain.cards)
        score = np.empty(own.size)
        cells = drawn.shape[1] * max(drawn.shape[0], 8 * self.domain.n_classes)
        for groups in row_blocks(gaps.n_groups, max(1, BATCH_CELLS // cells)):
            hidden = codes[:, gaps.rows[gaps.start[groups]]] >= self.domain.cards[:, None]
            for group, others in enumerate(self._masked_marginals(drawn, hidden), groups.start):
                rows = gaps.rows[gaps.start[group] : gaps.start[group + 1]]
                score[rows] = (
                    1
                    - np.searchsorted(np.sort(others), own[rows] + 1e-9, side="right") / others.size
                )
        return score

    def _masked_marginals(self, drawn: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Log P of every row of codes under every pattern (a column of ``hidden``), a row for each
        pattern.
        """
        (n_features, n_rows), n_patterns = drawn.shape, hidden.shape[1]
        gap = self.domain.cards.astype(drawn.dtype)[:, None, None]
        masked = np.where(hidden[:, :, None], gap, drawn[:, None, :]).reshape(
            n_features, n_patterns * n_rows
        )
        return inference.log_marginal(self.log_joint_of(masked)).reshape(n_patterns, n_rows)

    # ---- questions

    def query(
        self, variables: str | Sequence[str], evidence: Mapping[str, Any] | None = None
    ) -> Posterior:
        """The joint posterior of any columns, the class among them, given values of any others."""
        asked = [variables] if isinstance(variables, str) else list(variables)
        known = self._evidence(evidence or {})
        positions = [self._position(name) for name in asked]
        repeated = {
            name for name in asked if asked.count(name) > 1 or self._position(name) in known
        }
        if repeated or not asked:
            raise ValueError(
                "ask for each variable once, and not for what is given:"
                f" {sorted(repeated) or 'nothing'}"
            )
        shares = self._named(
            inference.joint_posterior, self.parameters, positions, known, self.inference_options
        )
        labels = tuple(tuple(self._variable(p).labels) for p in positions)
        return Posterior(tuple(asked), labels, shares)

    def most_probable(
        self, evidence: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], float]:
        """The most probable values of everything that is not given, and the log probability of the
        whole.
        """
        known = self._evidence(evidence or {})
        codes = inference.blank_rows(self.parameters, 1)
        for position, code in known.items():
            if position != CLASS:
                codes[position] = code
        classes = np.array([known[CLASS]]) if CLASS in known else None
        filled, chosen, value = self._named(
            inference.most_probable, self.parameters, codes, classes, self.inference_options
        )
        if value[0] == -np.inf:
            raise ValueError(
                "the evidence has probability zero under this network, so nothing follows from it"
            )
        found = {
            v.name: v.decode([filled[i, 0]])[0]
            for i, v in enumerate(self.domain.features)
            if i not in known
        }
        if classes is None:
            found[self.domain.target.name] = self.domain.target.decode(chosen)[0]
        return found, float(
            value[0] - self._named(inference.log_partition, self.parameters, self.inference_options)
        )

    def fill(
        self,
        X: Any,
        how: str = "each",
        y: Any = None,
        random_state: Any = None,
        library: bool | str = "auto",
    ) -> Any:
        """The rows with their gaps filled, as a frame.

        ``how`` is "each" (the most probable value of each gap by itself), "joint" (the most
        probable values of all gaps of a row together, and of the class unless ``y`` gives it) or
        "draw" (values drawn from their distribution given the rest of the row). With many columns
        and features that have several feature parents, "joint" is much faster than "each".

        Numeric columns come back as intervals, written as text: that is what the network knows.
        Such a frame cannot go back to ``predict``, ``posterior`` or any other method that wants
        numbers in these columns.

        A value that was never seen at fit is no gap: it stays as it is, and counts as unknown when
        the gaps of its row are filled. Gaps are filled with real values only, also where
        ``missing="value"`` made "missing" a value of its own; there all gaps of a row are taken to
        hide real values. A column without any real value at fit, which has nothing but "missing",
        keeps its gaps.

        ``library`` names the frame library ("pandas", "polars" or "pyarrow"); by default that of X
        and, where X is no frame, the first that is installed. A pandas index is kept.
        """
        table = read_table(self._table(X))
        codes = self.encode(table)
        classes = None if y is None else self.class_codes(y, codes.shape[1])
        filled = self._filled(codes, how, classes, random_state)
        unseen = (codes >= self.domain.cards[:, None]) & ~table.gaps()
        filled[unseen] = codes[unseen]
        columns = {
            v.name: values_of(v, row) for v, row in zip(self.domain.features, filled, strict=True)
        }
        for i in np.flatnonzero(unseen.any(axis=1)).tolist():
            rows, variable = np.flatnonzero(unseen[i]), self.domain.features[i]
            columns[variable.name] = with_own_values(
                variable.decode(filled[i]), rows, table.cells(i, rows)
            )
        return frame_like(columns, library, X)

    def _filled(
        self, codes: np.ndarray, how: str, classes: np.ndarray | None, random_state: Any
    ) -> np.ndarray:
        """The codes with their gaps filled in one of the three ways, by real values only."""
        tables = self._real_tables
        known = np.minimum(codes, tables.cards.astype(codes.dtype)[:, None])
        if how == "each":
            if classes is not None:
                raise ValueError('how="each" does not look at y; use how="joint" or how="draw"')
            filled = self._named(
                inference.most_probable_each, tables, known, self.inference_options
            )
        elif how == "joint":
            filled, _, _ = self._named(
                inference.most_probable, tables, known, classes, self.inference_options
            )
        elif how == "draw":
            rng = np.random.default_rng(random_state)
            filled, _ = self._named(
                inference.draw, tables, known, rng, classes, self.inference_options
            )
        else:
            raise ValueError(f'how={how!r} is not "each", "joint" or "draw"')
        nothing = [v.missing_value and v.card == 1 for v in self.domain.features]
        filled[nothing] = 1  # the code for missing
        return filled

    def sample(
        self, n_samples: int = 1, random_state: Any = None, library: bool | str = "auto"
    ) -> tuple[Any, Any]:
        """Draw rows, as a frame, and their labels.

        Numeric columns are intervals, written as text: the network knows no more. Where there are
        such columns the frame cannot go back to ``predict``, ``posterior`` or any other method that
        wants numbers in them.
        """
        rng = np.random.default_rng(random_state)
        codes, classes = self._named(
            inference.sample, self.parameters, int(n_samples), rng, self.inference_options
        )
        return self.decode(codes, library), self._encoder.classes_[classes]

    # ---- files and pages

    def to_bif(self, path: str | Path) -> None:
        """Write the network as a BIF file, which most Bayesian network programs read."""
        leaf("io").write_bif(self, path)

    def _repr_html_(self) -> str:
        return leaf("report").network_html(self)

    def __repr__(self) -> str:
        unused = f" ({len(self.domain.unused)} not used)" if self.domain.unused else ""
        return (
            f"<BayesNet: {len(self.domain.features)} features{unused}, {self.domain.n_classes}"
            f" classes, {self.structure.n_edges} edges between features, {self.n_parameters}"
            " parameters>"
        )

    # ---- between values and codes

    def encode(self, X: Any) -> np.ndarray:
        """The codes of rows."""
        return self._encoder.transform(self._table(X))

    def _table(self, X: Any) -> Any:
        """Rows that are mappings of column names to values as a table; all else as it is."""
        rows = mappings_of(X)
        return X if rows is None else read_mappings(rows, self.domain.names)

    def decode(self, codes: np.ndarray, library: bool | str = "auto") -> Any:
        """A frame of values from codes: intervals for numeric columns, None for what is missing."""
        columns = {
            v.name: values_of(v, row) for v, row in zip(self.domain.features, codes, strict=True)
        }
        return make_frame(columns, library)

    @cached_property
    def _encoder(self) -> FrameEncoder:
        return FrameEncoder.from_domain(self.domain, n_jobs=self.n_jobs)

    @property
    def inference_options(self) -> InferenceOptions:
        """How far exact inference goes."""
        return InferenceOptions(self.max_factor_size, self.n_draws, n_jobs=self.n_jobs)

    @cached_property
    def _real_tables(self) -> CPTs:
        """The tables without the values that stand for "missing at fit"."""
        return without_missing_values(self.domain, self.parameters)

    def log_joint_of(self, codes: np.ndarray) -> np.ndarray:
        """The log-joint of rows that are codes already."""
        return self._named(inference.log_joint, self.parameters, codes, self.inference_options)

    def missing_posteriors_of(self, codes: np.ndarray) -> dict[int, np.ndarray]:
        """P(value | what is observed, c) of every gap of one row of codes: a row for each value, by
        position.
        """
        return self._named(
            inference.missing_posteriors, self.parameters, codes, self.inference_options
        )

    gap_posteriors_of = renamed_method("gap_posteriors_of", missing_posteriors_of)

    def _named(self, function: Any, *arguments: Any) -> Any:
        """Call an inference function; columns in its error have names."""
        try:
            return function(*arguments)
        except FactorTooLargeError as error:
            raise FactorTooLargeError(
                error.size, error.features, error.limit, self.domain.names
            ) from None

    def _position(self, name: str) -> int:
        target = self.domain.target.name
        if name == target:
            return CLASS
        try:
            return self.domain.position(name)
        except KeyError as error:
            raise KeyError(f"{error.args[0]}; the target is named {target!r}") from None

    def _variable(self, position: int) -> Variable:
        return self.domain.target if position == CLASS else self.domain.features[position]

    def class_codes(self, y: Any, n_rows: int) -> np.ndarray:
        """The class codes of as many labels as there are rows."""
        classes = self._encoder.transform_y(y)
        if classes.size != n_rows:
            raise ValueError(f"X has {n_rows} rows and y has {classes.size}")
        return classes

    def _evidence(self, evidence: Mapping[str, Any]) -> dict[int, int]:
        """Codes of the given values, without gaps; a value that the column does not have is
        refused.
        """
        given = {self._position(name): value for name, value in evidence.items()}
        codes = self.encode(
            {name: value for name, value in evidence.items() if self._position(name) != CLASS}
        )[:, 0]
        known = {p: int(codes[p]) for p in given if p != CLASS and codes[p] < self.domain.cards[p]}
        for position in sorted(given.keys() - known.keys() - {CLASS}):
            if not is_missing(given[position]):
                variable = self.domain.features[position]
                raise ValueError(
                    f"{given[position]!r} is no value of the column {variable.name!r}; give one of "
                    f"{', '.join(variable.labels[:20])}, or leave the column out"
                )
        if CLASS in given:
            known[CLASS] = int(self._encoder.transform_y([given[CLASS]])[0])
        return known

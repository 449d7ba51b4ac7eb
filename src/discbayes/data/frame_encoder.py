"""The encoder of tables, in training and in prediction."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discbayes._deprecation import renamed_parameters
from discbayes._text import listed
from discbayes.data.codebook import MANY_ROWS, Codebook
from discbayes.data.date_columns import expand_dates, expand_known
from discbayes.data.dates import DATES, EXPAND, with_parts
from discbayes.data.discretize import TwoResolutionDiscretizer
from discbayes.data.domain import Domain, Encoded, Variable
from discbayes.data.evidence import (
    EvidenceColumn,
    certain_value,
    evidence_columns,
    with_evidence,
)
from discbayes.data.mappings import mappings_of, read_mappings
from discbayes.data.row_blocks import WithDomain
from discbayes.data.table import Table, default_names
from discbayes.data.table_reader import read_table
from discbayes.data.targets import (
    check_weight,
    classes_and_codes,
    label_array,
    target_variable,
    warn_of_light_weights,
    weights_of_all,
)
from discbayes.data.variables import (
    Declared,
    Target,
    fit_variables,
    resolve,
    resolve_discretizer,
    warn_of_unused,
)

MISSING = ("available", "value", "drop", "error")
_UNKNOWN = ("marginalize", "error")
EVERY_ROW = "every row has a missing value, so that none is left to learn from; "
_MAX_CHARACTERS = 1 << 22  # of an array of labels, each as wide as the longest one


class FrameEncoder:
    """Encode tables of any library, and remember how.

    It reads pandas, polars and arrow frames, others that narwhals supports, arrays and lists of
    rows. Numbers are discretized; strings, categoricals and booleans become categories. Columns of
    an array are named x0, x1, ...

    Parameters
    ----------
    discretizer : str, None or transformer, default="mdlp"
        How numeric columns are discretized: "mdlp" (`MDLPDiscretizer`), "equal-frequency"
        (`EqualFrequencyDiscretizer`) or "two-resolution" (`TwoResolutionDiscretizer`). With None
        their values are categories. Another transformer is cloned and fitted for each column on its
        own, and must have ``cut_points_`` or ``bin_edges_`` afterwards.
    categorical : "auto", "all", or list of names, positions or bools, default="auto"
        The numeric columns that are categories. A string column that is listed may have any number
        of values.
    domains : mapping of name to values, or Domain, optional
        The values of a column, in order, where not all of them may occur in the data. A ``Domain``
        declares all columns and the class, with cut points: nothing is learned, and
        ``discretizer``, ``categorical`` and ``missing="value"`` are not used.
    missing : "available", "value", "drop" or "error", default="available"
        The treatment of missing values at fit: they keep the code for missing, they become a value
        of their own in the columns that have any, at fit and in `transform`, their rows are
        dropped, or they are refused.
    unknown : "marginalize" or "error", default="marginalize"
        The treatment of a value in `transform` that did not occur at fit: it counts as missing, or
        it is refused.
    n_jobs : int or None, default=None
        The number of threads; -1 for all cores.
    dates : "expand", "drop" or "error", default="expand"
        The treatment of columns of dates at fit: year, month, weekday, hour and days since 2000 are
        columns in their place, they are left out, or they are refused.

    Attributes
    ----------
    domain_ : Domain
        The variables. A column in which all values are missing has one value: a numeric one has no
        cut points, and any other has no values.
    classes_ : ndarray
        The classes in rising order, in the type of ``y``.
    kept_rows_ : ndarray of bool or None
        The mask of the rows that `fit_transform` kept; None if it kept all. Rows of weight zero are
        never kept.

    Examples
    --------
    >>> import pandas as pd
    >>> from discbayes.data import FrameEncoder
    >>> frame = pd.DataFrame({"size": [1, 2, 8, 9] * 3, "color": ["red", "blue", "red", None] * 3})
    >>> encoder = FrameEncoder()
    >>> data = encoder.fit_transform(frame, ["no", "no", "yes", "yes"] * 3)
    >>> [variable.labels for variable in data.domain.features]
    [['< 5', '>= 5'], ['blue', 'red']]
    >>> encoder.transform(pd.DataFrame({"size": [3, None], "color": ["green", "red"]}))
    array([[0, 2],
           [2, 1]], dtype=uint8)
    """

    domain_: Domain
    classes_: np.ndarray
    kept_rows_: np.ndarray | None

    def __init__(
        self,
        discretizer: Any = "mdlp",
        categorical: str | Sequence[Any] = "auto",
        domains: Mapping[str, Sequence[Any]] | Domain | None = None,
        missing: str = "available",
        unknown: str = "marginalize",
        n_jobs: int | None = None,
        *,
        dates: str = EXPAND,
    ):
        self.discretizer = discretizer
        self.categorical = categorical
        self.domains = domains
        self.missing = _one_of("missing", missing, MISSING)
        self.unknown = _one_of("unknown", unknown, _UNKNOWN)
        self.n_jobs = n_jobs
        self.dates = _one_of("dates", dates, DATES)

    @classmethod
    def from_domain(
        cls,
        domain: Domain,
        unknown: str = "marginalize",
        n_jobs: int | None = None,
        classes: np.ndarray | None = None,
    ) -> FrameEncoder:
        """Return an encoder that is ready to `transform`, for a domain that was learned before.

        Parameters
        ----------
        domain : Domain
            The variables.
        unknown : "marginalize" or "error", default="marginalize"
            The treatment of values that the domain does not have.
        n_jobs : int or None, default=None
            The number of threads; -1 for all cores.
        classes : ndarray, optional
            The classes in the type of the labels; by default in that of the domain.

        Returns
        -------
        FrameEncoder
            The encoder.

        Examples
        --------
        >>> from discbayes.data import Domain, FrameEncoder, Variable
        >>> size = Variable("size", "numeric", cuts=(5.0,))
        >>> domain = Domain((size,), Variable("class", "categorical", ("no", "yes")))
        >>> FrameEncoder.from_domain(domain).transform([[3.0], [8.0]])
        array([[0, 1]], dtype=uint8)
        """
        encoder = cls(unknown=unknown, n_jobs=n_jobs)
        encoder.use_domain(
            domain, _label_array(domain.target.values) if classes is None else classes
        )
        return encoder

    def use_domain(self, domain: Domain, classes: np.ndarray) -> None:
        """Prepare to `transform` by a domain that was learned elsewhere.

        Parameters
        ----------
        domain : Domain
            The variables.
        classes : ndarray
            The classes in the type of the labels.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import Domain, FrameEncoder, Variable
        >>> size = Variable("size", "numeric", cuts=(5.0,))
        >>> domain = Domain((size,), Variable("class", "categorical", ("no", "yes")))
        >>> encoder = FrameEncoder()
        >>> encoder.use_domain(domain, np.array(["no", "yes"]))
        >>> encoder.transform([[3.0], [8.0]])
        array([[0, 1]], dtype=uint8)
        """
        self.domain_ = domain
        self.classes_ = classes
        self.kept_rows_ = None
        self._codebook = Codebook(domain.features)

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> Encoded:
        """Learn the domain of a table and return its codes.

        Parameters
        ----------
        X : frame, array or list of rows
            The features.
        y : array-like of shape (n_samples,)
            The class labels: strings, booleans or whole numbers.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row. Rows of weight zero are not used. Weights that sum to 1 or less
            over several rows are shares of rows: they are scaled to a mean of 1.

        Returns
        -------
        Encoded
            The codes, classes and weights of the rows that are used.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> data.codes, data.y
        (array([[1, 0, 1]], dtype=uint8), array([1, 0, 1]))
        """
        table, labels, weight, kept = self.select_rows(self.read_new(X), y, sample_weight)
        data = self.fit_selected(table, labels, weight, getattr(y, "name", None))
        self.kept_rows_ = kept
        return data

    def fit_selected(
        self, table: Table, labels: np.ndarray, weight: np.ndarray | None, target: Any = None
    ) -> Encoded:
        """Learn the domain of rows that all count, and return their codes.

        Parameters
        ----------
        table : Table
            The features.
        labels : ndarray
            The class labels.
        weight : ndarray or None
            The positive weights; None if every row counts once.
        target : object, optional
            The name of the class.

        Returns
        -------
        Encoded
            The codes, classes and weights.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.data.table_reader import read_table
        >>> table = read_table([["red"], ["blue"]])
        >>> FrameEncoder().fit_selected(table, np.array(["yes", "no"]), None).codes
        array([[1, 0]], dtype=uint8)
        """
        codes = self.learn(table, labels, weight, target)
        data = Encoded(self.encode_fitted(table), self.domain_, codes, weight)
        grouped: Encoded = self.group_values(data)
        return grouped

    def group_values(self, data: Any) -> Any:
        """Return rows in whose domain the values of columns that have many are grouped.

        Parameters
        ----------
        data : Rows
            The rows from which the domain of the encoder was learned, with their codes.

        Returns
        -------
        Rows
            The same codes in the domain with groups, which the encoder takes on. They are the rows
            as they are, if the discretizer makes no groups or no column has many values.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> FrameEncoder("two-resolution").group_values(data) is data
        True
        """
        discretizer = resolve_discretizer(self.discretizer, self.n_jobs)
        known = isinstance(self.domains, Domain)
        if known or not isinstance(discretizer, TwoResolutionDiscretizer):
            return data
        domain = discretizer.group_values(data)
        if domain is data.domain:
            return data
        self.domain_ = domain  # codes stay
        return data.changed(WithDomain(domain))

    def learn(
        self, table: Table, labels: np.ndarray, weight: np.ndarray | None, target: Any = None
    ) -> np.ndarray:
        """Learn the domain of rows that all count, unless it is given.

        Parameters
        ----------
        table : Table
            The features.
        labels : ndarray
            The class labels.
        weight : ndarray or None
            The positive weights; None if every row counts once.
        target : object, optional
            The name of the class.

        Returns
        -------
        ndarray
            The class codes of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.data.table_reader import read_table
        >>> encoder = FrameEncoder()
        >>> encoder.learn(read_table([["red"], ["blue"]]), np.array(["yes", "no"]), None)
        array([1, 0])
        >>> encoder.domain_.features[0].values
        ('blue', 'red')
        """
        if isinstance(self.domains, Domain):
            text = labels.dtype.kind == "O"
            self.use_domain(
                self.domains, np.array(self.domains.target.values, dtype=object if text else None)
            )
            self._check_columns(table)
            return self.class_codes(labels)
        classes, codes = classes_and_codes(labels)
        discretizer = resolve_discretizer(self.discretizer, self.n_jobs)
        known = Target(labels, codes, classes, weight)
        declared = replace(self.declared(table.names), dates=table.dates or {})
        features = fit_variables(table, known, declared, discretizer, self.n_jobs)
        self.adopt(
            features, table.missing_counts(), target_variable(target, classes, table.names), classes
        )
        return codes

    def declared(self, names: list[str]) -> Declared:
        """Return what the settings declare about the columns of a table.

        Parameters
        ----------
        names : list of str
            The names of the columns.

        Returns
        -------
        Declared
            The categories, and the values of some columns, by position.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> encoder = FrameEncoder(domains={"color": ["blue", "red"]})
        >>> dict(encoder.declared(["size", "color"]).domains)
        {1: ('blue', 'red')}
        """
        if isinstance(self.domains, Domain):
            features = enumerate(self.domains.features)
            return Declared(
                frozenset(),
                {i: variable.values for i, variable in features if variable.cuts is None},
            )
        if self.domains is not None and not isinstance(self.domains, Mapping):
            raise TypeError(
                f"domains={self.domains!r} must be a mapping of column names to values, or a Domain"
            )
        return resolve(self.categorical, self.domains, names)

    @renamed_parameters(gaps="n_missing")
    def adopt(
        self,
        features: Sequence[Variable],
        n_missing: np.ndarray,
        target: Variable,
        classes: np.ndarray,
    ) -> None:
        """Use variables that were learned from a table.

        Parameters
        ----------
        features : sequence of Variable
            The variables.
        n_missing : ndarray
            The number of missing values of each.
        target : Variable
            The class.
        classes : ndarray
            The classes in the type of the labels.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder, Variable
        >>> encoder = FrameEncoder(missing="value")
        >>> size = Variable("size", "numeric", cuts=(5.0,))
        >>> target = Variable("class", "categorical", ("no", "yes"))
        >>> encoder.adopt([size], np.array([3]), target, np.array(["no", "yes"]))
        >>> encoder.domain_.features[0].labels
        ['< 5', '>= 5', '(missing)']
        """
        if self.missing == "value":
            features = [
                replace(v, missing_value=bool(n)) for v, n in zip(features, n_missing, strict=True)
            ]
        self.use_domain(Domain(tuple(features), target), classes)

    def select_rows(
        self, table: Table, y: Any, sample_weight: Any, all_rows: bool = True
    ) -> tuple[Table, np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Select the rows that count, and check them.

        Parameters
        ----------
        table : Table
            The features.
        y : array-like
            The class labels.
        sample_weight : array-like or None
            The weights.
        all_rows : bool, default=True
            Whether these are all rows of a fit: only then weights can be recognized as shares.

        Returns
        -------
        table : Table
            The features of the rows that count.
        labels : ndarray
            Their class labels.
        weight : ndarray or None
            Their weights; None if every row counts once.
        kept : ndarray of bool or None
            The mask of these rows; None if all rows count.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.data.table_reader import read_table
        >>> table = read_table([["red"], ["blue"], ["red"]])
        >>> _, labels, weight, kept = FrameEncoder().select_rows(table, [1, 0, 1], [2, 0, 1])
        >>> labels, weight, kept
        (array([1, 1]), array([2., 1.]), array([ True, False,  True]))
        """
        labels = label_array(y, table.n_rows)
        weight, kept = check_weight(sample_weight, table.n_rows)
        if weight is not None and all_rows:
            weight = weights_of_all(weight)
        elif weight is not None:
            warn_of_light_weights(float(weight.sum()), weight.size)
        if kept is not None:
            table, labels = table.take(kept), labels[kept]
        complete = complete_rows(table, self.missing)
        if complete is None:
            return table, labels, weight, kept
        if not complete.any():
            refuse_missing(table.names, table.missing_counts(), EVERY_ROW)
        kept = complete if kept is None else _within(kept, complete)
        return (
            table.take(complete),
            labels[complete],
            None if weight is None else weight[complete],
            kept,
        )

    def encode_fitted(self, table: Table) -> np.ndarray:
        """Return the codes of rows that the domain was learned from.

        Parameters
        ----------
        table : Table
            The features.

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The codes; missing values have the code of the value "missing" if there is one.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.data.table_reader import read_table
        >>> table = read_table([["red"], ["blue"], [None]])
        >>> encoder = FrameEncoder(missing="value")
        >>> _ = encoder.learn(table, np.array([1, 0, 1]), None)
        >>> encoder.encode_fitted(table)
        array([[1, 0, 2]], dtype=uint8)
        """
        codes = self._codebook.encode(table, self.n_jobs)
        for position in self.declared(table.names).domains:
            self._refuse_unseen(
                table, codes, position, "add it to the domains of the column, or mark it as missing"
            )
        for row, variable in zip(codes, self.domain_.features, strict=True):
            if variable.missing_value:
                row[row == variable.card] = variable.card - 1
        return codes

    def warn_of_unused(self) -> None:
        """Warn of columns that are not used, unless the whole domain was given.

        Examples
        --------
        >>> import warnings
        >>> from discbayes.data import FrameEncoder
        >>> encoder = FrameEncoder()
        >>> _ = encoder.fit_transform([["red", "big"], ["blue", "big"]], [1, 0])
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     encoder.warn_of_unused()
        >>> print(caught[0].message)
        1 of 2 columns is not used (one value only): 'x1'
        """
        if not isinstance(self.domains, Domain):
            warn_of_unused(self.domain_, self.discretizer)

    def transform(self, X: Any, unknown: str | None = None) -> np.ndarray:
        """Return the codes of a table with the same columns.

        A missing value becomes the value "missing" in columns that have one, and is unknown in
        others.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The features.
        unknown : "marginalize" or "error", optional
            The setting ``unknown`` for this call.

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The codes; the number of values of a feature is its code for missing.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> encoder = FrameEncoder()
        >>> _ = encoder.fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> encoder.transform([["blue"], ["green"]])
        array([[0, 2]], dtype=uint8)
        """
        few = self.encode_few(X, unknown)
        if few is not None:
            return few
        table = self.read(X)
        self._check_columns(table)
        codes = self._codebook.encode(table, self.n_jobs)
        if _one_of("unknown", unknown or self.unknown, _UNKNOWN) == "error":
            for position in range(len(table.names)):
                way_out = 'use unknown="marginalize" to count it as missing'
                self._refuse_unseen(table, codes, position, way_out)
        else:
            self._warn_of_lost_columns(table, codes)
        self._read_missing(table, codes)
        return codes

    def transform_evidence(
        self, X: Any, unknown: str | None = None
    ) -> tuple[np.ndarray, list[EvidenceColumn]]:
        """Return the codes of a table whose cells may hold evidence of any kind.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The features.
        unknown : "marginalize" or "error", optional
            The setting ``unknown`` for this call.

        Returns
        -------
        codes : ndarray of shape (n_features + n_columns, n_samples)
            The codes that ``transform`` returns, and those of the evidence.
        columns : list of EvidenceColumn
            The columns that have evidence other than values. Evidence that leaves one value
            possible is that value.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder, Not
        >>> encoder = FrameEncoder()
        >>> _ = encoder.fit_transform([["red"], ["blue"], ["green"]], [1, 0, 1])
        >>> codes, columns = encoder.transform_evidence([["blue"], [Not("red")]])
        >>> codes.tolist(), columns[0].kinds
        ([[0, 3], [2, 0]], (Not(values=('red',)),))
        """
        few = self.encode_few(X, unknown)
        if few is not None:
            return few, []
        table = self.read(X)
        if not table.evidence:
            return self.transform(table, unknown), []
        codes = self.transform(table.without_evidence(), unknown)
        cells: dict[int, dict[int, Any]] = {}
        for position, by_row in table.evidence.items():
            variable = self.domain_.features[position]
            certain = {kind: certain_value(kind, variable) for kind in set(by_row.values())}
            for row, kind in by_row.items():
                code = certain[kind]
                if code is None:
                    cells.setdefault(position, {})[row] = kind
                else:
                    codes[position, row] = code
        columns = evidence_columns(cells, self.domain_.features, table.n_rows)
        return with_evidence(codes, columns), columns

    def read_new(self, X: Any, hours: Collection[str] | None = None) -> Table:
        """Read rows to learn from, with the parts of dates in the place of dates.

        Parameters
        ----------
        X : frame, array or list of rows
            The features.
        hours : collection of str, optional
            Where these are some of many rows: the columns whose dates have hours, since these rows
            alone do not tell; texts stay texts.

        Returns
        -------
        Table
            The rows.

        Examples
        --------
        >>> import datetime
        >>> from discbayes.data import FrameEncoder
        >>> FrameEncoder().read_new([[datetime.date(2024, 2, 29), 1.5]]).names
        ['x0 (year)', 'x0 (month)', 'x0 (weekday)', 'x0 (days since 2000)', 'x1']
        """
        table = read_table(X)
        if isinstance(self.domains, Domain):
            return expand_known(table, self.domains.dates, self.domains.names)
        if table.dates is not None:
            return table
        kept = {str(name) for name in self.domains or ()}
        declared = self.categorical
        is_all = isinstance(declared, str) and declared == "all"
        if is_all:
            kept |= set(table.names)
        elif hasattr(declared, "__iter__") and not isinstance(declared, str):
            kept |= {name for name in declared if isinstance(name, str)}
        # a category for each day would tell nothing of other days
        days = self.discretizer is not None and not is_all
        expanded = expand_dates(table, self.dates, kept, hours, days)
        self._refuse_positions(table, expanded)
        return expanded

    def _refuse_positions(self, table: Table, expanded: Table) -> None:
        """Refuse positions of columns as categories where dates have moved the columns."""
        if not expanded.dates or not table.named or isinstance(self.categorical, str):
            return
        if not all(isinstance(item, str) for item in self.categorical):
            raise ValueError(
                "categorical must have names, not positions or a mask, where a column holds dates:"
                " their parts move the other columns"
            )

    def read(self, X: Any) -> Table:
        """Read rows whose columns are those of the domain, or dates in place of their parts.

        Parameters
        ----------
        X : frame, array, list of rows, or mappings of column names to values
            The features.

        Returns
        -------
        Table
            The rows.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> encoder = FrameEncoder()
        >>> _ = encoder.fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> encoder.read({"x0": "blue"}).n_rows
        1
        """
        dates, names = self.domain_.dates, self.domain_.names
        rows = mappings_of(X)
        if rows is None:
            return expand_known(read_table(X), dates, names)
        if any(part is not None for part in dates):
            rows = [with_parts(row, dates) for row in rows]
        return expand_known(read_mappings(rows, names), dates, names)  # refuses other dates

    def encode_few(self, X: Any, unknown: str | None = None) -> np.ndarray | None:
        """Return the codes of a few rows of plain values, in a fraction of the time of a table.

        Parameters
        ----------
        X : object
            The features.
        unknown : "marginalize" or "error", optional
            The setting ``unknown`` for this call.

        Returns
        -------
        ndarray of shape (n_features, n_samples) or None
            The codes that `transform` returns; None if it has to read whole columns.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> encoder = FrameEncoder()
        >>> _ = encoder.fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> encoder.encode_few({"x0": "blue"})
        array([[0]], dtype=uint8)
        """
        unseen = _one_of("unknown", unknown or self.unknown, _UNKNOWN) != "error"
        return self._codebook.encode_few(X, unseen)

    def _read_missing(self, table: Table, codes: np.ndarray) -> None:
        """Give missing values their code in the columns in which "missing" is a value."""
        reading = [
            at for at, variable in enumerate(self.domain_.features) if variable.reads_missing
        ]
        if not reading:
            return
        missing = table.missing_mask()
        if table.unnamed is not None:
            missing &= ~table.unnamed
        for at in reading:
            codes[at, missing[at]] = self.domain_.features[at].card - 1

    def _warn_of_lost_columns(self, table: Table, codes: np.ndarray) -> None:
        """Warn of a column of which no value is known: its type has changed since fit."""
        if table.n_rows < MANY_ROWS:
            return
        for position, variable in enumerate(self.domain_.features):
            row, missing = codes[position], variable.card
            if row[0] != missing or len(variable.values) < 2 or not (row == missing).all():
                continue
            odd = self._codebook.unseen(table, codes, position)
            if odd:
                warnings.warn(
                    f"no value of column {variable.name!r} was seen at fit ({listed(odd)} against"
                    f" {listed(variable.values)}), so the whole column counts as missing: give"
                    " it the type that it had at fit",
                    stacklevel=2,
                )

    def _refuse_unseen(self, table: Table, codes: np.ndarray, position: int, way_out: str) -> None:
        odd = self._codebook.unseen(table, codes, position)
        if odd:
            known = listed(self.domain_.features[position].values)
            raise ValueError(
                f"column {table.names[position]!r} holds {listed(odd)}, which is none of its known"
                f" values ({known}): {way_out}"
            )

    def _check_columns(self, table: Table) -> None:
        expected, got = self.domain_.names, table.names
        if len(got) != len(expected):
            raise ValueError(
                f"X has {len(got)} features, but BayesNet is expecting {len(expected)} features as"
                " input"
            )
        if not table.named or got == expected:
            return
        if sorted(got) == sorted(expected):
            raise ValueError(
                f"X has the columns of fit in another order, {listed(got)} instead of"
                f" {listed(expected)}: reorder them"
            )
        # learned from an array: columns are taken in their order
        if expected == default_names(len(expected)):
            return
        lacking = [name for name in expected if name not in set(got)]
        surplus = [name for name in got if name not in set(expected)]
        raise ValueError(
            f"the columns of X differ from those at fit: missing {listed(lacking)}; new"
            f" {listed(surplus)}"
        )

    def transform_y(self, y: Any) -> np.ndarray:
        """Return the class codes of labels.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The class labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            The position of each label among the classes.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> encoder = FrameEncoder()
        >>> _ = encoder.fit_transform([["red"], ["blue"]], ["yes", "no"])
        >>> encoder.transform_y(["no", "yes"])
        array([0, 1])
        """
        return self.class_codes(label_array(y, None), "that were not there at fit")

    def class_codes(
        self, labels: np.ndarray, odd_ones: str = "that were not declared"
    ) -> np.ndarray:
        """Return the class codes of labels that `label_array` accepted.

        Parameters
        ----------
        labels : ndarray
            The labels.
        odd_ones : str
            The description of labels that are not classes, for the message of an error.

        Returns
        -------
        ndarray
            The position of each label among the classes.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> encoder = FrameEncoder()
        >>> _ = encoder.fit_transform([["red"], ["blue"]], ["yes", "no"])
        >>> encoder.class_codes(np.array(["no", "yes", "yes"]))
        array([0, 1, 1])
        """
        levels, codes = classes_and_codes(labels)
        index = {value: code for code, value in enumerate(self.domain_.target.values)}
        odd = [value for value in levels.tolist() if value not in index]
        if odd:
            raise ValueError(
                f"y holds classes {odd_ones}: {listed(odd)}; the classes are {listed(index)}"
            )
        return np.array([index[value] for value in levels.tolist()], dtype=np.int64)[codes]


def _one_of(option: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{option} must be one of {listed(choices)}; got {value!r}")
    return value


def _within(kept: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Return the mask over all rows, from one over the rows that the first mask kept."""
    rows = np.zeros(kept.size, dtype=bool)
    rows[np.flatnonzero(kept)[complete]] = True
    return rows


def complete_rows(table: Table, missing: str) -> np.ndarray | None:
    """Return the mask of the rows that the rule for missing values keeps; None for all."""
    if missing == "error":
        refuse_missing(table.names, table.missing_counts())
    if missing != "drop":
        return None
    complete = table.complete_rows()
    return None if complete.all() else complete


def refuse_missing(names: list[str], counts: np.ndarray, reason: str = "") -> None:
    """Refuse a table in which columns have missing values, by their numbers."""
    if not counts.any():
        return
    worst = [at for at in np.argsort(-counts, kind="stable") if counts[at]]
    columns = listed(worst, show=lambda at: f"{names[at]!r} ({counts[at]})")
    raise ValueError(
        f"X has missing values (NaN): {reason}columns with missing values: {columns}. "
        'missing="available" learns from what is there'
    )


def _label_array(values: Sequence[Any]) -> np.ndarray:
    """Return the values of the class as an array.

    Strings of very different lengths stay objects, which take less memory.
    """
    n_characters = len(values) * max(map(len, values)) if isinstance(values[0], str) else 0
    return np.array(values, dtype=object if n_characters > _MAX_CHARACTERS else None)

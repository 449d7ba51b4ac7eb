"""A model that predicts, and does nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._settings import sums_to_one
from discbayes._text import listed
from discbayes.data.domain import Domain
from discbayes.predict.pooling import EnsemblePosterior, NetworkPosterior, ObservedRows
from discbayes.predict.row_codes import Cells, RowEncoder

_MAX_ROWS = 1 << 14  # at a time


@dataclass(frozen=True, eq=False)
class Member:
    """A network with its calibration, the columns that it reads, and whether these had names."""

    domain: Domain
    named: bool
    posterior: NetworkPosterior


class Predictor:
    """A saved classifier or ensemble that predicts by numpy alone.

    `discbayes.predict.load` makes it. Rows are a mapping of column names to values (one row), a
    list of mappings, a mapping of names to lists (a table), an array or a list of rows, or a frame.
    A value that is None or NaN is missing; a column that a mapping leaves out is unknown. Evidence
    that is not one value is ``OneOf``, ``Between``, ``Not`` or ``Likelihood``, or its JSON form:
    ``{"one_of": [...]}``, ``{"between": [low, high]}``, ``{"not": [...]}``,
    ``{"likelihood": [[value, weight], ...]}``.

    Parameters
    ----------
    members : sequence of Member
        The network with its calibration; those of an ensemble.
    classes : ndarray
        The class labels.
    by_name : bool
        Whether columns may lack, and others be there.
    refuses_unknown : bool
        Whether values that a column never had are an error.
    ensemble : EnsemblePosterior, optional
        The pool of several members.

    Attributes
    ----------
    classes : list
        The class labels.
    columns : list of str
        The names of the columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import discbayes.predict
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     BayesNetClassifier("nb", "map").fit(iris.X, iris.y).save(f"{folder}/model.json")
    ...     model = discbayes.predict.load(f"{folder}/model.json")
    >>> model.predict_proba({"petal width (cm)": {"between": [None, 0.5]}}).round(3).tolist()
    [[0.996, 0.002, 0.002]]
    """

    def __init__(
        self,
        members: Sequence[Member],
        classes: np.ndarray,
        by_name: bool,
        refuses_unknown: bool,
        ensemble: EnsemblePosterior | None = None,
    ):
        self._members = members
        self._labels = classes
        self._ensemble = ensemble
        self._encoders = [
            RowEncoder(member.domain, member.named, by_name, refuses_unknown) for member in members
        ]

    @property
    def classes(self) -> list[Any]:
        """The class labels, in the order of the probabilities."""
        return list(self._labels.tolist())

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._members[0].domain.columns

    def __repr__(self) -> str:
        return f"Predictor({len(self.columns)} columns, classes: {listed(self.classes, 5)})"

    def predict_proba(self, rows: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """Return P(c | x observed) of rows; missing and unseen values are marginalized exactly.

        Parameters
        ----------
        rows : mapping, list of mappings, mapping of lists, array, list of rows, or frame
            The rows.
        class_prior : sequence of float, optional
            Class shares that replace those of the fit, in the order of ``classes``.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import discbayes.predict
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BayesNetClassifier("nb", "map").fit(iris.X, iris.y).save(f"{folder}/model.json")
        ...     model = discbayes.predict.load(f"{folder}/model.json")
        >>> model.predict_proba([{"petal width (cm)": 1.0}, {}]).round(2).tolist()
        [[0.0, 0.9, 0.09], [0.33, 0.33, 0.33]]
        """
        log_prior = None if class_prior is None else self._log_prior(class_prior)
        columns, n_rows = self._encoders[0].columns(rows)
        coded = [encoder.encode(columns, n_rows) for encoder in self._encoders]
        parts = [
            self._log_posterior(coded, np.arange(start, min(start + _MAX_ROWS, n_rows)), log_prior)
            for start in range(0, n_rows, _MAX_ROWS)
        ]
        return np.exp(np.concatenate(parts))

    def predict(self, rows: Any, class_prior: Sequence[float] | None = None) -> np.ndarray:
        """Return the most probable class of each row, the first of equal ones.

        Parameters
        ----------
        rows : mapping, list of mappings, mapping of lists, array, list of rows, or frame
            The rows.
        class_prior : sequence of float, optional
            Class shares that replace those of the fit, in the order of ``classes``.

        Returns
        -------
        ndarray of shape (n_rows,)
            The class labels.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import discbayes.predict
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BayesNetClassifier("nb", "map").fit(iris.X, iris.y).save(f"{folder}/model.json")
        ...     model = discbayes.predict.load(f"{folder}/model.json")
        >>> model.predict({"petal width (cm)": 1.0}).tolist()
        ['versicolor']
        """
        return np.asarray(self._labels[self.predict_proba(rows, class_prior).argmax(axis=1)])

    def _log_prior(self, class_prior: Sequence[float]) -> np.ndarray:
        shares = np.asarray(class_prior, dtype=np.float64)
        if shares.shape != self._labels.shape:
            raise ValueError(f"class_prior needs a share for each of {self._labels.size} classes")
        if not sums_to_one(shares):
            raise ValueError(f"class_prior={class_prior!r} must be probabilities that sum to 1")
        known = (
            [self._ensemble]
            if self._ensemble
            else [member.posterior.to_probabilities for member in self._members]
        )
        for one in known:
            if one is not None and ((shares > 0) & (one.log_shares == -np.inf)).any():
                raise ValueError("class_prior has a share for a class that had none at fit")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares / shares.sum()))

    def _log_posterior(
        self, coded: Sequence[tuple[np.ndarray, Cells]], rows: np.ndarray, log_prior: Any
    ) -> np.ndarray:
        """Return log P(c | x) of some rows, given as the codes and evidence of each member."""
        of_member = log_prior if self._ensemble is None else None
        found = [
            _by_evidence(member, codes, evidence, rows, of_member)
            for member, (codes, evidence) in zip(self._members, coded, strict=True)
        ]
        return (
            found[0] if self._ensemble is None else self._ensemble.log_posterior(found, log_prior)
        )


def _by_evidence(
    member: Member, codes: np.ndarray, evidence: Cells, rows: np.ndarray, log_prior: Any
) -> np.ndarray:
    """Return log P(c | x) of rows, those with the same evidence at once."""
    groups: dict[frozenset[Any], list[int]] = {}
    for place, row in enumerate(rows.tolist()):
        groups.setdefault(frozenset(evidence.get(row, {}).items()), []).append(place)
    out = np.empty((rows.size, member.domain.n_classes))
    for kinds, places in groups.items():
        likelihoods = {
            column: kind.likelihood(member.domain.features[column]) for column, kind in kinds
        }
        part = ObservedRows(codes[:, rows[places]], likelihoods)
        out[places] = member.posterior.log_posterior(part, log_prior)
    return out

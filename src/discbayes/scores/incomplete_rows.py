"""Rows with gaps in a sample score: what is missing is summed out exactly, for every candidate that
touches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from discbayes.inference import log_joint
from discbayes.kernels import family_theta as kernels
from discbayes.network import CPTs, Layout, Structure
from discbayes.scores.candidate_families import Family
from discbayes.scores.scoring_rows import ScoringRows


class IncompleteRowScores:
    """The rows with gaps, which are the last of all rows, and their log-joint under the families in
    force.
    """

    def __init__(
        self, rows: ScoringRows, first: int, log_prior: np.ndarray, families: Sequence[Family]
    ):
        self.first = first
        self.rows = rows.take(np.arange(first, rows.y.size))
        self.prior = log_prior[self.rows.group, self.rows.y]
        self.log_joint = self.under(families, np.arange(self.rows.y.size))

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.rows.y.size)

    @cached_property
    def per_feature(self) -> np.ndarray:
        """How many rows each feature is missing in."""
        pairs = zip(self.rows.codes, self.rows.cards, strict=True)
        return np.array([np.count_nonzero(codes >= card) for codes, card in pairs], np.int64)

    def under(self, families: Sequence[Family], which: np.ndarray) -> np.ndarray:
        """The log-joint of some of the rows under the given families."""
        rows, out = self.rows, self.prior[which].copy()
        structure = Structure(tuple(family.parents for family in families))
        layout = Layout(structure, rows.cards, rows.n_classes)
        for g in np.unique(rows.group[which]):
            members = np.flatnonzero(rows.group[which] == g)
            flat = np.concatenate(
                [family.tables.reshape(rows.n_groups, -1)[g] for family in families]
            )
            tables = CPTs(layout, np.zeros(rows.n_classes), flat)
            out[members] += log_joint(tables, np.ascontiguousarray(rows.codes[:, which[members]]))
        if rows.scheme == kernels.LEAVE_ONE_OUT:
            out[np.arange(which.size), rows.y[which]] += sum(
                self._own_part(family, which) for family in families
            )
        return out

    def _own_part(self, family: Family, which: np.ndarray) -> np.ndarray:
        """What leaving a row out changes for its own class: only families that it is complete in
        have counted it.
        """
        rows, base = self.rows, family.base[self.first :][which]
        cell = (rows.group[which] * family.n_base + np.maximum(base, 0)) * rows.n_classes + rows.y[
            which
        ]
        return np.where(base >= 0, family.own[cell] - family.tables[cell], 0.0)

    def after(self, families: Sequence[Family], new: Family, log_joint: np.ndarray) -> np.ndarray:
        """The log-joint of all of the rows if one of the families, which give ``log_joint``, is
        replaced by another.
        """
        out, affected = self.exchange(families[new.child], new, log_joint)
        self.infer(families, new, out, affected)
        return out

    def exchange(
        self, old: Family, new: Family, log_joint: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same where no gap is in either family; the other rows, which are returned, need
        inference.
        """
        out = log_joint.copy()
        base, old_base = new.base[self.first :], old.base[self.first :]
        whole = (base >= 0) & (old_base >= 0)
        masked = [(family, replace_base(family, self.first, whole)) for family in (old, new)]
        for (family, cells), sign in zip(masked, (-1.0, 1.0), strict=True):
            kernels.add_family(
                out,
                self.rows.y,
                self.rows.group,
                cells,
                family.n_base,
                family.tables,
                family.own,
                sign,
            )
        return out, np.flatnonzero(~whole)

    def infer(
        self, families: Sequence[Family], new: Family, out: np.ndarray, affected: np.ndarray
    ) -> None:
        """Write the log-joint of some of the rows, with one of the families replaced by another."""
        if affected.size:
            changed = [new if family.child == new.child else family for family in families]
            out[affected] = self.under(changed, affected)


def replace_base(family: Family, first: int, whole: np.ndarray) -> np.ndarray:
    """The cells of the rows from ``first`` on, a gap where the row is not whole."""
    return np.where(whole, family.base[first:], -1).astype(np.int32)


def complete_first(rows: ScoringRows) -> tuple[ScoringRows, int]:
    """The rows with those without gaps first, and how many of them there are."""
    incomplete = np.zeros(rows.y.size, np.bool_)
    for codes, card in zip(rows.codes, rows.cards, strict=True):
        incomplete |= codes >= card
    if not incomplete.any():
        return rows, rows.y.size
    whole = np.flatnonzero(~incomplete)
    return rows.take(np.concatenate([whole, np.flatnonzero(incomplete)])), int(whole.size)

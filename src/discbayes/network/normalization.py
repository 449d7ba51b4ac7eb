"""Tables that are not normalized, turned into a normalized network.

Wettig et al. (2003), Algorithm 1 of P13. Children before parents, each row of a table is
divided by its sum. The sum depends on the parents of the feature, so that it can be multiplied into
the table of a parent that has all the other parents as its own, the covering parent, or into P(c)
where the class is the only parent. There is such a table exactly where the parents are joined by
edges:

=================================  ==================================  ======================
features with a covering parent    what stays as it is                 condition
=================================  ==================================  ======================
every feature                      p(c, x)                             ``Structure.is_moral``
every child of the class           P(c | x) of complete rows           ``Structure.is_c1``
=================================  ==================================  ======================

The two differ only where the class is not a parent of every feature. The sums of a feature that
does not depend on the class are equal in all classes; without a covering parent they can be left
out for P(c | x), but not for p(c, x).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discbayes.network.cpts import CPTs
from discbayes.network.graph import CLASS
from discbayes.network.structure import Structure

# log-sums of rows that differ by no more than this, relative to their size, are the same
EQUAL_SUMS = 1e-12
SHOWN = 12


def normalize(tables: CPTs, keep: str = "joint", names: Sequence[str] | None = None) -> CPTs:
    """Return normalized tables of the same structure for the same distribution.

    Tables represent p(c, x) ∝ exp(log-joint). Every value that is impossible (−inf) stays so. A row
    of a table without any possible value makes its parents' values impossible together, which moves
    to their tables; the row itself, which nothing can reach any more, becomes uniform. Normalized
    tables are returned as they are.

    Parameters
    ----------
    tables : CPTs
        Any finite numbers, or −inf. Every feature needs a covering parent; one without is accepted
        where all rows of its table have the same sum in each class, as those of a normalized table
        have.
    keep : "joint" or "posterior"
        With "joint" p(c, x) stays as it is, up to its constant. With "posterior" only P(c | x) of
        complete rows does: then features that do not depend on the class need no covering parent,
        but answers about rows with missing values change where they have none.
    names : sequence of str, optional
        Names of the features, for messages.

    Returns
    -------
    CPTs
        The normalized tables.

    Raises
    ------
    ValueError
        Where a covering parent is missing, or where no row at all is possible.

    Examples
    --------
    >>> from discbayes.network import Layout, Structure
    >>> layout = Layout(Structure.naive(1), np.array([2]), 2)
    >>> found = normalize(CPTs(layout, np.log([1.0, 1.0]), np.log([3.0, 1.0, 1.0, 1.0])))
    >>> np.exp(found.log_prior).round(3), np.exp(found.log_table(0)).round(3)
    (array([0.667, 0.333]), array([[0.75, 0.5 ],
           [0.25, 0.5 ]]))
    """
    if keep not in ("joint", "posterior"):
        raise ValueError(f'keep={keep!r} is not "joint" or "posterior"')
    if tables.is_normalized:
        return tables
    layout, structure = tables.layout, tables.structure
    log_prior, log_theta = np.array(tables.log_prior, float), np.array(tables.log_theta, float)
    immoral = set(structure.immoral_features)
    for i in reversed(structure.order):
        sums, axes = _take_sums(layout.table(log_theta, i)), (*structure.parents[i], CLASS)
        if i in immoral:
            if keep == "posterior" and not structure.class_children[i]:
                continue
            if not _same_in_all_rows(sums):
                raise ValueError(_refusal(structure, keep, names))
            sums, axes = sums.reshape(-1, layout.n_classes)[0], (CLASS,)
        cover = structure.covering_parent(i) if len(axes) > 1 else None
        if cover is None:
            log_prior += sums
        else:
            # a parent is seen by state, and its own table is by value
            sums = sums.take(layout.states_of(cover), axis=axes.index(cover))
            layout.table(log_theta, cover)[...] += _along(
                sums, axes, (*structure.parents[cover], cover, CLASS)
            )
    _take_sums(log_prior[:, None])
    offset = tables.prior_offset
    if offset is not None:  # what was multiplied into the prior is not a class frequency
        possible = tables.log_prior > -np.inf
        offset = offset + np.subtract(
            log_prior, tables.log_prior, out=np.zeros_like(log_prior), where=possible
        )
    return CPTs(layout, log_prior, log_theta, offset)


def _take_sums(table: np.ndarray) -> np.ndarray:
    """Normalize the rows of a table of log θ in place; return the log-sums, the largest as zero.

    The common constant changes no distribution, and left in it would only cost digits further up.
    """
    top = table.max(axis=-2, keepdims=True)
    impossible = top == -np.inf
    if impossible.all():
        raise ValueError(
            "no row is possible under these tables in any class (all are −inf): nothing can be"
            " normalized"
        )
    table -= np.where(impossible, 0.0, top)
    np.copyto(table, 0.0, where=impossible)
    rest = np.log(np.exp(table).sum(axis=-2, keepdims=True))
    table -= rest
    sums = np.where(impossible, -np.inf, top + rest)[..., 0, :]
    return np.asarray(sums - sums.max())


def _same_in_all_rows(sums: np.ndarray) -> bool:
    rows = sums.reshape(-1, sums.shape[-1])
    return np.allclose(rows.min(axis=0), rows.max(axis=0), rtol=EQUAL_SUMS, atol=EQUAL_SUMS)


def _along(sums: np.ndarray, axes: tuple[int, ...], wanted: tuple[int, ...]) -> np.ndarray:
    """Return the array with its axes in the order ``wanted``, of length one where it has none."""
    present = [node for node in wanted if node in axes]
    ordered = sums.transpose([axes.index(node) for node in present])
    return np.expand_dims(ordered, tuple(k for k, node in enumerate(wanted) if node not in axes))


def _refusal(structure: Structure, keep: str, names: Sequence[str] | None) -> str:
    """Return why there is no normalized network, and what to do instead."""
    found = [
        i for i in structure.immoral_features if keep == "joint" or structure.class_children[i]
    ]
    labels = [f"feature {i}" if names is None else repr(names[i]) for i in found[:SHOWN]]
    shown = ", ".join(labels) + (", …" if len(found) > SHOWN else "")
    other = ""
    if keep == "joint" and structure.is_c1:
        other = (
            ' With keep="posterior" there is a network with the same P(class | x) for complete'
            " rows."
        )
    return (
        f"these tables cannot be normalized: {shown} {'has' if len(found) == 1 else 'have'} no"
        " covering parent, which is a parent that has all the other parents, the class among them,"
        " as its own, and whose table could take the sums of rows. Use the tables as they are:"
        " they represent p(c, x) ∝ exp(log-joint), and posteriors, likelihoods, queries and"
        " samples are answers about that. Or learn a structure like TAN, where the parents of"
        f" every feature are the class and at most one feature.{other}"
    )

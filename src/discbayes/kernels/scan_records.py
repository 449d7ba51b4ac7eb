"""Records of arrays that the kernels of a structure search pass to each other.

A candidate is a further parent of a child. The kernels score it on rows (``ScoringRows``) by tables
of what it adds to log θ (``ParentTables``), in the cells of the child with the parents that it has
(``BaseCells``). A record is a NamedTuple, which numba compiles to the fields themselves. A hot loop
is in a helper that is not inlined and reads the fields before the loop: inside, an access may count
a reference to the array, which takes longer than the access and hinders the compiler.

Python passes the fields as a plain tuple, and the kernel makes the record of them: numba looks up
the class of a NamedTuple at each call from Python, which takes longer than small scans.

Tables are flat, ``(group, cell, class)`` with the class innermost. ``own`` tables hold the entry of
a row's own class; they are the same array unless rows are left out one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ScoringRows(NamedTuple):
    """Rows to score: codes, classes, weights, and the group of each row.

    Attributes
    ----------
    codes : array (n_features, n_rows)
        The code of each feature; codes from ``cards`` on are missing values.
    y, weight, group : arrays (n_rows,)
        Class, weight, and the group that decides which tables score the row.
    removed : array (n_groups,)
        The weight that a row of the group removes when it is left out; zeros unless
        ``scheme`` is leave-one-out.
    scheme : int
        RESUBSTITUTION, FOLDS or LEAVE_ONE_OUT of ``kernels/family_theta.py``.
    cards : array (n_features,)
        The number of values of each feature.
    n_classes : int
        The number of classes.
    """

    codes: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    removed: np.ndarray
    scheme: int
    cards: np.ndarray
    n_classes: int

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return self.removed.size

    @property
    def has_unit_weights(self) -> bool:
        """Whether every row counts once."""
        return bool((self.weight == 1.0).all())

    def take(self, which: np.ndarray) -> ScoringRows:
        """Return some of the rows."""
        return self._replace(
            codes=np.ascontiguousarray(self.codes[:, which]),
            y=self.y[which],
            weight=self.weight[which],
            group=self.group[which],
        )


class ValueBits(NamedTuple):
    """Bit sets of the values of features: a bit for every row that has the value.

    Attributes
    ----------
    has_bits : bool array (n_features,)
        Which features have bit sets.
    value_start : array (n_features + 1,)
        The first bit set of each feature.
    bits : uint64 array (n_bit_sets, n_words)
        The bit sets.
    """

    has_bits: np.ndarray
    value_start: np.ndarray
    bits: np.ndarray


class BaseCells(NamedTuple):
    """The cells of a family before a further parent joins it.

    Attributes
    ----------
    base : int32 array (n_rows,)
        The cell of each row, ``configuration of the parents * card + value``; negative where a
        value of the family is missing.
    n_base : int
        The number of cells.
    bits : uint64 array (n_base, n_words)
        The bit set of each cell; of shape ``(0, 0)`` if there are none.
    """

    base: np.ndarray
    n_base: int
    bits: np.ndarray


class ParentTables(NamedTuple):
    """The tables that each of several further parents adds to log θ of a family.

    Attributes
    ----------
    parents : array (n_parents,)
        The features.
    starts : array
        Where the table of each parent begins.
    ranges : array (n_parents,)
        The range of each table: the largest difference between classes within a cell.
    tables, own : arrays
        The tables one after the other; a cell is ``code of the parent * n_base + base``.
    """

    parents: np.ndarray
    starts: np.ndarray
    ranges: np.ndarray
    tables: np.ndarray
    own: np.ndarray


class CandidateTable(NamedTuple):
    """The table of one of the ``ParentTables``, and the cells of the rows in it.

    Attributes
    ----------
    codes : array (n_rows,)
        The codes of the parent.
    base, n_base : array, int
        The cells of the family before the parent joins it, see ``BaseCells``.
    n_cells, n_classes : int
        The number of cells with the parent, and of classes.
    tables, own : arrays
        The table.
    """

    codes: np.ndarray
    base: np.ndarray
    n_base: int
    n_cells: int
    n_classes: int
    tables: np.ndarray
    own: np.ndarray


class ScanRows(NamedTuple):
    """Rows in scan order: those that a table of small range can change come first.

    Attributes
    ----------
    scale : float
        λ: the margin of a row counts as ``min(1, λ · margin)``.
    order : array (n_rows,)
        The position of each row among all rows; the other fields but ``log_joint`` are in this
        order.
    slack : array (n_rows,)
        How far classes may move against each other before the row's decision changes (accuracy) or
        its value stops being linear (margin).
    y, other : int32 arrays (n_rows,)
        The class of each row, and the strongest other class.
    value, weight, group : arrays (n_rows,)
        Value, weight and group of each row.
    log_joint : array (n_rows, n_classes)
        The log-joint of all rows, not in scan order.
    """

    scale: float
    order: np.ndarray
    slack: np.ndarray
    y: np.ndarray
    other: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    log_joint: np.ndarray


class SlackSection(NamedTuple):
    """Consecutive rows of ``ScanRows`` that are sorted by slack.

    Attributes
    ----------
    first : int
        The first row.
    ends : array
        For each step of slack, how many rows of the section are within it.
    first_word, n_bits : int
        How many of its rows, those of least slack, are in the bit sets, and from which word on.
    """

    first: int
    ends: np.ndarray
    first_word: int
    n_bits: int


class TableCells(NamedTuple):
    """How the rows of the cells of a table are found.

    Attributes
    ----------
    by_bits : bool
        Whether bit sets find them, and not a loop over rows.
    ranges : array (n_cells,)
        The range of each cell; empty if it is not needed.
    value_bits, base_bits : uint64 arrays (n_bit_sets, n_words)
        The bit sets of the values of the parent, and of the cells of the family that it joins.
    """

    by_bits: bool
    ranges: np.ndarray
    value_bits: np.ndarray
    base_bits: np.ndarray


class LinearRows(NamedTuple):
    """Rows whose margin counts in proportion, whatever their slack.

    Attributes
    ----------
    rows : array
        The positions of the rows with a value below one.
    other : array (n_rows,)
        The strongest other class of all rows.
    by_own, by_other : CountingBits
        Bit sets of the rows, by their own and by the strongest other class.
    """

    rows: np.ndarray
    other: np.ndarray
    by_own: tuple[np.ndarray, ...]
    by_other: tuple[np.ndarray, ...]


class CountingBits(NamedTuple):
    """Bit sets whose words are sorted by group and class, from which both are counted.

    Attributes
    ----------
    bits : uint64 array (n_bit_sets, n_words)
        The bit sets of values.
    base_bits : uint64 array (n_base, n_words)
        Those of the cells of a family; of shape ``(0, 0)`` if there are none.
    word_start : array (n_groups * n_classes + 1,)
        The first word of each group and class.
    """

    bits: np.ndarray
    base_bits: np.ndarray
    word_start: np.ndarray


class LikelyClasses(NamedTuple):
    """Rows in scan order for the likelihood, with the classes that are likely in each.

    Attributes
    ----------
    rows : array (n_rows,)
        The position of each row among all rows.
    start : array (n_rows + 1,)
        Where the classes of each row begin.
    classes, shares : arrays
        The classes, the row's own first, and their posterior probabilities.
    max_gain_from : array (n_rows + 1,)
        The most that the rows from each one on, and those that are not listed, can gain.
    """

    rows: np.ndarray
    start: np.ndarray
    classes: np.ndarray
    shares: np.ndarray
    max_gain_from: np.ndarray


class IncompleteRowRecord(NamedTuple):
    """Rows with missing values in scan order, with the posteriors of their missing values.

    Attributes
    ----------
    kind : int
        The objective: ACCURACY, LIKELIHOOD or MARGIN of ``kernels/candidate_scan.py``.
    scale : float
        λ of the margin.
    joint, shares : arrays
        Log-joint and posterior of the classes, ``(row, class)`` flat.
    other, margin, value : arrays (n_rows,)
        Strongest other class, margin and value of each row; not used by the likelihood.
    max_gain_from : array (n_rows + 1,)
        The most that the rows from each one on can gain.
    beliefs, belief_start : arrays
        P(value | class, observed values) of the missing values: for each feature, row by row,
        ``(value, class)`` flat; and where each feature begins.
    """

    kind: int
    scale: float
    joint: np.ndarray
    shares: np.ndarray
    other: np.ndarray
    margin: np.ndarray
    value: np.ndarray
    max_gain_from: np.ndarray
    beliefs: np.ndarray
    belief_start: np.ndarray


class RootTable(NamedTuple):
    """The table that a parent adds to log θ of a root, and the codes of both.

    Attributes
    ----------
    child_codes, parent_codes : arrays (n_rows,)
        The codes of the root and of the parent.
    card, parent_card : int
        The numbers of their values.
    beliefs, parent_beliefs : int
        Where the beliefs in their missing values begin.
    is_leaf, held_out : bool
        Whether the root has no children, and whether rows are left out one by one.
    table, own, factors : arrays
        The table, and its exponentials.
    reference, reference_own : arrays
        The table of the root without the parent.
    """

    child_codes: np.ndarray
    parent_codes: np.ndarray
    card: int
    parent_card: int
    beliefs: int
    parent_beliefs: int
    is_leaf: bool
    held_out: bool
    table: np.ndarray
    own: np.ndarray
    factors: np.ndarray
    reference: np.ndarray
    reference_own: np.ndarray


class Forest(NamedTuple):
    """A forest over the features with its tables θ, for passing messages.

    Attributes
    ----------
    upward : array (n_features,)
        The features, children before parents.
    parent : array (n_features,)
        The parent of each feature; −1 for roots.
    child_start, children : arrays
        The children of feature i are ``children[child_start[i]:child_start[i + 1]]``.
    theta_start, theta_size, theta : arrays
        Where the tables of each feature begin, the size of one group's table, and all tables.
    smallest : array (n_features,)
        The smallest entry of the tables of each feature.
    message_start, told_start : arrays
        Where the messages of a feature, and those to its parent, begin in a buffer.
    """

    upward: np.ndarray
    parent: np.ndarray
    child_start: np.ndarray
    children: np.ndarray
    theta_start: np.ndarray
    theta_size: np.ndarray
    theta: np.ndarray
    smallest: np.ndarray
    message_start: np.ndarray
    told_start: np.ndarray


class MoveRows(NamedTuple):
    """Rows by margin, for moves that change several families.

    Attributes
    ----------
    kind : int
        The objective: ACCURACY, LIKELIHOOD or MARGIN of ``kernels/candidate_scan.py``.
    scale : float
        λ of the margin.
    log_joint : array (n_rows, n_classes)
        The log-joint.
    margin, y, weight, group, value : arrays (n_rows,)
        Margin, class, weight, group and value of each row.
    max_gain_from : array (n_rows + 1,)
        The most that the rows from each one on can gain.
    """

    kind: int
    scale: float
    log_joint: np.ndarray
    margin: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    value: np.ndarray
    max_gain_from: np.ndarray


class ChildTables(NamedTuple):
    """The tables that one parent adds to log θ of the families of several children.

    Attributes
    ----------
    codes : int32 array (n_rows,)
        The codes of the parent.
    card : int
        The number of values of the parent.
    children, n_base : arrays (n_children,)
        The children, and the number of cells of each before the parent joins.
    bases : int32 array (n_features, n_rows)
        The cell of each row in each family.
    starts, tables, own : arrays
        Where the table of each child begins, and the tables one after the other.
    """

    codes: np.ndarray
    card: int
    children: np.ndarray
    n_base: np.ndarray
    bases: np.ndarray
    starts: np.ndarray
    tables: np.ndarray
    own: np.ndarray


class ChainRows(NamedTuple):
    """The rows under the tree of an annealing chain.

    Attributes
    ----------
    kind : int
        The objective: ACCURACY, LIKELIHOOD or MARGIN of ``kernels/candidate_scan.py``.
    scale : float
        λ of the margin.
    log_joint : array (n_rows, n_classes)
        The log-joint.
    other, margin, slack, value : arrays (n_rows,)
        Strongest other class, margin, slack and value of each row, see ``candidate_scan.margins``.
    linear_rows : array
        For the margin, the rows with a value below one.
    """

    kind: int
    scale: float
    log_joint: np.ndarray
    other: np.ndarray
    margin: np.ndarray
    slack: np.ndarray
    value: np.ndarray
    linear_rows: np.ndarray


class EdgeTables(NamedTuple):
    """Tables that edges add to log θ of children, ``(group, parent code, child code, class)``.

    Attributes
    ----------
    starts : array
        Where the table of each edge begins.
    tables, own : arrays
        The tables.
    """

    starts: np.ndarray
    tables: np.ndarray
    own: np.ndarray


class EdgeTable(NamedTuple):
    """One of the ``EdgeTables``.

    Attributes
    ----------
    codes : array (n_rows,)
        The codes of the parent.
    n_cells : int
        The number of cells of parent and child; 0 if there is no edge.
    start : int
        Where the table begins.
    tables, own : arrays
        The tables.
    """

    codes: np.ndarray
    n_cells: int
    start: int
    tables: np.ndarray
    own: np.ndarray

"""Records of arrays that kernels take instead of a dozen arguments that travel together.

numba compiles a named tuple as if its arrays were arguments, and a call costs about a microsecond
more. ``discbayes.network`` makes the records and explains the conventions of the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class LayoutArrays(NamedTuple):
    """Where the cells of every table are (``discbayes.network.Layout``)."""

    order: np.ndarray  # the features, parents before children
    cards: np.ndarray
    n_states: np.ndarray  # as children see the feature
    offsets: np.ndarray
    parent_start: np.ndarray
    parent_index: np.ndarray
    parent_stride: np.ndarray


class CPTArrays(NamedTuple):
    """The numbers in the tables (``discbayes.network.CPTs``), on the log scale."""

    log_prior: np.ndarray
    log_theta: np.ndarray


class ForestTables(NamedTuple):
    """The tables of a forest, and those of its features where they are missing.

    The own axis of a missing feature is by state, as axes of parents are. With one resolution both
    are the same arrays.
    """

    cards: np.ndarray
    n_states: np.ndarray
    offsets: np.ndarray
    theta: np.ndarray
    smallest: np.ndarray
    shifts: np.ndarray
    missing_offsets: np.ndarray
    missing_theta: np.ndarray
    missing_smallest: np.ndarray
    missing_shifts: np.ndarray
    is_normalized: bool


class ForestLogTables(NamedTuple):
    """The tables of a forest on the log scale, and those of its features where they are missing."""

    cards: np.ndarray
    n_states: np.ndarray
    state_of: np.ndarray  # of value v of feature i: state_of[value_start[i] + v]
    offsets: np.ndarray
    log_theta: np.ndarray
    missing_offsets: np.ndarray
    missing_log_theta: np.ndarray


class ForestArrays(NamedTuple):
    """The order and the neighbors by which messages pass along a forest of features.

    ``upward`` lists the features that can matter when they are missing, children before parents;
    ``downward`` lists all features, parents before children. ``parent`` is −1 for a root. The
    message of feature ``i`` to its parent starts at ``message_start[i]`` (one number for each state
    of the parent and each class), its own values start at ``value_start[i]``.
    """

    upward: np.ndarray
    downward: np.ndarray
    parent: np.ndarray
    child_start: np.ndarray
    child_index: np.ndarray
    message_start: np.ndarray
    value_start: np.ndarray


class StateTables(NamedTuple):
    """Tables of a network for elimination: parents' axes by state, the class axis padded.

    A *state* of a feature is a set of its values that no table of its children tells apart. Every
    feature has a table for when it is observed, whose own axis is by value, and one for when it is
    missing, whose own axis is by state: entries of the values of a state are summed up. Both are
    ranges of one flat array, ``width`` entries for the classes of a cell, zeros behind the last.
    """

    order: np.ndarray  # the features, parents before children
    cards: np.ndarray
    states: np.ndarray  # number of states of each feature
    state_start: np.ndarray
    state_of: np.ndarray  # the state of value v of feature i is state_of[state_start[i] + v]
    parent_start: np.ndarray
    parent_index: np.ndarray
    child_start: np.ndarray
    child_index: np.ndarray
    observed: np.ndarray  # where the table of an observed feature begins
    observed_stride: np.ndarray  # by parent
    missing: np.ndarray  # where the table of a missing feature begins
    missing_stride: np.ndarray  # by parent
    smallest: np.ndarray  # lower bound of the positive entries; zero where logarithms are needed
    shifts: np.ndarray  # logarithm by which each table was scaled down
    n_classes: int
    width: int
    on_logs: bool  # entries are logarithms
    is_normalized: bool

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
    offsets: np.ndarray
    parent_start: np.ndarray
    parent_index: np.ndarray
    parent_stride: np.ndarray


class CPTArrays(NamedTuple):
    """The numbers in the tables (``discbayes.network.CPTs``), on the log scale and off it."""

    log_prior: np.ndarray
    log_theta: np.ndarray
    theta: np.ndarray
    smallest: np.ndarray
    shifts: np.ndarray
    is_normalized: bool


class ForestArrays(NamedTuple):
    """The order and the neighbors by which messages pass along a forest of features.

    ``upward`` lists the features that can matter when they are missing, children before parents;
    ``downward`` lists all features, parents before children. ``parent`` is −1 for a root. The
    message of feature ``i`` to its parent starts at ``message_start[i]`` (one number for each value
    of the parent and each class), its own values start at ``value_start[i]``.
    """

    upward: np.ndarray
    downward: np.ndarray
    parent: np.ndarray
    child_start: np.ndarray
    child_index: np.ndarray
    message_start: np.ndarray
    value_start: np.ndarray

"""Passes of discriminative frequency estimates: each row counts by 1 − P(y | x).

``cells`` holds smoothed pseudo-counts of all families, class innermost, and ``totals`` their sums
over the values of a feature, kept where the first value has its cells: θ is one over the other.
Products of many counts stay within the range of a double, so that a row needs few logarithms, and a
change of counts none at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel


class Pseudocounts(NamedTuple):
    """Counts that the passes change: of the classes, of all cells, and of rows of cells."""

    class_count: np.ndarray
    cells: np.ndarray
    totals: np.ndarray


@helper
def _find_families(row, features, n_classes, layout, places, lines):
    """Write the cell of each complete family and the start of its row; return how many."""
    known = 0
    for i in features:
        whole, line = row[i] < layout.cards[i], layout.offsets[i]
        for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
            code = np.int64(row[layout.parent_index[k]])
            if code >= layout.cards[layout.parent_index[k]]:
                whole = False
                break
            line += code * layout.parent_stride[k]
        if whole:
            lines[known] = np.uint64(line)
            places[known] = np.uint64(line + np.int64(row[i]) * n_classes)
            known += 1
    return known


@helper
def _log_share(cells, totals, places, lines, known, c, at_once):
    """Return log Π θ of ``known`` families for one class, ``at_once`` factors per logarithm."""
    # unsigned positions: signed ones are tested for being negative at each look-up
    shift, value = np.uint64(c), 0.0
    for first in range(0, known, at_once):
        last = first + at_once if first + at_once < known else known
        count, total = 1.0, 1.0
        for k in range(first, last):
            count *= cells[places[k] + shift]
            total *= totals[lines[k] + shift]
        value += np.log(count / total)
    return value


@helper
def _split_posterior(scores, own):
    """Return the log posterior of a class, and 1 − P, exact also where it is tiny."""
    top = scores[0]
    for c in range(1, scores.size):
        top = scores[c] if scores[c] > top else top
    others = 0.0
    for c in range(scores.size):
        if c != own:
            others += np.exp(scores[c] - top)
    total = others + np.exp(scores[own] - top)
    return scores[own] - top - np.log(total), others / total


@kernel
def frequency_pass(codes, rows, y, weight, children, others, layout, at_once, counts):
    """Add weight·(1 − P(y | x)) of each row in turn to the counts of its families.

    ``codes`` is row-major here. ``children`` are the features that depend on the class: the
    ``others`` are the same for every class and have no part in P(y | x). Returns Σ weight·log P(y |
    x), each row by the counts before it.
    """
    class_count, cells, totals = counts
    n_features, n_classes = codes.shape[1], class_count.size
    places, lines = np.empty(n_features, np.uint64), np.empty(n_features, np.uint64)
    scores = np.empty(n_classes)
    seen = 0.0
    for m in rows:
        row, own = codes[m], y[m]
        known = _find_families(row, children, n_classes, layout, places, lines)
        for c in range(n_classes):
            scores[c] = np.log(class_count[c]) + _log_share(
                cells, totals, places, lines, known, c, at_once
            )
        log_posterior, loss = _split_posterior(scores, own)
        amount = weight[m] if weight.size > 0 else 1.0
        seen += amount * log_posterior
        step = amount * loss
        if step == 0.0:
            continue
        class_count[own] += step
        known += _find_families(row, others, n_classes, layout, places[known:], lines[known:])
        shift = np.uint64(own)
        for k in range(known):
            cells[places[k] + shift] += step
            totals[lines[k] + shift] += step
    return seen

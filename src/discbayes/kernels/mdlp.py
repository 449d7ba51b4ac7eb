"""Recursive minimal-entropy partitioning, stopped by the minimum description length.

A column arrives as a histogram: distinct values in rising order, and for value ``d`` the entries
``starts[d] .. starts[d+1]`` of (class, weight). With ``f(w) = w log2 w``, a set of class weights
``w_c`` with sum ``n`` has ``n`` times its entropy equal to ``f(n) - sum_c f(w_c)``; moving one
entry from right to left changes two terms, which is why a pass over the candidates costs two
logarithms per entry, whatever the number of classes.
"""

from __future__ import annotations

import math

import numpy as np

from discbayes.kernels._compile import helper, inline_kernel, kernel

# Sums of f drift by rounding; two candidates closer than this share of f(n) count as tied.
_TIE = 1e-12


@helper
def _f(weight):
    return weight * math.log2(weight) if weight > 0.0 else 0.0


@inline_kernel
def _boundaries(starts, classes):
    """Mark where a cut point can be optimal.

    That is everywhere except between two values that both hold only the same class.
    """
    n_values = starts.size - 1
    boundary = np.ones(n_values, np.bool_)
    before = -1
    for value in range(n_values):
        only = classes[starts[value]]
        for entry in range(starts[value] + 1, starts[value + 1]):
            if classes[entry] != only:
                only = -1
                break
        boundary[value] = value > 0 and (only == -1 or only != before)
        before = only
    return boundary


@helper
def _sum_classes(begin, end, classes, weights, out):
    """Add the class weights of the entries ``begin .. end`` into ``out``."""
    out[:] = 0.0
    for entry in range(begin, end):
        out[classes[entry]] += weights[entry]


@helper
def _summary(class_weight):
    """Return total weight, number of classes present, and total times entropy."""
    total = 0.0
    present = 0
    terms = 0.0
    for weight in class_weight:
        if weight > 0.0:
            total += weight
            present += 1
            terms += _f(weight)
    return total, present, max(_f(total) - terms, 0.0)


@inline_kernel
def _best_cut(low, high, starts, classes, weights, boundary, node, left):
    """Return the value at which the right part starts for minimal weighted entropy; -1 for none."""
    total = 0.0
    right_terms = 0.0
    f_left, f_right = np.zeros(node.size), np.empty(node.size)
    for c in range(node.size):
        f_right[c] = _f(node[c])
        total += node[c]
        right_terms += f_right[c]
    tolerance = _TIE * (total + _f(total))
    left[:] = 0.0
    left_total = 0.0
    left_terms = 0.0
    best = -1
    least = np.inf
    for value in range(low, high - 1):
        for entry in range(starts[value], starts[value + 1]):
            c = classes[entry]
            w = weights[entry]
            left[c] += w
            left_total += w
            f_new = _f(left[c])
            left_terms += f_new - f_left[c]
            f_left[c] = f_new
            f_new = _f(node[c] - left[c])
            right_terms += f_new - f_right[c]
            f_right[c] = f_new
        if boundary[value + 1]:
            entropy = _f(left_total) - left_terms + _f(total - left_total) - right_terms
            if entropy < least - tolerance:
                least = entropy
                best = value + 1
    return best


@inline_kernel
def _worth_it(node, left, right):
    """Return whether a cut point gains more than it costs to describe."""
    n, k, entropy = _summary(node)
    n_left, k_left, entropy_left = _summary(left)
    n_right, k_right, entropy_right = _summary(right)
    gain = (entropy - entropy_left - entropy_right) / n
    delta = k * math.log2(3.0) + math.log2(1.0 - 2.0 * 3.0**-k)  # log2(3^k - 2), safe for any k
    delta -= k * entropy / n - k_left * entropy_left / n_left - k_right * entropy_right / n_right
    # below two samples log2(n - 1) would reward any cut point: so small weights get none
    return n >= 2.0 and gain > (math.log2(n - 1.0) + delta) / n


@kernel
def mdlp_cuts(starts, classes, weights, n_classes):
    """Mark the values at which a new interval begins.

    Parameters are the histogram described at the top; every weight is positive. Returns one bool
    per value.
    """
    n_values = starts.size - 1
    begins = np.zeros(n_values, np.bool_)
    boundary = _boundaries(starts, classes)
    node = np.empty(n_classes)
    left = np.empty(n_classes)
    right = np.empty(n_classes)
    stack = [(0, n_values)]
    while len(stack) > 0:
        low, high = stack.pop()
        _sum_classes(starts[low], starts[high], classes, weights, node)
        n, k, _ = _summary(node)
        if n <= 1.0 or k < 2:
            continue
        best = _best_cut(low, high, starts, classes, weights, boundary, node, left)
        if best < 0:
            continue
        _sum_classes(starts[low], starts[best], classes, weights, left)
        _sum_classes(starts[best], starts[high], classes, weights, right)
        if _worth_it(node, left, right):
            begins[best] = True
            stack.append((low, best))
            stack.append((best, high))
    return begins

"""The value of each row of a log-joint under an objective, and its gradient.

``values[m]`` is the value of row ``m`` with the class ``y[m]``. The gradient with respect to the
row is written unless its array is empty. A row that is impossible in every class counts as a tie of
all classes.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.exponential import exp_in_place

# scores that differ by less are equal: sums of the same logarithms in another order must decide
# alike
TIE = 1e-9
CHUNK_ROWS = 64  # rows whose exponentials are computed together


@kernel
def rate_rows(log_joint, y, values):
    """Write one where the class is the decision, else zero; of equal scores the first wins."""
    for m in range(y.size):
        row, own = log_joint[m], y[m]
        right = 1.0
        for c in range(own):
            if not row[own] > row[c] + TIE:
                right = 0.0
        for c in range(own + 1, row.size):
            if not row[own] >= row[c] - TIE:
                right = 0.0
        values[m] = right


@helper
def _top_of_others(row, own):
    """Return the largest score of a class other than ``own``."""
    top = -np.inf
    for c in range(row.size):
        if c != own:
            top = max(top, row[c])
    return top


@kernel
def likelihood_rows(log_joint, y, values, gradient):
    """Write log P(y | x); its gradient is one for the class, minus the posterior."""
    n_classes = log_joint.shape[1]
    wanted = gradient.shape[0] > 0
    share = np.empty(n_classes)
    for m in range(y.size):
        row, own = log_joint[m], y[m]
        top = max(row[own], _top_of_others(row, own))
        total = 0.0
        # relative to the best score, so that no exponential overflows
        for c in range(n_classes):
            share[c] = np.exp(row[c] - top) if top > -np.inf else 1.0
            total += share[c]
        values[m] = (row[own] - top if top > -np.inf else 0.0) - np.log(total)
        if wanted:
            for c in range(n_classes):
                gradient[m, c] = -share[c] / total
            gradient[m, own] += 1.0


@kernel
def square_rows(log_joint, y, values, gradient):
    """Write −½ Σ (1[c = y] − P(c | x))² over the classes.

    Its gradient is P(c | x) · (mean of the errors − own error), with errors P(c | x) − 1[c = y].
    """
    n_classes = log_joint.shape[1]
    wanted = gradient.shape[0] > 0
    share = np.empty(n_classes)
    for m in range(y.size):
        row, own = log_joint[m], y[m]
        top = max(row[own], _top_of_others(row, own))
        total = 0.0
        # relative to the best score, so that no exponential overflows
        for c in range(n_classes):
            share[c] = np.exp(row[c] - top) if top > -np.inf else 1.0
            total += share[c]
        squares, mean = 0.0, 0.0
        for c in range(n_classes):
            share[c] /= total
            error = share[c] - (1.0 if c == own else 0.0)
            squares += error * error
            mean += share[c] * error
        values[m] = -0.5 * squares
        if wanted:
            for c in range(n_classes):
                error = share[c] - (1.0 if c == own else 0.0)
                gradient[m, c] = share[c] * (mean - error)


@kernel
def likelihood_total(log_joint, n_classes, y, weight, gradient):
    """Return Σ weight · log P(y | x) of a finite log-joint, and write its gradient.

    The gradient may be written in the place of the log-joint. Columns from ``n_classes`` on are
    left alone.
    """
    shares, power = np.empty(CHUNK_ROWS * n_classes), np.empty(CHUNK_ROWS * n_classes)
    sums, total = np.empty(CHUNK_ROWS), 0.0
    for first in range(0, y.size, CHUNK_ROWS):
        last = min(first + CHUNK_ROWS, y.size)
        if n_classes == 2:
            total += _two_classes(log_joint, first, last, y, weight, shares, power, sums, gradient)
        else:
            total += _many_classes(
                log_joint, n_classes, first, last, y, weight, shares, power, sums, gradient
            )
        total -= _log_of(sums, weight, first, last)
    return total


@helper
def _two_classes(log_joint, first, last, y, weight, odds, power, sums, gradient):
    """Return Σ weight · (score of the class − best score) of two classes.

    Written are the gradient, and Σ exp(score − best score) of each row. With two classes one
    exponential, of the difference of their scores, is enough.
    """
    n, total = last - first, 0.0
    for k in range(n):
        ahead = (2 * y[first + k] - 1) * (log_joint[first + k, 1] - log_joint[first + k, 0])
        total += weight[first + k] * min(ahead, 0.0)
        odds[k] = -abs(ahead)
        sums[k] = ahead
    exp_in_place(odds[:n], power[:n])
    for k in range(n):
        ahead, worse = sums[k], odds[k]
        sums[k] = 1.0 + worse
        other = worse if ahead > 0.0 else 1.0
        signed = (2 * y[first + k] - 1) * weight[first + k] * other / sums[k]
        gradient[first + k, 0], gradient[first + k, 1] = -signed, signed
    return total


@helper
def _many_classes(log_joint, n_classes, first, last, y, weight, shares, power, sums, gradient):
    """Return and write what ``_two_classes`` does, for any number of classes."""
    total, at = 0.0, 0
    for m in range(first, last):
        top = log_joint[m, 0]
        for c in range(1, n_classes):
            top = log_joint[m, c] if log_joint[m, c] > top else top
        for c in range(n_classes):
            shares[at + c] = log_joint[m, c] - top
        total += weight[m] * (log_joint[m, y[m]] - top)
        at += n_classes
    exp_in_place(shares[:at], power[:at])
    at = 0
    for m in range(first, last):
        summed = 0.0
        for c in range(n_classes):
            summed += shares[at + c]
        scale = -weight[m] / summed
        for c in range(n_classes):
            gradient[m, c] = shares[at + c] * scale
        gradient[m, y[m]] += weight[m]
        sums[m - first] = summed
        at += n_classes
    return total


@helper
def _log_of(sums, weight, first, last):
    """Return Σ weight · log of sums between 1 and the number of classes."""
    # of rows with a weight of one, products have one logarithm where sums would have many
    total, product = 0.0, 1.0
    for m in range(first, last):
        if weight[m] == 1.0:
            product *= sums[m - first]
            if product > 1e200:
                total += np.log(product)
                product = 1.0
        else:
            total += weight[m] * np.log(sums[m - first])
    return total + np.log(product)


@helper
def _soft_rival(row, own, top, eta, share):
    """Return (1/η) log Σ exp(η L_c) over the other classes, and write their shares in the sum."""
    if top == -np.inf:
        share[:] = 0.0
        return top
    total = 0.0
    for c in range(row.size):
        share[c] = np.exp(eta * (row[c] - top)) if c != own else 0.0
        total += share[c]
    for c in range(row.size):
        share[c] /= total
    return top + np.log(total) / eta


@helper
def _hard_rival(row, own, top, share):
    """Return the best of the other classes, the first of several, and write its share of one."""
    share[:] = 0.0
    for c in range(row.size):
        if c != own and row[c] == top:
            share[c] = 1.0
            break
    return top


@helper
def _hinge(x, kappa):
    """Return value and slope of min(1, x), its corner rounded off between 1 − κ and 1 + κ."""
    if x <= 1.0 - kappa:
        return x, 1.0 if x < 1.0 else 0.0
    if x >= 1.0 + kappa:
        return 1.0, 0.0
    left = 1.0 + kappa - x
    return 1.0 - left * left / (4.0 * kappa), left / (2.0 * kappa)


@helper
def _ahead(row, own, eta, share):
    """Return log d of a row, and write the share of each rival; ``eta`` of zero is a hard maximum.

    A single class has no rival, and what is impossible in every class is a tie.
    """
    top = _top_of_others(row, own)
    rival = (
        _soft_rival(row, own, top, eta, share) if eta > 0.0 else _hard_rival(row, own, top, share)
    )
    if row.size == 1:
        return np.inf
    return 0.0 if row[own] == rival else row[own] - rival


@kernel
def margin_rows(log_joint, y, lam, eta, kappa, values, gradient):
    """Write the hinge of λ·log d, where d is P(y, x) over that of the best rival.

    ``eta`` of zero takes the hard maximum over the rivals.
    """
    n_classes = log_joint.shape[1]
    wanted = gradient.shape[0] > 0
    share = np.empty(n_classes)
    for m in range(y.size):
        row, own = log_joint[m], y[m]
        value, slope = _hinge(lam * _ahead(row, own, eta, share), kappa)
        values[m] = value
        if wanted:
            for c in range(n_classes):
                gradient[m, c] = -lam * slope * share[c]
            gradient[m, own] = lam * slope


@helper
def _soft_hinge(z, radius):
    """Return value and slope of max(0, z), its corner an eighth of a circle of this radius."""
    beyond = z - radius * (1.0 - np.sqrt(2.0))
    if beyond <= 0.0:
        return 0.0, 0.0
    if beyond >= radius * np.sqrt(0.5):
        return z, 1.0
    height = np.sqrt(radius * radius - beyond * beyond)
    return radius - height, beyond / height


@kernel
def slack_rows(log_joint, y, gamma, eta, radius, values, gradient):
    """Write the negative slack: by how much log d, P(y, x) over the best rival's, is below γ.

    ``eta`` of zero takes the hard maximum over the rivals, ``radius`` of zero the sharp corner.
    """
    n_classes = log_joint.shape[1]
    wanted = gradient.shape[0] > 0
    share = np.empty(n_classes)
    for m in range(y.size):
        row, own = log_joint[m], y[m]
        slack, slope = _soft_hinge(gamma - _ahead(row, own, eta, share), radius)
        values[m] = -slack
        if wanted:
            for c in range(n_classes):
                gradient[m, c] = -slope * share[c]
            gradient[m, own] = slope


@kernel
def slack_conjugate(log_joint, y, weight, gamma, eta, radius, factors, residual):
    """Return Σ weight · S*(r), the convex conjugate of the slack S at its gradient r.

    Each rival's share of r is taken times a factor of at most one, which leaves r a gradient of S
    at some other point; an empty ``factors`` is one everywhere. ``residual`` receives weight · r.
    """
    n_classes = log_joint.shape[1]
    share = np.empty(n_classes)
    total = 0.0
    for m in range(y.size):
        row, own = log_joint[m], y[m]
        _, slope = _soft_hinge(gamma - _ahead(row, own, eta, share), radius)
        whole = 0.0
        for c in range(n_classes):
            share[c] *= slope * (factors[m, c] if factors.size else 1.0)
            whole += share[c]
            residual[m, c] = weight[m] * share[c]
        residual[m, own] = -weight[m] * whole
        mixed = 0.0
        if eta > 0.0 and whole > 0.0:
            for c in range(n_classes):
                if share[c] > 0.0:
                    mixed += share[c] * np.log(share[c] / whole)
            mixed /= eta
        corner = radius * (whole * (1.0 - np.sqrt(2.0)) + np.sqrt(1.0 + whole * whole) - 1.0)
        total += weight[m] * (mixed - whole * gamma + corner)
    return total


@kernel
def weighted_total(values, weight):
    """Return Σ weight · value; an empty ``weight`` is one, and rows of weight zero are ignored."""
    total = 0.0
    for m in range(values.size):
        if weight.size == 0:
            total += values[m]
        elif weight[m] != 0.0:
            total += weight[m] * values[m]
    return total


@kernel
def scale_rows(gradient, weight):
    """Multiply each row by its weight."""
    for m in range(weight.size):
        for c in range(gradient.shape[1]):
            gradient[m, c] *= weight[m]

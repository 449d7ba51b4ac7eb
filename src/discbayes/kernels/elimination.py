"""Rows with missing values on any structure: exact variable elimination by the plan of a pattern.

``elimination_plan`` makes the plans and explains *bucket*, *scope* and *message*. Modes: sum over
the missing values (``SUM``), maximize over them and trace the best values back (``MAX``), or sum
and then draw values from the buckets in the opposite order (``DRAW``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.elimination_plan import make_plan, plan_factors, relevant_features

SUM = 0
MAX = 1
DRAW = 2
MULTIPLY = 0
ADD = 1
ADD_BACK = 2
MIN_PRODUCT = 1e-100  # below it, products go on on the log scale


class Completion(NamedTuple):
    """How the values of rows are chosen, one row of the arrays for each; empty where summing."""

    mode: int
    uniforms: np.ndarray  # in [0, 1), by feature, and one for the class at the end
    classes: np.ndarray  # the known class of each row, or −1; the chosen class is written there
    filled: np.ndarray  # the chosen value of each missing feature is written there


class EliminationWorkspace(NamedTuple):
    """Arrays that a plan is run in, used again for every row."""

    bases: np.ndarray  # by feature: the first cell of its table that agrees with the row
    digits: np.ndarray  # the values of the scope while a bucket is walked through
    bucket_start: np.ndarray
    buckets: np.ndarray
    logs: np.ndarray  # logarithms of the part of a product that was too small
    message_start: np.ndarray
    messages: np.ndarray
    message_low: np.ndarray  # a lower bound on the positive entries of each message
    in_logs: np.ndarray  # messages that are logarithms


@small_helper
def make_workspace(plan, share_bucket):
    """Return a workspace; with ``share_bucket`` every step overwrites the last one's bucket."""
    n_missing = plan.steps.size
    bucket_start = np.zeros(n_missing + 1, np.int64)
    message_start = np.zeros(n_missing + 1, np.int64)
    largest = 0
    for step in range(n_missing):
        cells = int(plan.sizes[step])
        largest = max(largest, cells)
        if not share_bucket:
            bucket_start[step + 1] = bucket_start[step] + cells
        message_start[step + 1] = message_start[step] + cells // plan.cards[plan.steps[step]]
    return EliminationWorkspace(
        np.zeros(plan.missing.size, np.int64),
        np.zeros(n_missing + 1, np.int64),
        bucket_start,
        np.empty(max(largest, bucket_start[n_missing])),
        np.empty(largest),
        message_start,
        np.empty(message_start[n_missing]),
        np.ones(n_missing),
        np.zeros(n_missing, np.bool_),
    )


@small_helper
def find_bases(codes, row, plan, layout, n_classes, bases):
    """Write where the cells that agree with a row start in the table of each feature."""
    for i in range(plan.missing.size):
        if plan.needed[i]:
            base = layout.offsets[i]
            if not plan.missing[i]:
                base += np.int64(codes[i, row]) * n_classes
            for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
                if not plan.missing[layout.parent_index[k]]:
                    base += codes[layout.parent_index[k], row] * layout.parent_stride[k]
            bases[i] = base


@helper
def apply_factor(bucket, factor, base, strides, scope, cards, digits, n_classes, operation):
    """Multiply or add a factor to a bucket, or add the bucket to the factor, cell by cell.

    The cells of the bucket are taken in order. ``digits`` counts through the values of the scope
    like an odometer, and ``at`` follows in the factor by its strides.
    """
    for k in range(scope.size):
        digits[k] = 0
    at = base
    for cell in range(0, bucket.size, n_classes):
        if operation == MULTIPLY:
            for c in range(n_classes):
                bucket[cell + c] *= factor[at + c]
        elif operation == ADD:
            for c in range(n_classes):
                bucket[cell + c] += factor[at + c]
        else:
            for c in range(n_classes):
                factor[at + c] += bucket[cell + c]
        k = scope.size - 1
        while k >= 0:
            digits[k] += 1
            at += strides[k]
            if digits[k] < cards[scope[k]]:
                break
            at -= digits[k] * strides[k]
            digits[k] = 0
            k -= 1


@helper
def _move_to_logs(bucket, logs, stored):
    """Move a product to its logarithms and start again at one."""
    for k in range(bucket.size):
        logs[k] = np.log(bucket[k]) + (logs[k] if stored else 0.0)
        bucket[k] = 1.0


@small_helper
def _fill_bucket(bucket, logs, step, scope, plan, factors, cpts, work, n_classes):
    """Write the product of the factors of one step; logarithms where a double would underflow.

    Factors are at most one and have known smallest positive entries, so that a bound shows when the
    product could leave the range of a double; it is then moved to the log scale. A table whose own
    range is too wide (``smallest`` is zero) is read as logarithms. Returns the bound on the
    product, or zero where the bucket holds logarithms.
    """
    n_features = plan.missing.size
    for k in range(bucket.size):
        bucket[k] = 1.0
    low = 1.0
    # false, but not a literal: for a literal the helpers would be compiled again
    stored = bucket.size < 0
    for j in range(factors.start[step], factors.start[step + 1]):
        f = factors.factors[j]
        strides = factors.strides[factors.stride_start[j] : factors.stride_start[j + 1]]
        is_table = f < n_features
        factor_low = cpts.smallest[f] if is_table else work.message_low[f - n_features]
        from_logs = factor_low == 0.0 if is_table else work.in_logs[f - n_features]
        if from_logs:
            factor_low = 1.0
        if low * factor_low < MIN_PRODUCT or (from_logs and not stored):
            _move_to_logs(bucket, logs, stored)
            low = 1.0
            stored = True
        low *= factor_low
        base = work.bases[f] if is_table else work.message_start[f - n_features]
        operation = ADD if from_logs else MULTIPLY
        target = logs if from_logs else bucket
        source = work.messages
        if is_table:
            source = cpts.log_theta if from_logs else cpts.theta
        apply_factor(
            target, source, base, strides, scope, plan.cards, work.digits, n_classes, operation
        )
    if stored:
        for k in range(bucket.size):
            bucket[k] = np.log(bucket[k]) + logs[k]
        return 0.0
    return low


@helper
def reduce_bucket(bucket, card, n_classes, maximize, on_logs, message):
    """Sum or maximize over the last variable of a bucket; of logarithms the sum is one as well."""
    width = card * n_classes
    for line in range(message.size // n_classes):
        for c in range(n_classes):
            first = line * width + c
            last = (line + 1) * width
            entry = bucket[first]
            if maximize or on_logs:
                for cell in range(first + n_classes, last, n_classes):
                    entry = max(entry, bucket[cell])
                if not maximize and entry > -np.inf:
                    total = 0.0
                    for cell in range(first, last, n_classes):
                        total += np.exp(bucket[cell] - entry)
                    entry += np.log(total)
            else:
                for cell in range(first + n_classes, last, n_classes):
                    entry += bucket[cell]
            message[line * n_classes + c] = entry


@helper
def _scale_message(message, n_classes, result):
    """Divide a message by its largest entry in each class, whose logarithm goes to the result."""
    for c in range(n_classes):
        best = 0.0
        for k in range(c, message.size, n_classes):
            best = max(best, message[k])
        result[c] += np.log(best)
        if best > 0.0:
            for k in range(c, message.size, n_classes):
                message[k] /= best


@helper
def _choose(bucket, at, card, n_classes, c, on_logs, maximize, uniform):
    """Return the best value of a line of a bucket for class ``c``, or draw one in proportion."""
    best = 0
    for v in range(card):
        if bucket[at + v * n_classes + c] > bucket[at + best * n_classes + c]:
            best = v
    if maximize:
        return best
    top = bucket[at + best * n_classes + c]
    if top == -np.inf or (top == 0.0 and not on_logs):
        return best
    total = 0.0
    for v in range(card):
        x = bucket[at + v * n_classes + c]
        total += np.exp(x - top) if on_logs else x
    target = uniform * total
    running = 0.0
    last = best  # rounding may leave the target above the whole sum
    for v in range(card):
        x = bucket[at + v * n_classes + c]
        x = np.exp(x - top) if on_logs else x
        if x > 0.0:
            running += x
            last = v
            if target < running:
                return v
    return last


@helper
def _choose_class(result, maximize, uniform):
    """Return the class of the largest log-joint, or draw one in proportion."""
    best = result[0]
    at = 0
    for c in range(1, result.size):
        if result[c] > best:
            best = result[c]
            at = c
    if maximize or best == -np.inf:
        return at
    total = 0.0
    for c in range(result.size):
        total += np.exp(result[c] - best)
    target = uniform * total
    running = 0.0
    for c in range(result.size):
        running += np.exp(result[c] - best)
        if target < running:
            return c
    return at


@small_helper
def _eliminate_row(plan, factors, cpts, work, maximize, result):
    """Add the log-joint of the row whose bases are in the workspace to ``result``."""
    n_classes = result.size
    for i in range(plan.needed.size):
        if plan.is_open[i]:
            # factors read off the log scale are divided by exp(shift); logarithms are not
            if cpts.smallest[i] > 0.0:
                for c in range(n_classes):
                    result[c] += cpts.shifts[i]
        elif plan.needed[i]:
            for c in range(n_classes):
                result[c] += cpts.log_theta[work.bases[i] + c]
    for step in range(plan.steps.size):
        cells = int(plan.sizes[step])
        bucket = work.buckets[work.bucket_start[step] : work.bucket_start[step] + cells]
        scope = plan.scopes[plan.scope_start[step] : plan.scope_start[step + 1]]
        message = work.messages[work.message_start[step] : work.message_start[step + 1]]
        low = _fill_bucket(
            bucket, work.logs[:cells], step, scope, plan, factors, cpts, work, n_classes
        )
        card = plan.cards[plan.steps[step]]
        in_logs = low == 0.0
        work.in_logs[step] = in_logs
        work.message_low[step] = 1.0 if in_logs else low / card
        reduce_bucket(bucket, card, n_classes, maximize, in_logs, message)
        if not in_logs:
            _scale_message(message, n_classes, result)
        elif scope.size == 1:  # no factor is left to take the message
            for c in range(n_classes):
                result[c] += message[c]


@small_helper
def _trace_back(plan, work, n_classes, completion, r, value):
    """Choose the values of row ``r`` from the buckets, the feature eliminated last first."""
    maximize = completion.mode == MAX
    for step in range(plan.steps.size - 1, -1, -1):
        node = plan.steps[step]
        at = work.bucket_start[step]
        stride = n_classes * plan.cards[node]
        for k in range(plan.scope_start[step + 1] - 2, plan.scope_start[step] - 1, -1):
            at += value[plan.scopes[k]] * stride
            stride *= plan.cards[plan.scopes[k]]
        feature = plan.features[node]
        uniform = completion.uniforms[r, feature]
        value[node] = _choose(
            work.buckets, at, plan.cards[node], n_classes, completion.classes[r],
            work.in_logs[step], maximize, uniform,
        )  # fmt: skip
        completion.filled[r, feature] = value[node]


@kernel
def eliminate_groups(codes, rows, group_start, groups, layout, cpts, max_size, completion, out,
                     too_large):  # fmt: skip
    """Plan and run each of the given groups of rows, whose rows have the same pattern.

    The log-joint goes to ``out``. A group whose largest bucket has more than ``max_size`` cells is
    not run; its size is written to ``too_large``.
    """
    n_features = codes.shape[0]
    n_classes = cpts.log_prior.size
    summing = completion.mode == SUM
    maximize = completion.mode == MAX
    missing = np.empty(n_features, np.bool_)
    for g in groups:
        for i in range(n_features):
            missing[i] = codes[i, rows[group_start[g]]] >= layout.cards[i]
        needed = relevant_features(missing, layout, not summing or not cpts.is_normalized)
        plan = make_plan(missing, needed, layout, n_classes)
        if plan.steps.size > 0 and plan.sizes.max() > max_size:
            too_large[g] = plan.sizes.max()
            continue
        factors = plan_factors(plan, layout, n_classes)
        work = make_workspace(plan, summing)
        value = np.zeros(plan.steps.size, np.int64)
        for r in range(group_start[g], group_start[g + 1]):
            result = out[r]
            for c in range(n_classes):
                result[c] = cpts.log_prior[c]
            find_bases(codes, rows[r], plan, layout, n_classes, work.bases)
            _eliminate_row(plan, factors, cpts, work, maximize, result)
            if summing:
                continue
            if completion.classes[r] < 0:
                uniform = completion.uniforms[r, n_features]
                completion.classes[r] = _choose_class(result, maximize, uniform)
            _trace_back(plan, work, n_classes, completion, r, value)

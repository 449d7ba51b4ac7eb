"""Gradients of rows with gaps on any structure: elimination on the log scale, and its way back.

The derivative of log P(c, x observed) with respect to the logarithm of a table cell is P(cell | x
observed, c), the expected count of the cell. Elimination up and the chain rule down give all of
them at twice the price of the sum. Plans are those of ``elimination``; the terms *bucket*, *scope*
and *message* are explained there.

Only families that contain a gap are worked on here, and of the gaps only those that matter.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.elimination import bucket_sizes, make_plan, plan_factors, relevant_missing


@kernel
def plan_sizes(
    codes, group_start, order, cards, parent_start, parent_index, n_classes, normalized, sizes
):
    """The number of bucket cells that the rows of each group need, as floats, which cannot
    overflow.
    """
    missing = np.empty(codes.shape[0], np.bool_)
    for g in range(sizes.size):
        for i in range(codes.shape[0]):
            missing[i] = codes[i, group_start[g]] >= cards[i]
        needed = relevant_missing(missing, order, parent_start, parent_index, normalized, False)
        _, _, missing_cards, steps, scope_start, scopes = make_plan(
            missing, needed, cards, parent_start, parent_index
        )
        cells = np.empty(steps.size)
        bucket_sizes(scope_start, scopes, missing_cards, n_classes, cells)
        sizes[g] = cells.sum()


@helper
def _walk(bucket, factor, base, strides, scope, missing_cards, digits, n_classes, back):
    """Add a factor to a bucket in the order of the bucket's cells or, going back, the bucket to the
    factor.
    """
    for k in range(scope.size):
        digits[k] = 0
    at = base
    for cell in range(0, bucket.size, n_classes):
        if back:
            for c in range(n_classes):
                factor[at + c] += bucket[cell + c]
        else:
            for c in range(n_classes):
                bucket[cell + c] += factor[at + c]
        k = scope.size - 1
        while k >= 0:
            digits[k] += 1
            at += strides[k]
            if digits[k] < missing_cards[scope[k]]:
                break
            at -= digits[k] * strides[k]
            digits[k] = 0
            k -= 1


@helper
def _log_sums(bucket, card, n_classes, message):
    """Sum the last variable of a bucket of logarithms out."""
    width = card * n_classes
    for line in range(message.size // n_classes):
        for c in range(n_classes):
            first, last = line * width + c, (line + 1) * width
            top = bucket[first]
            for cell in range(first, last, n_classes):
                top = max(top, bucket[cell])
            total = 0.0
            for cell in range(first, last, n_classes):
                total += np.exp(bucket[cell] - top) if top > -np.inf else 1.0
            message[line * n_classes + c] = top + np.log(total)


@helper
def _spread(bucket, card, n_classes, message, adjoint):
    """Turn a bucket into its own gradient: that of each message entry goes to its terms by their
    share in the sum.
    """
    width = card * n_classes
    for line in range(message.size // n_classes):
        for c in range(n_classes):
            entry = line * n_classes + c
            for cell in range(line * width + c, (line + 1) * width, n_classes):
                share = np.exp(bucket[cell] - message[entry]) if message[entry] > -np.inf else 0.0
                bucket[cell] = adjoint[entry] * share


@helper
def _find_bases(
    codes,
    row,
    missing,
    needed,
    offsets,
    parent_start,
    parent_index,
    parent_stride,
    n_classes,
    bases,
):
    """Where the cells that agree with a row start in the table of each feature."""
    for i in range(missing.size):
        if needed[i]:
            base = offsets[i] + (0 if missing[i] else np.int64(codes[i, row]) * n_classes)
            for k in range(parent_start[i], parent_start[i + 1]):
                if not missing[parent_index[k]]:
                    base += codes[parent_index[k], row] * parent_stride[k]
            bases[i] = base


@helper
def _visit(bucket, step, table, told, bases, message_start, input_start, inputs, stride_start, strides, scope,
           missing_cards, digits, n_features, n_classes, back):  # fmt: skip
    """Walk over all factors of a step: cells of ``table``, and messages of earlier steps in
    ``told``.
    """
    for j in range(input_start[step], input_start[step + 1]):
        f, along = inputs[j], strides[stride_start[j] : stride_start[j + 1]]
        if f < n_features:
            _walk(bucket, table, bases[f], along, scope, missing_cards, digits, n_classes, back)
        else:
            _walk(
                bucket,
                told,
                message_start[f - n_features],
                along,
                scope,
                missing_cards,
                digits,
                n_classes,
                back,
            )


@helper
def _starts(sizes, missing_cards, steps):
    """Where the bucket and the message of each step stand in the scratch space."""
    buckets, messages = np.zeros(steps.size + 1, np.int64), np.zeros(steps.size + 1, np.int64)
    for step in range(steps.size):
        cells = int(sizes[step])
        buckets[step + 1] = buckets[step] + cells
        messages[step + 1] = messages[step] + cells // missing_cards[steps[step]]
    return buckets, messages


@kernel
def sum_missing(codes, group_start, groups, order, cards, offsets, parent_start, parent_index, parent_stride, log_theta,
             normalized, scores, residual, gradient):  # fmt: skip
    """Add what the families with gaps give to the log-joint of each row of the groups, in
    ``scores``.

    With a ``residual`` that is not empty, go back as well and add the gradient of those families to
    ``gradient``. Rows of ``scores`` and ``residual`` are counted from the first row of the first
    group.
    """
    n_features, n_classes, back = codes.shape[0], scores.shape[1], residual.shape[0] > 0
    missing, bases = np.empty(n_features, np.bool_), np.zeros(n_features, np.int64)
    # false, but no literal: for a literal the helpers would be compiled again
    forth = n_classes < 0
    first_row = group_start[groups[0]]
    for g in groups:
        for i in range(n_features):
            missing[i] = codes[i, group_start[g]] >= cards[i]
        needed = relevant_missing(missing, order, parent_start, parent_index, normalized, False)
        local, _, missing_cards, steps, scope_start, scopes = make_plan(
            missing, needed, cards, parent_start, parent_index
        )
        sizes = np.empty(steps.size)
        bucket_sizes(scope_start, scopes, missing_cards, n_classes, sizes)
        input_start, inputs, stride_start, strides = plan_factors(
            missing, needed, local, steps, scope_start, scopes, missing_cards, parent_start, parent_index, parent_stride,
            n_classes,
        )  # fmt: skip
        bucket_start, message_start = _starts(sizes, missing_cards, steps)
        buckets, messages = np.empty(bucket_start[-1]), np.empty(message_start[-1])
        adjoints = np.empty(message_start[-1])
        digits = np.zeros(steps.size + 1, np.int64)
        for row in range(group_start[g], group_start[g + 1]):
            r = row - first_row
            _find_bases(codes, row, missing, needed, offsets, parent_start, parent_index, parent_stride, n_classes,
                        bases)  # fmt: skip
            buckets[:] = 0.0
            adjoints[:] = 0.0
            for step in range(steps.size):
                bucket = buckets[bucket_start[step] : bucket_start[step + 1]]
                scope = scopes[scope_start[step] : scope_start[step + 1]]
                _visit(bucket, step, log_theta, messages, bases, message_start, input_start, inputs, stride_start,
                       strides, scope, missing_cards, digits, n_features, n_classes, forth)  # fmt: skip
                message = messages[message_start[step] : message_start[step + 1]]
                _log_sums(bucket, missing_cards[steps[step]], n_classes, message)
                if scope.size == 1:  # nothing is left to pass it to
                    for c in range(n_classes):
                        scores[r, c] += message[c]
                        if back:
                            adjoints[message_start[step] + c] = residual[r, c]
            for step in range(steps.size - 1 if back else -1, -1, -1):
                bucket = buckets[bucket_start[step] : bucket_start[step + 1]]
                scope = scopes[scope_start[step] : scope_start[step + 1]]
                span = slice(message_start[step], message_start[step + 1])
                _spread(
                    bucket, missing_cards[steps[step]], n_classes, messages[span], adjoints[span]
                )
                _visit(bucket, step, gradient, adjoints, bases, message_start, input_start, inputs, stride_start,
                       strides, scope, missing_cards, digits, n_features, n_classes, back)  # fmt: skip

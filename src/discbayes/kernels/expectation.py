"""Gradients of rows with missing values on any structure: elimination in logs, and the way back.

The derivative of log P(c, x observed) with respect to the logarithm of a table cell is P(cell | x
observed, c), the expected count of the cell. Elimination up and the chain rule down give all of
them at twice the price of the log-joint. ``elimination_plan`` makes the plans and explains
*bucket*, *scope* and *message*.

Only families with a missing value are worked on here, and of the missing values only those that
matter.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.elimination import (
    ADD,
    ADD_BACK,
    apply_factor,
    find_bases,
    make_workspace,
    reduce_bucket,
)
from discbayes.kernels.elimination_plan import make_plan, plan_factors, relevant_features


@helper
def _pattern_plan(codes, row, layout, n_classes, normalized):
    """Return the plan for the missing values of one row."""
    missing = np.empty(codes.shape[0], np.bool_)
    for i in range(codes.shape[0]):
        missing[i] = codes[i, row] >= layout.cards[i]
    needed = relevant_features(missing, layout, not normalized)
    return make_plan(missing, needed, layout, n_classes)


@kernel
def plan_sizes(codes, group_start, layout, n_classes, normalized, sizes):
    """Write the number of bucket cells that a row of each group needs, as floats."""
    for g in range(sizes.size):
        plan = _pattern_plan(codes, group_start[g], layout, n_classes, normalized)
        sizes[g] = plan.sizes.sum()


@helper
def _share_adjoint(bucket, card, n_classes, message, adjoint):
    """Turn a bucket of logarithms into its gradient: each term has its share of the sum."""
    width = card * n_classes
    for line in range(message.size // n_classes):
        for c in range(n_classes):
            entry = line * n_classes + c
            for cell in range(line * width + c, (line + 1) * width, n_classes):
                share = np.exp(bucket[cell] - message[entry]) if message[entry] > -np.inf else 0.0
                bucket[cell] = adjoint[entry] * share


@helper
def _apply_factors(bucket, step, scope, table, messages, plan, factors, work, n_classes, back):
    """Add all factors of a step to its bucket or, going back, the bucket to all of them.

    Factors are cells of ``table``, and ``messages`` of earlier steps.
    """
    n_features = plan.missing.size
    operation = ADD_BACK if back else ADD
    for j in range(factors.start[step], factors.start[step + 1]):
        f = factors.factors[j]
        strides = factors.strides[factors.stride_start[j] : factors.stride_start[j + 1]]
        is_table = f < n_features
        factor = table if is_table else messages
        base = work.bases[f] if is_table else work.message_start[f - n_features]
        apply_factor(
            bucket, factor, base, strides, scope, plan.cards, work.digits, n_classes, operation
        )


@kernel
def sum_missing(codes, group_start, groups, layout, log_theta, normalized, scores, residual,
                gradient):  # fmt: skip
    """Add what the families with missing values give to the log-joint of each row of the groups.

    The log-joint is that in ``scores``. With a ``residual`` that is not empty, go back as well and
    add the gradient of those families to ``gradient``. Rows of ``scores`` and ``residual`` are
    counted from the first row of the first group.
    """
    n_classes = scores.shape[1]
    back = residual.shape[0] > 0
    # not literals: for literals the helpers would be compiled again
    no = n_classes < 0
    yes = not no
    first_row = group_start[groups[0]]
    for g in groups:
        plan = _pattern_plan(codes, group_start[g], layout, n_classes, normalized)
        factors = plan_factors(plan, layout, n_classes)
        work = make_workspace(plan, no)
        adjoints = np.empty(work.messages.size)
        for row in range(group_start[g], group_start[g + 1]):
            r = row - first_row
            find_bases(codes, row, plan, layout, n_classes, work.bases)
            work.buckets[:] = 0.0
            adjoints[:] = 0.0
            for step in range(plan.steps.size):
                bucket = work.buckets[work.bucket_start[step] : work.bucket_start[step + 1]]
                scope = plan.scopes[plan.scope_start[step] : plan.scope_start[step + 1]]
                message = work.messages[work.message_start[step] : work.message_start[step + 1]]
                _apply_factors(bucket, step, scope, log_theta, work.messages, plan, factors, work,
                               n_classes, no)  # fmt: skip
                reduce_bucket(bucket, plan.cards[plan.steps[step]], n_classes, no, yes, message)
                if scope.size == 1:  # no factor is left to take the message
                    for c in range(n_classes):
                        scores[r, c] += message[c]
                        if back:
                            adjoints[work.message_start[step] + c] = residual[r, c]
            for step in range(plan.steps.size - 1 if back else -1, -1, -1):
                bucket = work.buckets[work.bucket_start[step] : work.bucket_start[step + 1]]
                scope = plan.scopes[plan.scope_start[step] : plan.scope_start[step + 1]]
                span = slice(work.message_start[step], work.message_start[step + 1])
                card = plan.cards[plan.steps[step]]
                _share_adjoint(bucket, card, n_classes, work.messages[span], adjoints[span])
                _apply_factors(bucket, step, scope, gradient, adjoints, plan, factors, work,
                               n_classes, back)  # fmt: skip

"""Forests on the log scale: the posterior of every missing value of a row, in linear time.

One pass goes up, one down, each class apart. Going up, a missing feature adds, on the log scale,
the messages of its children; nothing underflows there. Going down, it is given its distribution as
draws would be: its own distribution given each value of its parent, weighted by the distribution of
the parent. All of these are proper distributions, so that no message is ever divided out again and
zeros do no harm.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@helper
def _collect(i, codes, row, forest, tables, sent, n_classes, received):
    """Write the sum of the log messages of the children of feature ``i``, by state and class."""
    received[:] = 0.0
    for at in range(forest.child_start[i], forest.child_start[i + 1]):
        k = forest.child_index[at]
        if codes[k, row] < tables.cards[k]:
            line = tables.offsets[k] + np.int64(codes[k, row]) * n_classes
            for cell in range(0, received.size, n_classes):
                for c in range(n_classes):
                    received[cell + c] += tables.log_theta[line + c]
                line += tables.cards[k] * n_classes
        else:
            for cell in range(received.size):
                received[cell] += sent[forest.message_start[k] + cell]


@helper
def _send(log_theta, base, received, n_classes, sent, at):
    """Write log Σ_v θ[v, c] · exp(received[v, c]) for every class to ``sent``, from ``at`` on."""
    for c in range(n_classes):
        best = -np.inf
        for cell in range(c, received.size, n_classes):
            best = max(best, log_theta[base + cell] + received[cell])
        sent[at + c] = best
        # relative to the largest term, so that no exponential overflows and one does not vanish
        if best > -np.inf:
            total = 0.0
            for cell in range(c, received.size, n_classes):
                total += np.exp(log_theta[base + cell] + received[cell] - best)
            sent[at + c] = best + np.log(total)


@helper
def _add_distribution(
    log_theta, base, received, state_of, n_classes, sent, at, weight, distribution
):
    """Add the distribution of a feature given one state of its parent, times the class weights."""
    for c in range(n_classes):
        if weight[c] > 0.0 and sent[at + c] > -np.inf:
            for v in range(state_of.size):
                cell = v * n_classes + c
                told = received[state_of[v] * n_classes + c]
                distribution[cell] += weight[c] * np.exp(
                    log_theta[base + cell] + told - sent[at + c]
                )


@helper
def _pass_up(codes, states, row, forest, tables, n_classes, missing, received, sent):
    """Pass the messages of a row up; list its missing features, parents first, and return how many.

    ``received`` is what every missing feature is told of its states, ``sent`` its own message.
    """
    cards = tables.cards
    n_states = tables.n_states
    starts = forest.message_start
    n_missing = 0
    for i in forest.downward:
        if codes[i, row] >= cards[i]:
            missing[n_missing] = i
            n_missing += 1
    for a in range(n_missing - 1, -1, -1):  # children first
        i = missing[a]
        p = forest.parent[i]
        cells = n_states[i] * n_classes
        first = forest.value_start[i] * n_classes
        own = received[first : first + cells]
        _collect(i, codes, row, forest, tables, sent, n_classes, own)
        base = tables.missing_offsets[i]
        if p >= 0 and codes[p, row] >= cards[p]:
            for u in range(n_states[p]):
                at = starts[i] + u * n_classes
                _send(tables.missing_log_theta, base + u * cells, own, n_classes, sent, at)
        else:
            if p >= 0:
                base += np.int64(states[p, row]) * cells
            _send(tables.missing_log_theta, base, own, n_classes, sent, starts[i])
    return n_missing


@kernel
def add_log_sums(codes, states, rows, forest, tables, out):
    """Add to the log-joint of the given rows what their missing values, marginalized, contribute.

    The tables may have any range. Families without a missing value are in ``out`` already.
    ``states`` are those that children see.
    """
    n_classes = out.shape[1]
    received = np.empty(forest.value_start[-1] * n_classes)
    sent = np.empty(forest.message_start[-1])
    missing = np.empty(forest.downward.size, np.int64)
    for row in rows:
        n_missing = _pass_up(codes, states, row, forest, tables, n_classes, missing, received, sent)
        for a in range(n_missing):
            i = missing[a]
            p = forest.parent[i]
            if p < 0 or codes[p, row] < tables.cards[p]:
                for c in range(n_classes):
                    out[row, c] += sent[forest.message_start[i] + c]


@kernel
def missing_marginals(codes, states, rows, forest, tables, class_posterior, out):
    """Write the posterior of every missing feature by itself.

    P(x_i = v | observed values) of row ``r`` goes to ``out[r, value_start[i] + v]``.
    ``class_posterior[r]`` is P(c | observed values). Cells of observed features are left as they
    are.
    """
    n_classes = class_posterior.shape[1]
    starts = forest.message_start
    values = forest.value_start
    received = np.empty(values[-1] * n_classes)
    belief = np.empty(values[-1] * n_classes)
    widest = 0
    for i in range(tables.cards.size):
        widest = max(widest, tables.cards[i])
    distribution = np.empty(widest * n_classes)
    sent = np.empty(starts[-1])
    ones = np.ones(n_classes)
    missing = np.empty(forest.downward.size, np.int64)
    for r in range(rows.size):
        row = rows[r]
        n_missing = _pass_up(codes, states, row, forest, tables, n_classes, missing, received, sent)
        for a in range(n_missing):
            i = missing[a]
            p = forest.parent[i]
            card = tables.cards[i]
            cells = card * n_classes
            first = values[i] * n_classes
            last = first + tables.n_states[i] * n_classes
            own = received[first:last]
            state_of = tables.state_of[values[i] : values[i] + card]
            found = distribution[:cells]
            found[:] = 0.0
            base = tables.offsets[i]
            if p >= 0 and codes[p, row] >= tables.cards[p]:
                for u in range(tables.n_states[p]):
                    above = (values[p] + u) * n_classes
                    weight = belief[above : above + n_classes]
                    at = starts[i] + u * n_classes
                    _add_distribution(
                        tables.log_theta, base + u * cells, own, state_of, n_classes, sent, at,
                        weight, found,
                    )  # fmt: skip
            else:
                if p >= 0:
                    base += np.int64(states[p, row]) * cells
                _add_distribution(
                    tables.log_theta, base, own, state_of, n_classes, sent, starts[i], ones, found
                )
            belief[first:last] = 0.0
            for v in range(card):
                share = 0.0
                at = first + state_of[v] * n_classes
                for c in range(n_classes):
                    share += class_posterior[r, c] * found[v * n_classes + c]
                    belief[at + c] += found[v * n_classes + c]
                out[r, values[i] + v] = share

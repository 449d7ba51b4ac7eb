"""Forests on the log scale: the posterior of every gap of a row by itself, by one pass up and one
down, linear time.

Both passes work in each class apart. Going up, a gap adds up, on the log scale, what its children
say of its values; nothing underflows there. Going down, a gap is given its distribution as draws
would be: its own distribution given each value of its parent, weighted by the distribution of the
parent. All of these are proper distributions, so that no message is ever divided out again and
zeros do no harm.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@helper
def _listen(
    i,
    codes,
    row,
    child_start,
    child_index,
    cards,
    offsets,
    starts,
    log_theta,
    told,
    n_classes,
    heard,
):
    """What the children of gap ``i`` say of its values: the sum of their logs, by value and
    class.
    """
    heard[:] = 0.0
    for at in range(child_start[i], child_start[i + 1]):
        k = child_index[at]
        if codes[k, row] < cards[k]:
            line, step = offsets[k] + np.int64(codes[k, row]) * n_classes, cards[k] * n_classes
            for cell in range(0, heard.size, n_classes):
                for c in range(n_classes):
                    heard[cell + c] += log_theta[line + c]
                line += step
        else:
            for cell in range(heard.size):
                heard[cell] += told[starts[k] + cell]


@helper
def _tell(log_theta, base, heard, n_classes, told, at):
    """Log Σ_v θ[v, c] · heard[v, c] for every class, written to ``told`` from ``at`` on."""
    for c in range(n_classes):
        best = -np.inf
        for cell in range(c, heard.size, n_classes):
            best = max(best, log_theta[base + cell] + heard[cell])
        total = 0.0
        if best > -np.inf:
            for cell in range(c, heard.size, n_classes):
                total += np.exp(log_theta[base + cell] + heard[cell] - best)
        told[at + c] = best + np.log(total) if best > -np.inf else -np.inf


@helper
def _spread(log_theta, base, heard, n_classes, told, at, weight, belief):
    """Add the distribution of a gap given one value of its parent, times the weight of that value
    in each class.
    """
    for c in range(n_classes):
        if weight[c] > 0.0 and told[at + c] > -np.inf:
            for cell in range(c, heard.size, n_classes):
                belief[cell] += weight[c] * np.exp(
                    log_theta[base + cell] + heard[cell] - told[at + c]
                )


@helper
def _pass_up(codes, row, order, parent, child_start, child_index, cards, offsets, starts, places, log_theta, n_classes,
             gaps, heard, told):  # fmt: skip
    """What every gap of a row hears of its values and tells its parent; the gaps, parents first,
    and their number.
    """
    n_missing = 0
    for i in order:
        if codes[i, row] >= cards[i]:
            gaps[n_missing] = i
            n_missing += 1
    for a in range(n_missing - 1, -1, -1):
        i = gaps[a]
        p, cells = parent[i], cards[i] * n_classes
        mine = heard[places[i] * n_classes : places[i + 1] * n_classes]
        _listen(
            i,
            codes,
            row,
            child_start,
            child_index,
            cards,
            offsets,
            starts,
            log_theta,
            told,
            n_classes,
            mine,
        )
        if p >= 0 and codes[p, row] >= cards[p]:
            for u in range(cards[p]):
                _tell(
                    log_theta,
                    offsets[i] + u * cells,
                    mine,
                    n_classes,
                    told,
                    starts[i] + u * n_classes,
                )
        else:
            base = offsets[i] + (np.int64(codes[p, row]) * cells if p >= 0 else 0)
            _tell(log_theta, base, mine, n_classes, told, starts[i])
    return n_missing


@kernel
def add_log_sums(
    codes, rows, order, parent, child_start, child_index, cards, offsets, starts, places, log_theta, out
):  # fmt: skip
    """Add to the log-joint of the given rows what their gaps, summed out, contribute, whatever the
    range of the tables.

    The families without a gap are in ``out`` already.
    """
    n_classes = out.shape[1]
    heard, told = np.empty(places[-1] * n_classes), np.empty(starts[-1])
    gaps = np.empty(order.size, np.int64)
    for row in rows:
        n_missing = _pass_up(codes, row, order, parent, child_start, child_index, cards, offsets, starts, places,
                          log_theta, n_classes, gaps, heard, told)  # fmt: skip
        for a in range(n_missing):
            i = gaps[a]
            if parent[i] < 0 or codes[parent[i], row] < cards[parent[i]]:
                for c in range(n_classes):
                    out[row, c] += told[starts[i] + c]


@kernel
def missing_marginals(
    codes,
    rows,
    order,
    parent,
    child_start,
    child_index,
    cards,
    offsets,
    starts,
    places,
    log_theta,
    class_shares,
    out,
):
    """P(x_i = v | what is observed) of every gap of the given rows, in ``out[r, places[i] + v]``.

    ``order`` lists parents before children; ``class_shares[r]`` is P(c | what is observed).
    ``starts`` says where what a feature tells its parent stands in the scratch space. Cells of
    observed features are left as they are.
    """
    n_classes = class_shares.shape[1]
    heard, belief = np.empty(places[-1] * n_classes), np.empty(places[-1] * n_classes)
    told, one = np.empty(starts[-1]), np.ones(n_classes)
    gaps = np.empty(order.size, np.int64)
    for r in range(rows.size):
        row = rows[r]
        n_missing = _pass_up(codes, row, order, parent, child_start, child_index, cards, offsets, starts, places,
                          log_theta, n_classes, gaps, heard, told)  # fmt: skip
        for a in range(n_missing):
            i = gaps[a]
            p, cells = parent[i], cards[i] * n_classes
            first, last = places[i] * n_classes, places[i + 1] * n_classes
            mine, found = heard[first:last], belief[first:last]
            found[:] = 0.0
            if p >= 0 and codes[p, row] >= cards[p]:
                for u in range(cards[p]):
                    at = (places[p] + u) * n_classes
                    _spread(log_theta, offsets[i] + u * cells, mine, n_classes, told, starts[i] + u * n_classes,
                            belief[at : at + n_classes], found)  # fmt: skip
            else:
                base = offsets[i] + (np.int64(codes[p, row]) * cells if p >= 0 else 0)
                _spread(log_theta, base, mine, n_classes, told, starts[i], one, found)
            for v in range(cards[i]):
                share = 0.0
                for c in range(n_classes):
                    share += class_shares[r, c] * found[v * n_classes + c]
                out[r, places[i] + v] = share

"""Importance sampling of missing values, for rows that are beyond the limit of exact inference.

*Mini-bucket elimination* bounds the work of variable elimination: where the product of the factors
that meet in a step would be too large, they are divided into *mini-buckets* that are small enough,
and each of these is reduced by itself. By Hölder's inequality, (Σ f^n)^(1/n) of each of n
mini-buckets gives an upper bound; with one mini-bucket it is the sum, and exact. Where a step is
divided, the messages guide draws: the features are drawn in the opposite order, each in proportion
to the product of its factors, tables and messages. The mean of the weights, true product by
probability of the draw, estimates the sum over all values without bias. No weight exceeds the upper
bound, and values that the tables allow can all be drawn.

Everything is on the log scale, so that tables of any range will do, normalized or not. Factors have
their *axes* (numbers of missing features, see ``elimination_plan``) and strides in one row of an
array each; the factors with numbers below ``n_features`` are tables, the others messages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.elimination_plan import make_plan

FEW_DRAWS = 30.0  # effective draws below which an estimate is not reliable


class BucketFactors(NamedTuple):
    """The factors of a row; one row of ``axes`` and ``strides`` for each."""

    n_axes: np.ndarray
    axes: np.ndarray
    strides: np.ndarray
    base: np.ndarray  # the first cell: in the tables, or among the messages
    after: np.ndarray  # the next factor that meets in the same step, or −1


class MiniBuckets(NamedTuple):
    """The result of mini-bucket elimination, from which values are drawn."""

    first: np.ndarray  # by step: the first of its factors
    factors: BucketFactors
    messages: np.ndarray
    is_drawn: np.ndarray  # by step: its feature depends on one whose factors were divided
    sums: np.ndarray  # by class: the logarithm of what the other features sum to
    upper_bound: np.ndarray  # by class: the same of features that are drawn, as a bound


class Estimate(NamedTuple):
    """The estimates of a row, by class."""

    log_joint: np.ndarray
    relative: np.ndarray  # standard error of the joint probability, as a share of it
    effective: np.ndarray  # the number of equal weights that would have that error


@helper
def _uniform(state):
    """Return the next number in [0, 1) of a small generator (splitmix64); advances its state."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    # the upper 53 bits, which a double holds exactly
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@helper
def _seed_of(x, seed):
    """Return the state of a generator that depends on the values of a row, wherever it stands."""
    state = np.array([seed], np.uint64)
    for i in range(x.size):
        state[0] ^= np.uint64(x[i])
        _uniform(state)
        state[0] *= np.uint64(0xD1342543DE82EF95)
    return state


@helper
def _with_space(n, width):
    """Return space for ``n`` factors of at most ``width`` axes."""
    return BucketFactors(
        np.zeros(n, np.int64),
        np.zeros((n, width), np.int64),
        np.zeros((n, width), np.int64),
        np.zeros(n, np.int64),
        np.full(n, -1, np.int64),
    )


@helper
def _longer(factors):
    """Return factors with twice the space."""
    longer = _with_space(2 * factors.n_axes.size, factors.axes.shape[1])
    for f in range(factors.n_axes.size):
        longer.n_axes[f] = factors.n_axes[f]
        longer.base[f] = factors.base[f]
        longer.after[f] = factors.after[f]
        for k in range(factors.n_axes[f]):
            longer.axes[f, k] = factors.axes[f, k]
            longer.strides[f, k] = factors.strides[f, k]
    return longer


@helper
def _tables_of(x, plan, layout, n_classes, factors):
    """Write the axes of every table with a missing value, and its first cell that fits the row."""
    for i in range(plan.missing.size):
        if not plan.needed[i]:
            continue
        base = layout.offsets[i]
        k = 0
        for j in range(layout.parent_start[i], layout.parent_start[i + 1]):
            parent = layout.parent_index[j]
            if plan.missing[parent]:
                factors.axes[i, k] = plan.position[parent]
                factors.strides[i, k] = layout.parent_stride[j]
                k += 1
            else:
                base += x[parent] * layout.parent_stride[j]
        if plan.missing[i]:
            factors.axes[i, k] = plan.position[i]
            factors.strides[i, k] = n_classes
            k += 1
        else:
            base += x[i] * n_classes
        factors.n_axes[i] = k
        factors.base[i] = base


@small_helper
def _enter(f, factors, step_of, first):
    """Add a factor to the list of the step in which its first axis is eliminated."""
    step = step_of[factors.axes[f, 0]]
    for k in range(1, factors.n_axes[f]):
        step = min(step, step_of[factors.axes[f, k]])
    factors.after[f] = first[step]
    first[step] = f


@helper
def _joined_cells(f, factors, inside, cards):
    """Return by how much a mini-bucket grows when a factor is added to it."""
    cells = 1.0
    for k in range(factors.n_axes[f]):
        if not inside[factors.axes[f, k]]:
            cells *= cards[factors.axes[f, k]]
    return cells


@helper
def _divide(step, first, factors, cards, max_size, members, bucket_of, inside, cells, nothing):
    """Divide the factors of a step into mini-buckets of at most ``max_size`` cells.

    Large factors come first; each goes to the first mini-bucket in which it has space. A factor
    that is too large by itself is a mini-bucket of its own. Returns the numbers of factors and of
    mini-buckets.
    """
    n_members = 0
    f = first[step]
    while f >= 0:  # kept in order by their size
        size = _joined_cells(f, factors, nothing, cards)
        at = n_members
        while at > 0 and _joined_cells(members[at - 1], factors, nothing, cards) < size:
            members[at] = members[at - 1]
            at -= 1
        members[at] = f
        n_members += 1
        f = factors.after[f]
    n_buckets = 0
    for j in range(n_members):
        f = members[j]
        b = 0
        while b < n_buckets and cells[b] * _joined_cells(f, factors, inside[b], cards) > max_size:
            b += 1
        if b == n_buckets:
            n_buckets += 1
            cells[b] = 1.0
            for k in range(cards.size):
                inside[b, k] = False
        cells[b] *= _joined_cells(f, factors, inside[b], cards)
        for k in range(factors.n_axes[f]):
            inside[b, factors.axes[f, k]] = True
        bucket_of[j] = b
    return n_members, n_buckets


@small_helper
def _stride_along(f, factors, node):
    """Return how many cells apart two values of a node are in a factor; zero if it has none."""
    for k in range(factors.n_axes[f]):
        if factors.axes[f, k] == node:
            return factors.strides[f, k]
    return 0


@helper
def _reduce_line(total, card, n_classes, power, out, at):
    """Write log (Σ_v f(v)^power)^(1/power) of every class, given log f."""
    for c in range(n_classes):
        best = total[c]
        for k in range(c + n_classes, card * n_classes, n_classes):
            best = max(best, total[k])
        out[at + c] = best
        if best > -np.inf:
            s = 0.0
            for k in range(c, card * n_classes, n_classes):
                s += np.exp((total[k] - best) * power)
            out[at + c] = best + np.log(s) / power


@helper
def _send(ids, node, factors, m, cards, log_theta, messages, n_features, n_classes, power):
    """Write message ``m``: the product of the given factors, without the node."""
    n_axes = factors.n_axes[m]
    card = cards[node]
    strides = np.empty((ids.size, n_axes + 1), np.int64)
    at = np.empty(ids.size, np.int64)
    for j in range(ids.size):
        for k in range(n_axes):
            strides[j, k] = _stride_along(ids[j], factors, factors.axes[m, k])
        strides[j, n_axes] = _stride_along(ids[j], factors, node)
        at[j] = factors.base[ids[j]]
    digits = np.zeros(n_axes, np.int64)
    total = np.empty(card * n_classes)
    line = factors.base[m]
    while True:
        for k in range(total.size):
            total[k] = 0.0
        for j in range(ids.size):
            source = log_theta if ids[j] < n_features else messages
            cell = at[j]
            for k in range(0, total.size, n_classes):
                for c in range(n_classes):
                    total[k + c] += source[cell + c]
                cell += strides[j, n_axes]
        _reduce_line(total, card, n_classes, power, messages, line)
        line += n_classes
        k = n_axes - 1
        while k >= 0:
            digits[k] += 1
            for j in range(ids.size):
                at[j] += strides[j, k]
            if digits[k] < cards[factors.axes[m, k]]:
                break
            for j in range(ids.size):
                at[j] -= digits[k] * strides[j, k]
            digits[k] = 0
            k -= 1
        if k < 0:
            return


@helper
def _components(plan, n_steps):
    """Return a number of each step that is the same where features depend on each other."""
    step_of = np.empty(n_steps, np.int64)
    for step in range(n_steps):
        step_of[plan.steps[step]] = step
    component = np.empty(n_steps, np.int64)
    for step in range(n_steps - 1, -1, -1):
        nearest = n_steps
        for k in range(plan.scope_start[step], plan.scope_start[step + 1] - 1):
            nearest = min(nearest, step_of[plan.scopes[k]])
        component[step] = step if nearest == n_steps else component[nearest]
    return step_of, component


@helper
def _bound_sizes(plan, component, max_size, max_exact, bounds):
    """Write the largest mini-bucket of each step: any where its component is to be exact."""
    cells = np.zeros(component.size)
    for step in range(component.size):
        cells[component[step]] += plan.sizes[step]
    for step in range(component.size):
        bounds[step] = np.inf if cells[component[step]] <= max_exact else max_size


@helper
def _draw(c, plan, buckets, log_theta, value, total, state):
    """Draw the values of features for one class; return the logarithm of the weight."""
    weight = 0.0
    cards = plan.cards
    factors = buckets.factors
    messages = buckets.messages
    n_features = plan.missing.size
    for step in range(plan.steps.size - 1, -1, -1):
        if not buckets.is_drawn[step]:
            continue
        node = plan.steps[step]
        card = cards[node]
        for v in range(card):
            total[v] = 0.0
        f = buckets.first[step]
        while f >= 0:
            at = factors.base[f] + c
            stride = 0
            for k in range(factors.n_axes[f]):
                if factors.axes[f, k] == node:
                    stride = factors.strides[f, k]
                else:
                    at += value[factors.axes[f, k]] * factors.strides[f, k]
            source = log_theta if f < n_features else messages
            for v in range(card):
                total[v] += source[at + v * stride]
            f = factors.after[f]
        best = -np.inf
        for v in range(card):
            best = max(best, total[v])
        if best == -np.inf:
            return -np.inf
        s = 0.0
        for v in range(card):
            total[v] = np.exp(total[v] - best)
            s += total[v]
        left = _uniform(state) * s
        chosen = 0
        for v in range(card):
            if total[v] > 0.0:
                chosen = v
                left -= total[v]
                if left < 0.0:
                    break
        value[node] = chosen
        # the product of the tables is that of all factors without the messages
        weight += best + np.log(s)
        f = buckets.first[step]
        while f >= 0:
            if f >= n_features:
                at = factors.base[f] + c
                for k in range(factors.n_axes[f]):
                    at += value[factors.axes[f, k]] * factors.strides[f, k]
                weight -= messages[at]
            f = factors.after[f]
    return weight


@helper
def _summarize(weights, c, estimate):
    """Add the mean of weights to the log-joint of a class, with its error."""
    top = -np.inf
    for draw in range(weights.size):
        top = max(top, weights[draw])
    estimate.log_joint[c] += top
    if top == -np.inf:
        estimate.effective[c] = 0.0
        return
    total = 0.0
    squares = 0.0
    for draw in range(weights.size):
        w = np.exp(weights[draw] - top)
        total += w
        squares += w * w
    n = weights.size
    mean = total / n
    variance = max(0.0, squares / n - mean * mean) / max(1, n - 1)
    effective = total * total / squares
    estimate.log_joint[c] += np.log(mean)
    estimate.effective[c] = effective
    # Weights that are larger may not have been drawn yet: with few effective draws probably so
    # (measured), and a draw as large as the mean of all may be missing even if these are equal.
    variance *= 1.0 + FEW_DRAWS / effective
    estimate.relative[c] = np.sqrt(variance / (mean * mean) + 1.0 / (n * n))


@small_helper
def _add_message(ids, node, inside, power, plan, factors, cpts, messages, m, n_numbers):
    """Write message ``m`` after the first ``n_numbers`` numbers; return them, and their number."""
    n_classes = cpts.log_prior.size
    factors.n_axes[m] = 0
    for k in range(inside.size):
        if inside[k] and k != node:
            factors.axes[m, factors.n_axes[m]] = k
            factors.n_axes[m] += 1
    size = n_classes
    for k in range(factors.n_axes[m] - 1, -1, -1):
        factors.strides[m, k] = size
        size *= plan.cards[factors.axes[m, k]]
    factors.base[m] = n_numbers
    if n_numbers + size > messages.size:
        longer = np.empty(2 * (n_numbers + size))
        for k in range(n_numbers):
            longer[k] = messages[k]
        messages = longer
    _send(ids, node, factors, m, plan.cards, cpts.log_theta, messages, plan.missing.size,
          n_classes, power)  # fmt: skip
    return messages, size


@helper
def _eliminate(x, plan, layout, cpts, limits):
    """Return the result of mini-bucket elimination."""
    n_features = plan.missing.size
    n_classes = cpts.log_prior.size
    n_steps = plan.steps.size
    step_of, component = _components(plan, n_steps)
    bounds = np.empty(n_steps)
    _bound_sizes(plan, component, limits[0], limits[1], bounds)
    factors = _with_space(2 * n_features + 16, n_steps + 1)
    _tables_of(x, plan, layout, n_classes, factors)
    first = np.full(n_steps, -1, np.int64)
    for i in range(n_features):
        if factors.n_axes[i] > 0:
            _enter(i, factors, step_of, first)
    messages = np.empty(1024)
    n_factors = n_features
    n_numbers = 0
    members = np.empty(n_features + 1, np.int64)  # a message takes the place of its factors
    ids = np.empty(members.size, np.int64)
    bucket_of = np.empty(members.size, np.int64)
    inside = np.zeros((members.size, n_steps), np.bool_)
    nothing = np.zeros(n_steps, np.bool_)
    cells = np.empty(members.size)
    divided = np.zeros(n_steps, np.bool_)
    ends = np.zeros((n_steps, n_classes))  # messages without axes, by component
    for step in range(n_steps):
        n_members, n_buckets = _divide(
            step, first, factors, plan.cards, bounds[step], members, bucket_of, inside, cells,
            nothing,
        )  # fmt: skip
        divided[component[step]] |= n_buckets > 1
        for b in range(n_buckets):
            n_ids = 0
            for j in range(n_members):
                if bucket_of[j] == b:
                    ids[n_ids] = members[j]
                    n_ids += 1
            if n_factors == factors.n_axes.size:
                factors = _longer(factors)
            messages, size = _add_message(
                ids[:n_ids], plan.steps[step], inside[b], float(n_buckets), plan, factors, cpts,
                messages, n_factors, n_numbers,
            )  # fmt: skip
            if factors.n_axes[n_factors] == 0:
                for c in range(n_classes):
                    ends[component[step], c] += messages[n_numbers + c]
                continue  # overwritten by the next message
            _enter(n_factors, factors, step_of, first)
            n_factors += 1
            n_numbers += size
    is_drawn = np.empty(n_steps, np.bool_)
    sums = np.zeros(n_classes)
    upper_bound = np.zeros(n_classes)
    for step in range(n_steps):
        is_drawn[step] = divided[component[step]]
        total = upper_bound if is_drawn[step] else sums
        for c in range(n_classes):
            total[c] += ends[step, c]
    for i in range(n_features):
        if plan.needed[i] and factors.n_axes[i] == 0:
            for c in range(n_classes):
                sums[c] += cpts.log_theta[factors.base[i] + c]
    return MiniBuckets(first, factors, messages, is_drawn, sums, upper_bound)


@kernel
def estimate_row(x, missing, needed, layout, cpts, limits, n_draws, seed, estimate):
    """Estimate log P(c, x observed) of one row, and how far to trust that, by class.

    Parameters
    ----------
    x : array of int64
        The values of the row.
    missing, needed : arrays of bool
        Missing features of several values, and those whose tables take part.
    layout, cpts : LayoutArrays, CPTArrays
        The tables.
    limits : array of two floats
        Cells of a mini-bucket (without the classes), and cells of the missing features that depend
        on each other up to which they are marginalized exactly.
    n_draws : int
        Number of draws for each class.
    seed : uint64
        Seed of the draws.
    estimate : Estimate
        The result is written there.
    """
    n_classes = cpts.log_prior.size
    plan = make_plan(missing, needed, layout, n_classes)
    buckets = _eliminate(x, plan, layout, cpts, limits)
    state = _seed_of(x, seed)
    value = np.zeros(plan.steps.size, np.int64)
    max_card = 1
    n_drawn = 0
    for step in range(plan.steps.size):
        max_card = max(max_card, plan.cards[step])
        n_drawn += buckets.is_drawn[step]
    total = np.empty(max_card)
    weights = np.empty(n_draws)
    for c in range(n_classes):
        estimate.log_joint[c] = cpts.log_prior[c] + buckets.sums[c] + buckets.upper_bound[c]
        estimate.relative[c] = 0.0
        estimate.effective[c] = np.inf
        if n_drawn == 0 or estimate.log_joint[c] == -np.inf:
            continue  # exact: nothing was divided, or the class is impossible
        estimate.log_joint[c] -= buckets.upper_bound[c]
        for draw in range(n_draws):
            weights[draw] = _draw(c, plan, buckets, cpts.log_theta, value, total, state)
        _summarize(weights, c, estimate)

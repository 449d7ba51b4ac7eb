"""Rows with gaps on any structure: exact variable elimination, one plan for each pattern of gaps.

A *plan* says in which order the missing features are eliminated (least fill-in first) and, for each
step, which factors meet: tables of families that contain the feature, and messages of earlier
steps. It is made once for a pattern and run on every row that has it. A bucket is the product of
the factors of one step, over the *scope* of that step (the neighbours that are still there, then
the feature itself), class innermost.

Modes: sum out the gaps (``SUM``), maximise over them and trace the best values back (``MAX``), or
sum and then draw values from the buckets in the opposite order (``DRAW``).
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel

SUM, MAX, DRAW = 0, 1, 2
LOW = 1e-100


@kernel
def relevant_missing(missing, order, parent_start, parent_index, normalized, every):
    """Positions of the missing features to eliminate: all of them, or only those with an observed
    descendant.
    """
    n_features = missing.size
    needed = np.zeros(n_features, np.bool_)
    keep = every or not normalized
    for at in range(n_features - 1, -1, -1):
        i = order[at]
        needed[i] = needed[i] or keep or not missing[i]
        if needed[i]:
            for k in range(parent_start[i], parent_start[i + 1]):
                needed[parent_index[k]] = True
    return needed


@helper
def _interaction(missing, needed, parent_start, parent_index, local):
    """Which of the missing features share a family."""
    n_missing = 0
    for i in range(local.size):
        n_missing = max(n_missing, local[i] + 1)
    joined = np.zeros((n_missing, n_missing), np.bool_)
    members = np.empty(missing.size, np.int64)
    for i in range(missing.size):
        if not needed[i]:
            continue
        size = 0
        if missing[i]:
            members[size] = local[i]
            size += 1
        for k in range(parent_start[i], parent_start[i + 1]):
            if missing[parent_index[k]]:
                members[size] = local[parent_index[k]]
                size += 1
        for a in range(size):
            for b in range(a):
                joined[members[a], members[b]] = joined[members[b], members[a]] = True
    return joined


@helper
def _fill_in(joined, alive, v):
    """The number of edges that eliminating ``v`` adds, and the number of its neighbours."""
    fill, degree = 0, 0
    for a in range(alive.size):
        if alive[a] and joined[v, a]:
            degree += 1
            for b in range(a):
                if alive[b] and joined[v, b] and not joined[a, b]:
                    fill += 1
    return fill, degree


@helper
def _next_gap(joined, alive, fills, degrees, stale):
    """The gap of least fill-in, then of fewest neighbours, then the first."""
    best = -1
    for v in range(alive.size):
        if not alive[v]:
            continue
        if stale[v]:
            fills[v], degrees[v] = _fill_in(joined, alive, v)
            stale[v] = False
        if (
            best < 0
            or fills[v] < fills[best]
            or (fills[v] == fills[best] and degrees[v] < degrees[best])
        ):
            best = v
    return best


@helper
def elimination_order(joined):
    """An order by least fill-in; scopes of the steps as a list of neighbours of each."""
    n_missing = joined.shape[0]
    alive = np.ones(n_missing, np.bool_)
    stale = np.ones(n_missing, np.bool_)
    fills, degrees = np.zeros(n_missing, np.int64), np.zeros(n_missing, np.int64)
    steps = np.empty(n_missing, np.int64)
    scope_start = np.zeros(n_missing + 1, np.int64)
    scopes = np.empty(n_missing * (n_missing + 1), np.int64)
    for step in range(n_missing):
        v = _next_gap(joined, alive, fills, degrees, stale)
        steps[step] = v
        alive[v] = False
        at = scope_start[step]
        for a in range(n_missing):
            if alive[a] and joined[v, a]:
                scopes[at] = a
                at += 1
        for k in range(scope_start[step], at):
            a = scopes[k]
            for other in range(scope_start[step], k):
                joined[a, scopes[other]] = joined[scopes[other], a] = True
            for b in range(n_missing):
                if joined[a, b]:
                    stale[b] = True
            stale[a] = True
        scopes[at] = v
        scope_start[step + 1] = at + 1
    return steps, scope_start, scopes[: scope_start[n_missing]].copy()


@kernel
def bucket_sizes(scope_start, scopes, missing_cards, n_classes, sizes):
    """The number of cells of each bucket, as floats, which cannot overflow."""
    for step in range(scope_start.size - 1):
        cells = float(n_classes)
        for k in range(scope_start[step], scope_start[step + 1]):
            cells *= missing_cards[scopes[k]]
        sizes[step] = cells


@helper
def plan_factors(missing, needed, local, steps, scope_start, scopes, missing_cards, parent_start, parent_index,
                 parent_stride, n_classes):  # fmt: skip
    """Which factors meet at each step, and their strides along the scope of the step.

    Factor ``f`` is the table of feature ``f`` for ``f < n_features``, else the message of step ``f
    − n_features``.
    """
    n_features, n_missing = missing.size, steps.size
    place = np.empty(n_missing, np.int64)
    for step in range(n_missing):
        place[steps[step]] = step
    meets = np.full(n_features + n_missing, -1, np.int64)
    for i in range(n_features):
        if needed[i]:
            first = place[local[i]] if missing[i] else n_missing
            for k in range(parent_start[i], parent_start[i + 1]):
                if missing[parent_index[k]]:
                    first = min(first, place[local[parent_index[k]]])
            if first < n_missing:
                meets[i] = first
    for step in range(n_missing):
        first = n_missing
        for k in range(scope_start[step], scope_start[step + 1] - 1):
            first = min(first, place[scopes[k]])
        if first < n_missing:
            meets[n_features + step] = first
    input_start = np.zeros(n_missing + 1, np.int64)
    for f in range(meets.size):
        if meets[f] >= 0:
            input_start[meets[f] + 1] += 1
    for step in range(n_missing):
        input_start[step + 1] += input_start[step]
    inputs = np.empty(input_start[n_missing], np.int64)
    fill = input_start[:-1].copy()
    for f in range(meets.size):
        if meets[f] >= 0:
            inputs[fill[meets[f]]] = f
            fill[meets[f]] += 1
    stride_start = np.zeros(inputs.size + 1, np.int64)
    for step in range(n_missing):
        for j in range(input_start[step], input_start[step + 1]):
            stride_start[j + 1] = stride_start[j] + scope_start[step + 1] - scope_start[step]
    strides = np.zeros(stride_start[-1], np.int64)
    for step in range(n_missing):
        for j in range(input_start[step], input_start[step + 1]):
            for k in range(scope_start[step], scope_start[step + 1]):
                strides[stride_start[j] + k - scope_start[step]] = _stride(
                    inputs[j], scopes[k], missing, local, scope_start, scopes, missing_cards, parent_start, parent_index,
                    parent_stride, n_classes,
                )  # fmt: skip
    return input_start, inputs, stride_start, strides


@helper
def _stride(f, gap, missing, local, scope_start, scopes, missing_cards, parent_start, parent_index, parent_stride,
            n_classes):  # fmt: skip
    """How far apart two neighbouring values of a gap stand in factor ``f``; zero if the factor does
    not have it.
    """
    n_features = missing.size
    if f < n_features:
        if missing[f] and local[f] == gap:
            return n_classes
        for k in range(parent_start[f], parent_start[f + 1]):
            if missing[parent_index[k]] and local[parent_index[k]] == gap:
                return parent_stride[k]
        return 0
    step = f - n_features
    stride = n_classes
    for k in range(scope_start[step + 1] - 2, scope_start[step] - 1, -1):
        if scopes[k] == gap:
            return stride
        stride *= missing_cards[scopes[k]]
    return 0


@helper
def _multiply(bucket, factor, base, strides, scope, missing_cards, digits, n_classes, add):
    """Multiply a factor into a bucket, or add it where both are logarithms, in the order of the
    bucket's cells.
    """
    size = scope.size
    for k in range(size):
        digits[k] = 0
    at = base
    for cell in range(0, bucket.size, n_classes):
        if add:
            for c in range(n_classes):
                bucket[cell + c] += factor[at + c]
        else:
            for c in range(n_classes):
                bucket[cell + c] *= factor[at + c]
        k = size - 1
        while k >= 0:
            digits[k] += 1
            at += strides[k]
            if digits[k] < missing_cards[scope[k]]:
                break
            at -= digits[k] * strides[k]
            digits[k] = 0
            k -= 1


@helper
def _move_to_logs(bucket, logs, stored):
    """Move a product to its log-scale store and start again at one."""
    for k in range(bucket.size):
        logs[k] = np.log(bucket[k]) + (logs[k] if stored else 0.0)
        bucket[k] = 1.0


@helper
def _fill_bucket(bucket, logs, step, bases, log_theta, theta, smallest, messages, message_start, message_low, in_logs,
                 input_start, inputs, stride_start, strides, scope, missing_cards, digits, n_features,
                 n_classes):  # fmt: skip
    """The product of the factors of one step; on the log scale where it would leave the range of a
    double.

    Factors are at most one and have known smallest positive entries, so a bound tells when that is.
    A table whose own range is too wide (``smallest`` is zero) is read as logarithms. Returns the
    bound on the product, or zero where the bucket holds logarithms.
    """
    for k in range(bucket.size):
        bucket[k] = 1.0
    # false, but no literal: for a literal the helpers would be compiled again
    low, stored = 1.0, bucket.size < 0
    for j in range(input_start[step], input_start[step + 1]):
        f = inputs[j]
        along = strides[stride_start[j] : stride_start[j + 1]]
        from_logs = smallest[f] == 0.0 if f < n_features else in_logs[f - n_features]
        by = 1.0 if from_logs else smallest[f] if f < n_features else message_low[f - n_features]
        if low * by < LOW or (from_logs and not stored):
            _move_to_logs(bucket, logs, stored)
            low, stored = 1.0, True
        low *= by
        if f < n_features and from_logs:
            _multiply(
                logs, log_theta, bases[f], along, scope, missing_cards, digits, n_classes, from_logs
            )
        elif f < n_features:
            _multiply(
                bucket, theta, bases[f], along, scope, missing_cards, digits, n_classes, from_logs
            )
        elif from_logs:
            _multiply(
                logs,
                messages,
                message_start[f - n_features],
                along,
                scope,
                missing_cards,
                digits,
                n_classes,
                from_logs,
            )
        else:
            _multiply(
                bucket,
                messages,
                message_start[f - n_features],
                along,
                scope,
                missing_cards,
                digits,
                n_classes,
                from_logs,
            )
    if stored:
        for k in range(bucket.size):
            bucket[k] = np.log(bucket[k]) + logs[k]
        return 0.0
    return low


@helper
def _reduce(bucket, card, n_classes, maximize, on_logs, message):
    """Sum out, or maximise over, the last variable of a bucket; a bucket of logarithms gives a
    message of them.
    """
    width = card * n_classes
    for line in range(message.size // n_classes):
        for c in range(n_classes):
            first = line * width + c
            best, total = bucket[first], bucket[first]
            for cell in range(first + n_classes, (line + 1) * width, n_classes):
                best = max(best, bucket[cell])
                total += bucket[cell]
            if on_logs and not maximize and best > -np.inf:
                total = 0.0
                for cell in range(first, (line + 1) * width, n_classes):
                    total += np.exp(bucket[cell] - best)
                best += np.log(total)
            message[line * n_classes + c] = best if maximize or on_logs else total


@helper
def _scale_message(message, n_classes, result):
    """Scale a message so that the largest entry of each class is one; the logs of the scales go to
    the result.
    """
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
    """The best value of a line of a bucket for class ``c``, or one drawn in proportion to it."""
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
    target, running, last = uniform * total, 0.0, best
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
    """The class of the largest log-joint, or one drawn in proportion."""
    best = result[0]
    at = 0
    for c in range(1, result.size):
        if result[c] > best:
            best, at = result[c], c
    if maximize or best == -np.inf:
        return at
    total = 0.0
    for c in range(result.size):
        total += np.exp(result[c] - best)
    target, running = uniform * total, 0.0
    for c in range(result.size):
        running += np.exp(result[c] - best)
        if target < running:
            return c
    return at


@helper
def run_plan(codes, rows, missing, needed, smallest, steps, scope_start, scopes, sizes, input_start, inputs,
             stride_start, strides, missing_cards, missing_features, offsets, parent_start, parent_index, parent_stride,
             log_prior, log_theta, theta, shifts, mode, uniforms, classes, filled, out):  # fmt: skip
    """Run a plan on every row of its pattern: the log-joint in ``out`` and, unless summing, values
    in ``filled``.

    ``classes`` holds the known class of each row, or −1; the chosen class is written there.
    """
    n_features, n_classes, n_missing = missing.size, log_prior.size, steps.size
    bucket_start = np.zeros(n_missing + 1, np.int64)
    message_start = np.zeros(n_missing + 1, np.int64)
    largest = 0
    for step in range(n_missing):
        cells = int(sizes[step])
        largest = max(largest, cells)
        bucket_start[step + 1] = 0 if mode == SUM else bucket_start[step] + cells
        message_start[step + 1] = message_start[step] + cells // missing_cards[steps[step]]
    buckets = np.empty(largest if mode == SUM else bucket_start[n_missing])
    logs, messages = np.empty(largest), np.empty(message_start[n_missing])
    message_low, in_logs = np.ones(n_missing), np.zeros(n_missing, np.bool_)
    bases = np.zeros(n_features, np.int64)
    digits = np.zeros(n_missing + 1, np.int64)
    value = np.zeros(n_missing, np.int64)
    for r in range(rows.size):
        result, row = out[r], rows[r]
        for c in range(n_classes):
            result[c] = log_prior[c]
        for i in range(n_features):
            if not needed[i]:
                continue
            base = offsets[i] + (0 if missing[i] else np.int64(codes[i, row]) * n_classes)
            open_ = missing[i]
            for k in range(parent_start[i], parent_start[i + 1]):
                if missing[parent_index[k]]:
                    open_ = True
                else:
                    base += codes[parent_index[k], row] * parent_stride[k]
            bases[i] = base
            shift = shifts[i] if smallest[i] > 0.0 else 0.0  # logarithms are read as they are
            for c in range(n_classes):
                result[c] += shift if open_ else log_theta[base + c]
        for step in range(n_missing):
            cells = int(sizes[step])
            bucket = buckets[bucket_start[step] : bucket_start[step] + cells]
            scope = scopes[scope_start[step] : scope_start[step + 1]]
            message = messages[message_start[step] : message_start[step + 1]]
            low = _fill_bucket(bucket, logs[:cells], step, bases, log_theta, theta, smallest, messages, message_start,
                               message_low, in_logs, input_start, inputs, stride_start, strides, scope, missing_cards,
                               digits, n_features, n_classes)  # fmt: skip
            card = missing_cards[steps[step]]
            message_low[step], in_logs[step] = (low / card, False) if low > 0.0 else (1.0, True)
            _reduce(bucket, card, n_classes, mode == MAX, in_logs[step], message)
            if not in_logs[step]:
                _scale_message(message, n_classes, result)
            elif scope.size == 1:
                for c in range(n_classes):
                    result[c] += message[c]
        if mode == SUM:
            continue
        if classes[r] < 0:
            classes[r] = _choose_class(result, mode == MAX, uniforms[r, n_features])
        for step in range(n_missing - 1, -1, -1):
            at, stride = bucket_start[step], n_classes * missing_cards[steps[step]]
            for k in range(scope_start[step + 1] - 2, scope_start[step] - 1, -1):
                at += value[scopes[k]] * stride
                stride *= missing_cards[scopes[k]]
            feature = missing_features[steps[step]]
            card = missing_cards[steps[step]]
            chosen = _choose(
                buckets,
                at,
                card,
                n_classes,
                classes[r],
                in_logs[step],
                mode == MAX,
                uniforms[r, feature],
            )
            value[steps[step]] = chosen
            filled[r, feature] = chosen


@kernel
def make_plan(missing, needed, cards, parent_start, parent_index):
    """The gaps to eliminate, their order and the scope of each step."""
    local = np.full(missing.size, -1, np.int64)
    n_missing = 0
    for i in range(missing.size):
        if missing[i] and needed[i]:
            local[i] = n_missing
            n_missing += 1
    missing_features, missing_cards = np.empty(n_missing, np.int64), np.empty(n_missing, np.int64)
    for i in range(missing.size):
        if local[i] >= 0:
            missing_features[local[i]] = i
            missing_cards[local[i]] = cards[i]
    joined = _interaction(missing, needed, parent_start, parent_index, local)
    steps, scope_start, scopes = elimination_order(joined)
    return local, missing_features, missing_cards, steps, scope_start, scopes


@kernel
def eliminate_groups(codes, rows, group_start, groups, order, cards, offsets, parent_start, parent_index,
                     parent_stride, log_prior, log_theta, theta, smallest, shifts, normalized, max_size, mode,
                     uniforms, classes, filled, out, too_large):  # fmt: skip
    """Plan and run each of the given groups of rows, whose rows have the same gaps.

    A group whose largest bucket has more than ``max_size`` cells is not run; its size is written to
    ``too_large``.
    """
    n_features, n_classes = codes.shape[0], log_prior.size
    missing = np.empty(n_features, np.bool_)
    for g in groups:
        first, last = group_start[g], group_start[g + 1]
        for i in range(n_features):
            missing[i] = codes[i, rows[first]] >= cards[i]
        needed = relevant_missing(
            missing, order, parent_start, parent_index, normalized, mode != SUM
        )
        local, missing_features, missing_cards, steps, scope_start, scopes = make_plan(
            missing, needed, cards, parent_start, parent_index
        )
        sizes = np.empty(steps.size)
        bucket_sizes(scope_start, scopes, missing_cards, n_classes, sizes)
        if steps.size > 0 and sizes.max() > max_size:
            too_large[g] = sizes.max()
            continue
        input_start, inputs, stride_start, strides = plan_factors(
            missing, needed, local, steps, scope_start, scopes, missing_cards, parent_start, parent_index, parent_stride,
            n_classes,
        )  # fmt: skip
        run_plan(codes, rows[first:last], missing, needed, smallest, steps, scope_start, scopes, sizes, input_start,
                 inputs, stride_start, strides, missing_cards, missing_features, offsets, parent_start, parent_index,
                 parent_stride, log_prior, log_theta, theta, shifts, mode, uniforms[first:last], classes[first:last],
                 filled[first:last], out[first:last])  # fmt: skip

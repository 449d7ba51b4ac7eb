"""Orders in which missing features are eliminated, on graphs that are held as bit sets.

The nodes are the *axes* of a row: its missing features of several states. Two of them are neighbors
if some factor has both. The neighbors of a node are a row of 64-bit words. Eliminating a node makes
its neighbors neighbors of each other; the cells of that step are the product of the numbers of
states of the node and its neighbors.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, popcount, small_helper

LEAST_WEIGHT = 0  # fewest cells in the step
LEAST_WEIGHTED_FILL = 1  # new edges count by the states of their ends
LEAST_FILL = 2  # fewest new edges
ZERO = np.uint64(0)
ONE = np.uint64(1)
# cells of an order from which the other rules are tried as well
MANY_CELLS = 20_000.0
MOST_CELLS = 200_000.0


@small_helper
def lowest(word):
    """Return the number of the lowest bit that is set."""
    return np.int64(popcount((word & (~word + ONE)) - ONE))


@small_helper
def bit(k):
    """Return the word in which bit ``k % 64`` is set."""
    return ONE << np.uint64(k & 63)


@small_helper
def connect(graph, n_words, a, b):
    """Make two nodes neighbors."""
    graph[a * n_words + (b >> 6)] |= bit(b)
    graph[b * n_words + (a >> 6)] |= bit(a)


@helper
def find_components(graph, n_nodes, n_words, component, stack):
    """Number the connected components of the nodes, and return how many there are."""
    for v in range(n_nodes):
        component[v] = -1
    n_components = 0
    for first in range(n_nodes):
        if component[first] >= 0:
            continue
        component[first] = n_components
        stack[0] = first
        size = 1
        while size > 0:
            size -= 1
            v = stack[size]
            for w in range(n_words):
                word = graph[v * n_words + w]
                while word != ZERO:
                    a = 64 * w + lowest(word)
                    word &= word - ONE
                    if component[a] < 0:
                        component[a] = n_components
                        stack[size] = a
                        size += 1
        n_components += 1
    return n_components


@small_helper
def _fill_in(graph, n_words, v, states, weighted):
    """Return how many edges eliminating ``v`` adds, each taken twice."""
    fill = 0.0
    for w in range(n_words):
        word = graph[v * n_words + w]
        while word != ZERO:
            a = 64 * w + lowest(word)
            word &= word - ONE
            for x in range(n_words):
                others = graph[v * n_words + x] & ~graph[a * n_words + x]
                while others != ZERO:
                    b = 64 * x + lowest(others)
                    others &= others - ONE
                    if b != a:
                        fill += np.log(states[a]) * np.log(states[b]) if weighted else 1.0
    return fill


@small_helper
def _cells_of(graph, n_words, v, states):
    """Return the product of the states of a node and its neighbors."""
    cells = states[v]
    for w in range(n_words):
        word = graph[v * n_words + w]
        while word != ZERO:
            cells *= states[64 * w + lowest(word)]
            word &= word - ONE
    return cells


@small_helper
def _eliminate(graph, n_words, v, stale, far):
    """Join the neighbors of a node and take it out; mark nodes whose score may have changed."""
    for w in range(n_words):
        word = graph[v * n_words + w]
        while word != ZERO:
            a = 64 * w + lowest(word)
            word &= word - ONE
            for x in range(n_words):
                graph[a * n_words + x] |= graph[v * n_words + x]
            graph[a * n_words + (a >> 6)] &= ~bit(a)
            graph[a * n_words + (v >> 6)] &= ~bit(v)
            stale[a] = 1
            if far:  # a new edge changes the fill-in of all neighbors of its ends
                for x in range(n_words):
                    others = graph[a * n_words + x]
                    while others != ZERO:
                        stale[64 * x + lowest(others)] = 1
                        others &= others - ONE


@helper
def _greedy_order(n_words, nodes, n_nodes, rule, s, order):
    """Write an order of ``nodes``; return the cells of all steps, and of all their messages.

    States are floats, so that no product overflows.
    """
    work = s.order_graph
    for k in range(n_nodes):
        v = nodes[k]
        s.left[k] = v
        s.stale[v] = 1
        for w in range(n_words):
            work[v * n_words + w] = s.graph[v * n_words + w]
    scores = s.order_cells if rule == LEAST_WEIGHT else s.order_scores
    total = 0.0
    messages = 0.0
    for step in range(n_nodes):
        best = -1
        for k in range(n_nodes - step):
            v = s.left[k]
            if s.stale[v]:
                s.stale[v] = 0
                s.order_cells[v] = _cells_of(work, n_words, v, s.states)
                if rule != LEAST_WEIGHT:
                    scores[v] = _fill_in(work, n_words, v, s.states, rule == LEAST_WEIGHTED_FILL)
            if best < 0:
                best = k
                continue
            u = s.left[best]
            if scores[v] < scores[u] or (
                scores[v] == scores[u] and s.order_cells[v] < s.order_cells[u]
            ):
                best = k
        v = s.left[best]
        s.left[best] = s.left[n_nodes - step - 1]
        order[step] = v
        total += s.order_cells[v]
        messages += s.order_cells[v] / s.states[v]
        _eliminate(work, n_words, v, s.stale, rule != LEAST_WEIGHT)
    return total, messages


@helper
def best_order(n_words, nodes, n_nodes, n_classes, s, order):
    """Write the order of fewest cells among those of some rules; large ones are worth more rules.

    Returns the cells of all steps and of all messages, without the classes.
    """
    total, messages = _greedy_order(n_words, nodes, n_nodes, LEAST_WEIGHT, s, order)
    for rule in (LEAST_WEIGHTED_FILL, LEAST_FILL):
        if total * n_classes < (MANY_CELLS if rule == LEAST_WEIGHTED_FILL else MOST_CELLS):
            break
        other, other_messages = _greedy_order(n_words, nodes, n_nodes, rule, s, s.order)
        if other < total:
            total = other
            messages = other_messages
            for k in range(n_nodes):
                order[k] = s.order[k]
    return total, messages

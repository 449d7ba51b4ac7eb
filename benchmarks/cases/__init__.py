"""The cases by name: each is a function without arguments that gives rows of the table."""

from collections.abc import Callable, Iterable

from cases import gaps, margins, memory, naive_bayes, pairs, parameters, search, start, tan
from suite.measure import Row

CASES: dict[str, Callable[[], Iterable[Row]]] = {
    "nb": naive_bayes.run,
    "tan": tan.run,
    "pairs": pairs.run,
    "gaps": gaps.run,
    "memory": memory.run,
    "start": start.run,
    "search": search.run,
    "parameters": parameters.run,
    "margins": margins.run,
}

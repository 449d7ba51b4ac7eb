"""The cases by name: modules with ``LEARNERS``, all that is measured, and ``run``, which gives rows
of the table.

``run(smoke=True)`` only shows that a case runs: few rows, everything once.
"""

from types import ModuleType

from cases import (
    blankets,
    default,
    error_bars,
    few_rows,
    margins,
    memory,
    missing_values,
    naive_bayes,
    networks,
    numpy_alone,
    pairs,
    parameters,
    questionnaires,
    same_decision,
    search,
    start,
    tan,
    values,
)

CASES: dict[str, ModuleType] = {
    "nb": naive_bayes,
    "tan": tan,
    "default": default,
    "pairs": pairs,
    "missing": missing_values,
    "few": few_rows,
    "memory": memory,
    "values": values,
    "start": start,
    "alone": numpy_alone,
    "search": search,
    "parameters": parameters,
    "margins": margins,
    "networks": networks,
    "blankets": blankets,
    "bars": error_bars,
    "same": same_decision,
    "questions": questionnaires,
}

"""Networks to BIF files (interchange format 0.15).

BIF has names and values of alphanumeric characters and underscores only; the original texts are
stored beside them (`discbayes.io.bif_notes`). The class comes first among the variables and among
the parents. Most programs refuse a variable with one value, such as a column without a cut point:
it gets a second one, of probability zero.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from discbayes._files import replace_file
from discbayes.bayesnet import BayesNet
from discbayes.data import Variable
from discbayes.io.bif_notes import property_lines
from discbayes.io.errors import BifError

_RESERVED = {"network", "property", "type", "discrete", "default", "table"}
_SIGNS = {">=": " ge ", "<=": " le ", "<": " lt ", ">": " gt "}
_MAX_NAME = 60
IMPOSSIBLE = "impossible"


def write_bif(network: BayesNet, path: str | Path) -> None:
    """Write a network as a BIF file, which most Bayesian network programs read.

    Probabilities are written with all their digits. `read_bif` returns the same network, with names
    and intervals. BIF knows one resolution: tables repeat what the fine intervals of a coarse one
    share, so that the distribution is the same and tables are larger.

    Parameters
    ----------
    network : BayesNet
        The network, with normalized CPTs. Those of some discriminative learners are not;
        `BayesNet.normalized` normalizes them where the structure allows it.
    path : str or Path
        The name of the file.
    """
    if not network.parameters.is_normalized:
        raise BifError(
            "the CPTs of this network are not normalized (a distribution does not sum to one), and"
            " a BIF file has probabilities only: write network.normalized(), the same distribution"
            " in normalized CPTs, instead"
        )
    replace_file(path, "".join(f"{line}\n" for line in _lines(network)))


def _lines(network: BayesNet) -> Iterator[str]:
    target, features = network.domain.target, network.domain.features
    own, *names = legal_names([target.name, *(v.name for v in features)])
    states = [_state_names(v) for v in features]
    classes = _state_names(target)
    yield "network discbayes {"
    yield "}"
    yield from _variable_lines(own, classes, target, is_class=True)
    for name, values, variable in zip(names, states, features, strict=True):
        yield from _variable_lines(name, values, variable)
    yield from _table_lines(own, [], [], np.exp(network.parameters.log_prior))
    for i, group in enumerate(network.structure.parents):
        table = np.moveaxis(np.exp(network.parameters.by_value.log_table(i)), -1, 0)
        parents, given = [names[p] for p in group], [states[p] for p in group]
        if network.structure.class_children[i]:
            yield from _table_lines(names[i], [own, *parents], [classes, *given], table)
        else:
            yield from _table_lines(names[i], parents, given, table[0])


def _variable_lines(
    name: str, states: list[str], variable: Variable, is_class: bool = False
) -> Iterator[str]:
    yield f"variable {name} {{"
    yield f"  type discrete [ {len(states)} ] {{ {', '.join(states)} }};"
    for line in property_lines(variable, is_class):
        yield f"  {line}"
    yield "}"


def _table_lines(
    name: str, parents: list[str], states: list[list[str]], table: np.ndarray
) -> Iterator[str]:
    """Yield a row for each combination of values of the parents, whose axes come first."""
    table = _padded(table)
    rows = table.reshape(-1, table.shape[-1]).tolist()
    if not parents:
        yield f"probability ( {name} ) {{"
        yield f"  table {_numbers(rows[0])};"
    else:
        yield f"probability ( {name} | {', '.join(parents)} ) {{"
        for given, row in zip(product(*states), rows, strict=True):
            yield f"  ({', '.join(given)}) {_numbers(row)};"
    yield "}"


def _padded(table: np.ndarray) -> np.ndarray:
    """Return the table with the impossible second value of variables that have one value."""
    for axis, size in enumerate(table.shape[:-1]):
        if size == 1:
            table = np.repeat(table, 2, axis)
    if table.shape[-1] == 1:
        table = np.concatenate([table, np.zeros_like(table)], axis=-1)
    return table


def _numbers(row: list[float]) -> str:
    return ", ".join(map(repr, row))


# Names


def _state_names(variable: Variable) -> list[str]:
    labels = variable.labels
    if variable.cuts is not None:
        labels = [label.replace("[", "from ").replace(", ", " to ") for label in labels]
    return legal_names(labels if len(labels) > 1 else [*labels, IMPOSSIBLE])


def legal_names(texts: Iterable[str]) -> list[str]:
    """Return identifiers that resemble the texts, no two alike, not even in lower case.

    >>> legal_names(["petal width (cm)", "petal_width_cm", "< 2.5", "[-1, 3)", "größe", "table"])
    ['petal_width_cm', 'petal_width_cm_2', 'lt_2_5', 'minus1_3', 'gro_e', 'table_']
    """
    taken: dict[str, int] = {}
    return [_free(_legal(text), taken) for text in texts]


def _legal(text: str) -> str:
    # characters without their accents, as far as they have a plain form
    text = unicodedata.normalize("NFKD", text[:_MAX_NAME])
    text = "".join(char for char in text if not unicodedata.combining(char))
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    text = re.sub(r"-(?=[0-9.])", "minus", text)
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    for word in ("variable", "probability"):  # pgmpy takes these for the beginning of a block
        name = name.replace(word, word.capitalize())
    if not name[:1].isalpha():
        name = f"v_{name}" if name else "v"
    return f"{name}_" if name.lower() in _RESERVED else name


def _free(name: str, taken: dict[str, int]) -> str:
    """Return the name, or the name with the next free number."""
    found = name
    while found.lower() in taken:
        taken[name.lower()] = taken.get(name.lower(), 1) + 1
        found = f"{name}_{taken[name.lower()]}"
    taken[found.lower()] = 1
    return found

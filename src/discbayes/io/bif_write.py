"""Networks to BIF files (interchange format 0.15).

BIF has names and values of alphanumeric characters and underscores only; the original texts are
stored beside them (`discbayes.io.bif_notes`). The class comes first among the variables and among
the parents. Most programs refuse a variable with one value, such as a column without a cut point:
it gets a second one, of probability zero.

BIF knows one resolution of a column. A column of two resolutions that has children is a variable of
its fine intervals, and its only child is a variable of its coarse intervals, "size states", each of
which follows from the fine one with probability one. The children of the column are children of
that variable. The coarse intervals of a column without children are not written. A column whose
values are in groups is written in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from discbayes._files import replace_file
from discbayes.bayesnet import BayesNet
from discbayes.data import Variable
from discbayes.io.bif_notes import property_lines
from discbayes.io.errors import BifError
from discbayes.network import CPTs

_RESERVED = {"network", "property", "type", "discrete", "default", "table"}
_SIGNS = {">=": " ge ", "<=": " le ", "<": " lt ", ">": " gt "}
_MAX_NAME = 60
IMPOSSIBLE = "impossible"


def write_bif(network: BayesNet, path: str | Path) -> None:
    """Write a network as a BIF file, which most Bayesian network programs read.

    Probabilities are written with all their digits. `read_bif` returns the same network, with names
    and intervals. In other programs a column of two resolutions that has children is two variables:
    the coarse intervals follow from the fine ones.

    Parameters
    ----------
    network : BayesNet
        The network, with normalized CPTs. Those of some discriminative learners are not;
        `BayesNet.normalized` normalizes them where the structure allows it.
    path : str or Path
        The name of the file.
    """
    require_normalized(network)
    replace_file(path, "".join(f"{line}\n" for line in _lines(network)))


def require_normalized(network: BayesNet) -> None:
    """Refuse a network whose CPTs are not normalized."""
    own = network.parameters.class_table
    if not (network.parameters if own is None else _normalizable(own.features)).is_normalized:
        raise BifError(
            "the CPTs of this network are not normalized (a distribution does not sum to one), and"
            " a BIF file has probabilities only: write network.normalized(), the same distribution"
            " in normalized CPTs, instead"
        )


def _normalizable(features: CPTs) -> CPTs:
    """Return tables with a prior that sums to one, where that of the class is another table."""
    return replace(features, log_prior=np.full(features.n_classes, -np.log(features.n_classes)))


def _lines(network: BayesNet) -> Iterator[str]:
    target, nodes = network.domain.target, feature_nodes(network)
    own, *names = legal_names([target.name, *(node.variable.name for node in nodes)])
    values = [state_names(node.variable) for node in nodes]
    classes = state_names(target)
    yield "network discbayes {"
    yield "}"
    yield from _variable_lines(own, classes, property_lines(target, is_class=True))
    for name, own_values, node in zip(names, values, nodes, strict=True):
        properties = property_lines(node.variable, False, node.states_of)
        yield from _variable_lines(name, own_values, properties)
    of_class = network.parameters.class_table
    if of_class is None:
        yield from _table_lines(own, [], [], np.exp(network.parameters.log_prior))
    else:
        above = [seen_node(nodes, network, p) for p in of_class.parents]
        parents, given = [names[p] for p in above], [values[p] for p in above]
        yield from _table_lines(own, parents, given, np.exp(of_class.log_table))
    for name, node in zip(names, nodes, strict=True):
        parents, given = [names[p] for p in node.parents], [values[p] for p in node.parents]
        if node.by_class:
            yield from _table_lines(name, [own, *parents], [classes, *given], node.table)
        else:
            yield from _table_lines(name, parents, given, node.table)


@dataclass(frozen=True)
class FeatureNode:
    """A variable of a file besides the class; its table has the axes (class,) parents, variable."""

    variable: Variable
    parents: tuple[int, ...]
    by_class: bool
    table: np.ndarray
    states_of: str | None = None  # the column that has these coarse intervals or groups


def feature_nodes(network: BayesNet) -> list[FeatureNode]:
    """Return the features, and after them the coarse intervals and groups that children see."""
    of_class = network.parameters.class_table
    tables = network.parameters if of_class is None else of_class.features
    features, structure = network.domain.features, tables.structure
    parents = {p for group in structure.parents for p in group}
    parents.update(() if of_class is None else of_class.parents)
    two = [p for p in sorted(parents) if features[p].has_states]
    seen = {p: len(features) + k for k, p in enumerate(two)}
    nodes = []
    for i, (variable, group) in enumerate(zip(features, structure.parents, strict=True)):
        by_class = structure.class_children[i]
        table = np.moveaxis(np.exp(tables.log_table(i)), -1, 0)
        above = tuple(seen.get(p, p) for p in group)
        nodes.append(FeatureNode(variable, above, by_class, table if by_class else table[0]))
    taken = {network.domain.target.name, *network.domain.names}
    for p in two:
        name = f"{features[p].name} states"
        while name in taken:
            name += "_"
        taken.add(name)
        table = np.eye(features[p].n_states)[features[p].states]
        variable = replace(features[p].coarse, name=name)
        nodes.append(FeatureNode(variable, (p,), False, table, features[p].name))
    return nodes


def seen_node(nodes: list[FeatureNode], network: BayesNet, feature: int) -> int:
    """Return the node of a feature that children see: that of its coarse intervals, if any."""
    name = network.domain.features[feature].name
    coarse = [k for k, node in enumerate(nodes) if node.states_of == name]
    return coarse[0] if coarse else feature


def _variable_lines(name: str, values: list[str], properties: Iterable[str]) -> Iterator[str]:
    yield f"variable {name} {{"
    yield f"  type discrete [ {len(values)} ] {{ {', '.join(values)} }};"
    for line in properties:
        yield f"  {line}"
    yield "}"


def _table_lines(
    name: str, parents: list[str], states: list[list[str]], table: np.ndarray
) -> Iterator[str]:
    """Yield a row for each combination of values of the parents, whose axes come first."""
    table = padded(table)
    rows = table.reshape(-1, table.shape[-1]).tolist()
    if not parents:
        yield f"probability ( {name} ) {{"
        yield f"  table {_numbers(rows[0])};"
    else:
        yield f"probability ( {name} | {', '.join(parents)} ) {{"
        for given, row in zip(product(*states), rows, strict=True):
            yield f"  ({', '.join(given)}) {_numbers(row)};"
    yield "}"


def padded(table: np.ndarray) -> np.ndarray:
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


def state_names(variable: Variable) -> list[str]:
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

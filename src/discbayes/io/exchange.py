"""Networks of other libraries, and through them files in other formats.

A network is a list of nodes here: a name, labels, parents, and a table with an axis for each parent
and the own one at the end. Columns of two resolutions are two nodes, as in BIF files
(``discbayes.io.bif_write``). A class that has parents is a node as any other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._files import naming_file, replace_file
from discbayes._lazy_imports import need
from discbayes._text import listed
from discbayes.bayesnet import BayesNet
from discbayes.io.bif_parse import ProbabilityBlock, VariableBlock
from discbayes.io.bif_read import MAX_BYTES, MAX_CELLS, NetworkReader, read_bif
from discbayes.io.bif_write import (
    IMPOSSIBLE,
    feature_nodes,
    legal_names,
    padded,
    require_normalized,
    seen_node,
    state_names,
    write_bif,
)
from discbayes.io.errors import BifError, one_line

BY_PYAGRUM = (".bifxml", ".dsl", ".net", ".uai", ".xdsl")


@dataclass(frozen=True)
class NetworkNode:
    """A variable of a network with its table, whose last axis is that of its own values."""

    name: str
    labels: list[str]
    parents: list[str]
    table: np.ndarray


def nodes_of(network: BayesNet, legal: bool = False) -> list[NetworkNode]:
    """Return the nodes of a network, the class first.

    Parameters
    ----------
    network : BayesNet
        The network, with normalized tables.
    legal : bool, default=False
        Whether names and labels have alphanumeric characters and underscores only.
    """
    require_normalized(network)
    target, nodes = network.domain.target, feature_nodes(network)
    variables = [target, *(node.variable for node in nodes)]
    names = [variable.name for variable in variables]
    labels = [variable.labels for variable in variables]
    if legal:
        names, labels = legal_names(names), [state_names(variable) for variable in variables]
    labels = [own if len(own) > 1 else [*own, IMPOSSIBLE] for own in labels]
    of_class = network.parameters.class_table
    if of_class is None:
        found = [NetworkNode(names[0], labels[0], [], padded(np.exp(network.parameters.log_prior)))]
    else:
        above = [names[1 + seen_node(nodes, network, p)] for p in of_class.parents]
        found = [NetworkNode(names[0], labels[0], above, padded(np.exp(of_class.log_table)))]
    for place, node in enumerate(nodes, 1):
        given = [names[0]] * node.by_class + [names[1 + p] for p in node.parents]
        found.append(NetworkNode(names[place], labels[place], given, padded(node.table)))
    return found


def network_of(nodes: Iterable[NetworkNode], target: str, source: str) -> BayesNet:
    """Return a network of nodes; messages of errors begin with ``source``."""
    blocks, tables = [], []
    for node in nodes:
        blocks.append(VariableBlock(node.name, 1, list(node.labels)))
        cells = np.moveaxis(np.asarray(node.table, dtype=np.float64), -1, 0).ravel().tolist()
        tables.append(ProbabilityBlock(node.name, list(node.parents), 1, table=cells))
    return NetworkReader(source, blocks, tables, MAX_CELLS, has_lines=False).network(target)


# ---- pyAgrum


def to_pyagrum(network: BayesNet, legal: bool = False) -> Any:
    """Return a network as a ``pyagrum.BayesNet``; see `BayesNet.to_pyagrum`."""
    gum = need("pyagrum")
    nodes = nodes_of(network, legal)
    found = gum.BayesNet("discbayes")
    for node in nodes:
        found.add(gum.LabelizedVariable(node.name, node.name, node.labels))
    for node in nodes:
        for parent in node.parents:
            found.addArc(parent, node.name)
    for node in nodes:
        cpt = found.cpt(node.name)
        axes = [*node.parents, node.name]
        # the first of the names varies fastest
        order = [axes.index(name) for name in reversed(list(cpt.names))]
        cpt.fillWith(np.transpose(node.table, order).ravel().tolist())
    return found


def from_pyagrum(bn: Any, target: str) -> BayesNet:
    """Return a ``pyagrum.BayesNet`` as a network; see `BayesNet.from_pyagrum`."""
    nodes = []
    for name in sorted(bn.names(), key=bn.idFromName):
        cpt = bn.cpt(name)
        parents = [one for one in cpt.names if one != name]
        have = list(cpt.names)[::-1]
        table = np.transpose(np.asarray(cpt.toarray()), [have.index(n) for n in (*parents, name)])
        nodes.append(NetworkNode(name, list(bn.variable(name).labels()), parents, table))
    return network_of(nodes, target, "the pyAgrum network")


# ---- pgmpy


def to_pgmpy(network: BayesNet) -> Any:
    """Return a network as one of pgmpy; see `BayesNet.to_pgmpy`."""
    models, factors = need("pgmpy.models"), need("pgmpy.factors.discrete")
    nodes = nodes_of(network)
    labels = {node.name: node.labels for node in nodes}
    found = models.DiscreteBayesianNetwork()
    found.add_nodes_from(labels)
    found.add_edges_from([(parent, node.name) for node in nodes for parent in node.parents])
    for node in nodes:
        found.add_cpds(
            factors.TabularCPD(
                node.name,
                len(node.labels),
                np.moveaxis(node.table, -1, 0).reshape(len(node.labels), -1),
                evidence=node.parents or None,
                evidence_card=[len(labels[parent]) for parent in node.parents] or None,
                state_names={name: labels[name] for name in (node.name, *node.parents)},
            )
        )
    return found


def from_pgmpy(model: Any, target: str) -> BayesNet:
    """Return a network of pgmpy as a network; see `BayesNet.from_pgmpy`."""
    nodes, labels = [], {}
    for name in model.nodes():
        cpd = model.get_cpds(name)
        if cpd is None:
            raise ValueError(f"the pgmpy network has no table of {name!r}")
        labels[name] = [str(label) for label in cpd.state_names[name]]
    for name in model.nodes():
        cpd = model.get_cpds(name)
        _, *parents = cpd.variables
        for parent in parents:
            if [str(label) for label in cpd.state_names[parent]] != labels[parent]:
                raise ValueError(
                    f"the pgmpy network has other states of {parent!r} in the table of {name!r}"
                )
        table = np.moveaxis(np.asarray(cpd.values, dtype=np.float64), 0, -1)
        nodes.append(NetworkNode(str(name), labels[name], [str(p) for p in parents], table))
    return network_of(nodes, target, "the pgmpy network")


# ---- tables


def from_tables(tables: Mapping[str, Any], target: str) -> BayesNet:
    """Return tables as a network; see `BayesNet.from_tables`."""
    columns = {str(name): _columns_of(table) for name, table in tables.items()}
    parents = {name: _parents_in(name, found, columns) for name, found in columns.items()}
    labels = {name: _labels_in(name, found, parents[name]) for name, found in columns.items()}
    nodes = [
        NetworkNode(
            name, labels[name], parents[name], _table_of(name, found, parents[name], labels)
        )
        for name, found in columns.items()
    ]
    return network_of(nodes, target, "the tables")


def _columns_of(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a frame, or of a mapping; one number is a column of one row."""
    if isinstance(table, Mapping):
        return {str(n): [v] if np.ndim(v) == 0 else list(v) for n, v in table.items()}
    names = table.column_names if hasattr(table, "column_names") else list(table.columns)
    read = {name: table[name] for name in names}
    return {str(n): v.to_pylist() if hasattr(v, "to_pylist") else list(v) for n, v in read.items()}


def _is_list(name: str, found: dict[str, list[Any]]) -> bool:
    """Return whether a table lists the values of a variable and their probabilities."""
    return len(found) == 2 and next(iter(found)) == name


def _parents_in(name: str, found: dict[str, list[Any]], columns: Mapping[str, Any]) -> list[str]:
    """Return the columns that are named like other variables, and do not hold probabilities."""
    if _is_list(name, found):
        return []
    return [
        column
        for column, cells in found.items()
        if column in columns
        and column != name
        and not all(isinstance(cell, (float, np.floating)) for cell in cells)
    ]


def _labels_in(name: str, found: dict[str, list[Any]], parents: list[str]) -> list[str]:
    if _is_list(name, found):
        return [str(label) for label in found[name]]
    return [column for column in found if column not in parents]


def _table_of(
    name: str, found: dict[str, list[Any]], parents: list[str], labels: Mapping[str, list[str]]
) -> np.ndarray:
    """Return the table of a variable, with an axis for each parent and the own one at the end."""
    if _is_list(name, found):
        return np.array(list(found.values())[1], dtype=np.float64)
    table = np.full([len(labels[one]) for one in (*parents, name)], np.nan)
    for label in labels[name]:
        odd = [cell for cell in found[label] if not isinstance(cell, (int, float, np.number))]
        if odd:
            raise ValueError(
                f"the table of {name!r} has the column {label!r} with {odd[0]!r}, which is neither"
                f" a probability nor the value of a variable: those are {listed(list(labels))}"
            )
    rows = np.array([found[label] for label in labels[name]], dtype=np.float64).T
    for number, row in enumerate(rows):
        given = [str(found[parent][number]) for parent in parents]
        for parent, label in zip(parents, given, strict=True):
            if label not in labels[parent]:
                raise ValueError(
                    f"the table of {name!r} has the value {label!r} of {parent!r}, which has"
                    f" {listed(labels[parent])}"
                )
        at = tuple(labels[p].index(label) for p, label in zip(parents, given, strict=True))
        if not np.isnan(table[at]).all():
            raise ValueError(f"the table of {name!r} has two rows for {listed(given)}")
        table[at] = row
    if np.isnan(table).any():
        first = np.argwhere(np.isnan(table).any(axis=-1))[0]
        lacking = {p: labels[p][k] for p, k in zip(parents, first, strict=True)}
        raise ValueError(f"the table of {name!r} has no probabilities for {lacking}")
    return table


# ---- networkx


def to_networkx(network: BayesNet) -> Any:
    """Return a network as a ``networkx.DiGraph`` with tables; see `BayesNet.to_networkx`."""
    nodes = nodes_of(network)
    graph = need("networkx").DiGraph()
    for node in nodes:
        graph.add_node(node.name, labels=node.labels, parents=node.parents, table=node.table)
    graph.add_edges_from((parent, node.name) for node in nodes for parent in node.parents)
    return graph


def from_networkx(graph: Any, target: str) -> BayesNet:
    """Return a ``networkx.DiGraph`` with tables as a network; see `BayesNet.from_networkx`."""
    nodes = []
    for name, found in graph.nodes(data=True):
        lacking = [key for key in ("labels", "table") if key not in found]
        if lacking:
            raise ValueError(f"the node {name!r} of the graph has no attribute {listed(lacking)}")
        parents = list(found.get("parents", graph.predecessors(name)))
        if set(parents) != set(graph.predecessors(name)):
            raise ValueError(f"the parents of the node {name!r} are not those of its edges")
        labels = [str(label) for label in found["labels"]]
        nodes.append(NetworkNode(str(name), labels, [str(p) for p in parents], found["table"]))
    return network_of(nodes, target, "the graph")


# ---- files


def read_network(path: str | Path, target: str | None = None) -> BayesNet:
    """Read a network from a file of any Bayesian network program.

    BIF files (.bif) are read here; XDSL (GeNIe), NET (Hugin), DSL, UAI and XMLBIF (.bifxml) by
    pyAgrum, which has to be installed.

    Parameters
    ----------
    path : str or Path
        The file; its ending tells the format.
    target : str, optional
        The name of the class variable, any variable of the network. It is needed unless
        `write_bif` has written the file.

    Returns
    -------
    BayesNet
        The network.

    See Also
    --------
    read_bif : Read a BIF file within other limits.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from discbayes import BayesNetClassifier, load_dataset, read_network, write_network
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(net, pathlib.Path(folder) / "iris.bif")
    ...     read_network(pathlib.Path(folder) / "iris.bif").n_parameters == net.n_parameters
    True
    """
    ending = _ending(path)
    if ending == ".bif":
        return read_bif(path, target)
    gum = need("pyagrum")
    with naming_file(path):
        size = Path(path).stat().st_size
    if size > MAX_BYTES:
        raise BifError(f"{path} has more than {MAX_BYTES} bytes")
    try:
        bn = gum.loadBN(str(path))
    except Exception as error:  # those of pyAgrum have no base of their own in all versions
        raise BifError(f"{path} cannot be read by pyAgrum: {one_line(error)}") from error
    if target is None:
        names = listed(sorted(bn.names()), 50)
        raise BifError(
            f"{path} does not name the class variable: name it with target= one of {names}"
        )
    return from_pyagrum(bn, target)


def write_network(network: BayesNet, path: str | Path) -> None:
    """Write a network as a file of a Bayesian network program.

    Names and labels become alphanumeric characters and underscores. Only BIF files keep the
    original ones, cut points and which variable is the class.

    Parameters
    ----------
    network : BayesNet
        The network, with normalized tables (`BayesNet.normalized`).
    path : str or Path
        The file; its ending tells the format: .bif, or by pyAgrum .bifxml, .dsl, .net, .uai or
        .xdsl.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from discbayes import BayesNetClassifier, load_dataset, write_network
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(net, pathlib.Path(folder) / "iris.bif")
    """
    ending = _ending(path)
    if ending == ".bif":
        write_bif(network, path)
        return
    gum = need("pyagrum")
    bn = to_pyagrum(network, legal=True)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"network{ending}"
        gum.saveBN(bn, str(draft))
        content = draft.read_bytes()
    replace_file(path, content)


def _ending(path: str | Path) -> str:
    """Return the ending of a file of a network, and refuse others."""
    ending = Path(path).suffix.lower()
    known = (".bif", *BY_PYAGRUM)
    if ending not in known:
        raise ValueError(
            f"{path} ends in none of {listed(known, show=str)}, which tell the format of a network"
        )
    return ending

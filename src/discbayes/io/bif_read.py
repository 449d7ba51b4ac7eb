"""BIF files to networks: from `write_bif` with names, types of labels, cut points and the class.

In any other file the values are strings. The sum of a distribution may differ from 1 by 1e-4, since
some files have few digits; it is normalized if it differs by 1e-9 or more, and otherwise unchanged.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np

from discbayes._text import listed
from discbayes.bayesnet import BayesNet
from discbayes.data import Domain, Variable
from discbayes.io.bif_notes import read_notes, restore_variable, states_of
from discbayes.io.bif_parse import ProbabilityBlock, VariableBlock, parse_bif
from discbayes.io.errors import BifError, one_line, read_limited
from discbayes.network import CPTs, Layout, Structure, absorb_class
from discbayes.network.cpts import MAX_AXES, NORMALIZED_TOLERANCE

MAX_BYTES = 100_000_000
MAX_VALUES = 20_000_000  # words, numbers and signs
MAX_CELLS = 10_000_000  # of all CPTs together: 80 MB, and a few times that in between
SUM_TOLERANCE = 1e-4


def read_bif(
    path: str | Path,
    target: str | None = None,
    max_bytes: int = MAX_BYTES,
    max_values: int = MAX_VALUES,
    max_cells: int = MAX_CELLS,
) -> BayesNet:
    """Read a network from a BIF file (interchange format 0.15).

    Parameters
    ----------
    path : str or Path
        The file.
    target : str, optional
        The name of the class variable, any variable of the network. By default the class that
        `write_bif` has stored in the file.
    max_bytes : int, default=100_000_000
        The largest size of a file.
    max_values : int, default=20_000_000
        The maximum number of words, numbers and signs in a file.
    max_cells : int, default=10_000_000
        The maximum number of cells of all CPTs. The CPT of a variable that does not depend on the
        class counts once for each class.

    Returns
    -------
    BayesNet
        The network.

    Raises
    ------
    BifError
        If the file is not valid or above a limit; the message has the line.

    See Also
    --------
    load : Read a fitted classifier.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from discbayes import BayesNetClassifier, load_dataset, read_bif
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier(parameters="map").fit(iris.X, iris.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.network_.to_bif(pathlib.Path(folder) / "iris.bif")
    ...     network = read_bif(pathlib.Path(folder) / "iris.bif")
    >>> network.domain.names == clf.network_.domain.names
    True
    """
    content = read_limited(path, max_bytes)
    if content is None:
        raise BifError(f"{path} has more than {max_bytes} bytes, the limit of max_bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BifError(f"{path} is not UTF-8 text: {error}") from None
    return NetworkReader(str(path), *parse_bif(text, str(path), max_values), max_cells).network(
        target
    )


@dataclass
class NetworkReader:
    """The blocks of a file, and the steps from them to a network."""

    source: str
    blocks: list[VariableBlock]
    tables: list[ProbabilityBlock]
    max_cells: int
    has_lines: bool = True

    def network(self, target: str | None) -> BayesNet:
        """Return the network, given the name of the class variable."""
        self._check_names()
        root = self._target(target)
        names = [block.name for block in self.blocks if block.name != root]
        if not names:
            self._fail(1, "a network needs a variable besides the class")
        if len({self._variables[name].name for name in names}) < len(names):
            self._fail(1, "the properties give two variables the same name")
        structure = self._structure(root, names)
        self._check_size(structure, root, names)
        features = tuple(self._variables[name] for name in names)
        domain = Domain(features, _as_class(self._variables[root]))
        layout = Layout(structure, domain.cards, domain.n_classes)
        flat = np.empty(layout.size)
        for i, name in enumerate(names):
            layout.table(flat, i)[...] = self._class_last(name, root)
        above = [names.index(parent) for parent in self._distributions[root].parents]
        with np.errstate(divide="ignore"):
            of_class = np.log(self._cells(root))
            prior = np.zeros(domain.n_classes) if above else of_class
            tables = CPTs(layout, prior, np.log(flat, out=flat))
        if above:
            tables = absorb_class(tables, above, of_class)
        marked = [self._column_of(block) for block in self.blocks if block.name != root]
        return with_two_resolutions(BayesNet(domain, tables), marked)

    def _fail(self, line: int, message: str) -> NoReturn:
        where = f"{self.source}, line {line}" if self.has_lines else self.source
        raise BifError(f"{where}: {one_line(message)}")

    # ---- names

    @cached_property
    def _states(self) -> dict[str, dict[str, int]]:
        """The values of each variable with their codes."""
        return {
            block.name: {value: code for code, value in enumerate(block.values)}
            for block in self.blocks
        }

    @cached_property
    def _distributions(self) -> dict[str, ProbabilityBlock]:
        return {table.child: table for table in self.tables}

    @cached_property
    def _variables(self) -> dict[str, Variable]:
        return {block.name: self._variable(block) for block in self.blocks}

    @cached_property
    def _padded(self) -> set[str]:
        """Variables of one value that were written with an impossible second one."""
        pairs = [block for block in self.blocks if len(block.values) == 2]
        return {
            block.name for block in pairs if read_notes(block.properties).get("padded") == "yes"
        }

    def _check_names(self) -> None:
        """Check that each variable has one declaration and one distribution."""
        seen: set[str] = set()
        for block in self.blocks:
            if block.name in seen:
                self._fail(block.line, f"variable {block.name!r} is declared twice")
            if not block.values:
                self._fail(block.line, f"variable {block.name!r} has no type")
            seen.add(block.name)
        given: set[str] = set()
        for table in self.tables:
            for name in (table.child, *table.parents):
                if name not in seen:
                    self._fail(table.line, f"variable {name!r} is not declared")
            if table.child in given:
                self._fail(table.line, f"variable {table.child!r} has two distributions")
            if len({table.child, *table.parents}) <= len(table.parents):
                self._fail(
                    table.line, f"the distribution of {table.child!r} names a variable twice"
                )
            given.add(table.child)
        for block in self.blocks:
            if block.name not in given:
                self._fail(block.line, f"variable {block.name!r} has no distribution")

    def _target(self, wanted: str | None) -> str:
        """Return the name of the class in the file."""
        marked = [b.name for b in self.blocks if read_notes(b.properties).get("role") == "class"]
        if wanted is not None:
            names = [b.name for b in self.blocks]
            marked = [n for n in names if n == wanted] or [
                n for n in names if self._variables[n].name == wanted
            ]
        if len(marked) != 1:
            known = listed([variable.name for variable in self._variables.values()], 50)
            if wanted is None:
                problem = "the file does not name the class variable: name it with target="
            else:
                problem = f"target={wanted!r} is not a single variable:"
            self._fail(1, f"{problem} one of {known}")
        return marked[0]

    # ---- structure and tables

    def _structure(self, root: str, names: list[str]) -> Structure:
        position = {name: i for i, name in enumerate(names)}
        given = [self._distributions[name].parents for name in names]
        parents = tuple(tuple(position[p] for p in group if p != root) for group in given)
        everything = [*names, root]
        position[root] = len(names)
        whole = [[position[p] for p in self._distributions[name].parents] for name in everything]
        stuck = [everything[i] for i in _on_cycles(whole)]
        if stuck:
            line = self._distributions[stuck[0]].line
            self._fail(line, f"the parents form a cycle among {listed(stuck)}")
        return Structure(parents, tuple(root in group for group in given))

    def _check_size(self, structure: Structure, root: str, names: list[str]) -> None:
        """Raise an error for CPTs that are too large before any of them is created."""
        cards = [len(self._states[name]) for name in names]
        left = self.max_cells
        above = [names.index(parent) for parent in self._distributions[root].parents]
        # the parent that absorbs the table of the class (`absorb_class`)
        host = max(above, key=structure.order.index, default=None)
        for i, group in enumerate(structure.parents):
            line = self._distributions[names[i]].line
            if len(group) + 2 > MAX_AXES:
                most = f"a table can have at most {MAX_AXES - 2}"
                self._fail(line, f"{names[i]!r} has {len(group)} parents, and {most}")
            wider = {i, *group, *(above if i == host else ())}
            size = math.prod(cards[p] for p in wider)
            left -= size * len(self._states[root])
            if left < 0:
                limit = f"{self.max_cells} cells, the limit of max_cells"
                self._fail(line, f"the tables up to that of {names[i]!r} have more than {limit}")

    def _class_last(self, name: str, root: str) -> np.ndarray:
        """Return the table of a feature with the axes of `CPTs`: parents, feature, class."""
        cells, parents = self._cells(name), self._distributions[name].parents
        if root in parents:
            return np.moveaxis(cells, parents.index(root), -1)
        return np.repeat(cells[..., None], self._variables[root].card, axis=-1)

    def _cells(self, name: str) -> np.ndarray:
        """Return the table of a variable as in the file: axes of the parents, then its own."""
        block = self._distributions[name]
        shape = [len(self._states[member]) for member in (*block.parents, name)]
        cells = np.full(shape, np.nan)
        if block.table is not None:
            if len(block.table) != cells.size or block.rows or block.default is not None:
                self._fail(
                    block.line,
                    f"the table of {name!r} must have {cells.size} numbers, and no rows beside it",
                )
            # a table of BIF varies the values of the parents fastest
            cells[...] = np.moveaxis(np.reshape(block.table, (shape[-1], *shape[:-1])), 0, -1)
        if block.default is not None:
            cells[...] = self._row(name, block.default, block.line)
        filled = np.zeros(shape[:-1], dtype=bool)
        for states, numbers, line in block.rows:
            at = self._index(block, states, line)
            if filled[at]:
                self._fail(line, f"the row {_shown(states)} of {name!r} is there twice")
            filled[at] = True
            cells[at] = self._row(name, numbers, line)
        return self._unpadded(block, self._normalized(block, cells))

    def _unpadded(self, block: ProbabilityBlock, cells: np.ndarray) -> np.ndarray:
        for axis, member in enumerate((*block.parents, block.child)):
            if member in self._padded:
                cells = cells.take([0], axis)
        if block.child in self._padded and (cells != 1).any():
            self._fail(
                block.line,
                f"the added value of {block.child!r} is marked as impossible, and has probability",
            )
        return cells

    def _row(self, name: str, numbers: list[float], line: int) -> list[float]:
        n_values = len(self._states[name])
        if len(numbers) != n_values:
            self._fail(line, f"a row of {name!r} has {len(numbers)} numbers for {n_values} values")
        return numbers

    def _index(self, block: ProbabilityBlock, states: list[str], line: int) -> tuple[int, ...]:
        if len(states) != len(block.parents):
            self._fail(
                line, f"{_shown(states)} does not give each parent of {block.child!r} one value"
            )
        codes = []
        for parent, state in zip(block.parents, states, strict=True):
            if state not in self._states[parent]:
                self._fail(line, f"{parent!r} has no value {state[:60]!r}")
            codes.append(self._states[parent][state])
        return tuple(codes)

    def _normalized(self, block: ProbabilityBlock, cells: np.ndarray) -> np.ndarray:
        total = cells.sum(axis=-1, keepdims=True)
        off = np.abs(total - 1)
        bad = np.argwhere(~(off[..., 0] <= SUM_TOLERANCE))
        if len(bad):
            at = tuple(bad[0])
            named = zip(block.parents, at, strict=True)
            states = [list(self._states[parent])[code] for parent, code in named]
            problem = f"sums to {total[at][0]:.6g} and not to 1"
            if np.isnan(total[at][0]):
                problem = "is missing"
            line = next((line for given, _, line in block.rows if given == states), block.line)
            self._fail(line, f"the row {_shown(states)} of {block.child!r} {problem}")
        # rows that sum to one keep their bits; half the tolerance, as logarithms round them again
        return np.where(off >= NORMALIZED_TOLERANCE / 2, cells / total, cells)

    # ---- properties that `write_bif` has stored

    def _column_of(self, block: VariableBlock) -> str | None:
        """Return the column whose coarse intervals a variable has, if it is marked so."""
        try:
            return states_of(read_notes(block.properties))
        except ValueError as error:
            self._fail(block.line, f"the properties of {block.name!r} are damaged: {error}")

    def _variable(self, block: VariableBlock) -> Variable:
        notes = read_notes(block.properties)
        if not notes.keys() - {"role"}:
            return Variable(block.name, "categorical", tuple(block.values))
        try:
            variable = restore_variable(notes)
        except (ValueError, LookupError, OverflowError) as error:
            self._fail(block.line, f"the properties of {block.name!r} are damaged: {error}")
        known = len(block.values) - (block.name in self._padded)
        if variable.card != known:
            problem = f"describe {variable.card} values where there are {known}"
            self._fail(block.line, f"the properties of {block.name!r} {problem}")
        return variable


def with_two_resolutions(network: BayesNet, marked: Sequence[str | None]) -> BayesNet:
    """Return a network with variables of coarse intervals as states of the columns they belong to.

    Parameters
    ----------
    network : BayesNet
        The network as it is in a file.
    marked : sequence of str or None
        For each feature the name of the column whose coarse intervals it has.

    Returns
    -------
    BayesNet
        The network without those features. A feature stays if the file was changed so that it is no
        longer just that: a function of its column alone, which has no other child. All features
        stay if the class has parents.
    """
    if network.class_parents:
        return network
    position = {name: i for i, name in enumerate(network.domain.names)}
    n_children = np.bincount(network.parameters.layout.parent_index, minlength=len(position))
    columns = {
        i: position[column]
        for i, column in enumerate(marked)
        if column in position
        and n_children[position[column]] == 1
        and _with_states(network, i, position[column]) is not None
    }
    # a marked feature that belongs to another one stays, and so does what belongs to it
    columns = {i: column for i, column in columns.items() if column not in columns}
    if not columns:
        return network
    kept = [i for i in range(len(position)) if i not in columns]
    place = {i: k for k, i in enumerate(kept)}
    place |= {i: place[column] for i, column in columns.items()}
    features = list(network.domain.features)
    for i, column in columns.items():
        features[column] = _with_states(network, i, column) or features[column]
    structure, tables = network.structure, network.parameters
    domain = Domain(tuple(features[i] for i in kept), network.domain.target)
    parents = tuple(tuple(place[p] for p in structure.parents[i]) for i in kept)
    by_class = tuple(structure.class_children[i] for i in kept)
    cells = np.concatenate([tables.log_table(i).ravel() for i in kept])
    layout = Layout(Structure(parents, by_class), domain.cards, domain.n_classes, domain.states)
    return BayesNet(domain, CPTs(layout, tables.log_prior, cells))


def _with_states(network: BayesNet, feature: int, column: int) -> Variable | None:
    """Return a column with a feature as its coarse intervals or groups.

    None unless the feature is just that, and depends on the column alone.
    """
    structure, features = network.structure, network.domain.features
    if structure.parents[feature] != (column,) or structure.class_children[feature]:
        return None
    table = np.exp(network.parameters.log_table(feature))[..., 0]
    fine, coarse = features[column], features[feature]
    try:
        if coarse.cuts is not None:
            both = replace(fine, coarse_cuts=coarse.cuts)
        else:
            groups = table.argmax(axis=1)[: len(fine.values)].tolist()
            both = replace(fine, groups=tuple(groups))
    except ValueError:
        return None
    is_function = np.array_equal(table, np.eye(both.n_states)[both.states])
    return both if both.has_states and is_function else None


def _as_class(variable: Variable) -> Variable:
    """Return a variable as a class variable, which has labels and no intervals."""
    if variable.cuts is None and variable.values and not variable.missing_value:
        return variable
    return Variable(variable.name, "categorical", tuple(variable.labels))


def _on_cycles(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the features on a cycle or behind one: those left after removing roots repeatedly."""
    waiting = [len(group) for group in parents]
    children: dict[int, list[int]] = defaultdict(list)
    for i, group in enumerate(parents):
        for p in group:
            children[p].append(i)
    free = [i for i, n in enumerate(waiting) if not n]
    while free:
        for child in children[free.pop()]:
            waiting[child] -= 1
            if not waiting[child]:
                free.append(child)
    return [i for i, n in enumerate(waiting) if n]


def _shown(states: list[str]) -> str:
    return f"({', '.join(states)})"[:200]

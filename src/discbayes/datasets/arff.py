"""A reader for dense ARFF, the text format of OpenML: nominal, string and numeric columns, quotes,
gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NUMERIC = {"numeric", "real", "integer"}
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# What a part took it keeps (possessive), so that matching is linear in the length of a line.
_CELL = re.compile(rf"\s*+(?:({_QUOTED})\s*+|((?!['\"])[^,]*+))(?:,|$)")
_ATTRIBUTE = re.compile(rf"@attribute\s++({_QUOTED}|(?!['\"])[^\s{{]++)\s*+(.+)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class Attribute:
    """A column: its name, its kind ("numeric", "nominal", or as written), and the values of a
    nominal one.
    """

    name: str
    kind: str
    values: frozenset[str] = frozenset()


def _unquote(text: str) -> str:
    if len(text) < 2 or text[0] not in "'\"" or text[-1] != text[0]:
        return text
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text[1:-1])


def split_cells(line: str) -> list[str]:
    """The cells of a line, without their quotes.

    Examples
    --------
    >>> from discbayes.datasets.arff import split_cells
    >>> split_cells("5.1, 'a, b',?")
    ['5.1', 'a, b', '?']
    """
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    cells, position = [], 0
    while True:
        match = _CELL.match(line, position)
        if match is None:
            raise ValueError(f"a quote is not closed in {line[:80]!r}")
        cells.append(match[2].strip() if match[1] is None else _unquote(match[1]))
        if match.end() == len(line) and not match[0].endswith(","):
            return cells
        position = match.end()


def _attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise ValueError(f"not an ARFF attribute: {line[:80]!r}")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        return Attribute(name, "nominal", frozenset(split_cells(kind[1:-1])))
    word = kind.split()[0].lower()
    return Attribute(name, "numeric" if word in _NUMERIC else word)


def read_arff(text: str) -> tuple[list[Attribute], Iterator[list[str]]]:
    r"""Read the attributes, and the rows as text.

    A cell ``?``, quoted or not, is a gap. Nominal cells are checked against their attribute on the
    way.

    Parameters
    ----------
    text : str
        The whole file.

    Returns
    -------
    attributes : list of Attribute
    rows : iterator of lists of str

    Examples
    --------
    >>> from discbayes.datasets.arff import read_arff
    >>> attributes, rows = read_arff("@attribute a real\n@attribute c {x,y}\n@data\n1,x\n?,y")
    >>> [(a.name, a.kind) for a in attributes], list(rows)
    ([('a', 'numeric'), ('c', 'nominal')], [['1', 'x'], ['?', 'y']])
    """
    lines = _content(text)
    attributes: list[Attribute] = []
    for line in lines:
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@data":
            break
        if keyword == "@attribute":
            attributes.append(_attribute(line))
    else:
        raise ValueError("the ARFF file has no @data section")
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        raise ValueError("the ARFF file names an attribute twice")
    return attributes, _rows(lines, attributes)


def _content(text: str) -> Iterator[str]:
    for line in text.split("\n"):  # not splitlines(): cells may hold its rarer separators
        stripped = line.strip()
        if stripped and not stripped.startswith("%"):
            yield stripped


def _rows(lines: Iterator[str], attributes: list[Attribute]) -> Iterator[list[str]]:
    declared = [(at, item.values) for at, item in enumerate(attributes) if item.kind == "nominal"]
    for number, line in enumerate(lines, start=1):
        if line.startswith("{"):
            raise ValueError("sparse ARFF is not supported")
        cells = split_cells(line)
        if len(cells) != len(attributes):
            raise ValueError(
                f"ARFF row {number} has {len(cells)} cells for {len(attributes)} attributes"
            )
        for at, values in declared:
            if cells[at] not in values and cells[at] != "?":
                raise ValueError(
                    f"ARFF row {number} has {cells[at]!r}, not a value of {attributes[at].name!r}"
                )
        yield cells

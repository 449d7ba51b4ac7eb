"""The grammar of BIF files: text to blocks.

::

    file         = { network | variable | probability }
    network      = "network" word "{" { property } "}"
    variable     = "variable" word "{" { type | property } "}"
    type         = "type" "discrete" "[" number "]" "{" word { [","] word } "}" ";"
    probability  = "probability" "(" word [ "|" ] { [","] word } ")" "{" { entry } "}"
    entry        = table | default | row | property
    table        = "table" numbers ";"        the child varies slowest, the last parent fastest
    default      = "default" numbers ";"      for rows that are not listed
    row          = "(" word { [","] word } ")" numbers ";"
    property     = "property" anything-but-semicolon ";"

Words may be in double quotes. Comments are ``// ...`` and ``/* ... */``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import NoReturn

from discbayes._settings import float_or_nan
from discbayes.io.errors import BifError, one_line

# Every alternative begins with another character and none backtracks, so that matching is linear.
_TOKEN = re.compile(
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<sign>[{}()\[\],;|])|"(?P<quoted>[^"\n]*)"'
    r'|(?P<word>(?:[^\s{}()\[\],;|"/]|/(?![/*]))+)',
    re.DOTALL,
)


@dataclass
class VariableBlock:
    """A declaration: the values of a variable, and the text of its properties."""

    name: str
    line: int
    values: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)


@dataclass
class ProbabilityBlock:
    """The distribution of a variable given its parents."""

    child: str
    parents: list[str]
    line: int
    rows: list[tuple[list[str], list[float], int]] = field(default_factory=list)
    table: list[float] | None = None
    default: list[float] | None = None


class Scanner:
    """A reader of the text token by token: ``token`` is the current one, empty at the end."""

    def __init__(self, text: str, source: str, max_values: int):
        self._text, self._source = text, source
        self._max_values = max_values
        self._left = max_values
        self._start = 0
        self._end = 0
        self._counted, self._lines = 0, 1  # line breaks are counted up to a position
        self.token, self.is_sign = "", False
        self.advance()

    def advance(self) -> str:
        """Step to the next token and return the one before it."""
        last = self.token
        while True:
            self._start = self._end
            if self._start == len(self._text):
                self.token, self.is_sign = "", True
                return last
            match = _TOKEN.match(self._text, self._start)
            if match is None:
                self.fail("a quotation mark or comment is not closed")
            self._end = match.end()
            if match.lastgroup != "skip":
                self._count()
                self.token, self.is_sign = match[match.lastgroup or 0], match.lastgroup == "sign"
                return last

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.fail(
                f"the file has more than {self._max_values} words, numbers and signs, the limit of"
                " max_values"
            )

    def rest_until_semicolon(self) -> str:
        """Return the text up to the next semicolon, and step over it."""
        stop = self._text.find(";", self._end)
        if stop < 0:
            self.fail("a property has no semicolon at its end")
        found = self._text[self._end : stop]
        self._end = stop + 1
        self.advance()
        return found.strip()

    @property
    def line(self) -> int:
        """The line of the current token."""
        self._lines += self._text.count("\n", self._counted, self._start)
        self._counted = self._start
        return self._lines

    def fail(self, message: str) -> NoReturn:
        """Raise an error at the current token."""
        raise BifError(f"{self._source}, line {self.line}: {one_line(message)}")

    def expect(self, token: str) -> None:
        """Step over a token, which must be there."""
        if self.token != token:
            self.fail(f"{token!r} is expected here, not {self.token[:60]!r}")
        self.advance()

    def accept(self, token: str) -> bool:
        """Step over a token if it is there, and return whether it was."""
        if self.token == token and self.is_sign:
            self.advance()
            return True
        return False

    def word(self) -> str:
        """Return a name or a value, and step over it."""
        if self.is_sign:
            self.fail(f"a name is expected here, not {self.token!r}")
        return self.advance()

    def words_until(self, stop: str) -> list[str]:
        """Return words, with or without commas between them, up to a sign, and step over it."""
        found = []
        while not self.accept(stop):
            found.append(self.word())
            self.accept(",")
        return found

    def numbers(self) -> list[float]:
        """Return the probabilities up to a semicolon."""
        found = []
        while not self.accept(";"):
            found.append(self._number())
            self.accept(",")
        return found

    def _number(self) -> float:
        value = float_or_nan(self.token)
        if not (self.token.isascii() and "_" not in self.token and 0 <= value < math.inf):
            self.fail(f"a probability is expected here, not {self.token[:60]!r}")
        self.advance()
        return value


def parse_bif(
    text: str, source: str, max_values: int
) -> tuple[list[VariableBlock], list[ProbabilityBlock]]:
    """Return the variables and the distributions of a file, each in their order."""
    scanner = Scanner(text, source, max_values)
    variables: list[VariableBlock] = []
    tables: list[ProbabilityBlock] = []
    while scanner.token or not scanner.is_sign:
        keyword = scanner.token
        if keyword == "network":
            _network(scanner)
        elif keyword == "variable":
            variables.append(_variable(scanner))
        elif keyword == "probability":
            tables.append(_probability(scanner))
        else:
            scanner.fail(f"network, variable or probability is expected here, not {keyword[:60]!r}")
    return variables, tables


def _network(scanner: Scanner) -> None:
    scanner.advance()
    while scanner.token != "{":
        scanner.word()
    scanner.advance()
    while not scanner.accept("}"):
        _property(scanner)


def _property(scanner: Scanner) -> str:
    if scanner.token != "property":
        scanner.fail(f"a property or '}}' is expected here, not {scanner.token[:60]!r}")
    return scanner.rest_until_semicolon()


def _variable(scanner: Scanner) -> VariableBlock:
    line = scanner.line
    scanner.advance()
    block = VariableBlock(scanner.word(), line)
    scanner.expect("{")
    while not scanner.accept("}"):
        if scanner.token == "type":
            _type(scanner, block)
        else:
            block.properties.append(_property(scanner))
    return block


def _type(scanner: Scanner, block: VariableBlock) -> None:
    scanner.advance()
    if block.values:
        scanner.fail(f"variable {block.name!r} has two types")
    scanner.expect("discrete")
    scanner.expect("[")
    claimed = scanner.word()
    scanner.expect("]")
    scanner.expect("{")
    block.values = scanner.words_until("}")
    if not block.values:
        scanner.fail(f"variable {block.name!r} has no values")
    if claimed != str(len(block.values)):
        scanner.fail(
            f"variable {block.name!r} is declared to have {claimed[:20]} values and lists"
            f" {len(block.values)}"
        )
    if len(set(block.values)) < len(block.values):
        scanner.fail(f"variable {block.name!r} lists a value twice")
    scanner.expect(";")


def _probability(scanner: Scanner) -> ProbabilityBlock:
    line = scanner.line
    scanner.advance()
    scanner.expect("(")
    child = scanner.word()
    if not scanner.accept("|"):
        scanner.accept(",")
    block = ProbabilityBlock(child, scanner.words_until(")"), line)
    scanner.expect("{")
    while not scanner.accept("}"):
        _entry(scanner, block)
    return block


def _entry(scanner: Scanner, block: ProbabilityBlock) -> None:
    line = scanner.line
    if scanner.accept("("):
        block.rows.append((scanner.words_until(")"), scanner.numbers(), line))
    elif scanner.token in ("table", "default"):
        kind = scanner.advance()
        if getattr(block, kind) is not None:
            scanner.fail(f"{block.child!r} has a second {kind}")
        setattr(block, kind, scanner.numbers())
    else:
        _property(scanner)

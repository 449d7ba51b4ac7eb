"""The cause of each mark ▼: what on its page shows why a figure is worse than the published one."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes_papers.experiment import read_records
from discbayes_papers.figures import WORSE

OPEN = "open"
TITLE = f"Causes of the marks {WORSE}"
# Patterns of page, row and column, the first that fits counts; {table} names a table of the page.
CAUSES = read_records("causes.csv")


class Mark(NamedTuple):
    """A figure that is marked as worse than the published one."""

    table: str
    row: str
    column: str

    def __str__(self) -> str:
        return f"{self.row}: {self.column}"


def marks(blocks: Sequence[Block]) -> list[Mark]:
    """The marked figures of a page, in their order.

    >>> table = ResultTable("Accuracy", ["set", "NB"], [["iris", "90 (95) ▼"], ["zoo", "90"]])
    >>> marks([table])
    [Mark(table='Accuracy', row='iris', column='NB')]
    """
    return [
        Mark(block.title, " ".join(row[: block.left]), name)
        for block in blocks
        if isinstance(block, ResultTable)
        for row in block.rows
        for name, cell in zip(block.header[block.left :], row[block.left :], strict=True)
        if cell.endswith(WORSE)
    ]


def cause(page: str, mark: Mark) -> str:
    """What is known of a mark, ``OPEN`` if nothing is."""
    for line in CAUSES:
        wanted = (line["page"], line["table"], line["row"], line["column"])
        if all(map(fnmatchcase, (page, *mark), wanted)):
            return line["cause"]
    return OPEN


def causes_table(page: str, blocks: Sequence[Block]) -> list[Block]:
    """A table of the causes of the marks of a page, and the figures that each belongs to."""
    found: dict[str, list[str]] = {}
    for mark in marks(blocks):
        found.setdefault(cause(page, mark), []).append(str(mark))
    rows = [[why, "; ".join(dict.fromkeys(figures))] for why, figures in found.items()]
    return [ResultTable(TITLE, ["cause", "figures"], rows, left=2)] if rows else []

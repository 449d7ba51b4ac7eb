"""The blocks of a page of results, and how they are written: as text, Markdown and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from discbayes._text import text_table

Row = Sequence[str]
BAR = r"\|"  # in a cell of Markdown
CODE = "    "  # before a line of code in Markdown


@dataclass(frozen=True)
class Text:
    """Paragraphs with empty lines between them; **bold**, `code`, headings as in Markdown."""

    text: str


@dataclass(frozen=True)
class ResultTable:
    """Cells of text under headings; the first ``left`` columns are flush left.

    Cells in ``strong``, given by row and column, are bold where there is bold.
    """

    title: str
    header: Row
    rows: Sequence[Row]
    note: str = ""
    left: int = 1
    strong: Collection[tuple[int, int]] = ()


@dataclass(frozen=True)
class Picture:
    """A plot: ``draw`` takes nothing and returns a figure of matplotlib.

    ``name`` becomes part of the name of its file, ``title`` its caption and alternative text.
    """

    name: str
    title: str
    draw: Callable[[], Any]


Block = Text | ResultTable | Picture


def as_text(blocks: Sequence[Block]) -> str:
    """Return the page as text; of plots only the titles."""
    return "\n\n".join(_block_text(block) for block in blocks)


def _block_text(block: Block) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Picture):
        return f"({block.title})"
    table = text_table(block.header, block.rows, block.left)
    return "\n".join(filter(None, [block.title, table, block.note]))


def as_markdown(blocks: Sequence[Block], picture: Callable[[Picture], str]) -> str:
    """Return the page as Markdown; ``picture`` gives the address of the file of a plot."""
    return "\n\n".join(_block_markdown(block, picture) for block in blocks) + "\n"


def _block_markdown(block: Block, picture: Callable[[Picture], str]) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Picture):
        return f"![{block.title}]({picture(block)})\n\n*{block.title}*"
    rule = [":--" if place < block.left else "--:" for place in range(len(block.header))]
    rows = [_emphasized(block, at, row, "**{}**") for at, row in enumerate(block.rows)]
    head, *body = (
        f"| {' | '.join(cell.replace('|', BAR) for cell in row)} |" for row in (block.header, *rows)
    )
    table = "\n".join([head, f"|{'|'.join(rule)}|", *body])
    title = f"**{block.title}**" if block.title else ""
    return "\n\n".join(filter(None, [title, table, block.note]))


def _emphasized(block: ResultTable, at: int, row: Row, form: str) -> Row:
    """Return a row of a table with its strong cells in bold."""
    return [
        form.format(cell) if (at, place) in block.strong else cell for place, cell in enumerate(row)
    ]


def as_html(blocks: Sequence[Block], picture: Callable[[Picture], str]) -> str:
    """Return the page as a piece of HTML; ``picture`` gives the element of a plot."""
    return "\n".join(_block_html(block, picture) for block in blocks)


def _block_html(block: Block, picture: Callable[[Picture], str]) -> str:
    if isinstance(block, Text):
        return "\n".join(map(_paragraph, block.text.split("\n\n")))
    if isinstance(block, Picture):
        return (
            f"<figure>{picture(block)}<figcaption>{html.escape(block.title)}</figcaption></figure>"
        )
    head = _html_row([html.escape(cell) for cell in block.header], "th", block.left)
    rows = [
        _emphasized(block, at, [*map(html.escape, row)], "<b>{}</b>")
        for at, row in enumerate(block.rows)
    ]
    body = "\n".join(_html_row(row, "td", block.left) for row in rows)
    caption = f"<caption>{html.escape(block.title)}</caption>" if block.title else ""
    note = f"<p class=note>{_inline(block.note)}</p>" if block.note else ""
    table = f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"
    return f"{scrolling(table, block.title or 'Table')}{note}"


def scrolling(content: str, label: str) -> str:
    """Return a part that may be wider than the page: it is scrolled, also with the keyboard."""
    name = html.escape(label, quote=True)
    return f'<div class=scroll tabindex=0 role=group aria-label="{name}">{content}</div>'


def _paragraph(text: str) -> str:
    """Return a paragraph, or a heading or code if it begins as one does in Markdown."""
    if text.startswith(CODE):
        lines = [line.removeprefix(CODE) for line in text.split("\n")]
        return f"<pre tabindex=0><code>{chr(10).join(map(_code_line, lines))}</code></pre>"
    level = len(text) - len(text.lstrip("#"))
    element = f"h{level}" if 0 < level < 4 and text[level : level + 1] == " " else "p"
    return f"<{element}>{_inline(text if element == 'p' else text[level + 1 :])}</{element}>"


def _code_line(line: str) -> str:
    """Return a line of code that is broken between words only, not after the dash of an option."""
    return " ".join(f"<span>{html.escape(word)}</span>" for word in line.split(" "))


def _html_row(row: Row, cell: str, left: int) -> str:
    """Return a row of cells, which are HTML already."""
    cells = (
        f"<{cell}{' class=l' if place < left else ''}>{text}</{cell}>"
        for place, text in enumerate(row)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _inline(text: str) -> str:
    """Escape a text, with **bold** and `code` as elements."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", html.escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)

"""Fragments of HTML for the sections of a report: names, tables, numbers.

No element has a ``style`` or an ``id``: the content security policy forbids the former, and the
ids of several fragments in one report could clash.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from discbayes._text import printable, shortened

MAX_NAME = 48  # characters of a name in a table; the tooltip has all of them
MAX_LONG_NAME = 200  # where a name is what the row or the chart is about


def escaped(text: str) -> str:
    """Return text that is safe in HTML and XML, without control characters and lone surrogates."""
    return escape(printable(text))


def name_html(name: str, max_length: int = MAX_NAME) -> str:
    """Return a name or value of the user: shortened, and isolated in its direction of writing.

    >>> name_html("a < b"), name_html("abcdefghijkl", 5)
    ('<bdi>a &lt; b</bdi>', '<bdi title="abcdefghijkl">abc…l</bdi>')
    """
    short = shortened(name, max_length)
    title = "" if short == name else f' title="{escaped(name)}"'
    return f"<bdi{title}>{escaped(short)}</bdi>"


def table_html(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    kind: str = "",
    foot: int = 0,
    note: str = "",
) -> str:
    """Return a table below its title.

    Parameters
    ----------
    title, note : str
        Plain text above the table.
    header : sequence of str
        HTML of the column headings.
    rows : iterable of sequence of str
        HTML of the cells; the first cell of a row is its heading.
    left : int
        How many columns are aligned at the left; the others are numbers.
    kind : str
        Further classes of the table.
    foot : int
        How many of the last rows are set apart.
    """
    body = [_row(row, left) for row in rows]
    head = "".join(
        f'<th scope="col"{_side(column, left)}>{cell}</th>' for column, cell in enumerate(header)
    )
    last = f"<tfoot>{''.join(body[-foot:])}</tfoot>" if foot else ""
    main = "".join(body[:-foot] if foot else body)
    return framed(title, f"<thead><tr>{head}</tr></thead><tbody>{main}</tbody>{last}", kind, note)


def framed(title: str, content: str, kind: str = "", note: str = "") -> str:
    """Return a table from its content; a wide one can be scrolled, also with the keyboard."""
    words = f'<p class="note">{escaped(note)}</p>' if note else ""
    return (
        f'<h3>{escaped(title)}</h3>{words}<div class="scroll" tabindex="0" role="group"'
        f' aria-label="{escaped(title)}"><table class="{f"figures {kind}".strip()}"'
        f' aria-label="{escaped(title)}">{content}</table></div>'
    )


def _row(cells: Sequence[str], left: int) -> str:
    first, *others = cells
    rest = "".join(f"<td{_side(column, left)}>{cell}</td>" for column, cell in enumerate(others, 1))
    return f'<tr><th scope="row"{_side(0, left)}>{first}</th>{rest}</tr>'


def _side(column: int, left: int) -> str:
    return ' class="text"' if column < left else ""


def definitions_html(kind: str, entries: Iterable[tuple[str, str]]) -> str:
    """Return terms beside their definitions, which are HTML already."""
    rows = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in entries)
    return f'<dl class="{kind}">{rows}</dl>'


def charts_html(charts: Iterable[str]) -> str:
    """Return charts beside one another as far as they fit."""
    return f'<div class="charts">{"".join(charts)}</div>'


def aligned(values: Sequence[float], digits: int = 4) -> list[str]:
    """Return numbers with equally many decimals, fewer where the largest is large; NaN is a dash.

    >>> aligned([0.14421, 0.0344]), aligned([-1292.39331, float("nan")])
    (['0.1442', '0.0344'], ['−1,292.4', '–'])
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest >= 1e9:
        return [
            "–" if math.isnan(value) else f"{value:.{digits}g}".replace("-", "−")
            for value in values
        ]
    # digits in all, of which these are before the decimal point
    whole = math.floor(math.log10(largest)) if largest > 0 else 0
    return [number(value, min(max(digits - max(whole, -1) - 1, 1), 12)) for value in values]


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many decimals; NaN is a dash.

    >>> number(-0.5), number(float("nan"))
    ('−0.500', '–')
    """
    return "–" if math.isnan(value) else f"{value:,.{digits}f}".replace("-", "−")


def per_cent(fraction: float, digits: int = 1) -> str:
    """Return a fraction in per cent; NaN is a dash.

    >>> per_cent(0.9567), per_cent(float("nan"))
    ('95.7 %', '–')
    """
    return "–" if math.isnan(fraction) else f"{100 * fraction:.{digits}f} %"

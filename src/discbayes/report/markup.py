"""Pieces of HTML that the sections of a page are made of: names, tables, charts with captions.

No element has a ``style`` or an ``id``: the policy of the page forbids the one, and several
fragments on a page could clash in the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from discbayes.report.text import escaped, shortened

LETTERS = 48  # of a name in a table; the tooltip has the whole


def name_html(name: str, letters: int = LETTERS) -> str:
    """A name or value as someone else wrote it: of limited width, and on its own in the direction
    of writing.

    >>> name_html("a < b"), name_html("abcdefghijkl", 5)
    ('<bdi>a &lt; b</bdi>', '<bdi title="abcdefghijkl">abc…l</bdi>')
    """
    short = shortened(name, letters)
    whole = "" if short == name else f' title="{escaped(name)}"'
    return f"<bdi{whole}>{escaped(short)}</bdi>"


def table_html(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    kind: str = "",
    foot: int = 0,
    note: str = "",
) -> str:
    """A table under its title: title and note are text, cells are HTML; all but the first ``left``
    columns are numbers.

    The first cell of a row is its heading; the last ``foot`` rows are set apart.
    """
    body = [_row(row, left) for row in rows]
    head = "".join(
        f'<th scope="col"{_side(place, left)}>{cell}</th>' for place, cell in enumerate(header)
    )
    last = f"<tfoot>{''.join(body[-foot:])}</tfoot>" if foot else ""
    main = "".join(body[:-foot] if foot else body)
    return framed(title, f"<thead><tr>{head}</tr></thead><tbody>{main}</tbody>{last}", kind, note)


def framed(title: str, content: str, kind: str = "", note: str = "") -> str:
    """A table from its content, which can be scrolled, by keys too, where it is too wide."""
    words = f'<p class="note">{escaped(note)}</p>' if note else ""
    return (
        f'<h3>{escaped(title)}</h3>{words}<div class="scroll" tabindex="0" role="group"'
        f' aria-label="{escaped(title)}"><table class="{f"figures {kind}".strip()}"'
        f' aria-label="{escaped(title)}">{content}</table></div>'
    )


def _row(cells: Sequence[str], left: int) -> str:
    first, *others = cells
    rest = "".join(f"<td{_side(place, left)}>{cell}</td>" for place, cell in enumerate(others, 1))
    return f'<tr><th scope="row"{_side(0, left)}>{first}</th>{rest}</tr>'


def _side(place: int, left: int) -> str:
    return ' class="text"' if place < left else ""


def chart_html(title: str, svg: str, caption: str = "", legend: Sequence[str] = ()) -> str:
    """A chart under its title, with a caption that is text; ``legend`` has the name of each series,
    as HTML.
    """
    keys = "".join(
        f'<li class="series-{k}">{_key(k)}<span>{name}</span></li>'
        for k, name in enumerate(legend, 1)
    )
    shown = f'<ul class="legend">{keys}</ul>' if keys else ""
    note = f"<p>{escaped(caption)}</p>" if caption else ""
    return (
        "<figure"
        f' class="chart"><h3>{escaped(title)}</h3>{svg}<figcaption>{shown}{note}</figcaption></figure>'
    )


def _key(series: int) -> str:
    return (
        '<svg class="key" viewBox="0 0 24 8" width="24" height="8" aria-hidden="true"><path d="M0'
        f' 4H24" fill="none" stroke="currentColor" stroke-width="2.5"{dashes(series)}/></svg>'
    )


def dashes(series: int) -> str:
    """Series differ by their dashes too, for eyes and printers that do not tell colours apart.

    >>> dashes(1), dashes(2)
    ('', ' stroke-dasharray="7 3"')
    """
    pattern = _DASHES[(series - 1) % len(_DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


_DASHES = ("", "7 3", "2 3", "8 3 2 3", "4 2", "10 2 2 2 2 2", "1 2", "12 4")


def charts_html(charts: Iterable[str]) -> str:
    """Charts beside one another as far as there is room."""
    return f'<div class="charts">{"".join(charts)}</div>'


def aligned(values: Sequence[float], digits: int = 4) -> list[str]:
    """Numbers with as many digits after the point as the largest one lets them have; a dash for
    NaN.

    >>> aligned([0.14421, 0.0344]), aligned([-1292.39331, float("nan")])
    (['0.1442', '0.0344'], ['−1,292.4', '–'])
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest >= 1e9:
        return [
            "–" if value != value else f"{value:.{digits}g}".replace("-", "−") for value in values
        ]
    whole = math.floor(math.log10(largest)) if largest > 0 else 0
    return [number(value, min(max(digits - max(whole, -1) - 1, 1), 12)) for value in values]


def number(value: float, digits: int = 3) -> str:
    """A number with so many digits after the point; a dash where there is none.

    >>> number(-0.5), number(float("nan"))
    ('−0.500', '–')
    """
    return "–" if value != value else f"{value:,.{digits}f}".replace("-", "−")


def per_cent(share: float, digits: int = 1) -> str:
    """A share in per cent.

    >>> per_cent(0.9567), per_cent(float("nan"))
    ('95.7 %', '–')
    """
    return "–" if share != share else f"{100 * share:.{digits}f} %"

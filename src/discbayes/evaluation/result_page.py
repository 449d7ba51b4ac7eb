"""A page of results as one HTML file: no scripts, no other files, light and dark."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from io import StringIO

from discbayes._lazy_imports import need
from discbayes.evaluation.result_blocks import Block, Picture, as_html, scrolling

INK = "#123456"  # plots are drawn in this color, which then becomes that of the text
STYLE = """
:root { color-scheme: light dark;
  --ink: #1c1e21; --dim: #5c6370; --line: #d5d9e0; --page: #ffffff; --best: #2f5c99; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6ea; --dim: #9aa2ae; --line: #3a4049; --page: #16181c; --best: #8fb8f0; }
}
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 66rem;
  background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2 { font-size: 1.2rem; }
.scroll { overflow-x: auto; margin-top: 1.5rem; background:
    linear-gradient(to right, var(--page) 30%, transparent) left / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--page) 30%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to left, color-mix(in srgb, var(--ink) 22%, transparent), transparent)
      right / 0.9rem 100% no-repeat scroll; }
:focus-visible { outline: 2px solid var(--best); outline-offset: 2px; }
pre { padding: 0.6rem 0.8rem; border: 1px solid var(--line); border-radius: 6px;
  white-space: pre-wrap; overflow-x: auto; font-size: 0.9rem; }
pre span { display: inline-block; max-width: 100%; white-space: normal; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem;
  max-width: calc(100vw - 2rem); }
th, td { padding: 0.25rem 0.7rem; text-align: right; vertical-align: top;
  white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 600; border-bottom-width: 2px; vertical-align: bottom; }
.l { text-align: left; }
td.l { white-space: normal; }
td.l + td.l:last-child { min-width: 13rem; }
td b { color: var(--best); }
tr > :first-child { position: sticky; left: 0; background: var(--page); padding-left: 0; }
.note, figcaption, footer { color: var(--dim); font-size: 0.85rem; }
figure { margin: 2rem 0 0; }
figure svg { display: block; width: 100%; height: auto; min-width: 28rem; }
figcaption { margin-top: 0.4rem; }
@media (max-width: 40rem) {
  table { font-size: 0.8125rem; }
  th, td { padding-inline: 0.35rem; }
  tr > :first-child { white-space: normal; min-width: 4.5rem; }
  td.l + td.l:last-child { min-width: 9rem; }
}
@media print {
  .scroll { overflow: visible; background: none; }
  h1, h2, caption { break-after: avoid; }
  figure, tr { break-inside: avoid; }
}
""".strip()


def page(title: str, blocks: Sequence[Block], foot: str = "") -> str:
    """Return a whole page; without matplotlib a note stands in the place of each plot."""
    return (
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
        '<meta name=viewport content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        f"<main>\n{as_html(blocks, drawn)}\n</main>\n"
        f"<footer><p>{html.escape(foot)}</p></footer>\n</body>\n</html>\n"
    )


def drawn(picture: Picture) -> str:
    """Return a plot as an element of the page."""
    try:
        need("matplotlib")
    except ModuleNotFoundError as error:
        return f"<p class=note>No picture: {html.escape(str(error))}</p>"
    return scrolling(svg(picture), picture.title)


def svg(picture: Picture) -> str:
    """Return a plot as SVG, without a background, in the color of the text around it."""
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings = {
        **dict.fromkeys(inked, INK),
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
        "svg.fonttype": "none",
        "svg.hashsalt": picture.name,
        "font.family": "sans-serif",
    }
    with need("matplotlib").rc_context(settings):
        figure, text = picture.draw(), StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        need("matplotlib.pyplot").close(figure)
    found = text.getvalue()
    # without the XML declaration, which has no place inside HTML
    found = found[found.index("<svg") :].replace(INK, "currentColor")
    found = re.sub(r"<metadata>.*?</metadata>", "", found, flags=re.DOTALL)
    size = re.search(r'width="([^"]+)"', found)
    natural = f' style="max-width: {size[1]}"' if size else ""
    label = html.escape(picture.title, quote=True)
    return f'<svg role="img" aria-label="{label}"{natural}{found[len("<svg") :]}'

"""Formulas as MathML, which browsers draw without any script; docutils knows how to make it from TeX."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

_LOG = logging.getLogger(__name__)
# The name of a function, before what it is of and is not in brackets: there a thin space belongs between them.
_NAME = re.compile(r"\\(log|exp|min|max)(?=\s*(?:[A-Za-z]|\\(?:theta|beta|omega|lambda|sum|frac|pi)))")


def _markup(node: Any, block: bool) -> str:
    """The MathML of a formula; what cannot be read is a warning, and shown as it is."""
    text = node.astext()
    try:
        return tex2mathml(_NAME.sub(r"\\\1\\,", text), as_block=block)
    except MathError as error:
        _LOG.warning("no MathML for %r: %s", text, error, location=node)
        return f"<code>{escape(text)}</code>"


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(_markup(node, block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: Any) -> None:
    label = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    name = f' id="equation-{node["label"]}"' if node.get("label") else ""
    writer.body.append(f'<div class="math-block"{name}>{label}{_markup(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

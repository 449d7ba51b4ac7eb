"""Formulas as MathML, which browsers draw without any script; docutils knows how to make it from
TeX.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

_LOG = logging.getLogger(__name__)
# A thin space belongs between a factor and the name of a function, and behind the name, unless
# there are brackets.
_FACTOR = re.compile(r"(?<=[A-Za-z0-9})])\s*\\(log|exp|min|max)(?![A-Za-z])")
_NAME = re.compile(
    r"\\(log|exp|min|max)(?=\s*(?:[A-Za-z]|\\(?:theta|beta|omega|lambda|sum|frac|pi)))"
)

# Bars open and close something here; what stands between two things is \mid. Their size, and that
# of braces, is that of the line: a bar that grew with what is inside would not find its partner,
# which has the exponent.
_SIGNS = (
    (
        re.compile(r'<mo class="mathopen">([|‖])</mo>'),
        r'<mo form="prefix" stretchy="false">\1</mo>',
    ),
    (re.compile(r"<mo>([|‖])</mo>"), r'<mo form="postfix" stretchy="false">\1</mo>'),
    (re.compile(r"<mo>([{}])</mo>"), r'<mo stretchy="false">\1</mo>'),
)


def _markup(node: Any, block: bool) -> str:
    """The MathML of a formula; what cannot be read is a warning, and shown as it is."""
    text = node.astext()
    try:
        markup = tex2mathml(_NAME.sub(r"\\\1\\,", _FACTOR.sub(r"\\,\\\1", text)), as_block=block)
    except MathError as error:
        _LOG.warning("no MathML for %r: %s", text, error, location=node)
        return f"<code>{escape(text)}</code>"
    for pattern, sign in _SIGNS:
        markup = pattern.sub(sign, markup)
    return markup


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

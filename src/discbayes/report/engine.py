"""The script by which a page answers questions: exact inference in plain JavaScript, put together
from its parts.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_PARTS = ("tables.js", "elimination.js", "probabilities.js", "engine.js")


@cache
def engine_script() -> str:
    """A script with one global, ``DiscBayes``; in node it is what the module exports.

    ``new DiscBayes.Model(payload)`` takes what ``report.payload`` makes. Its ``posterior``,
    ``contributions`` and ``information`` take the codes of a row, −1 for what is unknown.
    """
    folder = files("discbayes.report").joinpath("assets")
    parts = "\n".join(folder.joinpath(name).read_text("utf-8") for name in _PARTS)
    return (
        f'"use strict";\n\nconst DiscBayes = (() => {{\n{parts}\nreturn {{ Model }};\n}})();\n\n'
        'if (typeof module !== "undefined") module.exports = DiscBayes;\n'
    )

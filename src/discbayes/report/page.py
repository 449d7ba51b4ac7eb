"""The page of a classifier: one HTML file that asks nothing of anyone, with the network in it to
look at and to ask.

Its policy allows the one script and the one style that stand in it, by their hashes, and nothing
else: no request, no other script, no style in an attribute. Text of the user goes in through
``escaped`` here and as text in the script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from discbayes._files import replace_file
from discbayes._version import __version__
from discbayes.bayesnet import BayesNet
from discbayes.classifier import BayesNetClassifier
from discbayes.data import Domain
from discbayes.explanations.edge_strength import edge_strengths
from discbayes.inference import FactorTooLargeError
from discbayes.report.column_table import columns_html
from discbayes.report.drawing import Strengths, network_caption, network_svg
from discbayes.report.engine import engine_script
from discbayes.report.evaluation import evaluation_html
from discbayes.report.markup import name_html
from discbayes.report.payload import payload
from discbayes.report.summary import summary_html
from discbayes.report.text import escaped, shortened
from discbayes.report.training_history import history_html

_SCRIPTS = ("elements.js", "network.js", "page.js")  # in one function, after the engine
_STYLES = ("page.css", "sections.css")
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cg"
    " fill='%232f5c99'%3E%3Cpath stroke='%232f5c99' stroke-width='1.5' d='M8 3 3 13M8 3l5"
    " 10'/%3E%3Ccircle cx='8' cy='3' r='3'/%3E%3Ccircle cx='3' cy='13' r='3'/%3E%3Ccircle cx='13'"
    " cy='13' r='3'/%3E%3C/g%3E%3C/svg%3E"
)
_TITLE_LETTERS = 80
_LARGE = 60  # features: from here on the page is laid out part by part


@dataclass(frozen=True, repr=False)
class Report:
    """A page about a classifier: ``html`` is all of it.

    In a notebook it shows itself, in a frame that can reach nothing outside.
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to a file, in one step."""
        replace_file(path, lambda file: file.write(self.html.encode("utf-8")))

    def _repr_html_(self) -> str:
        return (
            '<iframe sandbox="allow-scripts" width="100%" height="720" frameborder="0" '
            f'title="Bayesian network classifier" srcdoc="{escaped(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return (
            f"<Report: {len(self.html.encode('utf-8')) / 1024:.0f} KB of HTML; save(path)"
            " writes it>"
        )


def make_report(classifier: BayesNetClassifier, X: Any = None, y: Any = None) -> Report:
    """The page of a fitted classifier; with rows and their labels also how well it does on them.

    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> make_report(BayesNetClassifier("nb", "map").fit(iris.X, iris.y)).html[:15]
    '<!doctype html>'
    """
    check_is_fitted(classifier)
    if (X is None) != (y is None):
        given, lacking = ("y", "X") if X is None else ("X", "y")
        raise ValueError(
            f"report was given {given} without {lacking}: it needs rows and their labels, or"
            " neither"
        )
    evaluation = "" if X is None else evaluation_html(classifier, X, y)
    sections = {
        "ask": ("Ask", _ask(classifier.network_)),
        "network": ("Network", _network(classifier.network_)),
        "evaluation": ("Evaluation", evaluation),
        "columns": ("Columns", columns_html(classifier)),
        "history": ("History", history_html(classifier)),
    }
    shown = {key: part for key, part in sections.items() if part[1]}
    links = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, (title, _) in shown.items())
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2'
        f' id="{key}-title">{title}</h2>{content}</section>\n'
        for key, (title, content) in shown.items()
    )
    head = f'{summary_html(classifier)}<nav aria-label="Sections"><ul>{links}</ul></nav>'
    return Report(_document(classifier.network_.domain, head, body, payload(classifier)))


def _document(domain: Domain, head: str, body: str, model: dict[str, Any]) -> str:
    style, script = _style(), _script()
    title = escaped(f"{shortened(domain.target.name, _TITLE_LETTERS)}: Bayesian network classifier")
    size = ' class="large"' if len(domain.features) >= _LARGE else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta'
        f' http-equiv="Content-Security-Policy" content="{_policy(script, style)}">\n<meta'
        ' name="viewport" content="width=device-width, initial-scale=1">\n<meta name="generator"'
        f' content="discbayes {escaped(__version__)}">\n<title>{title}</title>\n<link rel="icon"'
        f' href="{_ICON}">\n<style>{style}</style>\n</head>\n<body>\n<header>{head}</header>\n<main{size}>\n{body}</main>\n<footer>Made'
        f" with discbayes {escaped(__version__)}. This page holds all that it needs and sends"
        ' nothing anywhere.</footer>\n<script type="application/json"'
        f' id="model">{_json(model)}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src"
        " data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return (
        f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
    )


def _json(model: dict[str, Any]) -> str:
    """JSON that cannot end the element around it."""
    text = json.dumps(model, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _asset(name: str) -> str:
    return files("discbayes.report").joinpath("assets", name).read_text("utf-8")


def _style() -> str:
    return "\n".join(_asset(name) for name in _STYLES)


def _script() -> str:
    page = "\n".join(_asset(name) for name in _SCRIPTS)
    return f"{engine_script()}\n(() => {{\n{page}}})();\n"


# ---- the sections that live


def _ask(network: BayesNet) -> str:
    plain = all(not variable.cuts for variable in network.domain.features)
    return _ASK.format(
        plain=" plain" if plain else "", target=name_html(network.domain.target.name)
    )


_ASK = """
<p class="lead">Set what is known and leave the rest unknown. The answers follow at once and are exact: what is unknown
is summed out, as the library does.</p>
<noscript><p class="trouble">A script in this page computes the answers, and scripts are turned off.</p></noscript>
<p class="trouble" id="trouble" role="alert" hidden></p>
<p class="paper" id="known"></p>
<div class="asking">
<div class="card known-card">
<div class="bar"><h3>What is known</h3><span class="count" id="count"></span>
<button type="button" class="quiet" id="reset">Reset</button></div>
<div id="search" class="search"><input type="search" id="find" placeholder="Find a feature" aria-label="Find a feature"
autocomplete="off"><p class="note" id="found" role="status"></p></div>
<ul class="features{plain}" id="features"></ul>
</div>
<div class="answers">
<div class="card belief"><h3>{target}</h3><ul class="bars" id="posterior"></ul>
<button type="button" class="quiet" id="all-classes" hidden></button>
<p class="sr" id="said" role="status" aria-live="polite"></p></div>
<div class="card next"><h3>What to ask next</h3><p class="note" id="uncertainty"></p>
<ol class="questions" id="questions"></ol></div>
<div class="card"><div class="bar"><h3>Why</h3><label class="towards">for
<select id="towards" autocomplete="off"></select></label></div>
<p class="note" id="odds"></p><ol class="reasons" id="reasons"></ol>
<button type="button" class="quiet" id="all-reasons" hidden></button></div>
</div>
</div>
"""


def _network(network: BayesNet) -> str:
    strengths = _strengths(network)
    width = (
        "" if strengths is None else " The wider an edge, the more its ends say about each other."
    )
    return (
        f'<p class="lead">{escaped(network_caption(network))}{width} <span class="screen">Choose a'
        ' node to see its table; the arrow keys move between nodes.</span></p><div class="drawing"'
        f' id="drawing">{network_svg(network, strengths, "The network")}</div><div class="card'
        ' sheet" id="sheet" role="region" aria-labelledby="sheet-title" hidden></div>'
    )


def _strengths(network: BayesNet) -> Strengths | None:
    try:
        return edge_strengths(network)
    except FactorTooLargeError:
        return None

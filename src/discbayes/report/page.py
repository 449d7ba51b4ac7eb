"""The HTML report of a classifier: one self-contained file, with the network to look at and to ask.

The content security policy allows the one script and the one style in the file, by their hashes,
and nothing else: no request, no other script, no ``style`` attribute. Text of the user is escaped
here, and is set as text nodes by the script.

The markup is in ``string.Template`` files and small functions. A template engine would be a
dependency for two templates; every value that is substituted is HTML that was escaped where it was
made.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from sklearn.utils.validation import check_is_fitted

from discbayes._files import replace_file
from discbayes._text import shortened
from discbayes._version import __version__
from discbayes.bayesnet import BayesNet
from discbayes.calibration import LogPool
from discbayes.charts.network_picture import exact_strengths
from discbayes.classifier import BayesNetClassifier
from discbayes.data import Domain
from discbayes.report.column_effects import effects_html
from discbayes.report.column_table import columns_html
from discbayes.report.drawing import network_caption, network_svg
from discbayes.report.error_bar_tables import error_bars_html
from discbayes.report.evaluation import evaluation_html
from discbayes.report.heading import Heading
from discbayes.report.markup import escaped, name_html
from discbayes.report.model_card import card_html
from discbayes.report.payload import payload
from discbayes.report.summary import summary_html
from discbayes.report.training_history import history_html

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cg"
    " fill='%232f5c99'%3E%3Cpath stroke='%232f5c99' stroke-width='1.5' d='M8 3 3 13M8 3l5"
    " 10'/%3E%3Ccircle cx='8' cy='3' r='3'/%3E%3Ccircle cx='3' cy='13' r='3'/%3E%3Ccircle cx='13'"
    " cy='13' r='3'/%3E%3C/g%3E%3C/svg%3E"
)
_MAX_TITLE = 80  # characters
_MIN_LARGE = 60  # features: from here on the browser lays out the report section by section


@dataclass(frozen=True, repr=False)
class Report:
    """The HTML report of a classifier.

    In a notebook it is displayed in a frame that has no access to anything outside.

    Parameters
    ----------
    html : str
        The whole file.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier("nb", "map").fit(iris.X, iris.y).report()
    <Report: ... KB of HTML; save(path) writes it>
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the report to a file, in one step.

        Parameters
        ----------
        path : str or Path
            Where to write it; an existing file is replaced.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> report = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).report()
        >>> report.save("report.html")  # doctest: +SKIP
        """
        replace_file(path, self.html)

    def _repr_html_(self) -> str:
        return (
            '<iframe sandbox="allow-scripts" width="100%" height="720" frameborder="0" '
            f'title="Bayesian network classifier" srcdoc="{escaped(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        size = len(self.html.encode("utf-8")) / 1024
        return f"<Report: {size:.0f} KB of HTML; save(path) writes it>"


def make_report(
    classifier: BayesNetClassifier,
    X: Any = None,
    y: Any = None,
    rows_are: str = "",
    heading: Heading | None = None,
    by: Any = None,
    error_bars: Any = None,
) -> Report:
    """Return the HTML report of a fitted classifier.

    Parameters
    ----------
    classifier : BayesNetClassifier
        A fitted classifier.
    X, y : optional
        Rows and their labels, to evaluate the classifier on.
    rows_are : str, default=""
        "test rows" if it is known that the classifier was not learned from these rows.
    heading : Heading, optional
        The title, the source of the data and a model card.
    by : str or sequence, optional
        A column of ``X``, or a value for each row: the model card has the metrics of each group.
    error_bars : ErrorBars, optional
        Error bars of the classifier, for a section of their own.

    Returns
    -------
    Report
        The report, with a section on the evaluation if there are rows.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> make_report(BayesNetClassifier("nb", "map").fit(iris.X, iris.y)).html[:15]
    '<!doctype html>'
    """
    check_is_fitted(classifier)
    check_rows(X, y)
    if error_bars is not None and error_bars.classifier is not classifier:
        raise ValueError(
            "error_bars are those of another classifier: use clf.bootstrap of this one"
        )
    heading = heading or Heading()
    sections = {
        "card": ("Model card", card_html(classifier, heading, X, y, by, rows_are)),
        "ask": ("Ask", _ask(classifier.network_)),
        "network": ("Network", _network(classifier)),
        "evaluation": (
            "Evaluation",
            "" if X is None else evaluation_html(classifier, X, y, rows_are),
        ),
        "error-bars": (
            "Error bars",
            "" if error_bars is None else error_bars_html(error_bars, X),
        ),
        "effects": ("Effects", effects_html(classifier)),
        "columns": ("Columns", columns_html(classifier)),
        "history": ("History", history_html(classifier)),
    }
    sections = {key: part for key, part in sections.items() if part[1]}
    script = asset("engine.js") + "\n" + asset("page.js")
    summary = summary_html(classifier, heading)
    title = title_of(classifier.network_.domain, heading)
    return Report(document(title, summary, sections, payload(classifier), script))


def title_of(domain: Domain, heading: Heading) -> str:
    """Return the title of the report of a model."""
    if heading.title:
        return shortened(heading.title, _MAX_TITLE)
    return f"{shortened(domain.target.name, _MAX_TITLE)}: Bayesian network classifier"


def check_rows(X: Any, y: Any) -> None:
    """Refuse rows without labels, and labels without rows."""
    if (X is None) != (y is None):
        given, lacking = ("y", "X") if X is None else ("X", "y")
        raise ValueError(
            f"report was given {given} without {lacking}: it needs rows and their labels, or"
            " neither"
        )


def document(
    title: str,
    summary: str,
    sections: dict[str, tuple[str, str]],
    model: dict[str, Any],
    script: str,
) -> str:
    """Return the whole file of a report.

    Parameters
    ----------
    title : str
        The title in the browser.
    summary : str
        HTML of the head.
    sections : dict
        The title and the HTML of each section.
    model : dict
        What the script needs to know.
    script : str
        The script; none if it is empty.
    """
    style = asset("page.css") + "\n" + asset("sections.css")
    is_large = len(model.get("names", ())) >= _MIN_LARGE
    links = content = ""
    for key, (name, html) in sections.items():
        links += f'<li><a href="#{key}">{name}</a></li>'
        heading = f'<h2 id="{key}-title">{name}</h2>'
        content += f'<section id="{key}" aria-labelledby="{key}-title">{heading}{html}</section>\n'
    return Template(asset("report.html")).substitute(
        policy=_policy(script, style),
        version=escaped(__version__),
        title=escaped(title),
        icon=_ICON,
        style=style,
        summary=summary,
        links=links,
        size=' class="large"' if is_large else "",
        sections=content,
        model=_json(model),
        script=script,
    )


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src"
        " data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _json(model: dict[str, Any]) -> str:
    """Return JSON that cannot end the element around it."""
    text = json.dumps(model, separators=(",", ":"), allow_nan=False)
    # as escapes of JSON, so that no value can close the script element
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def asset(name: str) -> str:
    """Return a file of the folder ``assets``; the scripts there are built from ``js/``.

    ``engine.js`` has one global, ``DiscBayes``, which node exports. The class ``DiscBayes.Network``
    takes what ``report.payload`` makes; its methods ``posterior``, ``contributions`` and
    ``information`` take the codes of a row, −1 for unknown values, and evidence that is not one
    value.
    """
    return files("discbayes.report").joinpath("assets", name).read_text("utf-8")


# ---- the sections with a script


def _ask(network: BayesNet) -> str:
    has_numbers = any(variable.cuts for variable in network.domain.features)
    return Template(asset("ask.html")).substitute(
        plain="" if has_numbers else " plain", target=name_html(network.domain.target.name)
    )


def _network(classifier: BayesNetClassifier) -> str:
    network = classifier.network_
    strengths = None if network.class_parents else exact_strengths(network)
    width = ""
    if strengths is not None:
        width = " The wider an edge, the more information its ends share."
    if isinstance(classifier.calibration_, LogPool):
        width += (
            " Its discriminative parameters tell the classes apart; the generative ones describe"
            " the data."
        )
    return (
        f'<p class="lead">{escaped(network_caption(network))}{width} <span class="screen">Choose a'
        ' node to see its table; the arrow keys move between nodes.</span></p><div class="drawing"'
        f' id="drawing">{network_svg(network, strengths, "The network")}</div><div class="card'
        ' sheet" id="sheet" role="region" aria-labelledby="sheet-title" hidden></div>'
    )

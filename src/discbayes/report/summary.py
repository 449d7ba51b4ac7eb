"""The head of the report: what is predicted from what, and how it was learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from discbayes._text import count_of, shortened
from discbayes._version import __version__
from discbayes.calibration import AUTO, LogPool, Temperature
from discbayes.charts.traces import LEFT_OUT, figure
from discbayes.classifier import BayesNetClassifier
from discbayes.classifier.learner_words import (
    PARAMETER_WORDS,
    STRUCTURE_WORDS,
    learner_in_words,
)
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.data import Domain
from discbayes.report.heading import Heading
from discbayes.report.markup import definitions_html, escaped, name_html

_MAX_CLASSES, _MAX_UNUSED = 6, 3
_MAX_NAME = 24  # characters


def summary_html(classifier: BayesNetClassifier, heading: Heading | None = None) -> str:
    """Return the title, one sentence and a few facts."""
    domain = classifier.network_.domain
    return head_html("Bayesian network classifier", domain, facts_of(classifier), heading)


def facts_of(classifier: BayesNetClassifier) -> dict[str, str]:
    """Return what a classifier was learned from, and how, in words."""
    network = classifier.network_
    structure = _how(classifier.structure, STRUCTURE_WORDS | _auto_structure(classifier))
    parameters = _how(classifier.parameters, PARAMETER_WORDS | {AUTO: PARAMETER_WORDS["levels"]})
    n_edges = count_of(network.own_structure.n_edges, "edge")
    return {
        **rows_fact(classifier),
        "Features": features_text(network.domain),
        "Structure": f"{structure}, {n_edges}{_left_out(classifier)}",
        "Parameters": f"{parameters}, {count_of(network.n_parameters, 'free parameter')}",
        "Calibration": _calibration(classifier.calibration_),
    }


def rows_fact(model: PosteriorClassifier) -> dict[str, str]:
    """Return the number of training rows, if the model knows it."""
    n_rows = getattr(model, "n_samples_seen_", None)
    return {} if n_rows is None else {"Training rows": f"{n_rows:,}"}


def head_html(
    kicker: str, domain: Domain, facts: Mapping[str, str], heading: Heading | None = None
) -> str:
    """Return the title, one sentence and some facts in plain text."""
    given = heading or Heading()
    title = given.title or domain.target.name
    source = {"Data": given.source} if given.source else {}
    shown = {**source, **facts, "Library": f"discbayes {__version__}"}
    listed = definitions_html("facts", ((name, escaped(text)) for name, text in shown.items()))
    target = f" ({name_html(domain.target.name)})" if given.title else ""
    return (
        f'<p class="kicker">{kicker}</p><h1><bdi title="{escaped(title)}">{escaped(title)}</bdi>'
        f'</h1><p class="lead">{_classes(domain)}{target} by'
        f" {count_of(len(domain.features), 'feature')}, any of which may be unknown.</p>{listed}"
    )


def _classes(domain: Domain) -> str:
    labels = domain.target.labels
    shown = [name_html(label) for label in labels[:_MAX_CLASSES]]
    if len(labels) > _MAX_CLASSES:
        shown.append(f"{len(labels) - _MAX_CLASSES} more")
    if len(labels) == 1:
        return f"Describes {shown[0]}, the only class,"
    return f"Tells {', '.join(shown[:-1])} and {shown[-1]} apart"


def features_text(domain: Domain) -> str:
    """Return how many features of each kind there are, and which are not used."""
    kinds = Counter(variable.kind for variable in domain.features)
    known = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    if not domain.unused:
        return known
    listed = ", ".join(shortened(name, _MAX_NAME) for name in domain.unused[:_MAX_UNUSED])
    more = ", …" if len(domain.unused) > _MAX_UNUSED else ""
    return f"{known}; {len(domain.unused)} not used: {listed}{more}"


def _auto_structure(classifier: BayesNetClassifier) -> dict[str, str]:
    """Return the words for a structure that is left to the library, which depends on parameters."""
    if classifier.parameters != AUTO:
        return {AUTO: STRUCTURE_WORDS["tan"]}
    most = max((len(group) for group in classifier.structure_.parents), default=0)
    parents = f"at most {count_of(most, 'parent')} a feature" if most else "none"
    return {AUTO: f"KDB with as many parents as held-out rows support, {parents}"}


def _how(given: Any, words: Mapping[str, str]) -> str:
    """Return a name in words, the text of a learner, or that a structure was given."""
    if isinstance(given, str):
        return words.get(given, given)
    if hasattr(given, "learn"):
        return learner_in_words(given)
    return "given by the user"


def _left_out(classifier: BayesNetClassifier) -> str:
    """Return how many edges were left out because of the size of tables or of memory, if any."""
    numbers = [figure(step.get(LEFT_OUT)) for step in getattr(classifier, "history_", [])]
    total = round(sum(number for number in numbers if number > 0))
    return f"; {count_of(total, 'edge')} left out (see History)" if total else ""


def _calibration(calibration: Any) -> str:
    if calibration is None:
        return "none"
    if isinstance(calibration, Temperature):
        return f"temperature {calibration.temperature:.3g}"
    if isinstance(calibration, LogPool):
        usual = " and how usual they are" if calibration.reads_missing.any() else ""
        return (
            "log-linear pool of the discriminative and the generative parameters, by the share of"
            f" missing values{usual}"
        )
    return "isotonic regression"

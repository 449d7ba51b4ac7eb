"""The summary of a classifier: what was learned, in about twenty lines of text or as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._text import count_of, printable, shortened, some_of, text_table
from discbayes.charts.network_picture import exact_strengths
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.data import Domain
from discbayes.explanations.value_of_information import Information
from discbayes.explanations.wording import values_in_words
from discbayes.network import CLASS
from discbayes.report.column_effects import column_information
from discbayes.report.ensemble_page import ensemble_facts
from discbayes.report.markup import definitions_html, escaped, per_cent, table_html
from discbayes.report.summary import facts_of

_MAX_COLUMNS, _MAX_CLASSES = 8, 6
_MAX_EDGES = 3
_MAX_NAME, _MAX_VALUE = 32, 44  # characters
_NOTE = "Importance is the mutual information of a column alone with the class, as a share."


@dataclass(frozen=True, repr=False)
class ModelSummary:
    """A summary of a fitted classifier, in about twenty lines.

    It shows itself as text, and as HTML in a notebook; ``str(summary)`` is the text.

    Parameters
    ----------
    title : str
        What is predicted, from what.
    facts : dict of str to str
        What the model was learned from, and how.
    columns : list of tuple of str
        The most important columns: name, importance, and what one of their values tells.
    more : list of str
        Further sentences: the other columns, the strongest edges.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> summary = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).summary()
    >>> summary.facts["Training rows"]
    '150'
    """

    title: str
    facts: dict[str, str]
    columns: list[tuple[str, str, str]]
    more: list[str]

    @property
    def text(self) -> str:
        """The summary as text."""
        width = max(map(len, self.facts))
        facts = [f"{name.lower():{width}}  {text}" for name, text in self.facts.items()]
        table = ["", text_table(*self._table(), left=1)] if self.columns else []
        return printable("\n".join([self.title, *facts, *table, *self.more]))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows; an ensemble has no examples, as members differ."""
        n_cells = 3 if any(example for _, _, example in self.columns) else 2
        header = ["column", "importance", "for example"]
        return header[:n_cells], [list(row[:n_cells]) for row in self.columns]

    def _repr_html_(self) -> str:
        facts = definitions_html("facts", ((k, escaped(v)) for k, v in self.facts.items()))
        header, cells = self._table()
        rows = [[escaped(cell) for cell in row] for row in cells]
        table = table_html("Columns", header, rows, note=_NOTE)
        more = "".join(f"<p>{escaped(sentence)}</p>" for sentence in self.more)
        return f"<p><b>{escaped(self.title)}</b></p>{facts}{table if rows else ''}{more}"

    def __repr__(self) -> str:
        return self.text


def summarize(model: PosteriorClassifier) -> ModelSummary:
    """Return the summary of a fitted classifier or ensemble.

    Parameters
    ----------
    model : BayesNetClassifier or BayesNetEnsemble
        The fitted model.

    Returns
    -------
    ModelSummary
        The summary.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> summarize(BayesNetClassifier("nb", "map").fit(iris.X, iris.y)).columns[0][:2]
    ('petal width (cm)', '36 %')
    """
    domain = model.domain_
    names = domain.names
    examples: dict[str, str] = {}
    more: list[str] = []
    if isinstance(model, BayesNetEnsemble):
        facts, shares = ensemble_facts(model), model.feature_importances_
        names = domain.columns
        prior = model.class_shares_
    else:
        assert isinstance(model, BayesNetClassifier)
        information = column_information(model)
        facts, more = facts_of(model), _strongest_edges(model)
        shares, prior = np.zeros(len(domain.names)), model.network_.prior
        if information is not None:  # else the network is too dense
            shares, prior = information.importances(domain.names), information.posterior
            examples = {name: _example(information, k) for k, name in enumerate(information.names)}
    ranked = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
    columns = [
        (shortened(name, _MAX_NAME), per_cent(shares[i], 0), examples.get(name, ""))
        for i, name in ((i, names[i]) for i in ranked[:_MAX_COLUMNS])
    ]
    others = ranked[_MAX_COLUMNS:]
    if others:
        rest = per_cent(float(shares[others].sum()), 0)
        more.insert(0, f"{count_of(len(others), 'other column')} together: {rest}")
    return ModelSummary(_title(domain, prior), facts, columns, more)


def _title(domain: Domain, prior: np.ndarray) -> str:
    """Return what is predicted, with the shares of the classes, from how many columns."""
    pairs = zip(domain.target.labels, prior.tolist(), strict=True)
    classes = [f"{shortened(label, _MAX_NAME)} ({per_cent(share, 0)})" for label, share in pairs]
    n_columns = count_of(len(domain.features), "column")
    return f"{domain.target.name}: {some_of(classes, _MAX_CLASSES)}, from {n_columns}"


def _example(information: Information, place: int) -> str:
    """Return the value of a column that tells most about the class, and the class it speaks for."""
    variable, joint = information.variables[place], information.joints[place]
    if variable.has_states:
        states = np.zeros((variable.n_states, joint.shape[1]))
        np.add.at(states, variable.states, joint)
        variable, joint = variable.coarse, states
    shares = joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.nan_to_num(joint * np.log(shares / information.posterior), nan=0.0)
    value, chosen = np.unravel_index(int(gain.argmax()), gain.shape)
    words = values_in_words(variable)[value].removeprefix(variable.name).strip()
    label = information.labels[chosen]
    return f"{shortened(words, _MAX_VALUE)}: {label} {per_cent(shares[value, chosen], 0)}"


def _strongest_edges(classifier: BayesNetClassifier) -> list[str]:
    """Return a sentence on the edges whose ends share most information."""
    strengths: dict[Any, float] = exact_strengths(classifier.network_) or {}
    edges = sorted((edge for edge in strengths if edge[0] != CLASS), key=lambda e: -strengths[e])
    names = [shortened(name, _MAX_NAME) for name in classifier.network_.domain.names]
    shown = ", ".join(f"{names[parent]} → {names[child]}" for parent, child in edges[:_MAX_EDGES])
    return [f"strongest edges: {shown}"] if edges else []

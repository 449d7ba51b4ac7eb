"""The HTML report of an ensemble: the consensus network, its edges, the members, an evaluation."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from discbayes._text import count_of
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.report.drawing import consensus_svg
from discbayes.report.evaluation import evaluation_html
from discbayes.report.heading import Heading
from discbayes.report.markup import escaped, name_html, per_cent, table_html
from discbayes.report.model_card import card_html
from discbayes.report.page import Report, check_rows, document, title_of
from discbayes.report.summary import features_text, head_html, rows_fact

SHARE = 0.5  # of the members that have an edge of the consensus network
MAX_EDGES = 100  # in the table


def make_ensemble_report(
    ensemble: BayesNetEnsemble,
    X: Any = None,
    y: Any = None,
    rows_are: str = "",
    heading: Heading | None = None,
    by: Any = None,
) -> Report:
    """Return the HTML report of a fitted ensemble.

    Parameters
    ----------
    ensemble : BayesNetEnsemble
        A fitted ensemble.
    X, y : optional
        Rows and their labels, to evaluate the ensemble on.
    rows_are : str, default=""
        "test rows" if it is known that the ensemble was not learned from these rows.
    heading : Heading, optional
        The title, the source of the data and a model card.
    by : str or sequence, optional
        A column of ``X``, or a value for each row: the model card has the metrics of each group.

    Returns
    -------
    Report
        The report, with a section on the evaluation if there are rows.

    Examples
    --------
    >>> from discbayes import BayesNetEnsemble, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
    >>> make_ensemble_report(clf).html[:15]
    '<!doctype html>'
    """
    check_is_fitted(ensemble)
    check_rows(X, y)
    heading = heading or Heading()
    sections = {
        "card": ("Model card", card_html(ensemble, heading, X, y, by, rows_are)),
        "network": ("Consensus network", _consensus(ensemble)),
        "members": ("Members", _members(ensemble)),
    }
    if X is not None:
        sections["evaluation"] = ("Evaluation", evaluation_html(ensemble, X, y, rows_are))
    sections = {key: part for key, part in sections.items() if part[1]}
    head = _summary(ensemble, heading)
    return Report(document(title_of(ensemble.domain_, heading), head, sections, {}, ""))


def ensemble_facts(ensemble: BayesNetEnsemble) -> dict[str, str]:
    """Return what an ensemble was learned from, and what it consists of, in words."""
    n_edges = sorted({member.structure_.n_edges for member in ensemble.members_})
    edges = f"{n_edges[0]} to {n_edges[-1]} edges" if n_edges[1:] else count_of(n_edges[0], "edge")
    return {
        **rows_fact(ensemble),
        "Features": features_text(ensemble.domain_),
        "Members": f"{count_of(len(ensemble.members_), 'network')} of {edges}",
        "Pool": f"mean of the log posteriors, log odds scaled by {ensemble.scale_:.3g}",
    }


def _summary(ensemble: BayesNetEnsemble, heading: Heading) -> str:
    facts = ensemble_facts(ensemble)
    return head_html("Ensemble of Bayesian networks", ensemble.domain_, facts, heading)


def _consensus(ensemble: BayesNetEnsemble) -> str:
    structure, domain = ensemble.consensus(SHARE), ensemble.domain_
    edges = ensemble.edge_frequencies("pyarrow").to_pylist()
    names = {name: position for position, name in enumerate(domain.names)}
    shares = {(names[edge["parent"]], names[edge["child"]]): edge["either"] for edge in edges}
    shares |= {(child, parent): share for (parent, child), share in shares.items()}
    lead = (
        f"{count_of(structure.n_edges, 'edge')} between features that at least half of the members"
        " have, in either direction. The wider an edge, the more members have it. The class is a"
        " parent of every feature."
    )
    rows = [
        [
            name_html(edge["parent"]),
            name_html(edge["child"]),
            per_cent(edge["share"], 0),
            per_cent(edge["either"], 0),
        ]
        for edge in edges[:MAX_EDGES]
    ]
    left = len(edges) - len(rows)
    table = table_html(
        "Edges by the share of the members that have them",
        ["from", "to", "in this direction", "in either direction"],
        rows,
        left=2,
        note=f"{count_of(left, 'edge')} of fewer members not shown." if left > 0 else "",
    )
    picture = consensus_svg(structure, domain, shares, "The consensus network")
    frame = '<div class="drawing" tabindex="0" role="group" aria-label="The consensus network">'
    return f'<p class="lead">{escaped(lead)}</p>{frame}{picture}</div>{table}'


def _members(ensemble: BayesNetEnsemble) -> str:
    return table_html(
        "The networks of the ensemble",
        ["member", "coarse intervals", "edges", "most parents", "free parameters"],
        [[str(number), *_member(member)] for number, member in enumerate(ensemble.members_)],
        note="members_[0].report() is the report of the first one.",
    )


def _member(member: BayesNetClassifier) -> list[str]:
    n_states = [
        variable.coarse.card for variable in member.network_.domain.features if variable.cuts
    ]
    structure = member.structure_
    return [
        f"up to {max(n_states)}" if n_states else "–",
        str(structure.n_edges),
        str(structure.max_parents),
        f"{member.network_.n_parameters:,}",
    ]

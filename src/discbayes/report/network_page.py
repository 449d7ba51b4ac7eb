"""The page of a network by itself: its picture in the shell of a report, without a script."""

from __future__ import annotations

from discbayes.bayesnet import BayesNet
from discbayes.charts.network_picture import exact_strengths
from discbayes.report.drawing import network_caption, still_svg
from discbayes.report.heading import Heading
from discbayes.report.markup import escaped
from discbayes.report.page import Report, document, title_of
from discbayes.report.summary import features_text, head_html


def make_network_page(network: BayesNet, heading: Heading | None = None) -> Report:
    """Make a page with the picture of a network.

    Parameters
    ----------
    network : BayesNet
        The network.
    heading : Heading, optional
        The title, and the source of the network.

    Returns
    -------
    Report
        The page.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("tan", "map").fit(iris.X, iris.y).network_
    >>> "<title>Irises</title>" in make_network_page(net, Heading("Irises")).html
    True
    """
    network.require_root("the page of a network")
    heading = heading or Heading()
    strengths = exact_strengths(network)
    width = "" if strengths is None else " The wider an edge, the more information its ends share."
    picture = (
        f'<p class="lead">{escaped(network_caption(network))}{width}</p><div class="drawing"'
        f' tabindex="0" role="group" aria-label="The network">'
        f"{still_svg(network, strengths, network_caption(network))}</div>"
    )
    facts = {"Features": features_text(network.domain)}
    head = head_html("Bayesian network", network.domain, facts, heading)
    sections = {"network": ("Network", picture)}
    return Report(document(title_of(network.domain, heading), head, sections, {}, ""))

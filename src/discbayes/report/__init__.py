"""Pages for people: the network as a picture in a notebook, and the page of a classifier."""

from discbayes.report.drawing import network_html, structure_html
from discbayes.report.page import Report, make_report

__all__ = ["Report", "make_report", "network_html", "structure_html"]

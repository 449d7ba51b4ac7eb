"""The HTML report of a classifier, and pictures of networks for notebooks."""

from discbayes.report.drawing import network_html, structure_html
from discbayes.report.ensemble_page import make_ensemble_report
from discbayes.report.evaluation_page import make_evaluation_page
from discbayes.report.model_summary import ModelSummary, summarize
from discbayes.report.network_page import make_network_page
from discbayes.report.page import Report, make_report

__all__ = [
    "ModelSummary",
    "Report",
    "make_ensemble_report",
    "make_evaluation_page",
    "make_network_page",
    "make_report",
    "network_html",
    "structure_html",
    "summarize",
]

"""The papers' tables and figures: one small file for each, with data, recipes, protocol, published
figures, tolerance.

``discbayes reproduce NAME`` runs what is not stored yet and writes a page with our figures beside
the published ones.
"""

from discbayes_papers.experiment import Experiment
from discbayes_papers.registry import ABSENT, EXPERIMENTS, find, reproduce, write_index

__all__ = ["ABSENT", "EXPERIMENTS", "Experiment", "find", "reproduce", "write_index"]

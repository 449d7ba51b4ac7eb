"""Contingency tables that add up, and the information in them."""

from discbayes.counts.information import class_information, entropy
from discbayes.counts.pairs import PairCounts, PairInformation, count_pairs, pair_information, visit_pairs
from discbayes.counts.tables import Counts, FamilyCounts, count, count_extensions, count_families, count_family
from discbayes.counts.tallies import Tallies

__all__ = [
    "Counts",
    "FamilyCounts",
    "PairCounts",
    "PairInformation",
    "Tallies",
    "class_information",
    "count",
    "count_extensions",
    "count_families",
    "count_family",
    "count_pairs",
    "entropy",
    "pair_information",
    "visit_pairs",
]

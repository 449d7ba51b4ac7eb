"""Contingency tables that add up, and the information in them."""

from discbayes.counts.information import class_information, entropy
from discbayes.counts.pairs import PairCounts, PairInformation, count_pairs, pair_information, visit_pairs
from discbayes.counts.tables import (
    Counts,
    FamilyCounts,
    Wanted,
    count,
    count_extensions,
    count_families,
    count_family,
    count_wanted,
)
from discbayes.counts.tallies import Tallies

__all__ = [
    "Counts",
    "FamilyCounts",
    "PairCounts",
    "PairInformation",
    "Tallies",
    "Wanted",
    "class_information",
    "count",
    "count_extensions",
    "count_families",
    "count_family",
    "count_pairs",
    "count_wanted",
    "entropy",
    "pair_information",
    "visit_pairs",
]

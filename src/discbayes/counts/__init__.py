"""Contingency tables, which add up over parts of the data, and mutual information from them."""

from discbayes.counts.contingency import (
    Counts,
    FamilyCounts,
    Wanted,
    count,
    count_extensions,
    count_families,
    count_family,
    count_wanted,
)
from discbayes.counts.entropy import class_information, entropy
from discbayes.counts.pairs import (
    PairCounts,
    PairInformation,
    count_pairs,
    pair_information,
    pair_weights,
    pairs_fit_in_memory,
    visit_pair_information,
    visit_pairs,
)
from discbayes.counts.sufficient_statistics import SufficientStatistics

__all__ = [
    "Counts",
    "FamilyCounts",
    "PairCounts",
    "PairInformation",
    "SufficientStatistics",
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
    "pair_weights",
    "pairs_fit_in_memory",
    "visit_pair_information",
    "visit_pairs",
]

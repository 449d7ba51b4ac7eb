"""Exact answers from tables: log-joint, posterior, queries, completions and samples."""

from discbayes.inference.completion import draw, feature_posterior, most_probable, most_probable_each, sample
from discbayes.inference.joint import (
    MAX_FACTOR_SIZE,
    Effort,
    FactorTooLargeError,
    log_joint,
    log_joint_and_error,
    log_marginal,
    log_partition,
    posterior,
    posterior_error,
)
from discbayes.inference.patterns import blank_rows, group_by_gaps
from discbayes.inference.query import joint_posterior
from discbayes.inference.values import gap_posteriors

__all__ = [
    "MAX_FACTOR_SIZE",
    "Effort",
    "FactorTooLargeError",
    "blank_rows",
    "draw",
    "feature_posterior",
    "gap_posteriors",
    "group_by_gaps",
    "joint_posterior",
    "log_joint",
    "log_joint_and_error",
    "log_marginal",
    "log_partition",
    "most_probable",
    "most_probable_each",
    "posterior",
    "posterior_error",
    "sample",
]

"""Exact answers from tables: log-joint, posterior, queries, completions and samples."""

from discbayes.inference.completion import (
    draw,
    feature_posterior,
    most_probable,
    most_probable_each,
    sample,
)
from discbayes.inference.log_joints import (
    MAX_FACTOR_SIZE,
    FactorTooLargeError,
    InferenceOptions,
    log_joint,
    log_joint_and_error,
    log_marginal,
    log_partition,
    posterior,
    posterior_error,
)
from discbayes.inference.missing_distributions import missing_posteriors
from discbayes.inference.missing_patterns import blank_rows, group_by_missing
from discbayes.inference.query import joint_posterior

__all__ = [
    "MAX_FACTOR_SIZE",
    "FactorTooLargeError",
    "InferenceOptions",
    "blank_rows",
    "draw",
    "feature_posterior",
    "group_by_missing",
    "joint_posterior",
    "log_joint",
    "log_joint_and_error",
    "log_marginal",
    "log_partition",
    "missing_posteriors",
    "most_probable",
    "most_probable_each",
    "posterior",
    "posterior_error",
    "sample",
]

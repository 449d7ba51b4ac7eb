"""Exact inference: log-joint, posterior, queries, completions and samples of a network."""

from discbayes.inference.completion import (
    draw,
    feature_posterior,
    most_probable,
    most_probable_each,
    sample,
)
from discbayes.inference.conditional_posteriors import family_posteriors, missing_posteriors
from discbayes.inference.marginalization import (
    MAX_FACTOR_SIZE,
    FactorTooLargeError,
    InferenceOptions,
    log_joint,
    log_marginal,
    log_partition,
    posterior,
    posterior_error,
)
from discbayes.inference.plans import (
    blank_rows,
    elimination_cells,
    elimination_plan,
    group_by_missing,
)
from discbayes.inference.query import joint_posterior
from discbayes.inference.sampling import EstimateWarning

__all__ = [
    "MAX_FACTOR_SIZE",
    "EstimateWarning",
    "FactorTooLargeError",
    "InferenceOptions",
    "blank_rows",
    "draw",
    "elimination_cells",
    "elimination_plan",
    "family_posteriors",
    "feature_posterior",
    "group_by_missing",
    "joint_posterior",
    "log_joint",
    "log_marginal",
    "log_partition",
    "missing_posteriors",
    "most_probable",
    "most_probable_each",
    "posterior",
    "posterior_error",
    "sample",
]

"""Exact inference: log-joint, posterior, queries, completions and samples of a network."""

from discbayes.inference.completion import (
    draw,
    feature_posterior,
    most_probable,
    most_probable_each,
    sample,
)
from discbayes.inference.conditional_posteriors import family_posteriors, missing_posteriors
from discbayes.inference.exact import elimination_cells, largest_component
from discbayes.inference.marginalization import (
    ESTIMATE,
    MAX_CELLS,
    RAISE,
    InferenceOptions,
    TooManyCellsError,
    log_joint,
    log_marginal,
    log_partition,
    posterior,
    posterior_error,
)
from discbayes.inference.old_limits import (
    WithOldLimits,
    beyond_of_draws,
    cells_of_factor,
    renamed_limits,
)
from discbayes.inference.plans import blank_rows, group_by_missing
from discbayes.inference.query import ImpossibleEvidenceError, joint_posterior
from discbayes.inference.sampling import EstimateWarning, one_warning

__all__ = [
    "ESTIMATE",
    "MAX_CELLS",
    "RAISE",
    "EstimateWarning",
    "ImpossibleEvidenceError",
    "InferenceOptions",
    "TooManyCellsError",
    "WithOldLimits",
    "beyond_of_draws",
    "blank_rows",
    "cells_of_factor",
    "draw",
    "elimination_cells",
    "family_posteriors",
    "feature_posterior",
    "group_by_missing",
    "joint_posterior",
    "largest_component",
    "log_joint",
    "log_marginal",
    "log_partition",
    "missing_posteriors",
    "most_probable",
    "most_probable_each",
    "one_warning",
    "posterior",
    "posterior_error",
    "renamed_limits",
    "sample",
]

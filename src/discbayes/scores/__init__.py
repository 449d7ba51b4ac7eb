"""Scores of structures, which a search maximizes."""

from discbayes.scores.edge import (
    EDGE_SCORES,
    ApproximateLikelihood,
    ConditionalInformation,
    DescriptionLength,
    EdgeScore,
    ExplainingAway,
    FactorizedLikelihood,
    Interaction,
    LeaveOneOutLikelihood,
    LogLikelihood,
    edge_score_of,
)

__all__ = [
    "EDGE_SCORES",
    "ApproximateLikelihood",
    "ConditionalInformation",
    "DescriptionLength",
    "EdgeScore",
    "ExplainingAway",
    "FactorizedLikelihood",
    "Interaction",
    "LeaveOneOutLikelihood",
    "LogLikelihood",
    "edge_score_of",
]

"""Scores of structures: what a search makes as large as it can."""

from discbayes.scores.edge import (
    EDGE_SCORES,
    ApproximateLikelihood,
    ConditionalInformation,
    DescriptionLength,
    EdgeScore,
    ExplainingAway,
    FactorizedLikelihood,
    Interaction,
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
    "LogLikelihood",
    "edge_score_of",
]

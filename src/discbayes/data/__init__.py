"""Tables, domains and codes: discretizers, and the encoder of frames and arrays."""

from discbayes.data.discretize import (
    EqualFrequencyDiscretizer,
    MDLPDiscretizer,
    TwoResolutionDiscretizer,
)
from discbayes.data.domain import Domain, Encoded, Variable, code_dtype
from discbayes.data.evidence import Between, Evidence, Likelihood, Not, OneOf
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.data.targets import DataWarning

__all__ = [
    "Between",
    "DataWarning",
    "Domain",
    "Encoded",
    "EqualFrequencyDiscretizer",
    "Evidence",
    "FrameEncoder",
    "Likelihood",
    "MDLPDiscretizer",
    "Not",
    "OneOf",
    "TwoResolutionDiscretizer",
    "Variable",
    "code_dtype",
]

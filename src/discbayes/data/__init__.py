"""Tables, domains and codes: discretizers, and the encoder of frames and arrays."""

from discbayes.data.discretize import (
    EqualFrequencyDiscretizer,
    MDLPDiscretizer,
    TwoResolutionDiscretizer,
)
from discbayes.data.domain import Domain, Encoded, Variable, code_dtype
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.data.targets import DataWarning

__all__ = [
    "DataWarning",
    "Domain",
    "Encoded",
    "EqualFrequencyDiscretizer",
    "FrameEncoder",
    "MDLPDiscretizer",
    "TwoResolutionDiscretizer",
    "Variable",
    "code_dtype",
]

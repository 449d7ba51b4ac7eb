"""Tables, domains and codes: discretizers, and the encoder of frames and arrays."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discbayes.data.discretize import (
        EqualFrequencyDiscretizer,
        MDLPDiscretizer,
        TwoResolutionDiscretizer,
    )
    from discbayes.data.domain import Domain, Encoded, Ordered, Variable, code_dtype
    from discbayes.data.evidence import Between, Evidence, Likelihood, Not, OneOf
    from discbayes.data.frame_encoder import FrameEncoder
    from discbayes.data.targets import DataWarning
else:
    from discbayes._lazy_imports import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "discretize": [
                "EqualFrequencyDiscretizer",
                "MDLPDiscretizer",
                "TwoResolutionDiscretizer",
            ],
            "domain": ["Domain", "Encoded", "Ordered", "Variable", "code_dtype"],
            "evidence": ["Between", "Evidence", "Likelihood", "Not", "OneOf"],
            "frame_encoder": ["FrameEncoder"],
            "targets": ["DataWarning"],
        },
    )

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
    "Ordered",
    "TwoResolutionDiscretizer",
    "Variable",
    "code_dtype",
]

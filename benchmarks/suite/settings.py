"""What was measured, in full: every setting of an estimator or a learner, names of learners and
"auto" resolved.
"""

from __future__ import annotations

from typing import Any

from discbayes import BayesNetClassifier
from discbayes.calibration import AUTO
from discbayes.classifier import FitPlan
from suite.measure import N_JOBS

# Settings that came after results were stored. With their default the same is measured as before
# they came, so they are left out then, and stored lines stay as they were measured. An entry goes
# when the results of its class are measured again.
LATER = {
    "BayesNetClassifier": {"columns": "strict", "dates": "expand", "unlabeled": "error"},
    "ExtendedCCBN": {"objective": "cl"},
    "DiscriminativeCCBN": {"objective": "cl"},
    "WeightedCCBN": {"objective": "cl"},
    "GreedyEdges": {"ties": "child", "strict": False, "tiers": ()},
    "OrderBased": {"exactly_k": False, "first_edge": None, "tiers": ()},
    "Annealing": {"all_features": False, "tiers": ()},
    "SpanningTree": {"tiers": ()},
    "Branching": {"tiers": ()},
    "KDB": {"tiers": ()},
    "HillClimb": {"tiers": ()},
    "SuperParent": {"tiers": ()},
    "MaximumAPosteriori": {"monotone": None},
    "TwoResolutionDiscretizer": {"n_groups": 8},  # no column of those results gets groups
}


def settings_of(measured: Any, n_jobs: int | None = N_JOBS) -> str:
    """One line with all settings; lines are equal only if the same was measured.

    ``measured`` is an estimator, which knows its threads, or a learner, a function or several of
    these that run one after the other with ``n_jobs`` threads.
    """
    if isinstance(measured, BayesNetClassifier):
        return _text(measured)
    parts = measured if isinstance(measured, tuple) else (measured,)
    return f"{' + '.join(map(_text, parts))}, {n_jobs=}"


def _text(value: Any) -> str:
    if isinstance(value, BayesNetClassifier):
        plan = FitPlan.of(value)
        calibrates = plan.calibration is not None and value.calibrate is not None
        resolved = {
            "structure": plan.structure,
            "parameters": plan.parameters,
            "discretizer": plan.encoder.discretizer,
            "missing": AUTO if plan.chooses_missing else plan.encoder.missing,
            "calibrate": plan.calibration.method if calibrates else None,
        }
        if plan.chooses:  # else the line of a learner without a choice would be the same
            resolved["chosen_by_held_out_rows"] = True
        return _call(value, value.get_params(deep=False) | resolved)
    if hasattr(value, "get_params"):
        return _call(value, value.get_params(deep=False))
    return getattr(value, "__name__", None) or repr(value)


def _call(value: Any, settings: dict[str, Any]) -> str:
    kind = type(value).__name__
    as_before = LATER.get(kind, {})
    shown = {
        name: each
        for name, each in sorted(settings.items())
        if name not in as_before or each != as_before[name]
    }
    return f"{kind}({', '.join(f'{name}={_text(each)}' for name, each in shown.items())})"

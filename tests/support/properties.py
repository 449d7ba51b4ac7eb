"""How many examples a property is tried on, and how many it has been: few in every run, many by
``make properties``.

The usual run draws the same examples every time. ``DISCBAYES_EXAMPLES=100`` tries a hundred times
as many, new ones at each run; what fails is kept by hypothesis and tried first the next time.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import wraps

from hypothesis import HealthCheck, Phase, given, settings

TIMES = int(os.environ.get("DISCBAYES_EXAMPLES", "1"))
tried: Counter[str] = Counter()


def for_all(n_examples, **strategies):
    """The property must hold for so many examples, times ``DISCBAYES_EXAMPLES``."""

    def decorate(test):
        @wraps(test)
        def counted(*args, **drawn):
            test(*args, **drawn)
            tried[test.__name__] += 1

        usual = {"derandomize": True, "database": None} if TIMES == 1 else {}
        limits = settings(
            max_examples=n_examples * TIMES,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[phase for phase in Phase if phase != Phase.explain],
            **usual,
        )
        return limits(given(**strategies)(counted))

    return decorate

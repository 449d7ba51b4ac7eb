"""Deprecated paths of what is in ``discbayes.evaluation`` now; each access warns."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from discbayes._deprecation import warn_renamed

_MOVED = {
    "baselines": "baselines",
    "bias": "bias_variance",
    "comparison": "comparison",
    "metrics": "metrics",
    "statistics": "statistics",
}


class _MovedModule(ModuleType):
    """A module that takes its names from the one that replaces it."""

    def __getattr__(self, name: str) -> Any:
        place = _MOVED[self.__name__.rpartition(".")[2]]
        target = import_module(f"discbayes.evaluation.{place}")
        if name.startswith("__") or not hasattr(target, name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        warn_renamed(f"{self.__name__}.{name}", f"{target.__name__}.{name}")
        return getattr(target, name)


for _old in _MOVED:
    sys.modules[f"{__name__}.{_old}"] = _MovedModule(f"{__name__}.{_old}")

"""Settings that a family of learners shares, without repeating them in each constructor."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator


class SharedSettings(BaseEstimator):
    """A learner whose subclasses name their own settings and pass on the others as ``**shared``."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the constructor a signature with all settings, which scikit-learn reads."""
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            own = _named_parameters(cls)
            shared = _named_parameters(cls.__mro__[1])
            more = [p.replace(kind=p.KEYWORD_ONLY) for name, p in shared.items() if name not in own]
            cls.__init__.__signature__ = inspect.Signature([*own.values(), *more])  # type: ignore[attr-defined]


def _named_parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor, without ``*args`` and ``**kwargs``."""
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    return {
        name: p for name, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }

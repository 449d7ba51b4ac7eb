"""Settings that a family of learners shares, without writing them into the constructor of each."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator


class SharedSettings(BaseEstimator):
    """A learner whose subclasses name their own settings and pass on the others by ``**shared``."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the constructor the whole list of settings, for scikit-learn and for readers of its
        signature.
        """
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            own, shared = _named(cls), _named(cls.__mro__[1])
            more = [p.replace(kind=p.KEYWORD_ONLY) for name, p in shared.items() if name not in own]
            cls.__init__.__signature__ = inspect.Signature([*own.values(), *more])  # type: ignore[attr-defined]


def _named(cls: type) -> dict[str, inspect.Parameter]:
    """The parameters of a constructor that have a name of their own."""
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    return {
        name: p for name, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }

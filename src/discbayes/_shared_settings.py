"""Settings that a family of learners shares, without repeating them in each constructor.

The docstring of a subclass has an entry ``**shared``, which is replaced by the entries of the base
class, so that ``help`` and the API reference list all settings.
"""

from __future__ import annotations

import inspect
import re
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
            cls.__doc__ = _with_shared(cls.__doc__, cls.__mro__[1].__doc__, [p.name for p in more])


def _named_parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor, without ``*args`` and ``**kwargs``."""
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    return {
        name: p for name, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def _with_shared(doc: str | None, base_doc: str | None, names: list[str]) -> str | None:
    """Return a docstring with the entry ``**shared`` replaced by those of the base class."""
    if doc is None or base_doc is None:  # without docstrings: python -OO
        return doc
    entries = _parameter_entries(base_doc)
    listed = "".join(entries[name] for name in names if name in entries)
    entry = _parameter_entries(doc).get("**shared")
    if entry is None or not listed:
        return doc
    return (inspect.cleandoc(doc) + "\n").replace(entry, listed)


def _parameter_entries(doc: str) -> dict[str, str]:
    """Return the lines about each parameter of a numpydoc docstring, without indentation."""
    section = re.search(r"^Parameters\n-+\n((?:.+\n)*)", inspect.cleandoc(doc) + "\n", re.MULTILINE)
    entries = re.findall(r"^\S.*\n(?: .*\n)*", section[1] if section else "", re.MULTILINE)
    return {re.split(r"[ \n]", entry, maxsplit=1)[0]: entry for entry in entries}

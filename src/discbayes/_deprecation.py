"""Deprecated public names, which keep working with a warning (docs/compatibility.md)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

END = "0.4"  # the version that removes what 0.2 deprecates


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a public name is deprecated, and name its replacement."""
    warnings.warn(
        f"{old} is deprecated and will be removed in version {END}: use {new}",
        FutureWarning,
        stacklevel=stacklevel,
    )


def renamed_method(old: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that warns and calls the one that replaces it."""

    @functools.wraps(method)
    def deprecated(*arguments: Any, **options: Any) -> Any:
        warn_renamed(f"{old}()", f"{method.__name__}()")
        return method(*arguments, **options)

    deprecated.__name__ = old
    deprecated.__doc__ = f"Deprecated: use ``{method.__name__}``."
    return deprecated


def renamed_parameters(**renamed: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function accept old keyword names, with a warning.

    Parameters
    ----------
    **renamed
        The new name of each old one: ``renamed_parameters(old="new")``.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def accepting(*arguments: Any, **options: Any) -> Any:
            for old, new in renamed.items():
                if old in options:
                    if new in options:
                        raise TypeError(f"{old} is the old name of {new}: give one of them")
                    warn_renamed(f"the parameter {old}", new)
                    options[new] = options.pop(old)
            return function(*arguments, **options)

        return accepting

    return decorate

"""Old public names that go on working for a while, with a warning (docs/compatibility.md)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

END = "0.4"  # the version that removes what 0.2 deprecates


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a public name is deprecated and say which one replaces it."""
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
    """Let a function accept old keyword names, with a warning:
    ``renamed_parameters(old="new")``.
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

        accepting.renamed = renamed  # type: ignore[attr-defined]
        return accepting

    return decorate


class GapsIsMissing:
    """An estimator whose parameter ``missing`` was called ``gaps`` in version 0.1.

    The old name goes on working as an attribute, in ``set_params`` and in pickles; the constructor
    accepts it by ``renamed_parameters(gaps="missing")``.
    """

    missing: str

    @property
    def gaps(self) -> str:
        """Deprecated: use ``missing``."""
        warn_renamed("the attribute gaps", "missing")
        return self.missing

    @gaps.setter
    def gaps(self, value: str) -> None:
        warn_renamed("the attribute gaps", "missing")
        self.missing = value

    @renamed_parameters(gaps="missing")
    def set_params(self, **params: Any) -> Any:
        """Set parameters, as scikit-learn does."""
        return super().set_params(**params)  # type: ignore[misc]

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "gaps" in state:
            state = {"missing" if name == "gaps" else name: state[name] for name in state}
        super().__setstate__(state)  # type: ignore[misc]

"""Deprecated public names, which keep working with a warning (docs/compatibility.md)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

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


def renamed_parameters(
    translated: Mapping[str, Callable[[Any], Any]] | None = None,
    positional: Sequence[str] = (),
    **renamed: str,
) -> Callable[[Decorated], Decorated]:
    """Let a function accept old keyword names, with a warning; type checkers see the new ones.

    Parameters
    ----------
    translated : mapping of str to callable, optional
        The new value for an old one, by old name, where it is another.
    positional : sequence of str, optional
        The parameters by position, in the order that they had with the old names.
    **renamed
        The new name of each old one: ``renamed_parameters(old="new")``.
    """

    def decorate(function: Decorated) -> Decorated:
        @functools.wraps(function)
        def accepting(*arguments: Any, **options: Any) -> Any:
            if positional:
                first, *others = arguments  # the object
                by_position = dict(zip(positional, others, strict=False))
                arguments = (first, *others[len(positional) :])
                options = _joined(by_position, options)
            for old, new in renamed.items():
                if old in options:
                    if new in options:
                        raise TypeError(f"{old} is the old name of {new}: give one of them")
                    value = options.pop(old)
                    instead = new
                    if translated is not None and old in translated:
                        value = translated[old](value)
                        instead = f"{new}={value!r}"
                    warn_renamed(f"the parameter {old}", instead)
                    options[new] = value
            return function(*arguments, **options)

        accepting.renamed = renamed  # type: ignore[attr-defined]
        return cast("Decorated", accepting)

    return decorate


def _joined(by_position: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments by name; one that is given twice is refused."""
    twice = by_position.keys() & options.keys()
    if twice:
        raise TypeError(f"got multiple values for argument {min(twice)!r}")
    return {**by_position, **options}


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

"""The one check that generators share."""

from __future__ import annotations

from operator import index


def at_least(least: int, value: int, name: str) -> int:
    """The value as an int; what is not a whole number, or too small, is an error that names the
    argument.
    """
    number = index(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}")
    return number

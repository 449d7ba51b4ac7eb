"""Names, learners and structures that people give to the classifier, turned into learners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

from sklearn.base import clone

from discbayes.network import Structure
from discbayes.search import FixedStructure


def learner_of(kind: str, given: Any, known: Mapping[str, Any], fixed: bool = False) -> Any:
    """The learner behind a name; learner objects are cloned, so that a fit never changes what the
    user gave.
    """
    if isinstance(given, str):
        if given not in known:
            raise ValueError(
                f"{kind}={given!r} is not known; it is one of {', '.join(map(repr, known))}, or a"
                " learner"
            )
        return known[given]()
    if isinstance(given, type):
        raise TypeError(
            f"{kind}={given.__name__} is a class: pass an object, {given.__name__}(...)"
        )
    if hasattr(given, "learn"):
        return _of_kind(kind, given)
    if (
        fixed
        and hasattr(given, "edges")
        and hasattr(given, "nodes")
        and not isinstance(given, Structure)
    ):
        return FixedStructure(list(given.edges()))  # a networkx graph
    if fixed and isinstance(given, (Structure, Iterable)):
        return FixedStructure(given)
    raise TypeError(
        f"{kind}={given!r} is neither a name ({', '.join(map(repr, known))}) nor a learner"
    )


def _of_kind(kind: str, learner: Any) -> Any:
    """A copy of the learner; one of the other kind, given in its place, is refused."""
    learns_tables = "structure" in signature(learner.learn).parameters
    if learns_tables != (kind == "parameters"):
        other = "parameters" if learns_tables else "structure"
        raise TypeError(f"{kind}={learner!r} is a learner of the {other}: pass it as {other}=")
    return clone(learner)

"""Settings as JSON and back: other types than those of JSON are objects with one field, the type.

===================  =================================================
Python               JSON
===================  =================================================
tuple, set           ``{"tuple": [...]}``, ``{"set": [...]}``
Ordered              ``{"ordered": [...]}``
dict                 ``{"dict": [[key, value], ...]}``
inf, nan             ``{"float": "inf"}``
numpy array          ``{"array": {...}}``, or ``{"labels": [...]}`` for strings
Structure            ``{"structure": {...}}``
learner              ``{"learner": "KDB", "params": {...}}``
anything else        ``{"opaque": "what it looked like"}``
===================  =================================================

Numpy scalars become plain numbers. A ``callback`` of a learner is None in the file: it observes a
search and does not influence the result. A learner is found by its name among the classes of this
library and is called with its settings, which it only stores: a file can choose among those classes
and do nothing else.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from discbayes.data.domain import Ordered
from discbayes.io.validation import (
    MAX_DEPTH,
    as_array,
    as_bool,
    as_int,
    as_list,
    as_object,
    as_text,
    check_hashes,
    is_deeper,
    naming,
    only_entry,
    pack_array,
    shown,
    wrong,
)
from discbayes.network.structure import Structure

_ARRAYS = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
# parameters that have another name in files, as version 0.1.0 wrote them
_FILE_WORDS = {"missing": "gaps"}
# settings that came later, which are left out at their default: older versions read such files
_LATER: dict[str, Any] = {"tiers": (), "monotone": None}
_DESCRIPTION = 200  # characters
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")  # differs in each process
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class OpaqueValueError(ValueError):
    """A value that a model file cannot hold."""


@cache
def learners() -> dict[str, type]:
    """Return the classes of this library that a setting may be an instance of, by name.

    They are those that a package exports, and those that are registered under a short name.
    """
    # here, since the labels of a domain are read where there are no learners too
    from sklearn.base import BaseEstimator

    from discbayes import data, objectives, parameters, scores, search

    packages = (data, objectives, parameters, scores, search)
    registries: tuple[Mapping[str, Any], ...] = (
        search.STRUCTURES,
        parameters.PARAMETERS,
        scores.EDGE_SCORES,
        objectives.OBJECTIVES,
    )
    public = {name: getattr(package, name) for package in packages for name in package.__all__}
    for make in (make for registry in registries for make in registry.values()):
        made = make.func if isinstance(make, partial) else make
        public[made.__name__] = made
    return {n: c for n, c in public.items() if inspect.isclass(c) and issubclass(c, BaseEstimator)}


# To JSON


def pack(value: Any) -> Any:
    """Return a setting as JSON; raise an `OpaqueValueError` if that is not possible.

    >>> pack({"edges": [("a", "b")], 1: float("inf")})
    {'dict': [['edges', [{'tuple': ['a', 'b']}]], [1, {'float': 'inf'}]]}
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, (float, np.generic)):
        return _pack_number(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.ndarray):
        return _pack_array(value)
    if isinstance(value, Structure):
        return {"structure": pack_structure(value)}
    if learners().get(type(value).__name__) is type(value):
        return _pack_learner(value)
    return _pack_container(value)


def _pack_number(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else float(value)
    if type(plain) is not float:
        return pack(plain) if type(plain) in (bool, int, str) else _refuse(value)
    return plain if math.isfinite(plain) else {"float": repr(plain)}


def _pack_array(value: np.ndarray) -> Any:
    little = value.dtype.newbyteorder("<").str
    if little in _ARRAYS:
        return {"array": pack_array(value, little)}
    if value.ndim == 1 and value.dtype.kind in "UO":
        return {"labels": [pack(item) for item in value.tolist()]}
    return _refuse(value)


def _pack_learner(value: Any) -> dict[str, Any]:
    settings = value.get_params(deep=False)
    for name, default in _LATER.items():
        if name in settings and settings[name] == default:
            del settings[name]
    if callable(settings.get("callback")):
        settings["callback"] = None
    named = sorted((_FILE_WORDS.get(name, name), item) for name, item in settings.items())
    return {"learner": type(value).__name__, "params": {name: pack(item) for name, item in named}}


def _pack_container(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {"dict": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if type(value) is Ordered:
        return {"ordered": [pack(item) for item in value]}
    if type(value) is tuple:
        return {"tuple": [pack(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"set": [pack(item) for item in sorted(value, key=repr)]}
    return _refuse(value)


def _refuse(value: Any) -> Any:
    raise OpaqueValueError(f"a model file cannot hold {type(value).__name__}")


def pack_or_describe(value: Any) -> Any:
    """Return a setting as JSON, or its description if that is not possible."""
    try:
        packed = pack(value)
    except (OpaqueValueError, RecursionError):
        return {"opaque": _describe(value)}
    return {"opaque": _describe(value)} if is_deeper(packed, MAX_DEPTH // 2) else packed


def _describe(value: Any) -> str:
    try:
        return _ADDRESS.sub("", repr(value))[:_DESCRIPTION]
    # an error in the repr of a foreign object must not keep a model from being saved
    except Exception:
        return f"<{type(value).__name__}>"


def pack_structure(structure: Structure) -> dict[str, Any]:
    """Return a structure as JSON; parents of the class are a field only if there are any."""
    above = structure.class_parents
    return {
        "parents": [list(group) for group in structure.parents],
        "class_children": list(structure.class_children),
        **({"class_parents": list(above)} if above else {}),
    }


# From JSON


def unpack(value: Any, where: str) -> Any:
    """Return the setting that `pack` turned into JSON."""
    if type(value) is list:
        return [unpack(item, where) for item in value]
    if type(value) is not dict:
        return value
    if "learner" in value:
        return _unpack_learner(value, where)
    tag, content = only_entry(value, where)
    if tag not in _READERS:
        wrong(where, f"a value tagged {', '.join(_READERS)} or learner", value)
    return _READERS[tag](content, where)


def _unpack_learner(value: dict[str, Any], where: str) -> Any:
    as_object(value, where, ("learner", "params"))
    name = as_text(value["learner"], f"{where}.learner")
    if name not in learners():
        raise ValueError(f"{where}: {shown(name)} is not a learner of this version of discbayes")
    kind = learners()[name]
    known = inspect.signature(kind).parameters
    words = {_FILE_WORDS.get(parameter, parameter): parameter for parameter in known}
    settings = as_object(value["params"], f"{where}.params")
    surplus = sorted(set(settings) - set(words))
    if surplus:
        raise ValueError(f"{where}: {name} has no parameter {shown(surplus[0])}")
    lacking = [n for n, p in known.items() if p.default is p.empty and n not in settings]
    if lacking:
        raise ValueError(f"{where}: {name} needs the parameter {lacking[0]!r}")
    given = {words[n]: unpack(item, f"{where}.{n}") for n, item in settings.items()}
    with naming(where):
        return kind(**given)


def _unpack_list(value: Any, where: str) -> list[Any]:
    return [unpack(item, where) for item in as_list(value, where)]


def _unpack_dict(value: Any, where: str) -> dict[Any, Any]:
    pairs = [as_list(pair, where, 2) for pair in as_list(value, where)]
    with naming(where):
        keys = [unpack(key, where) for key, _ in pairs]
        check_hashes(keys)
        return dict(zip(keys, (unpack(item, where) for _, item in pairs), strict=True))


def _unpack_set(value: Any, where: str) -> set[Any]:
    with naming(where):
        members = _unpack_list(value, where)
        check_hashes(members)
        return set(members)


def unpack_network_structure(value: Any, where: str) -> Structure:
    """Return the structure of a network, whose tables are those of a class without parents."""
    structure = unpack_structure(value, where)
    if structure.class_parents:
        raise ValueError(f"{where} has parents of the class, which belong to class_table")
    return structure


def unpack_structure(value: Any, where: str) -> Structure:
    """Return a structure; raise an error for a cycle, or for features that do not exist."""
    fields = as_object(value, where, ("parents", "class_children"), ("class_parents",))
    groups = as_list(fields["parents"], f"{where}.parents")
    parents = [
        [as_int(p, f"{where}.parents", 0) for p in as_list(g, f"{where}.parents")] for g in groups
    ]
    flags = as_list(fields["class_children"], f"{where}.class_children", len(groups))
    children = [as_bool(flag, f"{where}.class_children") for flag in flags]
    above = as_list(fields.get("class_parents", []), f"{where}.class_parents")
    class_parents = tuple(as_int(p, f"{where}.class_parents", 0) for p in above)
    with naming(where):
        return Structure(tuple(map(tuple, parents)), tuple(children), class_parents)


_READERS = {
    "ordered": lambda value, where: Ordered(_unpack_list(value, where)),
    "tuple": lambda value, where: tuple(_unpack_list(value, where)),
    "set": _unpack_set,
    "dict": _unpack_dict,
    "float": lambda value, where: _NOT_FINITE[as_text(value, where, tuple(_NOT_FINITE))],
    "array": lambda value, where: as_array(value, where, _ARRAYS),
    "labels": lambda value, where: np.array(_unpack_list(value, where), dtype=object),
    "structure": unpack_structure,
}

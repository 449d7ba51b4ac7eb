"""The domain of a network as JSON, in which labels keep their type: 1, 1.0, true and "1" differ."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from discbayes._memory import in_bytes
from discbayes.data.dates import ORDERS, PARTS, DatePart
from discbayes.data.domain import Domain, Variable
from discbayes.data.labels import check_levels, plain
from discbayes.io.setting_values import pack, unpack
from discbayes.io.validation import (
    as_bool,
    as_finite,
    as_int,
    as_list,
    as_object,
    as_text,
    check_hashes,
    naming,
    shown,
    wrong,
)
from discbayes.network.structure import Structure

KINDS = ("numeric", "categorical", "boolean")
_FIELDS = ("name", "kind", "values", "cuts", "missing_value")
_ORDERED, _DATE = "ordered", "date"  # of variables that are such
_GROUPS = "groups"  # of variables that have them
_TWO_RESOLUTIONS = "coarse_cuts"  # of variables that have them; version 0.1 does not know the field
# in prediction too; version 0.1.0, which marginalized missing values there, wrote true
_READ = "read"
_NUMBERS = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32"),
)
CLASS_DTYPES = (*_NUMBERS, "float64", "str", "object")
# of the array of classes, in which every string takes the width of the longest
MAX_CLASS_BYTES = 1 << 26
_CHARACTER_BYTES = np.dtype("U1").itemsize


def pack_domain(domain: Domain) -> dict[str, Any]:
    """Return a domain as JSON."""
    return {
        "features": [_pack_variable(v) for v in domain.features],
        "target": _pack_variable(domain.target),
    }


def _pack_variable(variable: Variable) -> dict[str, Any]:
    fields = {
        "name": variable.name,
        "kind": variable.kind,
        "values": [pack(value) for value in variable.values],
        "cuts": None if variable.cuts is None else [pack(cut) for cut in variable.cuts],
        "missing_value": _READ if variable.reads_missing else bool(variable.missing_value),
    }
    if variable.coarse_cuts is not None:
        fields[_TWO_RESOLUTIONS] = [pack(cut) for cut in variable.coarse_cuts]
    if variable.groups is not None:
        fields[_GROUPS] = list(variable.groups)
    if variable.ordered:
        fields[_ORDERED] = True
    if variable.date is not None:
        fields[_DATE] = [variable.date.column, variable.date.part, variable.date.order]
    return fields


def unpack_domain(value: Any, where: str = "domain") -> Domain:
    """Return a domain, checked so that an encoder can be built on it."""
    fields = as_object(value, where, ("features", "target"))
    listed = as_list(fields["features"], f"{where}.features")
    features = tuple(
        _unpack_variable(item, f"{where}.features[{i}]") for i, item in enumerate(listed)
    )
    if not features:
        raise ValueError(f"{where} has no features")
    seen: set[str] = set()
    for variable in features:
        if variable.name in seen:
            raise ValueError(f"{where} has two features called {shown(variable.name)}")
        seen.add(variable.name)
    _check_dates(features, where)
    return Domain(features, _unpack_target(fields["target"], f"{where}.target"))


def _check_dates(features: tuple[Variable, ...], where: str) -> None:
    """Refuse a column that is both a feature and dates, and dates in several orders."""
    orders: dict[str, str] = {}
    names = {variable.name for variable in features}
    for variable in features:
        part = variable.date
        if part is None:
            continue
        if part.column in names or orders.setdefault(part.column, part.order) != part.order:
            raise ValueError(f"{where}: the dates {shown(part.column)} are not one column")


def _unpack_variable(value: Any, where: str) -> Variable:
    fields = as_object(value, where, _FIELDS, (_TWO_RESOLUTIONS, _GROUPS, _ORDERED, _DATE))
    name = as_text(fields["name"], f"{where}.name")
    kind = as_text(fields["kind"], f"{where}.kind", KINDS)
    values = tuple(
        unpack(item, f"{where}.values") for item in as_list(fields["values"], f"{where}.values")
    )
    cuts = None
    if fields["cuts"] is not None:
        cuts = check_cuts(as_list(fields["cuts"], f"{where}.cuts"), f"{where}.cuts")
    if cuts is not None and values:
        raise ValueError(f"{where} has values and cuts, of which a variable has one")
    check_values(values, name, where)
    coarse = None
    if _TWO_RESOLUTIONS in fields:
        inside = f"{where}.{_TWO_RESOLUTIONS}"
        coarse = check_cuts(as_list(fields[_TWO_RESOLUTIONS], inside), inside)
    missing = fields["missing_value"]
    reads = missing == _READ
    learned = reads or as_bool(missing, f"{where}.missing_value")
    with naming(where):
        return Variable(
            name,
            kind,
            values,
            cuts,
            learned,
            learned and not reads,
            coarse,
            _unpack_ordered(fields, cuts, where),
            _unpack_date(fields, name, where),
            _unpack_groups(fields, where),
        )


def _unpack_ordered(fields: dict[str, Any], cuts: Any, where: str) -> bool:
    ordered = as_bool(fields.get(_ORDERED, False), f"{where}.{_ORDERED}")
    if ordered and cuts is not None:
        raise ValueError(f"{where}.{_ORDERED} is for values, and {where} has cuts")
    return ordered


def _unpack_groups(fields: dict[str, Any], where: str) -> tuple[int, ...] | None:
    if _GROUPS not in fields:
        return None
    inside = f"{where}.{_GROUPS}"
    return tuple(as_int(group, inside, 0) for group in as_list(fields[_GROUPS], inside))


def _unpack_date(fields: dict[str, Any], name: str, where: str) -> DatePart | None:
    if _DATE not in fields:
        return None
    inside = f"{where}.{_DATE}"
    items = as_list(fields[_DATE], inside, 3)
    part = DatePart(
        as_text(items[0], inside), as_text(items[1], inside, PARTS),
        as_text(items[2], inside, ("", *ORDERS)),
    )  # fmt: skip
    if part.name != name:
        raise ValueError(f"{inside} is {shown(part.name)}, and the feature {shown(name)}")
    return part


def check_cuts(cuts: list[Any], where: str) -> tuple[float, ...]:
    """Return cut points, checked to be finite and increasing."""
    numbers = tuple(as_finite(cut, where) for cut in cuts)
    if any(low >= high for low, high in pairwise(numbers)):
        raise ValueError(f"{where} are not increasing")
    return numbers


def check_values(values: tuple[Any, ...], name: str, where: str) -> None:
    """Check labels: scalars of one type, each once, none NaN or beyond the range of a float."""
    for value in values:
        if type(value) not in (str, int, float, bool) or value != value:
            wrong(where, "labels that are strings, numbers or booleans", value)
        if type(value) is int:
            as_finite(value, where)  # the encoder compares numbers as floats
    with naming(where):
        check_levels(list(values), name)
        check_hashes(values)
    if len(set(values)) < len(values):
        raise ValueError(f"{where} has a value twice")


def _unpack_target(value: Any, where: str) -> Variable:
    target = _unpack_variable(value, where)
    if target.groups is not None:
        raise ValueError(f"{where} has groups, which are for features")
    if not target.values or target.cuts is not None or target.missing_value:
        raise ValueError(f"{where} must have values, and neither cuts nor a value for missing")
    return target


# The classes as an array


def class_dtype(classes: np.ndarray) -> str:
    """Return the name of the dtype of ``classes_``, without a width for strings."""
    name = {"U": "str", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    if name not in CLASS_DTYPES:
        raise ValueError(
            f"class labels of type {classes.dtype} cannot be saved: use strings or whole numbers"
        )
    return name


def class_array(target: Variable, dtype: Any, where: str) -> np.ndarray:
    """Return the classes in a dtype, which must hold them exactly."""
    name, labels = as_text(dtype, where, CLASS_DTYPES), list(target.values)
    if name == "str":
        _check_width(labels, where)
    with naming(where):
        classes = np.array(labels, dtype=name)
    # an array may round, cut or convert labels without a warning
    restored = [plain(value) for value in classes.tolist()]
    if restored != labels or list(map(type, restored)) != list(map(type, labels)):
        raise ValueError(f"{where}: {name} cannot hold the classes {shown(labels)}")
    return classes


def _check_width(labels: list[Any], where: str) -> None:
    """Refuse strings that take few bytes in a file and many in an array of equal widths."""
    longest = max(len(str(label)) for label in labels)
    n_bytes = _CHARACTER_BYTES * longest * len(labels)
    if n_bytes > MAX_CLASS_BYTES:
        raise ValueError(
            f"{where}: an array of {len(labels):,} class labels, of which the longest has"
            f" {longest:,} characters, takes {in_bytes(n_bytes)}, above"
            f" {in_bytes(MAX_CLASS_BYTES)}: use shorter labels"
        )


# CPTs of a domain


def check_features(domain: Domain, structure: Structure, where: str) -> None:
    """Raise an error unless a structure has as many features as the domain.

    Parameters
    ----------
    domain : Domain
        The variables.
    structure : Structure
        The edges, which may belong to another domain.
    where : str
        The place in the file for messages.
    """
    if structure.n_features != len(domain.features):
        raise ValueError(
            f"{where} has {structure.n_features} features and the domain {len(domain.features)}"
        )


def check_cells(domain: Domain, structure: Structure, n_cells: int, where: str, field: str) -> None:
    """Raise an error unless the CPTs of a domain and structure have this number of cells.

    Parameters
    ----------
    domain : Domain
        The variables.
    structure : Structure
        The edges, which may belong to another domain.
    n_cells : int
        The number of cells in the file.
    where, field : str
        The place in the file for messages: the object, and its field with the cells.
    """
    check_features(domain, structure, where)
    # Python's integers, since in 64 bits the size of a false structure could overflow to a match.
    # A product stops above the cells that there are: one of many factors takes quadratic time.
    n_states, left = domain.coarse.cards.tolist(), n_cells
    for feature, parents in enumerate(structure.parents):
        size = domain.n_classes
        for factor in (domain.features[feature].card, *(n_states[p] for p in parents)):
            size *= factor
            if size > left:
                raise ValueError(
                    f"{where}.{field} has {n_cells} cells, too few for the domain and structure"
                )
        left -= size
    if left:
        raise ValueError(
            f"{where}.{field} has {n_cells} cells, {left} too many for the domain and structure"
        )

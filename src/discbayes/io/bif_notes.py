"""Properties of variables that BIF has no field for, in ``property`` lines that others ignore.

``discbayes_name`` has the name in the data, ``discbayes_kind`` the kind, ``discbayes_values`` the
labels with their types (``s:red,i:3,f:0.5,b:True``) or ``discbayes_cuts`` the cut points,
``discbayes_missing`` marks the last value as that of missing values (``read``: in prediction too;
``yes``, written by version 0.1.0: in training only), ``discbayes_padded`` marks a last value that
was added and is impossible, ``discbayes_role`` the class, and ``discbayes_states`` names the column
whose coarse intervals a variable has. Texts are percent-encoded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote, unquote

from discbayes.data import Variable
from discbayes.io.domains import KINDS, check_cuts, check_values
from discbayes.io.errors import BifError

_PREFIX = "discbayes_"
_EMPTY = "%"  # which no percent-encoded text is
_NOTHING = "none"
_LONGEST_LINE = 500  # pyAgrum gives up on very long ones
_TYPES = {str: "s", bool: "b", int: "i", float: "f"}
_PARSERS: dict[str, Callable[[str], Any]] = {
    "s": str,
    "b": {"True": True, "False": False}.__getitem__,
    "i": int,
    "f": float,
}


def property_lines(
    variable: Variable, is_class: bool, states_of: str | None = None
) -> Iterator[str]:
    """Yield the property lines of a variable.

    >>> variable = Variable("petal width (cm)", "numeric", cuts=(0.8, 1.75))
    >>> for line in property_lines(variable, is_class=False):
    ...     print(line)
    property discbayes_name = petal%20width%20%28cm%29 ;
    property discbayes_kind = numeric ;
    property discbayes_cuts = 0.8,1.75 ;
    """
    yield from _lines("name", _encoded(variable.name))
    yield from _lines("kind", variable.kind)
    if variable.cuts is None:
        yield from _lines("values", _joined(_typed(value) for value in variable.values))
    else:
        yield from _lines("cuts", _joined(repr(float(cut)) for cut in variable.cuts))
    if variable.missing_value:
        yield from _lines("missing", "read" if variable.reads_missing else "yes")
    if variable.card == 1:
        yield from _lines("padded", "yes")
    if is_class:
        yield from _lines("role", "class")
    if states_of is not None:
        yield from _lines("states", _encoded(states_of))


def _lines(key: str, text: str) -> Iterator[str]:
    """Yield the lines of a property: a long text takes several, which the reader joins."""
    for start in range(0, len(text), _LONGEST_LINE):
        yield f"property {_PREFIX}{key} = {text[start : start + _LONGEST_LINE]} ;"


def _joined(items: Iterable[str]) -> str:
    return ",".join(items) or _NOTHING


def _typed(value: object) -> str:
    if type(value) not in _TYPES:
        raise BifError(
            f"the value {value!r} is neither string, number nor boolean, and cannot be written"
        )
    return f"{_TYPES[type(value)]}:{_encoded(value if isinstance(value, str) else repr(value))}"


def _encoded(text: str) -> str:
    """Return a text percent-encoded."""
    plain = quote(text, safe="", errors="surrogatepass")
    # pgmpy takes these two words for the beginning of a block wherever they are
    return plain.replace("variable", "%76ariable").replace("probability", "%70robability") or _EMPTY


# Reading


def read_notes(properties: Iterable[str]) -> dict[str, str]:
    """Return our properties by key, with the parts of a long one joined.

    >>> read_notes(["position = (1, 2)", "discbayes_name = a%20", "discbayes_name = b"])
    {'name': 'a%20b'}
    """
    found: dict[str, list[str]] = defaultdict(list)
    for text in properties:
        key, sign, value = text.partition("=")
        if sign and key.startswith(_PREFIX):
            found[key.strip().removeprefix(_PREFIX)] += value.split()
    return {key: "".join(parts) for key, parts in found.items()}


def restore_variable(notes: dict[str, str]) -> Variable:
    """Return the variable that properties describe.

    Raises
    ------
    ValueError, LookupError
        If the properties are damaged.
    """
    absent = [key for key in ("name", "kind") if key not in notes]
    if absent or not {"cuts", "values"} & notes.keys():
        raise ValueError(f"{_PREFIX}{absent[0] if absent else 'values'} is not among them")
    name, kind = _decoded(notes["name"]), notes["kind"]
    missing, marginalized = notes.get("missing") in ("read", "yes"), notes.get("missing") == "yes"
    if kind not in KINDS:
        raise ValueError(f"the kind {kind[:60]!r} is not known")
    if "cuts" in notes:
        cuts = check_cuts([float(cut) for cut in _items(notes["cuts"])], "cuts")
        return Variable(name, kind, (), cuts, missing, marginalized)
    values = tuple(_PARSERS[item[:1]](_decoded(item[2:])) for item in _items(notes["values"]))
    check_values(values, name, "values")
    return Variable(name, kind, values, None, missing, marginalized)


def states_of(notes: dict[str, str]) -> str | None:
    """Return the name of the column whose coarse intervals a variable has; None for others."""
    return _decoded(notes["states"]) if "states" in notes else None


def _decoded(text: str) -> str:
    return unquote("" if text == _EMPTY else text, errors="surrogatepass")


def _items(text: str) -> list[str]:
    return [] if text == _NOTHING else text.split(",")

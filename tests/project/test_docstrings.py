"""Docstrings of public objects pass the validation of numpydoc."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discbayes

validate = pytest.importorskip("numpydoc.validate").validate

API = Path(__file__).parents[2] / "docs" / "api" / "index.md"
NOT_ASKED_FOR = {
    "GL01", "GL02", "GL03",  # where the text begins and ends, which ruff formats
    "ES01",  # an extended summary, where the summary says all
    "SA01", "SA04",  # a section See Also, as the pages of the API reference are grouped
}  # fmt: skip
# a function with the name of the package that it is from, which an import finds first
DEFINED_IN = {"discbayes.recipes": "discbayes.recipes.named.recipes"}


def public_objects() -> Iterator[tuple[str, Any]]:
    """Classes and functions of the API reference, and what classes define themselves."""
    for name in re.findall(r"^   ([A-Za-z_.]+)$", API.read_text(encoding="utf-8"), re.MULTILINE):
        *modules, last = name.split(".")
        thing = getattr(importlib.import_module(".".join(["discbayes", *modules])), last)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"discbayes.{name}", thing
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                of_class = isinstance(value, property | classmethod | staticmethod)
                if not member.startswith("_") and (inspect.isfunction(value) or of_class):
                    yield f"discbayes.{name}.{member}", value


OBJECTS = [
    (name, thing)
    for name, thing in public_objects()
    if not (inspect.getdoc(thing) or "").startswith("Deprecated")
]


@pytest.mark.parametrize(("name", "thing"), OBJECTS, ids=[name for name, _ in OBJECTS])
def test_docstring_is_complete(name, thing):
    skipped = {*NOT_ASKED_FOR, *({"EX01"} if isinstance(thing, property) else ())}
    errors = validate(DEFINED_IN.get(name, name))["errors"]
    assert [error for error in errors if error[0] not in skipped] == []


def test_the_package_documents_itself():
    assert len(OBJECTS) > 200
    assert discbayes.__doc__

"""One language: names that occur once, words of the field, statements that read one at a time."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import discbayes

PACKAGE = Path(discbayes.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = [path for path in FILES if path.stem not in ("__init__", "__main__")]
# Words for which the field has others (docs/developer/naming.md). Where one of them is the right
# word after all (a duality gap, what a user is told to say), its line is allowed below.
DIALECT = re.compile(
    r"\b(gaps|sum(?:s|med)? out|tall(?:y|ies)|deals?|dealt|dealing|spill(?:ed)?|spool|rooms?|"
    r"by heart|free numbers|makes? large|stretch(?:es)?|portions?|letters|pace|hope|promise)\b",
    re.IGNORECASE,
)
BRITISH = re.compile(
    r"\b\w*(?:normalis|optimis(?!t|m)|discretis|maximis|minimis(?!\b)|marginalis|regularis|"
    r"parameteris|summaris|initialis|neighbour|behaviour|colour|(?<!aria-)labelled)\w*",
    re.IGNORECASE,
)
ALLOWED = {"gaps"}  # the old name of the parameter ``missing``, and its word in model files
# Words that model files are written with: to rename them would make old files unreadable.
FILE_FORMAT = {
    "io/model.py": {"tallies"},
    "io/model_fields.py": {"tallies"},
    "io/packed_statistics.py": {"tallies"},
}


def trees():
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in FILES]


def test_a_file_name_occurs_once():
    places = defaultdict(list)
    for path in MODULES:
        places[path.stem].append(str(path.relative_to(PACKAGE)))
    commands = {
        "cli"
    }  # a command is called as what it is about: discbayes report, datasets, recipes
    shared = {
        name: where
        for name, where in places.items()
        if len([one for one in where if Path(one).parts[0] not in commands]) > 1
    }
    assert shared == {}


def test_a_public_class_name_occurs_once():
    places = defaultdict(set)
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def words_of_our_own(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    found = [*DIALECT.findall(text), *BRITISH.findall(text)]
    allowed = ALLOWED | FILE_FORMAT.get(path.relative_to(PACKAGE).as_posix(), set())
    return [word for word in found if word.lower() not in allowed]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_words_are_those_of_the_field(path):
    assert words_of_our_own(path) == []


def test_statements_assign_at_most_two_names_at_once():
    packed = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        and len(node.targets[0].elts) > 2
    ]
    assert packed == []


def test_conditional_expressions_are_not_nested():
    nested = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.IfExp)
        and any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))
    ]
    assert nested == []

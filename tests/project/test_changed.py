"""Which tests belong to a change: every package of the code has some, and shared things ask for
all.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import discbayes

TESTS = Path(__file__).parents[1]
# no tests but their examples
ALONE = {"__init__", "__main__", "_lazy_imports", "_settings", "_text", "_version"}


@pytest.fixture(scope="module")
def tests_of():
    spec = importlib.util.spec_from_file_location("changed", TESTS / "changed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.tests_of


def test_every_package_of_the_code_has_tests(tests_of):
    packages = [
        path
        for path in Path(discbayes.__file__).parent.iterdir()
        if path.is_dir() or path.suffix == ".py"
    ]
    for package in packages:
        if package.stem not in ALONE and not package.name.startswith("__py"):
            found = tests_of([f"src/discbayes/{package.name}"])
            assert any(path.startswith("tests/") for path in found), package.name


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["src/discbayes/io/bif/lexer.py"], ["src/discbayes/io", "tests/io"]),
        (["src/discbayes/costs.py"], ["src/discbayes/costs.py", "tests/calibration"]),
        (["tests/scores/test_edge_scores.py", "README.md"], ["tests/project", "tests/scores"]),
        (["src/discbayes/io/bif.py", "tests/support/oracle.py"], ["tests"]),
        (["LICENSE"], []),
    ],
)
def test_packages_of_files(tests_of, files, expected):
    assert tests_of(files) == expected

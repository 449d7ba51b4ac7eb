"""The oldest versions that are supported: the lower bounds of ``pyproject.toml`` as a file that pip
can install from.

``python tests/packaging/bounds.py`` writes ``requirements/oldest.txt``; ``make test-oldest`` runs
the tests with it.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "requirements" / "oldest.txt"
EXTRAS = ("jit", "plot", "cli", "solver", "dask", "test")
HEADER = (
    "# The lower bounds of pyproject.toml, by tests/packaging/bounds.py; make test-oldest runs the"
    " tests with them.\n"
)
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[a-z,]+\])?>=(?P<version>[0-9.]+)")


def requirements() -> list[str]:
    """All that the library and the extras of its users and tests ask for."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = content["project"]["optional-dependencies"]
    return [
        *content["tool"]["hatch"]["metadata"]["hooks"]["custom"]["dependencies"],
        *(one for extra in EXTRAS for one in extras[extra]),
    ]


def lower_bounds() -> dict[str, str]:
    """The lowest version of each package; two extras that ask for different ones are an error."""
    found: dict[str, str] = {}
    for one in requirements():
        if ";" in one:
            continue  # for some platforms
        match = _REQUIREMENT.fullmatch(one)
        if match is None:
            raise ValueError(f"{one!r} in pyproject.toml has no lower bound, or more than that")
        if found.setdefault(match["name"], match["version"]) != match["version"]:
            raise ValueError(f"{match['name']} has two lower bounds in pyproject.toml")
    return found


def text() -> str:
    """What the file holds."""
    return HEADER + "".join(
        f"{name}=={version}\n" for name, version in sorted(lower_bounds().items())
    )


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), encoding="utf-8")

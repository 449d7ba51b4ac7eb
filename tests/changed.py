"""Print the tests of the packages that a change touches: what is not committed, or all since a
commit that is named.

``make test-changed`` runs what this prints. A package without a folder of tests of its own is
tested by the packages in ``TESTED_BY``; a change of what all tests share prints nothing but
``tests``, which is all of them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTED_BY = {
    "_arrays": ("data",),
    "_files": ("faults", "io"),
    "_memory": ("faults",),
    "_shared_settings": ("search", "parameters"),
    "_temporary": ("streams", "blocks"),
    "_deprecation": ("released",),
    "experiments": ("released",),
    "costs": ("calibration",),
    "charts": ("report", "plot"),
    "scoring": ("scores", "search"),
    "kernels": (
        "counts",
        "data",
        "inference",
        "kernels",
        "network",
        "objectives",
        "parameters",
        "scores",
        "search",
    ),
    "paths": ("recipes",),
    "streams": ("streams", "classifier"),
}


def changed_files(since: str) -> list[str]:
    """Paths, from the root of the project, that differ from a commit or are new."""
    git = ["git", "-C", str(ROOT)]
    told = [
        subprocess.run([*git, *command], capture_output=True, text=True, check=True).stdout
        for command in (
            ["diff", "--name-only", since],
            ["ls-files", "--others", "--exclude-standard"],
        )
    ]
    return "".join(told).splitlines()


def tests_of(files: Iterable[str]) -> list[str]:
    """Folders of tests, and the code whose examples are tests, for changed files."""
    found: set[str] = set()
    for file in files:
        match Path(file).parts:
            case ["tests", "support" | "conftest.py", *_] | ["pyproject.toml"]:
                return ["tests"]
            case ["tests", package, *_] if (ROOT / "tests" / package).is_dir():
                found.add(f"tests/{package}")
            case ["src", "discbayes", name, *_]:
                package = name.removesuffix(".py")
                found |= {f"tests/{known}" for known in TESTED_BY.get(package, (package,))}
                found.add(f"src/discbayes/{name}")
            case ["papers", *_]:
                found |= {"tests/papers", "papers"}
            case ["requirements" | "Makefile", *_]:
                found.add("tests/packaging")
            case ["fuzz", *_]:
                found.add("tests/io")
            case ["js", *_]:
                found.add("tests/report")
            case ["docs" | "examples" | "benchmarks" | "README.md" | "CONTRIBUTING.md", *_]:
                found.add("tests/project")
    return sorted(path for path in found if (ROOT / path).exists())


if __name__ == "__main__":
    print(*tests_of(changed_files(sys.argv[1] if len(sys.argv) > 1 else "HEAD")))

"""What the wheel and the source archive hold, and how large they are: ``python
tests/packaging/contents.py dist``.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

IN_WHEEL = (
    "discbayes/py.typed",
    "discbayes/report/assets/page.js",
    "discbayes/report/assets/engine.js",
    "discbayes/report/assets/page.css",
    "discbayes/report/assets/report.html",
)
IN_SOURCE = (
    "pyproject.toml",
    "Makefile",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CITATION.cff",
    "src/discbayes/py.typed",
    "tests/conftest.py",
    "tests/support/oracle.py",
    "requirements/oldest.txt",
    "requirements/lock.txt",
    "examples/demo.py",
    "docs/conf.py",
    "papers/discbayes_papers/__init__.py",
)
KINDS_IN_WHEEL = {".py", ".js", ".css", ".html", ".typed"}
CACHES = {
    "__pycache__",
    ".venv",
    ".git",
    "_build",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
}
LARGEST = {".whl": 2_000_000, ".gz": 12_000_000}  # bytes


def wheel_faults(names: Iterable[str]) -> list[str]:
    """What should not be in a wheel, and what is missing from it."""
    code = [name for name in names if not name.split("/")[0].endswith(".dist-info")]
    odd = [
        name
        for name in code
        if not name.startswith("discbayes/") or PurePosixPath(name).suffix not in KINDS_IN_WHEEL
    ]
    return [*(f"unexpected: {name}" for name in odd), *_missing(IN_WHEEL, code), *_cached(code)]


def source_faults(names: Iterable[str]) -> list[str]:
    """What should not be in a source archive, and what is missing from it; names without the
    outermost folder.
    """
    names = list(names)
    return [*_missing(IN_SOURCE, names), *_cached(names)]


def _missing(wanted: Iterable[str], names: Iterable[str]) -> list[str]:
    return [f"missing: {name}" for name in wanted if name not in set(names)]


def _cached(names: Iterable[str]) -> list[str]:
    kept = (".pyc", ".nbi", ".nbc")
    return [
        f"a cache: {name}" for name in names if CACHES & set(name.split("/")) or name.endswith(kept)
    ]


def check(folder: Path) -> None:
    """Check the files of a folder, which must be one wheel and one source archive."""
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        faults = wheel_faults(file.namelist())
    with tarfile.open(source) as file:
        faults += source_faults(name.partition("/")[2] for name in file.getnames())
    for path in (wheel, source):
        size = path.stat().st_size
        print(f"{path.name}: {size / 1e6:.2f} MB")
        if size > LARGEST[path.suffix]:
            faults.append(f"{path.name} has more than {LARGEST[path.suffix] / 1e6:.0f} MB")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    check(Path(sys.argv[1]))

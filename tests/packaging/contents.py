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
    "discbayes/kernels/signatures.txt",
    "discbayes/kernels/signatures_of_default.txt",
    "discbayes/report/assets/page.js",
    "discbayes/report/assets/engine.js",
    "discbayes/report/assets/page.css",
    "discbayes/report/assets/report.html",
)
IN_SOURCE = (
    "pyproject.toml",
    "hatch_build.py",
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
KINDS_IN_WHEEL = {".py", ".js", ".css", ".html", ".typed", ".txt"}
COMPILED = "discbayes/kernels/_ahead."  # in wheels for one platform
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
LARGEST_COMPILED = 8_000_000


def wheel_faults(names: Iterable[str], compiled: bool = False) -> list[str]:
    """What should not be in a wheel, and what is missing from it."""
    names = [name for name in names if not name.endswith("/")]  # folders, which auditwheel adds
    code = [name for name in names if not name.split("/")[0].endswith(".dist-info")]
    kernels = [name for name in code if name.startswith(COMPILED)]
    if len(kernels) != compiled:
        return [f"{len(kernels)} modules of compiled kernels instead of {int(compiled)}"]
    code = [name for name in code if name not in kernels]
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
    """Check the files of a folder: a source archive, a wheel, and one for this platform or none."""
    (pure,), (source,) = folder.glob("*-any.whl"), folder.glob("*.tar.gz")
    faults = []
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as file:
            faults += wheel_faults(file.namelist(), compiled=wheel != pure)
    with tarfile.open(source) as file:
        faults += source_faults(name.partition("/")[2] for name in file.getnames())
    for path in folder.glob("*-linux_*.whl"):
        faults.append(f"{path.name} names no version of glibc, so that no index takes it")
    for path in folder.iterdir():
        size = path.stat().st_size
        largest = LARGEST[path.suffix]
        if path.suffix == ".whl" and path != pure:
            largest = LARGEST_COMPILED
        print(f"{path.name}: {size / 1e6:.2f} MB")
        if size > largest:
            faults.append(f"{path.name} has more than {largest / 1e6:.0f} MB")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    check(Path(sys.argv[1]))

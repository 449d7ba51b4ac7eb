"""The provenance of results: machine, versions and date."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from discbayes._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")  # numba where it compiles the kernels


def provenance(others: Sequence[str] = ()) -> str:
    """Return machine, versions and date in one line.

    ``others`` are further packages to name where they are installed.
    """
    installed = filter(_has_version, (*PACKAGES, *others))
    packages = ", ".join(f"{name} {version(name)}" for name in installed)
    return (
        f"discbayes {__version__}, Python {platform.python_version()}, {packages}; {processor()}, "
        f"{os.cpu_count()} cores, {platform.system()}; {time.strftime('%Y-%m-%d')}"
    )


def _has_version(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def processor() -> str:
    """Return the name of the processor, as far as the system states it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()

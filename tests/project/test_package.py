"""What importing brings along. What it costs in seconds is measured in ``benchmarks/``."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import sklearn.base, numba
before = set(sys.modules)
import discbayes
print(*sorted(set(sys.modules) - before))
"""


def new_modules() -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_brings_no_heavy_package_and_no_leaf():
    """scikit-learn itself imports pandas where it is installed; we add nothing to that."""
    new = new_modules()
    assert "discbayes.classifier" in new
    assert not {name.split(".")[0] for name in new} & {
        "pandas",
        "matplotlib",
        "dask",
        "polars",
        "pyarrow",
        "networkx",
    }
    assert not new & {f"discbayes.{package}" for package in ("cli", "datasets", "io", "report")}


def test_import_budget_in_modules():
    """Few modules come from outside once scikit-learn and numba are there: narwhals and what it
    needs.
    """
    outside = {name.split(".")[0] for name in new_modules()} - {"discbayes"}
    assert len(outside) < 25, sorted(outside)


def test_plots_need_no_import_of_their_own():
    program = (
        "import discbayes, sys; assert 'discbayes.plot' not in sys.modules;"
        " print(discbayes.plot.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["discbayes.plot"]

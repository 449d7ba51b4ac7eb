"""Import optional parts of the library, and the packages that they need, when they are first used.

The parts (files, reports, plots) are above the classifier in the layers, and its methods reach them
here only. Where a package is not installed, the error names the extra that installs it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

EXTRA_OF = {
    "numba": "jit",
    "pyarrow": "cli",
    "matplotlib": "plot",
    "cvxpy": "solver",
    "clarabel": "solver",
    "dask": "dask",
    "distributed": "dask",
    "lightgbm": "peers",
    "xgboost": "peers",
    "catboost": "peers",
    "interpret": "peers",
    "pyagrum": "exchange",
    "networkx": "exchange",
}
# packages that results can be converted to, and that no extra installs
OTHERS = ("networkx", "shap")


def is_installed(package: str) -> bool:
    """Return whether a package is installed, without importing it.

    >>> is_installed("numpy")
    True
    """
    return find_spec(package) is not None


def leaf(name: str) -> ModuleType:
    """Import the sub-package ``discbayes.<name>``."""
    return need(f"discbayes.{name}")


def need(module: str) -> ModuleType:
    """Import a module; where it is not installed, raise an error that names the extra.

    >>> need("json").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).split(".")[0]
        if package not in (*EXTRA_OF, *OTHERS):
            raise
        what = f"'discbayes[{EXTRA_OF[package]}]'" if package in EXTRA_OF else package
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed: pip install {what}", name=package
        ) from error

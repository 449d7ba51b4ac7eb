"""Import parts of the library, and the packages that they need, when they are first used.

Packages whose ``__init__`` imports nothing but this know their names by `lazy_names`, so that one
of their modules can be imported without the others: ``discbayes.predict`` needs numpy alone.

The parts (files, reports, plots) are above the classifier in the layers, and its methods reach them
here only. Where a package is not installed, the error names the extra that installs it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

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
    "mlflow": "mlflow",
}
# packages that results can be converted to, and that no extra installs
OTHERS = ("networkx", "pgmpy", "shap")


def lazy_names(
    package: str, names: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    Parameters
    ----------
    package : str
        The name of the package.
    names : mapping of str to sequence of str
        The names that each module of the package, or each package in it, has for it.
    modules : sequence of str
        Modules that are attributes of the package too, though nothing has imported them yet.
    """
    module_of = {name: module for module, group in names.items() for name in group}

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(need(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    def listed() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return get, listed


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
        with warnings.catch_warnings():
            # where warnings are errors, a compiled module that gives one on import ends the process
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).split(".")[0]
        if package not in (*EXTRA_OF, *OTHERS):
            raise
        what = f"'discbayes[{EXTRA_OF[package]}]'" if package in EXTRA_OF else package
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed: pip install {what}", name=package
        ) from error

"""The one door through which methods reach the leaves of the library (files, pages, pictures), when
they are used.

Leaves stand below the classifier in the layers and may need an extra; they are imported at the
first call, and a missing package is answered with what to install.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

EXTRA_OF = {
    "pyarrow": "cli",
    "matplotlib": "plot",
    "cvxpy": "solver",
    "clarabel": "solver",
    "dask": "dask",
    "distributed": "dask",
}


def leaf(name: str) -> ModuleType:
    """The sub-package ``discbayes.<name>``."""
    return need(f"discbayes.{name}")


def need(module: str) -> ModuleType:
    """Import a module; where it is not installed, say which extra brings it.

    >>> need("json").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).split(".")[0]
        if package not in EXTRA_OF:
            raise
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed: pip install"
            f" 'discbayes[{EXTRA_OF[package]}]'",
            name=package,
        ) from error

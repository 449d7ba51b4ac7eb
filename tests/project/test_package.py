"""What importing brings along. What it costs in seconds is measured in ``benchmarks/`` too."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from importlib import import_module

import pytest

import discbayes

PROGRAM = """
import sys
import sklearn.base, numba
before = set(sys.modules)
import discbayes
discbayes.BayesNetClassifier
print(*sorted(set(sys.modules) - before))
"""
# beside numpy, in seconds of the processor: other work on the machine takes none of them
MAX_SECONDS = 0.15
TIMED = """
import time
import numpy
start = time.process_time()
import discbayes.predict
print(time.process_time() - start)
"""
FOREIGN = (
    "import sys; found = {name.partition('.')[0] for name in sys.modules};"
    " print(*sorted(found & {'numba', 'sklearn', 'scipy', 'narwhals', 'joblib', 'pandas'}))"
)
LAZY = ("discbayes", "discbayes.data", "discbayes.io", "discbayes.network")


def output(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout


def new_modules() -> set[str]:
    return set(output(PROGRAM).split())


def test_the_classifier_brings_no_heavy_package_and_no_leaf():
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
    assert not new & {
        f"discbayes.{package}" for package in ("cli", "datasets", "io", "report", "predict")
    }


def test_import_budget_in_modules():
    """Few modules come from outside once scikit-learn and numba are there: narwhals and what it
    needs.
    """
    outside = {name.split(".")[0] for name in new_modules()} - {"discbayes"}
    assert len(outside) < 25, sorted(outside)


@pytest.mark.parametrize("module", ["discbayes", "discbayes.predict"])
def test_import_needs_numpy_alone(module):
    assert output(f"import {module}; {FOREIGN}").split() == []


def test_import_budget_of_predict_in_seconds():
    output("import discbayes.predict")  # compiled
    assert min(float(output(TIMED)) for _ in range(5)) < MAX_SECONDS


def test_plots_need_no_import_of_their_own():
    program = (
        "import discbayes, sys; assert 'discbayes.plot' not in sys.modules;"
        " print(discbayes.plot.__name__)"
    )
    assert output(program).split() == ["discbayes.plot"]


def test_sub_packages_are_attributes():
    """As they were when everything was imported at once."""
    program = "import discbayes; print(discbayes.inference.log_joint.__name__, discbayes.data)"
    assert output(program).startswith("log_joint <module 'discbayes.data'")


def test_recipes_is_the_function_whatever_is_imported_first():
    """Also once the package of the same name is imported."""
    program = """
import discbayes.recipes.named, discbayes
from discbayes import recipes
print(json.dumps([callable(recipes), recipes is discbayes.recipes, len(recipes()) > 3]))
"""
    assert json.loads(output(f"import json{program}")) == [True] * 3


@pytest.mark.parametrize("package", LAZY)
def test_every_name_is_there(package):
    module = import_module(package)
    assert dir(module) == sorted(module.__all__)
    everything: dict[str, object] = {}
    exec(f"from {package} import *", everything)
    for name in module.__all__:
        thing = getattr(module, name)
        assert everything[name] is thing
        if inspect.isclass(thing):
            assert pickle.loads(pickle.dumps(thing)) is thing
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def test_old_name_of_an_error():
    with pytest.warns(FutureWarning, match="TooManyCellsError"):
        assert discbayes.FactorTooLargeError is discbayes.TooManyCellsError

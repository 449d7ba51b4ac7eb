"""Arrays that cannot be written, as joblib maps them into memory: no kernel is compiled for them
once more.
"""

from __future__ import annotations

import importlib
import pkgutil

import joblib
import numba
import numpy as np
import pytest

import discbayes.kernels
from discbayes import BayesNetClassifier
from discbayes.counts import count
from discbayes.data import Encoded, FrameEncoder
from discbayes.engine import Context
from discbayes.search import KDB, GreedyEdges, SpanningTree

RNG = np.random.default_rng(0)
VALUES = RNG.integers(0, 3, (200, 5)).astype(float)
LABELS = (VALUES[:, 0] + VALUES[:, 1] > 2).astype(int)
WEIGHTS = RNG.random(200) + 0.5
WITH_MISSING = np.where(RNG.random(VALUES.shape) < 0.2, np.nan, VALUES)


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


def signatures() -> set[tuple[str, str]]:
    """Every list of types that a kernel was compiled for."""
    names = [module.name for module in pkgutil.iter_modules(discbayes.kernels.__path__)]
    modules = [importlib.import_module(f"discbayes.kernels.{name}") for name in names]
    kernels = [(name, found) for module in modules for name, found in vars(module).items()]
    return {
        (name, str(types))
        for name, kernel in kernels
        for types in getattr(kernel, "signatures", ())
    }


def use(model, X):
    network = model.network_
    model.predict_proba(X)
    model.explain(X[:2])
    model.value_of_information({"x0": 1.0})
    return (
        network.log_likelihood(X),
        network.query("class", {"x0": 1.0}),
        network.sample(5, random_state=0),
    )


def learn(data: Encoded):
    for search in (SpanningTree(), KDB(k=2), GreedyEdges("cr")):
        search.learn(data, count(data), Context(np.random.default_rng(0)))


pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.mark.parametrize(
    "structure, parameters", [("nb", "map"), ("tan", "hybrid"), (KDB(k=2), "mm")]
)
def test_a_model_that_joblib_maps_into_memory(structure, parameters, tmp_path):
    model = BayesNetClassifier(structure, parameters).fit(VALUES, LABELS)
    for X in (VALUES, WITH_MISSING):
        expected = use(model, X)
    known = signatures()
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    for X in (VALUES, WITH_MISSING):
        found = use(mapped, read_only(X))
    assert signatures() == known
    np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("X", [VALUES, WITH_MISSING], ids=["complete", "missing"])
def test_rows_that_cannot_be_written(X):
    fits = [
        BayesNetClassifier("tan", "hybrid"),
        BayesNetClassifier("nb", "map", discretizer=None),
        BayesNetClassifier("tan", "mm", discretizer="equal-frequency"),
    ]
    for model in fits:
        model.fit(X, LABELS, WEIGHTS)
    known = signatures()
    for model in fits:
        model.fit(read_only(X), read_only(LABELS), read_only(WEIGHTS))
    assert signatures() == known


@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_codes_that_cannot_be_written(weight):
    data = FrameEncoder().fit_transform(WITH_MISSING, LABELS, weight)
    learn(data)
    known = signatures()
    weight = None if data.weight is None else read_only(data.weight)
    learn(Encoded(read_only(data.codes), data.domain, read_only(data.classes), weight))
    assert signatures() == known

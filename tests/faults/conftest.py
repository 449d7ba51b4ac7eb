"""How often faults are tried: FAULTS=10 (``make faults``) is ten times as often as in all tests."""

from __future__ import annotations

import os

import pytest

from discbayes import BayesNetClassifier, load_dataset


@pytest.fixture(scope="session")
def times() -> int:
    return int(os.environ.get("FAULTS", "1"))


@pytest.fixture(scope="session")
def iris():
    return load_dataset("iris")


@pytest.fixture(scope="session")
def model(iris):
    return BayesNetClassifier("tan", "map").fit(iris.X, iris.y)

"""Random networks as a classifier holds them, for the tests of explanations."""

from __future__ import annotations

import numpy as np

import oracle
from discbayes.bayesnet import BayesNet
from discbayes.calibration import CalibratedPosterior, Isotonic, Temperature
from discbayes.data import Domain, Variable
from discbayes.network import Structure

KINDS = ["naive", "forest", "any"]
CALIBRATIONS = [None, "temperature", "isotonic"]


def named(tables, missing_value=()):
    """A network whose columns are a, b, c, … with the values a0, a1, …, and whose classes are 0, 1,
    …
    """
    letters = "abcdefghijklmnop"[: tables.cards.size]
    features = tuple(
        Variable(
            name,
            "categorical",
            tuple(f"{name}{k}" for k in range(int(card) - (i in missing_value))),
            missing_value=i in missing_value,
        )
        for i, (name, card) in enumerate(zip(letters, tables.cards, strict=True))
    )
    return BayesNet(
        Domain(features, Variable("y", "categorical", tuple(range(tables.n_classes)))), tables
    )


def believing(tables, calibration=None, log_prior=None, rng=None, missing_value=()):
    """Beliefs of a network; a calibration is given by name."""
    n = tables.n_classes
    shares, made = np.full(n, 1 / n), None
    if calibration == "temperature":
        made = Temperature(shares, 1.7)
    if calibration == "isotonic":
        odds = tuple(np.sort(rng.normal(0, 2, 5)) for _ in range(n))
        made = Isotonic(shares, odds, tuple(np.sort(rng.random(5)) for _ in range(n)))
    return CalibratedPosterior(named(tables, missing_value), np.arange(n), made, log_prior)


def random_tables(seed, kind, n_features=5, n_classes=None, **options):
    """Tables of a random structure with two to four values and classes, and the generator they came
    from.
    """
    rng = np.random.default_rng(seed)
    structure = {
        "naive": Structure.naive,
        "forest": lambda n: oracle.random_forest(rng, n),
        "any": lambda n: oracle.random_structure(rng, n),
    }[kind](n_features)
    cards, n_classes = rng.integers(2, 5, n_features), n_classes or int(rng.integers(2, 4))
    return oracle.random_tables(rng, structure, cards, n_classes, **options), rng


def some_rows(rng, cards, n_rows, gaps=0.3):
    """Random rows in which some values are missing, as codes."""
    values = (rng.random((cards.size, n_rows)) * cards[:, None]).astype(np.uint8)
    return np.where(rng.random(values.shape) < gaps, cards[:, None], values).astype(np.uint8)

"""Random networks as a classifier holds them, for the tests of explanations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import oracle
from discbayes.bayesnet import BayesNet
from discbayes.calibration import CalibratedPosterior, Isotonic, LogPool, Temperature
from discbayes.data import Domain, Variable
from discbayes.network import Structure

KINDS = ["naive", "forest", "any"]
CALIBRATIONS = [None, "temperature", "isotonic", "pool"]


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
    network = named(tables, missing_value)
    if calibration == "pool":
        made = random_pool(rng, network)
    return CalibratedPosterior(network, np.arange(n), made, log_prior)


def random_pool(rng, network, zeros=False):
    """A log pool of a network with random tables of its structure."""
    own = network.parameters
    cards, states = own.cards, own.layout.states
    tables = oracle.random_tables(rng, own.structure, cards, own.n_classes, True, zeros, states)
    other = replace(network, parameters=tables)
    shares = rng.dirichlet(np.full(own.n_classes, 3.0))
    scale, doubt, usual = rng.uniform([0.3, 0, 0], [1.2, 0.2, 0.4]).tolist()
    return LogPool(shares, other, scale, doubt, usual if rng.random() < 0.5 else 0.0)


def pooled_weights(pool, row):
    """The weights of both networks in a row, straight from the definition."""
    cards = pool.generative.domain.cards
    unknown = [row[i] >= card for i, card in enumerate(cards) if card > 1]
    missing = np.mean(unknown) if unknown else 0.0
    w = (1 - max(0.0, missing - pool.usual_missing) / (1 - pool.usual_missing)) ** 8
    return w, (1 - w) * pool.scale ** (1 - missing)


def enumerated_pool(beliefs, row, known=None):
    """The log posterior of a pool by enumeration; of what is known, under the weights of a row."""
    pool, network = beliefs.calibration, beliefs.network
    codes = (row if known is None else known)[:, None]
    own, generative = (oracle.log_joint(net.parameters, codes)[0] for net in beliefs.networks)
    w, v = pooled_weights(pool, row)
    shares = np.log(pool.class_shares)
    # what has no weight counts for nothing, also where it is impossible
    scores = (1 - w) * shares + (w * own if w else 0) + (v * (generative - shares) if v else 0)
    if (scores == -np.inf).all():
        scores = network.parameters.log_prior
    posterior = np.exp(scores - scores.max())
    posterior /= posterior.sum()
    with np.errstate(divide="ignore"):
        return np.log((1 - pool.doubt) * posterior + pool.doubt * pool.class_shares)


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

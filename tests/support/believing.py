"""Random networks as a classifier holds them, for the tests of explanations."""

from __future__ import annotations

import math
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
    usual = usual if rng.random() < 0.5 else 0.0
    unusual = 0.3 if any(variable.missing_value for variable in network.domain.features) else 0.0
    return LogPool(shares, other, scale, doubt, usual, unusual)


def pooled_weights(pool, row):
    """The weights of both networks in a row, straight from the definition."""
    cards = pool.generative.domain.cards
    used = cards > 1
    d, read = int(used.sum()), hidden_row(pool, row)
    n_unknown, n_missing = (int((codes >= cards)[used].sum()) for codes in (row, read))
    share, missing = (n / max(1, d) for n in (n_unknown, n_missing))
    w = (1 - max(0.0, share - pool.usual_missing) / (1 - pool.usual_missing)) ** 8
    if n_missing > n_unknown:
        w *= enumerated_usual(pool, row, read, n_unknown, n_missing, d)
    return w, (1 - w) * pool.scale ** (1 - missing)


def enumerated_usual(pool, row, read, n_unknown, n_missing, d):
    """How probable it is that the missing values of a row are usual, by enumeration and counting
    of the patterns.
    """
    generative = pool.generative.parameters
    usual = np.exp(oracle.log_joint(generative, row[:, None])).sum() * 0.001**n_unknown
    observed = replace(generative, log_theta=observed_theta(pool.generative))
    patterns = math.comb(d, n_missing) * (d + 1)
    unusual = np.exp(oracle.log_joint(observed, read[:, None])).sum() / patterns
    total = (1 - pool.unusual) * usual + pool.unusual * unusual
    return (1 - pool.unusual) * usual / total if total > 0 else 1.0


def observed_theta(network):
    """The tables without the values "missing", each distribution divided by what is left."""
    tables, theta = network.parameters, network.parameters.log_theta.copy()
    for i, variable in enumerate(network.domain.features):
        if not variable.missing_value or variable.card == 1:
            continue
        table = tables.layout.table(theta, i)
        share = np.exp(table)
        share[..., -1, :] = 0.0
        total = share.sum(axis=-2, keepdims=True)
        equal = np.where(np.arange(len(variable.labels)) < len(variable.labels) - 1, 1.0, 0.0)
        equal = equal[:, None] / equal.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            table[...] = np.log(np.where(total > 0, share / total, equal))
    return theta


def hidden_row(pool, row):
    """A row in which values "missing" are unknown, where the pool tells usual ones from others."""
    features = pool.generative.domain.features
    read = [
        bool(pool.unusual) and f.missing_value and f.card > 1 and row[i] == f.card - 1
        for i, f in enumerate(features)
    ]
    return np.where(read, pool.generative.domain.cards, row).astype(row.dtype)


def enumerated_pool(beliefs, row, known=None):
    """The log posterior of a pool by enumeration; of what is known, under the weights of a row."""
    pool, network = beliefs.calibration, beliefs.network
    codes = (row if known is None else known)[:, None]
    read = hidden_row(pool, codes[:, 0])[:, None]
    observed = replace(pool.generative.parameters, log_theta=observed_theta(pool.generative))
    if not pool.unusual:
        observed = pool.generative.parameters
    own = oracle.log_joint(beliefs.networks[0].parameters, codes)[0]
    generative = oracle.log_joint(observed, read)[0]
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

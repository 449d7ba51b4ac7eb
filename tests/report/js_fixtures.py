"""Networks with their answers by enumeration, for the tests of ``js/``: ``python
tests/report/js_fixtures.py`` writes ``js/test/fixtures/networks.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

import oracle
from believing import hidden_row, observed_theta, pooled_weights
from discbayes import BayesNet, Structure
from discbayes.calibration import Calibration, LogPool, Temperature
from discbayes.data import Domain, Variable
from discbayes.network import CPTs
from discbayes.report.payload import network_payload

PATH = Path(__file__).parents[2] / "js" / "test" / "fixtures" / "networks.json"
MAX_ROWS = 40  # of a network
TEMPERATURE = 1.7


def cases() -> list[dict[str, Any]]:
    """Return networks of every kind, with rows in which any feature may be missing."""
    rng = np.random.default_rng(21)
    made = []
    for name, structure, normalized, zeros, calibrated in (
        ("naive Bayes", Structure.naive(4), True, False, False),
        ("forest", oracle.random_forest(rng, 5), True, False, True),
        ("several parents", oracle.random_structure(rng, 5), True, False, False),
        ("zero probabilities", oracle.random_structure(rng, 4), True, True, False),
        ("unconstrained parameters", oracle.random_structure(rng, 4), False, False, False),
    ):
        cards = rng.integers(2, 4, structure.n_features)
        tables = oracle.random_tables(rng, structure, cards, 3, normalized, zeros)
        codes = oracle.every_pattern(rng, cards)
        rows = np.sort(rng.permutation(codes.shape[1])[:MAX_ROWS])
        temperature = TEMPERATURE if calibrated else 1.0
        features = tuple(
            Variable(f"x{i}", "categorical", tuple(f"v{k}" for k in range(card)))
            for i, card in enumerate(tables.cards)
        )
        made.append(_case(name, tables, features, codes[:, rows], temperature))
    return [*made, *_two_resolutions(rng)]


def _two_resolutions(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield networks with columns of two resolutions, and one that has a value "missing"."""
    cuts = (1.0, 2.0, 3.0, 4.0)
    features = (
        Variable("x0", "numeric", cuts=cuts, coarse_cuts=(2.0,)),
        Variable("x1", "categorical", ("v0", "v1", "v2", "v3"), groups=(0, 1, 0, 1)),
        Variable("x2", "numeric", cuts=cuts[:3], coarse_cuts=(1.0, 3.0), missing_value=True),
        Variable("x3", "numeric", cuts=cuts[:2], coarse_cuts=()),
        Variable("x4", "numeric", cuts=cuts[:1]),
    )
    cards = np.array([variable.card for variable in features])
    states = tuple(variable.states for variable in features)
    for name, structure, normalized, zeros in (
        ("two resolutions, forest", Structure(((), (0,), (0,), (2,), (3,))), True, False),
        ("two resolutions", Structure(((), (0,), (0, 1), (0, 2), (2, 3))), True, False),
        ("two resolutions, zeros", Structure(((2,), (0,), (), (0, 2), (2, 3))), True, True),
        ("two resolutions, unconstrained", Structure(((), (0,), (0,), (1, 2), (0,))), False, False),
    ):
        tables = oracle.random_tables(rng, structure, cards, 3, normalized, zeros, states)
        codes = oracle.every_pattern(rng, cards)
        rows = np.sort(rng.permutation(codes.shape[1])[:MAX_ROWS])
        yield _case(name, tables, features, codes[:, rows], 1.0)
        if name in ("two resolutions", "two resolutions, zeros"):
            other = oracle.random_tables(rng, structure, cards, 3, True, zeros, states)
            yield _case(f"pool, {name}", tables, features, codes[:, rows], 1.0, other)
            usual = f"pool, usual missing values, {name}"
            yield _case(usual, tables, features, codes[:, rows], 1.0, other, 0.3)


def _case(
    name: str,
    tables: CPTs,
    features: tuple[Variable, ...],
    codes: np.ndarray,
    temperature: float,
    generative: CPTs | None = None,
    unusual: float = 0.0,
) -> dict[str, Any]:
    target = Variable("class", "categorical", tuple(f"c{c}" for c in range(tables.n_classes)))
    network = BayesNet(Domain(features, target), tables)
    prior = np.full(tables.n_classes, 1 / tables.n_classes)
    calibration: Calibration | None = None
    if temperature != 1.0:
        calibration = Temperature(prior, temperature)
    if generative is not None:
        other = replace(network, parameters=generative)
        calibration = LogPool(np.array([0.5, 0.3, 0.2]), other, 0.6, 0.05, 0.1, unusual)
    answers = _Enumeration(tables, temperature, calibration)
    return {
        "name": name,
        "payload": network_payload(network, calibration),
        "rows": [answers.of(row) for row in codes.T],
    }


class _Enumeration:
    """Answers from the joint distribution as one dense array."""

    def __init__(
        self, tables: CPTs, temperature: float = 1.0, calibration: Calibration | None = None
    ):
        self.tables = tables
        self.temperature = temperature
        self.joint = oracle.full_log_joint(tables)
        self.pool = calibration if isinstance(calibration, LogPool) else None
        if self.pool is not None:
            generative = self.pool.generative.parameters
            if self.pool.unusual:
                log_theta = observed_theta(self.pool.generative)
                generative = replace(generative, log_theta=log_theta)
            self.generative = _Enumeration(generative)

    def of(self, row: np.ndarray) -> dict[str, Any]:
        """The codes of a row with its posterior, contributions and value of information."""
        known = np.where(row < self.tables.cards, row.astype(int), -1)
        possible = bool((self._scores(known, row) > -np.inf).any())
        return {
            "codes": known.tolist(),
            "impossible": not possible,
            "posterior": np.exp(self._log_posterior(known, row)).tolist(),
            "log_odds": [str(odds) for odds in self._log_odds(known if possible else [], row)],
            "gains": {str(i): self._gain(known, row, i) for i in np.flatnonzero(known < 0)},
        }

    def _scores(self, known: Any, row: np.ndarray) -> np.ndarray:
        """The log-joint behind the posterior: a pool has the weights of the whole row."""
        own = self._log_joint(known)
        if self.pool is None:
            return own
        shares = np.log(self.pool.class_shares)
        weights = pooled_weights(self.pool, row)
        generative = self.generative._log_joint(self._hidden(known))
        parts = [(weights[0], own), (weights[1], generative - shares)]
        return (1 - weights[0]) * shares + sum(w * part for w, part in parts if w > 0)

    def _hidden(self, known: Any) -> np.ndarray:
        """What is known, as the generative network reads it."""
        read = hidden_row(self.pool, np.asarray(known)) if len(known) else np.zeros(0, int)
        return np.where(read < self.tables.cards[: len(known)], read, -1)

    def _log_joint(self, known: Any) -> np.ndarray:
        """log P(class, known values), summed over all states; ``[]`` if nothing is known."""
        codes = list(known) or [-1] * len(self.tables.cards)
        index = tuple(slice(None) if code < 0 else int(code) for code in codes)
        cells = self.joint[index].reshape(-1, self.tables.n_classes)
        return np.asarray(logsumexp(cells, axis=0))

    def _log_posterior(self, known: Any, row: np.ndarray) -> np.ndarray:
        scores = self._scores(known, row)
        if (scores == -np.inf).all():
            scores = self.tables.log_prior
        scores = (scores - scores.max()) / self.temperature
        posterior = np.asarray(scores - logsumexp(scores))
        if self.pool is None:
            return posterior
        doubt = self.pool.doubt
        return np.log((1 - doubt) * np.exp(posterior) + doubt * self.pool.class_shares)

    def _log_odds(self, known: Any, row: np.ndarray) -> np.ndarray:
        log_p = self._log_posterior(known, row)
        others = [logsumexp(np.delete(log_p, c)) for c in range(log_p.size)]
        return np.where(log_p == -np.inf, -np.inf, log_p - np.array(others))

    def _gain(self, known: np.ndarray, row: np.ndarray, feature: int) -> float:
        """The reduction of the expected entropy; values are weighted by P(value | class)."""
        scores = self._scores(known, row)
        if (scores == -np.inf).all():
            return 0.0
        posterior = np.exp(self._log_posterior(known, row))
        given_class = self._given_class(known, feature)
        if self.pool is not None:
            weights = pooled_weights(self.pool, row)
            others = (given_class, self.generative._given_class(self._hidden(known), feature))
            given_class = np.prod(
                [part**w for part, w in zip(others, weights, strict=True)], axis=0
            )
            given_class[:, scores == -np.inf] = 0.0
        total = given_class.sum(axis=0)
        given_class[:, total == 0] = 1.0  # all values are equally probable
        joint = posterior * given_class / given_class.sum(axis=0)
        after = sum(line.sum() * _entropy(line / line.sum()) for line in joint if line.sum() > 0)
        return float(_entropy(posterior) - after)

    def _given_class(self, known: np.ndarray, feature: int) -> np.ndarray:
        """P(value | known values, class), and zeros where a class is impossible."""
        tried = [
            np.where(np.arange(known.size) == feature, v, known) for v in self._values(feature)
        ]
        scores = np.array([self._log_joint(row) for row in tried])
        total = logsumexp(scores, axis=0)
        return np.exp(scores - np.where(total > -np.inf, total, 0.0))

    def _values(self, feature: int) -> range:
        return range(int(self.tables.cards[feature]))


def _entropy(probabilities: np.ndarray) -> float:
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum())


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case, allow_nan=False) for case in cases())
    PATH.write_text(f"[\n{lines}\n]\n", encoding="utf-8")

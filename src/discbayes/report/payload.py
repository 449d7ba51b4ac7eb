"""A classifier as JSON, with all that the inference engine of a report needs (``js/src/engine``).

Numbers that must be exact to the last bit, or may be −∞, are base64 of little-endian doubles. The
table of a feature is in the layout of ``discbayes.network.cpts``: parents by state, the feature by
value. Where it does not depend on the class it has one column instead of one for each class. A log
pool brings the tables of the generative estimates; all else of that network is as in the first.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.calibration import RARE, Calibration, Isotonic, LogPool, Temperature
from discbayes.data import Domain, Variable
from discbayes.network import CPTs

MAX_PAGE_FACTOR = 1 << 20  # cells: 8 MB, which phones can hold too


def payload(clf: Any) -> dict[str, Any]:
    """Return names, values, structure, tables and calibration of a fitted classifier.

    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> made = payload(BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y))
    >>> made["target"], made["classes"], made["parents"]
    ('class', ['setosa', 'versicolor', 'virginica'], [[2], [0], [3], []])
    """
    posterior = clf.calibrated_posterior()
    return network_payload(posterior.network, posterior.calibration)


def network_payload(network: BayesNet, calibration: Calibration | None = None) -> dict[str, Any]:
    """Return names, values, structure and tables of a network, with its calibration."""
    domain = network.domain
    structure = network.structure
    return {
        "names": domain.names,
        "labels": [variable.labels for variable in domain.features],
        "kinds": [variable.kind for variable in domain.features],
        "cuts": [_cuts(variable) for variable in domain.features],
        **_states(domain),
        **_has_missing(domain),
        "target": domain.target.name,
        "classes": domain.target.labels,
        "parents": [list(group) for group in structure.parents],
        "class_children": list(structure.class_children),
        "order": list(structure.order),
        "max_factor_size": min(int(network.max_cells), MAX_PAGE_FACTOR),
        **_tables(network.parameters),
        "calibration": _calibration(calibration),
    }


def _states(domain: Domain) -> dict[str, Any]:
    """Return the states of columns with two resolutions, if there are any, and their labels."""
    if domain.states is None:
        return {}
    two = [variable.has_states for variable in domain.features]
    labels = [variable.labels for variable in domain.coarse.features]
    return {
        "states": [s.tolist() if t else None for s, t in zip(domain.states, two, strict=True)],
        "state_labels": [own if t else None for own, t in zip(labels, two, strict=True)],
    }


def _has_missing(domain: Domain) -> dict[str, Any]:
    """Return which columns have "missing" as their last value, if there are any."""
    found = [variable.missing_value for variable in domain.features]
    return {"has_missing": found} if any(found) else {}


def packed(numbers: np.ndarray) -> str:
    """Return doubles as base64.

    >>> packed(np.array([-np.inf]))
    'AAAAAAAA8P8='
    """
    return base64.b64encode(np.ascontiguousarray(numbers, "<f8").tobytes()).decode("ascii")


def _cuts(variable: Variable) -> list[float] | None:
    return None if variable.cuts is None else [float(cut) for cut in variable.cuts]


def _tables(tables: CPTs) -> dict[str, Any]:
    """Return what networks of the same domain and structure differ in."""
    return {
        "normalized": tables.is_normalized,
        "log_prior": packed(tables.log_prior),
        "tables": [_table(tables, i) for i in range(tables.structure.n_features)],
        **_own(tables),
    }


def _own(tables: CPTs) -> dict[str, Any]:
    """Return the network as it was given, if the class has parents.

    For inference the table of the class is absorbed in that of one of them, the host; all other
    tables are the same.
    """
    of_class = tables.class_table
    if of_class is None:
        return {}
    features = of_class.features
    structure = features.structure
    host = max(of_class.parents, key=structure.order.index)
    totals = features.layout.row_totals(np.exp(features.log_theta))
    of_rows = np.exp(of_class.log_table).sum(axis=-1)
    is_normalized = np.allclose(totals, 1, atol=1e-9) and np.allclose(of_rows, 1, atol=1e-9)
    return {
        "own": {
            "class_parents": list(of_class.parents),
            "parents": [list(group) for group in structure.parents],
            "class_children": list(structure.class_children),
            "host": host,
            "table": _table(features, host),
            "class_table": packed(of_class.log_table),
            "normalized": is_normalized,
        }
    }


def _table(tables: CPTs, feature: int) -> str:
    table = tables.log_table(feature)
    return packed(table if tables.structure.class_children[feature] else table[..., 0])


def _calibration(calibration: Calibration | None) -> dict[str, Any] | None:
    match calibration:
        case None:
            return None
        case Temperature():
            return {"kind": "temperature", "temperature": float(calibration.temperature)}
        case Isotonic():
            return {
                "kind": "isotonic",
                "log_odds": [packed(odds) for odds in calibration.log_odds],
                "probabilities": [packed(values) for values in calibration.probabilities],
            }
        case LogPool():
            return {
                "kind": "pool",
                "class_shares": packed(calibration.class_shares),
                "scale": float(calibration.scale),
                "doubt": float(calibration.doubt),
                "usual_missing": float(calibration.usual_missing),
                "exponent": float(calibration.exponent),
                "unusual": float(calibration.unusual),
                "rare": RARE,
                "reads_missing": calibration.reads_missing.tolist(),
                "generative": _tables(calibration.generative.parameters),
            }
    raise TypeError(f"a report cannot hold the calibration {calibration!r}")

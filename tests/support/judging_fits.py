"""What must be true of every fit: it gives a classifier that answers, or an error that says what is
wrong.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

SETTINGS = (
    "missing=",
    "calibrate=",
    "class_prior",
    "class_weight",
    "sample_weight",
    "categorical",
    "evaluation=",
)


def fit_or_refuse(clf, table, how="pandas"):
    """The classifier, fitted; None where the table was refused in words that help."""
    try:
        return clone(clf).fit(table.frame(how), table.labels, table.weight)
    except (ValueError, TypeError) as error:
        message = str(error)
        columns = (
            [f"x{i}" for i in range(len(table.columns))]
            if how in ("objects", "lists")
            else table.names
        )
        named = [repr(name) for name in columns if repr(name) in message]
        assert named or any(setting in message for setting in SETTINGS), message
        return None


def assert_probabilities(shares, n_rows, n_classes):
    """A row of probabilities for each row."""
    assert shares.shape == (n_rows, n_classes)
    assert np.isfinite(shares).all()
    assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)


def assert_same_network(one, two):
    """Two classifiers that are the same to the bit."""
    assert one.classes_.tolist() == two.classes_.tolist()
    assert one.network_.domain == two.network_.domain
    assert one.structure_ == two.structure_
    for name in ("log_prior", "log_theta"):
        mine, other = (getattr(clf.network_.parameters, name) for clf in (one, two))
        assert mine.tobytes() == other.tobytes()
    assert repr(one.calibration_) == repr(two.calibration_)

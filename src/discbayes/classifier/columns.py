"""What scikit-learn remembers of the columns of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from discbayes.data.table_reader import arrow_table

COLUMNS = ("n_features_in_", "feature_names_in_")


def columns_of(X: Any) -> dict[str, Any]:
    """The attributes that a fit on a table has for its columns; refuses what scikit-learn
    refuses.
    """
    known = BaseEstimator()
    validate_data(known, arrow_table(X), skip_check_array=True)
    return dict(vars(known))


def columns_named(names: Sequence[str], named: bool) -> dict[str, Any]:
    """The same for columns that were read, which may have names."""
    names_in = {"feature_names_in_": np.array(names, dtype=object)} if named else {}
    return {"n_features_in_": len(names), **names_in}

"""A shop: mixed columns with gaps, whole, in parts and in files, and when two classifiers of it are
the same.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from discbayes.parameters import MaximumAPosteriori

FEATURES = ["size", "age", "colour", "town", "old"]


def make_frame(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes", "maybe"], n_rows, p=[0.5, 0.3, 0.2])
    place = np.searchsorted(["maybe", "no", "yes"], y)
    age = (rng.integers(0, 60, n_rows) + 10 * place).astype(float)
    frame = pd.DataFrame(
        {
            "size": np.round(rng.normal(size=n_rows) + place, 2),
            "age": np.where(rng.random(n_rows) < 0.05, np.nan, age),
            "colour": np.array(["red", "green", "blue", "black"])[
                (place + rng.integers(0, 2, n_rows)) % 4
            ],
            "town": np.array(["A", "B", "C"])[rng.integers(0, 3, n_rows) * (place > 0)],
            "old": age > 45,
            "bought": y,
            "w": np.round(rng.random(n_rows) + 0.5, 2),
        }
    )
    frame.loc[::17, "town"] = None
    return frame


def parts_of(frame, sizes):
    ends = np.cumsum(sizes)
    assert ends[-1] == len(frame)
    return [frame[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def write_parts(parts, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    for number, part in enumerate(parts):
        pq.write_table(
            pa.Table.from_pandas(part, preserve_index=False), folder / f"{number}.parquet"
        )
    return folder


def assert_same(found, expected):
    one, two = found.network_, expected.network_
    assert one.domain == two.domain
    assert one.structure == two.structure
    assert one.parameters.log_theta.tobytes() == two.parameters.log_theta.tobytes()
    assert one.parameters.log_prior.tobytes() == two.parameters.log_prior.tobytes()
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert (found.calibration_ is None) == (expected.calibration_ is None)
    assert found.n_features_in_ == expected.n_features_in_
    assert (found.sufficient_statistics_ is None) == (expected.sufficient_statistics_ is None)


class OwnParameters(BaseEstimator):
    """A learner that knows tables in memory alone."""

    def learn(self, data, counts, structure, context):
        assert data.codes.shape == (data.n_features, data.n_samples)
        return MaximumAPosteriori().learn(data, counts, structure, context)

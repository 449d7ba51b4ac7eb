"""Score and partial_fit on files and iterators: the same as on the table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discbayes import BayesNetClassifier, load_dataset

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("small_blocks")


def make_frame(n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    frame = pd.DataFrame(
        {
            "size": np.round(rng.normal(size=n_rows) + y, 1),
            "ward": np.array(["A", "B", "C", None])[(y + rng.integers(0, 3, n_rows)) % 4],
            "smoker": rng.random(n_rows) < 0.2 + 0.2 * y,
            "w": rng.integers(0, 4, n_rows).astype(float),
            "outcome": np.array(["10", "11", "9"])[y],
        }
    )
    frame.loc[n_rows - 5, ["ward", "outcome"]] = "D", "12"
    return frame


FEATURES = ["size", "ward", "smoker"]


def files_of(frame, folder, ending=".parquet", n_files=3):
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        path = folder / f"{number}{ending}"
        if ending == ".csv":
            frame.iloc[rows].to_csv(path, index=False)
        else:
            pq.write_table(pa.Table.from_pandas(frame.iloc[rows], preserve_index=False), path)
    return folder


# ---- score


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_score(tmp_path, ending):
    frame = make_frame()
    clf = BayesNetClassifier("nb", "map").fit(frame[FEATURES], frame["outcome"])
    folder = files_of(frame, tmp_path / "rows", ending)
    assert clf.score(folder, "outcome") == clf.score(frame[FEATURES], frame["outcome"])
    assert clf.score(iter([frame[:700], frame[700:]]), "outcome") == clf.score(
        frame[FEATURES], frame["outcome"]
    )
    assert clf.score(iter([(frame[FEATURES], frame["outcome"])])) == clf.score(
        frame[FEATURES], frame["outcome"]
    )
    expected = clf.score(frame[FEATURES], frame["outcome"], frame["w"])
    assert expected != clf.score(frame[FEATURES], frame["outcome"])
    assert clf.score(folder, "outcome", "w") == pytest.approx(expected, rel=1e-12)
    assert clf.score(folder, frame["outcome"], frame["w"].tolist()) == pytest.approx(
        expected, rel=1e-12
    )


def test_score_of_labels_that_the_fit_did_not_have():
    frame = make_frame(600)
    clf = BayesNetClassifier("nb", "map").fit(frame[FEATURES], frame["outcome"])
    odd = frame.assign(outcome=["other"] * 300 + frame["outcome"].tolist()[300:])
    assert clf.score(iter([odd]), "outcome") == clf.score(odd[FEATURES], odd["outcome"])
    with pytest.raises(
        ValueError, match="the classes of the fit are strings, those of y are numbers: cast y"
    ):
        clf.score(iter([frame.assign(outcome=1)]), "outcome")
    with pytest.raises(ValueError, match=r"there is no column 'Outcome' .the target."):
        clf.score(iter([frame]), "Outcome")
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        clf.score(iter([frame.assign(w=0)]), "outcome", "w")


# ---- partial_fit


def assert_same(found, expected, frame):
    assert found.network_.domain == expected.network_.domain
    assert found.structure_ == expected.structure_
    assert (
        found.network_.parameters.log_theta.tobytes()
        == expected.network_.parameters.log_theta.tobytes()
    )
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert np.array_equal(
        found.predict_proba(frame[FEATURES]), expected.predict_proba(frame[FEATURES])
    )


@pytest.mark.parametrize(
    ("ending", "weight", "settings"),
    [
        (".parquet", None, {"structure": "tan"}),
        (".csv", None, {"structure": "nb", "missing": "value"}),
        (".parquet", "w", {"structure": "kdb", "missing": "drop"}),
    ],
)
def test_partial_fit_of_files_is_that_of_their_batches(tmp_path, ending, weight, settings):
    frame = make_frame()
    folder = files_of(frame if weight else frame.drop(columns="w"), tmp_path / "rows", ending)
    clf = BayesNetClassifier(parameters="map", **settings)
    found = clone(clf).partial_fit(folder, "outcome", sample_weight=weight)
    expected, borders = clone(clf), sorted({0, *range(512, 2000, 512), 667, 1334, 2000})
    y = frame["outcome"].astype(int) if ending == ".csv" else frame["outcome"]
    for first, last in pairwise(borders):
        weights = None if weight is None else frame["w"][first:last]
        expected.partial_fit(frame[FEATURES][first:last], y[first:last], sample_weight=weights)
    assert_same(found, expected, frame)
    assert found.network_.domain.target.name == "outcome"
    found.partial_fit(folder, "outcome", sample_weight=weight)
    expected.partial_fit(frame[FEATURES], y, sample_weight=None if weight is None else frame["w"])
    assert_same(found, expected, frame)


def test_partial_fit_with_a_domain_is_fit():
    frame = make_frame()
    domain = BayesNetClassifier("nb", "map").fit(frame[FEATURES], frame["outcome"]).network_.domain
    clf = BayesNetClassifier("tan", "map", domains=domain)
    batches = (
        (frame[FEATURES][k : k + 300], frame["outcome"][k : k + 300]) for k in range(0, 2000, 300)
    )
    assert_same(
        clone(clf).partial_fit(batches), clone(clf).fit(frame[FEATURES], frame["outcome"]), frame
    )


def test_classes_that_are_declared():
    frame = make_frame(600)
    clf = BayesNetClassifier("nb", "map")
    clf.partial_fit(
        iter([frame[:100].drop(columns="w")]), "outcome", classes=["9", "10", "11", "12", "13"]
    )
    assert clf.classes_.tolist() == ["10", "11", "12", "13", "9"]
    with pytest.raises(
        ValueError, match=r"batch 0, from row 0 on: y holds classes that were not declared: 'new'"
    ):
        clf.partial_fit(iter([frame[100:].drop(columns="w").assign(outcome="new")]), "outcome")
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        clf.partial_fit(iter([frame]), "outcome", classes=["9"])


def test_a_bad_batch_changes_nothing():
    frame = make_frame(900).drop(columns="w")
    clf = BayesNetClassifier("nb", "map").partial_fit(iter([frame[:300]]), "outcome")
    before = clf.predict_proba(frame[FEATURES])
    bad = frame[600:].assign(size=np.inf)
    with pytest.raises(ValueError, match=r"batch 1, .*'size'"):
        clf.partial_fit(iter([frame[300:600], bad]), "outcome")
    with pytest.raises(
        ValueError, match="there is no column 'ward', which the model was learned from"
    ):
        clf.partial_fit(iter([frame.drop(columns="ward")]), "outcome")
    assert np.array_equal(clf.predict_proba(frame[FEATURES]), before)


def test_numbers_that_become_text_later_in_a_csv_file(tmp_path):
    rows = [f"{k % 7},{'u' if k % 2 else 'v'}" for k in range(90_000)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,y", *rows, "many,u", ""]))
    clf = BayesNetClassifier("nb", "map", memory="16MiB").partial_fit(tmp_path / "rows.csv", "y")
    assert clf.network_.domain.features[0].values == ("0", "1", "2", "3", "4", "5", "6", "many")
    assert clf.score(tmp_path / "rows.csv", "y") == pytest.approx(0.5, abs=0.05)


def test_iris_by_name(tmp_path):
    iris = load_dataset("iris")
    pd.DataFrame(iris.X).assign(species=iris.y).sample(frac=1, random_state=0).to_csv(
        tmp_path / "iris.csv", index=False
    )
    clf = BayesNetClassifier("nb", "map").partial_fit(tmp_path / "iris.csv", "species")
    expected = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
    assert clf.score(tmp_path / "iris.csv", "species") == expected.score(iris.X, iris.y)

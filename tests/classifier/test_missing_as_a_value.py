"""With missing="value" a missing value is a value of its column: at fit and at predict, wherever
rows come from.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discbayes import BayesNetClassifier, BayesNetEnsemble, load, read_bif
from discbayes.data import FrameEncoder, Variable
from discbayes.data.growing_domain import difference
from discbayes.io.document import checksum


def rows(n=400, seed=0):
    """The marker is missing in 90 % of class 1 and never in class 0; the town is missing now and
    then.
    """
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    marker = rng.integers(0, 2, n).astype(object)
    marker[(y == 1) & (rng.random(n) < 0.9)] = None
    town = np.where(rng.random(n) < 0.6, y, 1 - y).astype(object)
    town = np.array(["Graz", "Linz"], object)[town.astype(int)]
    town[rng.random(n) < 0.1] = None
    frame = pd.DataFrame(
        {"marker": pd.Series(marker, dtype=object).map({0: "low", 1: "high"}), "town": town}
    )
    return frame.astype(object).where(frame.notna(), None), y


def share_of_one(X, y, known):
    """P(class 1 | known) of naive Bayes with one virtual row over each table, by counting; missing
    is a value.
    """
    odds = 1.0
    for name, value in known.items():
        column = X[name].fillna("(missing)")
        n_values = column.nunique()
        value = "(missing)" if value is None else value
        at = [((column == value) & (y == c)).sum() for c in (0, 1)]
        of = [(y == c).sum() for c in (0, 1)]
        virtual = 1 / (2 * n_values)
        odds *= ((at[1] + virtual) / (of[1] + n_values * virtual)) / (
            (at[0] + virtual) / (of[0] + n_values * virtual)
        )
    return odds / (1 + odds)


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    return BayesNetClassifier("nb", "map", missing="value").fit(X, y), X, y


UNKNOWN_MARKER = pd.DataFrame({"marker": [None], "town": ["Graz"]})
CASES = [
    {"marker": None},
    {"marker": "low"},
    {"marker": None, "town": "Graz"},
    {"marker": "high", "town": None},
    {},
]


@pytest.mark.parametrize("known", CASES)
def test_a_mapping_says_what_is_missing_and_leaves_out_what_is_unknown(fitted, known):
    clf, X, y = fitted
    expected = share_of_one(X, y, known)
    assert clf.predict_proba(known)[0, 1] == pytest.approx(expected, abs=1e-9)
    assert clf.network_.query("class", known).probabilities[1] == pytest.approx(expected, abs=1e-9)
    assert share_of_one(X, y, {"marker": None}) > 0.99


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_pandas, pl.from_pandas])
def test_every_kind_of_table(fitted, make):
    clf, X, y = fitted
    some = X[150:250]
    expected = [share_of_one(X, y, row) for row in some.to_dict("records")]
    np.testing.assert_allclose(clf.predict_proba(make(some))[:, 1], expected, atol=1e-9)


def test_files_and_batches(fitted, tmp_path):
    clf, X, y = fitted
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    X.to_csv(tmp_path / "rows.csv", index=False)
    read = BayesNetClassifier("nb", "map", missing="value").fit(tmp_path / "rows.parquet", "y")
    expected = clf.predict_proba(X)
    for one in (clf, read):
        np.testing.assert_array_equal(one.predict_proba(tmp_path / "rows.parquet"), expected)
        np.testing.assert_array_equal(one.predict_proba(tmp_path / "rows.csv"), expected)
        assert one.score(tmp_path / "rows.parquet", "y") == clf.score(X, y) > 0.9


@pytest.mark.parametrize("missing", ["available", "drop"])
def test_others_marginalize_missing_values(missing):
    X, y = rows()
    clf = BayesNetClassifier("nb", "map", missing=missing).fit(X, y)
    np.testing.assert_array_equal(
        clf.predict_proba(UNKNOWN_MARKER), clf.predict_proba({"town": "Graz"})
    )


def test_a_column_without_missing_values_at_fit_marginalizes_them():
    X, y = rows()
    clf = BayesNetClassifier("nb", "map", missing="value").fit(
        X.assign(town=X["town"].fillna("Wels")), y
    )
    known = clf.predict_proba({"marker": "low"})
    np.testing.assert_array_equal(clf.predict_proba({"marker": "low", "town": None}), known)
    np.testing.assert_array_equal(clf.predict_proba({"marker": "low", "town": "Bregenz"}), known)


def test_an_unseen_value_is_unknown_and_not_missing(fitted):
    clf, _, _ = fitted
    np.testing.assert_array_equal(clf.predict_proba({"marker": "odd"}), clf.predict_proba({}))
    codes = clf.encode(pd.DataFrame({"marker": ["odd", None], "town": [None, "Graz"]}))
    assert codes.tolist() == [[3, 2], [2, 0]]


def test_numbers(fitted):
    _, X, y = fitted
    numbers = X.assign(marker=X["marker"].map({"low": 1.0, "high": 2.0}))
    clf = BayesNetClassifier("nb", "map", missing="value").fit(numbers, y)
    assert clf.predict_proba({"marker": np.nan})[0, 1] == pytest.approx(
        share_of_one(X, y, {"marker": None})
    )


def test_held_out_rows_are_read_as_rows_to_predict(monkeypatch):
    """What calibrates is what prediction says, so that a missing value is its value there too."""
    X, y = rows()
    seen = []
    transform = FrameEncoder.transform
    monkeypatch.setattr(
        FrameEncoder, "transform", lambda *given: seen.append(transform(*given)) or seen[-1]
    )
    clf = BayesNetClassifier(
        "nb", "map", missing="value", calibrate="temperature", calibrate_folds=2
    ).fit(X, y)
    assert len(seen) == 2
    cards = clf.network_.domain.cards[:, None]
    assert sum((codes == cards - 1).sum() for codes in seen) == X.isna().to_numpy().sum()
    assert not any((codes == cards).any() for codes in seen)


def test_explanations_and_questions(fitted):
    clf, _, _ = fitted
    found = clf.explain({"marker": None})
    assert found.known.tolist() == [[True, False]]
    assert "marker (missing)" in found.text().replace(" is", "").replace(" =", "")
    assert clf.value_of_information({"marker": None}).names == ["town"]
    asked = clf.value_of_information({"town": "Graz"})
    assert asked.names == ["marker"]
    assert asked.joints[0].shape == (3, 2)  # low, high and missing may come
    change = clf.counterfactual({"marker": None, "town": "Graz"})
    assert all(name == "town" for name, _, _ in change.changes)  # what is missing stays missing


def test_filling_keeps_to_real_values(fitted):
    clf, X, y = fitted
    assert set(clf.network_.fill(X)["marker"]) == {"low", "high"}
    nothing = BayesNetClassifier("nb", "map", missing="value").fit(X.assign(empty=None), y)
    assert nothing.network_.fill(X[:5].assign(empty=None))["empty"].isna().all()


def test_parts(fitted):
    clf, X, y = fitted
    parts = (
        BayesNetClassifier("nb", "map", missing="value")
        .partial_fit(X[::2], y[::2])
        .partial_fit(X[1::2], y[1::2])
    )
    np.testing.assert_allclose(parts.predict_proba(X), clf.predict_proba(X), atol=1e-12)


def test_files_of_models_say_it(fitted, tmp_path):
    clf, X, _ = fitted
    clf.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.network_.domain == clf.network_.domain
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    clf.network_.to_bif(tmp_path / "net.bif")
    read = read_bif(tmp_path / "net.bif")
    assert read.domain == clf.network_.domain
    np.testing.assert_allclose(read.posterior(X), clf.predict_proba(X), atol=1e-12)


def test_files_of_version_0_1_0_marginalize_as_they_did(fitted, tmp_path):
    """There the field is true or false; tests/released has such files, with their answers."""
    clf, X, y = fitted
    path = tmp_path / "model.json"
    clf.save(path)
    document = json.loads(path.read_text())
    for variable in document["model"]["domain"]["features"]:
        assert variable["missing_value"] == "read"
        variable["missing_value"] = True
    document["model"].pop("tallies", None)
    document["sha256"] = checksum(document)
    path.write_text(json.dumps(document))
    old = load(path)
    assert all(variable.marginalized for variable in old.network_.domain.features)
    np.testing.assert_array_equal(
        old.predict_proba(UNKNOWN_MARKER), old.predict_proba({"town": "Graz"})
    )
    old.save(tmp_path / "again.json")
    assert load(tmp_path / "again.json").network_.domain == old.network_.domain
    assert "that prediction marginalizes there only" in difference(
        clf.network_.domain, old.network_.domain
    )
    # a new fit reads them
    np.testing.assert_array_equal(old.fit(X, y).predict_proba(X), clf.predict_proba(X))


def test_the_variable_knows():
    assert Variable("a", "categorical", ("u",), missing_value=True).reads_missing
    assert not Variable(
        "a", "categorical", ("u",), missing_value=True, marginalized=True
    ).reads_missing
    assert not Variable("a", "categorical", ("u",)).reads_missing


# ---- usual and unusual missing values


def records(n, seed, missing=True):
    """Six columns that tell the class a bit; three are missing together in half of class 1, and
    now and then in class 0, or none is.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.where(rng.random((n, 6)) < 0.7, y[:, None], 1 - y[:, None]).astype(float)
    X[:, :3][missing & (rng.random(n) < np.where(y == 1, 0.5, 0.05))] = np.nan
    return pd.DataFrame(X, columns=list("abcdef")), y


def log_loss(clf, X, y):
    return -clf.predict_log_proba(X)[np.arange(len(y)), y].mean()


@pytest.fixture(scope="module")
def chosen():
    X, y = records(800, 0)
    fits = {name: BayesNetClassifier(missing=name).fit(X, y) for name in ("value", "available")}
    return BayesNetClassifier().fit(X, y), fits


def test_usual_missing_values_are_evidence(chosen):
    clf, fits = chosen
    assert clf.history_[0]["missing"] == "value"
    assert clf.calibration_.unusual > fits["value"].calibration_.unusual == 0
    X, y = records(1000, 1)
    usual = clf.calibration_.usual(clf.encode(X))
    assert (usual[X["a"].notna()] == 1).all()
    assert usual.min() > 0.9
    np.testing.assert_allclose(clf.predict_proba(X), fits["value"].predict_proba(X), atol=0.03)
    assert log_loss(clf, X, y) < log_loss(fits["available"], X, y)
    # the generative estimates, which marginalize, do not know what "missing" tells
    generative = copy.copy(fits["available"])
    generative.calibration_ = replace(generative.calibration_, exponent=8.0)
    assert log_loss(clf, X, y) < log_loss(generative, X, y) - 0.05


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_unusual_missing_values_are_marginalized(chosen, share):
    clf, fits = chosen
    X, y = records(4000, 2, missing=False)
    X = X.mask(np.random.default_rng(3).random(X.shape) < share)
    losses = {name: log_loss(one, X, y) for name, one in fits.items()}
    assert log_loss(clf, X, y) < losses["available"] + 0.02 < losses["value"] - 0.1


def test_missing_values_are_usual_together_and_with_the_columns_of_the_training_rows(chosen):
    clf, _ = chosen
    full = records(100, 6, missing=False)[0]

    def usual(*names):
        X = full.assign(**dict.fromkeys(names, np.nan))
        return clf.calibration_.usual(clf.encode(X))

    assert (usual() == 1).all()
    assert (usual("e") == 1).all()  # no missing value is read
    assert usual("a", "b", "c").min() > 0.9
    assert (usual("a") < usual("a", "b", "c") - 0.1).all()  # alone it never was
    assert usual("a", "e").max() < 0.05  # nor was the other one ever


def test_how_usual_missing_values_are_by_counting(chosen):
    """By Bayes' rule, from the sum over all values of the columns that are not known."""
    clf, _ = chosen
    pool = clf.calibration_
    network = pool.generative
    codes = clf.encode(pd.DataFrame([[np.nan] * 3 + [1.0, 0.0, np.nan]], columns=list("abcdef")))
    assert codes[:, 0].tolist() == [2, 2, 2, 1, 0, 2]  # the last one has no value "missing"
    known = np.exp([network.log_joint_of(with_last(codes, v))[0] for v in range(2)]).sum()
    there = np.array(list(np.ndindex(2, 2, 2, 2))).T
    filled = np.tile(codes, 16)
    filled[[0, 1, 2, 5]] = there
    # each value that is there, given that it is: its table divided by what is left of it
    joint = np.exp(pool.observed.log_joint_of(filled)).sum()
    patterns = 7 * 15  # zero to six missing values, four of six columns
    odds = 0.9 * 0.001 * known / (0.1 * joint / patterns)
    assert pool.usual(codes)[0] == pytest.approx(odds / (1 + odds), rel=1e-9)
    shares = np.exp(pool.observed.parameters.log_table(0)).sum(axis=-2)
    np.testing.assert_allclose(shares, 1.0)


def with_last(codes, value):
    found = codes.copy()
    found[-1] = value
    return found


def test_files_tell_whether_unusual_missing_values_are_marginalized(chosen, tmp_path):
    clf = chosen[0]
    X = records(200, 4)[0].mask(np.random.default_rng(5).random((200, 6)) < 0.3)
    path = tmp_path / "model.json"
    clf.save(path)
    np.testing.assert_array_equal(load(path).predict_proba(X), clf.predict_proba(X))
    document = json.loads(path.read_text())
    assert document["model"]["calibration"].pop("unusual") == clf.calibration_.unusual
    document["sha256"] = checksum(document)
    path.write_text(json.dumps(document))  # as it was before there was the field
    np.testing.assert_allclose(
        load(path).calibration_.weights_of(clf.encode(X))[0],
        replace(clf.calibration_, unusual=0.0).weights_of(clf.encode(X))[0],
    )


def test_members_of_an_ensemble_tell_them_apart_too():
    X, y = records(500, 0)
    clf = BayesNetEnsemble(2, random_state=0).fit(X, y)
    assert all(member.calibration_.unusual > 0 for member in clf.members_)
    asked = BayesNetEnsemble(2, missing="value", random_state=0).fit(X, y)
    assert not any(member.calibration_.unusual for member in asked.members_)
    alone = pd.DataFrame([[np.nan, 1, 1, 1, 1, 1]], columns=list("abcdef"), dtype=float)
    found = clf.explain(alone)
    total = found.base_of(0) + np.nansum(found.contributions[0], axis=0)
    np.testing.assert_allclose(total, found.log_odds[0], atol=1e-9)


def test_the_report_says_so(chosen, tmp_path):
    clf, fits = chosen
    texts = []
    for one in (clf, fits["value"]):
        one.report(tmp_path / "report.html")
        texts.append((tmp_path / "report.html").read_text(encoding="utf-8"))
    words = "evidence in rows whose missing values are like those of the training rows"
    assert words in texts[0]
    assert words not in texts[1]
    assert "how usual they are" in texts[0]
    assert "how usual they are" not in texts[1]

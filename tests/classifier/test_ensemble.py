"""Ensembles of networks: the pool against enumeration, explanations, determinism, sources."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from discbayes import BayesNetClassifier, BayesNetEnsemble, load_dataset
from discbayes.calibration import log_odds


def rows(n_rows=90, seed=0, n_classes=3):
    """Numbers and text of which some are missing, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    size = rng.normal(size=n_rows) + y
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, size),
            "color": np.array(["red", "blue", "green"])[(y + rng.integers(0, 2, n_rows)) % 3],
            "width": size + rng.normal(size=n_rows),
        }
    )
    return frame, np.array(["lo", "mid", "top"])[y]


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    return BayesNetEnsemble(3, random_state=0).fit(X, y)


def missing(X, share=0.4, seed=1):
    return X.mask(np.random.default_rng(seed).random(X.shape) < share)


# ---- an oracle: every member by enumeration over the missing values


def enumerated(network, codes):
    """The log-joint of a row by a sum over all values of its missing features."""
    cards = network.domain.cards
    spaces = [range(cards[i]) if code >= cards[i] else [code] for i, code in enumerate(codes)]
    full = np.array(list(itertools.product(*spaces))).T
    return np.logaddexp.reduce(network.log_joint_of(full.astype(np.int64)), axis=0)


def pooled_by_hand(clf, X):
    b, total = np.log(clf.class_shares_), 0.0
    for member in clf.members_:
        codes, pool = member.encode(X), member.calibration_
        found = []
        for row in codes.T:
            used = member.network_.domain.cards > 1
            share = np.mean((row >= member.network_.domain.cards)[used])
            beyond = max(share - pool.usual_missing, 0) / (1 - pool.usual_missing)
            weight, scale = (1 - beyond) ** 8, pool.scale ** (1 - share)
            own, generative = (enumerated(n, row) for n in (member.network_, pool.generative))
            mixed = weight * own + (1 - weight) * (b + scale * (generative - b))
            found.append(mixed - np.logaddexp.reduce(mixed))
        total = total + np.array(found)
    scores = b + clf.scale_ * (total / len(clf.members_) - b)
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def test_the_posterior_is_the_mean_of_enumerated_log_posteriors(fitted):
    X = missing(rows(20, seed=3)[0])
    assert np.allclose(fitted.predict_log_proba(X), pooled_by_hand(fitted, X), atol=1e-10)
    assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1)


def test_complete_rows_do_not_ask_the_generative_estimates():
    X, y = rows()
    X = X.dropna()
    clf = BayesNetEnsemble(2, random_state=0).fit(X, y[X.index])
    mean = np.mean(
        [
            one.network_.log_joint_of(one.encode(X))
            - np.logaddexp.reduce(one.network_.log_joint_of(one.encode(X)), axis=1)[:, None]
            for one in clf.members_
        ],
        axis=0,
    )
    b = np.log(clf.class_shares_)
    scores = b + clf.scale_ * (mean - b)
    scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
    assert np.allclose(clf.predict_log_proba(X), scores, atol=1e-10)


# ---- explanations


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_contributions_add_up_to_the_log_odds(n_classes, share):
    X, y = rows(n_classes=n_classes)
    clf = BayesNetEnsemble(2, random_state=0).fit(X, y)
    X = missing(X, share)
    found = clf.explain(X)
    total = found.base + np.nansum(found.contributions, axis=1)
    assert np.allclose(total, found.log_odds, atol=1e-10)
    log_posterior = clf.predict_log_proba(X)
    assert np.allclose(found.log_odds, log_odds(log_posterior), atol=1e-8)
    assert np.allclose(found.posterior, np.exp(log_posterior))
    assert np.array_equal(np.isnan(found.contributions[:, :, 0]), X.isna())


def test_contributions_against_a_class_are_the_scaled_mean_of_the_members(fitted):
    X = missing(rows(20, seed=3)[0])
    found = fitted.explain(X, against="mid")
    mean = np.mean([one.explain(X, against="mid").contributions for one in fitted.members_], axis=0)
    assert np.allclose(found.contributions, fitted.scale_ * mean, atol=1e-10, equal_nan=True)
    log_posterior = fitted.predict_log_proba(X)
    assert np.allclose(found.log_odds, log_posterior - log_posterior[:, [1]], atol=1e-10)


def test_an_explanation_shows_values_as_they_were_given(fitted):
    text = repr(fitted.explain(pd.DataFrame({"size": [2.5], "color": ["red"], "width": [np.nan]})))
    for part in ("size = 2.5: ", "color = red: ", "unknown: width"):
        assert part in text
    frame = fitted.explain(rows(2)[0]).to_frame("pandas")
    assert len(frame) == 2 * 3 * 3
    assert frame["given"].isna().all()
    with pytest.raises(ValueError, match=r"members_\[0\]"):
        fitted.explain(rows(2)[0]).relevance()


# ---- determinism and settings


def test_results_do_not_depend_on_threads_and_follow_from_the_seed(fitted):
    X, y = rows()
    other = clone(fitted).set_params(n_jobs=3).fit(X, y)
    assert (other.predict_proba(X) == fitted.predict_proba(X)).all()
    differs = clone(fitted).set_params(random_state=1).fit(X, y)
    assert (differs.predict_proba(X) != fitted.predict_proba(X)).any()


def test_the_first_members_are_the_same_in_any_number():
    few = BayesNetEnsemble(2, random_state=0).member_plans()
    many = BayesNetEnsemble(5, random_state=0).member_plans()
    for one, other in zip(few, many, strict=False):
        assert repr(one.structure) == repr(other.structure)
        assert repr(one.encoder.discretizer) == repr(other.encoder.discretizer)


def test_members_can_be_asked_alone_and_differ(fitted):
    assert all(isinstance(one, BayesNetClassifier) for one in fitted.members_)
    assert len({repr(one.discretizer) for one in fitted.members_}) == 3
    X, _ = rows()
    assert fitted.members_[0].predict_proba(X).shape == (90, 3)


@pytest.mark.parametrize("n_members", [0, -1, 1.5, 1001, "many"])
def test_a_number_of_members_that_is_none_is_refused(n_members):
    X, y = rows()
    with pytest.raises(ValueError, match=r"n_members=.* must be a whole number from 1 to 1000"):
        BayesNetEnsemble(n_members).fit(X, y)


def test_weights_are_rows_and_zero_weights_are_none():
    X, y = rows(60)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    weighted = BayesNetEnsemble(2, random_state=0).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(60), weight)
    repeated = BayesNetEnsemble(2, random_state=0).fit(X.iloc[again], y[again])
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_class_shares_at_fit_and_at_prediction_time(fitted):
    X, y = rows()
    prior = [0.6, 0.3, 0.1]
    found = np.exp(fitted.predict_log_proba(X) - np.log(fitted.class_shares_)) * prior
    found /= found.sum(axis=1, keepdims=True)
    assert np.allclose(fitted.predict_proba(X, class_prior=prior), found)
    shifted = BayesNetEnsemble(2, class_prior=prior, random_state=0).fit(X, y)
    assert np.allclose(shifted.class_shares_, prior)
    nothing = pd.DataFrame({name: [None] for name in X})
    assert np.allclose(shifted.predict_proba(nothing), prior, atol=0.02)


def test_one_class_is_all_that_can_be_predicted():
    X, _ = rows(30)
    clf = BayesNetEnsemble(2).fit(X, ["one"] * 30)
    assert clf.predict(X).tolist() == ["one"] * 30
    assert np.isinf(clf.explain(X).log_odds).all()


def test_two_rows_are_enough():
    clf = BayesNetEnsemble(2, random_state=0).fit([[1.0], [2.0]], ["a", "b"])
    assert clf.predict_proba([[1.0]]).shape == (1, 2)


def test_costs_decide(fitted):
    X, _ = rows()
    assert set(fitted.predict(X, costs={"top": {"lo": 1e6, "mid": 1e6}})) == {"top"}
    assert fitted.expected_costs(X, np.eye(3)).shape == (90, 3)


# ---- edges


def test_edge_frequencies_count_the_edges_of_members():
    wine = load_dataset("wine")
    clf = BayesNetEnsemble(4, random_state=0).fit(wine.X, wine.y)
    edges = clf.edge_frequencies("pandas")
    for edge in edges.itertuples():
        members = [edge[1:3] in one.network_.edges() for one in clf.members_]
        assert edge.share == np.mean(members)
    assert edges["share"].is_monotonic_decreasing
    for share in (0.01, 0.5, 1.0):
        structure = clf.consensus(share)
        assert structure.order  # it has no cycle
        either = {tuple(sorted(edge[1:3])) for edge in edges.itertuples() if edge.either >= share}
        assert structure.n_edges <= len(either)
    BayesNetClassifier(clf.consensus(), "map").fit(wine.X, wine.y)


# ---- sources, scikit-learn


def test_rows_that_are_read_give_the_same_bits(tmp_path, fitted):
    X, y = rows()
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(X.assign(grade=y)), path, row_group_size=20)
    read = clone(fitted).fit(path, y="grade")
    assert (read.predict_proba(X) == fitted.predict_proba(X)).all()
    assert (read.predict_proba(path) == fitted.predict_proba(X)).all()
    assert read.score(path, "grade") == fitted.score(X, y)
    once = clone(fitted).fit((X[k : k + 30], y[k : k + 30]) for k in (0, 30, 60))
    assert (once.predict_proba(X) == fitted.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks():
    results = check_estimator(BayesNetEnsemble(2), on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert not failed

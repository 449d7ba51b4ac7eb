"""The estimator: scikit-learn's own checks over the registry, data of every kind, weights, priors,
gaps, bad input.
"""

from __future__ import annotations

import pickle
import warnings

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import discbayes
from discbayes import (
    KDB,
    BayesNetClassifier,
    EstimateWarning,
    MaximumAPosteriori,
    SpanningTree,
    Structure,
    TooManyCellsError,
)
from discbayes.parameters import PARAMETERS
from discbayes.search import STRUCTURES, Annealing

UNCOMPILED = bool(numba.config.DISABLE_JIT)
# annealing to its end takes seconds even on little data: here it is about what all learners have in
# common
SHORT_ANNEALING = Annealing(max_tries=20, max_successes=5, max_rejections=30)
LEARNERS = [(s if s != "anneal" else SHORT_ANNEALING, "map") for s in STRUCTURES]
LEARNERS += [("tan", p) for p in PARAMETERS] + [(KDB(k=2), "map"), ("auto", "auto")]
# discriminative frequencies go through the rows in their order, and a row of weight two once: not
# as the row twice
BY_ORDER = ("dfe",)


@pytest.fixture
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture
def mixed():
    """A table as people have them: numbers, text, categories, booleans, gaps."""
    rng = np.random.default_rng(0)
    n = 300
    sick = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "age": np.where(sick, rng.normal(60, 8, n), rng.normal(45, 12, n)).round(1),
            "city": rng.choice(["Graz", "Wien", "Linz"], n),
            "smoker": np.where(rng.random(n) < 0.7, sick, ~sick),
            "grade": pd.Categorical(
                rng.choice(["low", "high"], n), categories=["low", "mid", "high"]
            ),
            "visits": rng.integers(0, 6, n) + 3 * sick,
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    return frame, np.where(sick, "sick", "well")


# ---- scikit-learn


@pytest.mark.skipif(UNCOMPILED, reason="scikit-learn's checks are for the compiled library")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("structure, parameters", LEARNERS, ids=str)
def test_scikit_learn_checks_pass_without_exception(structure, parameters):
    results = check_estimator(BayesNetClassifier(structure, parameters), on_fail=None)
    bad = [(r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")]
    if parameters in BY_ORDER:
        bad = [
            (name, exception) for name, exception in bad if "sample_weight_equivalence" not in name
        ]
    assert not bad
    assert len(results) > 50


def test_the_checks_are_of_the_default_too():
    assert ("auto", "auto") in LEARNERS
    assert BayesNetClassifier("auto", "auto").get_params() == BayesNetClassifier().get_params()


def test_pipeline_grid_search_and_parallel_cross_validation(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), BayesNetClassifier())
    assert cross_val_score(pipeline, X, y, cv=3, n_jobs=2).mean() > 0.9
    grid = GridSearchCV(
        BayesNetClassifier(KDB(), MaximumAPosteriori()),
        {"structure__k": [0, 1, 2], "parameters__strength": [0.5, 1.0]},
        cv=3,
    ).fit(X, y)
    assert grid.best_score_ > 0.9
    assert isinstance(grid.best_estimator_.structure, KDB)


def test_clone_and_pickle_fitted_or_not(iris):
    X, y = iris
    for clf in (BayesNetClassifier(KDB(k=2)), BayesNetClassifier(KDB(k=2)).fit(X, y)):
        again = pickle.loads(pickle.dumps(clf))
        assert repr(clone(again)) == repr(clone(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_fit_changes_nothing_that_the_user_gave(iris):
    X, y = iris
    learner = SpanningTree()
    before = X.copy()
    BayesNetClassifier(
        learner, discretizer=KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    ).fit(X, y)
    assert vars(learner) == vars(SpanningTree())
    pd.testing.assert_frame_equal(X, before)


def test_metadata_routing_of_weights_and_prior(iris):
    X, y = iris
    weight = np.where(y == "setosa", 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = (
            BayesNetClassifier()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=False)
        )
        grid = GridSearchCV(clf, {"structure": ["nb", "tan"]}, cv=3).fit(X, y, sample_weight=weight)
    expected = BayesNetClassifier(grid.best_params_["structure"]).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(grid.predict_proba(X), expected.predict_proba(X))


def test_html_shows_the_network(iris):
    assert "petal width" not in BayesNetClassifier()._repr_mimebundle_()["text/html"]
    fitted = BayesNetClassifier().fit(*iris)
    for page in (
        fitted._repr_html_(),
        fitted._repr_mimebundle_()["text/html"],
        fitted.network_._repr_html_(),
    ):
        assert "petal width" in page
        assert "<svg" in page


# ---- learning


@pytest.mark.parametrize(
    "structure, parameters", [pair for pair in LEARNERS if pair[1] not in BY_ORDER], ids=str
)
def test_weights_are_repetitions_and_zeros_are_absence(mixed, structure, parameters):
    X, y = mixed
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    one = BayesNetClassifier(structure, parameters, random_state=0).fit(X, y, sample_weight=weight)
    two = BayesNetClassifier(structure, parameters, random_state=0).fit(
        X.iloc[repeated], y[repeated]
    )
    assert one.network_.domain == two.network_.domain
    assert one.structure_ == two.structure_
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-12)


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # a bit that differs is there in a few steps
@pytest.mark.parametrize("structure, parameters", LEARNERS, ids=str)
def test_threads_change_no_bit(structure, parameters):
    X, y = make_classification(
        3000 if not UNCOMPILED else 80, 12, n_informative=8, n_classes=3, flip_y=0.1, random_state=0
    )
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    learner = parameters if parameters == "auto" else PARAMETERS[parameters]()
    if parameters != "auto" and "max_iter" in learner.get_params():
        learner.set_params(max_iter=15)
    one, two = (
        BayesNetClassifier(structure, learner, n_jobs=jobs, random_state=0).fit(X, y)
        for jobs in (1, 2)
    )
    assert one.structure_ == two.structure_
    np.testing.assert_array_equal(
        one.network_.parameters.log_theta, two.network_.parameters.log_theta
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_order_of_rows_and_columns_changes_nothing(mixed):
    X, y = mixed
    rows, columns = np.random.default_rng(0).permutation(len(y)), list(reversed(X.columns))
    one = BayesNetClassifier().fit(X, y)
    two = BayesNetClassifier().fit(X[columns].iloc[rows], y[rows])
    assert set(map(frozenset, one.network_.edges())) == set(map(frozenset, two.network_.edges()))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X[columns]), atol=1e-12)


@pytest.mark.parametrize("parameters", ["map", "hybrid"])
def test_class_weight_moves_the_prior_and_not_the_cuts(mixed, parameters):
    X, y = mixed
    plain = BayesNetClassifier("tan", parameters).fit(X, y)
    balanced = BayesNetClassifier("tan", parameters, class_weight="balanced").fit(X, y)
    if parameters == "map":  # the prior of the other is a parameter like all others
        np.testing.assert_allclose(
            np.exp(balanced.network_.parameters.log_prior), [0.5, 0.5], atol=1e-3
        )
    assert plain.network_.domain == balanced.network_.domain
    dictionary = BayesNetClassifier("tan", parameters, class_weight={"sick": 3, "well": 1}).fit(
        X, y
    )
    assert (dictionary.predict(X) == "sick").sum() > (plain.predict(X) == "sick").sum()
    with pytest.raises(ValueError, match="negative"):
        BayesNetClassifier(class_weight={"sick": -1, "well": 1}).fit(X, y)


def test_given_prior_and_prior_shift(mixed):
    X, y = mixed
    fixed = BayesNetClassifier("tan", "map", class_prior=[0.9, 0.1]).fit(X, y)
    np.testing.assert_allclose(np.exp(fixed.network_.parameters.log_prior), [0.9, 0.1])
    plain = BayesNetClassifier("tan", "map").fit(X, y)
    np.testing.assert_allclose(
        plain.predict_proba(X, class_prior=[0.9, 0.1]), fixed.predict_proba(X), atol=1e-12
    )
    np.testing.assert_array_equal(plain.predict(X, class_prior=[0.9, 0.1]), fixed.predict(X))
    only = plain.predict_proba(X, class_prior=[1.0, 0.0])
    np.testing.assert_array_equal(only, np.tile([1.0, 0.0], (len(y), 1)))
    for bad in ([0.5, 0.6], [1.0], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="class_prior"):
            plain.predict_proba(X, class_prior=bad)


GENERATIVE = {name for name, make in PARAMETERS.items() if hasattr(make(), "prior_is_shares")}


@pytest.mark.parametrize("parameters", sorted(set(PARAMETERS) - GENERATIVE))
def test_a_learned_prior_changes_as_the_shares_do(mixed, parameters, tmp_path):
    X, y = mixed
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    shares = (
        np.array([weight[np.asarray(y) == label].sum() for label in np.unique(y)]) / weight.sum()
    )
    settings = {"structure": "tan", "parameters": parameters, "calibrate": None, "random_state": 0}
    plain = BayesNetClassifier(**settings).fit(X, y, weight)
    same = BayesNetClassifier(**settings, class_prior=shares.tolist()).fit(X, y, weight)
    logs = plain.predict_log_proba(X)
    np.testing.assert_allclose(same.predict_log_proba(X), logs, atol=1e-9)
    other = [0.02, 0.98]
    moved = logs + np.log(other) - np.log(shares)
    moved -= np.logaddexp.reduce(moved, axis=1, keepdims=True)
    fixed = BayesNetClassifier(**settings, class_prior=other).fit(X, y, weight)
    zero = BayesNetClassifier(**settings, class_prior=[0, 1]).fit(X, y, weight)
    fixed.save(tmp_path / "model.json")
    for clf in (plain, same, zero, discbayes.load(tmp_path / "model.json")):
        np.testing.assert_allclose(clf.predict_log_proba(X, class_prior=other), moved, atol=1e-9)
    np.testing.assert_allclose(fixed.predict_log_proba(X), moved, atol=1e-9)
    np.testing.assert_array_equal(zero.predict_proba(X)[:, 0], 0)


def test_the_shares_of_the_rows_as_a_prior_cost_a_discriminative_model_nothing(data_folder):
    nursery = discbayes.load_dataset("nursery")
    shares = np.unique(nursery.y, return_counts=True)[1] / len(nursery.y)
    settings = {"structure": "tan", "parameters": "ccbn-d", "calibrate": None}
    plain = BayesNetClassifier(**settings).fit(nursery.X, nursery.y)
    given = BayesNetClassifier(**settings, class_prior=shares).fit(nursery.X, nursery.y)
    assert plain.score(nursery.X, nursery.y) > 0.95
    np.testing.assert_array_equal(given.predict(nursery.X), plain.predict(nursery.X))


def test_a_prior_of_zero_at_fit_can_be_replaced(mixed):
    X, y = mixed
    zero = BayesNetClassifier("tan", "map", class_prior=[0, 1]).fit(X, y)
    even = BayesNetClassifier("tan", "map", class_prior=[0.5, 0.5]).fit(X, y)
    np.testing.assert_allclose(
        zero.predict_proba(X, class_prior=[0.5, 0.5]), even.predict_proba(X), atol=1e-12
    )
    np.testing.assert_array_equal(zero.predict_proba(X)[:, 0], 0)


@pytest.mark.parametrize("scale", [1e-3, 1e12, 1e18])
def test_the_structure_does_not_depend_on_the_scale_of_weights(scale):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 4))
    y = (X[:, 0] + X[:, 1] > 2).astype(int)
    one = BayesNetClassifier("tan", "map", discretizer=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two = BayesNetClassifier("tan", "map", discretizer=None).fit(
            X, y, sample_weight=np.full(300, scale)
        )
    assert one.structure_ == two.structure_
    np.testing.assert_allclose(
        [s["score"] for s in one.history_], [s["score"] for s in two.history_], rtol=1e-9
    )


def test_light_weights_are_spoken_of(iris):
    X, y = iris
    with pytest.warns(UserWarning, match="sum to 1.5 for 150 rows"):
        clf = BayesNetClassifier("tan", "hybrid").fit(X, y, sample_weight=np.full(150, 0.01))
    assert (clf.network_.domain.cards == 1).all()


def test_two_numbers_are_two_values_as_two_booleans_are(tmp_path):
    """However little they say of the class: in memory, in files, in batches, and in the folds of a
    calibration.
    """
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    flag = rng.random(600) < np.where(y == 1, 0.14, 0.06)
    expected = BayesNetClassifier("nb", "map", calibrate="isotonic").fit(
        pd.DataFrame({"a": flag}), y
    )
    assert np.ptp(expected.predict_proba({"a": True}) - expected.predict_proba({"a": False})) > 0.1
    for low, high in ((0, 1), (-2.5, 7.25)):
        frame = pd.DataFrame({"a": np.where(flag, high, low)})
        frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
        parts = (frame.assign(y=y)[start::4] for start in range(4))
        for rows in ((frame, y), (tmp_path / "rows.parquet", "y"), (parts, "y")):
            clf = BayesNetClassifier("nb", "map", calibrate="isotonic").fit(*rows)
            assert clf.network_.domain.features[0].cuts == ((low + high) / 2,)
            np.testing.assert_allclose(clf.predict_proba(frame)[:, 1].mean(), 0.5, atol=0.05)
            uncalibrated = clf.network_.posterior(frame)
            np.testing.assert_array_equal(
                uncalibrated, expected.network_.posterior(pd.DataFrame({"a": flag}))
            )


def test_numbered_columns_are_meant_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (200, 4)), columns=[3, 2, 1, 0])
    y = rng.integers(0, 2, 200)
    clf = BayesNetClassifier([(3, 2)], categorical=[3, 2]).fit(frame, y)
    assert clf.network_.edges() == [("3", "2")]
    assert [v.kind for v in clf.network_.domain.features] == [
        "categorical",
        "categorical",
        "numeric",
        "numeric",
    ]
    rooted = BayesNetClassifier(SpanningTree(root=3), discretizer=None).fit(frame, y)
    assert rooted.structure_.parents[0] == ()


def test_a_networkx_graph_is_a_structure(mixed):
    import networkx

    X, y = mixed
    graph = networkx.DiGraph([("class", name) for name in X.columns])
    graph.add_edge("age", "visits")
    clf = BayesNetClassifier(graph).fit(X, y)
    assert clf.network_.edges() == [("age", "visits")]


def test_log_probabilities_agree_with_probabilities(mixed):
    X, y = mixed
    clf = BayesNetClassifier(KDB(k=2)).fit(X, y)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), clf.predict_proba(X), atol=1e-12)
    joint = clf.predict_joint_log_proba(X)
    np.testing.assert_allclose(
        np.logaddexp.reduce(joint, axis=1), clf.network_.log_likelihood(X), atol=1e-9
    )
    assert log_loss(y, clf.predict_proba(X)) < 0.6


def test_known_structures_as_edges_structures_and_learners(mixed):
    X, y = mixed
    edges = [("age", "visits"), ("age", "smoker")]
    one = BayesNetClassifier(edges).fit(X, y)
    two = BayesNetClassifier(Structure.from_edges(edges, list(X.columns))).fit(X, y)
    assert sorted(one.network_.edges()) == sorted(edges)
    assert one.structure_ == two.structure_


def test_history_and_progress(mixed, capsys):
    X, y = mixed
    clf = BayesNetClassifier("tan", "map").fit(X, y)
    assert capsys.readouterr().err == ""
    step = {"edge", "score", "evaluations", "seconds"}
    assert [set(found) for found in clf.history_] == [step] * clf.structure_.n_edges
    BayesNetClassifier(verbose=2).fit(X, y)
    shown = capsys.readouterr().err
    assert "reading" in shown
    assert "edge" in shown


# ---- tables of every kind


def test_frames_of_every_kind_give_the_same_model(mixed):
    X, y = mixed
    plain = X.astype({"grade": "str"}).replace({"grade": {"nan": None}})
    unnamed = plain.set_axis([f"x{position}" for position in range(plain.shape[1])], axis=1)
    reference = BayesNetClassifier(KDB(k=2), "map").fit(plain, y)
    for frame in (pl.from_pandas(plain), pa.Table.from_pandas(plain), plain.to_numpy(dtype=object)):
        clf = BayesNetClassifier(KDB(k=2), "map").fit(frame, y)
        np.testing.assert_array_equal(clf.predict_proba(frame), reference.predict_proba(plain))
    for frame in (
        pl.from_pandas(unnamed),
        pa.Table.from_pandas(unnamed),
        plain.to_numpy(dtype=object),
    ):
        reference, clf = (BayesNetClassifier(KDB(k=2)).fit(given, y) for given in (unnamed, frame))
        np.testing.assert_array_equal(clf.predict_proba(frame), reference.predict_proba(unnamed))


@pytest.mark.parametrize("labels", [[1, 2], [True, False], ["a", "b"], [0.0, 3.0]])
def test_labels_keep_their_type(iris, labels):
    X, y = iris
    given = np.where(y == "setosa", labels[0], labels[1])
    clf = BayesNetClassifier().fit(X, given)
    assert clf.predict(X).dtype == given.dtype
    assert set(clf.predict(X)) == set(labels)


def test_many_classes_and_single_sample_classes():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (250, 6)), np.concatenate([np.arange(100), rng.integers(0, 100, 150)])
    parameters = "map" if UNCOMPILED else "hybrid"
    clf = BayesNetClassifier("tan", parameters, discretizer=None).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)
    assert clf.classes_.size == 100


def test_columns_with_many_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 1000, 4000), rng.integers(0, 3, 4000)]).astype(object)
    X[:, 0] = [f"v{v}" for v in X[:, 0]]
    y = rng.integers(0, 2, 4000)
    clf = BayesNetClassifier("tan", "map" if UNCOMPILED else "hybrid", discretizer=None).fit(X, y)
    assert clf.network_.domain.cards.max() > 900
    assert np.isfinite(clf.predict_log_proba(X)).all()


# ---- gaps and values never seen


def test_gaps_at_fit(mixed):
    X, y = mixed
    incomplete = X.isna().any(axis=1).to_numpy()
    dropped = BayesNetClassifier(missing="drop").fit(X, y)
    complete = BayesNetClassifier().fit(X[~incomplete], y[~incomplete])
    np.testing.assert_array_equal(dropped.predict_proba(X), complete.predict_proba(X))
    as_value = BayesNetClassifier(missing="value").fit(X, y)
    assert as_value.network_.domain.features[1].labels == ["Graz", "Linz", "Wien", "(missing)"]
    with pytest.raises(ValueError, match=r"'age' \(\d+\)"):
        BayesNetClassifier(missing="error").fit(X, y)


def test_available_cases_are_counted_one_by_one():
    X = np.array([[0, np.nan], [0, 1], [1, 1], [np.nan, 0], [1, 0], [1, np.nan]])
    y = np.array([0, 0, 0, 1, 1, 1])
    clf = BayesNetClassifier("nb", MaximumAPosteriori(strength=0), discretizer=None).fit(X, y)
    first, second = (np.exp(clf.network_.parameters.log_table(i)) for i in range(2))
    np.testing.assert_allclose(first, [[2 / 3, 0], [1 / 3, 1]])
    np.testing.assert_allclose(second, [[0, 1], [1, 0]])


def test_a_row_with_every_feature_missing_gets_the_class_prior(mixed):
    X, y = mixed
    nothing = X.iloc[:1].copy().astype(object)
    nothing.loc[:, :] = None
    for structure in ("nb", "tan", KDB(k=2)):
        clf = BayesNetClassifier(structure, "map").fit(X, y)
        np.testing.assert_allclose(
            clf.predict_proba(nothing)[0], np.exp(clf.network_.parameters.log_prior), atol=1e-12
        )


def test_values_never_seen_are_summed_out_or_refused(mixed):
    X, y = mixed
    odd, gap = X.iloc[:5].copy(), X.iloc[:5].copy()
    odd["city"], gap["city"] = "Salzburg", None
    clf = BayesNetClassifier().fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(odd), clf.predict_proba(gap))
    with pytest.raises(ValueError, match="'city' holds 'Salzburg'"):
        BayesNetClassifier(unknown="error").fit(X, y).predict(odd)


def test_a_column_whose_type_has_changed_is_spoken_of(mixed):
    X, y = mixed
    coded = X.assign(code=np.arange(len(y)) % 3).assign(code=lambda f: f["code"].astype(str))
    clf = BayesNetClassifier().fit(coded, y)
    with pytest.warns(UserWarning, match="no value of column 'code' was seen at fit"):
        clf.predict(coded.assign(code=np.arange(len(y)) % 3))
    # a few new values are nothing special
    clf.predict(coded.assign(code=np.arange(len(y)) % 3).iloc[:5])


def test_a_numeric_column_with_a_word_for_gaps_is_spoken_of():
    frame = pd.DataFrame({"size": [*map(str, range(40)), "?"] * 5, "colour": ["red"] * 205})
    with pytest.warns(UserWarning, match="'size' is text.*except '[?]'"):
        BayesNetClassifier().fit(frame, np.arange(205) % 2)


def test_settings_changed_after_the_fit_count(mixed):
    X, y = mixed
    clf = BayesNetClassifier(KDB(k=2)).fit(X, y)
    with pytest.raises(ValueError, match="Salzburg"):
        clf.set_params(unknown="error").predict(X.assign(city="Salzburg"))
    incomplete = X.assign(age=np.nan, city=None)
    with pytest.raises(TooManyCellsError):
        clf.set_params(max_cells=1, beyond_max_cells="raise").predict(incomplete)
    assert clf.set_params(beyond_max_cells=50).predict_proba(incomplete).shape == (len(y), 2)


def test_limits_of_version_0_1_go_on_working_with_a_warning(mixed):
    X, y = mixed
    with pytest.warns(FutureWarning, match="version 0.4: use max_cells=3$"):
        clf = BayesNetClassifier(KDB(k=2), "map", max_factor_size=3)
    with pytest.warns(FutureWarning, match="version 0.4: use beyond_max_cells='raise'$"):
        clf.set_params(n_draws=None)
    assert {"max_factor_size", "n_draws"}.isdisjoint(clf.get_params())
    assert (clone(clf).max_cells, clone(clf).beyond_max_cells) == (3, "raise")
    clf.fit(X, y)
    with pytest.warns(FutureWarning, match="use discbayes.TooManyCellsError"):
        old_error = discbayes.FactorTooLargeError
    with pytest.raises(old_error, match=r"cells, about .* seconds"):
        clf.predict(X.assign(age=np.nan, city=None))
    with pytest.warns(FutureWarning, match="use max_cells=200000000"):
        clf.max_factor_size = 1 << 23
    with pytest.warns(FutureWarning, match="the attribute max_factor_size"):
        assert clf.max_factor_size == 1 << 23
    with pytest.warns(FutureWarning, match="use beyond_max_cells=20"):
        clf.n_draws = 20
    with pytest.warns(FutureWarning, match="the attribute n_draws"):
        assert clf.n_draws == 20
    for invalid in ({"max_factor_size": 0}, {"n_draws": 2.5}):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            BayesNetClassifier(**invalid)


def test_an_answer_of_many_steps_warns_of_estimates_once(mixed):
    X, y = mixed
    clf = BayesNetClassifier(KDB(k=2), "map", max_cells=1).fit(X, y)
    incomplete = X.assign(age=np.nan, city=None).iloc[:3]
    answers = {
        "explain": lambda: clf.explain(incomplete),
        "relevance": lambda: clf.relevance(incomplete),
        "counterfactual": lambda: clf.counterfactual(incomplete.iloc[:1]),
        "value_of_information": lambda: clf.value_of_information(incomplete.iloc[:1]),
        "fill": lambda: clf.network_.fill(incomplete),
    }
    for name, answer in answers.items():
        with pytest.warns(EstimateWarning, match=r"^\d+ rows? .*would need more than") as w:
            answer()
        assert len(w) == 1, name


def test_declared_domains(mixed):
    X, y = mixed
    cities = {"city": ["Wien", "Graz", "Linz", "Salzburg"]}
    clf = BayesNetClassifier(missing="available", domains=cities).fit(X, y)
    assert clf.network_.domain.features[1].labels == ["Wien", "Graz", "Linz", "Salzburg"]
    with pytest.raises(ValueError, match="'city'"):
        BayesNetClassifier(domains={"city": ["Wien"]}).fit(X, y)


def test_prediction_holds_up_when_half_of_the_cells_are_missing():
    X, y = make_classification(
        2000 if not UNCOMPILED else 300, 20, n_informative=12, n_redundant=6, random_state=1
    )
    clf = BayesNetClassifier().fit(X[::2], y[::2])
    incomplete = np.where(np.random.default_rng(0).random(X.shape) < 0.5, np.nan, X)
    assert clf.score(incomplete[1::2], y[1::2]) > 0.7


def test_dense_structures_name_the_columns_or_draw(mixed):
    X, y = mixed
    full = [(a, b) for i, b in enumerate(X.columns) for a in X.columns[:i]]
    incomplete = X.astype(object)
    incomplete.iloc[:, :4] = None
    strict = BayesNetClassifier(full, "map", max_cells=3, beyond_max_cells="raise").fit(X, y)
    with pytest.raises(TooManyCellsError, match="age, city, smoker"):
        strict.predict(incomplete)
    drawn = BayesNetClassifier(
        full, "map", max_cells=3, beyond_max_cells=20_000 if not UNCOMPILED else 200
    ).fit(X, y)
    exact = BayesNetClassifier(full, "map").fit(X, y)
    shares, error = drawn.network_.posterior_with_error(incomplete.iloc[:5])
    assert (np.abs(shares - exact.predict_proba(incomplete.iloc[:5])) < 5 * error + 1e-12).all()


# ---- bad input: each is an error that says where and what to do, or has an answer


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"structure": "tann"},
            "structure='tann' is not known; it is one of 'auto', 'nb', 'tan', 'tan-fcll'",
        ),
        ({"parameters": "mapp"}, "parameters='mapp' is not known"),
        ({"structure": 3}, "neither a name"),
        ({"structure": KDB}, r"is a class: pass an object, KDB\(...\)"),
        ({"structure": MaximumAPosteriori()}, "learner of the parameters: pass it as parameters="),
        ({"parameters": KDB()}, "learner of the structure: pass it as structure="),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_jobs": 1.5}, "n_jobs=1.5"),
        ({"class_weight": {"sick": np.nan, "well": 1}}, "class_weight"),
        ({"class_weight": {"sick": 0, "well": 0}}, "class_weight"),
        ({"class_prior": {"sick": 0.5}}, "class_prior"),
        ({"max_cells": 0}, "max_cells=0"),
        ({"beyond_max_cells": 2.5}, "beyond_max_cells=2.5"),
        ({"beyond_max_cells": "guess"}, 'beyond_max_cells=\'guess\' must be "estimate", "raise"'),
        ({"discretizer": "chimerge"}, "one of 'auto', 'mdlp', .* None or a transformer"),
        ({"missing": "impute"}, "missing='impute' is not known; it is one of 'auto', 'available'"),
        ({"unknown": "new"}, "unknown must be one of"),
        ({"categorical": ["colour"]}, "colour"),
        ({"structure": [("age", "colour")]}, "colour"),
        ({"structure": [("age", "city"), ("city", "age")]}, "cycle"),
        ({"structure": Structure.naive(3)}, "3 features and the data 5"),
        ({"structure": KDB(k=-1)}, "k=-1"),
        ({"structure": SpanningTree(root="colour")}, "root names 'colour'"),
        ({"structure": SpanningTree(required=[("age", "age")])}, "itself"),
        ({"parameters": MaximumAPosteriori("flat")}, "prior='flat'"),
        ({"parameters": MaximumAPosteriori(strength=-1)}, "strength=-1"),
    ],
)
def test_settings_that_make_no_sense(mixed, change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BayesNetClassifier(**change).fit(*mixed)


@pytest.mark.parametrize("change", [{"max_cells": 0}, {"beyond_max_cells": "guess"}])
def test_limits_are_checked_before_any_row_is_read(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        BayesNetClassifier(**change).fit("a file that is not there.csv", "y")


def bad_tables():
    n = 120
    good = pd.DataFrame({"a": np.arange(n) % 7, "b": ["x", "y", "z"] * (n // 3)})
    y = np.arange(n) % 2
    infinite = good.assign(a=np.inf)
    mixed_types = good.assign(b=["x", 1, "y"] * (n // 3))
    dates = good.assign(when=pd.to_timedelta(range(n), unit="D"))
    text = good.assign(note=[f"patient {k} felt somewhat better" for k in range(n)])
    twice = pd.concat([good, good[["a"]]], axis=1)
    return {
        "no rows": (good.iloc[:0], y[:0], "0 sample"),
        "no columns": (good[[]], y, "0 feature"),
        "infinity": (infinite, y, "'a'.*inf"),
        "mixed types": (mixed_types, y, "'b'"),
        "durations": (dates, y, "'when'"),
        "free text": (text, y, "'note'.*120"),
        "duplicate names": (twice, y, "'a'"),
        "gap in y": (good, np.where(y == 1, np.nan, 0.0), "y contains NaN"),
        "several targets": (good, np.column_stack([y, y]), "2 columns"),
        "continuous y": (good, np.linspace(0, 1, n), "Unknown label type"),
        "too few labels": (good, y[:-1], "120 rows, y has 119"),
    }


@pytest.mark.parametrize("case", bad_tables())
def test_bad_tables(case):
    X, y, message = bad_tables()[case]
    with pytest.raises((ValueError, TypeError), match=message):
        BayesNetClassifier().fit(X, y)


def test_bad_weights(iris):
    X, y = iris
    for weight, message in [
        (-np.ones(150), "negative"),
        (np.full(150, np.nan), "NaN"),
        (np.zeros(150), "zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            BayesNetClassifier().fit(X, y, sample_weight=weight)


def test_other_columns_at_predict(mixed):
    X, y = mixed
    clf = BayesNetClassifier().fit(X, y)
    with pytest.raises(ValueError, match="missing:\n- grade"):
        clf.predict(X.iloc[:, :3])
    unnamed = BayesNetClassifier().fit(X.to_numpy(dtype=object), y)
    with pytest.raises(ValueError, match="X has 3 features, but BayesNetClassifier is expecting 5"):
        unnamed.predict(X.to_numpy(dtype=object)[:, :3])
    with pytest.raises(ValueError, match=r"same order(.|\n)*'age', 'city', .*select them with X\["):
        clf.predict(X[list(reversed(X.columns))])
    with pytest.raises(ValueError, match="town"):
        clf.predict(X.rename(columns={"city": "town"}))


def test_one_class_is_predicted_with_a_warning(iris):
    X, _ = iris
    with pytest.warns(UserWarning, match="one class only, 'a'"):
        clf = BayesNetClassifier().fit(X, ["a"] * len(X))
    np.testing.assert_array_equal(clf.predict_proba(X), np.ones((len(X), 1)))


def test_constant_and_empty_columns_carry_no_information(iris):
    X, y = iris
    padded = X.assign(constant="same", nothing=np.nan, void=None)
    clf = BayesNetClassifier("nb").fit(padded, y)
    np.testing.assert_allclose(
        clf.predict_proba(padded), BayesNetClassifier("nb").fit(X, y).predict_proba(X), atol=1e-12
    )
    changed = padded.assign(constant="other", nothing=1.0, void="value")
    np.testing.assert_allclose(clf.predict_proba(changed), clf.predict_proba(padded), atol=1e-12)
    for structure in ("tan", KDB(k=2)):
        shares = BayesNetClassifier(structure).fit(padded, y).predict_proba(padded)
        np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_an_identifier_of_a_million_values_is_refused_quickly():
    n = 1_000_000 if not UNCOMPILED else 2000
    frame = pl.DataFrame({"id": [f"id{k}" for k in range(n)], "x": np.arange(n) % 5})
    with pytest.raises(ValueError, match=r"'id'.*categorical"):
        BayesNetClassifier().fit(frame, np.arange(n) % 2)


def test_a_column_of_ten_thousand_values_does_not_eat_the_memory():
    rng = np.random.default_rng(0)
    n = 20_000 if not UNCOMPILED else 300
    frame = pd.DataFrame(
        {
            "zip": rng.integers(0, 10_000, n),
            "other": rng.integers(0, 10_000, n),
            "x": rng.integers(0, 3, n),
        }
    )
    y = rng.integers(0, 2, n)
    for structure in (SpanningTree(max_table_size=1_000_000), KDB(k=2, max_table_size=1_000_000)):
        with pytest.warns(UserWarning, match="'zip', 'other'.* left out"):
            clf = BayesNetClassifier(structure, "map", categorical=["zip", "other"]).fit(frame, y)
        assert clf.network_.parameters.layout.size <= 3_000_000
        assert clf.predict_proba(frame.iloc[:10]).shape == (10, 2)


# ---- against others


def test_naive_bayes_equals_scikit_learn():
    from sklearn.naive_bayes import CategoricalNB

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (500, 8)), rng.integers(0, 3, 500)
    ours = BayesNetClassifier("nb", MaximumAPosteriori("dirichlet", 1.0), discretizer=None).fit(
        X, y
    )
    theirs = CategoricalNB(alpha=1.0, class_prior=np.exp(ours.network_.parameters.log_prior)).fit(
        X, y
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_better_than_the_prior_and_near_logistic_regression(iris):
    X, y = iris
    ours = cross_val_score(BayesNetClassifier(), X, y, cv=5).mean()
    theirs = cross_val_score(LogisticRegression(max_iter=1000), X, y, cv=5).mean()
    assert ours > theirs - 0.06


# ---- the package


def test_public_names_are_sorted_and_exist():
    assert sorted(discbayes.__all__) == sorted(set(discbayes.__all__))
    for name in discbayes.__all__:
        assert getattr(discbayes, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        discbayes.nonsense  # noqa: B018
    assert dir(discbayes) == sorted(discbayes.__all__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        namespace = {}
        exec("from discbayes import *", namespace)
    assert "load_dataset" in namespace

"""Classifiers of other libraries on our tables: against pipelines made by hand, and at the edges.

Those of the extra ``peers`` are tried where it is installed: it is too large for every run of the
tests. ``make peers`` and ``make test-locked`` have it.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from discbayes import MDLPDiscretizer
from discbayes._lazy_imports import EXTRA_OF, is_installed
from discbayes.evaluation.baselines import BASELINES, METHODS, baseline
from discbayes.evaluation.method_names import DEFAULT_BASELINES, PEERS

N_TRAIN = 150


def peer(name: str, *values):
    """A parameter of a test that is skipped without the library of a baseline."""
    package = METHODS[name].package
    there = is_installed(package)
    reason = f"{package} is not installed (the extra peers)"
    return pytest.param(name, *values, marks=pytest.mark.skipif(not there, reason=reason))


ALL = [peer(name) for name in BASELINES]
THOSE_PEERS = [peer(name) for name in PEERS]


def mixed_rows(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, text, categories and booleans; gaps in two columns."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 50, n),
            "colour": pd.Series(rng.choice(["red", "green", "blue"], n), dtype=object),
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
            "open": rng.random(n) < 0.5,
        }
    )
    y = np.where(
        X["size"] + (X["colour"] == "red") + X["open"] + rng.normal(0, 0.5, n) > 1, "yes", "no"
    )
    X.loc[::7, "size"] = np.nan
    X.loc[::5, "colour"] = None
    return X, y


@pytest.fixture(scope="module")
def rows():
    X, y = mixed_rows()
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]


# ---- pipelines by hand


def one_hot(train: pd.DataFrame, X: pd.DataFrame) -> np.ndarray:
    """A column for each value of the training rows, gaps included."""
    parts = []
    for name in ("colour", "kind", "open"):
        known = [
            *sorted(train[name].dropna().unique()),
            *([None] if train[name].isna().any() else []),
        ]
        parts += [X[name].isna() if value is None else X[name] == value for value in known]
    return np.column_stack(parts).astype(float)


def scaled(train: pd.DataFrame, X: pd.DataFrame) -> np.ndarray:
    numbers = ["size", "count"]
    median = train[numbers].median()
    filled = train[numbers].fillna(median)
    z = (X[numbers].fillna(median) - filled.mean()) / filled.std(ddof=0)
    return np.column_stack([z, X["size"].isna(), one_hot(train, X)]).astype(float)


def raw(train: pd.DataFrame, X: pd.DataFrame) -> np.ndarray:
    return np.column_stack([X[["size", "count"]], one_hot(train, X)]).astype(float)


BY_HAND = {
    "lr": (scaled, LogisticRegression(max_iter=1000)),
    "svm": (scaled, CalibratedClassifierCV(SVC(), ensemble=False)),
    "knn": (scaled, KNeighborsClassifier()),
    "tree": (raw, DecisionTreeClassifier(min_samples_leaf=5, random_state=0)),
    "rf": (raw, RandomForestClassifier(500, random_state=0)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_as_a_pipeline_made_by_hand(name, rows):
    train, y, test = rows
    prepare, classifier = BY_HAND[name]
    expected = clone(classifier).fit(prepare(train, train), y).predict_proba(prepare(train, test))
    found = baseline(name).fit(train, y)
    np.testing.assert_array_equal(found.classes_, ["no", "yes"])
    np.testing.assert_allclose(found.predict_proba(test), expected, atol=1e-6)
    np.testing.assert_array_equal(found.predict(test), found.classes_[expected.argmax(axis=1)])


def test_boosting_as_with_pandas_categories(rows):
    train, y, test = rows
    categories = ["colour", "kind", "open"]
    native = {
        name: pd.CategoricalDtype(sorted(train[name].dropna().unique())) for name in categories
    }
    with threadpool_limits(1):  # it takes all cores otherwise, and waits for them
        by_hand = HistGradientBoostingClassifier(random_state=0).fit(train.astype(native), y)
        expected = by_hand.predict_proba(test.astype(native))
    np.testing.assert_allclose(
        baseline("hgb").fit(train, y).predict_proba(test), expected, atol=1e-12
    )


def test_categorical_nb_after_our_cuts(rows):
    train, y, test = rows
    cuts = MDLPDiscretizer().fit(train[["size", "count"]].to_numpy(), y).cut_points_

    def codes(X: pd.DataFrame) -> np.ndarray:
        columns = []
        for name, cut in zip(["size", "count"], cuts, strict=True):
            code = np.searchsorted(cut, X[name], side="right")
            columns.append(np.where(X[name].isna(), len(cut) + 1, code))
        for name in ("colour", "kind", "open"):
            known = sorted(train[name].dropna().unique())
            columns.append([known.index(v) if v in known else len(known) for v in X[name]])
        return np.column_stack(columns)

    sizes = [len(cuts[0]) + 2, len(cuts[1]) + 2, 4, 3, 3]
    expected = CategoricalNB(min_categories=sizes).fit(codes(train), y).predict_proba(codes(test))
    np.testing.assert_allclose(
        baseline("cnb").fit(train, y).predict_proba(test), expected, atol=1e-12
    )


def native(train: pd.DataFrame, X: pd.DataFrame) -> pd.DataFrame:
    """Numbers, and categories as codes of the sorted values of the training rows, −1 missing."""
    columns = {name: X[name].astype(float) for name in ("size", "count")}
    for name in ("colour", "kind", "open"):
        known = sorted(train[name].dropna().unique())
        columns[name] = [known.index(v) if v in known else -1 for v in X[name]]
    return pd.DataFrame(columns)


def marked(frame: pd.DataFrame) -> pd.DataFrame:
    """Codes as categories of pandas, missing ones as such."""
    names = ["colour", "kind", "open"]
    codes = {name: pd.Categorical.from_codes(frame[name], range(4)) for name in names}
    return frame.assign(**codes)


def lightgbm_by_hand(train, y, test):
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=200, n_jobs=1, random_state=0, verbose=-1)
    return model.fit(marked(train), y).predict_proba(marked(test))


def xgboost_by_hand(train, y, test):
    from xgboost import XGBClassifier

    model = XGBClassifier(
        n_estimators=200, tree_method="hist", enable_categorical=True, n_jobs=1, random_state=0
    )
    return model.fit(marked(train), y == "yes").predict_proba(marked(test))


def catboost_by_hand(train, y, test):
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=500,
        cat_features=["colour", "kind", "open"],
        thread_count=1,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
    )
    return model.fit(train, y).predict_proba(test)


def ebm_by_hand(train, y, test):
    from interpret.glassbox import ExplainableBoostingClassifier

    kinds = ["continuous", "continuous", "nominal", "nominal", "nominal"]
    model = ExplainableBoostingClassifier(feature_types=kinds, n_jobs=1, random_state=0)
    return model.fit(text(train), y).predict_proba(text(test))


def text(frame: pd.DataFrame) -> pd.DataFrame:
    names = ["colour", "kind", "open"]
    return frame.assign(
        **{name: frame[name].map(lambda v: None if v < 0 else str(v)) for name in names}
    )


@pytest.mark.filterwarnings("ignore:Missing values detected")
@pytest.mark.parametrize(
    "name, by_hand",
    [
        peer("lightgbm", lightgbm_by_hand),
        peer("xgboost", xgboost_by_hand),
        peer("catboost", catboost_by_hand),
        peer("ebm", ebm_by_hand),
    ],
)
def test_peers_as_by_hand(name, by_hand, rows):
    train, y, test = rows
    expected = by_hand(native(train, train), y, native(train, test))
    found = baseline(name).fit(train, y).predict_proba(test)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", THOSE_PEERS)
def test_peers_are_silent_and_write_no_files(name, rows, capfd, tmp_path, monkeypatch):
    train, y, test = rows
    monkeypatch.chdir(tmp_path)
    three = np.where(train["count"] > 40, "many", y)
    baseline(name).fit(train, three).predict_proba(test)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", PEERS)
def test_without_its_library_a_peer_names_the_extra(name, monkeypatch):
    package = METHODS[name].package
    assert EXTRA_OF[package] == "peers"
    monkeypatch.setattr("discbayes.evaluation.baselines.is_installed", lambda name: False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{package}.*pip install 'discbayes\[peers\]'"):
        baseline(name)


def test_what_is_compared_by_default_needs_no_extra():
    assert {METHODS[name].package for name in DEFAULT_BASELINES} == {"sklearn"}


def test_every_baseline_has_a_method():
    assert set(METHODS) == set(BASELINES)


# ---- tables of any make


@pytest.mark.parametrize("name", ALL)
def test_frames_of_all_makes_give_the_same(name, rows):
    train, y, test = rows
    expected = baseline(name).fit(train, y).predict_proba(test)
    for convert in (pl.from_pandas, pa.Table.from_pandas, lambda X: X.astype(object).to_numpy()):
        found = baseline(name).fit(convert(train), y).predict_proba(convert(test))
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_what_test_rows_hold_changes_nothing_for_the_others(name, rows):
    """Neither values that are new nor gaps where there were none; and a row is answered alone as
    with others.
    """
    train, y, test = rows
    fitted = baseline(name).fit(train, y)
    odd = test.astype(object)
    odd.iloc[0] = [1e9, None, "new", None, None]
    odd["kind"] = odd["kind"].where(np.arange(len(odd)) % 2 == 0, "w")
    found = fitted.predict_proba(odd)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    same = np.arange(2, len(test), 2)
    np.testing.assert_allclose(found[same], fitted.predict_proba(test)[same], atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("column", ["constant", "empty", "nothing", "number", "text"])
def test_one_column(name, column):
    n = 30
    values = {
        "constant": np.ones(n),
        "empty": np.full(n, np.nan),
        "nothing": np.full(n, None, dtype=object),
        "number": np.arange(n, dtype=float),
        "text": np.array(list("abc") * 10, dtype=object),
    }[column]
    X, y = pd.DataFrame({column: values}), np.array(["a", "b"] * (n // 2))
    found = baseline(name).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1.0)
    assert found.n_parameters_ > 0


@pytest.mark.parametrize("name", ALL)
def test_one_class_and_rare_classes(name, rows):
    train, y, test = rows
    assert (baseline(name).fit(train, ["only"] * N_TRAIN).predict_proba(test) == 1.0).all()
    rare = y.astype(object)
    rare[0], rare[1] = "alone", "alone too"
    found = baseline(name).fit(train, rare)
    assert found.classes_.tolist() == ["alone", "alone too", "no", "yes"]
    np.testing.assert_allclose(found.predict_proba(test).sum(axis=1), 1.0)
    tiny = baseline(name).fit(train[:3], ["a", "b", "b"])
    assert tiny.predict_proba(test).shape == (50, 2)


@pytest.mark.parametrize("name", ["lr", "hgb", "tree", *THOSE_PEERS])
def test_more_values_than_boosting_can_hold(name):
    n = 900
    X = pd.DataFrame({"place": [f"p{i % 300}" for i in range(n)], "x": np.arange(n) % 7})
    y = np.arange(n) % 2
    found = baseline(name).fit(X, y)
    assert found.predict_proba(X.assign(place="elsewhere")[:5]).shape == (5, 2)


def test_numbers_that_are_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": rng.integers(0, 6, 200)})
    y = np.isin(X["code"], [1, 4])
    assert baseline("lr", categorical=["code"]).fit(X, y).score(X, y) == 1.0
    assert baseline("lr").fit(X, y).score(X, y) < 1.0


# ---- samples, settings, sizes


def test_a_sample_of_the_rows(rows):
    train, y, test = rows
    rare = y.astype(object)
    rare[0] = "rare"
    fits = [baseline("knn", max_rows=40, random_state=seed).fit(train, rare) for seed in (0, 0, 1)]
    shares = [fit.predict_proba(test) for fit in fits]
    assert fits[0].n_rows_ == 40
    assert shares[0].shape == (50, 3)
    np.testing.assert_array_equal(shares[0], shares[1])
    assert (shares[0] != shares[2]).any()
    assert baseline("lr").fit(train, y).n_rows_ == N_TRAIN


def test_the_sample_is_stratified_and_of_ten_thousand_rows():
    X, y = np.arange(24_000.0)[:, None] % 10, np.arange(24_000) % 3
    found = baseline("knn").fit(X, y)
    assert found.n_rows_ == 10_000
    counts = np.bincount(found.pipeline_[-1]._y)
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("name", ["svm", "knn", peer("lightgbm"), peer("catboost")])
def test_settings_chosen_by_folds(name, rows):
    train, y, test = rows
    found = baseline(name, tune=True, max_rows=60).fit(train, y)
    model = found.pipeline_[-1].estimator if name == "svm" else found.pipeline_[-1]
    for setting, values in METHODS[name].grid.items():
        assert model.get_params()[setting] in values
    assert found.predict_proba(test).shape == (50, 2)


def test_numbers_in_a_classifier(rows):
    """Columns after preparing: 2 numbers, 1 mark of gaps, 4 colours, 2 kinds, 2 of open."""
    train, y, _ = rows
    sizes = {
        name: baseline(name).fit(train, y).n_parameters_ for name in BASELINES if name not in PEERS
    }
    assert sizes["lr"] == 11 + 1
    assert sizes["knn"] == N_TRAIN * (11 + 1)
    machine = baseline("svm").fit(train, y).pipeline_[-1].calibrated_classifiers_[0].estimator
    assert sizes["svm"] == machine.support_.size * (11 + 1) + 1 + 2
    tree = baseline("tree").fit(train, y).pipeline_[-1]
    assert sizes["tree"] == 2 * tree.tree_.node_count
    boosting = baseline("hgb").fit(train, y).pipeline_[-1]
    n_nodes = [stage[0].get_n_leaf_nodes() for stage in boosting._predictors]
    assert sizes["hgb"] == sum(n + 2 * (n - 1) for n in n_nodes) + 1


@pytest.mark.parametrize("name", THOSE_PEERS)
def test_numbers_in_a_peer_are_those_of_its_trees_or_terms(name, rows):
    train, y, _ = rows
    found = baseline(name).fit(train, y)
    model = found.pipeline_[-1]
    if name == "ebm":
        assert found.n_parameters_ == 1 + sum(scores.size for scores in model.term_scores_)
    elif name == "catboost":
        assert found.n_parameters_ > model.get_leaf_values().size > 500
    else:
        booster = model.booster_ if name == "lightgbm" else model.get_booster()
        trees = booster.trees_to_dataframe()
        leaves = trees.get("Feature", trees.get("split_feature")).isin(["Leaf", None])
        assert found.n_parameters_ == len(trees) + (~leaves).sum()


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="there is no baseline 'hbg'; they are hgb"):
        baseline("hbg")

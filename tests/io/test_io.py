"""Model files: the same bits after loading, only `ModelFileError` from a bad file, all or nothing
when saving.
"""

from __future__ import annotations

import base64
import builtins
import contextlib
import copy
import json
import os
import stat
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import KBinsDiscretizer

import discbayes
from discbayes import (
    KDB,
    BayesNetClassifier,
    EqualFrequencyDiscretizer,
    FixedStructure,
    HillClimb,
    MaximumAPosteriori,
    MaximumLikelihood,
    MDLPDiscretizer,
    SpanningTree,
    Structure,
    TwoResolutionDiscretizer,
    load_dataset,
)
from discbayes.io import ModelFileError, load, save
from discbayes.io.document import checksum
from discbayes.io.setting_values import learners, pack, pack_or_describe, unpack
from discbayes.parameters import PARAMETERS
from discbayes.scores import DescriptionLength
from discbayes.search import STRUCTURES


def mixed_frame(n=80, seed=0):
    """Columns of every kind, with gaps, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "size (cm)": np.where(rng.random(n) < 0.1, np.nan, y + rng.normal(size=n)),
            "colour": [
                None if r < 0.1 else "blué <b>"[: 2 + k]
                for r, k in zip(rng.random(n), y, strict=True)
            ],
            "flag": rng.random(n) < 0.3 + 0.2 * y,
            "grade": pd.Categorical(
                rng.choice(["lo", "mid", "hi"], n), categories=["lo", "mid", "hi", "never"]
            ),
            "count": rng.integers(0, 4, n) + y,
            "empty": np.full(n, np.nan),
            "日本": rng.choice([1.5, 2.5], n),
        }
    )
    return frame, y


def round_trip(classifier, tmp_path):
    save(classifier, tmp_path / "model.json")
    return load(tmp_path / "model.json")


def assert_same(first, second, X):
    np.testing.assert_array_equal(
        first.predict_joint_log_proba(X), second.predict_joint_log_proba(X)
    )
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    before, after = first.predict(X), second.predict(X)
    np.testing.assert_array_equal(before, after)
    assert before.dtype.kind == after.dtype.kind
    assert first.classes_.dtype.kind == second.classes_.dtype.kind
    assert first.network_.domain == second.network_.domain
    assert first.structure_ == second.structure_
    for a, b in zip(first.network_.domain.features, second.network_.domain.features, strict=True):
        assert list(map(type, a.values)) == list(map(type, b.values))
    assert first.n_features_in_ == second.n_features_in_
    assert list(getattr(first, "feature_names_in_", [])) == list(
        getattr(second, "feature_names_in_", [])
    )
    steps = [
        {key: value for key, value in step.items() if key != "seconds"} for step in first.history_
    ]
    assert second.history_ == steps


# Round trips

EDGES = [("size (cm)", "count"), ("colour", "count"), ("flag", "grade")]
STRUCTURE = Structure(
    ((), (0,), (0, 1), (), (2,), (), (5,)), (True, False, True, True, False, True, True)
)


@pytest.mark.parametrize("missing", ["available", "value"])
@pytest.mark.parametrize(
    "structure, parameters",
    [
        *[
            (structure, "map")
            for structure in ("nb", "tan", KDB(k=2), EDGES, STRUCTURE, FixedStructure(EDGES))
        ],
        *[(structure, "hybrid") for structure in ("nb", "tan", KDB(k=1))],
    ],
    ids=repr,
)
def test_same_bits_after_loading(structure, parameters, missing, tmp_path):
    X, y = mixed_frame()
    classifier = BayesNetClassifier(structure, parameters, missing=missing).fit(X, y)
    again = round_trip(classifier, tmp_path)
    assert_same(classifier, again, X)
    assert again.score(X, y) == classifier.score(X, y)
    assert repr(again) == repr(classifier)
    gaps = X.copy()
    gaps.loc[::2, ["size (cm)", "count"]] = np.nan
    gaps.loc[::3, "colour"] = None
    assert_same(classifier, again, gaps)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1, 2]),
        np.array([-3, 0, 2**40]),
        np.array([1, 2, 200], dtype=np.uint8),
        np.array([0.0, 1.0, 5.0]),
        np.array([0.0, 1.0, 5.0], dtype=np.float32),
        np.array([False, True, True]),
        np.array(["a", "bb", "日本"]),
        np.array(["a", "bb", "<c>"], dtype=object),
        np.array(["same", "same", "same"]),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[-1]}",
)
def test_labels_keep_their_type(labels, tmp_path):
    X, y = mixed_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one class only
        classifier = BayesNetClassifier().fit(X, labels[y])
    again = round_trip(classifier, tmp_path)
    assert_same(classifier, again, X)
    assert again.predict(X).dtype == classifier.predict(X).dtype or labels.dtype.kind == "U"


@pytest.mark.parametrize("rows", ["array", "numbers", "polars"])
def test_other_tables(rows, tmp_path):
    X, y = mixed_frame()
    if rows == "polars":
        polars = pytest.importorskip("polars")
        X = polars.DataFrame({"a": X["count"].to_numpy(), "b": X["flag"].to_numpy()})
    else:
        X = X.to_numpy() if rows == "array" else X[["size (cm)", "count", "日本"]].to_numpy()
    classifier = BayesNetClassifier().fit(X, y)
    again = round_trip(classifier, tmp_path)
    assert_same(classifier, again, X)
    assert hasattr(again, "feature_names_in_") == hasattr(classifier, "feature_names_in_")


def test_zeros_stay_minus_infinity(tmp_path):
    X, y = mixed_frame()
    classifier = BayesNetClassifier(
        "nb", MaximumLikelihood(epsilon=0), class_prior=[0.0, 0.5, 0.5]
    ).fit(X, y)
    assert np.isneginf(classifier.network_.parameters.log_theta).any()
    again = round_trip(classifier, tmp_path)
    np.testing.assert_array_equal(
        again.network_.parameters.log_theta, classifier.network_.parameters.log_theta
    )
    np.testing.assert_array_equal(
        again.network_.parameters.log_prior, classifier.network_.parameters.log_prior
    )
    assert_same(classifier, again, X)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_named_structure(name, tmp_path):
    X, y = mixed_frame()
    classifier = BayesNetClassifier(name, "map", random_state=0).fit(X, y)
    assert_same(classifier, round_trip(classifier, tmp_path), X)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_named_parameter_learner(name, tmp_path):
    X, y = mixed_frame()
    classifier = BayesNetClassifier("nb", name, random_state=0).fit(X, y)
    assert_same(classifier, round_trip(classifier, tmp_path), X)


def test_save_load_save_gives_the_same_file(tmp_path):
    X, y = mixed_frame()
    BayesNetClassifier(KDB(2)).fit(X, y).save(tmp_path / "a.json")
    load(tmp_path / "a.json").save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize(
    "limits, words",
    [
        ({}, {}),
        ({"max_cells": 1000}, {"max_cells": 1000}),
        ({"beyond_max_cells": "raise"}, {"n_draws": None}),
        ({"beyond_max_cells": 20}, {"n_draws": 20}),
    ],
)
def test_files_name_limits_as_version_0_1_did_where_they_can(limits, words, tmp_path):
    """That version reads a file without them, and refuses ``max_cells``, which it does not know."""
    X, y = mixed_frame()
    classifier = BayesNetClassifier("nb", "map", **limits).fit(X, y)
    classifier.save(tmp_path / "model.json")
    settings = json.loads((tmp_path / "model.json").read_bytes())["model"]["settings"]
    known = ("max_cells", "beyond_max_cells", "max_factor_size", "n_draws")
    assert {name: settings[name] for name in known if name in settings} == words
    assert load(tmp_path / "model.json").get_params() == classifier.get_params()


def test_limits_of_files_of_version_0_1(good, tmp_path):
    document = json.loads(good)
    document["model"]["settings"] |= {"max_factor_size": 1 << 23, "n_draws": None}
    (tmp_path / "model.json").write_bytes(sealed(document))
    found = load(tmp_path / "model.json")
    assert (found.max_cells, found.beyond_max_cells) == (200_000_000, "raise")
    document["model"]["settings"]["max_cells"] = 5
    refuse(sealed(document), tmp_path, "max_factor_size and max_cells are the same limit")


def test_settings_come_back_and_refit_gives_the_same(tmp_path):
    X, y = mixed_frame()
    classifier = BayesNetClassifier(
        SpanningTree(root="count", required=[("count", "flag")], forbidden=(("flag", "grade"),)),
        MaximumAPosteriori("dirichlet", np.float64(0.5)),
        discretizer=EqualFrequencyDiscretizer(4),
        categorical=np.array(["count"], dtype=object),
        domains={"colour": ["bl", "blu", "blué", "none"]},
        class_weight={0: 1.0, 1: 2.5, 2: np.float32(0.5)},
        class_prior=(0.25, 0.25, 0.5),
        missing="value",
        max_cells=np.int64(5000),
        beyond_max_cells=np.int64(10),
        random_state=7,
    ).fit(X, y)
    again = round_trip(classifier, tmp_path)
    assert_same(classifier, again, X)
    assert again.get_params(deep=False).keys() == classifier.get_params(deep=False).keys()
    assert again.structure.forbidden == (("flag", "grade"),)
    assert again.structure.required == [("count", "flag")]
    assert again.class_weight == classifier.class_weight
    assert again.class_prior == (0.25, 0.25, 0.5)
    refitted = clone(again).fit(X, y)
    np.testing.assert_array_equal(refitted.predict_proba(X), classifier.predict_proba(X))


# without a discretizer, nearly each row has a value
@pytest.mark.filterwarnings("ignore:more cells than rows")
def test_discretizers_come_back(tmp_path):
    X, y = mixed_frame()
    two = TwoResolutionDiscretizer(EqualFrequencyDiscretizer(3), n_fine=9)
    for discretizer in ("mdlp", "equal-frequency", None, MDLPDiscretizer(n_jobs=1), two):
        classifier = BayesNetClassifier(discretizer=discretizer).fit(X, y)
        again = round_trip(classifier, tmp_path)
        assert repr(again.discretizer) == repr(discretizer)
        assert_same(classifier, again, X)


# Two resolutions


@pytest.fixture(scope="module")
def two_resolutions():
    X, y = mixed_frame()
    X.loc[::7, "count"] = np.nan
    discretizer = TwoResolutionDiscretizer(n_fine=9)
    classifier = BayesNetClassifier("tan", "map", discretizer=discretizer, missing="value")
    return classifier.partial_fit(X, y)


@pytest.mark.parametrize("counts", [True, False])
def test_two_resolutions_come_back(two_resolutions, counts, tmp_path):
    X, y = mixed_frame()
    two_resolutions.save(tmp_path / "model.json", counts=counts)
    document = json.loads((tmp_path / "model.json").read_bytes())
    assert document["version"] == 2
    features = document["model"]["domain"]["features"]
    assert [f["name"] for f in features if "coarse_cuts" in f] == ["size (cm)", "count"]
    again = load(tmp_path / "model.json")
    X.loc[::2, ["size (cm)", "count"]] = np.nan
    assert_same(two_resolutions, again, X)
    if counts:
        more = copy.deepcopy(two_resolutions).partial_fit(X, y)
        np.testing.assert_array_equal(
            again.partial_fit(X, y).predict_proba(X), more.predict_proba(X)
        )


def test_a_declared_domain_of_two_resolutions_comes_back(two_resolutions, tmp_path):
    X, y = mixed_frame()
    domain = two_resolutions.network_.domain
    again = round_trip(BayesNetClassifier("nb", "map", domains=domain).fit(X, y), tmp_path)
    assert again.domains == domain


def test_one_resolution_keeps_the_version_that_older_releases_read(good):
    document = json.loads(good)
    assert document["version"] == 1
    assert not any("coarse_cuts" in each for each in document["model"]["domain"]["features"])


@pytest.mark.parametrize(
    "coarse",
    [
        None,
        3,
        "abc",
        {},
        ["1.0"],
        [True],
        [None],
        [[]],
        [10**400],
        [{"float": "nan"}],
        [-1e300],
        "reversed",
        "twice",
        "all but one, and another",
    ],
    ids=str,
)
def test_coarse_cut_points_that_are_not_cut_points(coarse, two_resolutions, tmp_path):
    two_resolutions.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_bytes())
    feature = document["model"]["domain"]["features"][0]
    cuts = feature["cuts"]
    others = {
        "reversed": cuts[:3][::-1],
        "twice": cuts[:1] * 2,
        "all but one, and another": [*cuts[:-1], cuts[-1] + 1],
    }
    feature["coarse_cuts"] = others.get(coarse, coarse) if isinstance(coarse, str) else coarse
    refuse(sealed(document), tmp_path, r"domain.features\[0\]")


def test_other_states_need_other_tables(two_resolutions, tmp_path):
    two_resolutions.save(tmp_path / "model.json")
    good = (tmp_path / "model.json").read_bytes()
    for coarse in (..., [], json.loads(good)["model"]["domain"]["features"][0]["cuts"]):
        place = ("model", "domain", "features", 0, "coarse_cuts")
        refuse(sealed(change(json.loads(good), place, coarse)), tmp_path, "cells, ")
    place = ("model", "domain", "features", 2, "coarse_cuts")
    refuse(sealed(change(json.loads(good), place, [])), tmp_path, "must be some of its cut points")


# Groups of values


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(0)
    city = rng.integers(0, 100, 6000)
    y = rng.random(6000) < np.where(city % 3, 0.8, 0.2)
    X = pd.DataFrame({"city": [f"c{k:02}" for k in city], "color": rng.choice(["b", "r"], 6000)})
    return BayesNetClassifier([("city", "color")], "map", discretizer="two-resolution").fit(X, y), X


def test_groups_come_back(grouped, tmp_path):
    classifier, X = grouped
    classifier.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_bytes())
    assert document["version"] == 4
    features = document["model"]["domain"]["features"]
    assert [f["name"] for f in features if "groups" in f] == ["city"]
    assert len(features[0]["groups"]) == 100
    X = X[:300].mask(np.random.default_rng(1).random((300, 2)) < 0.3)
    assert_same(classifier, load(tmp_path / "model.json"), X)


@pytest.mark.parametrize(
    "groups",
    [None, 3, "abc", {}, ["0"] * 100, [True] * 100, [0.0] * 100, [0] * 99, [1] * 100, [-1] * 100,
     [0, 2] * 50, [[]] * 100, [10**400] * 100, [], [0] * 100],
    ids=lambda groups: str(groups)[:20],
)  # fmt: skip
def test_groups_that_are_none_or_do_not_fit_the_tables(groups, grouped, tmp_path):
    grouped[0].save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_bytes())
    document["model"]["domain"]["features"][0]["groups"] = groups
    refuse(sealed(document), tmp_path, r"domain.features\[0\]|cells, ")


def test_a_class_has_no_groups(grouped, tmp_path):
    grouped[0].save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_bytes())
    document["model"]["domain"]["target"]["groups"] = [0, 0]
    refuse(sealed(document), tmp_path, "domain.target has groups")


class Custom(BaseEstimator):
    def learn(self, data, counts, context, *more):
        return Structure.naive(data.n_features)


class CustomParameters(BaseEstimator):
    def learn(self, data, counts, structure, context):
        return MaximumLikelihood().learn(data, counts, structure, context)


@pytest.mark.parametrize(
    "setting,value,now",
    [
        ("structure", Custom(), FixedStructure),
        ("parameters", CustomParameters(), "auto"),
        ("discretizer", KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), "auto"),
        ("random_state", np.random.RandomState(0), None),
    ],
)
def test_what_a_file_cannot_hold_is_replaced_with_a_warning(setting, value, now, tmp_path):
    X, y = mixed_frame()
    classifier = BayesNetClassifier(**{setting: value}).fit(X.drop(columns="empty"), y)
    save(classifier, tmp_path / "model.json")
    with pytest.warns(UserWarning, match=f"^{setting} was ") as caught:
        again = load(tmp_path / "model.json")
    assert caught[0].filename == __file__
    got = getattr(again, setting)
    assert isinstance(got, now) if isinstance(now, type) else got == now
    assert_same(classifier, again, X.drop(columns="empty"))
    again.fit(X.drop(columns="empty"), y)
    if setting == "structure":
        assert again.structure_ == classifier.structure_


def test_a_random_state_deep_inside_is_opaque_too(tmp_path):
    X, y = mixed_frame()
    classifier = BayesNetClassifier().fit(X, y)
    cyclic = []
    cyclic.append(cyclic)
    for value in ({"colour": object()}, cyclic, np.array([object()]), np.longdouble(1)):
        classifier.set_params(domains=value)
        save(classifier, tmp_path / "model.json")
        with pytest.warns(UserWarning, match="domains was"):
            assert load(tmp_path / "model.json").domains is None


def test_a_repr_that_fails_does_not_keep_a_model_from_being_saved():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    assert pack_or_describe(Broken()) == {"opaque": "<Broken>"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2**70,
        0.1,
        -0.0,
        float("inf"),
        float("-inf"),
        "text \x00 \ud800 é",
        [1, [2.0, ("a", None)]],
        {"a": 1, 2: ("b",), None: {}},
        {1, 2},
        frozenset({("a", "b")}),
        Structure(((), (0,)), (True, False)),
        KDB(3, required=[("a", "b")]),
        np.arange(6).reshape(2, 3),
        np.array([True, False]),
        np.array([1.5, np.nan], dtype=np.float32),
        np.array(["a", "b"]),
    ],
    ids=repr,
)
def test_values_round_trip(value):
    again = unpack(json.loads(json.dumps(pack(value))), "here")
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(again, value)
    elif isinstance(value, BaseEstimator):
        assert repr(again) == repr(value)
    else:
        assert again == value
        assert repr(again) == repr(value) or isinstance(value, frozenset)


def test_every_public_learner_is_known():
    exported = {name for name in discbayes.__all__ if isinstance(getattr(discbayes, name), type)}
    wanted = {n for n in exported if issubclass(getattr(discbayes, n), BaseEstimator)} - {
        "BayesNetClassifier",
        "BayesNetEnsemble",
    }
    assert wanted <= set(learners())
    named = [make() for make in (*STRUCTURES.values(), *PARAMETERS.values())]
    assert {type(learner).__name__ for learner in named} <= set(learners())


def test_missing_has_the_word_of_version_0_1_0_in_files():
    """The parameter ``missing`` of learners and scores was called ``gaps``, and files keep it."""
    settings = {"epsilon": 1e-5, "gaps": "em", "max_iter": 100, "tol": 1e-06}
    old = {"learner": "MaximumLikelihood", "params": settings}
    learner = unpack(old, "settings.parameters")
    assert isinstance(learner, MaximumLikelihood)
    assert json.dumps(pack(learner)) == json.dumps(old)
    score = {"learner": "LogLikelihood", "params": {"gaps": "em"}}
    assert pack(unpack(score, "score")) == score
    with pytest.raises(ValueError, match="LogLikelihood has no parameter 'missing'"):
        unpack({"learner": "LogLikelihood", "params": {"missing": "em"}}, "score")


def test_a_callback_is_left_out_of_a_learner_and_nothing_else_is(tmp_path):
    X, y = mixed_frame()
    learner = HillClimb(
        DescriptionLength(), 3, start=Structure.naive(X.shape[1]), max_time=60, callback=print
    )
    again = unpack(pack(learner), "here")
    assert again.callback is None
    assert repr(again) == repr(learner.set_params(callback=None))
    classifier = BayesNetClassifier(SpanningTree(callback=lambda step: None)).fit(X, y)
    assert_same(classifier, round_trip(classifier, tmp_path), X)


def test_a_file_holds_no_code_and_no_pickle(tmp_path):
    X, y = mixed_frame()
    save(BayesNetClassifier(Custom()).fit(X, y), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text("ascii"))
    assert list(document) == ["format", "version", "library", "sha256", "model"]
    assert document["library"] == discbayes.__version__


def test_only_fitted_classifiers_are_saved(tmp_path):
    with pytest.raises(TypeError, match="BayesNetClassifier"):
        save(MaximumLikelihood(), tmp_path / "x.json")
    with pytest.raises(ValueError, match="not fitted"):
        save(BayesNetClassifier(), tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


# Saving is all or nothing


@pytest.fixture(scope="module")
def fitted():
    X, y = mixed_frame()
    return BayesNetClassifier(KDB(k=2), "hybrid").fit(X, y)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_the_old_file_survives_a_failure(step, error, fitted, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")

    def fail(*arguments):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        fitted.save(path)
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_a_folder_that_is_not_there(fitted, tmp_path):
    with pytest.raises(FileNotFoundError):
        fitted.save(tmp_path / "none" / "model.json")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.json")


def test_errors_of_saving_name_the_path_and_the_reason(fitted, tmp_path, monkeypatch):
    lost = tmp_path / "none" / "model.json"
    with pytest.raises(FileNotFoundError, match="there is no folder") as caught:
        fitted.save(lost)
    assert caught.value.filename == str(lost)
    with pytest.raises(IsADirectoryError, match="it is a folder") as caught:
        fitted.save(tmp_path)
    assert caught.value.filename == str(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="Not a directory"):
        fitted.save(tmp_path / "file" / "model.json")

    def refuse(draft, goal):
        raise PermissionError(13, "Permission denied", draft)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="does not permit it") as caught:
        fitted.save(tmp_path / "model.json")
    assert caught.value.filename == str(tmp_path / "model.json")
    assert ".draft" not in str(caught.value)


def test_links_and_modes_are_kept(fitted, tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    fitted.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert load(real).classes_.size == 3


def test_any_name_will_do(fitted, tmp_path):
    for name in ("modél 日本.txt", "x" * 250, "noending"):
        fitted.save(tmp_path / name)
        load(str(tmp_path / name))


# Files that are not what they should be


@pytest.fixture(scope="module")
def good(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model.json"
    fitted.save(path)
    return path.read_bytes()


def refuse(content, tmp_path, match=None):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert "bad.json" in str(caught.value)
    assert len(str(caught.value)) < 1000


def sealed(document):
    """The document with a checksum that fits, as someone who means harm would write it."""
    document["sha256"] = checksum(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize("share", np.linspace(0, 1, 40, endpoint=False))
def test_truncated(share, good, tmp_path):
    refuse(good[: int(share * (len(good) - 2))], tmp_path)


@pytest.mark.parametrize("seed", range(60))
def test_a_changed_byte(seed, good, tmp_path):
    rng = np.random.default_rng(seed)
    at = int(rng.integers(len(good) - 1))
    changed = bytearray(good)
    # not the bit of the case, which "\u00E9" does not care about
    changed[at] ^= 1 << int(rng.integers(0, 5))
    with contextlib.suppress(ValueError):
        # the last of 17 digits: another text, the same number
        if json.loads(changed) == json.loads(good):
            return
    refuse(bytes(changed), tmp_path)


@pytest.mark.parametrize(
    "content,match",
    [
        (b"", "not JSON"),
        (b"\x80\x04\x95 a pickle", "not JSON"),
        (b"{}", "not a model file"),
        (b"[]", "not a model file"),
        (b"null", "not a model file"),
        (b'{"format": "discbayes-model"}', "version must be a whole number"),
        (b'{"format": "discbayes-model", "version": 1}', "missing 'library'"),
        (
            b'{"format": "discbayes-model", "version": 6, "library": "9.9"}',
            "written by a newer discbayes .9.9",
        ),
        (b'{"format": "discbayes-model", "version": 0}', "version must be at least 1"),
        (b'{"format": "discbayes-model", "version": true}', "version must be"),
        (b'{"format": "a", "format": "a"}', "field twice"),
        (b"[" * 100_000, "nested too deeply|not JSON"),
        (b'{"a":' * 100_000, "nested too deeply|not JSON"),
        (b"[NaN]", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"1" * 10_000, "not JSON"),
        (b"\xff\xfe{\x00}\x00", "not JSON"),
    ],
    ids=lambda value: repr(value[:40]),
)
def test_foreign_files(content, match, tmp_path):
    refuse(content, tmp_path, match)


def change(document, place, value):
    """The document with one field changed; ``...`` removes it."""
    *folders, last = place
    at = document
    for folder in folders:
        at = at[folder]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return document


def array(values, shape=None, dtype="<f8"):
    data = base64.b64encode(np.asarray(values, dtype=dtype).tobytes()).decode()
    return {"dtype": dtype, "shape": [len(values)] if shape is None else shape, "data": data}


FIELDS = [
    (("library",), 3),
    (("model",), []),
    (("model", "extra"), 1),
    (("model", "domain"), ...),
    (("model", "domain"), None),
    (("model", "domain", "features"), {}),
    (("model", "domain", "features"), []),
    (("model", "domain", "features", 0), ...),
    (("model", "domain", "features", 0, "name"), 3),
    (("model", "domain", "features", 0, "name"), "colour"),
    (("model", "domain", "features", 0, "kind"), "other"),
    (("model", "domain", "features", 0, "kind"), ["numeric"]),
    (("model", "domain", "features", 0, "cuts"), [2.0, 1.0]),
    (("model", "domain", "features", 0, "cuts"), ["1.0"]),
    (("model", "domain", "features", 0, "cuts"), [True]),
    (("model", "domain", "features", 0, "cuts"), [{"float": "nan"}]),
    (("model", "domain", "features", 0, "cuts"), list(range(100))),
    (("model", "domain", "features", 0, "values"), ["a"]),
    (("model", "domain", "features", 0, "missing_value"), 1),
    (("model", "domain", "features", 0, "missing_value"), True),
    (("model", "domain", "features", 0, "script"), "x"),
    (("model", "domain", "features", 1, "values"), ["a", "a"]),
    (("model", "domain", "features", 1, "values"), ["a"]),
    (("model", "domain", "features", 1, "values", 0), 1),
    (("model", "domain", "features", 1, "values", 0), None),
    (("model", "domain", "features", 1, "values", 0), {"tuple": []}),
    (("model", "domain", "features", 1, "values", 0), {"float": "nan"}),
    (("model", "domain", "features", 1, "values"), "abc"),
    (("model", "domain", "features", 2, "values"), [10**400, 1]),
    (("model", "domain", "target"), ...),
    (("model", "domain", "target", "values"), []),
    (("model", "domain", "target", "values"), [0, 1]),
    (("model", "domain", "target", "values"), [0, 1, 1]),
    (("model", "domain", "target", "values"), ["a", "b", "c"]),
    (("model", "domain", "target", "missing_value"), True),
    (("model", "domain", "target", "cuts"), []),
    (("model", "structure"), 3),
    (("model", "structure", "parents"), []),
    (("model", "structure", "parents", 0), [-1]),
    (("model", "structure", "parents", 0), [0]),
    (("model", "structure", "parents", 0), [99]),
    (("model", "structure", "parents", 0), [True]),
    (("model", "structure", "parents", 0), [1.0]),
    (("model", "structure", "parents", 0), 1),
    (("model", "structure", "parents", 0), [1, 1]),
    (("model", "structure", "parents"), [[1], [2], [0], [], [], [], []]),
    (("model", "structure", "parents"), [[]] * 8),
    (("model", "structure", "class_children"), []),
    (("model", "structure", "class_children"), [True] * 6),
    (("model", "structure", "class_children"), [1] * 7),
    (("model", "tables", "log_prior"), array([0.0, 0.0])),
    (("model", "tables", "log_prior"), array([0.0, 0.0, np.nan])),
    (("model", "tables", "log_prior"), array([0.0, 0.0, np.inf])),
    (("model", "tables", "log_prior"), array([-np.inf] * 3)),
    (("model", "tables", "log_prior"), [0.0, 0.0, 0.0]),
    (("model", "tables", "log_prior"), array([0.0] * 3, [1, 3])),
    (("model", "tables", "log_prior"), array([0] * 3, dtype="<i8")),
    (("model", "tables", "log_prior"), array([0] * 3, dtype="<f4")),
    (("model", "tables", "log_theta"), array([])),
    (("model", "tables", "log_theta"), array([0.0])),
    (("model", "tables", "log_theta", "dtype"), "O"),
    (("model", "tables", "log_theta", "dtype"), ">f8"),
    (("model", "tables", "log_theta", "dtype"), 8),
    (("model", "tables", "log_theta", "shape"), [10**30]),
    (("model", "tables", "log_theta", "shape"), [2**62, 4]),
    (("model", "tables", "log_theta", "shape"), [-1]),
    (("model", "tables", "log_theta", "shape"), [0, 2**70]),
    (("model", "tables", "log_theta", "shape"), [1] * 100),
    (("model", "tables", "log_theta", "shape"), 3),
    (("model", "tables", "log_theta", "data"), "not base64!"),
    (("model", "tables", "log_theta", "data"), "é"),
    (("model", "tables", "log_theta", "data"), "AAA"),
    (("model", "tables", "log_theta", "data"), None),
    (("model", "class_dtype"), "float16x"),
    (("model", "class_dtype"), "bool"),
    (("model", "class_dtype"), "str"),
    (("model", "class_dtype"), "float64"),
    (("model", "class_dtype"), None),
    (("model", "settings", "unknown"), "ignore"),
    (("model", "settings", "n_jobs"), 0),
    (("model", "settings", "n_jobs"), "2"),
    (("model", "settings", "n_draws"), -5),
    (("model", "settings", "max_factor_size"), None),
    (("model", "settings", "max_factor_size"), 0),
    (("model", "settings", "max_cells"), 0),
    (("model", "settings", "beyond_max_cells"), "raise"),
    (("model", "n_features_in"), 6),
    (("model", "n_features_in"), "7"),
    (("model", "feature_names_in"), ["a"]),
    (("model", "feature_names_in"), [1] * 7),
    (("model", "history"), {}),
    (("model", "history"), [1]),
    (("model", "history"), [{"a": {"b": 1}}]),
    (("model", "settings"), []),
    (("model", "settings", "evil"), 1),
    (("model", "settings", "n_jobs"), "all"),
    (("model", "settings", "n_jobs"), 0),
    (("model", "settings", "structure"), "no such structure"),
    (("model", "settings", "parameters"), "no such parameters"),
    (("model", "settings", "structure"), {"learner": "Popen", "params": {"args": "ls"}}),
    (("model", "settings", "structure"), {"learner": "os.system", "params": {}}),
    (("model", "settings", "structure"), {"learner": ["KDB"], "params": {}}),
    (("model", "settings", "structure"), {"learner": "KDB", "params": {"evil": 1}}),
    (("model", "settings", "structure"), {"learner": "KDB", "params": []}),
    (("model", "settings", "structure"), {"learner": "KDB"}),
    (("model", "settings", "structure"), {"learner": "FixedStructure", "params": {}}),
    (
        ("model", "settings", "structure"),
        {"structure": {"parents": [[1], [0]], "class_children": [True, True]}},
    ),
    (("model", "settings", "structure"), {"unknown": 1}),
    (("model", "settings", "structure"), {"tuple": 1, "set": 2}),
    (("model", "settings", "structure"), {}),
    (("model", "settings", "structure"), {"opaque": 3}),
    (("model", "settings", "domains"), {"dict": [[1]]}),
    (("model", "settings", "domains"), {"dict": [[["unhashable"], 1]]}),
    (("model", "settings", "domains"), {"set": [{"dict": []}]}),
    (("model", "settings", "domains"), {"float": "1.0"}),
    (("model", "settings", "domains"), {"array": array([1.0], [10**20])}),
    (("model", "settings", "domains"), {"array": {"dtype": "|O", "shape": [1], "data": ""}}),
]


@pytest.mark.parametrize("place,value", FIELDS, ids=lambda v: repr(v)[:60])
def test_each_field_is_checked_even_with_a_right_checksum(place, value, good, tmp_path):
    document = change(json.loads(good), place, copy.deepcopy(value))
    refuse(sealed(document), tmp_path)


def places(value, path=()):
    """Every place in a JSON document."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


ODD = [None, True, 0, -1, 10**30, 0.5, "", "x", [], {}, [[]], {"tuple": []}, ["a", "b"], ...]


@pytest.mark.parametrize("seed", range(150))
def test_a_random_change_is_refused_or_harmless(seed, good, tmp_path):
    """Whatever stands in a file with a right checksum: it is refused, or the classifier can be
    used.
    """
    rng = np.random.default_rng(seed)
    document = json.loads(good)
    inside = [place for place in places(document["model"]) if place and "history" not in place]
    place = inside[int(rng.integers(len(inside)))]
    (tmp_path / "model.json").write_bytes(
        sealed(change(document, ("model", *place), ODD[int(rng.integers(len(ODD)))]))
    )
    try:
        classifier = load(tmp_path / "model.json")
    except ModelFileError:
        return
    X = mixed_frame()[0].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(classifier.predict_proba(X)).all()


@pytest.mark.parametrize("place,value", FIELDS[:10], ids=lambda v: repr(v)[:60])
def test_the_checksum_finds_changes(place, value, good, tmp_path):
    document = change(json.loads(good), place, copy.deepcopy(value))
    refuse(json.dumps(document).encode(), tmp_path, "checksum|must be a string")


def test_numbers_that_are_no_json_numbers(good, tmp_path):
    document = json.loads(good)
    document["model"]["settings"]["n_draws"] = "@"
    text = sealed(document)
    refuse(text.replace(b'"@"', b"1e999"), tmp_path)
    refuse(text.replace(b'"@"', b"NaN"), tmp_path, "NaN is not a JSON number")
    refuse(text.replace(b'"@"', b"9" * 5000), tmp_path)


def test_deep_nesting_within_a_field(good, tmp_path):
    document = json.loads(good)
    document["model"]["settings"]["domains"] = "@"
    text = json.dumps(document).encode()
    for deep in (b"[" * 600 + b"]" * 600, b"[" * 50_000 + b"]" * 50_000):
        refuse(text.replace(b'"@"', deep), tmp_path)


def test_sizes_that_wrap_around_are_refused(good, tmp_path):
    """2**64 cells are 0 cells in 64 bits: a structure whose table would wrap to the size of an
    empty array.
    """
    document = json.loads(good)
    binary = {"kind": "boolean", "values": [False, True], "cuts": None, "missing_value": False}
    model = document["model"]
    model["domain"]["features"] = [{"name": f"x{i}", **binary} for i in range(70)]
    parents = [list(range(64)) if i == 64 else [] for i in range(70)]
    model["structure"] = {"parents": parents, "class_children": [True] * 70}
    model["tables"]["log_theta"] = array([0.0] * (69 * 6))
    model["n_features_in"], model["feature_names_in"] = 70, None
    refuse(sealed(document), tmp_path, "too few for the domain and structure")


def test_the_limit_of_the_file_size(fitted, tmp_path):
    fitted.save(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="more than 100 bytes"):
        load(tmp_path / "model.json", max_bytes=100)


def test_a_right_checksum_over_right_content_loads(good, tmp_path):
    """The battery above fails for the reasons it means to: resealing alone does not break a
    file.
    """
    (tmp_path / "again.json").write_bytes(sealed(json.loads(good)))
    assert load(tmp_path / "again.json").n_features_in_ == 7


def test_nothing_is_opened_or_run_while_loading(good, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_bytes(good)
    load(path)  # imports are done
    opened = []
    real = builtins.open
    monkeypatch.setattr(
        builtins, "open", lambda file, *a, **k: opened.append(str(file)) or real(file, *a, **k)
    )
    for name in ("eval", "exec", "compile"):
        monkeypatch.setattr(builtins, name, None)
    load(path)
    assert opened == [str(path)]


@pytest.mark.data
def test_a_large_model(data_folder, tmp_path):
    chess = load_dataset("chess")
    classifier = BayesNetClassifier(KDB(k=2), "map").fit(chess.X, chess.y)
    assert_same(classifier, round_trip(classifier, tmp_path), chess.X)

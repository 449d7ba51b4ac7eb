"""Files of ensembles: the same answers after loading, and hostile ones."""

from __future__ import annotations

import numpy as np
import pytest

import damage
from discbayes import BayesNetClassifier, BayesNetEnsemble, load
from discbayes.io import ModelFileError, save


@pytest.fixture
def document():
    return damage.documents()["ensemble"]


@pytest.fixture
def read(tmp_path):
    """Load a document as a file."""

    def loaded(content):
        path = tmp_path / "model.json"
        path.write_bytes(damage.sealed(content))
        return load(path)

    return loaded


def test_a_loaded_ensemble_answers_the_same_and_saves_the_same_bytes(tmp_path):
    X, y = damage.shop_rows()
    clf = BayesNetEnsemble(3, random_state=0, max_cells=10**6).fit(X, y)
    clf.save(tmp_path / "a.json")
    again = load(tmp_path / "a.json")
    assert isinstance(again, BayesNetEnsemble)
    assert again.get_params() == clf.get_params()
    assert (again.predict_proba(X) == clf.predict_proba(X)).all()
    parts = (each.explain(X).contributions for each in (again, clf))
    assert np.array_equal(*parts, equal_nan=True)
    assert all(isinstance(one, BayesNetClassifier) for one in again.members_)
    save(again, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    refitted = again.fit(X, y)
    assert (refitted.predict_proba(X) == clf.predict_proba(X)).all()


def test_a_pandas_free_ensemble_has_no_names(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    clf = BayesNetEnsemble(2, random_state=0).fit(X, X[:, 0] > 0)
    clf.save(tmp_path / "a.json")
    again = load(tmp_path / "a.json")
    assert not hasattr(again, "feature_names_in_")
    assert again.n_features_in_ == 2
    assert (again.predict_proba(X) == clf.predict_proba(X)).all()


def without_members(model):
    model["members"] = []


def too_many_members(model):
    model["members"] = [{}] * 1001


def nested(model):
    model["members"][1] = {name: model[name] for name in model if name != "members"} | {
        "members": []
    }


def other_classes(model):
    model["members"][1]["domain"]["target"]["values"] = ["lo", "mid", "up"]


def other_columns(model):
    member = model["members"][1]
    member["domain"]["features"][0]["name"] = "length"
    member["feature_names_in"][0] = "length"


def unnamed(model):
    model["members"][1]["feature_names_in"] = None


def scale(value):
    def change(model):
        model["scale"] = value

    return change


def shares(values):
    def change(model):
        model["class_shares"] = damage.packed(np.array(values))

    return change


@pytest.mark.parametrize(
    "change, reason",
    [
        (without_members, "1 to 1000"),
        (too_many_members, "1 to 1000"),
        (nested, r"members\[1\]"),
        (other_classes, r"members\[1\].*other columns or classes"),
        (other_columns, r"members\[1\].*other columns or classes"),
        (unnamed, "vice versa"),
        (scale(0.0), "scale"),
        (scale(1e9), "scale"),
        (scale("1"), "scale"),
        (shares([0.5, 0.5]), "class_shares"),
        (shares([0.5, 0.5, 0.5]), "sum to 1"),
        (shares([np.nan, 0.5, 0.5]), "class shares|class_shares"),
    ],
)
def test_what_does_not_fit_together_is_refused(document, read, change, reason):
    change(document["model"])
    with pytest.raises(ModelFileError, match=reason):
        read(document)


def test_a_setting_of_another_estimator_is_refused(document, read):
    document["model"]["settings"]["structure"] = "tan"
    with pytest.raises(ModelFileError, match="BayesNetEnsemble has no parameter 'structure'"):
        read(document)


def test_members_that_contradict_each_other_still_answer(document, read):
    for member, impossible in zip(document["model"]["members"], (0, 1), strict=True):
        log_prior = np.zeros(3)
        log_prior[[impossible, 2]] = -np.inf
        for tables in (member["tables"], member["calibration"]["tables"]):
            tables["log_prior"] = damage.packed(log_prior)
    clf = read(document)
    found = clf.predict_proba(damage.shop_rows()[0])
    assert np.allclose(found.sum(axis=1), 1)

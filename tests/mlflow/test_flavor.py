"""Classifiers in MLflow as JSON files, and in skops files with the types that they list."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import damage
import discbayes.mlflow
from conformance import CASES
from discbayes import TRUSTED_TYPES, BayesNetClassifier, BayesNetEnsemble, load

RELEASED = sorted((Path(__file__).parents[1] / "released" / "0.1.0").glob("*.json"))
MODELS = [path for path in RELEASED if path.stem not in ("answers", "names")]


@pytest.fixture(scope="module")
def shop():
    return damage.shop_rows()


@pytest.fixture(scope="module")
def fitted(shop):
    return {
        "classifier": BayesNetClassifier("tan", "map").fit(*shop),
        "default": BayesNetClassifier(random_state=0).fit(*shop),
        "ensemble": BayesNetEnsemble(2, random_state=0).fit(*shop),
    }


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    module = pytest.importorskip("mlflow.pyfunc")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    assert module is mlflow.pyfunc
    return mlflow


pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.mark.parametrize("name", ["classifier", "default", "ensemble"])
def test_a_saved_model_answers_the_same(name, fitted, shop, mlflow):
    clf, X = fitted[name], shop[0]
    discbayes.mlflow.save_model(clf, "labels")
    discbayes.mlflow.save_model(clf, "shares", "predict_proba")
    labels = mlflow.pyfunc.load_model("labels").predict(X)
    assert labels.tolist() == clf.predict(X).tolist()
    shares = mlflow.pyfunc.load_model("shares").predict(X)
    assert list(shares.columns) == ["lo", "mid", "top"]
    np.testing.assert_array_equal(shares.to_numpy(), clf.predict_proba(X))
    again = discbayes.mlflow.load_model("labels")
    assert type(again) is type(clf)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_the_data_is_the_model_file_and_nothing_else(fitted, mlflow, tmp_path):
    discbayes.mlflow.save_model(fitted["classifier"], "model")
    fitted["classifier"].save("model.json")
    (data,) = (tmp_path / "model" / "data").iterdir()
    assert data.read_bytes() == (tmp_path / "model.json").read_bytes()
    assert not list((tmp_path / "model").rglob("*.pkl"))
    assert (
        f"discbayes[jit]=={discbayes.__version__}"
        in (tmp_path / "model" / "requirements.txt").read_text()
    )


def test_a_logged_model_is_found_by_its_address(fitted, shop, mlflow):
    with mlflow.start_run():
        info = discbayes.mlflow.log_model(fitted["classifier"], "shop", "predict_proba")
    again = discbayes.mlflow.load_model(info.model_uri)
    expected = fitted["classifier"].predict_proba(shop[0])
    np.testing.assert_array_equal(again.predict_proba(shop[0]), expected)
    served = mlflow.pyfunc.load_model(info.model_uri).predict(shop[0])
    np.testing.assert_array_equal(served.to_numpy(), expected)


def test_other_models_and_methods_are_refused(fitted, mlflow, tmp_path):
    with pytest.raises(ValueError, match="method='explain' is none of 'predict', 'predict_proba'"):
        discbayes.mlflow.save_model(fitted["classifier"], "model", "explain")
    discbayes.mlflow.save_model(fitted["classifier"], "model")
    path = tmp_path / "model" / "MLmodel"
    path.write_text(path.read_text().replace("discbayes.mlflow", "some.other"))
    with pytest.raises(ValueError, match=r"not a model that discbayes\.mlflow has saved"):
        discbayes.mlflow.load_model("model")


# ---- skops


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_trusted_types_are_all_types_of_released_models(path):
    """With every learner that has a name in their settings."""
    skops = pytest.importorskip("skops.io")
    content = skops.dumps(load(path))
    assert set(skops.get_untrusted_types(data=content)) <= set(TRUSTED_TYPES)
    skops.loads(content, trusted=TRUSTED_TYPES)


@pytest.mark.parametrize(
    "name",
    ["tan", "kdb-2", "default", "isotonic", "temperature", "ensemble", "csv-format", "dates"],
)
def test_skops_files_answer_the_same(name):
    skops = pytest.importorskip("skops.io")
    clf = CASES[name].model()
    rows = [{}, {"size": 1.0}]
    expected = clf.predict_proba(rows)  # which keeps what it has computed
    again = skops.loads(skops.dumps(clf), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(again.predict_proba(rows), expected)


def test_mlflow_saves_it_as_an_estimator_too(fitted, shop, mlflow):
    pytest.importorskip("skops.io")
    mlflow.sklearn.save_model(
        fitted["classifier"],
        "model",
        serialization_format="skops",
        skops_trusted_types=TRUSTED_TYPES,
        pip_requirements=["discbayes"],
    )
    again = mlflow.sklearn.load_model("model")
    expected = fitted["classifier"].predict_proba(shop[0])
    np.testing.assert_array_equal(again.predict_proba(shop[0]), expected)


def test_trusted_types_are_names_of_this_library():
    assert all(name.startswith("discbayes.") for name in TRUSTED_TYPES)
    assert sorted(set(TRUSTED_TYPES)) == TRUSTED_TYPES
    json.dumps(TRUSTED_TYPES)

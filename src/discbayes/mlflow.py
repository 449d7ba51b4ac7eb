"""An MLflow flavor: models are logged as their JSON file, without pickles.

What is logged is a ``python_function`` of MLflow whose data is ``model.json``, so that MLflow
serves it like any other: loading it runs nothing but this library. It needs the extra ``mlflow``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes._version import __version__
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.io.model import load, save

FLAVOR = "python_function"
_FILE = "model.json"
_METHODS = ("predict", "predict_proba")
_REQUIREMENTS = (f"discbayes[jit]=={__version__}", "pandas")


def save_model(
    classifier: BayesNetClassifier | BayesNetEnsemble,
    path: str | Path,
    method: str = "predict",
    **options: Any,
) -> None:
    """Save a fitted classifier as an MLflow model.

    Parameters
    ----------
    classifier : BayesNetClassifier or BayesNetEnsemble
        The fitted classifier.
    path : str or Path
        The folder of the model, which is new.
    method : {"predict", "predict_proba"}, default="predict"
        What the model answers: class labels, or a frame of probabilities with a column for each
        class.
    **options
        Further arguments of ``mlflow.pyfunc.save_model``, such as ``signature``.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> from discbayes.mlflow import load_model, save_model
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
    >>> save_model(clf, "iris")  # doctest: +SKIP
    >>> load_model("iris").predict(iris.X[:1])  # doctest: +SKIP
    array(['setosa'], dtype=...)
    """
    with _as_file(classifier) as folder:
        need("mlflow.pyfunc").save_model(path, **_arguments(folder, method, options))


def log_model(
    classifier: BayesNetClassifier | BayesNetEnsemble,
    name: str,
    method: str = "predict",
    **options: Any,
) -> Any:
    """Log a fitted classifier to the active run of MLflow.

    Parameters
    ----------
    classifier : BayesNetClassifier or BayesNetEnsemble
        The fitted classifier.
    name : str
        The name of the model.
    method : {"predict", "predict_proba"}, default="predict"
        What the model answers, as for ``save_model``.
    **options
        Further arguments of ``mlflow.pyfunc.log_model``, such as ``signature`` or
        ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        What MLflow tells about the model, with its ``model_uri``.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> from discbayes.mlflow import log_model
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_model(clf, "iris", "predict_proba")
    """
    with _as_file(classifier) as folder:
        return need("mlflow.pyfunc").log_model(name=name, **_arguments(folder, method, options))


def load_model(uri: str | Path) -> BayesNetClassifier | BayesNetEnsemble:
    """Load the classifier of an MLflow model.

    Parameters
    ----------
    uri : str or Path
        The folder that ``save_model`` wrote, or the address of a logged or registered model, such
        as ``"models:/iris/1"``.

    Returns
    -------
    BayesNetClassifier or BayesNetEnsemble
        The classifier, whose predictions have the same bits as those of the saved one.

    Examples
    --------
    >>> from discbayes.mlflow import load_model
    >>> load_model("models:/iris/1")  # doctest: +SKIP
    BayesNetClassifier()
    """
    folder = need("mlflow.artifacts").download_artifacts(artifact_uri=str(uri))
    flavors = need("mlflow.models").Model.load(folder).flavors
    flavor = flavors.get(FLAVOR, {})
    if flavor.get("loader_module") != __name__:
        raise ValueError(f"{uri} is not a model that discbayes.mlflow has saved")
    return load(Path(folder) / flavor["data"])


class ServedModel:
    """A classifier as MLflow calls it.

    Parameters
    ----------
    classifier : BayesNetClassifier or BayesNetEnsemble
        The classifier.
    method : {"predict", "predict_proba"}
        What it answers.
    """

    def __init__(self, classifier: BayesNetClassifier | BayesNetEnsemble, method: str):
        self.classifier = classifier
        self.method = method

    def predict(self, X: Any, params: dict[str, Any] | None = None) -> Any:
        """Return class labels, or a frame of probabilities.

        Parameters
        ----------
        X : frame, array or list of mappings
            The rows.
        params : dict, optional
            Nothing: MLflow passes it.

        Returns
        -------
        ndarray or DataFrame
            The answers.
        """
        found: np.ndarray = getattr(self.classifier, self.method)(X)
        if self.method == "predict":
            return found
        names = [str(label) for label in self.classifier.classes_.tolist()]
        return need("pandas").DataFrame(found, columns=names)


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> ServedModel:
    """Return the model of a file; MLflow calls this."""
    method = (model_config or {}).get("method", _METHODS[0])
    _check_method(method)
    return ServedModel(load(path), method)


def _check_method(method: Any) -> None:
    if method not in _METHODS:
        raise ValueError(f"method={method!r} is none of {', '.join(map(repr, _METHODS))}")


def _arguments(folder: str, method: str, options: dict[str, Any]) -> dict[str, Any]:
    _check_method(method)
    requirements = {"pip_requirements": list(_REQUIREMENTS)}
    if "conda_env" in options or "extra_pip_requirements" in options:
        requirements = {}
    return {
        "loader_module": __name__,
        "data_path": str(Path(folder) / _FILE),
        "model_config": {"method": method},
        **requirements,
        **options,
    }


def _as_file(classifier: Any) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder with the file of a classifier."""
    folder = tempfile.TemporaryDirectory()
    try:
        save(classifier, Path(folder.name) / _FILE)
    except BaseException:
        folder.cleanup()
        raise
    return folder

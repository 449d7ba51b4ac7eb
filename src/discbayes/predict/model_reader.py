"""Model files read by numpy alone, each field checked as `discbayes.load` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discbayes._settings import sums_to_one
from discbayes.data.domain import Domain
from discbayes.io.document import MAX_VALUES
from discbayes.io.domains import class_array, unpack_domain
from discbayes.io.model_fields import (
    MAX_BYTES,
    MODEL,
    OPTIONAL,
    OPTIONAL_POOL,
    POOL,
    calibration_fields,
    feature_names,
    restore_content,
    restore_file,
    restore_members,
    table_arrays,
    threshold_arrays,
)
from discbayes.io.setting_values import unpack_network_structure
from discbayes.io.validation import as_array, as_finite, as_object, as_text, naming
from discbayes.network.structure import Structure
from discbayes.predict.network_sums import NetworkSums
from discbayes.predict.pooling import (
    FARTHEST,
    EnsemblePosterior,
    IsotonicMap,
    NetworkPosterior,
    PoolMap,
    ProbabilityMap,
    TemperatureMap,
)
from discbayes.predict.predictor import Member, Predictor

TEMPERATURES = (1e-3, 1e3)
SCALES = (0.01, 10.0)
EXPONENTS = (0.0, 64.0)


def load(path: str | Path, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES) -> Predictor:
    """Read a model file, to predict by it with numpy alone.

    The file may come from anyone, as for ``discbayes.load``: it is data, every size in it is
    bounded, and what is not valid is refused.

    Parameters
    ----------
    path : str or Path
        The file that ``save`` wrote.
    max_bytes : int, default=2**30
        The largest size of a file.
    max_values : int, default=5_000_000
        The maximum number of JSON values, as for ``discbayes.load``.

    Returns
    -------
    Predictor
        The model, which predicts as the classifier does that was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model file, or holds what this reader does not know.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import discbayes.predict
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(pathlib.Path(folder) / "model.json")
    ...     model = discbayes.predict.load(pathlib.Path(folder) / "model.json")
    >>> model
    Predictor(4 columns, classes: 'setosa', 'versicolor', 'virginica')
    >>> bool(abs(model.predict_proba(iris.X) - clf.predict_proba(iris.X)).max() < 1e-9)
    True
    """
    return restore_file(path, max_bytes, max_values, _predictor)


def load_bytes(content: bytes, name: str = "the file", max_values: int = MAX_VALUES) -> Predictor:
    """Return the predictor of the content of a model file.

    Parameters
    ----------
    content : bytes
        The content.
    name : str
        The name of the file in messages.
    max_values : int, default=5_000_000
        The maximum number of JSON values.

    Returns
    -------
    Predictor
        The model.

    Examples
    --------
    >>> load_bytes(b"{}")
    Traceback (most recent call last):
    discbayes.io.errors.ModelFileError: the file cannot be loaded: it is JSON, but not...
    """
    return restore_content(content, name, max_values, _predictor)


def _predictor(model: dict[str, Any]) -> Predictor:
    return _ensemble(model) if "members" in model else _single(model)


def _single(model: dict[str, Any]) -> Predictor:
    member, classes = _member(model)
    return Predictor((member,), classes, *_matching(model["settings"]))


def _ensemble(model: dict[str, Any]) -> Predictor:
    members = restore_members(model, _member, _check_same_columns)
    classes = members[0][1]
    scale = _bounded(model["scale"], "scale", SCALES)
    as_finite(model["cell_penalty"], "cell_penalty")
    shares = as_array(model["class_shares"], "class_shares")
    if shares.shape != classes.shape:
        raise ValueError("class_shares needs a number for each class")
    return Predictor(
        tuple(member for member, _ in members),
        classes,
        *_matching(model["settings"]),
        ensemble=EnsemblePosterior(_log_shares(shares, "class_shares"), scale),
    )


def _check_same_columns(
    found: tuple[Member, np.ndarray], other_found: tuple[Member, np.ndarray]
) -> None:
    """Refuse a member of other columns or classes than the first one."""
    (member, labels), (first, classes) = found, other_found
    same = classes.dtype == labels.dtype and classes.tolist() == labels.tolist()
    if not same or _column_kinds(member) != _column_kinds(first):
        raise ValueError("it has other columns or classes than the first member")


def _column_kinds(member: Member) -> tuple[bool, str, list[tuple[str, str]]]:
    domain = member.domain
    return member.named, domain.target.name, [(each.name, each.kind) for each in domain.features]


def _matching(settings: Any) -> tuple[bool, bool]:
    """Return whether columns are matched by name, and whether unknown values are refused."""
    fields = as_object(settings, "settings")
    by_name = as_text(fields.get("columns", "strict"), "settings.columns", ("strict", "by-name"))
    unknown = as_text(
        fields.get("unknown", "marginalize"), "settings.unknown", ("marginalize", "error")
    )
    return by_name == "by-name", unknown == "error"


def _member(model: dict[str, Any]) -> tuple[Member, np.ndarray]:
    """Return the network of a parsed model with its calibration, and the class labels."""
    as_object(model, "model", MODEL, OPTIONAL)
    domain = unpack_domain(model["domain"])
    structure = unpack_network_structure(model["structure"], "structure")
    network, offset = _network(model["tables"], domain, structure)
    classes = class_array(domain.target, model["class_dtype"], "class_dtype")
    names = feature_names(model, domain)
    to_probabilities = None
    if "calibration" in model:
        to_probabilities = _calibration(model["calibration"], domain, structure)
    posterior = NetworkPosterior(network, offset, to_probabilities)
    return Member(domain, names is not None, posterior), classes


def _network(
    value: Any, domain: Domain, structure: Structure
) -> tuple[NetworkSums, np.ndarray | None]:
    """Return the tables of a network, and the offset of a discriminative prior."""
    arrays = table_arrays(value, domain, structure)
    log_prior, log_theta = arrays["log_prior"], arrays["log_theta"]
    offset = arrays.get("prior_offset")
    if offset is not None and not (
        offset.shape == (domain.n_classes,) and np.isfinite(offset).all()
    ):
        raise ValueError("tables.prior_offset must be one finite number for each class")
    n_states = domain.coarse.cards.tolist()
    tables = []
    start = 0
    for i, group in enumerate(structure.parents):
        n_configurations = 1
        for parent in group:
            n_configurations *= n_states[parent]
        shape = (n_configurations, domain.features[i].card, domain.n_classes)
        stop = start + shape[0] * shape[1] * shape[2]
        tables.append(log_theta[start:stop].reshape(shape))
        start = stop
    return NetworkSums(domain, structure, log_prior, tables), offset


def _calibration(value: Any, domain: Domain, structure: Structure) -> ProbabilityMap:
    kind, fields, found = calibration_fields(value, domain.n_classes)
    shares = _log_shares(found, "calibration.class_shares")
    with naming("calibration"):
        if kind == "temperature":
            return TemperatureMap(
                shares, _bounded(fields["temperature"], "temperature", TEMPERATURES)
            )
        if kind == "isotonic":
            return _isotonic(shares, *threshold_arrays(fields))
        generative, _ = _network(fields["tables"], domain, structure)
        scale = _bounded(fields["scale"], "scale", SCALES)
        numbers = OPTIONAL_POOL | fields
        exponent = _bounded(numbers["exponent"], "exponent", EXPONENTS)
        names = (*POOL[1:], "unusual")
        others = {name: _bounded(numbers[name], name, (0.0, 1.0)) for name in names}
        return PoolMap(shares, generative, scale, exponent=exponent, **others)


def _log_shares(shares: np.ndarray, where: str) -> np.ndarray:
    if not sums_to_one(shares):
        raise ValueError(f"{where} must be probabilities that sum to 1")
    with np.errstate(divide="ignore"):
        return np.log(shares)


def _bounded(value: Any, where: str, limits: tuple[float, float]) -> float:
    number = float(as_finite(value, where))
    if not limits[0] <= number <= limits[1]:
        raise ValueError(f"{where} is from {limits[0]:g} to {limits[1]:g}, not {number:g}")
    return number


def _isotonic(
    shares: np.ndarray, log_odds: tuple[np.ndarray, ...], probabilities: tuple[np.ndarray, ...]
) -> IsotonicMap:
    if not len(log_odds) == len(probabilities) == shares.size:
        raise ValueError("an isotonic calibration needs thresholds for every class")
    for odds, values in zip(log_odds, probabilities, strict=True):
        if odds.ndim != 1 or odds.shape != values.shape or not odds.size:
            raise ValueError("the thresholds of a class are pairs of numbers, one pair at least")
        if not (np.abs(odds) <= FARTHEST).all() or not (np.diff(odds) > 0).all():
            raise ValueError(f"log_odds must be at most ±{FARTHEST:g} and rise")
        if not (values[0] >= 0 and values[-1] <= 1 and (np.diff(values) >= 0).all()):
            raise ValueError("probabilities must be from 0 to 1 and not fall")
    return IsotonicMap(shares, log_odds, probabilities)

"""Model files read by numpy alone, each field checked as `discbayes.load` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discbayes.data.domain import Domain
from discbayes.io.document import MAX_VALUES, hint_of_version, open_document
from discbayes.io.domains import check_cells, class_array, unpack_domain
from discbayes.io.errors import ModelFileError, one_line, read_limited
from discbayes.io.setting_values import unpack_network_structure
from discbayes.io.validation import (
    CONTENT_ERRORS,
    as_array,
    as_finite,
    as_int,
    as_list,
    as_object,
    as_text,
    naming,
)
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

MAX_BYTES = 1 << 30
MAX_MEMBERS = 1000
MAX_LOG = 1e100
TEMPERATURES = (1e-3, 1e3)
SCALES = (0.01, 10.0)
_MODEL = (
    "settings",
    "domain",
    "structure",
    "tables",
    "class_dtype",
    "n_features_in",
    "feature_names_in",
    "history",
)
# what an answer does not depend on: the settings of another fit, the trace, counts, CSV files, and
# the tables of a class with parents, which those of the network have absorbed
_OPTIONAL = ("calibration", "tallies", "n_samples_seen", "csv_format", "class_table")
_ENSEMBLE = ("settings", "scale", "class_shares", "cell_penalty", "members")
_POOL = ("scale", "doubt", "usual_missing")
_CALIBRATIONS: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "isotonic": ("log_odds", "probabilities"),
    "pool": (*_POOL, "tables"),
}


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
    content = read_limited(path, max_bytes)
    if content is None:
        raise ModelFileError(
            f"{path}: the file has more than {max_bytes} bytes, the limit of max_bytes"
        )
    return load_bytes(content, str(path), max_values)


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
    library = ""
    try:
        model, library = open_document(content, max_values)
        return _ensemble(model) if "members" in model else _single(model)
    except (*CONTENT_ERRORS, MemoryError) as error:
        reasons = {
            RecursionError: "it is nested too deeply",
            MemoryError: "there is not enough memory to read it",
        }
        reason = reasons.get(type(error)) or one_line(error)
        raise ModelFileError(
            f"{name} cannot be loaded: {reason}{hint_of_version(library)}"
        ) from error


def _single(model: dict[str, Any]) -> Predictor:
    member, classes = _member(model)
    return Predictor((member,), classes, *_matching(model["settings"]))


def _ensemble(model: dict[str, Any]) -> Predictor:
    as_object(model, "model", _ENSEMBLE, ("csv_format",))
    packed = as_list(model["members"], "members")
    if not 1 <= len(packed) <= MAX_MEMBERS:
        raise ValueError(f"members: an ensemble has 1 to {MAX_MEMBERS} of them, not {len(packed)}")
    members: list[tuple[Member, np.ndarray]] = []
    for number, one in enumerate(packed):
        with naming(f"members[{number}]"):
            found, labels = _member(as_object(one, "model"))
            first, classes = members[0] if members else (found, labels)
            same = classes.dtype == labels.dtype and classes.tolist() == labels.tolist()
            if not same or _column_kinds(found) != _column_kinds(first):
                raise ValueError("it has other columns or classes than the first member")
        members.append((found, labels))
    scale = _bounded(model["scale"], "scale", SCALES)
    as_finite(model["cell_penalty"], "cell_penalty")
    shares = _log_shares(model["class_shares"], "class_shares", classes.size)
    return Predictor(
        tuple(member for member, _ in members),
        classes,
        *_matching(model["settings"]),
        ensemble=EnsemblePosterior(shares, scale),
    )


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
    as_object(model, "model", _MODEL, _OPTIONAL)
    domain = unpack_domain(model["domain"])
    structure = unpack_network_structure(model["structure"], "structure")
    network, offset = _network(model["tables"], domain, structure)
    classes = class_array(domain.target, model["class_dtype"], "class_dtype")
    n_features = len(domain.columns)
    if as_int(model["n_features_in"], "n_features_in") != n_features:
        raise ValueError(f"n_features_in is not the number of columns, {n_features}")
    names = model["feature_names_in"]
    if names is not None and as_list(names, "feature_names_in", n_features) != domain.columns:
        raise ValueError("feature_names_in must be the names of the columns, in their order")
    to_probabilities = None
    if "calibration" in model:
        to_probabilities = _calibration(model["calibration"], domain, structure)
    posterior = NetworkPosterior(network, offset, to_probabilities)
    return Member(domain, names is not None, posterior), classes


def _network(
    value: Any, domain: Domain, structure: Structure
) -> tuple[NetworkSums, np.ndarray | None]:
    """Return the tables of a network, and the offset of a discriminative prior."""
    fields = as_object(value, "tables", ("log_prior", "log_theta"), ("prior_offset",))
    arrays = {name: as_array(field, f"tables.{name}") for name, field in fields.items()}
    log_prior = arrays["log_prior"]
    log_theta = arrays["log_theta"]
    check_cells(domain, structure, log_theta.size, "tables", "log_theta")
    if log_theta.ndim != 1 or any(
        arrays[name].shape != (domain.n_classes,) for name in arrays if name != "log_theta"
    ):
        raise ValueError("tables do not have the shapes of the domain and structure")
    for name, numbers in arrays.items():
        if not ((np.abs(numbers) <= MAX_LOG) | (numbers == -np.inf)).all():
            raise ValueError(f"tables.{name} holds NaN, infinity or numbers beyond {MAX_LOG:g}")
    if not log_prior.max() > -np.inf:
        raise ValueError("tables.log_prior has no class that is possible")
    offset = arrays.get("prior_offset")
    if offset is not None and not np.isfinite(offset).all():
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
    kind = as_text(
        as_object(value, "calibration").get("kind"), "calibration.kind", tuple(_CALIBRATIONS)
    )
    optional = ("unusual",) if kind == "pool" else ()
    fields = as_object(
        value, "calibration", ("kind", "class_shares", *_CALIBRATIONS[kind]), optional
    )
    shares = _log_shares(fields["class_shares"], "calibration.class_shares", domain.n_classes)
    with naming("calibration"):
        if kind == "temperature":
            return TemperatureMap(
                shares, _bounded(fields["temperature"], "temperature", TEMPERATURES)
            )
        if kind == "isotonic":
            parts = [_thresholds(fields[name], name) for name in _CALIBRATIONS[kind]]
            return _isotonic(shares, *parts)
        generative, _ = _network(fields["tables"], domain, structure)
        scale = _bounded(fields["scale"], "scale", SCALES)
        names = ("doubt", "usual_missing", "unusual")
        numbers = [_bounded(fields.get(name, 0), name, (0.0, 1.0)) for name in names]
        return PoolMap(shares, generative, scale, *numbers)


def _log_shares(value: Any, where: str, n_classes: int) -> np.ndarray:
    shares = as_array(value, where)
    if shares.shape != (n_classes,):
        raise ValueError(f"{where} has {shares.size} entries for {n_classes} classes")
    if not ((shares >= 0) & (shares <= 1.001)).all() or not np.isclose(shares.sum(), 1.0):
        raise ValueError(f"{where} must be probabilities that sum to 1")
    with np.errstate(divide="ignore"):
        return np.log(shares)


def _bounded(value: Any, where: str, limits: tuple[float, float]) -> float:
    number = float(as_finite(value, where))
    if not limits[0] <= number <= limits[1]:
        raise ValueError(f"{where} is from {limits[0]:g} to {limits[1]:g}, not {number:g}")
    return number


def _thresholds(value: Any, where: str) -> tuple[np.ndarray, ...]:
    return tuple(as_array(part, where) for part in as_list(value, where))


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

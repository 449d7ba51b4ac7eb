"""Fitted classifiers as one JSON file: all that predicting and refitting need, bit for bit.

Arrays are stored as their bytes, labels and settings as JSON with their types, learners by name. A
file that passes the checks of `load` is a classifier that can predict; any other is refused with
the reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discbayes._files import replace_file
from discbayes._version import __version__
from discbayes.bayesnet import BayesNet
from discbayes.calibration import (
    AUTO,
    MAX_SCALE,
    MIN_SCALE,
    POOL_EXPONENT,
    Calibration,
    Isotonic,
    LogPool,
    Temperature,
    check_class_shares,
)
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble, FittedModel, adopt
from discbayes.classifier.fitting import COLUMNS, STRICT
from discbayes.data import Domain, FrameEncoder
from discbayes.data.dates import DATES, EXPAND
from discbayes.inference import ESTIMATE, MAX_CELLS, RAISE, beyond_of_draws, cells_of_factor
from discbayes.io.document import MAX_VALUES, seal
from discbayes.io.domains import class_array, class_dtype, pack_domain, unpack_domain
from discbayes.io.errors import one_line
from discbayes.io.layouts import checked_layout
from discbayes.io.model_fields import (
    MAX_BYTES,
    MODEL,
    OPTIONAL,
    OPTIONAL_POOL,
    POOL,
    THRESHOLDS,
    calibration_fields,
    feature_names,
    restore_content,
    restore_file,
    restore_members,
    table_arrays,
    threshold_arrays,
)
from discbayes.io.packed_statistics import pack_statistics, unpack_statistics
from discbayes.io.setting_values import (
    pack_or_describe,
    pack_structure,
    unpack,
    unpack_network_structure,
    unpack_structure,
)
from discbayes.io.stored_format import pack_csv_format, unpack_csv_format
from discbayes.io.validation import (
    as_array,
    as_finite,
    as_int,
    as_list,
    as_object,
    as_optional_int,
    as_text,
    naming,
    pack_array,
    shown,
)
from discbayes.network import ClassTable, CPTs, Structure, absorb_class, absorbed_cells
from discbayes.parameters import PARAMETERS
from discbayes.search import STRUCTURES, FixedStructure
from discbayes.streams.csv_format import CsvFormat

MAX_FILE_CELLS = 10_000_000_000  # for a row, about ten seconds: the limit that a file may set
MAX_FACTOR_SIZE = 1 << 28  # the same limit in files of version 0.1: the size of a factor
MAX_ROWS = 1 << 53  # that a file may claim to be learned from
MAX_DRAWS = 1_000_000  # of a prediction, for each row and class
ENSEMBLE_VERSION = CLASS_PARENTS_VERSION = 3  # of the format, which added both
DATES_VERSION = 4  # which added parts of dates, ordered values and groups of values
EXPONENT_VERSION = 5  # which added the exponent of a pool
_NAMED: dict[str, Mapping[str, Any]] = {"structure": STRUCTURES, "parameters": PARAMETERS}
# where a model was learned is not stored, so that no file names an address to connect to
_PLACE = "cluster"
_CLOCK = "seconds"  # of a step of the history: not stored, so that equal fits have equal bytes


# Saving


def save(
    classifier: BayesNetClassifier | BayesNetEnsemble, path: str | Path, counts: bool = True
) -> None:
    """Write a fitted classifier or ensemble to one JSON file.

    The file is complete or absent: it replaces an older one in a single step. The same rows and
    settings give the same bytes; therefore the seconds of the steps in ``history_`` are not stored.
    Settings that JSON cannot hold (a learner or transformer of your own, a ``RandomState``) are
    left out; `load` warns and sets a default, which matters for fitting again and not for
    predicting.

    Parameters
    ----------
    classifier : BayesNetClassifier or BayesNetEnsemble
        The fitted classifier.
    path : str or Path
        The name of the file.
    counts : bool, default=True
        Whether to store the counts from which ``partial_fit`` and ``merge`` continue, if there are
        any.
    """
    replace_file(path, pack(classifier, counts))


def pack(classifier: BayesNetClassifier | BayesNetEnsemble, counts: bool = True) -> bytes:
    """Return the content of the file that `save` writes."""
    if isinstance(classifier, BayesNetEnsemble):
        check_is_fitted(classifier)
        ensemble = _pack_ensemble(classifier)
        _restore_ensemble(ensemble)
        newer = _has_newer_columns(classifier.domain_) or _reads_dates(classifier)
        version = DATES_VERSION if newer else ENSEMBLE_VERSION
        if any(map(_has_exponent, classifier.members_)):
            version = EXPONENT_VERSION
        return seal(ensemble, version)
    if not isinstance(classifier, BayesNetClassifier):
        raise TypeError(f"save writes a BayesNetClassifier, not {type(classifier).__name__}")
    check_is_fitted(classifier)
    model = _pack_model(classifier)
    statistics = classifier.sufficient_statistics_
    if counts and statistics is not None:
        model["tallies"] = pack_statistics(statistics)
    _restore(model)  # a model that could not be read is refused now
    return seal(model, _version(classifier))


def _pack_ensemble(ensemble: BayesNetEnsemble) -> dict[str, Any]:
    return {
        "settings": _pack_settings(ensemble.get_params(deep=False)),
        "scale": ensemble.scale_,
        "class_shares": pack_array(ensemble.class_shares_),
        "cell_penalty": ensemble.cell_penalty_,
        "members": [_pack_model(member) for member in ensemble.members_],
        **_packed_format(ensemble),
    }


def _version(classifier: BayesNetClassifier) -> int:
    """Return the lowest version of the format that knows all fields of a model.

    Version 2 added the coarse cut points of columns with two resolutions, pools with generative
    estimates, how the training file was read, and the number of training rows, which is left
    out where all else is of version 1.
    """
    domains = (classifier.network_.domain, classifier.domains)
    has_states = any(isinstance(domain, Domain) and domain.states is not None for domain in domains)
    is_new = has_states or isinstance(classifier.calibration_, LogPool)
    if _has_exponent(classifier):
        return EXPONENT_VERSION
    if any(_has_newer_columns(domain) for domain in domains if isinstance(domain, Domain)):
        return DATES_VERSION
    if _reads_dates(classifier):
        return DATES_VERSION
    if classifier.network_.class_parents:
        return CLASS_PARENTS_VERSION
    return 2 if is_new or _packed_format(classifier) else 1


def _has_exponent(classifier: BayesNetClassifier) -> bool:
    calibration = classifier.calibration_
    return isinstance(calibration, LogPool) and calibration.exponent != POOL_EXPONENT


def _reads_dates(classifier: BayesNetClassifier | BayesNetEnsemble) -> bool:
    """Return whether the training file had texts that are dates."""
    return classifier.csv_format_ is not None and bool(classifier.csv_format_.dates)


def _has_newer_columns(domain: Domain) -> bool:
    """Return whether a domain has parts of dates, ordered values or groups of values."""
    return any(
        each.ordered or each.date is not None or each.groups is not None for each in domain.features
    )


def _pack_model(classifier: BayesNetClassifier) -> dict[str, Any]:
    network, tables = classifier.network_, classifier.network_.parameters
    names = getattr(classifier, "feature_names_in_", None)
    model = {
        "settings": _pack_settings(classifier.get_params(deep=False)),
        "domain": pack_domain(network.domain),
        "structure": pack_structure(network.structure),
        "tables": _pack_tables(tables),
        "class_dtype": class_dtype(classifier.classes_),
        "n_features_in": int(classifier.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "history": [_pack_step(step) for step in getattr(classifier, "history_", [])],
    }
    if tables.class_table is not None:
        model["class_table"] = _pack_class_table(tables.class_table)
    if classifier.calibration_ is not None:
        model["calibration"] = _pack_calibration(classifier.calibration_)
    n_rows = getattr(classifier, "n_samples_seen_", None)
    if n_rows is not None and _version(classifier) > 1:
        model["n_samples_seen"] = int(n_rows)
    return {**model, **_packed_format(classifier)}


def _packed_format(classifier: BayesNetClassifier | BayesNetEnsemble) -> dict[str, Any]:
    """Return how the training file was read as a field, unless that was as by default."""
    if classifier.csv_format_ in (None, CsvFormat()):
        return {}
    return {"csv_format": pack_csv_format(classifier.csv_format_)}


def _pack_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as JSON.

    The limits of inference and the matching of columns are left out where they are the default,
    and draws have the word of version 0.1, so that it reads what it can follow.
    """
    kept = {name: value for name, value in settings.items() if name != _PLACE}
    if kept["max_cells"] == MAX_CELLS:
        del kept["max_cells"]
    if kept["columns"] == STRICT:
        del kept["columns"]
    if kept["dates"] == EXPAND:
        del kept["dates"]
    beyond = kept.pop("beyond_max_cells")
    if beyond != ESTIMATE:
        kept["n_draws"] = None if beyond == RAISE else beyond
    return {name: _pack_setting(value) for name, value in sorted(kept.items())}


def _pack_tables(tables: CPTs) -> dict[str, Any]:
    names = ("log_prior", "log_theta", "prior_offset")
    arrays = {name: getattr(tables, name) for name in names}
    return {name: pack_array(array) for name, array in arrays.items() if array is not None}


def _pack_class_table(own: ClassTable) -> dict[str, Any]:
    """Return a network before the table of the class was absorbed in that of one of its parents."""
    return {
        "structure": pack_structure(replace(own.features.structure, class_parents=own.parents)),
        "log_theta": pack_array(own.features.log_theta),
        "log_table": pack_array(own.log_table),
    }


def _pack_setting(value: Any) -> Any:
    return {"domain": pack_domain(value)} if isinstance(value, Domain) else pack_or_describe(value)


def _pack_step(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step of the history without its time; values that JSON cannot hold become text."""
    packed = {str(key): pack_or_describe(value) for key, value in step.items() if key != _CLOCK}
    return {
        k: v["opaque"] if isinstance(v, dict) and "opaque" in v else v for k, v in packed.items()
    }


def _pack_calibration(calibration: Calibration) -> dict[str, Any]:
    shares = pack_array(calibration.class_shares)
    if isinstance(calibration, Temperature):
        own: dict[str, Any] = {"temperature": calibration.temperature}
        return {"kind": "temperature", "class_shares": shares, **own}
    if isinstance(calibration, LogPool):
        tables = _pack_tables(calibration.generative.parameters)
        own = {name: getattr(calibration, name) for name in POOL}
        numbers = {name: getattr(calibration, name) for name in OPTIONAL_POOL}
        own |= {name: value for name, value in numbers.items() if value != OPTIONAL_POOL[name]}
        own["tables"] = tables
        return {"kind": "pool", "class_shares": shares, **own}
    assert isinstance(calibration, Isotonic)
    own = {name: [pack_array(part) for part in getattr(calibration, name)] for name in THRESHOLDS}
    return {"kind": "isotonic", "class_shares": shares, **own}


# Loading


def load(
    path: str | Path, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES
) -> BayesNetClassifier | BayesNetEnsemble:
    """Read a classifier, or an ensemble, that `save` wrote.

    The file is data: nothing in it is executed, and it can open no other file. It may come from
    anyone; a file that is not valid in every field is refused.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes : int, default=2**30
        The largest size of a file.
    max_values : int, default=5_000_000
        The maximum number of JSON values, counted by brackets and commas; a list counts as three
        and an object as eight. A network with a thousand columns of ten values has some thirty
        thousand of them; its CPTs are not among them.

    Returns
    -------
    BayesNetClassifier or BayesNetEnsemble
        The fitted classifier; its predictions have the same bits as those of the saved one.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model file, or of a newer version.

    See Also
    --------
    BayesNetClassifier.save : Write a fitted classifier.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from discbayes import BayesNetClassifier, load, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(pathlib.Path(folder) / "model.json")
    ...     again = load(pathlib.Path(folder) / "model.json")
    >>> bool((again.predict_proba(iris.X) == clf.predict_proba(iris.X)).all())
    True
    """
    return _with_notes(restore_file(path, max_bytes, max_values, _restored))


def load_bytes(
    content: bytes, name: str, max_values: int = MAX_VALUES
) -> BayesNetClassifier | BayesNetEnsemble:
    """Return the classifier from the content of a file; ``name`` is its name in messages."""
    return _with_notes(restore_content(content, name, max_values, _restored))


def _restored(model: dict[str, Any]) -> tuple[BayesNetClassifier | BayesNetEnsemble, list[str]]:
    return _restore_ensemble(model) if "members" in model else _restore(model)


def _with_notes(
    found: tuple[BayesNetClassifier | BayesNetEnsemble, list[str]],
) -> BayesNetClassifier | BayesNetEnsemble:
    """Return a classifier, after the notes on its settings as warnings."""
    classifier, notes = found
    for note in notes:
        warnings.warn(one_line(note), stacklevel=3)
    return classifier


def _restore(model: dict[str, Any]) -> tuple[BayesNetClassifier, list[str]]:
    """Return the classifier of a parsed model, and notes on its settings for the user."""
    as_object(model, "model", MODEL, OPTIONAL)
    domain = unpack_domain(model["domain"])
    structure = unpack_network_structure(model["structure"], "structure")
    tables = _unpack_tables(model["tables"], domain, structure)
    if "class_table" in model:
        tables = _with_class_table(tables, model["class_table"], domain)
    classes = class_array(domain.target, model["class_dtype"], "class_dtype")
    settings, notes = _unpack_settings(
        model["settings"], BayesNetClassifier(FixedStructure(structure))
    )
    classifier = BayesNetClassifier(**settings)
    network = BayesNet(
        domain,
        tables,
        max_cells=classifier.max_cells,
        beyond_max_cells=classifier.beyond_max_cells,
        n_jobs=classifier.n_jobs,
    )
    with naming("settings"):
        encoder = FrameEncoder.from_domain(domain, classifier.unknown, classifier.n_jobs, classes)
    calibration = statistics = None
    if "calibration" in model:
        calibration = _unpack_calibration(model["calibration"], network)
    if "tallies" in model:
        statistics = unpack_statistics(model["tallies"], domain)
    n_rows = None if statistics is None else statistics.n_samples
    if "n_samples_seen" in model:
        n_rows = as_int(model["n_samples_seen"], "n_samples_seen", 0, MAX_ROWS)
    adopt(classifier, FittedModel(encoder, network, calibration, statistics, n_rows=n_rows))
    _restore_columns(classifier, model, domain)
    if "csv_format" in model:
        classifier.csv_format_ = unpack_csv_format(model["csv_format"])
    steps = as_list(model["history"], "history")
    classifier.history_ = [
        {k: unpack(v, "history") for k, v in as_object(s, "history").items()} for s in steps
    ]
    return classifier, notes


def _restore_ensemble(model: dict[str, Any]) -> tuple[BayesNetEnsemble, list[str]]:
    """Return the ensemble of a parsed model, and notes on its settings for the user."""
    restored = restore_members(model, _restore, _check_same_columns)
    members = [member for member, _ in restored]
    settings, notes = _unpack_settings(model["settings"], BayesNetEnsemble())
    ensemble = BayesNetEnsemble(**settings)
    scale = float(as_finite(model["scale"], "scale"))
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise ValueError(f"scale is from {MIN_SCALE} to {MAX_SCALE}, not {scale}")
    shares = as_array(model["class_shares"], "class_shares")
    if shares.shape != members[0].classes_.shape:
        raise ValueError("class_shares needs a number for each class")
    check_class_shares(shares)
    ensemble.classes_ = members[0].classes_
    ensemble.members_ = members
    ensemble.scale_ = scale
    ensemble.class_shares_ = shares
    ensemble.cell_penalty_ = float(as_finite(model["cell_penalty"], "cell_penalty"))
    ensemble.n_samples_seen_ = members[0].n_samples_seen_
    ensemble._encoder = members[0]._encoder
    if "csv_format" in model:
        ensemble.csv_format_ = unpack_csv_format(model["csv_format"])
    ensemble.n_features_in_ = members[0].n_features_in_
    if hasattr(members[0], "feature_names_in_"):
        ensemble.feature_names_in_ = members[0].feature_names_in_
    with naming("settings"):  # what the encoders of the members are asked with
        FrameEncoder.from_domain(
            ensemble.domain_, ensemble.unknown, ensemble.n_jobs, ensemble.classes_
        )
    return ensemble, notes


def _check_same_columns(
    found: tuple[BayesNetClassifier, list[str]], other_found: tuple[BayesNetClassifier, list[str]]
) -> None:
    """Refuse a member of other columns or classes than the first one."""
    (member, _), (first, _) = found, other_found
    one, other = member.network_.domain, first.network_.domain
    same_labels = (
        member.classes_.dtype == first.classes_.dtype
        and member.classes_.tolist() == first.classes_.tolist()
        and one.target.name == other.target.name
    )
    kinds = [[(each.name, each.kind) for each in domain.features] for domain in (one, other)]
    if not same_labels or kinds[0] != kinds[1]:
        raise ValueError("it has other columns or classes than the first member")
    if hasattr(member, "feature_names_in_") != hasattr(first, "feature_names_in_"):
        raise ValueError(
            "its columns have names, and those of the first member none, or vice versa"
        )


def _unpack_tables(value: Any, domain: Domain, structure: Structure) -> CPTs:
    arrays = table_arrays(value, domain, structure)
    layout = checked_layout(domain, structure, arrays["log_theta"].size, "tables", "log_theta")
    with naming("tables"):
        return CPTs(layout, arrays["log_prior"], arrays["log_theta"], arrays.get("prior_offset"))


def _with_class_table(tables: CPTs, value: Any, domain: Domain) -> CPTs:
    """Return the tables with those before the table of the class was absorbed, if they agree."""
    where = "class_table"
    fields = as_object(value, where, ("structure", "log_theta", "log_table"))
    structure = unpack_structure(fields["structure"], f"{where}.structure")
    log_theta = as_array(fields["log_theta"], f"{where}.log_theta")
    plain, above = replace(structure, class_parents=()), structure.class_parents
    layout = checked_layout(domain, plain, log_theta.size, where, "log_theta")
    log_table = as_array(fields["log_table"], f"{where}.log_table")
    with naming(where):
        if not above or absorbed_cells(layout, above) > tables.log_theta.size:
            raise ValueError("the class has no parents, or its table is not that of the network")
        features = CPTs(layout, np.zeros(domain.n_classes), log_theta)
        found = absorb_class(features, above, log_table)
        if found.structure != tables.structure or not np.array_equal(
            found.log_theta, tables.log_theta
        ):
            raise ValueError("the table of the class is not that of the network")
        return replace(tables, class_table=found.class_table)


def _unpack_calibration(value: Any, network: BayesNet) -> Calibration:
    domain = network.domain
    kind, fields, shares = calibration_fields(value, domain.n_classes)
    with naming("calibration"):
        if kind == "temperature":
            return Temperature(shares, float(as_finite(fields["temperature"], "temperature")))
        if kind == "pool":
            tables = _unpack_tables(fields["tables"], domain, network.structure)
            generative = replace(network, parameters=tables)
            names = [name for name in (*POOL, *OPTIONAL_POOL) if name in fields]
            numbers = {name: float(as_finite(fields[name], name)) for name in names}
            return LogPool(shares, generative, **numbers)
        return Isotonic(shares, *threshold_arrays(fields))


def _restore_columns(classifier: BayesNetClassifier, model: dict[str, Any], domain: Domain) -> None:
    names = feature_names(model, domain)
    classifier.n_features_in_ = len(domain.columns)
    if names is not None:
        classifier.feature_names_in_ = np.array(names, dtype=object)


# Settings


def _unpack_settings(
    value: Any, estimator: BayesNetClassifier | BayesNetEnsemble
) -> tuple[dict[str, Any], list[str]]:
    """Return the settings, and a note for each that the file could not hold.

    Those of the estimator take the place of what a file could not hold.
    """
    fields = _with_new_limits(as_object(value, "settings"))
    default = estimator.get_params(deep=False)
    del default[_PLACE]
    surplus = sorted(set(fields) - set(default))
    if surplus:
        name = type(estimator).__name__
        raise ValueError(f"settings: {name} has no parameter {shown(surplus[0])}")
    lost = {k: v["opaque"] for k, v in fields.items() if type(v) is dict and set(v) == {"opaque"}}
    settings = {k: default[k] if k in lost else _unpack_setting(k, v) for k, v in fields.items()}
    return settings, [_note(name, was, default[name]) for name, was in lost.items()]


def _with_new_limits(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the limits of inference by their names of now, as they were set.

    Version 0.1 had ``max_factor_size`` and ``n_draws``; the latter is what files have still.
    """
    if "beyond_max_cells" in fields:
        raise ValueError("settings: a model file has n_draws in place of 'beyond_max_cells'")
    fields = dict(fields)
    if "max_factor_size" in fields:
        if "max_cells" in fields:
            raise ValueError("settings: max_factor_size and max_cells are the same limit")
        size = as_int(fields.pop("max_factor_size"), "settings.max_factor_size", 1, MAX_FACTOR_SIZE)
        fields["max_cells"] = cells_of_factor(size)
    if "n_draws" in fields:
        draws = as_optional_int(fields.pop("n_draws"), "settings.n_draws", 1, MAX_DRAWS)
        fields["beyond_max_cells"] = beyond_of_draws(draws)
    return fields


def _unpack_setting(name: str, value: Any) -> Any:
    """Return a setting; the types of those that predict uses are checked here, others on use."""
    if name == "n_jobs":
        if value == 0:
            raise ValueError("settings.n_jobs must not be 0")
        return as_optional_int(value, "settings.n_jobs")
    if name == "max_cells":
        return as_int(value, "settings.max_cells", 1, MAX_FILE_CELLS)
    if name == "beyond_max_cells":
        return value
    if name == "columns":
        return as_text(value, "settings.columns", COLUMNS)
    if name == "dates":
        return as_text(value, "settings.dates", DATES)
    if name == "domains" and type(value) is dict and set(value) == {"domain"}:
        return unpack_domain(value["domain"], "settings.domains")
    setting = unpack(value, f"settings.{name}")
    if type(setting) is str and name in _NAMED and setting not in (AUTO, *_NAMED[name]):
        raise ValueError(
            f"settings.{name}: {shown(setting)} is not known to discbayes {__version__}"
        )
    return setting


def _note(name: str, was: Any, default: Any) -> str:
    now = type(default).__name__ if name == "structure" else repr(default)
    described = as_text(was, f"settings.{name}.opaque")[:200]
    return (
        f"{name} was {described}, which a model file cannot hold: it is {now} now. Only another fit"
        " would use it"
    )

"""Fields of model files, read alike by ``discbayes.load`` and by ``discbayes.predict``.

Nothing here imports more than numpy, as ``discbayes.predict`` reads model files without the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from discbayes.data.domain import Domain
from discbayes.io.document import hint_of_version, open_document
from discbayes.io.domains import check_cells
from discbayes.io.errors import ModelFileError, one_line, read_limited
from discbayes.io.validation import (
    CONTENT_ERRORS,
    as_array,
    as_int,
    as_list,
    as_object,
    as_text,
    naming,
    shown,
)
from discbayes.network.structure import Structure

MAX_BYTES = 1 << 30
MAX_MEMBERS = 1000
MODEL = (
    "settings",
    "domain",
    "structure",
    "tables",
    "class_dtype",
    "n_features_in",
    "feature_names_in",
    "history",
)
# fields that only some classifiers have
OPTIONAL = ("calibration", "tallies", "n_samples_seen", "csv_format", "class_table")
ENSEMBLE = ("settings", "scale", "class_shares", "cell_penalty", "members")
POOL = ("scale", "doubt", "usual_missing")
# of a pool where missing values are evidence in usual rows only, and of one that has learned it
OPTIONAL_POOL = {"unusual": 0.0, "exponent": 8.0}  # with what they are where they are left out
THRESHOLDS = ("log_odds", "probabilities")
CALIBRATIONS: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "isotonic": THRESHOLDS,
    "pool": (*POOL, "tables"),
}  # and their fields
_MAX_LOG = 1e100  # sums over features stay finite, also divided by a temperature
_REASONS: dict[type, str] = {  # for errors whose text does not tell
    RecursionError: "it is nested too deeply",
    MemoryError: "there is not enough memory to read it",
}

Restored = TypeVar("Restored")
Member = TypeVar("Member")


def restore_file(
    path: str | Path,
    max_bytes: int,
    max_values: int,
    restore: Callable[[dict[str, Any]], Restored],
) -> Restored:
    """Return what a function makes of the model in a file; refuse a file that is too large.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes, max_values : int
        The limits of its size.
    restore : callable
        Takes the fields of the model, and raises one of ``CONTENT_ERRORS`` if they are not valid.
    """
    content = read_limited(path, max_bytes)
    if content is None:
        raise ModelFileError(
            f"{path}: the file has more than {max_bytes} bytes, the limit of max_bytes"
        )
    return restore_content(content, str(path), max_values, restore)


def restore_content(
    content: bytes, name: str, max_values: int, restore: Callable[[dict[str, Any]], Restored]
) -> Restored:
    """Return what a function makes of the model in the content of a file, as `restore_file` does.

    Errors name the file, by ``name``, and the reason on one line.
    """
    library = ""
    try:
        model, library = open_document(content, max_values)
        return restore(model)
    except (*CONTENT_ERRORS, MemoryError) as error:
        reason = _REASONS.get(type(error)) or one_line(error)
        raise ModelFileError(
            f"{name} cannot be loaded: {reason}{hint_of_version(library)}"
        ) from error


def restore_members(
    model: dict[str, Any],
    restore: Callable[[dict[str, Any]], Member],
    check_same: Callable[[Member, Member], None],
) -> list[Member]:
    """Return the members of an ensemble, each of which is compared with the first one."""
    as_object(model, "model", ENSEMBLE, ("csv_format",))
    packed = as_list(model["members"], "members")
    if not 1 <= len(packed) <= MAX_MEMBERS:
        raise ValueError(f"members: an ensemble has 1 to {MAX_MEMBERS} of them, not {len(packed)}")
    members: list[Member] = []
    for number, one in enumerate(packed):
        with naming(f"members[{number}]"):
            member = restore(as_object(one, "model"))
            check_same(member, members[0] if members else member)
        members.append(member)
    return members


def feature_names(model: dict[str, Any], domain: Domain) -> list[str] | None:
    """Return the names of the columns at fit, None without any; refuse those of other columns."""
    columns = domain.columns
    if as_int(model["n_features_in"], "n_features_in") != len(columns):
        raise ValueError(
            f"n_features_in is {shown(model['n_features_in'])}, but the domain has {len(columns)}"
        )
    if model["feature_names_in"] is None:
        return None
    names = as_list(model["feature_names_in"], "feature_names_in", len(columns))
    for name in names:
        as_text(name, "feature_names_in")
    if names != columns:
        raise ValueError(
            "feature_names_in must be the names of the features of the domain, in their order"
        )
    return names


def table_arrays(value: Any, domain: Domain, structure: Structure) -> dict[str, np.ndarray]:
    """Return the arrays of the tables of a network; the prior may have an offset."""
    fields = as_object(value, "tables", ("log_prior", "log_theta"), ("prior_offset",))
    arrays = {name: as_array(field, f"tables.{name}") for name, field in fields.items()}
    log_prior, log_theta = arrays["log_prior"], arrays["log_theta"]
    check_cells(domain, structure, log_theta.size, "tables", "log_theta")
    if log_theta.ndim != 1 or log_prior.shape != (domain.n_classes,):
        raise ValueError(
            "tables.log_prior or log_theta does not have the shape of the domain and structure"
        )
    for name, numbers in arrays.items():
        if not ((np.abs(numbers) <= _MAX_LOG) | (numbers == -np.inf)).all():
            raise ValueError(f"tables.{name} holds NaN, infinity or numbers beyond {_MAX_LOG:g}")
    if not log_prior.max() > -np.inf:
        raise ValueError("tables.log_prior has no class that is possible")
    return arrays


def calibration_fields(value: Any, n_classes: int) -> tuple[str, dict[str, Any], np.ndarray]:
    """Return the kind of a calibration, its fields and the class shares, of the right length."""
    named = as_object(value, "calibration").get("kind")
    kind = as_text(named, "calibration.kind", tuple(CALIBRATIONS))
    optional = tuple(OPTIONAL_POOL) if kind == "pool" else ()
    needed = ("kind", "class_shares", *CALIBRATIONS[kind])
    fields = as_object(value, "calibration", needed, optional)
    shares = as_array(fields["class_shares"], "calibration.class_shares")
    if shares.shape != (n_classes,):
        raise ValueError(
            f"calibration.class_shares has {shares.size} entries for {n_classes} classes"
        )
    return kind, fields, shares


def threshold_arrays(fields: dict[str, Any]) -> list[tuple[np.ndarray, ...]]:
    """Return the thresholds of an isotonic calibration, of each class."""
    return [
        tuple(as_array(part, name) for part in as_list(fields[name], name)) for name in THRESHOLDS
    ]

"""Changes of model files by what they are made of: numbers, strings, lists, objects, arrays, and
whole networks.

A file is parsed, changed at random places and sealed again with a checksum that fits, so that
nothing but the checks of single fields stands between a change and the classifier. Every file
follows from a seed and its number.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

import damage

MODULUS = 2**61 - 1  # whole numbers that are a multiple of it apart have the same hash
NUMBERS = (
    0, 1, -1, 2, 255, 256, 2**31, 2**53 + 1, 2**63, 2**64, MODULUS,
    10**30, 10**308, -(10**308), 10**400,
    0.5, -0.0, 1e-300, 5e-324, 1e9, 1e99, -1e99, 1e100, 1e300, -1e300, 1.7e308, True, False, None,
)  # fmt: skip
CELLS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    700.0,
    -745.0,
    1e-300,
    1e99,
    -1e99,
    1e100,
    -1e100,
    1e300,
    -1e300,
    np.inf,
    -np.inf,
    np.nan,
)
TEXTS = (
    "",
    "x",
    "nan",
    "inf",
    "\x00",
    "\x1b[31m\n",
    "\ud800",
    "ß" * 40,
    "x" * 300,
    "y" * 20_000,
    "class",
    "(missing)",
)
DTYPES = ("|b1", "|i1", "<i2", "<i8", "|u1", "<u4", "<f2", "<f4", "<f8", "O", "U5", ">f8")
# as a power of ten: a set of so many numbers of one hash takes longer than the limit
MAX_POWER = 4.6
MAX_CELLS = 20_000


def mutated(documents: list[dict[str, Any]], seed: int, number: int) -> bytes:
    """The file of a seed and a number: a sound one, or another network in it, with up to four
    changes.
    """
    rng = np.random.default_rng([seed, number])
    document = copy.deepcopy(documents[int(rng.integers(len(documents)))])
    if rng.random() < 0.5:
        put_network(document["model"], rng)
    for _ in range(int(rng.integers(0, 5)) if rng.random() < 0.5 else 1):
        change(document, rng)
    return damage.sealed(document)


def pick(rng: np.random.Generator, items: Any) -> Any:
    """Return one of some items."""
    return items[int(rng.integers(len(items)))]


# Single places


def change(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Change what stands at a random place; half of them are reached from above, so that small
    fields have a say.
    """
    if rng.random() < 0.5:
        place = pick(rng, list(damage.places(document["model"])))
    else:
        place = descend(document["model"], rng)
    inner = damage.at(document["model"], place[:-1])
    key, value = place[-1], damage.at(document["model"], place)
    if rng.random() < 0.1:
        del inner[key]
    elif rng.random() < 0.1:
        inner[key] = anything(document["model"], rng)
    else:
        inner[key] = other(value, rng)


def descend(value: Any, rng: np.random.Generator) -> tuple[Any, ...]:
    """A place that is reached by going into a random member again and again, and stopping
    somewhere.
    """
    place: list[Any] = []
    while isinstance(value, (dict, list)) and value and (not place or rng.random() < 0.8):
        key = pick(rng, list(value)) if isinstance(value, dict) else int(rng.integers(len(value)))
        place.append(key)
        value = value[key]
    return tuple(place)


def other(value: Any, rng: np.random.Generator) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, dict):
        return (
            other_array(value, rng)
            if {"dtype", "data"} <= value.keys()
            else other_object(value, rng)
        )
    if isinstance(value, list):
        return other_list(value, rng)
    return pick(rng, TEXTS if isinstance(value, str) else NUMBERS)


def other_list(value: list[Any], rng: np.random.Generator) -> list[Any]:
    """Longer, shorter, in another order, with members twice, nested, or with numbers of one
    hash.
    """
    n = int(10 ** rng.uniform(0, MAX_POWER)) if rng.random() < 0.2 else int(rng.integers(1, 5))
    return [
        lambda: value[: int(rng.integers(len(value) + 1))],
        lambda: value[::-1],
        lambda: [*value, *value[:n]],
        lambda: (value or [0]) * (n if len(json.dumps(value)) < 200 else 2),
        lambda: [value],
        lambda: [*value, pick(rng, NUMBERS)],
        lambda: [k * MODULUS for k in range(n)],
        lambda: [f"v{k}" for k in range(n)],
        lambda: [k / 7 for k in range(n)],
        lambda: [*value[:-1], pick(rng, TEXTS)],
    ][int(rng.integers(10))]()


def other_object(value: dict[str, Any], rng: np.random.Generator) -> Any:
    """With a field more or less, with the values of two fields changed over, or within itself."""
    fields = dict(value)
    keys = list(fields)
    kind = int(rng.integers(5))
    if kind == 0 and keys:
        del fields[pick(rng, keys)]
    elif kind == 1:
        fields[pick(rng, TEXTS)] = pick(rng, NUMBERS)
    elif kind == 2 and len(keys) > 1:
        a, b = pick(rng, keys), pick(rng, keys)
        fields[a], fields[b] = fields[b], fields[a]
    elif kind == 3:
        return nested(value, int(rng.integers(1, 130)), rng)
    elif keys:
        key = pick(rng, keys)
        fields[key] = other(fields[key], rng)
    return fields


def nested(value: Any, levels: int, rng: np.random.Generator) -> Any:
    """A value within so many levels of something."""
    tag = pick(rng, ("list", "tuple", "set", "dict"))
    for _ in range(levels):
        value = [value] if tag == "list" else {tag: [[0, value]] if tag == "dict" else [value]}
    return value


def other_array(value: dict[str, Any], rng: np.random.Generator) -> Any:
    """Return other cells, of another number, shape or type."""
    try:
        cells = damage.unpacked(value)
    except (ValueError, TypeError):
        return pick(rng, NUMBERS)
    kind = int(rng.integers(6))
    if kind == 0:
        return {**value, "shape": [pick(rng, NUMBERS) for _ in range(int(rng.integers(4)))]}
    if kind == 1:
        return {**value, "dtype": pick(rng, DTYPES)}
    if kind == 2:
        return damage.packed(
            np.resize(cells, int(rng.integers(2 * cells.size + 2))), value["dtype"]
        )
    if cells.dtype.kind == "f":
        chosen = rng.random(cells.size) < rng.random() ** 3
        cells = np.where(
            chosen, pick(rng, CELLS), cells * (1.0 if kind == 3 else -(10.0 ** rng.integers(4)))
        )
    elif cells.size:
        cells[int(rng.integers(cells.size))] = 127
    return damage.packed(cells, value["dtype"])


def anything(model: dict[str, Any], rng: np.random.Generator) -> Any:
    """Return a value from elsewhere in the file, or a setting of any kind."""
    n = int(10 ** rng.uniform(0, MAX_POWER)) if rng.random() < 0.3 else 3
    same_hash = [k * MODULUS for k in range(n)]
    return [
        lambda: copy.deepcopy(damage.at(model, descend(model, rng))),
        lambda: {"set": same_hash},
        lambda: {"dict": [[key, 1] for key in same_hash]},
        lambda: {"set": [{"tuple": [key, key]} for key in same_hash]},
        lambda: {"labels": [pick(rng, TEXTS) for _ in range(n)]},
        lambda: {"array": damage.packed(rng.normal(size=n))},
        lambda: {"array": damage.packed([], shape=[pick(rng, NUMBERS[:14]), 0])},
        lambda: {
            "learner": pick(rng, ("KDB", "HillClimb", "SpanningTree", "Nobody")),
            "params": {},
        },
        lambda: {"structure": {"parents": [[] for _ in range(n)], "class_children": [True] * n}},
        lambda: {"opaque": pick(rng, TEXTS)},
        lambda: {"float": pick(rng, ("inf", "-inf", "nan", "1"))},
        lambda: nested(0, int(rng.integers(130)), rng),
    ][int(rng.integers(12))]()


# Whole networks


def put_network(model: dict[str, Any], rng: np.random.Generator) -> None:
    """Another domain, structure and tables that fit each other, of sizes that differ by orders of
    magnitude.
    """
    n_classes = int(10 ** rng.uniform(0, 3.5)) if rng.random() < 0.2 else int(rng.integers(1, 5))
    n_features = int(10 ** rng.uniform(0, 2.7)) if rng.random() < 0.3 else int(rng.integers(1, 8))
    features = [variable(f"x{i}", rng) for i in range(n_features)]
    cards = [
        max(1, v["missing_value"] + (len(v["values"] if v["cuts"] is None else v["cuts"] + [0])))
        for v in features
    ]
    n_states = [_n_states(v, card) for v, card in zip(features, cards, strict=True)]
    parents, sizes = _parents(cards, n_states, n_classes, rng)
    target = {"kind": "categorical", "cuts": None, "missing_value": False}
    model["domain"] = {
        "features": features,
        "target": {"name": "y", "values": labels(n_classes, rng), **target},
    }
    strings = all(isinstance(label, str) for label in model["domain"]["target"]["values"])
    model["class_dtype"] = pick(rng, ("str", "object")) if strings else "object"
    model["structure"] = {
        "parents": parents,
        "class_children": [bool(rng.random() < 0.9) for _ in features],
    }
    model["n_features_in"], model["feature_names_in"] = n_features, None
    model["settings"] = {**model["settings"], "max_factor_size": 1 << 20, "n_draws": None}
    model["tables"] = {
        "log_prior": damage.packed(cells(n_classes, rng)),
        "log_theta": damage.packed(cells(sum(sizes), rng)),
    }
    for name in ("calibration", "tallies"):
        model.pop(name, None)


def _parents(
    cards: list[int], n_states: list[int], n_classes: int, rng: np.random.Generator
) -> tuple[list[list[int]], list[int]]:
    """Up to three parents of each feature among those before it, while all tables stay small; and
    their sizes.
    """
    most, left = int(rng.integers(4)), MAX_CELLS
    parents: list[list[int]] = []
    sizes: list[int] = []
    for i, card in enumerate(cards):
        group = sorted({int(p) for p in rng.integers(0, i, min(i, most))}) if i else []
        size = card * n_classes * int(np.prod([n_states[p] for p in group], dtype=object))
        if size > left // 10:
            group, size = [], card * n_classes
        parents.append(group)
        sizes.append(size)
        left -= size
    return parents, sizes


def _n_states(variable: dict[str, Any], card: int) -> int:
    if "coarse_cuts" in variable:
        return len(variable["coarse_cuts"]) + 1 + variable["missing_value"]
    if "groups" in variable:
        return max(variable["groups"]) + 1 + variable["missing_value"]
    return card


def variable(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return a variable of values or cut points."""
    n = int(10 ** rng.uniform(0, 3)) if rng.random() < 0.05 else int(rng.integers(0, 5))
    if rng.random() < 0.3:
        cuts = sorted({float(cut) for cut in rng.normal(size=n) * 10.0 ** rng.integers(-3, 12)})
        found = {
            "name": name,
            "kind": "numeric",
            "values": [],
            "cuts": cuts,
            "missing_value": bool(rng.random() < 0.2),
        }
        if rng.random() < 0.5:
            found["coarse_cuts"] = [cut for cut in cuts if rng.random() < 0.4]
        return found
    values = labels(n, rng)
    missing = bool(rng.random() < 0.2)
    found = {
        "name": name,
        "kind": "categorical",
        "values": values,
        "cuts": None,
        "missing_value": missing,
    }
    if values and rng.random() < 0.3:
        groups: list[int] = []
        for _ in values:
            groups.append(int(rng.integers(0, max(groups, default=-1) + 2)))
        found["groups"] = groups
    return found


def labels(n: int, rng: np.random.Generator) -> list[Any]:
    """Distinct labels of one kind: short and long strings, whole numbers near and far, of one hash,
    broken ones.
    """
    step = int(10 ** rng.uniform(0, 20))
    return [
        lambda: [f"v{k}" for k in range(n)],
        lambda: [*(f"v{k}" for k in range(n - 1)), "x" * int(10 ** rng.uniform(1, 5.7))][:n],
        lambda: list(range(n)),
        lambda: [k * step for k in range(n)],
        lambda: [k * MODULUS for k in range(n)],
        lambda: [k + 0.5 for k in range(n)],
    ][int(rng.integers(6))]()


def cells(n: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers on the log scale: of usual size, spread widely, or with some that are extreme."""
    found = rng.normal(size=n) * 10.0 ** rng.integers(-1, 4)
    if rng.random() < 0.4 and n:
        found[rng.random(n) < rng.random() ** 2] = pick(
            rng, (-np.inf, -745.0, 710.0, 1e99, -1e99, 1e100, -1e100)
        )
    return found

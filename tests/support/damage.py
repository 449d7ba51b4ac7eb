"""Model files with something wrong in them: each field removed, doubled, of another type; damage;
false claims.

What is changed inside a file is sealed again with a checksum that fits, as someone who means harm
would do it. Files come as functions that make them, so that only those are made that are asked for.
"""

from __future__ import annotations

import base64
import copy
import datetime
import functools
import json
import tempfile
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from discbayes import BayesNetClassifier, BayesNetEnsemble, TwoResolutionDiscretizer
from discbayes.io.document import checksum

ODD = (
    None,
    True,
    -1,
    10**30,
    0.5,
    "",
    "x" * 3000,
    "\x1b[31m\n",
    [],
    {},
    [[0]],
    {"tuple": [1]},
    {"float": "nan"},
)
DEEP = 300
HUGE = 10**12
END = "the end"  # what marks the place of text that json.dumps would not write


def shop_rows(n_rows=48):
    """Numbers with a gap, text, booleans and a column of one value, with three classes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n_rows)
    size = np.round(rng.normal(size=n_rows) + y, 2)
    size[::9] = np.nan
    frame = pd.DataFrame(
        {
            "size": size,
            "colour": np.array(["red", "blue", "gr\u00fcn"])[(y + rng.integers(0, 2, n_rows)) % 3],
            "old": rng.random(n_rows) < 0.2 + 0.3 * y,
            "flat": np.zeros(n_rows),
        }
    )
    return frame, np.array(["lo", "mid", "top"])[y]


def with_dates(X, y):
    """The rows with dates, and an order of the categories."""
    months = np.where(y == "lo", 2, 7)
    when = [f"2023-{month:02}-{1 + row % 28:02}" for row, month in enumerate(months)]
    grades = pd.Categorical(X["colour"], ["red", "blue", "gr\u00fcn"], ordered=True)
    return pd.DataFrame({"size": X["size"], "colour": grades, "when": when})


@functools.cache
def good_files():
    """Sound model files by name; together they have every field that a file can have."""
    X, y = shop_rows()
    counted = BayesNetClassifier(
        "tan",
        "map",
        discretizer=TwoResolutionDiscretizer(n_fine=6),
        calibrate="isotonic",
        missing="value",
    ).fit(X, y)
    onward = BayesNetClassifier("tan", "map", domains=counted.network_.domain, missing="available")
    models = {
        "temperature": BayesNetClassifier("tan", "hybrid", random_state=1).fit(X, y),
        "isotonic": counted,
        "counts": onward.partial_fit(X, y),
        "default": BayesNetClassifier(random_state=1).fit(X, y),
        "ensemble": BayesNetEnsemble(2, random_state=1).fit(X, y),
        "dates": BayesNetClassifier("nb", "map").fit(with_dates(X, y), y),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            model.save(Path(folder) / name)
        return {name: (Path(folder) / name).read_bytes() for name in models}


def row_of(domain):
    """A row of a domain: the last value or the first cut point of each column, and a date."""
    row = {}
    for variable in domain.features:
        if variable.date is not None:
            row[variable.date.column] = datetime.date(2023, 1, 1)
        elif variable.cuts is not None:
            row[variable.name] = variable.cuts[0] if variable.cuts else 0.0
        else:
            row[variable.name] = variable.values[-1] if variable.values else None
    return list(row.values())


def documents():
    """The same files, parsed: new objects at each call."""
    return {name: json.loads(content) for name, content in good_files().items()}


def sealed(document):
    """The file of a document, with a checksum that fits where one can be taken."""
    return json.dumps(document | {"sha256": checksum(document)}).encode()


def places(value, path=()):
    """Every place in a JSON document but its root."""
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def at(document, place):
    """What stands at a place."""
    return functools.reduce(lambda inner, key: inner[key], place, document)


def changed(document, place, value):
    """A copy with another value at a place; ``...`` takes it away."""
    document = copy.deepcopy(document)
    inner, last = at(document, place[:-1]), place[-1]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return document


def resealed(document, place, value):
    """The file with another value at a place."""
    return sealed(changed(document, place, value))


def with_text(document, place, text):
    """The file with a text at a place that need not be JSON."""
    return sealed(changed(document, place, END)).replace(json.dumps(END).encode(), text.encode())


def doubled(document, place, key):
    """The file with a field of the object at a place twice."""
    content = resealed(document, (*place, END), at(document, place)[key])
    return content.replace(json.dumps(END).encode(), json.dumps(key).encode())


def packed(values, dtype="<f8", shape=None):
    """An array as a file has it."""
    array = np.asarray(values, dtype=dtype)
    shape = list(array.shape) if shape is None else shape
    return {"dtype": dtype, "shape": shape, "data": base64.b64encode(array.tobytes()).decode()}


def unpacked(value):
    """The array behind what a file has."""
    return np.frombuffer(base64.b64decode(value["data"]), value["dtype"]).copy()


def arrays(document):
    """The places of all arrays."""
    return [
        p
        for p in places(document)
        if isinstance(at(document, p), dict) and "dtype" in at(document, p)
    ]


# What can be wrong


def lost_fields(document):
    """Each field taken away."""
    for place in places(document):
        if isinstance(place[-1], str):
            yield partial(resealed, document, place, ...)


def surplus_fields(document):
    """A field more in each object, and each field twice."""
    for place in [(), *places(document)]:
        inner = at(document, place)
        if isinstance(inner, dict) and inner:
            yield partial(resealed, document, (*place, "surplus"), 1)
            first = next(iter(inner))
            yield partial(doubled, document, place, first)


def other_types(document):
    """Each field with a value of another type."""
    for turn, place in enumerate(places(document)):
        for k in range(3):
            yield partial(resealed, document, place, ODD[(turn + 4 * k) % len(ODD)])


def other_lengths(document):
    """Lists and arrays with an entry more, one less, or a shape that does not fit."""
    for place in places(document):
        value = at(document, place)
        if isinstance(value, list):
            yield partial(resealed, document, place, [*value, value[0] if value else 0])
            if value:
                yield partial(resealed, document, place, value[:-1])
    for place in arrays(document):
        values, dtype = unpacked(at(document, place)), at(document, place)["dtype"]
        for shape in ([HUGE], [len(values) + 1], [HUGE, 0], [2**62, 4], [-1], [1] * 40):
            yield partial(resealed, document, place, packed(values, dtype, shape))
        yield partial(resealed, document, place, packed(np.append(values, values[:1]), dtype))
        yield partial(resealed, document, place, packed(values[:-1], dtype))


def false_numbers(document):
    """NaN, infinities and numbers below zero in arrays; numbers that JSON has no word for."""
    for place in arrays(document):
        values, dtype = unpacked(at(document, place)), at(document, place)["dtype"]
        for number in (np.nan, np.inf, -np.inf, -1e300, 1e308) if dtype == "<f8" else ():
            yield partial(resealed, document, place, packed(np.full(values.size, number), dtype))
        if dtype == "<i8":
            yield partial(resealed, document, place, packed(values - 2**62, dtype))
    for number in ("NaN", "-Infinity", "1e999", "9" * 5000, "0x10", "1_000", "٣", "01", "+1", ".5"):
        yield partial(with_text, document, (*first_network(document), "n_features_in"), number)


def first_network(document):
    """The place of the only network, or of the first of an ensemble."""
    return ("model", "members", 0) if "members" in document["model"] else ("model",)


def false_structures(document):
    """Cycles, parents that are not there or there twice, and tables of more cells than any memory
    has.
    """
    place = (*first_network(document), "structure", "parents")
    n = len(at(document, place))
    ring = [[(i + 1) % n] for i in range(n)]
    for parents in (
        ring,
        [[0], *ring[1:]],
        [[n]] * n,
        [[-1]] * n,
        [[1, 1]] * n,
        [[HUGE]] * n,
        ring[:-1],
        [[True]] * n,
    ):
        yield partial(resealed, document, place, parents)
    for width in (40, 70, 1000):
        yield partial(claiming, document, width)


def claiming(document, width):
    """A network of ``width`` binary columns, of which the last has all others as parents, and no
    such table.
    """
    document = copy.deepcopy(document)
    model = at(document, first_network(document))
    binary = {"kind": "boolean", "values": [False, True], "cuts": None, "missing_value": False}
    model["domain"]["features"] = [{"name": f"x{i}", **binary} for i in range(width)]
    parents = [[] for _ in range(width - 1)] + [list(range(width - 1))]
    model["structure"] = {"parents": parents, "class_children": [True] * width}
    model["n_features_in"], model["feature_names_in"] = width, None
    model["tables"]["log_theta"] = packed(np.zeros((width - 1) * 6))
    return sealed(document)


def false_heads(document):
    """Other formats, versions and checksums."""
    for version in (0, -1, 6, 10**30, "1", 1.0, True, None):
        yield partial(resealed, document, ("version",), version)
    for name in ("", "discbayes", "discbayes-model ", None, 1):
        yield partial(resealed, document, ("format",), name)
    for digest in ("", "0" * 64, None, 0):
        yield json.dumps(document | {"sha256": digest}).encode


def deep_files(document):
    """Lists in lists in lists, anywhere."""
    for place in places(document):
        if len(place) == 3 and isinstance(place[-1], str):
            for opening, closing in (("[", "]"), ('{"tuple":[', "]}")):
                yield partial(with_text, document, place, opening * DEEP + closing * DEEP)


def cut_files(content, n_cuts=120):
    """The beginning of a file."""
    for stop in np.linspace(0, len(content) - 3, n_cuts).astype(int):
        yield partial(bytes, content[:stop])


def flipped_files(content, n_flips=200, seed=0):
    """One bit of a file turned round, or a byte taken out, put in twice or put elsewhere."""
    rng = np.random.default_rng(seed)
    for k in range(n_flips):
        changed, place = bytearray(content), int(rng.integers(len(content) - 1))
        if k % 4 == 0:
            del changed[place]
        elif k % 4 == 1:
            changed.insert(place, changed[place])
        else:
            changed[place] ^= 1 << int(rng.integers(8))
        yield partial(bytes, changed)


def mixed_changes(document, n_files=300, seed=0):
    """Several changes at once, at random."""
    rng = np.random.default_rng(seed)
    for _ in range(n_files):
        yield partial(mixed, document, int(rng.integers(2**32)))


def mixed(document, seed):
    """The file with up to three changes."""
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(1, 4))):
        known = list(places(document["model"]))
        place = ("model", *known[int(rng.integers(len(known)))])
        document = changed(document, place, [*ODD, ...][int(rng.integers(len(ODD) + 1))])
    return sealed(document)


INSIDE = {
    "a field is lost": lost_fields,
    "a field is surplus": surplus_fields,
    "another type": other_types,
    "another length": other_lengths,
    "false numbers": false_numbers,
    "false structures": false_structures,
    "false heads": false_heads,
    "deep nesting": deep_files,
    "mixed changes": mixed_changes,
}
OUTSIDE = {"cut short": cut_files, "bits and bytes": flipped_files}


def malformed(kind, every=1):
    """Every so many files of a kind."""
    for content in good_files().values():
        made = INSIDE[kind](json.loads(content)) if kind in INSIDE else OUTSIDE[kind](content)
        for make in islice(made, 0, None, every):
            yield make()

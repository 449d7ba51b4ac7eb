"""The conformance suite: model files of every kind, rows, and the probabilities that they have.

``python tests/support/conformance.py FOLDER`` writes two files for each case, which any runtime can
read:

``NAME.model.json``
    The model, as ``save`` writes it.
``NAME.cases.json``
    ``supports``: the runtimes that answer; others refuse the model, and say what they do not know.
    ``columns`` and ``rows``: the values, null where a value is missing; evidence that is not one
    value is an object with one field. ``classes`` and ``probabilities``: what ``predict_proba``
    returns. ``refused``: rows that every runtime refuses.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import oracle
from discbayes import (
    KDB,
    BayesNet,
    BayesNetClassifier,
    BayesNetEnsemble,
    Between,
    Likelihood,
    Not,
    OneOf,
    OrderBased,
    Structure,
    load,
)
from discbayes.calibration import LogPool
from discbayes.data import Domain, Variable
from discbayes.network import CPTs, absorb_class
from discbayes.streams.csv_format import CsvFormat, NumberFormat

FORMAT = 1
N_ROWS = 200
RUNTIMES = ("numpy", "javascript")
HUGE = 1e300
RELEASED = Path(__file__).parents[1] / "released"
# of 0.1.0: pools and two resolutions came later, all else is there
OLD = ("default", "isotonic", "two-parents", "without-class", "levels", "parameters-bn-svm")
Row = list[Any]


@dataclass(frozen=True)
class Case:
    """A model that can be saved, or the file of one, and how its rows are drawn."""

    model: Callable[[], Any]
    supports: tuple[str, ...] = RUNTIMES
    evidence: bool = False
    # columns of the rows, where they are not those of the model
    columns: tuple[str, ...] | None = None
    # whether members have intervals of their own, so that a likelihood cannot list them
    own_intervals: bool = False


# ---- tables to learn from


def shop(n_rows: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, text, booleans, whole numbers and a column of one value; a tenth is missing."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, n_rows)
    frame = pd.DataFrame(
        {
            "size": np.round(rng.normal(size=n_rows) + y, 2),
            "age": rng.integers(0, 30, n_rows) + 10.0 * (y == 2),
            "color": np.array(["red", "blue", "grün"])[(y + rng.integers(0, 2, n_rows)) % 3],
            "old": (rng.random(n_rows) < 0.2 + 0.3 * y).astype(object),
            "flat": np.zeros(n_rows),
            "weight": np.round(rng.gamma(2.0, size=n_rows) * (1 + y), 3),
        }
    )
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    return frame, np.array(["lo", "mid", "top"])[y]


def fitted(*settings: Any, weighted: bool = False, **named: Any) -> BayesNetClassifier:
    """Return a classifier of the shop."""
    X, y = shop()
    weight = np.random.default_rng(2).gamma(1.0, size=len(y)) if weighted else None
    return BayesNetClassifier(*settings, random_state=0, **named).fit(X, y, weight)


def one_numeric_column() -> BayesNetClassifier:
    X, y = shop()
    return BayesNetClassifier("nb", "map").fit(X[["size"]], y)


def many_values() -> BayesNetClassifier:
    rng = np.random.default_rng(3)
    code = rng.integers(0, 300, 900)
    X = pd.DataFrame(
        {
            "code": [f"v{k}" for k in code],
            "other": rng.integers(0, 4, 900).astype(str),
            "number": rng.integers(0, 280, 900),
        }
    )
    return BayesNetClassifier("tan", "map", categorical=["code", "number"]).fit(X, code % 2 == 0)


def many_classes() -> BayesNetClassifier:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 60, 900)
    X = pd.DataFrame({f"a{k}": (y // 4**k + (rng.random(900) < 0.3)) % 4 for k in range(4)})
    return BayesNetClassifier(KDB(k=1), "map", categorical="all").fit(X, y)


def class_never_seen() -> BayesNetClassifier:
    X, y = shop()
    known = BayesNetClassifier("tan", "map").fit(X, y)
    domain = known.domain_
    target = replace(domain.target, values=(*domain.target.values, "zero"))
    return BayesNetClassifier("tan", "ml", domains=replace(domain, target=target)).fit(X, y)


def strange_names() -> BayesNetClassifier:
    X, y = shop()
    X.columns = ["größe", "", "数", '"a,\nb"', "__proto__", "constructor"]
    y = np.array(["ja ✓", "toString", "нет"])[np.searchsorted(["lo", "mid", "top"], y)]
    X["数"] = X["数"].map({"red": "__proto__", "blue": "𝔘", "grün": " "})
    return BayesNetClassifier("tan", "map").fit(X, y)


def scalar_categories() -> BayesNetClassifier:
    """Whole numbers, floats, booleans and text of digits as categories; classes are floats."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 200)
    X = pd.DataFrame(
        {
            "whole": rng.choice([-3, 0, 1, 2**40], 200),
            "float": np.array([-0.5, 0.0, 1.0, 2.5e-9])[(rng.integers(0, 3, 200) + y) % 4],
            "boolean": rng.random(200) < 0.3 + 0.4 * y,
            "digits": rng.integers(0, 3, 200).astype(str),
        }
    )
    return BayesNetClassifier("tan", "map", discretizer=None).fit(X, y)


def without_names() -> BayesNetClassifier:
    X, y = shop()
    return BayesNetClassifier("tan", "map").fit(X[["size", "age", "weight"]].to_numpy(), y == "lo")


def drawn_network(
    normalized: bool, zeros: bool, states: bool = False, class_parents: tuple[int, ...] = ()
) -> BayesNetClassifier:
    """Return a classifier by a random network, whose columns may have two resolutions."""
    rng = np.random.default_rng(11)
    if states:
        cuts = (1.0, 2.0, 3.0, 4.0)
        features: tuple[Variable, ...] = (
            Variable("x0", "numeric", cuts=cuts, coarse_cuts=(2.0,)),
            Variable("x1", "categorical", ("v0", "v1", "v2", "v3"), groups=(0, 1, 0, 1)),
            Variable("x2", "numeric", cuts=cuts[:3], coarse_cuts=(1.0, 3.0), missing_value=True),
            Variable("x3", "numeric", cuts=cuts[:2], coarse_cuts=()),
            Variable("x4", "numeric", cuts=cuts[:1]),
        )
        structure = Structure(((2,), (0,), (), (0, 2), (2, 3)))
    else:
        cards = rng.integers(2, 5, 7)
        features = tuple(
            Variable(f"x{i}", "categorical", tuple(f"v{k}" for k in range(card)))
            for i, card in enumerate(cards)
        )
        structure = oracle.random_structure(rng, 7)
    cards = np.array([variable.card for variable in features])
    by_column = tuple(variable.states for variable in features) if states else None
    tables = oracle.random_tables(rng, structure, cards, 3, normalized, zeros, by_column)
    if class_parents:
        shape = (*tables.layout.n_states[list(class_parents)], 3)
        absorbed = absorb_class(
            tables, class_parents, np.log(rng.dirichlet(np.ones(3), shape[:-1]))
        )
        # a model file has no field for the table of the class: that of inference is the same
        tables = CPTs(absorbed.layout, absorbed.log_prior, absorbed.log_theta)
    target = Variable("class", "categorical", ("a", "b", "c"))
    return BayesNetClassifier.from_network(BayesNet(Domain(features, target), tables))


def pool_of_usual_missing_values() -> BayesNetClassifier:
    """Return a classifier whose missing values are evidence where they are usual."""
    clf = fitted("auto", "auto", missing="value")
    calibration = clf.calibration_
    assert isinstance(calibration, LogPool)
    clf.calibration_ = replace(calibration, unusual=0.1, usual_missing=0.1)
    return clf


def wide_pool() -> BayesNetClassifier:
    """Return the default over eight columns that depend on each other."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 4, 500)
    hidden = rng.normal(size=500)
    X = pd.DataFrame(
        {f"n{k}": np.round(hidden + rng.normal(size=500) + y * (k % 3), 2) for k in range(8)}
    )
    return BayesNetClassifier("auto", "auto", random_state=0).fit(X, y)


def csv_format() -> BayesNetClassifier:
    clf = fitted("nb", "map")
    clf.csv_format_ = CsvFormat(
        delimiter=";",
        missing_values=("", "?"),
        decimal=",",
        encoding="latin-1",
        numbers={"size": NumberFormat(",", ".", "€", ("n/a",))},
        dropped=("id",),
        skips_ragged=True,
    )
    return clf


def dates() -> BayesNetClassifier:
    """Dates as texts, whose month tells the class."""
    X, y = shop()
    rng = np.random.default_rng(7)
    month = 1 + 4 * np.unique(y, return_inverse=True)[1] + rng.integers(0, 6, len(y)) % 12
    days = [
        f"2023-{min(m, 12):02d}-{d:02d}"
        for m, d in zip(month, rng.integers(1, 29, len(y)), strict=True)
    ]
    frame = pd.DataFrame({"admitted": days, "size": X["size"], "color": X["color"]})
    return BayesNetClassifier("tan", "map").fit(frame, y)


def visits(form: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with dates and times as text, a tenth of which is missing."""
    X, y = shop()
    rng = np.random.default_rng(9)
    seconds = rng.integers(0, 40_000_000, len(y)) + 10_000_000 * (y == "top")
    when = pd.Series(pd.Timestamp("2021-01-01") + pd.to_timedelta(seconds, unit="s"))
    frame = pd.DataFrame({"size": X["size"], "when": when.dt.strftime(form)})
    return frame.mask(rng.random(frame.shape) < 0.1), y


def dates_with_hours() -> BayesNetClassifier:
    """Return a classifier of texts that are dates with times, the day first."""
    return BayesNetClassifier("tan", "map").fit(*visits("%d.%m.%Y %H:%M"))


def dates_as_evidence() -> BayesNetClassifier:
    """Return a classifier of dates with the month first, of which a missing one is evidence."""
    return BayesNetClassifier("nb", "map", missing="value").fit(*visits("%m/%d/%y %H:%M:%S"))


def ensemble_of_dates() -> BayesNetEnsemble:
    return BayesNetEnsemble(2, random_state=0).fit(*visits("%Y-%m-%dT%H:%M:%SZ"))


def ordered_categories() -> BayesNetClassifier:
    X, y = shop()
    grades = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    place = (np.searchsorted(["lo", "mid", "top"], y) + (X["size"].fillna(0) > 1.5)) % 3
    grade = pd.Series(np.array(grades.categories)[place]).astype(grades)
    return BayesNetClassifier("nb", "map").fit(X.assign(grade=grade), y)


def ensemble() -> BayesNetEnsemble:
    return BayesNetEnsemble(3, random_state=0).fit(*shop())


CASES: dict[str, Case] = {
    "naive-bayes": Case(partial(fitted, "nb", "map")),
    "tan": Case(partial(fitted, "tan", "map")),
    "kdb-2": Case(partial(fitted, KDB(k=2), "map")),
    "kdb-3": Case(partial(fitted, KDB(k=3), "map")),
    "two-tree": Case(partial(fitted, OrderBased(k=2, evaluation=3), "map")),
    "no-class-edges": Case(partial(drawn_network, True, False)),
    "ccbn-not-normalized": Case(partial(fitted, "tan", "ccbn-d", calibrate=None)),
    "max-margin": Case(partial(fitted, KDB(k=2), "mm", calibrate=None)),
    "weights": Case(partial(fitted, "tan", "hybrid", weighted=True)),
    "zero-probabilities": Case(partial(drawn_network, True, True)),
    "zeros-not-normalized": Case(partial(drawn_network, False, True)),
    "isotonic": Case(partial(fitted, "tan", "map", calibrate="isotonic")),
    "temperature": Case(partial(fitted, "tan", "hybrid")),
    "default": Case(partial(fitted)),
    "default-wide": Case(wide_pool),
    "two-resolutions": Case(
        partial(fitted, KDB(k=2), "levels", discretizer="two-resolution", calibrate=None)
    ),
    "two-resolutions-zeros": Case(partial(drawn_network, True, True, states=True)),
    "two-resolutions-not-normalized": Case(partial(drawn_network, False, False, states=True)),
    "missing-value": Case(partial(fitted, "tan", "map", missing="value")),
    "usual-missing-values": Case(pool_of_usual_missing_values),
    "class-prior": Case(partial(fitted, "tan", "hybrid", class_prior=[0.7, 0.2, 0.1])),
    "one-numeric-column": Case(one_numeric_column),
    "many-values": Case(many_values),
    "many-classes": Case(many_classes),
    "class-never-seen": Case(class_never_seen),
    "strange-names": Case(strange_names),
    "scalar-categories": Case(scalar_categories),
    "without-names": Case(without_names),
    "class-with-parents": Case(partial(drawn_network, True, False, class_parents=(0, 2))),
    "csv-format": Case(csv_format),
    "dates": Case(dates),
    "dates-with-hours": Case(dates_with_hours),
    "dates-as-evidence": Case(dates_as_evidence),
    "ensemble-of-dates": Case(ensemble_of_dates),
    "ordered-categories": Case(ordered_categories, evidence=True),
    "by-name": Case(
        partial(fitted, "tan", "map", columns="by-name"),
        columns=("old", "size", "something else", "color"),
    ),
    "ensemble": Case(ensemble),
    "evidence-naive-bayes": Case(partial(fitted, "nb", "map"), evidence=True),
    "evidence-kdb": Case(partial(fitted, KDB(k=2), "map", missing="value"), evidence=True),
    "evidence-default": Case(partial(fitted), evidence=True),
    "evidence-usual-missing-values": Case(pool_of_usual_missing_values, evidence=True),
    "evidence-ensemble": Case(ensemble, evidence=True, own_intervals=True),
    "evidence-two-resolutions": Case(
        partial(drawn_network, False, False, states=True), evidence=True
    ),
    **{f"released-{name}": Case(partial(RELEASED.joinpath, f"0.1.0/{name}.json")) for name in OLD},
}


# ---- rows


def drawn_rows(case: Case, domain: Domain, rng: np.random.Generator) -> tuple[list[str], list[Row]]:
    """Return rows with 0 to 100 % missing values, and all kinds of values among the others."""
    variables = dict(zip(domain.names, domain.features, strict=True))
    variables |= {each.date.column: each for each in domain.features if each.date is not None}
    columns = domain.columns if case.columns is None else list(case.columns)
    rows = [
        [
            None if rng.random() < share else drawn_cell(variables.get(name), case, rng)
            for name in columns
        ]
        for share in np.linspace(0.0, 1.0, N_ROWS)
    ]
    return columns, rows


def drawn_cell(variable: Variable | None, case: Case, rng: np.random.Generator) -> Any:
    """Return a value of a column: one that it has, one that it never had, or evidence."""
    if variable is None:
        return "whatever"
    if variable.date is not None:
        return drawn_date(variable.date.order, rng)
    if case.evidence and rng.random() < 0.4:
        return drawn_evidence(variable, case, rng)
    if variable.cuts is not None:
        return drawn_number(variable.cuts, rng)
    if not variable.values or rng.random() < 0.1:
        text = any(isinstance(value, str) for value in variable.values)
        return "never seen" if text else float(rng.choice([-7.5, 1e6, HUGE, 2.0**53 + 2]))
    return variable.values[int(rng.integers(len(variable.values)))]


def drawn_date(order: str, rng: np.random.Generator) -> str:
    """Return a date near those of the training rows as text, some of them with a time."""
    time = np.datetime64("2020-12-01", "s") + int(rng.integers(0, 100_000_000))
    year, month, day = str(time)[:10].split("-")
    text = {
        "day.month.year": f"{int(day)}.{month}.{year}",
        "month/day/year": f"{month}/{day}/{year[2:]}",
    }.get(order, f"{year}-{month}-{day}")
    return text + str(time)[10:] if rng.random() < 0.4 else text


def drawn_number(cuts: tuple[float, ...], rng: np.random.Generator) -> Any:
    low = cuts[0] if cuts else 0.0
    high = cuts[-1] if cuts else 1.0
    kind = int(rng.integers(12))
    if kind == 0 and cuts:
        return float(rng.choice(cuts))  # a cut point belongs to the interval above it
    if kind == 1 and cuts:
        return float(np.nextafter(rng.choice(cuts), -np.inf))
    if kind == 2:
        return float(rng.choice([-HUGE, HUGE, -0.0, 5e-324]))
    if kind == 3:
        return bool(rng.integers(2))
    if kind == 4:
        return int(rng.integers(-5, 40))
    return float(rng.uniform(low - 1, high + 1))


def drawn_evidence(variable: Variable, case: Case, rng: np.random.Generator) -> Any:
    """Return evidence of some kind that leaves a value of the column possible."""
    values = list(variable.values)
    if variable.cuts is not None:  # a number of each interval
        cuts = np.array(variable.cuts)
        inner = ((cuts[1:] + cuts[:-1]) / 2).tolist()
        values = [float(cuts[0] - 1), *inner, float(cuts[-1])] if cuts.size else [0.0]
    kind = int(rng.integers(4))
    if kind == 1 and variable.kind == "numeric":
        ends = sorted(float(drawn_number(variable.cuts or (), rng)) for _ in range(2))
        return {"between": [None if rng.random() < 0.3 else end for end in ends]}
    if kind == 1 and variable.ordered:
        places = sorted(rng.integers(len(values), size=2).tolist())
        return {"between": [None if rng.random() < 0.3 else values[place] for place in places]}
    if kind == 2 and len(values) > 1:
        return {"not": [values[int(rng.integers(len(values)))]]}
    if kind == 3 and (variable.cuts is None or not case.own_intervals):
        return {"likelihood": [[value, round(float(rng.gamma(1.0)) + 0.01, 3)] for value in values]}
    some = rng.permutation(len(values))[: int(rng.integers(1, len(values) + 1))]
    return {"one_of": [values[k] for k in some]}


def read_cell(cell: Any) -> Any:
    """Return a cell of a file as the library takes it."""
    if not isinstance(cell, dict):
        return cell
    ((kind, content),) = cell.items()
    if kind == "between":
        return Between(*content)
    if kind == "likelihood":
        return Likelihood(dict(map(tuple, content)))
    return {"one_of": OneOf, "not": Not}[kind](*content)


def refused_rows(domain: Domain, columns: Sequence[str]) -> list[Row]:
    """Return rows that no runtime answers: each has one cell that its column cannot hold."""
    rows = []
    dates = {each.date.column for each in domain.features if each.date is not None}
    for position, name in enumerate(columns):
        if name not in {*domain.names, *dates}:
            continue
        cells: list[Any] = [[1, 2], {"colour": ["red"]}, {"one_of": []}, {"between": [2, 1]}]
        if name in dates:
            cells += ["", "yesterday", "2023-02-30", "31.4.2023", "4/31/23", "2023-01-01 24:00", 3]
        elif domain.features[domain.position(name)].cuts is not None:
            cells.append("text")
        for cell in cells:
            row: Row = [None] * len(columns)
            row[position] = cell
            rows.append(row)
    return rows


# ---- files


def written(name: str, folder: Path) -> None:
    """Write the two files of a case."""
    case, path = CASES[name], folder / f"{name}.model.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.model()
        if isinstance(model, Path):
            shutil.copyfile(model, path)
        else:
            model.save(path)
        clf = load(path)
        columns, rows = drawn_rows(case, clf.domain_, np.random.default_rng(len(name)))
        found = expected(clf, columns, rows, by_name=case.columns is not None)
    document = {
        "format": FORMAT,
        "supports": list(case.supports),
        "columns": columns,
        "rows": rows,
        "classes": clf.classes_.tolist(),
        "probabilities": found.tolist(),
        "refused": refused_rows(clf.domain_, columns),
    }
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    (folder / f"{name}.cases.json").write_text(text + "\n", encoding="utf-8")


def expected(clf: Any, columns: list[str], rows: list[Row], by_name: bool = False) -> np.ndarray:
    """Return the probabilities of rows by the library."""
    cells = [[read_cell(cell) for cell in row] for row in rows]
    if by_name:
        return clf.predict_proba(pd.DataFrame(cells, columns=columns, dtype=object))
    return clf.predict_proba([dict(zip(columns, row, strict=True)) for row in cells])


def write_suite(folder: str | Path, names: Sequence[str] = tuple(CASES)) -> None:
    """Write the files of all cases, or of some, to a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        written(name, folder)


def suite(names: Sequence[str] = tuple(CASES)) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """Yield the name, the content of the model file, and the cases, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            written(name, Path(folder))
            cases = json.loads((Path(folder) / f"{name}.cases.json").read_text(encoding="utf-8"))
            yield name, (Path(folder) / f"{name}.model.json").read_bytes(), cases


if __name__ == "__main__":
    write_suite(sys.argv[1])

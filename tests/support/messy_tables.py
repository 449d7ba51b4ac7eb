"""Messy tables made from clean ones: one defect at a time, or all that an export has at once."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from discbayes import load_dataset

TARGET = "class"
LETTERS = {"de": "Größe", "fr": "Âge", "en": "size"}


@dataclass
class Messy:
    """A table of texts on its way to a file, and what it means.

    ``clean`` and ``y`` are what a careful person would learn from; ``planted`` are the kinds of
    findings that a check must name; ``lossless`` says that the file tells all of it.
    """

    clean: pd.DataFrame
    y: list[Any]
    texts: dict[str, list[str]]
    planted: set[str] = field(default_factory=set)
    delimiter: str = ","
    encoding: str = "utf-8"
    lossless: bool = True
    is_ragged: bool = False
    name: str = ""

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def content(self) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
        writer.writerow(self.texts)
        writer.writerows(zip(*self.texts.values(), strict=True))
        lines = text.getvalue().splitlines()
        if self.is_ragged:
            width = len(self.texts)
            lines.insert(7, self.delimiter.join(["1"] * (width + 1)))
            lines.insert(18, self.delimiter.join(["2"] * (width - 1)))
        return ("\n".join(lines) + "\n").encode(self.encoding)


def plain(name: str) -> Messy:
    """A clean table as it is, with a target that is text."""
    data = load_dataset(name)
    X = data.X.round(4)
    X.columns = [str(column).replace(" ", "_").replace("/", "_") for column in X.columns]
    texts = {column: [repr(float(value)) for value in X[column]] for column in X}
    y = [str(label) for label in data.y]
    return Messy(X, y, {**texts, TARGET: list(y)}, name=name)


def first(table: Messy, number: int = 0) -> str:
    return str(table.clean.columns[number])


# ---- text


def decimal_comma(table: Messy) -> None:
    for column in table.clean:
        table.texts[column] = [text.replace(".", ",") for text in table.texts[column]]
    table.planted.add("decimal comma")
    if table.delimiter == ",":
        table.delimiter = ";"
        table.planted.add("delimiter")


def delimited(sign: str) -> Callable[[Messy], None]:
    def defect(table: Messy) -> None:
        table.delimiter = sign
        table.planted.add("delimiter")

    return defect


def encoded(encoding: str, kind: str) -> Callable[[Messy], None]:
    def defect(table: Messy) -> None:
        add_column(table, "Straße", cycled(table, ["Köln", "Übersee", "Linz"]))
        table.encoding = encoding
        table.planted.add(kind)

    return defect


def ragged(table: Messy) -> None:
    table.is_ragged = True
    table.planted.add("ragged rows")


# ---- numbers


def rewritten(table: Messy, number: int, scale: float, form: Callable[[float], str]) -> None:
    """Write a column in larger numbers, which are the clean ones from then on."""
    column = first(table, number)
    table.clean[column] = (table.clean[column] * scale).round(2)
    table.texts[column] = [form(value) for value in table.clean[column]]


def thousands(table: Messy) -> None:
    rewritten(table, 0, 123_456.0, lambda value: f"{value:,.2f}")
    table.planted.add("thousands")


def spaced_thousands(table: Messy) -> None:
    rewritten(table, 0, 123_456.0, lambda value: f"{value:,.2f}".replace(",", "\u202f"))
    table.planted.add("thousands")


def currency(table: Messy) -> None:
    rewritten(table, 1, 10.0, lambda value: f"${value:.2f}")
    table.planted.add("currency")


def percent(table: Messy) -> None:
    rewritten(table, 1, 1.0, lambda value: f"{value} %")
    table.planted.add("percent")


def marked(mark: str) -> Callable[[Messy], None]:
    def defect(table: Messy) -> None:
        column = first(table, 0)
        gone = table.rng.random(len(table.y)) < 0.1
        texts = table.texts[column]
        table.texts[column] = [mark if g else t for g, t in zip(gone, texts, strict=True)]
        table.lossless = False
        if mark != "NA":  # which is always read so
            table.planted.add("missing-value mark")

    return defect


def marked_words(table: Messy) -> None:
    add_column(table, "town", cycled(table, ["Graz", "Linz", "Wels", "k.A.", "Graz"]))
    table.planted.add("missing-value mark")


def similar_words(table: Messy) -> None:
    add_column(table, "ward", cycled(table, ["North", "north ", "South", "West"]))
    table.planted.add("similar values")


def words(table: Messy) -> None:
    column = first(table, 0)
    table.texts[column][5] = table.texts[column][9] = "lost"
    table.planted.add("words among numbers")
    table.lossless = False


def suspicious(table: Messy) -> None:
    column = first(table, 0)
    for row in (3, 40, 70, 71):
        table.texts[column][row] = "999999.0" if table.clean[column].max() > 400 else "999.0"
    table.planted.add("suspicious number")
    table.lossless = False


# ---- columns


def add_column(table: Messy, name: str, texts: list[str]) -> None:
    table.texts = {name: texts, **table.texts}


def cycled(table: Messy, values: list[str]) -> list[str]:
    n_rows = len(next(iter(table.texts.values())))
    return [values[k] for k in table.rng.integers(len(values), size=n_rows)]


def dates(form: str) -> Callable[[Messy], None]:
    def defect(table: Messy) -> None:
        start = np.datetime64("2019-03-01")
        days = start + table.rng.integers(0, 900, len(table.y)).astype("timedelta64[D]")
        add_column(table, "admitted", [pd.Timestamp(day).strftime(form) for day in days])
        table.planted.add("date")

    return defect


def identifier(table: Messy) -> None:
    add_column(table, "Patient-ID", [f"P{k * 7 % 10_000:05d}" for k in range(len(table.y))])
    table.planted.add("identifier")


def running_number(table: Messy) -> None:
    add_column(table, "case", [str(1000 + k) for k in range(len(table.y))])
    table.planted.add("identifier")


def patients(table: Messy) -> None:
    add_column(table, "patient_id", [f"{10_000 + 7 * (k % 70)}" for k in range(len(table.y))])
    table.planted.add("repeated identifier")


def free_text(table: Messy) -> None:
    note = "seen on ward {0}, no change since {1} days, see file {2}"
    texts = [note.format(k % 7, k % 31, k * 13) for k in range(len(table.y))]
    add_column(table, "note", texts)
    table.planted.add("free text")


def constant(table: Messy) -> None:
    add_column(table, "source", ["ward"] * len(table.y))
    table.planted.add("constant column")


def empty(table: Messy) -> None:
    add_column(table, "remarks", [""] * len(table.y))
    table.planted.add("empty column")


def copied(table: Messy) -> None:
    table.texts["again"] = list(table.texts[first(table, 2)])  # the first of both is kept
    table.planted.add("duplicate column")


def leak(table: Messy) -> None:
    codes = {label: f"D{place}" for place, label in enumerate(sorted(set(table.y)))}
    add_column(table, "discharge", [codes[label] for label in table.y])
    table.planted.add("gives the class away")


def flag(table: Messy) -> None:
    add_column(table, "smoker", cycled(table, ["0", "1"]))
    table.planted.add("0/1 code")


def small_integers(table: Messy) -> None:
    add_column(table, "grade", cycled(table, ["1", "2", "3", "4"]))
    table.planted.add("small integers")


def leading_zeros(table: Messy) -> None:
    add_column(table, "zip", cycled(table, ["01067", "02826", "10115", "04103"]))
    table.planted.add("leading zeros")


def many_values(table: Messy) -> None:
    add_column(table, "street", cycled(table, [f"way {k}" for k in range(60)]))
    table.planted.add("many values")


# ---- rows and classes


def repeated_rows(table: Messy) -> None:
    for texts in table.texts.values():
        texts += texts[:3]
    table.planted.add("duplicate rows")
    table.lossless = False


def unlabeled(table: Messy) -> None:
    for row in (4, 60, 100):
        table.texts[TARGET][row] = ""
    table.planted.add("unlabeled rows")
    table.lossless = False


def rare_class(table: Messy) -> None:
    table.texts[TARGET][10:12] = ["odd", "odd"]
    table.planted.add("rare class")
    table.lossless = False


DEFECTS: dict[str, Callable[[Messy], None]] = {
    "decimal comma": decimal_comma,
    "semicolons": delimited(";"),
    "tabs": delimited("\t"),
    "bars": delimited("|"),
    "windows-1252": encoded("cp1252", "encoding"),
    "byte order mark": encoded("utf-8-sig", "byte order mark"),
    "utf-16": encoded("utf-16", "encoding"),
    "ragged": ragged,
    "thousands": thousands,
    "spaced thousands": spaced_thousands,
    "currency": currency,
    "percent": percent,
    "question marks": marked("?"),
    "NA": marked("NA"),
    "k.A.": marked("k.A."),
    "dash": marked("-"),
    "unknown": marked("unknown"),
    "marked words": marked_words,
    "words": words,
    "similar words": similar_words,
    "999": suspicious,
    "iso dates": dates("%Y-%m-%d"),
    "german dates": dates("%d.%m.%Y"),
    "american dates": dates("%m/%d/%Y"),
    "identifier": identifier,
    "running number": running_number,
    "patients": patients,
    "free text": free_text,
    "constant": constant,
    "empty": empty,
    "copied": copied,
    "leak": leak,
    "flag": flag,
    "small integers": small_integers,
    "leading zeros": leading_zeros,
    "many values": many_values,
    "repeated rows": repeated_rows,
    "unlabeled": unlabeled,
    "rare class": rare_class,
}
_COMMON = ("identifier", "free text", "flag", "constant", "unlabeled", "ragged", "marked words")
EXPORTS = {
    "german": ("decimal comma", "k.A.", "german dates", *_COMMON, "windows-1252"),
    "french": ("decimal comma", "dash", "iso dates", *_COMMON, "utf-16"),
    "american": ("currency", "question marks", "american dates", *_COMMON, "byte order mark"),
}

# all that one file can have at once; what adds rows comes last, and a column does not give a class
# away that two rows have been moved to
_COLUMNS = (
    *("identifier", "running number", "patients", "free text", "constant", "empty", "flag"),
    *("small integers", "leading zeros", "many values", "marked words", "similar words", "leak"),
)
_ROWS = ("unlabeled", "ragged", "repeated rows")
TOGETHER = {
    "german": ("decimal comma", "k.A.", "german dates", *_COLUMNS, "windows-1252", *_ROWS),
    "french": ("decimal comma", "dash", "iso dates", *_COLUMNS, "utf-16", *_ROWS),
    "american": (
        *("currency", "question marks", "999", "copied", "american dates"),
        *(*_COLUMNS, "byte order mark", *_ROWS),
    ),
}


def german_money(table: Messy) -> None:
    """Write a column as a German export does: 1.234,50 €."""

    def form(value: float) -> str:
        return f"{value:,.2f} €".translate(str.maketrans(",.", ".,"))

    rewritten(table, 1, 1000.0, form)
    table.planted |= {"thousands", "currency"}


def made(base: str, defects: tuple[str, ...]) -> Messy:
    """Return a table with defects."""
    table = plain(base)
    for defect in defects:
        DEFECTS[defect](table)
    return replace(table, name=f"{base}: {', '.join(defects)}")


def messy_tables() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the bases and defects of all messy tables."""
    for number, defect in enumerate(DEFECTS):
        yield ("iris", "wine")[number % 2], (defect,)
    for base in ("iris", "wine"):
        for defects in (*EXPORTS.values(), *TOGETHER.values()):
            yield base, defects

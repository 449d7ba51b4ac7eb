"""What one reading of a column of text tells: kinds of numbers, dates, words, distinct values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes.streams.csv_format import UNIT, bare_numbers

MAX_VALUES = 1000  # distinct texts of a column that are kept with their counts
MAX_KEYS = 1 << 16  # distinct texts of a column that are counted
_GROUP = r"[+-]?[1-9]\d{0,2}"
_SPACES = r"[ '’\x{00a0}\x{202f}]"
_TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
WHOLE = "whole"
POINT = "point"
POINT_3 = "point or thousands"
COMMA = "comma"
COMMA_3 = "comma or thousands"
GROUPED_BY_COMMA = "groups by comma"
GROUPED_BY_POINT = "groups by point"
GROUPED_POINT = "groups by space, point"
GROUPED_COMMA = "groups by space, comma"
GROUPED = "groups by space"
# in this order: a text is of the first kind that it matches
NUMBERS = {
    WHOLE: r"^[+-]?\d+$",
    POINT_3: rf"^{_GROUP}\.\d{{3}}$",
    POINT: r"^[+-]?(\d*\.\d+|\d+\.|\d+)([eE][+-]?\d+)?$",
    COMMA_3: rf"^{_GROUP},\d{{3}}$",
    COMMA: r"^[+-]?(\d*,\d+|\d+,)([eE][+-]?\d+)?$",
    GROUPED_BY_COMMA: rf"^{_GROUP}(,\d{{3}})+(\.\d+)?$",
    GROUPED_BY_POINT: rf"^{_GROUP}(\.\d{{3}})+(,\d+)?$",
    GROUPED: rf"^{_GROUP}({_SPACES}\d{{3}})+$",
    GROUPED_POINT: rf"^{_GROUP}({_SPACES}\d{{3}})+\.\d+$",
    GROUPED_COMMA: rf"^{_GROUP}({_SPACES}\d{{3}})+,\d+$",
}
ISO = "year-month-day"
POINTS, SLASHES = "day.month.year", "day/month/year"
DATES = {
    ISO: rf"^\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}{_TIME}$",
    POINTS: rf"^\d{{1,2}}\.\d{{1,2}}\.(\d{{4}}|\d{{2}}){_TIME}$",
    SLASHES: rf"^\d{{1,2}}[/-]\d{{1,2}}[/-](\d{{4}}|\d{{2}}){_TIME}$",
}
_RUNNING = r"^\d{1,18}$"
_LEADING_ZERO = r"^0\d+$"
_HASH = np.random.default_rng(0).integers(0, 1 << 63, 4096, dtype=np.uint64) * 2 + 1
_MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class ColumnScan:
    """What was seen of a column, a batch of texts at a time.

    Attributes
    ----------
    n_rows, n_present : int
        The number of rows, and of those with a value.
    numbers, dates : Counter
        The rows of each kind of number, and of each kind of date.
    units : Counter
        The rows with a unit beside a number.
    words : dict of str to (rows, first row)
        Values that are neither numbers nor dates, up to a bound.
    values : Counter
        All values with their rows, up to a bound.
    extremes : dict of float to int
        The two smallest and the two largest numbers, with their rows.
    """

    name: str
    n_rows: int = 0
    n_present: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    dates: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    words: dict[str, tuple[int, int]] = field(default_factory=dict)
    n_words: int = 0
    values: Counter[str] = field(default_factory=Counter)
    extremes: dict[float, int] = field(default_factory=dict)
    n_characters: int = 0
    n_spaced: int = 0
    n_leading_zeros: int = 0
    width: int | None = None
    rising: bool = True
    fingerprint: int = 0
    first: str = ""
    day_beyond: tuple[bool, bool] = (False, False)
    _keys: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    _last: float = -np.inf

    @property
    def n_distinct(self) -> int:
        """The number of distinct values; `MAX_KEYS` stands for that many or more."""
        return min(MAX_KEYS, self._keys.size)

    @property
    def n_numbers(self) -> int:
        """The number of rows with a number."""
        return self.numbers.total()

    @property
    def n_dates(self) -> int:
        """The number of rows with a date."""
        return self.dates.total()

    def add(self, column: Any) -> np.ndarray:
        """Add a batch of texts; return their keys.

        Parameters
        ----------
        column : pyarrow.Array of strings
            The texts of a batch; null is a missing value.
        """
        coded = column.dictionary_encode()
        texts = coded.dictionary
        places = coded.indices.fill_null(len(texts)).to_numpy()
        of_text = np.append(text_keys(texts), np.uint64(0))
        keys = of_text[places]
        numbers = np.arange(self.n_rows, self.n_rows + keys.size, dtype=np.uint64)
        with np.errstate(over="ignore"):
            self.fingerprint ^= int(np.bitwise_xor.reduce(_mixed(keys + numbers * _MIXER)))
        if len(texts):
            if self._keys.size < MAX_KEYS:
                self._keys = np.union1d(self._keys, of_text[:-1])
            self.first = self.first or texts[0].as_py()
            self._add_values(column, texts, np.bincount(places)[: len(texts)])
            self._follow_order(texts, places)
        self.n_rows += len(column)
        self.n_present += len(column) - column.null_count
        return keys

    def _add_values(self, column: Any, texts: Any, rows: np.ndarray) -> None:
        """Sort the distinct texts of a batch into kinds."""
        compute = need("pyarrow.compute")
        lengths = compute.utf8_length(texts).to_numpy()
        self.n_characters += int(lengths @ rows)
        spaced = _matches(texts, r"\S\s+\S+\s+\S")
        self.n_spaced += int(rows[spaced].sum())
        self.n_leading_zeros += int(rows[_matches(texts, _LEADING_ZERO)].sum())
        widths = set(np.unique(lengths).tolist()) | ({self.width} - {None})
        self.width = widths.pop() if len(widths) == 1 and self.width != -1 else -1
        n_free = MAX_VALUES + 1 - len(self.values)
        for text, n in zip(texts[: max(0, n_free)].to_pylist(), rows.tolist(), strict=False):
            self.values[text] += n
        bare = bare_numbers(texts)
        left = np.ones(rows.size, dtype=bool)
        for kind, pattern in NUMBERS.items():
            found = self._count(kind, pattern, bare, rows, left, self.numbers)
            if kind == WHOLE and not left.any():
                break
        self._add_units(texts, rows, ~left)
        self._add_extremes(bare, rows, ~left)
        for kind, pattern in DATES.items():
            found = self._count(kind, pattern, texts, rows, left, self.dates)
            if found.any() and kind == SLASHES:
                self._note_days(texts.filter(need("pyarrow").array(found)))
        self._add_words(column, texts, rows, left)

    def _count(
        self,
        kind: str,
        pattern: str,
        texts: Any,
        rows: np.ndarray,
        left: np.ndarray,
        counter: Counter[str],
    ) -> np.ndarray:
        """Count the texts of a kind among those that are left, and take them out."""
        if not left.any():
            return np.zeros(rows.size, dtype=bool)
        found = _matches(texts, pattern) & left
        if found.any():
            counter[kind] += int(rows[found].sum())
            left &= ~found
        return found

    def _add_units(self, texts: Any, rows: np.ndarray, number: np.ndarray) -> None:
        pa, compute = need("pyarrow"), need("pyarrow.compute")
        odd = _matches(texts, UNIT) & number
        if odd.any():
            units = compute.extract_regex(texts.filter(pa.array(odd)), f"(?P<unit>{UNIT})")
            for unit, n in zip(units.field("unit").to_pylist(), rows[odd].tolist(), strict=True):
                self.units[unit] += n

    def _add_extremes(self, bare: Any, rows: np.ndarray, number: np.ndarray) -> None:
        """Keep the smallest and largest numbers."""
        pa, compute = need("pyarrow"), need("pyarrow.compute")
        plain = _matches(bare, NUMBERS[WHOLE]) | _matches(bare, NUMBERS[POINT])
        plain &= number
        if not plain.any():
            return
        numbers = compute.cast(bare.filter(pa.array(plain)), pa.float64()).to_numpy()
        distinct, at = np.unique(numbers, return_inverse=True)
        totals = np.bincount(at, rows[plain])
        for place in {
            *range(min(2, distinct.size)),
            *range(max(0, distinct.size - 2), distinct.size),
        }:
            value = float(distinct[place])
            self.extremes[value] = self.extremes.get(value, 0) + int(totals[place])
        ordered = sorted(self.extremes)
        self.extremes = {value: self.extremes[value] for value in ordered[:2] + ordered[-2:]}

    def _note_days(self, texts: Any) -> None:
        """Note whether the first or the second number of a date is beyond the months."""
        first = bool(_matches(texts, r"^(1[3-9]|[23]\d)[/-]").any())
        second = bool(_matches(texts, r"^\d{1,2}[/-](1[3-9]|[23]\d)[/-]").any())
        self.day_beyond = (self.day_beyond[0] or first, self.day_beyond[1] or second)

    def _add_words(self, column: Any, texts: Any, rows: np.ndarray, left: np.ndarray) -> None:
        compute = need("pyarrow.compute")
        self.n_words += int(rows[left].sum())
        for place in np.flatnonzero(left)[:MAX_VALUES].tolist():
            text = texts[place].as_py()
            if text in self.words:
                before, row = self.words[text]
                self.words[text] = (before + int(rows[place]), row)
            elif len(self.words) < MAX_VALUES:
                row = compute.index(column, texts[place]).as_py()
                self.words[text] = (int(rows[place]), self.n_rows + row + 1)

    def _follow_order(self, texts: Any, places: np.ndarray) -> None:
        """Note whether whole numbers rise from row to row, as those of a running number do."""
        pa, compute = need("pyarrow"), need("pyarrow.compute")
        if self.rising:
            # every row has another value, and none is missing
            self.rising = len(texts) == places.size and bool(_matches(texts, _RUNNING).all())
        if self.rising:
            values = compute.cast(texts, pa.int64()).to_numpy()
            self.rising = bool(values[0] > self._last and (np.diff(values) > 0).all())
            self._last = float(values[-1])


def _matches(texts: Any, pattern: str) -> np.ndarray:
    found = need("pyarrow.compute").match_substring_regex(texts, pattern)
    return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def _mixed(keys: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(33))) * _MIXER
        return keys ^ (keys >> np.uint64(29))


def text_keys(column: Any) -> np.ndarray:
    """Return a hash of each text: equal for equal texts, almost surely different for others.

    >>> import pyarrow as pa
    >>> keys = text_keys(pa.array(["a", "b", "a", None, ""]))
    >>> bool(keys[0] == keys[2]), len(set(keys.tolist()))
    (True, 4)
    """
    valid, places, characters = column.buffers()
    offsets = np.frombuffer(places, np.int32)[column.offset : column.offset + len(column) + 1]
    offsets = offsets.astype(np.int64)
    lengths = np.diff(offsets)
    start, end = int(offsets[0]), int(offsets[-1])
    used = np.frombuffer(characters, np.uint8)[start:end] if end > start else np.zeros(0, np.uint8)
    position = np.arange(used.size) - np.repeat(offsets[:-1] - start, lengths)
    with np.errstate(over="ignore"):
        weighted = (used.astype(np.uint64) + np.uint64(1)) * _HASH[position % _HASH.size]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(weighted)])
        keys = sums[offsets[1:] - start] - sums[offsets[:-1] - start]
        keys = _mixed(keys + lengths.astype(np.uint64) + np.uint64(1))  # 0 is a missing value
    if valid is not None and column.null_count:
        keys[~column.is_valid().to_numpy(zero_copy_only=False)] = 0
    return keys

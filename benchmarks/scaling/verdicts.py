"""What is required of fits on files, and whether the results say so."""

from __future__ import annotations

from collections.abc import Iterator

from scaling import files
from scaling.model import exponent
from scaling.results import Results
from suite.measure import Row, below

LIMIT = 1.5  # GB
SLOWER = 3.0  # times, of files against memory, for a row
TAN, WEIGHTED, DEFAULT = "TAN-fCLL + MAP", "TAN-fCLL + CCBN-w", "default"
LINEAR = {TAN: 1.1, DEFAULT: 1.05}  # the largest exponent of the rows that still counts as linear


def verdicts(results: Results) -> Iterator[Row]:
    """The requirements that were measured."""
    for name in (TAN, WEIGHTED, DEFAULT):
        line = results.get(files.CASE, name)
        if line is not None and line.peak_mb is not None:
            yield below(
                f"{name}, {line.rows:,} rows, largest memory", line.peak_mb / 1e3, LIMIT, "GB"
            )
    for name, largest in LINEAR.items():
        lines = results.of(files.CASE, name)
        if len(lines) > 1:
            slope = exponent(lines, "rows")
            what = f"{name}, exponent of the rows in the time"
            yield Row(what, slope, "", f"<= {largest:g}", slope <= largest)
    for name in (TAN, "NB + MAP"):
        yield from _against_memory(results, name)


def _against_memory(results: Results, name: str) -> Iterator[Row]:
    inside = results.get(files.CASE, f"{name}, in memory")
    if inside is None:
        return
    outside, reading = (
        results.get(files.CASE, what, inside.rows) for what in (name, files.READING)
    )
    if outside is None or reading is None:
        return
    for text, base in (("", inside.time), (" without reading", inside.time - reading.time)):
        ratio = outside.time / base
        ok = None if text else ratio <= SLOWER
        what = f"{name}, {inside.rows:,} rows, from files against memory{text}"
        yield Row(what, outside.time, "s", "" if text else f"<= {SLOWER:g}x", ok, base, ratio)

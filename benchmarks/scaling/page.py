"""The page on large data, from the file of results alone: ``page.md`` with its marks replaced by
tables and figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from discbayes.engine.dask import SHARDS_EACH
from scaling import cluster, files, growth
from scaling.extrapolate import (
    EVALUATIONS,
    Cluster,
    code_bytes,
    pair_rounds,
    prepared_bytes,
    results_of_shards,
)
from scaling.forecast import SCENARIOS, checks, forecasts, model_of, reading_of, size_of
from scaling.growth import AROUND, AROUND_SMALL, BASE, SMALL, Shape
from scaling.model import Size, Work, exponent
from scaling.results import Line, Results
from scaling.verdicts import verdicts
from suite.report import VERDICTS

TEXT = Path(__file__).with_name("page.md")
NONE = "–"
JUDGED = (
    "NB + MAP",
    "CategoricalNB",
    "TAN-fCLL + MAP",
    "SGDClassifier",
    "NB + CCBN-d",
    "TAN-fCLL + CCBN-w",
    "default",
)
MADE = (
    "<!-- Made by benchmarks/scale.py from its results: change benchmarks/scaling/page.md instead."
    " -->\n"
)
LONG = 30 * 86_400.0  # seconds, above which a fit is called out of reach


def rendered(results: Results) -> str:
    """The text of the page."""
    text = TEXT.read_text(encoding="utf-8")
    marks = {
        "machine": _machine(results),
        "files": _files(results),
        "judged": _judged(results),
        "required": _required(results),
        "predict": _predict(results),
        "exponents": _exponents(results),
        "constants": _constants(results),
        "checks": _checks(results),
        "forecasts": _forecasts(results),
        "kept": _kept(results),
        "shards": str(SHARDS_EACH),
        "evaluations": str(EVALUATIONS),
        "reading": _reading(results),
        "ends": _ends(results),
    }
    for name, value in marks.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return MADE + "\n" + text


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, its first column to the left and all others to the right; a dash if there are no
    rows.
    """
    lines = [" | ".join(("", *row, "")).strip() for row in rows]
    rule = "|---|" + "--:|" * (len(header) - 1)
    return (
        "\n".join([" | ".join(("", *header, "")).strip(), rule, *lines])
        if lines
        else "Not measured yet."
    )


def _machine(results: Results) -> str:
    """Machines, dates and versions of all lines, each said once."""
    lines = list(results)
    dates = sorted({line.date[:10] for line in lines})
    machines, packages = (
        "; ".join(sorted({getattr(line, name) for line in lines}))
        for name in ("machine", "versions")
    )
    return (
        f"{machines}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}; {packages}"
        if lines
        else "nothing yet"
    )


def _sizes(results: Results) -> list[int]:
    return sorted({line.rows for line in results.of(files.CASE)})


def _files(results: Results) -> str:
    sizes = _sizes(results)
    header = [
        "rows per second",
        *map(millions, sizes),
        "time grows as",
        "largest memory",
        "best of",
    ]
    rows = []
    for name in files.FITS:
        lines = results.of(files.CASE, name)
        if not lines:
            continue
        rates = {line.rows: f"{line.rate:,.0f}" for line in lines}
        slope = f"n^{exponent(lines, 'rows'):.2f}" if len(lines) > 1 else NONE
        memory = f"{max(line.peak_mb or 0 for line in lines):,.0f} MB"
        tries = f"{min(line.repeats or 1 for line in lines)}"
        rows.append([name, *(rates.get(size, NONE) for size in sizes), slope, memory, tries])
    return table(header, rows)


def _judged(results: Results) -> str:
    found = [line for name in JUDGED if (line := results.get(files.CASE, name))]
    return table(
        ["", "rows", "time", "largest memory", "accuracy", "log loss"],
        [
            [
                line.what,
                millions(line.rows),
                duration(line.time),
                f"{line.peak_mb:,.0f} MB",
                f"{line.accuracy:.2%}",
                f"{line.log_loss:.4f}",
            ]
            for line in found
        ],
    )


def _required(results: Results) -> str:
    rows = []
    for row in verdicts(results):
        ratio = NONE if row.ratio is None else f"{row.ratio:.2f}×"
        figure = f"{row.ours:,.3g} {row.unit}".strip()
        required = row.required.replace("x", "×").replace("<=", "≤") or NONE
        rows.append(
            [
                row.what,
                figure,
                ratio,
                required,
                NONE if row.ok is None else VERDICTS[row.ok].lower(),
            ]
        )
    return table(["", "measured", "ratio", "required", "as required"], rows)


def _predict(results: Results) -> str:
    lines = results.of(files.PREDICTING)
    return table(
        ["`predict_proba`", "rows", "rows per second", "largest memory"],
        [
            [line.what, millions(line.rows), f"{line.rate:,.0f}", f"{line.peak_mb:,.0f} MB"]
            for line in lines
        ],
    )


# ---- growth


def _around(results: Results, work: str, by: str) -> list[Line]:
    """The lines of a kind of work that differ from the base in one size only."""
    base, around = (SMALL, AROUND_SMALL) if work in growth.SMALL_WORKS else (BASE, AROUND)
    others = [name for name in around if name != by]
    found = results.of(growth.CASE, work)
    same = [
        line for line in found if all(getattr(line, name) == getattr(base, name) for name in others)
    ]
    return sorted(same, key=lambda line: getattr(line, by))


def _exponents(results: Results) -> str:
    rows = []
    for work in (*growth.WORKS, *growth.SMALL_WORKS):
        lines = {by: _around(results, work, by) for by in AROUND}
        if all(len(own) > 1 for own in lines.values()):
            base = SMALL if work in growth.SMALL_WORKS else BASE
            at = next(line for line in lines["rows"] if line.rows == base.rows)
            rows.append(
                [
                    work,
                    _shape(base),
                    duration(at.time),
                    *(f"{exponent(own, by):.2f}" for by, own in lines.items()),
                ]
            )
    return table(
        ["one pass, one thread", "n × N × v × C", "time", "rows", "features", "values", "classes"],
        rows,
    )


def _shape(shape: Shape) -> str:
    return f"{shape.rows:,} × {shape.features} × {shape.values} × {shape.classes}"


def _constants(results: Results) -> str:
    works = model_of(results)
    return table(
        ["", "nanoseconds", "typical error"],
        [[name, _formula(work), f"{work.error:.0%}"] for name, work in works.items()],
    )


def _formula(work: Work) -> str:
    parts = [
        f"{_two_digits(value)} · {term}"
        for value, term in zip(work.constants, work.terms, strict=True)
        if value > 0
    ]
    return " + ".join(parts)


def _checks(results: Results) -> str:
    rows = [
        [what, duration(taken), duration(said), f"{taken / said:.2f}"]
        for what, taken, said in checks(results)
    ]
    return table(["", "measured", "by the model", "ratio"], rows)


def _forecasts(results: Results) -> str:
    found = cluster.overheads(results)
    parts = []
    for title, wanted in forecasts(results):
        header = [
            "",
            "rounds",
            "moved in the largest",
            "moved in all",
            "tables of a result",
            "rows on a worker",
            "computing",
            "disk",
            "network and tasks",
            "time",
        ]
        rows = [
            [
                name,
                f"{cost.rounds:,}",
                volume(cost.largest_round),
                volume(cost.moved),
                volume(cost.tables),
                volume(cost.kept),
                duration(cost.computing),
                duration(cost.reading),
                duration(cost.network),
                duration(cost.seconds),
            ]
            for name, cost in wanted.items()
        ]
        parts.append(f"**{title}**\n\n{table(header, rows)}")
    if found is None or not parts:
        return "Not measured yet."
    latency, task = found
    own = Cluster()
    said = (
        f"W = {own.workers} workers of T = {own.threads} threads, R = {volume(own.network)} per"
        f" second (10 Gbit/s), D = {volume(own.disk)} per second, {volume(own.memory)} of memory on"
        f" each worker; measured: l = {duration(latency)}, t = {duration(task)}."
    )
    return "\n\n".join([said, *parts])


def _kept(results: Results) -> str:
    """What gradients need of the most rows that were measured, and whether the default holds it."""
    line = results.get(files.CASE, "TAN-fCLL + CCBN-w")
    if line is None:
        return "Not measured yet"
    return f"The {millions(line.rows)} rows above need {volume(prepared_bytes(size_of(line)))}"


def _reading(results: Results) -> str:
    """How long both passes take where workers read the rows."""
    each = reading_of(results, model_of(results))
    if each is None:
        return "not measured yet"
    workers, times = Cluster().workers, []
    for title, size in SCENARIOS.items():
        took = duration(each * size.rows * (size.features + 1) / workers)
        times.append(f"{took} for {title.split(' ×')[0]} × {size.features:,} features")
    return (
        f"{each * 1e9:.0f} ns for each value, both passes and the writing of codes, which makes"
        f" {' and '.join(times)} if {workers} workers read at once"
    )


def _waiting(size: Size) -> float:
    """The bytes of all results of a worker in a round that counts pairs."""
    own = Cluster()
    each = 8 * size.pair_cells / pair_rounds(size)
    return each * results_of_shards(size.blocks, own.shards) / own.workers


def _ends(results: Results) -> str:
    """What is out of reach on the largest data, and why."""
    *_, (title, size) = SCENARIOS.items()
    n_pairs = size.features * (size.features - 1) // 2
    said = [
        (
            f"- All pairs of {size.features:,} features are {n_pairs:,} tables,"
            f" {volume(8 * size.pair_cells)} for each result. They do not travel at once: they are"
            f" counted in {pair_rounds(size)} rounds."
        ),
        (
            f"- A worker has up to {volume(_waiting(size))} of such results of its shards until"
            " they are fetched."
        ),
        (
            f"- The codes take {volume(code_bytes(size))}, what gradients need of them"
            f" {volume(prepared_bytes(size))}."
        ),
    ]
    costs = dict(forecasts(results)).get(title, {})
    said += [
        f"- {name}: {duration(cost.seconds)}, out of reach."
        for name, cost in costs.items()
        if cost.seconds > LONG
    ]
    return "\n".join(said)


# ---- figures in words


def millions(rows: float) -> str:
    return f"{rows / 1e6:g} million" if rows >= 1e6 else f"{rows:,.0f}"


def duration(seconds: float) -> str:
    """Two digits in the unit that suits.

    >>> [duration(s) for s in (0.00034, 0.12, 75, 9000, 3e5, 1e9)]
    ['0.34 ms', '120 ms', '75 s', '2.5 h', '3.5 days', '32 years']
    """
    for limit, unit, name in (
        (1, 1e-3, "ms"),
        (600, 1, "s"),
        (7200, 60, "min"),
        (2 * 86_400, 3600, "h"),
    ):
        if seconds < limit:
            return f"{_two_digits(seconds / unit)} {name}"
    days = seconds / 86_400
    return f"{_two_digits(days)} days" if days < 730 else f"{_two_digits(days / 365.25)} years"


def volume(n_bytes: float) -> str:
    """Bytes, with two digits in the unit that suits.

    >>> volume(512), volume(3.1e8), volume(1e13)
    ('510 B', '310 MB', '10 TB')
    """
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{_two_digits(n_bytes / unit)} {name}"
    return f"{_two_digits(n_bytes)} B"


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.10g}"

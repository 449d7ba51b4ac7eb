"""Measure fits on more rows than memory holds, and how costs grow: ``python benchmarks/scale.py
--folder FOLDER``.

Everything that is measured goes to one file, ``results/scale.csv``, and the page ``docs/scale.md``
is made of it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

# Idle OpenMP threads of a peer must not spin: on a shared machine that slows whatever runs next.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from scaling import cluster, files, growth, page
from scaling.results import Line, Results
from scaling.verdicts import verdicts
from suite.measure import Skip
from suite.report import machine, print_rows, versions

HERE = Path(__file__).resolve().parent
SIZES, TINY = (1_000_000, 3_000_000, 10_000_000), 2000
CASES = ("files", "growth", "cluster")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, help="where rows are written and kept; by default they are removed"
    )
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="rows of the files")
    parser.add_argument(
        "--repeats", type=int, default=files.REPEATS, help="fits of less than a minute are repeated"
    )
    parser.add_argument(
        "--only", nargs="*", choices=CASES, default=CASES, help="measure these; none: only the page"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=HERE / "results" / "scale.csv",
        help="where results are kept",
    )
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    parser.add_argument(
        "--page", type=Path, default=HERE.parent / "docs" / "scale.md", help="the page to write"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="few rows, everything once, nothing required or kept"
    )
    args = parser.parse_args()
    print(f"{machine()}; {versions()}\n")
    if args.smoke:
        return _smoke(args.only)
    if args.fresh:
        args.results.unlink(missing_ok=True)
    results = Results(args.results)
    with nullcontext(args.folder) if args.folder else TemporaryDirectory() as folder:
        for line in _measure(
            results, args.only, files.Files(Path(folder)), args.rows, args.repeats
        ):
            print(_shown(line), flush=True)
    rows = list(verdicts(results))
    print()
    for row in rows:
        print_rows("scale", [row], header=row is rows[0])
    args.page.write_text(page.rendered(results), encoding="utf-8")
    return 1 if any(row.ok is False for row in rows) else 0


def _smoke(cases: list[str]) -> int:
    """Show that all of it runs, and that the page can be made of what it gives."""
    with TemporaryDirectory() as folder:
        results = Results(Path(folder) / "scale.csv")
        for line in _measure(
            results, cases, files.Files(Path(folder), TINY), [TINY], 1, smoke=True
        ):
            print(_shown(line), flush=True)
        page.rendered(Results(results.path))
    return 0


def _measure(
    results: Results,
    cases: list[str],
    rows: files.Files,
    sizes: list[int],
    repeats: int,
    smoke: bool = False,
) -> Iterator[Line]:
    if "files" in cases:
        yield from files.run(results, rows, sizes, repeats, smoke)
    if "growth" in cases:
        yield from growth.run(results, smoke)
    if "cluster" in cases:
        try:
            yield from cluster.run(results, smoke)
        except Skip as reason:
            print(f"cluster skipped: {reason}", flush=True)


def _shown(line: Line) -> str:
    shape = " x ".join(
        f"{size:,}" for size in (line.rows, line.features, line.values, line.classes) if size
    )
    figures = [f"{line.time:10.4g} s", f"{line.rate:14,.0f} rows/s"]
    figures += [f"{line.peak_mb:8,.0f} MB"] if line.peak_mb else []
    figures += (
        [f"accuracy {line.accuracy:.4f}, log loss {line.log_loss:.4f}"] if line.accuracy else []
    )
    return f"{line.case:9}{line.what:28}{shape:28}" + "".join(figures)


if __name__ == "__main__":
    sys.exit(main())

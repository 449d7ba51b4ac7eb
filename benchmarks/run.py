"""Measure discbayes side by side with its peers: ``python benchmarks/run.py [--only nb tan]
[--smoke]``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

# Idle OpenMP threads of a peer must not spin: on a shared machine that slows whatever runs next.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from cases import CASES
from suite.measure import Row, Skip
from suite.report import machine, print_rows, versions, write_csv

RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=list(CASES), default=list(CASES), help="run these cases only"
    )
    parser.add_argument(
        "--output", type=Path, default=RESULTS, metavar="FOLDER", help="where to write CASE.csv"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="few rows, everything once, nothing required or kept"
    )
    args = parser.parse_args(arguments)
    print(f"{machine()}; {versions()}\n")
    with TemporaryDirectory() if args.smoke else nullcontext(args.output) as output:
        found = run_cases(args.only, Path(output), args.smoke)
    failed = [row.what for rows in found.values() for row in rows if row.ok is False]
    skipped = len(args.only) - len(found)
    print(
        f"\n{len(failed)} not as required, {skipped} cases skipped"
        + "".join(f"\n  {what}" for what in failed)
    )
    return 1 if failed else 0


def run_cases(names: list[str], output: Path, smoke: bool) -> dict[str, list[Row]]:
    """The rows of every case that can run here; the others say why they cannot."""
    found: dict[str, list[Row]] = {}
    for name in names:
        rows: list[Row] = []
        try:
            for row in _rows(name, smoke):  # a case may take minutes for a row
                print_rows(name, [row], header=not found and not rows)
                rows.append(row)
        except Skip as reason:
            print(f"{name:12}skipped: {reason}", flush=True)
            continue
        found[name] = rows
        write_csv(output / f"{name}.csv", name, rows, CASES[name].LEARNERS)
    return found


def _rows(name: str, smoke: bool) -> Iterator[Row]:
    """The rows of a case; of a try nothing is required, as its times say nothing."""
    for row in CASES[name].run(smoke):
        yield replace(row, required="", ok=None) if smoke else row


if __name__ == "__main__":
    sys.exit(main())

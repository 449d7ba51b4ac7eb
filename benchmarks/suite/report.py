"""The table on the screen, and the file of results with the machine and the versions beside every
figure.
"""

from __future__ import annotations

import csv
import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from suite.measure import Row
from suite.settings import settings_of

PACKAGES = (
    "discbayes",
    "numpy",
    "scikit-learn",
    "numba",
    "pyagrum",
    "lightgbm",
    "pyarrow",
    "distributed",
)
VERDICTS = {True: "yes", False: "NO", None: "-"}
FIELDS = (
    "case",
    "what",
    "ours",
    "unit",
    "peer",
    "ratio",
    "required",
    "ok",
    "learner",
    "settings",
    "date",
    "machine",
    "versions",
)


def print_rows(case: str, rows: list[Row], header: bool) -> None:
    """Lines of the table, as soon as a case is done."""
    if header:
        print(f"{'case':12}{'what':66}{'ours':>11}{'peer':>12}{'ratio':>8}{'required':>12}  ok?")
    for row in rows:
        peer = "-" if row.peer is None else f"{row.peer:.4g} {row.unit}"
        ratio = (
            "-"
            if row.ratio is None
            else f"{row.ratio:.3g}x"
            if row.ratio < 100
            else f"{row.ratio:,.0f}x"
        )
        ours = f"{row.ours:.4g} {row.unit}"
        verdict = VERDICTS[row.ok]
        print(
            f"{case:12}{row.what:66}{ours:>11}{peer:>12}{ratio:>8}{row.required or '-':>12} "
            f" {verdict}",
            flush=True,
        )


def write_csv(path: Path, case: str, rows: list[Row], learners: dict[str, Any]) -> None:
    """Write the rows of a case, each with all settings of its learner, in place of the file of an
    earlier run.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
    }
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in rows:
            settings = settings_of(learners[row.learner]) if row.learner else ""
            writer.writerow({"case": case, **_cells(row), "settings": settings, **place})


def _cells(row: Row) -> dict[str, str]:
    figures = {"ours": row.ours, "peer": row.peer, "ratio": row.ratio}
    texts = {name: "" if value is None else f"{value:.5g}" for name, value in figures.items()}
    named = {"what": row.what, "unit": row.unit, "required": row.required, "learner": row.learner}
    return {**named, "ok": VERDICTS[row.ok], **texts}


def machine() -> str:
    """The processor and the number of cores."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = next((line for line in lines if line.startswith("model name")), None)
    return named.split(":", 1)[1].strip() if named else platform.machine()


def versions() -> str:
    """Python and the packages that matter here."""
    found = [f"python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} absent")
    return ", ".join(found)

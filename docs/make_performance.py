"""Write the tables of ``docs/performance.md`` from the stored measurements of ``benchmarks/results``.

python docs/make_performance.py
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "performance.md"
RESULTS = HERE.parent / "benchmarks" / "results"
HEADS = {
    "nb": ("scikit-learn's CategoricalNB", ", vs CategoricalNB"),
    "tan": ("pyAgrum's BNClassifier", ", vs pyAgrum"),
    "parameters": ("scikit-learn's LogisticRegression", ", to the loss of LogisticRegression"),
    "search": ("bnclassify's tan_hc", ", vs bnclassify tan_hc"),
}


def table(case: str) -> str:
    """The lines of a case that have a peer, as a table of Markdown."""
    peer, ending = HEADS[case]
    lines = [f"| | discbayes, s | {peer}, s | times as fast |", "|:--|--:|--:|--:|"]
    for row in read(case):
        if row["what"].endswith(ending):
            what = row["what"].removesuffix(ending).replace(" x ", " × ")
            lines.append(f"| {what} | {short(row['ours'])} | {short(row['peer'])} | {float(row['ratio']):.0f} |")
    return "\n".join(lines)


def alone(case: str, *wanted: str) -> str:
    """Lines of a case that have no peer."""
    lines = ["| | |", "|:--|--:|"]
    rows = {row["what"]: row for row in read(case)}
    for what in wanted:
        unit = rows[what]["unit"]
        lines.append(f"| {what.replace(' x ', ' × ')} | {short(rows[what]['ours'])} {unit} |")
    return "\n".join(lines)


def read(case: str) -> list[dict[str, str]]:
    """The stored lines of a case."""
    with (RESULTS / f"{case}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def short(number: str) -> str:
    """Two digits that count."""
    value = float(number)
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def page(text: str) -> str:
    """The page with the tables of now."""
    tables = {case: table(case) for case in HEADS}
    tables["start"] = alone(
        "start",
        "import beyond sklearn and numba",
        "first TAN fit of a process, kernels cached",
        "first TAN fit of a process, nothing cached",
    )
    tables["large"] = alone("pairs", "TAN fit from uint8 codes, mnist14 60,000 x 196")
    tables["searches"] = alone(
        "search",
        "TAN-CR, letter 13,333 x 16",
        "TAN-CR, mnist14 60,000 x 196",
        "OMI-CR, mnist14",
        "SA-MM, λ = 0.05, mnist14",
        "HC-CL, mnist14",
    )
    tables["gaps"] = gaps()
    for name, lines in tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda found, lines=lines: f"{found[1]}\n{lines}\n\n{found[2]}", text, flags=re.S)
    return text


def gaps() -> str:
    """What summing out costs."""
    lines = ["| | complete, s | 30 % missing, s | times as long |", "|:--|--:|--:|--:|"]
    for row in read("gaps"):
        what, begin = row["what"].replace(" x ", " × "), "predict_proba, 30 % missing vs complete, "
        if what.startswith(begin):
            cells = (what.removeprefix(begin), short(row["peer"]), short(row["ours"]), f"{float(row['ratio']):.1f}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

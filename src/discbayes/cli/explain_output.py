"""Explanations as they are printed: as text, as a table and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes._text import printable
from discbayes.explanations.contributions import Explanation
from discbayes.explanations.counterfactuals import Counterfactual
from discbayes.explanations.relevance import Relevance
from discbayes.explanations.wording import probability_in_words


@dataclass
class Explained:
    """Rows that are explained, each for one class, with the numbers that the user knows them by.

    Parameters
    ----------
    explanation : Explanation
    numbers : list of int
        The number of each row.
    label : object or None
        The class; None is the decision of each row.
    changes : list of Counterfactual
        What would change the decision of each row, where that was asked for.
    """

    explanation: Explanation
    numbers: list[int]
    label: Any = None
    changes: list[Counterfactual] | None = None

    def piece(self, form: str, most: int) -> Any:
        """These rows as a list of texts, an arrow table or a list for JSON; `joined` puts several
        of them together.
        """
        if form == "csv":
            return self.table()
        rows = range(len(self.numbers))
        return (
            [self.data(row) for row in rows]
            if form == "json"
            else [self.text(row, most) for row in rows]
        )

    def text(self, row: int, most: int) -> str:
        """One row in words."""
        found = self.explanation
        decision = found.decisions[row]
        head = (
            f"row {self.numbers[row]}: {found.beliefs.network.domain.target.name} ="
            f" {found.labels[decision]}"
        )
        sure = probability_in_words(found.posterior[row], decision)
        lines = [f"{head} (P = {sure})", found.text(row, self.label, most)]
        if self.changes is not None:
            lines += ["", self.changes[row].text()]
        return "\n".join(lines)

    def table(self) -> Any:
        """A line for each row and column, columns as they become known; or for each change, where
        those are there.
        """
        pa, found = need("pyarrow"), self.explanation
        if self.changes is not None:
            tables = [change.to_frame("pyarrow") for change in self.changes]
            rows = np.repeat(self.numbers, [table.num_rows for table in tables])
            return pa.concat_tables(tables).add_column(0, "row", pa.array(rows))
        n_features, n_classes = len(found.names), len(found.labels)
        places = [found.class_of(row, self.label) for row in range(found.n_rows)]
        first = (np.arange(found.n_rows) * n_classes + places) * n_features
        lines = found.to_frame("pyarrow").take((first[:, None] + np.arange(n_features)).ravel())
        lines = lines.set_column(0, "row", pa.array(np.repeat(self.numbers, n_features)))
        return lines.rename_columns(["row", "class", "column", "value", "contribution", "given"])

    def data(self, row: int) -> dict[str, Any]:
        """One row for other programs."""
        found = self.explanation
        place, labels = (
            found.class_of(row, self.label),
            [plain(label) for label in found.labels.tolist()],
        )
        parts = found.contributions[row, :, place]
        known = [i for i in found.order if found.known[row, i]]
        data = {
            "row": self.numbers[row],
            "decision": labels[found.decisions[row]],
            "posterior": {
                str(label): float(p) for label, p in zip(labels, found.posterior[row], strict=True)
            },
            "class": labels[place],
            "against": None if found.against is None else labels[found.against],
            "base": found.base[place],
            "contributions": [
                {
                    "column": found.names[i],
                    "value": found.values[row, i],
                    "contribution": parts[i],
                    "given": [found.names[j] for j in found.given(row, i)],
                }
                for i in known
            ],
            "log_odds": found.log_odds[row, place],
            "unknown": [
                name for name, seen in zip(found.names, found.known[row], strict=True) if not seen
            ],
        }
        return (
            data
            if self.changes is None
            else {**data, "counterfactual": change_data(self.changes[row])}
        )


def joined(pieces: list[Any], form: str) -> Any:
    """A text, an arrow table, or a text of JSON."""
    if form == "csv":
        return need("pyarrow").concat_tables(pieces)
    rows = [row for piece in pieces for row in piece]
    return as_json(rows) if form == "json" else printable("\n\n".join(rows))


def change_data(change: Counterfactual) -> dict[str, Any]:
    """A counterfactual for other programs."""
    sets = [change, *change.alternatives] if change.found else []
    return {
        "found": change.found,
        "proven": change.proven,
        "choices": [
            {"decision": one.label_after, "probability": one.probability, "changes": _changes(one)}
            for one in sets
        ],
    }


def _changes(change: Counterfactual) -> list[dict[str, Any]]:
    pairs = zip(change.changes, change.numbers, strict=True)
    return [
        {
            "column": name,
            "from": before,
            "to": after,
            "nearest": None if number is None else number[1],
        }
        for (name, before, after), number in pairs
    ]


def relevance_as(relevance: Relevance, form: str, most: int) -> Any:
    """The relevance of columns as a text, an arrow table, or a text of JSON."""
    if form == "csv":
        return relevance.to_frame("pyarrow")
    if form == "json":
        columns = relevance.to_frame("pyarrow").to_pylist()
        return as_json(
            {"rows": relevance.n_rows, "columns": columns, "hidden": asdict(relevance.hidden)}
        )
    return printable(relevance.text(most))


def as_json(data: Any) -> str:
    """JSON that people can read, too; infinite numbers are texts, since JSON has none."""
    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()  # lone surrogates, as JSON has them


def plain(value: Any) -> Any:
    """The value in types that JSON knows."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    return value if isinstance(value, (str, int, float, type(None))) else str(value)

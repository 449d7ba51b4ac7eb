"""Explanations as text, as a table and as JSON."""

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
    """Explained rows, each for one class, with their numbers in the table.

    Parameters
    ----------
    explanation : Explanation
        The contributions.
    numbers : list of int
        The number of each row.
    label : object or None
        The class; None is the decision of each row.
    changes : list of Counterfactual, optional
        The counterfactual of each row.
    """

    explanation: Explanation
    numbers: list[int]
    label: Any = None
    changes: list[Counterfactual] | None = None

    def part(self, form: str, max_columns: int) -> Any:
        """Return a list of texts, an arrow table or a list for JSON; `joined` combines several."""
        if form == "csv":
            return self.table()
        rows = range(len(self.numbers))
        if form == "json":
            return [self.data(row) for row in rows]
        return [self.text(row, max_columns) for row in rows]

    def text(self, row: int, max_columns: int) -> str:
        """Return the explanation of a row as text."""
        found = self.explanation
        decision = found.decisions[row]
        target = found.beliefs.network.domain.target.name
        sure = probability_in_words(found.posterior[row], decision)
        lines = [
            f"row {self.numbers[row]}: {target} = {found.labels[decision]} (P = {sure})",
            found.text(row, self.label, max_columns),
        ]
        if self.changes is not None:
            lines += ["", self.changes[row].text()]
        return "\n".join(lines)

    def table(self) -> Any:
        """Return a line for each row and column, or for each change if there are changes."""
        pa, found = need("pyarrow"), self.explanation
        if self.changes is not None:
            tables = [change.to_frame("pyarrow") for change in self.changes]
            rows = np.repeat(self.numbers, [table.num_rows for table in tables])
            return pa.concat_tables(tables).add_column(0, "row", pa.array(rows))
        n_features, n_classes = len(found.names), len(found.labels)
        classes = [found.class_of(row, self.label) for row in range(found.n_rows)]
        # the frame has a line for each row, class and column, in this order
        first = (np.arange(found.n_rows) * n_classes + classes) * n_features
        lines = found.to_frame("pyarrow").take((first[:, None] + np.arange(n_features)).ravel())
        lines = lines.set_column(0, "row", pa.array(np.repeat(self.numbers, n_features)))
        return lines.rename_columns(["row", "class", "column", "value", "contribution", "given"])

    def data(self, row: int) -> dict[str, Any]:
        """Return the explanation of a row for JSON."""
        found = self.explanation
        chosen = found.class_of(row, self.label)
        labels = [plain(label) for label in found.labels.tolist()]
        names, known = np.array(found.names, dtype=object), found.known[row]
        contributions = [
            {
                "column": names[i],
                "value": found.values[row, i],
                "contribution": found.contributions[row, i, chosen],
                "given": names[list(found.given(row, i))].tolist(),
            }
            for i in found.order
            if known[i]
        ]
        data = {
            "row": self.numbers[row],
            "decision": labels[found.decisions[row]],
            "posterior": dict(zip(map(str, labels), found.posterior[row].tolist(), strict=True)),
            "class": labels[chosen],
            "against": None if found.against is None else labels[found.against],
            "base": found.base_of(row)[chosen],
            "contributions": contributions,
            "log_odds": found.log_odds[row, chosen],
            "unknown": names[~known].tolist(),
        }
        if self.changes is not None:
            data["counterfactual"] = _counterfactual_data(self.changes[row])
        return data


def joined(parts: list[Any], form: str) -> Any:
    """Combine the parts of `Explained` to a text, an arrow table, or a text of JSON."""
    if form == "csv":
        return need("pyarrow").concat_tables(parts)
    rows = [row for part in parts for row in part]
    return as_json(rows) if form == "json" else printable("\n\n".join(rows))


def _counterfactual_data(change: Counterfactual) -> dict[str, Any]:
    """Return a counterfactual for JSON."""
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
    nearest = [None if number is None else number[1] for number in change.numbers]
    return [
        {"column": name, "from": before, "to": after, "nearest": near}
        for (name, before, after), near in zip(change.changes, nearest, strict=True)
    ]


def relevance_output(relevance: Relevance, form: str, max_columns: int) -> Any:
    """Return the relevance of columns as a text, an arrow table, or a text of JSON."""
    if form == "csv":
        return relevance.to_frame("pyarrow")
    if form == "json":
        columns = relevance.to_frame("pyarrow").to_pylist()
        return as_json(
            {"rows": relevance.n_rows, "columns": columns, "hidden": asdict(relevance.hidden)}
        )
    return printable(relevance.text(max_columns))


def as_json(data: Any) -> str:
    """Return indented JSON; infinite numbers are texts, since JSON has none."""
    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()  # lone surrogates, as JSON has them


def plain(value: Any) -> Any:
    """Return a value in the types of JSON."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        return "Infinity" if value > 0 else "-Infinity"
    return value if isinstance(value, (str, int, float, type(None))) else str(value)

"""The model card of a report, read from a file."""

from __future__ import annotations

import json
from pathlib import Path

from discbayes.cli.console import UserError


def read_card(path: str | None) -> dict[str, str]:
    """Read the headings and texts of a model card; none if there is no file."""
    if path is None:
        return {}
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read --card {path}: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise UserError(
            f'--card {path}: a JSON object of texts is needed, such as {{"Intended use": "Triage"}}'
        )
    return found

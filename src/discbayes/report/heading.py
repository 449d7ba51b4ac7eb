"""The heading of a report: its title, the source of the data, and a model card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discbayes.report.markup import escaped


@dataclass(frozen=True)
class Heading:
    """A title, the source of the data and a model card, all of which may be left out.

    >>> Heading(card={"Intended use": "Triage of adults"}).card_html()
    '<dl class="settings"><div><dt>Intended use</dt><dd>Triage of adults</dd></div></dl>'
    """

    title: str = ""
    source: str = ""
    card: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("title", "source"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a text")
        texts = isinstance(self.card, Mapping) and all(
            isinstance(text, str) for entry in self.card.items() for text in entry
        )
        if not texts:
            raise TypeError(
                "card must be a mapping of headings to texts, such as {'Intended use': 'Triage'}"
            )

    def card_html(self) -> str:
        """Return the model card; an empty text where there is none."""
        rows = "".join(
            f"<div><dt>{escaped(name)}</dt><dd>{escaped(text)}</dd></div>"
            for name, text in self.card.items()
        )
        return f'<dl class="settings">{rows}</dl>' if rows else ""

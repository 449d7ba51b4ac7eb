"""Both passes over a source at once, as tests of the passes want them."""

from __future__ import annotations

from discbayes.streams import encode_rows, open_rows


def encode_source(
    source, encoder, target=None, weight=None, *, folder=None, progress=None, **limits
):
    """The encoder, fitted, and the codes of all rows in a temporary file."""
    with open_rows(source, target, weight, folder=folder, **limits) as reading:
        return encode_rows(reading, encoder, folder, progress)

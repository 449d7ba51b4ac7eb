"""Model files: `load` gives a classifier that works, or a `ModelFileError` of one line, and nothing
else.
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from pathlib import Path

import numpy as np

import damage
from discbayes.io import ModelFileError, load, save
from discbayes.io.document import checksum

LONGEST_MESSAGE = 1000
FOLDER = tempfile.TemporaryDirectory(prefix="discbayes-fuzz-")
atexit.register(FOLDER.cleanup)
READ, WRITTEN = Path(FOLDER.name) / "read.json", Path(FOLDER.name) / "written.json"
os.fsync = lambda file: None  # these files need not last


def check(data: bytes) -> None:
    """Read the bytes as they are, and with a checksum that fits."""
    read(data)
    fitting = resealed(data)
    if fitting is not None:
        read(fitting)


def resealed(data: bytes) -> bytes | None:
    """The file with the right checksum; None if it is no JSON object, or one that no checksum can
    be taken of.
    """
    try:
        document = json.loads(data)
        if not isinstance(document, dict):
            return None
        document["sha256"] = checksum(document)
        return json.dumps(document).encode()
    except (ValueError, TypeError, RecursionError):
        return None


def read(content: bytes) -> None:
    """Check that a file gives a classifier that works, or is refused."""
    READ.write_bytes(content)
    try:
        classifier = load(READ)
    except ModelFileError as error:
        message = str(error)
        assert message.startswith(str(READ)), message
        assert len(message) < LONGEST_MESSAGE, len(message)
        assert message.isprintable(), message
        return
    check_predictions(classifier)
    save(classifier, WRITTEN)
    again = load(WRITTEN)
    save(again, READ)
    assert READ.read_bytes() == WRITTEN.read_bytes()


def check_predictions(classifier) -> None:
    """Check that probabilities are computed, or refused because of ``max_cells``."""
    row = damage.row_of(classifier.network_.domain)
    rows = np.array([[None] * len(row), row], dtype=object)
    try:
        found = classifier.predict_proba(rows)
    except ValueError as error:
        if "max_cells" in str(error):
            return
        raise
    assert np.isfinite(found).all()
    assert np.allclose(found.sum(axis=1), 1, atol=1e-9)


def change(data: bytes, seed: int) -> bytes | None:
    """One to three fields with another value, or without it; None where the file is no JSON
    object.
    """
    try:
        document = json.loads(data)
        return damage.mixed(document, seed)
    except (ValueError, TypeError, LookupError, RecursionError):
        return None

"""Malformed model files, and those of the fuzzers: an error of one line, or finite answers."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import damage
from discbayes import load
from discbayes.io import ModelFileError
from discbayes.predict import load_bytes

CORPUS = sorted((Path(__file__).parents[2] / "fuzz" / "corpus" / "model_file").iterdir())
EVERY = {
    "a field is lost": 3,
    "a field is surplus": 3,
    "another type": 10,
    "another length": 3,
    "false numbers": 1,
    "false structures": 1,
    "false heads": 1,
    "deep nesting": 6,
    "mixed changes": 12,
    "cut short": 8,
    "bits and bytes": 12,
}
# fields that no answer depends on: the library reads them for another fit
UNREAD = ("settings", "history", "tallies", "csv_format", "n_samples_seen")
MAX_SECONDS = 20


def answers(model, row):
    """Probabilities that are finite and sum to one."""
    rows = np.array([[None] * len(model.columns), [row] * len(model.columns)], dtype=object)
    for one in rows:
        try:
            found = model.predict_proba(one[None])
        except ValueError as error:  # a number for text, or too many cells
            message = str(error)
            if "column" in message:
                continue
            raise
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)


def refusal(path):
    """Why the library refuses a file; None if it does not."""
    try:
        load(path)
    except ModelFileError as error:
        return str(error)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", EVERY)
def test_what_the_library_refuses_is_refused(kind, tmp_path):
    refused = 0
    for content in damage.malformed(kind, EVERY[kind]):
        start = time.perf_counter()
        try:
            answers(load_bytes(content, "the file"), 0.5)
        except ModelFileError as error:
            message = str(error)
            assert message.startswith("the file cannot be loaded: ")
            assert len(message) < 1000
            assert message.isprintable()
            refused += 1
        else:
            (tmp_path / "model.json").write_bytes(content)
            message = refusal(tmp_path / "model.json")
            assert message is None or any(field in message for field in UNREAD), message
        assert time.perf_counter() - start < MAX_SECONDS
    assert refused > 3


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_the_corpus_of_the_fuzzers(path):
    try:
        model = load_bytes(path.read_bytes())
    except ModelFileError:
        return
    for row in (None, 0.5, "x", True, -1e300, {"not": ["x"]}):
        answers(model, row)

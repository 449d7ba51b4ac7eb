"""A thousand malformed model files give a thousand errors of one line, in little memory; BIF files
do likewise.
"""

from __future__ import annotations

import os
import re
import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import damage
from discbayes import BayesNetClassifier
from discbayes.io import BifError, ModelFileError, load, read_bif

# so many files of a kind are made that a part of them is enough for each run of the tests
EVERY = {
    "a field is lost": 2,
    "a field is surplus": 2,
    "another type": 6,
    "another length": 2,
    "false numbers": 1,
    "false structures": 1,
    "false heads": 1,
    "deep nesting": 4,
    "mixed changes": 8,
    "cut short": 4,
    "bits and bytes": 6,
}
FIELDS = (
    "JSON|nested too deeply|checksum|newer discbayes|version|library|sha256|the"
    " file|model|settings|domain|structure"
    "|tables|class_dtype|n_features_in|feature_names_in|history|calibration|tallies|n_samples_seen|csv_format|columns"
    "|scale|class_shares|cell_penalty|members"  # of ensembles
)
# files that ask for memory
CLAIMS = {"another length", "false numbers", "false structures", "deep nesting"}
LONGEST = 1000  # letters of a message
MAX_SECONDS = 20  # of one file, on a machine that does much else


def most_bytes(size):
    """What reading a file of this size may allocate."""
    return 2_000_000 + 50 * size


def check_message(error, path):
    text = str(error)
    assert text.startswith(str(path)), text
    assert len(text) < LONGEST, text
    assert text.isprintable(), text
    assert re.search(FIELDS, text.removeprefix(str(path))), text


@contextmanager
def measured(size, memory):
    """In little time and memory; memory is measured on demand, since that takes time itself."""
    start = time.perf_counter()
    if memory:
        tracemalloc.start()
    try:
        yield
        if memory:
            assert tracemalloc.get_traced_memory()[1] < most_bytes(size)
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < MAX_SECONDS


def read(reader, path, content, mistake, memory=True):
    """What a file gives: an object, or an error of this type."""
    path.write_bytes(content)
    with measured(len(content), memory):
        try:
            return reader(path)
        except mistake as error:
            return error


def check_sound(classifier, path):
    """A change that a file can have: the classifier works, and has the same bits when it is saved
    and loaded again.
    """
    rows = np.full((3, classifier.n_features_in_), None, dtype=object)
    rows[1, 0] = rows[2, 0] = 0.5
    found = classifier.predict_proba(rows)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
    classifier.save(path)
    np.testing.assert_array_equal(load(path).predict_proba(rows), found)


# settings that a file could not hold, rows without names
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_thousand_malformed_files_give_a_thousand_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)  # which the disk may take its time for
    refused = dict.fromkeys(EVERY, 0)
    sound = dict.fromkeys(EVERY, 0)
    for name, content in damage.good_files().items():
        (tmp_path / name).write_bytes(content)
        load(tmp_path / name)  # what is imported and remembered is no part of the memory of a file
    for kind, step in EVERY.items():
        for number, content in enumerate(damage.malformed(kind, step)):
            path = tmp_path / f"{kind} {number}.json"
            found = read(load, path, content, ModelFileError, kind in CLAIMS)
            if isinstance(found, ModelFileError):
                check_message(found, path)
                refused[kind] += 1
            else:
                check_sound(found, path)
                sound[kind] += 1
    print(f"{sum(refused.values())} refused, {sum(sound.values())} sound: {refused}, {sound}")
    assert sum(refused.values()) >= 1000
    assert all(refused.values())
    assert not any(
        sound[kind] for kind in ("false structures", "false heads", "deep nesting", "cut short")
    )


def test_good_files_are_good(tmp_path):
    """Or the files made of them would be refused for another reason."""
    X, y = damage.shop_rows()
    for name, document in damage.documents().items():
        (tmp_path / name).write_bytes(damage.sealed(document))
        rows = damage.with_dates(X, y) if name == "dates" else X
        assert load(tmp_path / name).score(rows, y) > 0.6
    fields = {
        place[-1] for document in damage.documents().values() for place in damage.places(document)
    }
    assert {
        "tallies",
        "pairs",
        "families",
        "calibration",
        "temperature",
        "log_odds",
        "prior_offset",
        "usual_missing",
    } <= fields


# BIF

DOG = """\
network dog { property kind = "example" ; }
variable sick { type discrete [ 2 ] { yes, no }; }
variable "light-on" { type discrete[2] {"true" "false"}; }
variable out { type discrete [ 3 ] { far, near, not }; } // a comment
probability ( sick ) { table 0.25, 0.75; }
probability ( "light-on" | sick ) { (yes) 0.6, 0.4; (no) 0.05 0.95; }
probability ( out | light-on, sick ) { default 0.2, 0.3, 0.5; (true, no) 1, 0, 0; }
"""
ODD_WORDS = [
    "",
    "{",
    "}",
    ";",
    ",",
    '"',
    "-1",
    "nan",
    "1e999",
    "7",
    "sick",
    "\x1b[31m",
    "table",
    "x" * 3000,
    "/*",
]


def own_file(tmp_path):
    """A file with the properties that we write."""
    X, y = damage.shop_rows()
    path = tmp_path / "own.bif"
    BayesNetClassifier("tan", "map").fit(X, y).network_.to_bif(path)
    return path.read_text()


def damaged_bif(text, every):
    """Each word or sign taken away, doubled, or replaced; the text cut short."""
    tokens = re.findall(r'"[^"]*"|[\w.%:<>=/+-]+|\s+|.', text)
    for turn, at in enumerate(range(0, len(tokens), every)):
        if tokens[at].strip():
            for new in (
                "",
                tokens[at] * 2,
                ODD_WORDS[turn % len(ODD_WORDS)],
                ODD_WORDS[(turn + 7) % len(ODD_WORDS)],
            ):
                yield "".join([*tokens[:at], new, *tokens[at + 1 :]])
    yield from (text[:stop] for stop in range(0, len(text) - 2, every * 10))


def wide_bif(n_parents, values):
    """A small file whose last variable has a table of ``values ** n_parents`` rows, by one
    default.
    """
    names = [f"p{i}" for i in range(n_parents)]
    states = ", ".join(f"v{k}" for k in range(values))
    variables = [
        f"variable {n} {{ type discrete [ {values} ] {{ {states} }}; }}"
        for n in ["c", *names, "last"]
    ]
    even = ", ".join([repr(1 / values)] * values)
    tables = [f"probability ( {n} ) {{ table {even}; }}" for n in ["c", *names]]
    return "\n".join(
        [*variables, *tables, f"probability ( last | {', '.join(names)} ) {{ default {even}; }}"]
    )


def test_hundreds_of_malformed_bif_files_give_errors_with_their_line(tmp_path):
    refused = sound = 0
    files = [("sick", damaged_bif(DOG, 1)), (None, damaged_bif(own_file(tmp_path), 5))]
    for target, texts in files:
        for number, text in enumerate(texts):
            path = tmp_path / f"{number}.bif"
            found = read(
                lambda path, target=target: read_bif(path, target),
                path,
                text.encode(),
                BifError,
                memory=False,
            )
            if isinstance(found, BifError):
                message = str(found)
                assert re.fullmatch(re.escape(str(path)) + r", line \d+: \S.*", message), message
                assert len(message) < LONGEST
                assert message.isprintable()
                refused += 1
            else:
                assert found.parameters.is_normalized
                assert np.isclose(found.prior.sum(), 1)
                sound += 1
    print(f"{refused} refused, {sound} sound")
    assert refused >= 300


@pytest.mark.parametrize(
    "n_parents, values, message",
    [
        (24, 2, "more than 10000000 cells"),
        (12, 10, "more than 10000000 cells"),
        (70, 1, "can have at most"),
    ],
)
def test_small_bif_files_that_claim_large_tables_are_refused_before_any_is_made(
    n_parents, values, message, tmp_path
):
    found = read(
        lambda path: read_bif(path, "c"),
        tmp_path / "wide.bif",
        wide_bif(n_parents, values).encode(),
        BifError,
    )
    assert isinstance(found, BifError)
    assert message in str(found)


def test_the_limits_of_a_bif_file_can_be_moved(tmp_path):
    path = tmp_path / "wide.bif"
    path.write_text(wide_bif(6, 2))
    assert read_bif(path, "c").parameters.log_theta.size == (2 * 6 + 2**7) * 2
    with pytest.raises(BifError, match="more than 100 cells, the limit of max_cells"):
        read_bif(path, "c", max_cells=100)
    with pytest.raises(
        BifError, match=r"line 4: .*more than 50 words, numbers and signs, the limit of max_values"
    ):
        read_bif(path, "c", max_values=50)

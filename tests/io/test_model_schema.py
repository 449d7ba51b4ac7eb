"""The JSON Schema of model files: every sound file is valid, and what is not valid is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import conformance
import damage
from discbayes.io import ModelFileError
from discbayes.io.document import FORMAT, VERSION
from discbayes.io.domains import CLASS_DTYPES
from discbayes.io.model import load_bytes

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[2]
RELEASED = sorted(
    path
    for path in (ROOT / "tests" / "released").glob("*/*.json")
    if path.stem not in ("answers", "names")
)
DAMAGES = ("a field is lost", "a field is surplus", "another type", "mixed changes")


@pytest.fixture(scope="module")
def schema():
    text = (ROOT / "docs" / "model-file" / "model.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


@pytest.fixture(scope="module")
def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_model_of_the_conformance_suite_is_valid(validator):
    for name, content, _ in conformance.suite():
        assert not [error.message for error in validator.iter_errors(json.loads(content))], name


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_every_released_file_is_valid(path, validator):
    validator.validate(json.loads(path.read_text(encoding="utf-8")))


def test_files_with_every_field_are_valid(validator):
    for document in damage.documents().values():
        validator.validate(document)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", DAMAGES)
def test_what_the_schema_refuses_the_library_refuses(kind, validator):
    """The schema is not stricter than the reader, and it sees most of what is wrong."""
    n_invalid = n_refused = 0
    for content in damage.malformed(kind, 20):
        is_valid = validator.is_valid(json.loads(content))
        try:
            load_bytes(content, "the file")
        except ModelFileError:
            n_refused += 1
            n_invalid += not is_valid
        else:
            assert is_valid, content[:200]
    assert n_refused > 5
    assert n_invalid > n_refused / 2


def test_words_and_limits_are_those_of_the_reader(schema):
    top, fields = schema["properties"], schema["$defs"]["classifier"]["properties"]
    assert (top["format"]["const"], top["version"]["maximum"]) == (FORMAT, VERSION)
    assert set(fields["class_dtype"]["enum"]) == set(CLASS_DTYPES)

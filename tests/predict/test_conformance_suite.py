"""The conformance suite by numpy alone: the same probabilities as those of the library."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import conformance
from discbayes.predict import load_bytes

ANSWER = """
import json, sys, warnings
from pathlib import Path
import discbayes.predict
warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
answers = {}
for path in sorted(folder.glob("*.model.json")):
    name = path.name.removesuffix(".model.json")
    cases = json.loads((folder / f"{name}.cases.json").read_text(encoding="utf-8"))
    table = dict(zip(cases["columns"], map(list, zip(*cases["rows"]))))
    answers[name] = discbayes.predict.load(path).predict_proba(table).tolist()
foreign = {name.partition(".")[0] for name in sys.modules}
print(json.dumps([answers, sorted(foreign & {"numba", "sklearn", "scipy", "narwhals", "pandas"})]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    conformance.write_suite(folder)
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    """The answers of a process of its own, in which no other package is imported."""
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, str(folder)], capture_output=True, text=True, check=True
    )
    found, imported = json.loads(done.stdout)
    assert imported == []
    return found


def cases_of(folder, name):
    return json.loads((folder / f"{name}.cases.json").read_text(encoding="utf-8"))


def test_the_suite_is_as_large_as_it_says(folder, answers):
    assert len(conformance.CASES) >= 30
    assert set(answers) == set(conformance.CASES)
    sizes = {len(cases_of(folder, name)["rows"]) for name in conformance.CASES}
    assert sizes == {conformance.N_ROWS} == {200}
    assert all("numpy" in case.supports for case in conformance.CASES.values())


@pytest.mark.parametrize("name", conformance.CASES)
def test_numpy_agrees_with_the_library(name, folder, answers):
    cases = cases_of(folder, name)
    np.testing.assert_allclose(answers[name], cases["probabilities"], rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name", ["tan", "default", "ensemble", "strange-names", "by-name", "dates"]
)
def test_rows_that_no_runtime_answers_are_refused_by_name(name, folder):
    cases = cases_of(folder, name)
    model = load_bytes((folder / f"{name}.model.json").read_bytes())
    assert len(cases["refused"]) >= 4
    for row in cases["refused"]:
        (column,) = (
            column for column, cell in zip(cases["columns"], row, strict=True) if cell is not None
        )
        with pytest.raises(ValueError, match=re.escape(f"column {column!r}")):
            model.predict_proba(
                {name: [cell] for name, cell in zip(cases["columns"], row, strict=True)}
            )


def test_the_library_refuses_the_same_rows(folder):
    from discbayes import load

    cases = cases_of(folder, "tan")
    clf = load(folder / "tan.model.json")
    for row in cases["refused"]:
        with pytest.raises((ValueError, TypeError, KeyError)):
            conformance.expected(clf, cases["columns"], [row])


def test_the_script_writes_cases(tmp_path):
    """As those call it who have another runtime."""
    program = (
        "import sys, conformance; conformance.write_suite(sys.argv[1], ['tan', 'without-names'])"
    )
    path = os.pathsep.join([str(Path(conformance.__file__).parent), *sys.path])
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert len(list(tmp_path.iterdir())) == 4

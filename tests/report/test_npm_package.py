"""The npm package: built, packed and installed in an empty folder; its answers are Python's."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import conformance
import damage
import oracle
from discbayes import (
    BayesNet,
    BayesNetClassifier,
    Between,
    Likelihood,
    Not,
    OneOf,
    Structure,
    load,
)
from discbayes._version import __version__
from discbayes.data import Domain, Variable
from discbayes.io import ModelFileError
from discbayes.network import absorb_class

JS = Path(__file__).parents[2] / "js"
ASK = Path(__file__).parents[1] / "support" / "ask_package.mjs"
MAX_BYTES = 60_000
if not JS.exists():
    pytest.skip("the sources of the package are in a checkout only", allow_module_level=True)
spec = importlib.util.spec_from_file_location("discbayes_js_bundle", JS / "bundle.py")
bundle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bundle)
if shutil.which("node") is None or shutil.which("npm") is None:
    pytest.skip("node or npm is not installed", allow_module_level=True)


def run(*command, cwd, **options):
    ran = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, encoding="utf-8", **options
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The archive that ``npm pack`` makes, and what npm says of it."""
    folder = tmp_path_factory.mktemp("packed")
    shutil.copytree(JS, folder / "js", ignore=shutil.ignore_patterns("dist", "node_modules"))
    (folder / "js" / "dist").mkdir()
    for name, text in bundle.package_files().items():
        (folder / "js" / "dist" / name).write_text(text, encoding="utf-8")
    said = run("npm", "pack", "--json", "--ignore-scripts", cwd=folder / "js")
    (about,) = json.loads(said)
    return folder / "js" / about["filename"], about


@pytest.fixture(scope="module")
def installed(packed, tmp_path_factory):
    """A folder that was empty before the package was installed in it."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "package.json").write_text('{"private": true}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", str(packed[0]), cwd=folder)
    return folder


@pytest.fixture(scope="module")
def ask(installed):
    """A function that has the package answer jobs (``tests/support/ask_package.mjs``)."""
    package = installed / "node_modules" / "discbayes" / "dist" / "index.cjs"

    def answers(*jobs):
        return json.loads(
            run("node", str(ASK), str(package), cwd=installed, input=json.dumps(jobs), timeout=120)
        )

    return answers


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    conformance.fitted("tan", "hybrid").save(path)
    return path


# ---- the package


def test_it_is_small_and_has_the_version_of_the_library(packed):
    _, about = packed
    assert about["version"] == __version__
    assert about["size"] < MAX_BYTES
    assert sorted(one["path"] for one in about["files"]) == [
        "README.md",
        "dist/LICENSE",
        "dist/index.cjs",
        "dist/index.d.cts",
        "dist/index.d.ts",
        "dist/index.js",
        "package.json",
    ]
    settings = json.loads((JS / "package.json").read_text("utf-8"))
    assert "dependencies" not in settings


def test_it_is_used_by_import_and_by_require(installed, model_file):
    row = {"size": 1.5, "color": "red"}
    expected = load(model_file).predict_proba([row])[0]
    ask = f"""
        const model = Model.fromJSON(readFileSync({json.dumps(str(model_file))}, "utf8"));
        console.log(JSON.stringify(model.posterior({json.dumps(row)})));"""
    heads = {
        "main.cjs": 'const { Model } = require("discbayes"), { readFileSync } = require("fs");',
        "main.mjs": 'import { Model } from "discbayes"; import { readFileSync } from "fs";',
    }
    for name, head in heads.items():
        (installed / name).write_text(head + ask, encoding="utf-8")
        found = json.loads(run("node", name, cwd=installed))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_it_is_used_by_a_page(installed, model_file, browser):
    script = (installed / "node_modules/discbayes/dist/index.js").read_text("utf-8")
    page = browser.new_page()
    served = {"/": ("text/html", "<!doctype html>"), "/index.js": ("text/javascript", script)}

    def fulfill(route):
        kind, body = served[route.request.url.removeprefix("http://package.test")]
        route.fulfill(content_type=kind, body=body)

    page.route("http://package.test/**", fulfill)
    page.goto("http://package.test/")
    found = page.evaluate(
        """async ([file, row]) => {
          const { Model, between } = await import("/index.js");
          return Model.fromJSON(file).posterior({ ...row, age: between(12, 30) });
        }""",
        [model_file.read_text("utf-8"), {"color": "red"}],
    )
    page.close()
    row = {"color": "red", "age": Between(12, 30)}
    expected = load(model_file).predict_proba([row])[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


USES_TYPES = """
import { Model, ModelFileError, between, likelihood, not, oneOf } from "discbayes";
import type { Evidence, Explanation, Row } from "discbayes";

const evidence: Evidence = oneOf("red", not("blue"), between(1, null, "left"), null);
const range: Evidence = between("low", null);
const other: Evidence = likelihood({ a: 0.8, b: 0.2 });
const row: Row = { color: evidence, pain: range, size: 3, old: true, age: null, other };
const model = Model.fromJSON("{}");
const probabilities: number[] = model.posterior(row);
const label: string | number | boolean = model.predict(new Map([["size", 1]]));
const found: Explanation = model.explain(row);
const first: string | undefined = model.valueOfInformation({}).columns[0]?.column;
const dates: string | undefined = model.columns[0]?.date?.column;
const error: Error = new ModelFileError("no");
// @ts-expect-error a row is no list
model.posterior([1, 2]);
// @ts-expect-error numbers do not have sides
between(1, 2, "middle");
export { dates, error, first, found, label, probabilities };
"""


def test_its_types_compile_in_strict_mode(installed, tmp_path):
    compiler = shutil.which("tsc") or os.environ.get("DISCBAYES_TSC")
    if compiler is None:
        pytest.skip("tsc is not installed (npm install -g typescript, or DISCBAYES_TSC)")
    for name in ("main.mts", "main.cts"):
        (installed / name).write_text(USES_TYPES, encoding="utf-8")
        settings = ("--strict", "--noEmit", "--target", "es2022", "--module", "node16")
        run(compiler, *settings, "--exactOptionalPropertyTypes", name, cwd=installed)


# ---- its answers


def test_it_answers_the_conformance_suite_as_the_library_does(ask, tmp_path):
    conformance.write_suite(tmp_path)
    names = sorted(conformance.CASES)
    cases = [json.loads((tmp_path / f"{name}.cases.json").read_text("utf-8")) for name in names]
    jobs = [
        {
            "file": str(tmp_path / f"{name}.model.json"),
            "columns": case["columns"],
            "rows": case["rows"] + case["refused"],
        }
        for name, case in zip(names, cases, strict=True)
    ]
    for name, case, result in zip(names, cases, ask(*jobs), strict=True):
        assert "javascript" in case["supports"]
        assert "error" not in result, (name, result)
        assert result["classes"] == case["classes"]
        found = [row["posterior"] for row in result["rows"]]
        n_rows = len(case["rows"])
        got = [answer["answer"] for answer in found[:n_rows]]
        np.testing.assert_allclose(got, case["probabilities"], rtol=0, atol=1e-9, err_msg=name)
        for row, answer in zip(case["refused"], found[n_rows:], strict=True):
            assert answer.get("isError"), (name, row, answer)


EVIDENCE = {
    "sets": ({"one_of": ["red", "blue"]}, OneOf("red", "blue")),
    "negation": ({"not": ["red"]}, Not("red")),
    "likelihood": (
        {"likelihood": [["red", 0.8], ["blue", 0.1], ["grün", 0.1]]},
        Likelihood({"red": 0.8, "blue": 0.1, "grün": 0.1}),
    ),
    "one value": ({"one_of": ["red"]}, OneOf("red")),
    "likelihood by position": ({"likelihood": [3, 1, 0]}, Likelihood([3, 1, 0])),
}


@pytest.mark.parametrize("kind", EVIDENCE)
@pytest.mark.parametrize("settings", [("tan", "hybrid"), ()], ids=["tan", "default"])
def test_explanations_and_information_with_evidence(kind, settings, ask, tmp_path):
    clf = conformance.fitted(*settings)
    clf.save(tmp_path / "model.json")
    given, evidence = EVIDENCE[kind]
    sides = {"between": [11, 21], "inclusive": "left"}
    row = {"color": evidence, "age": Between(11, 21, "left"), "size": 0.5}
    job = {
        "file": str(tmp_path / "model.json"),
        "columns": ["color", "age", "size"],
        "rows": [[given, sides, 0.5]],
        "methods": ["posterior", "explain", "valueOfInformation", "predict"],
    }
    [result] = ask(job)
    answers = {name: one["answer"] for name, one in result["rows"][0].items()}
    np.testing.assert_allclose(answers["posterior"], clf.predict_proba([row])[0], atol=1e-12)
    assert answers["predict"] == clf.predict([row])[0]
    explanation = clf.explain([row])
    found = answers["explain"]
    close = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(found["base"], explanation.base_of(0), **close)
    np.testing.assert_allclose(found["logOdds"], explanation.log_odds[0], **close)
    names = [variable.name for variable in explanation.beliefs.network.domain.features]
    known = [i for i in explanation.order if explanation.known[0, i]]
    for i, item in zip(known, found["contributions"], strict=True):
        assert names[i].startswith(item["column"])
        np.testing.assert_allclose(item["values"], explanation.contributions[0, i], **close)
        assert len(item["given"]) == len(explanation.given(0, i))
    information = clf.value_of_information(row)
    gains = {item["column"]: item["gain"] for item in answers["valueOfInformation"]["columns"]}
    expected = dict(zip(information.names, information.gain.tolist(), strict=True))
    assert gains == pytest.approx(expected, abs=1e-11)


def test_a_class_with_parents_has_shares_that_follow_from_the_network(ask, tmp_path):
    """Rows that are impossible in every class have the shares of the classes."""
    rng = np.random.default_rng(1)
    structure = Structure(((), (0,), (1,)), (False, True, False))
    tables = oracle.random_tables(rng, structure, [2, 3, 2], 3, zeros=True)
    features = tuple(
        Variable(f"x{i}", "categorical", tuple(f"v{k}" for k in range(card)))
        for i, card in enumerate(tables.cards)
    )
    of_class = np.log(np.array([[0.2, 0.8, 0.0], [0.0, 0.5, 0.5]]) + 1e-300)
    target = Variable("class", "categorical", ("a", "b", "c"))
    network = BayesNet(Domain(features, target), absorb_class(tables, (0,), of_class))
    clf = BayesNetClassifier.from_network(network)
    clf.save(tmp_path / "model.json")
    rows = [list(row) for row in product(*([*v.values, None] for v in features))]
    job = {"file": str(tmp_path / "model.json"), "columns": ["x0", "x1", "x2"], "rows": rows}
    [result] = ask(job)
    expected = clf.predict_proba([dict(zip(job["columns"], row, strict=True)) for row in rows])
    found = [row["posterior"]["answer"] for row in result["rows"]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_ensembles_refuse_what_is_for_one_network(ask, tmp_path):
    conformance.ensemble().save(tmp_path / "model.json")
    job = {"file": str(tmp_path / "model.json"), "columns": [], "rows": [[]]}
    [result] = ask(job | {"methods": ["explain", "valueOfInformation"]})
    for method, answer in result["rows"][0].items():
        assert answer["error"] == f"{method} is for one network, and this model is an ensemble of 3"


# ---- what is wrong in files


@pytest.mark.parametrize("kind", [*damage.INSIDE, *damage.OUTSIDE])
def test_malformed_files_are_refused_or_answered(kind, ask):
    files = [content.decode() for content in damage.malformed(kind, 20) if is_text(content)]
    methods = ["posterior", "explain", "valueOfInformation"]
    for result in ask(*({"text": text, "methods": methods} for text in files)):
        if not is_refused_file(result):
            check_answers(result["rows"])


CORPUS = sorted((JS.parent / "fuzz" / "corpus" / "model_file").iterdir())
CELLS = (None, 0.5, "x", True, -1e300, {"not": ["x"]}, {"between": [0, "x"]}, [], {"one_of": [[]]})


def test_the_corpus_of_the_fuzzers_is_refused_or_answered(ask):
    """Each file as it is, and without its last bytes; rows that hold one sort of cell."""
    texts = [path.read_text("utf-8") for path in CORPUS]
    assert len(texts) > 5
    methods = ["posterior", "explain", "valueOfInformation"]
    for text, result in zip(texts, ask(*({"text": text} for text in texts)), strict=True):
        assert is_refused_file(ask({"text": text[:-9]})[0])
        if is_refused_file(result):
            continue
        columns = [one["name"] for one in json.loads(text)["model"]["domain"]["features"]]
        rows = [[cell] * len(columns) for cell in CELLS]
        [found] = ask({"text": text, "columns": columns, "rows": rows, "methods": methods})
        for row in found["rows"]:
            error = row["posterior"].get("error", "")
            assert len(error) < 1000
            assert all("error" in one and one["isError"] for one in row.values()) or not error
            if error:
                assert any(word in error for word in ("column", "between")), error
            else:
                check_answers([row])


def is_refused_file(result):
    """Whether a file is refused, which has an error that says so."""
    if "error" not in result:
        return False
    assert result["isError"]
    assert result["error"].startswith("The model cannot be loaded: ")
    assert len(result["error"]) < 1000
    return True


def check_answers(rows):
    for row in rows:
        posterior = row["posterior"]
        assert "answer" in posterior, posterior
        assert sum(posterior["answer"]) == pytest.approx(1, abs=1e-9)
        assert all(one.get("isError", True) for one in row.values())


def is_text(content):
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


# fields that matter to fitting only, which the package does not read
UNREAD = ("settings", "tallies", "history", "csv_format", "n_samples_seen", "class_dtype")


def test_all_that_predictions_need_is_checked_as_the_library_does(ask, tmp_path):
    """What the library refuses is refused, if it is in a field that answers depend on."""
    path = tmp_path / "model.json"
    files = [
        content
        for document in damage.documents().values()
        for place in damage.places(document)
        if place[0] == "model" and not set(UNREAD) & set(place) and isinstance(place[-1], str)
        for content in [damage.resealed(document, place, 10**30)]
    ][::9]
    results = ask(*({"text": content.decode(), "columns": [], "rows": []} for content in files))
    refused = [content for content in files if is_refused(content, path)]
    assert len(refused) > 20
    for content, result in zip(files, results, strict=True):
        assert content not in refused or "error" in result


def is_refused(content, path):
    path.write_bytes(content)
    try:
        load(path)
    except ModelFileError:
        return True
    return False


def test_newer_files_are_refused_by_what_is_new(ask):
    document = damage.documents()["temperature"]
    newer = [
        damage.resealed(document, ("version",), 6),
        damage.resealed(document, ("model", "surplus"), 1),
        damage.resealed(document, ("model", "calibration", "kind"), "beta"),
        damage.resealed(document, ("model", "domain", "features", 0, "kind"), "spline"),
    ]
    errors = [result["error"] for result in ask(*({"text": text.decode()} for text in newer))]
    for error, word in zip(errors, ("version 6", '"surplus"', '"beta"', '"spline"'), strict=True):
        assert word in error


def test_marginalization_that_takes_too_long_is_refused(ask):
    """A thousand columns with random parents: no order of them is within any limit."""
    rng = np.random.default_rng(0)
    n = 1000
    document = json.loads(damage.claiming(damage.documents()["temperature"], n))
    parents = [[], [0], *(rng.choice(i, 2, replace=False).tolist() for i in range(2, n))]
    document["model"]["structure"]["parents"] = parents
    n_cells = sum(3 * 2 ** (1 + len(group)) for group in parents)
    tables = document["model"]["tables"]
    tables["log_theta"] = damage.packed(rng.normal(size=n_cells))
    [result] = ask({"text": json.dumps(document), "columns": [], "rows": [[]]})
    answer = result["rows"][0]["posterior"]
    assert "Set some of these features" in answer["error"]
    assert answer["took"] < 10_000

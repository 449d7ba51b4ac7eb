"""The JavaScript package: its tests in node, its fixtures, and the scripts built from it."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import js_fixtures
import pytest

from discbayes.report.page import asset

JS = Path(__file__).parents[2] / "js"
if not JS.exists():
    pytest.skip("the sources of the scripts are in a checkout only", allow_module_level=True)
spec = importlib.util.spec_from_file_location("discbayes_js_bundle", JS / "bundle.py")
bundle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bundle)


def test_the_shipped_scripts_are_the_build_of_js():
    assert asset("engine.js") == bundle.engine_script(), "run `make js` to build the scripts"
    assert asset("page.js") == bundle.page_script(), "run `make js` to build the scripts"


def test_the_package_passes_its_tests():
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    ran = subprocess.run(
        ["node", "--test", "test/"], cwd=JS, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout


def test_the_fixtures_are_what_enumeration_gives():
    stored = json.loads(js_fixtures.PATH.read_text("utf-8"))
    for before, now in zip(stored, json.loads(json.dumps(js_fixtures.cases())), strict=True):
        assert before["payload"].keys() == now["payload"].keys()
        assert before["payload"]["parents"] == now["payload"]["parents"]
        for old, new in zip(before["rows"], now["rows"], strict=True):
            assert old["codes"] == new["codes"]
            assert old["posterior"] == pytest.approx(new["posterior"], abs=1e-12)
            assert old["gains"] == pytest.approx(new["gains"], abs=1e-12)


def write(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")


def test_modules_are_joined_in_the_order_of_their_imports(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "SOURCES", tmp_path)
    write(
        tmp_path,
        main='import { one } from "./a.js";\nimport { two } from "./b.js";\none(two);\n',
        a='import { two } from "./b.js";\nexport function one() { return two; }\n',
        b="export const two = 2;\n",
    )
    assert bundle.bundle("main.js").split("\n") == [
        "const two = 2;",
        "",
        "function one() { return two; }",
        "",
        "one(two);",
        "",
    ]
    assert bundle.bundle("a.js", {"b.js": "B"}).startswith("const { two } = B;\n")


@pytest.mark.parametrize(
    "text, message",
    [
        ('import { two, three } from "./b.js";\n', "main.js imports three, not in b.js"),
        ('import { two } from "./b.js";\nconst two = 3;\n', "declare these names twice: two"),
        ("export default 3;\n", "does not know: export default 3;"),
        ('import * as b from "./b.js";\n', "does not know: import"),
    ],
)
def test_what_the_bundler_does_not_know_is_refused(text, message, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "SOURCES", tmp_path)
    write(tmp_path, main=text, b="export const two = 2;\n")
    with pytest.raises(ValueError, match=message):
        bundle.bundle("main.js")

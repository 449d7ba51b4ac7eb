"""The pages about the code say what the code is: layers as drawn, names of the interface, methods
of the theory.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import discbayes
from discbayes.objectives import OBJECTIVES
from discbayes.parameters import PARAMETERS
from discbayes.scores import EDGE_SCORES
from discbayes.search import STRUCTURES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def maker(monkeypatch):
    """The script that draws the layers."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_layers")


def listed() -> list[str]:
    """The names of the interface page."""
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r":nosignatures:\n\n(.*?)```", text, re.S)
    return [name for block in blocks for name in block.split()]


# ---- the layers


def test_the_drawing_is_that_of_the_code(maker):
    assert maker.DRAWING.read_text(encoding="utf-8") == maker.current(), (
        "run: python docs/make_layers.py"
    )


def test_imports_are_read_in_all_their_forms(maker, tmp_path):
    package = tmp_path / "src" / "discbayes"
    (package / "top").mkdir(parents=True)
    (package / "top" / "__init__.py").write_text("import numpy\nfrom discbayes import middle\n")
    (package / "top" / "more.py").write_text(
        "def late():\n    import discbayes.low.deep\n    from . import top\n"
    )
    (package / "middle.py").write_text(
        "from discbayes.low import x\nfrom discbayes.middle import y\n"
    )
    (package / "low.py").write_text("from lower import z\nimport discbayesian.top\n")
    found = maker.read_imports(["top", "middle", "low"], tmp_path)
    assert found == {"top": {"middle", "low"}, "middle": {"low"}, "low": set()}


def test_no_dot_is_below_the_diagonal(maker):
    layers = maker.read_layers()
    packages = [package for layer in layers for package in layer]
    assert len(packages) == len(set(packages))
    depth = {package: k for k, layer in enumerate(layers) for package in layer}
    wrong = [
        (a, b)
        for a, others in maker.read_imports(packages).items()
        for b in others
        if depth[b] <= depth[a]
    ]
    assert not wrong


def test_every_package_has_a_line_in_the_table(maker):
    """The page about the architecture says what each package holds."""
    table = (DOCS / "developer" / "architecture.md").read_text(encoding="utf-8")
    packages = [package for layer in maker.read_layers() for package in layer]
    missing = [
        package
        for package in packages
        if f"`{package}/`" not in table and f"`{package}.py`" not in table
    ]
    assert not missing


# ---- the interface


def test_all_that_is_exported_has_a_page():
    plots = importlib.import_module("discbayes.plot")
    # constants have no page of their own, and are described in a sentence
    described = {"__version__", "TRUSTED_TYPES"}
    assert "`TRUSTED_TYPES`" in (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    wanted = {name for name in discbayes.__all__ if name not in described} | {
        f"plot.{name}" for name in plots.__all__
    }
    assert wanted - set(listed()) == set()


def test_names_of_the_interface_are_there_and_there_once():
    names = listed()
    assert len(names) == len(set(names))
    for name in names:
        *modules, last = name.split(".")
        module = importlib.import_module(".".join(["discbayes", *modules]))
        assert (getattr(module, last).__doc__ or "").strip(), name


# ---- the theory


@pytest.mark.parametrize(
    "page, names",
    [
        ("scores", [f'"{name}"' for name in (*EDGE_SCORES, *OBJECTIVES)]),
        ("scores", [kind.__name__ for kind in {*EDGE_SCORES.values(), *OBJECTIVES.values()}]),
        (
            "searches",
            sorted({type(make()).__name__ for make in STRUCTURES.values()} - {"NaiveBayes"}),
        ),
    ],
)
def test_the_theory_leaves_nothing_out(page, names):
    text = (DOCS / "theory" / f"{page}.md").read_text(encoding="utf-8")
    assert [name for name in names if name not in text] == []


def test_the_theory_has_all_parameters():
    pages = ("generative", "discriminative", "margins", "dfe")
    text = "".join((DOCS / "theory" / f"{page}.md").read_text(encoding="utf-8") for page in pages)
    assert [name for name, make in PARAMETERS.items() if type(make()).__name__ not in text] == []


@pytest.mark.parametrize("page", sorted((DOCS / "theory").glob("*.md")), ids=lambda page: page.stem)
def test_files_that_the_theory_names_are_there(page):
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"`([\w/]+(?:\.py|/))`", text)
    assert not [name for name in names if not (DOCS.parent / "src" / "discbayes" / name).exists()]
    assert page.stem == "index" or ("**Code:**" in text and names), "each page leads to its code"


# ---- lines that are broken on purpose


def test_lines_to_break_are_those_of_the_code_and_of_the_page(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS.parent / "tests"))
    mutations = importlib.import_module("mutations").MUTATIONS
    source = DOCS.parent / "src" / "discbayes"
    for one in mutations:
        text = (source / one.file).read_text(encoding="utf-8")
        assert text.count(one.line) == 1, f"{one.file}: {one.line.strip()}"
    page = (DOCS / "developer" / "testing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \| `test_.*$", page, re.M)
    assert rows == [(one.what, one.file) for one in mutations]

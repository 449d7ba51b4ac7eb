"""The examples of the pages in docs/: every one is run, and says what the page says.

- ``python`` fences with ``>>>`` are doctests; those without are run as they stand. ``py`` fences are shown only.
- ``console`` fences with ``$ discbayes`` are run by the command line, in the same folder; what stands below is its output.

All fences of a page share one namespace and one temporary folder, from top to bottom.
"""

from __future__ import annotations

import doctest
import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest

from discbayes.cli import main

DOCS = Path(__file__).parent.parent / "docs"
GENERATED = {"_build", "gallery", "results", "generated"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>python|console)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)
COMMAND = re.compile(r"^\$ discbayes (.*)\n((?:(?!\$ ).*\n)*)", re.M)
FROM_FILES = ('load_dataset("diabetes")',)

pytestmark = pytest.mark.filterwarnings("default")


def pages() -> list[Path]:
    """The pages with something to run."""
    found = [page for page in sorted(DOCS.rglob("*.md")) if not GENERATED & set(page.relative_to(DOCS).parts)]
    return [page for page in found if FENCE.search(page.read_text(encoding="utf-8"))]


def fences(page: Path) -> list[tuple[int, str, str]]:
    """Line, language and text of each fence."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("text")), match["language"], match["text"]) for match in FENCE.finditer(text)
    ]


def check_commands(text: str, line: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the commands of a fence; output is compared where the page shows some."""
    for command, expected in COMMAND.findall(text):
        arguments = shlex.split(command, comments=True)
        capsys.readouterr()
        code = main(arguments)
        output, errors = capsys.readouterr()
        assert code in (0, None), f"line {line}: discbayes {command}\n{errors}"
        if expected.strip() and not doctest.OutputChecker().check_output(expected, output, OPTIONS):
            raise AssertionError(f"line {line}: discbayes {command}\nexpected:\n{expected}\ngot:\n{output}\n{errors}")


def check_python(page: Path, text: str, line: int, names: dict) -> None:
    """Run a fence of Python in the namespace of its page."""
    if ">>> " not in text:
        exec(compile("\n" * line + text, str(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not outcome.failed, "".join(report)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_page(page, request, capsys, monkeypatch, tmp_path):
    if any(name in page.read_text(encoding="utf-8") for name in FROM_FILES):
        request.getfixturevalue("data_folder")
    plotting = pytest.importorskip("matplotlib.pyplot")
    plotting.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    names: dict = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for line, language, text in fences(page):
            if language == "console":
                check_commands(text, line, capsys)
            else:
                check_python(page, text, line, names)
    plotting.close("all")


def test_every_page_of_the_guide_has_examples():
    missing = {page.name for page in (DOCS / "guide").glob("*.md")} - {page.name for page in pages()} - {"index.md"}
    assert not missing


def test_a_wrong_output_is_noticed(capsys):
    with pytest.raises(AssertionError, match="line 7"):
        check_commands("$ discbayes --version\nnothing of the kind\n", 7, capsys)
    with pytest.raises(AssertionError, match="Expected"):
        check_python(Path("page.md"), ">>> 1 + 1\n3\n", 1, {})


def test_broken_links_are_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    from check_links import broken_links

    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a> <a href="b.html#gone">b</a> <img src="no.png">')
    (tmp_path / "b.html").write_text('<p id="here"><a href="https://example.org/x">far</a> <a href="a.html">a</a></p>')
    assert broken_links(tmp_path) == ["a.html: b.html#gone", "a.html: no.png"]
    sys.modules.pop("check_links")

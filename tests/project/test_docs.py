"""The examples of the pages in docs/: every one is run, and says what the page says.

- ``python`` fences with ``>>>`` are doctests; those without are run as they stand. ``py`` fences
  are shown only.
- ``$ discbayes`` in ``console`` fences is run in the same folder; below stands its output, with ``>
  `` what is typed.

All fences of a page share one namespace and one temporary folder, from top to bottom.
"""

from __future__ import annotations

import doctest
import importlib
import io
import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest

from discbayes import DataWarning
from discbayes.cli import main

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = {"_build", "gallery", "results", "generated"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>python|console)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
COMMAND = re.compile(r"^\$ discbayes (.*)\n((?:(?!\$ ).*\n)*)", re.M)
FROM_FILES = re.compile(r'load_dataset\(\s*"diabetes"')

pytestmark = pytest.mark.filterwarnings("default")


def pages() -> list[Path]:
    """The pages with something to run."""
    found = [
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not GENERATED & set(page.relative_to(DOCS).parts)
    ]
    return [page for page in found if FENCE.search(page.read_text(encoding="utf-8"))]


def fences(page: Path) -> list[tuple[int, str, str]]:
    """Line, language and text of each fence."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("text")), match["language"], match["text"])
        for match in FENCE.finditer(text)
    ]


def check_commands(text: str, line: int) -> None:
    """Run the commands of a fence; output is compared where the page shows some."""
    for command, shown in COMMAND.findall(text):
        typed = "\n".join(
            answer.removeprefix("> ") for answer in shown.splitlines() if answer.startswith("> ")
        )
        code, output, errors = run(shlex.split(command, comments=True), typed)
        assert code in (0, None), f"line {line}: discbayes {command}\n{errors}"
        expected = "".join(
            row for row in shown.splitlines(keepends=True) if not row.startswith("> ")
        )
        if typed:
            output = errors  # a dialogue has all of it there, in order
        if expected.strip() and not doctest.OutputChecker().check_output(expected, output, OPTIONS):
            raise AssertionError(
                f"line {line}: discbayes {command}\nexpected:\n{expected}\ngot:\n{output}\n{errors}"
            )


def run(arguments: list[str], typed: str) -> tuple[int | None, str, str]:
    """Exit code, standard output, and both streams together."""
    output, both = io.StringIO(), io.StringIO()
    streams, sys.stdin = (sys.stdout, sys.stderr, sys.stdin), io.StringIO(typed)
    sys.stdout, sys.stderr = Twice(output, both), both
    try:
        return main(arguments), output.getvalue(), both.getvalue()
    finally:
        sys.stdout, sys.stderr, sys.stdin = streams


class Twice(io.StringIO):
    """Writes to two streams."""

    def __init__(self, *streams: io.StringIO):
        super().__init__()
        self.streams = streams

    def write(self, text: str) -> int:
        for stream in self.streams:
            stream.write(text)
        return len(text)


def check_python(page: Path, text: str, line: int, names: dict) -> None:
    """Run a fence of Python in the namespace of its page."""
    if ">>> " not in text:
        exec(compile("\n" * line + text, str(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(
        test, out=report.append, clear_globs=False
    )
    names.update(test.globs)
    assert not outcome.failed, "".join(report)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_page(page, request, monkeypatch, tmp_path, registries):
    if FROM_FILES.search(page.read_text(encoding="utf-8")):
        request.getfixturevalue("data_folder")
    plotting = pytest.importorskip("matplotlib.pyplot")
    plotting.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    names: dict = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # real tables have columns that tell nothing
        warnings.filterwarnings("ignore", ".*not used", DataWarning)
        for line, language, text in fences(page):
            if language == "console":
                check_commands(text, line)
            else:
                check_python(page, text, line, names)
    plotting.close("all")


LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)[^)\s]*\)")


def written() -> list[Path]:
    """The pages that are not made by the site."""
    found = [
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not {"_build", "gallery", "generated"} & set(page.parts)
    ]
    return [*sorted(DOCS.parent.glob("*.md")), *found]


@pytest.mark.parametrize("page", written(), ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_links_lead_to_files_of_the_repository(page):
    """Pages are read there as well as on the site."""
    links = LINK.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S))
    assert not [link for link in links if not (page.parent / link).exists()]


def test_links_to_the_gallery_are_those_of_the_site_there(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    links = importlib.import_module("gallery_links")
    assert not doctest.testmod(links).failed


def test_the_quick_start_of_the_readme_prints_what_it_shows(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.S)[1]
    shown = re.search(r"The explanation reads:\n\n```\n(.*?)```", text, re.S)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        exec(code, {})
    assert capsys.readouterr().out.startswith(shown)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "model.json"}


def test_every_page_of_the_guide_has_examples():
    missing = (
        {page.name for page in (DOCS / "guide").glob("*.md")}
        - {page.name for page in pages()}
        - {"index.md"}
    )
    assert not missing


def test_a_wrong_output_is_noticed():
    with pytest.raises(AssertionError, match="line 7"):
        check_commands("$ discbayes recipes NB-ML\nnothing of the kind\n", 7)
    with pytest.raises(AssertionError, match="Expected"):
        check_python(Path("page.md"), ">>> 1 + 1\n3\n", 1, {})


def test_tables_have_the_stored_figures(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import make_tables

    texts = [page.read_text(encoding="utf-8") for page in make_tables.PAGES]
    for page, text in zip(make_tables.PAGES, texts, strict=True):
        assert make_tables.fill(text) == text, f"{page.name}: run docs/make_tables.py"
    for name in make_tables.TABLES:
        assert any(f"<!-- {name} -->\n\n|" in text for text in texts), name
    for name in make_tables.FIGURES:
        assert any(f"<!-- {name} -->" in text for text in texts), name


COUNT = (
    r"\d|\b(?:half a|a quarter of a|a fraction of"
    r" a|two|three|four|five|six|seven|eight|nine|ten|some|several|many)"
)
SPEED = re.compile(
    rf"(?:{COUNT}|\ba hundred) times\b[^.]*?\bas (?:fast|quick|long|slow)|\b(?:twice|half) as"
    r" (?:fast|long|slow)\b"
    rf"|\d (?:s|ms|min)\b|(?:{COUNT}) (?:second|minute|hour)s?\b",
    re.I,
)
NO_SPEED = ("start in ten minutes", "a fuzzer invents, for ten minutes", "some seconds of new ones")
BY_SCRIPTS = {"scale.md"}  # the whole page, by benchmarks/scale.py


def stated_speeds(text: str) -> list[str]:
    """How fast something is by the words of a page, other than what is made of stored results or
    said to be old.
    """
    import make_tables

    text = re.sub(r"```.*?```", "", make_tables.MARK.sub("…", text), flags=re.S)
    paragraphs = [
        part
        for part in text.split("\n\n")
        if not re.search(r"\b(measured|taken) once\b", part, re.I)
    ]
    plain = re.sub("|".join(NO_SPEED), "", "\n\n".join(paragraphs), flags=re.I)
    return [found[0] for found in SPEED.finditer(plain)]


def test_speeds_are_those_that_are_stored(monkeypatch):
    """A figure in a sentence stands between marks that docs/make_tables.py fills, or says that it
    was measured once.
    """
    monkeypatch.syspath_prepend(str(DOCS))
    for page in (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))):
        if not GENERATED & set(page.parts) and page.name not in BY_SCRIPTS:
            assert not stated_speeds(page.read_text(encoding="utf-8")), page.name


def test_a_speed_that_is_stated_by_hand_is_noticed(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    assert stated_speeds("Fits are 5 times as fast.") == ["5 times as fast"]
    assert stated_speeds("It takes 1.7 times (chess) to 4.2 times (letter) as long.")
    assert stated_speeds("It takes 0.2 s, and compiles for half a minute.") == [
        "2 s",
        "half a minute",
    ]
    assert not stated_speeds(
        "Fits are <!-- nb-fit -->5<!-- end --> times as fast. It was 2 times as fast, measured"
        " once."
    )


def test_chart_is_the_one_that_the_script_draws(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(DOCS))
    import make_chart

    drawn = make_chart.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(make_chart, "FILE", tmp_path / "chart.svg")
    make_chart.main()
    assert (tmp_path / "chart.svg").read_text(encoding="utf-8") == drawn, "run docs/make_chart.py"


def test_broken_links_are_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    from check_links import broken_links

    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">b</a> <a href="b.html#gone">b</a> <img src="no.png">'
    )
    (tmp_path / "b.html").write_text(
        '<p id="here"><a href="https://example.org/x">far</a> <a href="a.html">a</a></p>'
    )
    assert broken_links(tmp_path) == ["a.html: b.html#gone", "a.html: no.png"]

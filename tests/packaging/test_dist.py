"""The check of wheels and source archives finds what is wrong with them; ``make dist`` runs it on
real ones.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import contents
import release

from discbayes import __version__

WHEEL = ["discbayes/__init__.py", *contents.IN_WHEEL, "discbayes-0.2.0.dist-info/METADATA"]


def test_a_good_wheel_and_a_good_source_archive_have_no_faults():
    assert contents.wheel_faults(WHEEL) == []
    assert contents.source_faults(contents.IN_SOURCE) == []


def test_faults_of_a_wheel():
    assert contents.wheel_faults(WHEEL[:1] + WHEEL[2:]) == ["missing: discbayes/py.typed"]
    assert contents.wheel_faults([*WHEEL, "tests/conftest.py"]) == ["unexpected: tests/conftest.py"]
    assert contents.wheel_faults([*WHEEL, "discbayes/rows.csv"]) == [
        "unexpected: discbayes/rows.csv"
    ]
    compiled = "discbayes/kernels/_ahead.cpython-311-x86_64-linux-gnu.so"
    assert contents.wheel_faults([*WHEEL, compiled], compiled=True) == []
    for names, is_compiled in (([*WHEEL, compiled], False), (WHEEL, True)):
        (fault,) = contents.wheel_faults(names, is_compiled)
        assert "compiled kernels" in fault
    papers = "discbayes_papers/registry.py"
    assert contents.wheel_faults([*WHEEL, papers]) == [f"unexpected: {papers}"]
    cached = "discbayes/__pycache__/a.py"
    assert contents.wheel_faults([*WHEEL, cached]) == [f"a cache: {cached}"]


def test_faults_of_a_source_archive():
    assert contents.source_faults([*contents.IN_SOURCE, "docs/_build/a.html"]) == [
        "a cache: docs/_build/a.html"
    ]
    assert contents.source_faults(contents.IN_SOURCE[1:]) == ["missing: pyproject.toml"]


def test_what_must_be_in_them_is_there(request):
    root = request.config.rootpath
    assert [name for name in contents.IN_SOURCE if not (root / name).is_file()] == []
    assert [name for name in contents.IN_WHEEL if not (root / "src" / name).is_file()] == []
    included = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "hatch"
    ]["build"]["targets"]
    assert {name.split("/")[0] for name in contents.IN_SOURCE} - {"pyproject.toml"} <= set(
        included["sdist"]["include"]
    )


def test_vulnerabilities_can_be_reported():
    """In private, by a way that both pages name."""
    root = Path(__file__).parents[2]
    policy = (root / "SECURITY.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", policy, re.M)
    assert headings == [
        "Reporting a vulnerability",
        "What to expect",
        "Supported versions",
        "What counts",
    ]
    assert "**Report a vulnerability**" in policy
    assert "SECURITY.md" in (root / "docs" / "security.md").read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere(request, tmp_path):
    root = request.config.rootpath
    assert release.faults(root, None) == []
    for name in (
        "src/discbayes/_version.py",
        "CITATION.cff",
        "js/package.json",
        "CHANGELOG.md",
    ):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((root / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "src/discbayes/_version.py").write_text('__version__ = "9.9"\n', encoding="utf-8")
    assert [fault.split(",")[0] for fault in release.faults(tmp_path, "v9.8")] == [
        f"CITATION.cff has version {__version__}",
        f"js/package.json has version {__version__}",
        "the tag is v9.8",
        "CHANGELOG.md has no part for 9.9",
    ]

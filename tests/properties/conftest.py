"""How many examples the properties were tried on, at the end of a run, and a folder for files of any example."""

from __future__ import annotations

import pytest

from properties import tried


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("properties")


def pytest_terminal_summary(terminalreporter):
    if tried:
        terminalreporter.write_line(f"{tried.total():,} examples of {len(tried)} properties")

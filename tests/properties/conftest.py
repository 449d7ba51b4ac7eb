"""How many examples the properties were tried on, at the end of a run, and a folder for files of
any example.
"""

from __future__ import annotations

import pytest

from properties import tried


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("properties")


def pytest_sessionfinish(session):
    # one of several processes, which tells the first one
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tried"] = dict(tried)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    tried.update(getattr(node, "workeroutput", {}).get("tried", {}))


def pytest_terminal_summary(terminalreporter):
    if tried:
        terminalreporter.write_line(f"{tried.total():,} examples of {len(tried)} properties")

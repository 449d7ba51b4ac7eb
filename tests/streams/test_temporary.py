"""Temporary folders: they go with their process, and those of processes that were killed with the
next one.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from discbayes import BayesNetClassifier, _temporary
from discbayes._temporary import LOCK, TemporaryFolder
from discbayes.streams.disk_codes import Workspace

OWNER = """
import sys, time
from discbayes.streams.disk_codes import Workspace
space = Workspace(sys.argv[1])
(space.path / "codes").write_bytes(bytes(1000))
print(space.path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def owners(tmp_path):
    """Start processes that hold a folder: the process and its folder."""
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_what_a_killed_process_left_is_removed_and_nothing_else(owners, tmp_path):
    (killed, left), (_, held) = owners(), owners()
    killed.kill()
    killed.wait()
    assert os.path.exists(left)
    mine = Workspace(tmp_path)
    unmarked = tmp_path / "discbayes-unmarked"
    unmarked.mkdir()
    with TemporaryFolder(tmp_path) as other:
        assert sorted(map(str, tmp_path.iterdir())) == sorted(
            map(str, [held, mine.path, unmarked, other.path])
        )
    mine.close()
    assert sorted(map(str, tmp_path.iterdir())) == sorted([held, str(unmarked)])
    assert sorted(os.listdir(held)) == ["codes", LOCK]


@pytest.mark.parametrize("whose", ["host", "user"])
def test_folders_of_other_hosts_and_users_are_left_alone(owners, tmp_path, monkeypatch, whose):
    process, left = owners()
    process.kill()
    process.wait()
    if whose == "host":
        monkeypatch.setattr(_temporary, "_host", lambda: "another")
    elif not hasattr(os, "getuid"):
        pytest.skip("the system does not say whose a folder is")
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    TemporaryFolder(tmp_path).close()
    assert os.path.exists(left)


def test_a_link_is_no_folder_to_remove(owners, tmp_path):
    process, left = owners()
    process.kill()
    process.wait()
    elsewhere = tmp_path / "elsewhere"
    os.rename(left, elsewhere)
    (tmp_path / "discbayes-link").symlink_to(elsewhere)
    TemporaryFolder(tmp_path).close()
    assert (elsewhere / "codes").exists()


def test_a_fit_from_files_removes_what_a_killed_one_left(owners, tmp_path, monkeypatch):
    process, left = owners()
    process.kill()
    process.wait()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rng = np.random.default_rng(0)
    frames = ((rng.normal(size=(50, 2)), rng.integers(0, 2, 50)) for _ in range(3))
    BayesNetClassifier("nb", "map").fit(frames)
    assert not os.path.exists(left)
    assert list(tmp_path.iterdir()) == []

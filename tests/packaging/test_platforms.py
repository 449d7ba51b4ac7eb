"""Nothing ties the library to Linux: what other systems lack or do in another way is taken away or
imitated here.
"""

from __future__ import annotations

import ast
import atexit
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import discbayes
from discbayes import BayesNetClassifier, load
from discbayes.streams import disk_codes as workspace

SOURCE = Path(discbayes.__file__).parent
PROGRAM = """
import os, signal, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "sched_getaffinity", "getuid", "geteuid", "O_DIRECTORY", "posix_fallocate"):
    vars(os).pop(name, None)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE"):
    vars(signal).pop(name, None)
import warnings
warnings.filterwarnings("error", category=EncodingWarning, module="discbayes")
import numpy as np
from discbayes import BayesNetClassifier, load
from discbayes.cli import main
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 80)
X = rng.normal(size=(80, 3)) + y[:, None]
clf = BayesNetClassifier("tan", "map", n_jobs=-1).fit(X, y)
clf.save("model.json"); clf.save("model.json")
assert np.array_equal(load("model.json").predict_proba(X), clf.predict_proba(X))
clf.report("page.html", X, y)
with open("rows.csv", "w", encoding="utf-8", newline="\\r\\n") as file:
    lines = [f"{a:.3f},{b:.3f},{c:.3f},{k}\\n" for (a, b, c), k in zip(X, y)]
    file.write("größe,b,c,class\\n" + "".join(lines))
options = ["--target", "class", "--structure", "tan", "--parameters", "map", "-o", "m.json"]
assert main(["fit", "rows.csv", *options]) == 0
assert main(["explain", "m.json", "rows.csv", "--row", "1"]) == 0
assert load("m.json").network_.domain.names[0] == "größe"
print("ends well")
"""


def test_without_what_windows_lacks_and_in_a_plain_locale(tmp_path):
    """No module, function or signal of Unix alone; no UTF-8 mode; every file is opened with an
    encoding.
    """
    plain = {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "cp1252",
    }
    program = tmp_path / "program.py"  # as an argument it would be read in that locale
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-X", "warn_default_encoding", str(program)]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **plain}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode("cp1252")
    assert done.stdout.decode("cp1252").endswith("ends well" + os.linesep)


def imported(tree: ast.Module) -> set[str]:
    """The modules that the top of a file imports, outside of any ``try``."""
    found = {
        alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    }
    return found | {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}


def test_modules_of_unix_are_imported_where_they_may_be_missing():
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not imported(tree) & {"fcntl", "resource", "pwd", "grp", "termios", "pty"}, path


def test_signals_and_functions_of_unix_are_asked_for():
    """A signal or a function that Windows lacks is never taken for granted."""
    known = {"SIGTERM", "SIGINT", "SIG_DFL", "SIG_IGN", "Signals", "signal", "getsignal"}
    unix = {"fork", "sched_getaffinity", "getuid", "geteuid", "kill", "killpg", "setsid"} - {"kill"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert node.value.id != "signal" or node.attr in known, (
                    f"{path}, line {node.lineno}"
                )
                assert node.value.id != "os" or node.attr not in unix, f"{path}, line {node.lineno}"
    assert known <= set(dir(signal))


def test_names_of_files_differ_by_more_than_case():
    """On macOS and Windows two names that differ by case alone are one file."""
    root = SOURCE.parents[1]
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False
    )
    names = (
        listed.stdout.splitlines()
        if listed.returncode == 0
        else [str(path) for path in SOURCE.rglob("*")]
    )
    lower = [name.lower() for name in names]
    assert len(set(lower)) == len(lower)
    assert not [name for name in names if re.search(r'[<>:"|?*\\]|[ .]$', name)]


def test_a_folder_whose_files_are_mapped_goes_in_the_end(tmp_path, monkeypatch):
    """Windows does not remove a file that is mapped: what is left is removed when the process
    ends.
    """
    left = []
    monkeypatch.setattr(atexit, "register", lambda *call, **options: left.append((call, options)))
    space = workspace.Workspace(tmp_path)
    with monkeypatch.context() as refusing:
        refusing.setattr(workspace.shutil, "rmtree", lambda *folder, **options: None)
        space.close()
    assert space.path.exists()
    (remove, *arguments), options = left[0]
    del remove
    workspace.shutil.rmtree(*arguments, **options)
    assert not space.path.exists()


def test_a_folder_that_was_removed_is_not_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(atexit, "register", pytest.fail)
    with workspace.Workspace(tmp_path) as space:
        (space.path / "codes").write_bytes(b"1")
    assert not space.path.exists()


@pytest.mark.parametrize("kind", [np.int32, np.int16, np.uint8, np.float32])
def test_narrow_numbers_give_the_same_model(kind, tmp_path):
    """Whole numbers of 32 bits, as other systems have had them by default, are as good as those of
    64.
    """
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 120)
    X = rng.integers(0, 5, (120, 3)) + y[:, None]
    wide = BayesNetClassifier("tan", "map", categorical=[0, 1, 2]).fit(X, y)
    narrow = BayesNetClassifier("tan", "map", categorical=[0, 1, 2]).fit(
        X.astype(kind), y.astype(np.int32)
    )
    np.testing.assert_array_equal(narrow.predict_proba(X.astype(kind)), wide.predict_proba(X))
    narrow.save(tmp_path / "model.json")
    np.testing.assert_array_equal(
        load(tmp_path / "model.json").predict_proba(X), wide.predict_proba(X)
    )

"""What cannot be held is refused beforehand, with its size and a way out, and not by the system in the middle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discbayes import KDB, BayesNetClassifier, Structure, _memory
from discbayes._memory import TooLargeError, in_bytes, memory_limit, require_memory
from discbayes.cli import fit
from discbayes.network import Layout


def wide(n_columns=4, card=200, n_classes=2, n_rows=400):
    """Rows with columns of many values each."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{k}": rng.permutation(np.arange(n_rows) % card).astype(str) for k in range(n_columns)})
    return X, np.arange(n_rows) % n_classes


def classifier(structure, parameters="map", **settings):
    return BayesNetClassifier(structure, parameters, categorical="all", calibrate=None, **settings)


@pytest.fixture
def short(monkeypatch):
    """As if there were 100 MB of memory."""
    monkeypatch.setattr(_memory, "memory_limit", lambda: 1e8)


PARENTS = [("c0", "c3"), ("c1", "c3"), ("c2", "c3")]


@pytest.mark.parametrize("parameters", ["map", "ml", "cl", "mm", "dfe", "bn-svm"])
def test_a_table_of_many_parents(short, parameters):
    clf = classifier(PARENTS, parameters)
    with pytest.raises(TooLargeError, match=r"'c3' has 3,200,000,000 \(200 values, 3 parents, 2 classes\)") as caught:
        clf.fit(*wide())
    assert "would take 153.6 GB, and there are 100.0 MB in all: use a structure of fewer parents" in str(caught.value)
    assert not hasattr(clf, "network_")


def test_a_search_that_may_make_large_tables(short):
    with pytest.raises(TooLargeError, match=r"tables of [\d,]+ cells, of which that of 'c\d' has"):
        classifier(KDB(k=2, max_table_size=10_000_000)).fit(*wide(card=150))
    with pytest.warns(UserWarning, match=r"3 edges .* left out: a table may have max_table_size=100,000 cells"):
        classifier(KDB(k=2, max_table_size=100_000)).fit(*wide(card=150))


def test_families_that_a_search_could_not_number():
    with pytest.raises(ValueError, match=r"max_table_size=2147483648 must be at most 2,147,483,647"):
        classifier(KDB(k=2, max_table_size=2**31)).fit(*wide(2, 3))


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_many_classes_and_columns(short, learn):
    with pytest.raises(TooLargeError, match=r"tables of 4,800,000 cells.* would take 230\.4 MB"):
        getattr(classifier("nb"), learn)(*wide(60, 200, 400))


def test_many_columns_that_are_compared_with_each_other(monkeypatch):
    monkeypatch.setattr(_memory, "_SMALL", 1e5)
    monkeypatch.setattr(_memory, "memory_limit", lambda: 2e6)
    with pytest.raises(TooLargeError, match=r"what 300 columns say of each other would take .*use structure='nb'"):
        classifier("tan").fit(*wide(300, 2))
    classifier("nb").fit(*wide(300, 2))


def test_predictions_and_samples(short):
    clf = classifier("nb").fit(*wide(3, 3))
    with pytest.raises(TooLargeError, match=r"10,000,000,000 rows of 3 columns would take 330\.0 GB.*draw fewer"):
        clf.network_.sample(10**10)
    clf = classifier("nb").fit(*wide(1, 3, 400))
    rows = pd.DataFrame({"c0": ["1"] * 20_000})
    with pytest.raises(TooLargeError, match=r"20,000 rows and 400 classes would take 128\.0 MB.*predict_batches"):
        clf.predict_proba(rows)
    assert clf.predict(rows[:100]).shape == (100,)


def test_a_layout_alone_knows_no_names(short):
    layout = Layout(Structure([(1,), ()], [True, True]), np.array([3000, 3000]), 2)
    with pytest.raises(TooLargeError, match=r"that of feature 0 has 18,000,000 \(3,000 values, 1 parent, 2 classes\)"):
        layout.size  # noqa: B018


def test_small_things_are_not_asked_for(monkeypatch):
    monkeypatch.setattr(_memory, "memory_limit", lambda: pytest.fail("asked"))
    require_memory(1e6, "little", "nothing")


def test_the_limit_is_the_least_of_those_that_there_are(monkeypatch, tmp_path):
    assert 1e8 < memory_limit() < float("inf")
    container = tmp_path / "memory.max"
    monkeypatch.setattr(_memory, "_CONTAINER", [str(container), str(tmp_path / "none")])
    for text, most in (("1000000\n", 1e6), ("max\n", None)):
        container.write_text(text)
        _memory._of_machine.cache_clear()
        assert (memory_limit() == most) == (most is not None)
    monkeypatch.undo()
    _memory._of_machine.cache_clear()


def test_sizes_are_written_for_people():
    assert [in_bytes(size) for size in (5e5, 1e9, 4.2e12)] == ["0.5 MB", "1.0 GB", "4.2 TB"]


def test_the_command_line_says_in_a_line_what_could_not_be_foreseen(run, monkeypatch, tmp_path):
    def fail(args):
        np.empty(1 << 58, np.uint8)

    monkeypatch.setattr(fit, "run", fail)
    code, out, err = run("fit", "iris", "-o", tmp_path / "model.json")
    assert (code, out) == (1, "")
    assert err.startswith("discbayes: error: there is not enough memory: Unable to allocate 256. PiB")
    assert len(err.splitlines()) == 1


REFUSED = """
import resource, sys
sys.path.insert(0, {folder!r})
import test_memory as tests
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
small = tests.classifier("nb").fit(*tests.wide(3, 3))
works = [
    lambda: tests.classifier(tests.PARENTS).fit(*tests.wide()),
    lambda: tests.classifier(tests.PARENTS, "cl").fit(*tests.wide()),
    lambda: tests.classifier("nb").fit(*tests.wide(400, 400, 2000, 2000)),
    lambda: tests.classifier("tan").partial_fit(*tests.wide(3000, 4)),
    lambda: small.network_.sample(10**10),
    lambda: small.network_.query(["c0", "c1", "c2"]),
]
for work in works:
    try:
        work()
        print("done")
    except ValueError as error:
        print(type(error).__name__)
"""


def test_under_a_limit_of_the_system(times):
    pytest.importorskip("resource")
    if times == 1:
        pytest.skip("another process: make faults")
    code = REFUSED.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["TooLargeError"] * 3 + ["ValueError", "TooLargeError", "done"]

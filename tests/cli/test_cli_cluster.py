"""The command line on a cluster: the same model files, and errors in one line."""

from __future__ import annotations

import pytest
from test_cli_batches import content, make_table, write

from discbayes import load
from workers import free_port

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of a cluster that comes and goes
    pytest.mark.usefixtures("small_blocks"),
]

FIT = ["--target", "outcome", "--categorical", "ward", "--drop", "id,w", "--parameters", "map"]


@pytest.fixture
def rows(tmp_path):
    """A folder of files."""
    table, folder = make_table(), tmp_path / "rows"
    folder.mkdir()
    for number, first in enumerate(range(0, 1500, 500)):
        write(table.slice(first, 500), folder / f"{number}.parquet")
    return folder


def test_the_same_file(run, rows, tmp_path, client):
    one, two, three = (tmp_path / f"{name}.json" for name in ("one", "two", "three"))
    assert run("fit", rows, *FIT, "-o", one, "--quiet") == (0, "", "")
    code, out, err = run("fit", rows, *FIT, "--cluster", client.scheduler.address, "-o", two)
    assert (code, out) == (0, "")
    assert "first pass (values): 1,500 rows, " in err
    assert "rows per second, kept on the workers" in err
    assert f"model saved in {two}" in err
    assert content(two) == content(one)
    assert load(two).cluster is None
    assert run("fit", rows, *FIT, "--workers", 2, "--quiet", "-o", three) == (0, "", "")
    assert content(three) == content(one)


def test_csv_files_are_read_here(run, tmp_path, client):
    data = write(make_table(), tmp_path / "rows.csv")
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert run("fit", data, *FIT, "-o", one, "--quiet") == (0, "", "")
    code, out, err = run("fit", data, *FIT, "--cluster", client.scheduler.address, "-o", two)
    assert (code, out) == (0, "")
    assert "MB on disk" in err
    assert content(two) == content(one)


def test_false_usage(run, rows, tmp_path):
    model = tmp_path / "model.json"
    code, _, err = run("fit", rows, *FIT, "--workers", 2, "--cluster", "tcp://there:1", "-o", model)
    assert code == 2
    assert "argument --cluster: not allowed with argument --workers" in err
    code, _, err = run("fit", rows, *FIT, "--workers", 0, "-o", model)
    assert code == 2
    assert "'0' is not a whole number of at least 1" in err
    code, _, err = run("fit", "iris", "--workers", 2, "-o", model)
    assert code == 1
    assert "--workers is for files and folders, and there is no 'iris'" in err


def test_nobody_at_the_address(run, rows, tmp_path):
    address = f"tcp://127.0.0.1:{free_port()}"
    code, out, err = run(
        "fit", rows, *FIT, "--cluster", address, "--quiet", "-o", tmp_path / "model.json"
    )
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert f"discbayes: error: no Dask scheduler answers at {address}" in err
    assert not (tmp_path / "model.json").exists()

"""What goes in and what comes out: inputs are never overwritten, no name leaves the machine, ``-``
is a stream.
"""

from __future__ import annotations

import io
import os
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from discbayes import load
from discbayes.datasets import openml

pytestmark = pytest.mark.usefixtures("isolated")
FIT = ("--target", "label", "--structure", "nb", "--parameters", "map", "--quiet")


def rows(n_rows=40):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    size, colour = rng.normal(3.0 * y), np.array(["red", "blue"])[y ^ (rng.random(n_rows) < 0.1)]
    return pa.table(
        {"size": size, "colour": colour.tolist(), "label": np.array(["no", "yes"])[y].tolist()}
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "patients.csv"
    pa.csv.write_csv(rows(), path)
    return path


@pytest.fixture
def model(run, table, tmp_path):
    assert run("fit", table, *FIT, "-o", tmp_path / "model.json")[0] == 0
    return tmp_path / "model.json"


def refused(run, *arguments):
    """The one line with which a command is refused."""
    code, out, err = run(*arguments)
    assert (code, out) == (1, ""), err
    *_, last = err.splitlines()
    return last


# ---- an output that is an input


def names_of(path, tmp_path):
    """The same file under other names."""
    symbolic, hard = tmp_path / "symbolic.csv", tmp_path / "hard.csv"
    symbolic.symlink_to(path)
    os.link(path, hard)
    return [
        path,
        symbolic,
        hard,
        tmp_path / "." / path.name,
        tmp_path / ".." / tmp_path.name / path.name,
    ]


def test_fit_never_replaces_its_table(run, table, tmp_path):
    before = table.read_bytes()
    for name in names_of(table, tmp_path):
        assert "it is the input" in refused(run, "fit", table, *FIT, "-o", name)
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ("predict",),
        ("predict", "--memory", "64MB"),
        ("explain",),
        ("explain", "--row", "1"),
        ("report",),
    ],
    ids=" ".join,
)
def test_no_command_replaces_what_it_reads(run, table, model, tmp_path, command):
    before = table.read_bytes(), model.read_bytes()
    name, *options = command
    for output in names_of(table, tmp_path):
        assert "it is the input" in refused(run, name, model, table, *options, "-o", output)
    renamed = model.rename(tmp_path / "model.csv")  # an ending that a table may have
    assert "it is the input" in refused(run, name, renamed, table, *options, "-o", renamed)
    assert (table.read_bytes(), renamed.read_bytes()) == before


def test_names_that_differ_in_case_only_are_the_system_s_to_judge(
    run, table, tmp_path, monkeypatch
):
    """On a file system that takes them for the same, so does the command; here it does not."""
    other = tmp_path / "PATIENTS.CSV"
    if other.exists():
        assert "it is the input" in refused(run, "fit", table, *FIT, "-o", other)
        return
    assert run("fit", table, *FIT, "-o", other)[0] == 0
    monkeypatch.setattr(os.path, "samefile", lambda a, b: str(a).lower() == str(b).lower())
    assert "it is the input" in refused(run, "fit", table, *FIT, "-o", other)


def test_nothing_is_written_among_the_rows_of_a_folder(run, table, model, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    table.rename(folder / "a.csv")
    link = tmp_path / "link.csv"
    link.symlink_to(folder / "b.csv")
    for output in (folder / "a.csv", folder / "new.csv", link):
        assert "where the rows are read" in refused(run, "predict", model, folder, "-o", output)
    assert "where the rows are read" in refused(
        run, "fit", folder, *FIT, "-o", folder / "model.json"
    )
    assert [path.name for path in folder.iterdir()] == ["a.csv"]
    assert run("predict", model, folder, "-o", tmp_path / "out.csv")[0] == 0


def test_compare_never_replaces_its_table(run, table, tmp_path):
    folder = tmp_path / "results"
    command = (
        "--target",
        "label",
        "--recipes",
        "NB-MAP",
        "--baselines",
        "none",
        "--cv",
        "2",
        "--folder",
        folder,
    )
    assert run("compare", table, *command)[0] == 0
    assert "it is the input" in refused(
        run, "compare", folder / "table.csv", "--target", "method", *command[2:], "--fresh"
    )


def test_a_data_set_is_not_written_over_its_own_file(run, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "MANIFEST.json").write_text("[]")
    monkeypatch.setenv("DISCBAYES_DATA", str(folder))
    assert "where the rows are read" in refused(
        run, "datasets", "iris", "-o", folder / "iris.csv.gz"
    )


# ---- names


@pytest.mark.parametrize(
    "command", ["fit", "predict", "explain", "evaluate", "compare", "report", "ask", "datasets"]
)
def test_a_mistyped_name_never_leaves_the_machine(
    run, table, model, tmp_path, monkeypatch, command
):
    asked = []
    monkeypatch.setattr(openml, "open_url", asked.append)
    monkeypatch.chdir(tmp_path)
    arguments = {
        "fit": ("patiets", *FIT, "-o", "new.json"),
        "evaluate": ("patiets", "--target", "label"),
        "compare": ("patiets", "--target", "label"),
        "ask": (model, "patiets", "--row", "1"),
        "datasets": ("patiets",),
    }.get(command, (model, "patiets"))
    assert "'patiets' is neither a file nor an embedded data set" in refused(
        run, command, *arguments
    )
    if command != "datasets":
        with_ending = [
            "patiets.csv" if argument == "patiets" else argument for argument in arguments
        ]
        assert "patiets.csv: no such file; did you mean 'patients.csv'?" in refused(
            run, command, *with_ending
        )
    assert not asked


def test_openml_is_asked_for_by_its_name(run, monkeypatch):
    asked = []

    def answer(address):
        asked.append(address)
        raise openml.urllib.error.URLError("no network in tests")

    monkeypatch.setattr(openml, "open_url", answer)
    assert "OpenML cannot be reached" in refused(run, "evaluate", "openml:vehicle")
    assert len(asked) == 1
    assert "vehicle" in asked[0]
    assert "openml" not in asked[0].split("/data_name/")[1]


# ---- streams


@pytest.fixture
def piped(monkeypatch, run):
    """Run the command line with bytes on the standard input: the exit code, the standard output as
    bytes, stderr.
    """

    def call(content, *arguments):
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        errors = io.StringIO()
        with monkeypatch.context() as streams:
            streams.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
            streams.setattr(sys, "stdout", output)
            streams.setattr(sys, "stderr", errors)
            from discbayes.cli import main

            code = main([str(argument) for argument in arguments])
        return code, output.buffer.getvalue(), errors.getvalue()

    return call


def test_a_dash_is_a_stream(run, piped, table, model, tmp_path):
    content = table.read_bytes()
    code, written, _ = piped(content, "fit", "-", *FIT, "-o", "-")
    assert (code, written) == (0, model.read_bytes())
    assert run("predict", model, table, "--proba", "-o", tmp_path / "out.csv")[0] == 0
    expected = (tmp_path / "out.csv").read_bytes()
    for output in ((), ("-o", "-")):
        assert piped(content, "predict", model, "-", "--proba", *output)[:2] == (0, expected)
        assert piped(written, "predict", "-", table, "--proba", *output)[:2] == (0, expected)
    _, page, _ = piped(content, "report", model, "-", "-o", "-")
    assert page.startswith(b"<!doctype html>")
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize(
    "command", ["evaluate", "explain", "explain --format csv", "explain --format json -o -"]
)
def test_rows_of_the_standard_input_are_those_of_the_file(piped, run, table, model, command):
    name, *options = command.split()
    before = ("--model", model, "--target", "label") if name == "evaluate" else ()
    first = () if name == "evaluate" else (model,)
    code, from_stream, err = piped(table.read_bytes(), name, *first, "-", *before, *options)
    assert code == 0, err
    _, from_file, _ = piped(b"", name, *first, table, *before, *options)
    seconds = re.compile(rb"\b\d+\.\d{3}$", re.M)  # the last column of evaluate
    assert seconds.sub(b"", from_stream) == seconds.sub(b"", from_file)


def test_compare_reads_the_standard_input(piped, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("--target", "label", "--recipes", "NB-MAP", "--baselines", "none", "--cv", "2")
    code, _, err = piped(table.read_bytes(), "compare", "-", *command)
    assert code == 0, err
    assert (tmp_path / "compare-stdin").is_dir()


def test_what_a_stream_cannot_do_is_refused(run, model, table):
    assert "--memory: rows are read twice" in refused(
        run, "predict", model, "-", "--memory", "64MB"
    )
    assert "cannot both come from the standard input" in run("predict", "-", "-")[2]
    assert "answers come from the standard input" in run("ask", "-")[2]
    assert "--target is needed: which column of the standard input" in run("fit", "-", "-o", "-")[2]
    assert "the standard input" in refused(run, "predict", model, "-")  # which is empty


# ---- one list of endings, one reader for each


def write_arrow(table, path, new):
    with new(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    ".parquet": pa.parquet.write_table,
    ".pq": pa.parquet.write_table,
    ".csv": pa.csv.write_csv,
    ".arrow": lambda table, path: write_arrow(table, path, pa.ipc.new_file),
    ".arrows": lambda table, path: write_arrow(table, path, pa.ipc.new_stream),
    ".feather": pa.feather.write_feather,
}


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_is_read_the_same_way_in_memory_and_in_batches(run, model, tmp_path, ending):
    """Feather was refused, and with --memory it was not."""
    path = tmp_path / f"rows{ending}"
    WRITERS[ending](rows(), str(path))
    models = []
    for number, memory in enumerate([(), ("--memory", "64MB")]):
        assert run("fit", path, *FIT, *memory, "-o", tmp_path / f"{number}.json")[0] == 0
        models.append((tmp_path / f"{number}.json").read_bytes())
    assert models[0] == models[1] == model.read_bytes()
    answers = [
        run("predict", model, path, "--proba", *memory)[1] for memory in ((), ("--memory", "64MB"))
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("memory", [(), ("--memory", "64MB")], ids=["whole", "batches"])
def test_what_is_written_can_be_read(run, model, table, tmp_path, ending, memory):
    path = tmp_path / f"out{ending}"
    assert run("predict", model, table, "--proba", *memory, "-o", path)[0] == 0
    assert (
        run(
            "evaluate",
            path,
            "--target",
            "label",
            "--cv",
            "2",
            "--structure",
            "nb",
            "--parameters",
            "map",
        )[0]
        == 0
    )


def test_the_saved_model_answers_as_before(model):
    assert load(model).predict(rows().select(["size", "colour"])).tolist()[:2] == ["no", "yes"]

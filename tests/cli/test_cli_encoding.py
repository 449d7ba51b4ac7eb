"""Consoles that know few letters: every command ends well, and tables lose nothing."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from discbayes.cli import main
from discbayes.cli.console_encoding import ASCII_SPELLINGS, safe_streams, write_utf8


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table with letters that no code page of the West knows, and a model of it."""
    folder = tmp_path_factory.mktemp("letters")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    rows = [
        (f"{x:.2f}", "naïve" if c else "куб", ("yes", "ω")[c])
        for x, c in zip(rng.normal(y, 1), y, strict=True)
    ]
    lines = ["size,größe,label", *(",".join(row) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    main(
        [
            "fit",
            str(folder / "table.csv"),
            "--target",
            "label",
            "-o",
            str(folder / "model.json"),
            "--quiet",
        ]
    )
    return folder


def output_of(monkeypatch, encoding, *arguments, typed=""):
    """The exit code, and both streams as bytes, of a console with some encoding."""
    streams = [
        io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2)
    ]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = stop.code
    assert [stream.errors for stream in streams] == ["strict", "strict"]  # as they were
    return code, *(stream.buffer.getvalue() for stream in streams)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
def test_commands_end_well_whatever_the_console_knows(files, monkeypatch, encoding):
    model, table = files / "model.json", files / "table.csv"
    for command in (
        ("explain", model, table, "--row", "1"),
        ("explain", model, table),
        ("explain", model, table, "--row", "1", "--counterfactual"),
        (
            "evaluate",
            table,
            "--target",
            "label",
            "--cv",
            "2",
            "--structure",
            "nb",
            "--parameters",
            "ml",
        ),
        ("ask", model),
        ("recipes",),
        ("fit", "--help"),
        ("compare", "--help"),
    ):
        code, output, errors = output_of(monkeypatch, encoding, *command, typed="?\n?\n")
        assert code == 0, (command, errors)
        output.decode(encoding), errors.decode(encoding)


def test_signs_are_spelled_and_letters_are_numbered(files, monkeypatch):
    command = ("explain", files / "model.json", files / "table.csv", "--row", "1", "--quiet")
    _, ascii_output, _ = output_of(monkeypatch, "ascii", *command)
    _, whole, _ = output_of(monkeypatch, "utf-8", *command)
    expected = "".join(
        ASCII_SPELLINGS.get(one) or one.encode("ascii", "backslashreplace").decode()
        for one in whole.decode()
    )
    assert ascii_output.decode("ascii") == expected
    assert expected != whole.decode()


def test_an_error_is_told_too(files, monkeypatch):
    code, _, errors = output_of(
        monkeypatch, "ascii", "fit", files / "größe.csv", "--target", "ω", "-o", files / "x.json"
    )
    assert code == 1
    assert b"gr\\xf6\\xdfe.csv" in errors


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_tables_are_the_same_bytes_as_in_a_file(files, monkeypatch, encoding, tmp_path):
    command = ("predict", files / "model.json", files / "table.csv", "--quiet")
    code, output, _ = output_of(monkeypatch, encoding, *command)
    assert code == 0
    assert output_of(monkeypatch, encoding, *command, "-o", tmp_path / "answers.csv")[0] == 0
    assert output == (tmp_path / "answers.csv").read_bytes()
    assert "ω" in output.decode("utf-8")


def test_a_stream_without_bytes_gets_the_text(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    with safe_streams():
        write_utf8("größe − ω\n".encode())
    assert stream.getvalue() == "größe − ω\n"


# What cannot be written at all


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.mark.parametrize(
    "arguments",
    [("recipes", "NB-ML", "--quiet"), ("recipes", "--quiet"), ("--version",), ("fit", "--help")],
)
def test_output_that_is_held_back_until_the_end(arguments):
    command = [sys.executable, "-m", "discbayes.cli", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED
    ) as process:
        process.stdout.close()  # the reader has gone
        assert (process.stderr.read(), process.wait()) == (b"", 141)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, env=BUFFERED
            )
        reason = "the standard output cannot be written: No space left on device"
        assert (done.returncode, done.stderr) == (1, f"discbayes: error: {reason}\n")

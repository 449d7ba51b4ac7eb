"""Terminals, closed streams, and texts that are no text: nothing that a table holds is obeyed, and
nothing is lost.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from discbayes._text import visible

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
SHOWN = r"\x1b]0;owned\x07\x1b[31m"
COMMAND = [sys.executable, "-m", "discbayes"]

pytestmark = pytest.mark.usefixtures("isolated")


def write(path, *lines):
    path.write_bytes("\n".join([*lines, ""]).encode())
    return path


@pytest.fixture
def table(tmp_path):
    """A table whose header, cells and classes hold control characters."""
    lines = [
        f"{number},{'pq'[number % 2]}{ESCAPE},{['no', 'yes'][number % 2]}\u202e"
        for number in range(20)
    ]
    return write(tmp_path / "rows.csv", f"size,col{ESCAPE}our,lab\x9bel", *lines)


# ---- control characters


def test_everything_that_is_shown_is_visible():
    assert visible("a\x1b\x07\r\x7f\x9b\u202e\u2028\udce9\ud800b\tc\nd é ≥") == (
        r"a\x1b\x07\x0d\x7f\x9b\u202e\u2028\xe9\ud800b" + "\tc\nd é ≥"
    )


@pytest.mark.parametrize(
    "lines, options",
    [
        (["a,y", f"1{ESCAPE}", "2,3"], ()),  # pyarrow's message quotes the row
        (["a,y", f"1{ESCAPE}", "2,3"], ("--memory", "64MB")),
        ([f"a{ESCAPE},z", "1,2"], ()),
        ([f"a{ESCAPE},z", "1,2"], ("--debug",)),
        ([f"a{ESCAPE},a{ESCAPE},y", "1,2,3"], ()),
    ],
    ids=["row", "batches", "header", "debug", "twice"],
)
def test_errors_show_control_characters(run, tmp_path, lines, options):
    path = write(tmp_path / f"da{ESCAPE[-5:]}ta.csv", *lines)
    code, out, err = run("fit", path, "--target", "y", *options, "-o", tmp_path / "m.json")
    assert (code, out) == (1, "")
    assert r"\x1b[31m" in err
    assert not set(ESCAPE[:1] + "\x07\r") & set(err)


def test_results_show_control_characters(run, table, tmp_path):
    model = tmp_path / "model.json"
    fit = (
        "fit",
        table,
        "--target",
        "lab\x9bel",
        "--structure",
        "nb",
        "--parameters",
        "map",
        "-o",
        model,
    )
    shown = [run(*fit)]
    shown += [
        run("explain", model, table, *options)
        for options in ((), ("--row", "1"), ("--row", "1", "--debug"))
    ]
    shown += [
        run("evaluate", table, "--model", model),
        run("ask", model, typed=f"{ESCAPE}\n\x1b\n"),
    ]
    shown += [run("predict", model, f"{ESCAPE}.csv"), run("fit", ESCAPE, f"--{ESCAPE}")]
    assert [code for code, *_ in shown] == [0] * 6 + [1, 2]
    for _, out, err in shown:
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & {*out, *err}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_escapes_and_a_file_the_bytes(run, table, tmp_path):
    import pty

    model = tmp_path / "model.json"
    fit = (
        "fit",
        table,
        "--target",
        f"col{ESCAPE}our",
        "--structure",
        "nb",
        "--parameters",
        "map",
        "-o",
        model,
    )
    assert run(*fit)[0] == 0
    command = [*COMMAND, "predict", str(model), str(table), "--quiet"]
    piped = subprocess.run(command, capture_output=True, check=True).stdout
    assert ESCAPE.encode() in piped
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while b"\n" not in shown or process.poll() is None:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    assert process.returncode == 0
    assert SHOWN.encode() in shown
    assert b"\x1b" not in shown


# ---- closed streams


def closed(*arguments, streams):
    """Run the command line in a shell with some of its streams closed: the exit code, stdout and
    stderr.
    """
    words = " ".join(f"'{word}'" for word in [*COMMAND, *map(str, arguments)])
    done = subprocess.run(
        ["sh", "-c", f"exec {words} {streams}"], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell of Unix")
def test_a_closed_standard_output_is_told_and_messages_without_a_stream_are_dropped(tmp_path):
    for command in (("datasets",), ("datasets", "iris", "--quiet")):
        code, _, err = closed(*command, streams=">&-")
        assert (code, err) == (1, "discbayes: error: the standard output: it is closed\n")
    assert closed("datasets", streams=">&- 2>&-") == (1, "", "")
    assert closed("datasets", "iris", "-o", tmp_path / "iris.csv", streams=">&- 2>&-") == (
        0,
        "",
        "",
    )
    assert (tmp_path / "iris.csv").stat().st_size > 2000
    assert (
        closed("predict", "-", "iris", streams="<&-")[2]
        == "discbayes: error: the standard input is closed\n"
    )


def test_no_answers_where_the_standard_input_is_closed(run, table, tmp_path, monkeypatch):
    model = tmp_path / "model.json"
    assert (
        run(
            "fit",
            table,
            "--target",
            "size",
            "--structure",
            "nb",
            "--parameters",
            "map",
            "-o",
            model,
        )[0]
        == 0
    )
    monkeypatch.setattr("io.StringIO", lambda typed: None)  # the standard input of `run`
    code, out, _ = run("ask", model)
    assert code == 0
    assert "the answers have ended" in out


# ---- names that are no text, and cells that are very long


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text there")
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".feather"])
@pytest.mark.parametrize("memory", [(), ("--memory", "64MB")], ids=["whole", "batches"])
def test_a_file_name_need_not_be_text(run, tmp_path, ending, memory):
    plain, odd = tmp_path / f"iris{ending}", tmp_path / os.fsdecode(b"caf\xe9" + ending.encode())
    assert run("datasets", "iris", "-o", plain)[0] == 0
    assert run("datasets", "iris", "-o", odd)[0] == 0
    options = ("--target", "class", "--structure", "nb", "--parameters", "map", *memory)
    found = []
    for path in (plain, odd):
        model = path.with_suffix(".json")
        code, _, err = run("fit", path, *options, "-o", model)
        assert code == 0, err
        found.append((model.read_bytes(), run("predict", model, path, *memory)[1]))
    assert found[0] == found[1]
    assert (
        rf"caf\xe9{ending} has no column"
        in run("fit", odd, "--target", "x", *memory, "-o", tmp_path / "m")[2]
    )


def test_a_row_of_thirty_megabytes_is_read(run, tmp_path):
    rows = [f"{number},{'ab'[number % 2]},{number % 2}" for number in range(20)]
    path = write(tmp_path / "long.csv", "size,text,y", *rows, f"20,{'x' * 30_000_000},0", *rows)
    models = []
    for memory in ((), ("--memory", "512MB")):
        model = tmp_path / f"{len(models)}.json"
        options = ("--structure", "nb", "--parameters", "map", "--drop", "text", *memory)
        code, _, err = run("fit", path, "--target", "y", *options, "-o", model)
        assert code == 0, err
        models.append(model.read_bytes())
    assert models[0] == models[1]


def test_a_row_that_is_too_long_is_told(run, tmp_path):
    rows = [f"{number},{number % 2}" for number in range(200_000)]
    path = write(tmp_path / "long.csv", "size,y", *rows, f"20,{'x' * 12_000_000}", "1,0")
    code, _, err = run("fit", path, "--target", "y", "--memory", "16MiB", "-o", tmp_path / "m.json")
    assert code == 1
    assert "long.csv, after row " in err
    assert (
        "a row has more than 4,194,304 bytes, perhaps since a quotation mark is opened and never"
        " closed" in err
    )
    assert "(--memory)" in err

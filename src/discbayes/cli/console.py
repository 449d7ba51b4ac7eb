"""Messages of the commands: errors and warnings in one line each."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PROGRAM = "discbayes"
STANDARD = "-"  # as a file name: the standard input, or the standard output
STANDARD_INPUT = "the standard input"
_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_LIST = re.compile(rf"\bcategorical=\[({_QUOTED}(?:, {_QUOTED})*)\]")
_CHOICE = re.compile(r"""\b(unknown|missing|discretizer|beyond_max_cells)=["']([\w-]+)["']""")
_WORD = re.compile(r"""(?<![\w'"/.-])(sample_weight|max_cells|beyond_max_cells)(?![\w'"/.])""")
_DECIMAL = 'pandas.read_csv(..., decimal=",")'
_MARKS = re.compile(
    rf"numbers except ({_QUOTED}(?:, {_QUOTED})*): if these are missing values, replace them by"
    r" None"
)
_AS_MISSING = re.compile(r"cast it to numbers, with [\w ]+ as missing")
_DROPPED = re.compile(r"Drop it(?=, .*(--categorical .+)$)|\bdrop it$")
_OPTIONS = {
    "sample_weight": "--weights",
    "max_cells": "--max-cells",
    "beyond_max_cells": "--beyond-max-cells",
}


class UserError(Exception):
    """An error that the user can put right; its text is one line that tells how."""


def describe(error: Exception) -> str:
    """Return the text of an error on one line, with a file first, as in other programs."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, UserError) else with_options(text)


def with_options(text: str) -> str:
    """Return a message of the library with command-line options in place of Python's arguments.

    >>> with_options("declare it with categorical=['id'], or use missing='value'")
    'declare it with --categorical id, or use --missing value'
    >>> with_options("sample_weight is negative")
    '--weights is negative'
    >>> with_options("Drop it, or declare it with categorical=['my id']")
    "Leave it out with --drop 'my id', or declare it with --categorical 'my id'"
    >>> with_options("numbers except '?': if these are missing values, replace them by None")
    "numbers except '?': if these are missing values, name them with --na-values '?'"
    >>> with_options("split it into columns of numbers, or drop it")
    'split it into columns of numbers, or leave it out with --drop'
    """
    text = _MARKS.sub(_as_marks, text)
    text = _AS_MISSING.sub("if that marks a missing value, name it with --na-values", text)
    text = _LIST.sub(lambda found: f"--categorical {_as_argument(found[1])}", text)
    text = text.replace(_DECIMAL, "--decimal ,").replace("categorical=[…]", "--categorical LIST")
    text = _DROPPED.sub(_as_drop, text)
    text = _CHOICE.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}", text)
    return _WORD.sub(lambda found: _OPTIONS[found[1]], text)


def _as_marks(found: re.Match[str]) -> str:
    """Name the option for texts that mean a missing value; in Python they are replaced."""
    return (
        f"numbers except {found[1]}: if these are missing values, name them with --na-values"
        f" {_as_argument(found[1])}"
    )


def _as_drop(found: re.Match[str]) -> str:
    """Name the option that drops columns; in Python they are dropped beforehand."""
    if found[1]:
        return found[1].replace("--categorical", "Leave it out with --drop")
    return "leave it out with --drop"


def _as_argument(names: str) -> str:
    """Return quoted names as one shell argument; a name with a comma keeps its own quotes."""
    bare = [name[1:-1] for name in re.findall(_QUOTED, names)]
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in bare))


def complain(kind: str, text: str) -> None:
    """Write a line such as ``discbayes: error: …`` to the error stream."""
    print(f"{PROGRAM}: {kind}: {text}", file=sys.stderr)


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Show warnings for users as single lines without their place in the code; hide others."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
        complain("warning", with_options(" ".join(str(message).split())))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield

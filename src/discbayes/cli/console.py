"""What the commands say: errors in one line, warnings, and tables of text."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PROGRAM = "discbayes"
_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_LIST = re.compile(rf"\bcategorical=\[({_QUOTED}(?:, {_QUOTED})*)\]")
_CHOICE = re.compile(r"""\b(unknown|missing|discretizer)=["']([\w-]+)["']""")
_WORD = re.compile(r"""(?<![\w'"/.-])(sample_weight|n_draws)(?![\w'"/.])""")
_DECIMAL = 'pandas.read_csv(..., decimal=",")'
_MARKS = re.compile(
    rf"numbers except ({_QUOTED}(?:, {_QUOTED})*): if these are missing values, replace them by"
    r" None"
)
_AS_MISSING = "cast it to numbers, with what is no number as missing"
_DROPPED = re.compile(r"Drop it(?=, .*(--categorical .+)$)|\bdrop it$")
_OPTIONS = {"sample_weight": "--weights", "n_draws": "--n-draws"}


class UserError(Exception):
    """Something that the person at the keyboard can put right; its text is one line that says
    how.
    """


def describe(error: Exception) -> str:
    """The text of an error on one line; files first, as other programs have it."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, UserError) else with_options(text)


def with_options(text: str) -> str:
    """A message of the library with the options of the command line in place of Python's arguments.

    >>> with_options("declare it with categorical=['id'], or use missing='value'")
    'declare it with --categorical id, or use --missing value'
    >>> with_options("sample_weight is negative")
    '--weights is negative'
    >>> with_options("Drop it, or declare it with categorical=['my id']")
    "Leave it out with --drop 'my id', or declare it with --categorical 'my id'"
    >>> with_options("all are numbers except '?', 'n. a.': if these are missing values, replace them by None")
    "all are numbers except '?', 'n. a.': if these are missing values, name them with --na-values
    '?,n. a.'"
    >>> with_options("now holds the string '?': cast it to numbers, with what is no number as missing")
    "now holds the string '?': if that marks a missing value, name it with --na-values"
    >>> with_options("split it into columns of numbers, or drop it")
    'split it into columns of numbers, or leave it out with --drop'
    """
    text = _MARKS.sub(_as_marks, text).replace(
        _AS_MISSING, "if that marks a missing value, name it with --na-values"
    )
    text = _LIST.sub(lambda found: f"--categorical {_as_argument(found[1])}", text)
    text = text.replace(_DECIMAL, "--decimal ,").replace("categorical=[…]", "--categorical LIST")
    text = _DROPPED.sub(_as_drop, text)
    text = _CHOICE.sub(r"--\1 \2", text)
    return _WORD.sub(lambda found: _OPTIONS[found[1]], text)


def _as_marks(found: re.Match[str]) -> str:
    """Python has missing values replaced; here an option names their marks, in CSV files."""
    return (
        f"numbers except {found[1]}: if these are missing values, name them with --na-values"
        f" {_as_argument(found[1])}"
    )


def _as_drop(found: re.Match[str]) -> str:
    """Python has columns dropped beforehand; here an option does it."""
    named = found[1]
    return (
        named.replace("--categorical", "Leave it out with --drop")
        if named
        else "leave it out with --drop"
    )


def _as_argument(names: str) -> str:
    """Quoted names as one argument of a shell; a name that holds a comma keeps quotes of its
    own.
    """
    bare = [name[1:-1] for name in re.findall(_QUOTED, names)]
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in bare))


def complain(kind: str, text: str) -> None:
    """Write a line such as ``discbayes: error: …`` to the error stream."""
    print(f"{PROGRAM}: {kind}: {text}", file=sys.stderr)


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Show warnings for users as single lines, without a place in the code; hide those for
    programmers.
    """

    def show(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
        complain("warning", with_options(" ".join(str(message).split())))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names in quotes, the first few of them.

    >>> listed(["age", "sex"])
    "'age', 'sex'"
    """
    shown = ", ".join(map(repr, names[:most]))
    return f"{shown}, … ({len(names)} in all)" if len(names) > most else shown

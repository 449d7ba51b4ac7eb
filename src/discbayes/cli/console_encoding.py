"""What is written to the standard streams, whatever the texts hold and whatever the streams are.

Some know fewer letters than our texts hold: the code page of a Windows console, or plain ASCII. A
sign that cannot be written is spelled in ASCII, so that no command ends because of a minus sign.
Texts quote file names, cells and messages of other libraries, any of which may hold control
characters that a terminal would obey; these are spelled too. A stream may be closed.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from discbayes._text import visible

PLAIN = {
    "−": "-",
    "–": "-",
    "…": "...",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "≈": "~",
    "±": "+/-",
    "→": "->",
    "×": "x",
    "·": "*",
    "∞": "inf",
    "²": "^2",
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "ε": "epsilon",
    "η": "eta",
    "θ": "theta",
    "κ": "kappa",
    "λ": "lambda",
    "ν": "nu",
    "ω": "omega",
    "Σ": "sum",
}
_HANDLER = "discbayes.plain"


def _spell(error: UnicodeError) -> tuple[str, int]:
    """What is written for letters that cannot be: a plain spelling, or the number of the letter."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return (
        "".join(
            PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in letters
        ),
        error.end,
    )


codecs.register_error(_HANDLER, _spell)


@contextmanager
def spelled_streams() -> Iterator[None]:
    """Let the standard streams spell what they cannot write; afterwards they are as they were."""
    with ExitStack() as afterwards:
        # what is typed may be in another encoding: no value is called that
        if isinstance(sys.stdin, io.TextIOWrapper):
            with suppress(io.UnsupportedOperation):  # after the first read
                sys.stdin.reconfigure(errors="surrogateescape")
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, io.TextIOWrapper) and stream.errors != _HANDLER:
                afterwards.callback(_restore, stream, stream.errors)
                stream.reconfigure(errors=_HANDLER)
            if not isinstance(stream, SafeStream):
                afterwards.callback(setattr, sys, name, stream)
                setattr(sys, name, SafeStream(stream, may_be_lost=name == "stderr"))
        yield


class SafeStream:
    """A stream that writes control characters as escapes; one that is closed refuses results and
    drops messages.

    Parameters
    ----------
    stream : text stream or None
        None is what Python has for a stream that was closed when it started.
    may_be_lost : bool
        Whether text is dropped where there is no stream.
    """

    def __init__(self, stream: Any, may_be_lost: bool):
        self._stream, self._may_be_lost = stream, may_be_lost

    def write(self, text: str) -> int:
        """Write a text."""
        if self._stream is not None:
            self._stream.write(visible(text))
        elif not self._may_be_lost:
            raise OSError(errno.EBADF, "it is closed", "the standard output")
        return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        if self._stream is not None:
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        return self._stream is not None and bool(self._stream.isatty())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _restore(stream: io.TextIOWrapper, errors: str | None) -> None:
    """Let a stream be as it was; what it holds and cannot write is dropped, or Python would try it
    again at its end.
    """
    try:
        stream.reconfigure(errors=errors)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.reconfigure(errors=errors)


def write_utf8(content: bytes) -> None:
    """Write UTF-8 text, such as a table, to the standard output: as it would be in a file, whatever
    a console knows.

    Only a terminal gets escapes in place of control characters.
    """
    if sys.stdout.isatty():
        content = visible(content.decode()).encode()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(content.decode())
    else:
        sys.stdout.flush()
        buffer.write(content)
    sys.stdout.flush()  # so that a closed pipe is noticed here

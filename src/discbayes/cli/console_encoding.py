"""The standard streams, whatever the texts hold and whatever the streams are.

Some streams cannot encode all characters: the code page of a Windows console, or plain ASCII. Such
a character is replaced by an ASCII spelling, so that no command fails because of a minus sign.
Texts quote file names, cells and messages of other libraries, any of which may hold control
characters that a terminal would obey; these are escaped too. A stream may be closed.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from html.entities import codepoint2name
from typing import Any

from discbayes._text import visible
from discbayes.cli.console import STANDARD_INPUT, UserError

ASCII_SPELLINGS = {
    # Greek characters by their names in HTML
    **{chr(code): name for code, name in codepoint2name.items() if "α" <= chr(code) <= "ω"},
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
    "Σ": "sum",
}
_HANDLER = "discbayes.ascii"


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Return the ASCII spelling, or an escape, of characters that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    spelled = [
        ASCII_SPELLINGS.get(one) or one.encode("ascii", "backslashreplace").decode()
        for one in error.object[error.start : error.end]
    ]
    return "".join(spelled), error.end


codecs.register_error(_HANDLER, _spell)


@contextmanager
def safe_streams() -> Iterator[None]:
    """Let the standard streams spell what they cannot encode; afterwards they are as before."""
    with ExitStack() as afterwards:
        # a typed byte of another encoding becomes a character that no value contains
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
    """A stream that escapes control characters.

    Parameters
    ----------
    stream : text stream or None
        The stream; Python has None for one that was closed when it started.
    may_be_lost : bool
        Whether text is dropped if there is no stream; otherwise writing it is an error.
    """

    def __init__(self, stream: Any, may_be_lost: bool):
        self._stream = stream
        self._may_be_lost = may_be_lost

    def write(self, text: str) -> int:
        """Write a text."""
        if self._stream is not None:
            with self._named_errors():
                self._stream.write(visible(text))
        elif not self._may_be_lost:
            raise OSError(errno.EBADF, "it is closed", "the standard output")
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        if self._stream is not None:
            with self._named_errors():
                self._stream.flush()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the standard output in errors such as a full disk."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            if self._may_be_lost:
                raise
            reason = f"the standard output cannot be written: {error.strerror}"
            raise OSError(reason) from error

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and bool(self._stream.isatty())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _restore(stream: io.TextIOWrapper, errors: str | None) -> None:
    """Restore the error handler of a stream."""
    try:
        stream.reconfigure(errors=errors)
    except OSError:
        # the text in its buffer cannot be written: drop it, or Python would try again at its end
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.reconfigure(errors=errors)


def read_standard_input() -> bytes:
    """Return everything that comes from the standard input."""
    if sys.stdin is None:
        raise UserError(f"{STANDARD_INPUT} is closed")
    buffer = getattr(sys.stdin, "buffer", None)
    return bytes(sys.stdin.read().encode() if buffer is None else buffer.read())


def write_utf8(content: bytes) -> None:
    """Write UTF-8 text to the standard output as it would be in a file, whatever its encoding.

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

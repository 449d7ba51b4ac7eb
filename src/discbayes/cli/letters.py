"""Streams that know fewer letters than our texts hold: the code page of a Windows console, or plain ASCII.

A sign that cannot be written is spelled in ASCII, so that no command ends because of a minus sign.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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
    return "".join(PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in letters), error.end


codecs.register_error(_HANDLER, _spell)


@contextmanager
def spelled_streams() -> Iterator[None]:
    """Let the standard streams spell what they cannot write; afterwards they are as they were."""
    with ExitStack() as afterwards:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.errors != _HANDLER:
                afterwards.callback(_restore, stream, stream.errors)
                stream.reconfigure(errors=_HANDLER)
        yield


def _restore(stream: io.TextIOWrapper, errors: str | None) -> None:
    """Let a stream be as it was; what it holds and cannot write is dropped, or Python would try it again at its end."""
    try:
        stream.reconfigure(errors=errors)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.reconfigure(errors=errors)


def write_utf8(content: bytes) -> None:
    """Write UTF-8 text, such as a table, to the standard output: as it would be in a file, whatever a console knows."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(content.decode())
    else:
        sys.stdout.flush()
        buffer.write(content)
    sys.stdout.flush()  # so that a closed pipe is noticed here

"""A command that is told to end, by the system or as its terminal closes, tidies up first."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(BaseException):
    """A signal has come that ends the command; no error, so that nothing but the command line
    handles it.
    """

    def __init__(self, number: int):
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.exit_code = 128 + number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise `Terminated` for signals that would end the process at once, with temporary files left
    behind.

    One that is ignored, as ``nohup`` has it, stays so. Only the first is raised: a terminal that
    closes may send two, and the second would end the tidying up. Processes that are forked
    meanwhile end as they would without.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process = os.getpid()

    def end(number: int, frame: Any) -> None:
        if os.getpid() == process:
            for each in changed:
                signal.signal(each, signal.SIG_IGN)
            raise Terminated(number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    old = {number: signal.getsignal(number) for number in _ENDING}
    changed = [number for number in _ENDING if old[number] == signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, old[number])

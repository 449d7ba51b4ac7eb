"""Clocks, and the one form that every result has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

N_JOBS = 2
REPEATS = 5
BENCHMARKS = Path(__file__).resolve().parent.parent


class Skip(Exception):
    """A case cannot run here; the text says what is absent."""


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, and whether it is as required (None: nothing is).

    ``learner`` names what was measured among the ``LEARNERS`` of the case.
    """

    what: str
    ours: float
    unit: str
    required: str = ""
    ok: bool | None = None
    peer: float | None = None
    ratio: float | None = None
    learner: str = ""


def of(learner: str, *rows: Row) -> list[Row]:
    """Rows that were measured with one of the learners of a case."""
    return [replace(row, learner=learner) for row in rows]


def faster(what: str, ours: float, peer: float, times: float | None = None) -> Row:
    """We must be at least ``times`` as fast as the peer, if anything is required."""
    ratio = peer / ours
    if times is None:
        return Row(what, ours, "s", peer=peer, ratio=ratio)
    return Row(what, ours, "s", f">= {times:g}x", ratio >= times, peer, ratio)


def at_most_times(what: str, ours: float, base: float, times: float) -> Row:
    """We must take at most ``times`` the time of the base."""
    ratio = ours / base
    return Row(what, ours, "s", f"<= {times:g}x", ratio <= times, base, ratio)


def noted(what: str, ours: float, peer: float | None = None, unit: str = "s") -> Row:
    """Something good to know, of which nothing is required."""
    return Row(what, ours, unit, peer=peer)


def below(what: str, ours: float, limit: float, unit: str = "s") -> Row:
    """We must stay below a limit."""
    return Row(what, ours, unit, f"< {limit:.3g} {unit}", ours < limit)


def within(what: str, ours: float, low: float, high: float, unit: str = "") -> Row:
    """We must be between two limits."""
    return Row(what, ours, unit, f"{low:g} to {high:g}", low <= ours <= high)


def repeats(smoke: bool, wanted: int = REPEATS) -> int:
    """How often something is timed: once where it is only tried."""
    return 1 if smoke else wanted


def seconds(work: Callable[[], Any]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], Any], times: int = REPEATS) -> float:
    """The shortest time of some calls, after one that is not timed."""
    work()
    return min(seconds(work) for _ in range(times))


def race(*works: Callable[[], Any], times: int = REPEATS) -> tuple[float, ...]:
    """The shortest time of each, taking turns, so that what else the machine does hits all of them
    alike.
    """
    for work in works:
        work()
    rounds = [[seconds(work) for work in works] for _ in range(times)]
    return tuple(min(taken) for taken in zip(*rounds, strict=True))


def in_new_process(module: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Run a probe (a module that prints one JSON object) in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=BENCHMARKS,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr}")
    return json.loads(done.stdout)

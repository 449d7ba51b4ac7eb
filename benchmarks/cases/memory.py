"""How much memory fitting TAN on mnist14's codes takes, beyond the codes themselves."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from suite.data import coded
from suite.measure import Row, below, in_new_process, of, repeats
from suite.probe_memory import TAN

MEGABYTE = 1e6
RUNS = 3
LEARNERS = {"TAN": TAN}


def run(smoke: bool) -> list[Row]:
    rise, limit = _largest_rise(smoke)
    what = "peak memory of a TAN fit on mnist14's uint8 codes"
    return of("TAN", below(what, rise / MEGABYTE, limit / MEGABYTE, "MB"))


def _largest_rise(smoke: bool) -> tuple[int, int]:
    """The most bytes that a fit added at its peak, and three times the input plus the tables that
    it makes.
    """
    X, y = coded("mnist14", smoke=smoke).train
    with tempfile.TemporaryDirectory() as folder:
        codes, classes = Path(folder) / "X.npy", Path(folder) / "y.npy"
        np.save(codes, np.ascontiguousarray(X))
        np.save(classes, y)
        arguments = ("suite.probe_memory", str(codes), str(classes))
        probes = [in_new_process(*arguments) for _ in range(repeats(smoke, RUNS))]
    return max(probe["rise"] for probe in probes), 3 * probes[0]["input"] + probes[0]["tables"]

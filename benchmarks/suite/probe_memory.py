"""A process of its own that fits TAN on codes from a file and prints by how much its memory
peaked.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from pathlib import Path

import numpy as np
import psutil
from sklearn.base import clone

from discbayes import BayesNetClassifier
from suite.measure import N_JOBS

WARM_ROWS = 400
PROCESS = Path("/proc/self")
TAN = BayesNetClassifier("tan", "ml", discretizer=None, n_jobs=N_JOBS)


def forget_peak() -> None:
    """Let the peak start again from what is in use now; only Linux can."""
    reset = PROCESS / "clear_refs"
    if reset.exists():
        reset.write_text("5")


def peak() -> int:
    """The largest memory in use so far, in bytes."""
    status = PROCESS / "status"
    # ru_maxrss would not do on Linux: it starts with the peak of the process that called us
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def main(codes: str, classes: str) -> None:
    X, y = np.load(codes), np.load(classes)
    # loads every kernel, for the same types
    clone(TAN).fit(np.ascontiguousarray(X[:WARM_ROWS]), y[:WARM_ROWS])
    gc.collect()
    forget_peak()
    before = psutil.Process().memory_info().rss
    model = TAN.fit(X, y)
    rise = peak() - before
    tables = model.network_.parameters
    print(json.dumps({"rise": rise, "input": X.nbytes, "tables": tables.log_theta.nbytes}))


if __name__ == "__main__":
    main(*sys.argv[1:])

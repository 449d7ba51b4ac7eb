"""Starting up: the import, and the first fit with and without compiled kernels in the cache."""

from __future__ import annotations

import tempfile

from suite.measure import REPEATS, Row, below, in_new_process, noted


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as bytecode:
        # Installed packages come with bytecode: where the environment forbids writing it, it is kept for this run.
        keep = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        in_new_process("suite.probe_start", **keep)  # fills both caches
        warm = [in_new_process("suite.probe_start", **keep) for _ in range(REPEATS)]
        cold = [_without_kernels(keep) for _ in range(REPEATS)]
    return [
        below("import beyond sklearn and numba", _least(warm, "import"), 0.2),
        below("first TAN fit of a process, kernels cached", _least(warm, "fit"), 1.0),
        below("first TAN fit of a process, nothing cached", _least(cold, "fit"), 10.0),
        noted("first predict_proba of a process, kernels cached", _least(warm, "predict")),
        noted("first predict_proba of a process, nothing cached", _least(cold, "predict")),
    ]


def _without_kernels(keep: dict[str, str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as empty:
        return in_new_process("suite.probe_start", **keep, NUMBA_CACHE_DIR=empty)


def _least(probes: list[dict[str, float]], key: str) -> float:
    return min(probe[key] for probe in probes)

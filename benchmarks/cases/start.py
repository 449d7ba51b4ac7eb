"""What a new process takes: the import, and the first fit with compiled kernels in the cache and
without.
"""

from __future__ import annotations

import tempfile

from suite.measure import REPEATS, Row, below, in_new_process, noted, of, repeats
from suite.probe_start import learners

COMPILING = 2  # repeats where all kernels are compiled, which takes the default half a minute
LEARNERS = learners()
LIMITS = {"TAN": (1.0, 10.0)}


def run(smoke: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as bytecode:
        # Installed packages come with bytecode: where the environment forbids writing it, it is
        # kept for this run.
        keep = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        found = {name: _started(name, smoke, keep) for name in LEARNERS}
    imports = min(_least(warm, "import") for warm, _ in found.values())
    rows = [below("import beyond sklearn and numba", imports, 0.2)]
    for name, (warm, cold) in found.items():
        rows += of(name, *_rows(name, warm, cold))
    return rows


Probes = list[dict[str, float]]


def _started(name: str, smoke: bool, keep: dict[str, str]) -> tuple[Probes, Probes]:
    """What processes say that find compiled kernels, and what those say that do not; a try leaves
    out the latter.
    """
    if not smoke:
        in_new_process("suite.probe_start", name, **keep)  # fills both caches
    warm = [in_new_process("suite.probe_start", name, **keep) for _ in range(repeats(smoke))]
    if smoke:
        return warm, warm
    return warm, [
        _without_kernels(name, keep) for _ in range(REPEATS if name in LIMITS else COMPILING)
    ]


def _rows(name: str, warm: Probes, cold: Probes) -> list[Row]:
    kinds = {"kernels cached": warm, "nothing cached": cold}
    fits = {
        f"first {name} fit of a process, {kind}": _least(probes, "fit")
        for kind, probes in kinds.items()
    }
    limits = LIMITS.get(name, (None, None))
    return [
        *(
            noted(*fit) if limit is None else below(*fit, limit)
            for fit, limit in zip(fits.items(), limits, strict=True)
        ),
        *(
            noted(f"first predict_proba of a process, {name}, {kind}", _least(probes, "predict"))
            for kind, probes in kinds.items()
        ),
    ]


def _without_kernels(name: str, keep: dict[str, str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as empty:
        return in_new_process("suite.probe_start", name, **keep, NUMBA_CACHE_DIR=empty)


def _least(probes: Probes, key: str) -> float:
    return min(probe[key] for probe in probes)

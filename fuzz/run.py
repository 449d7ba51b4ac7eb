"""Feed a reader with files that a fuzzer invents, for some time or for a number of files.

``python fuzz/run.py model_file --seconds 200`` goes on from the files in ``corpus/model_file`` and
stops at the first one that breaks a promise, which it leaves in ``found/``. That needs atheris
(extra ``fuzz``); without it, as on Windows, the kept files are read and no new ones are made.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import warnings
from argparse import Namespace
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

try:
    import atheris
except ImportError:
    atheris = None

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
HARNESSES = ("model_file", "bif", "frame")
INSTRUMENTED = ("io", "data")  # packages; instrumented kernels cannot be compiled
LONGEST_FILE = 6000
SECONDS_OF_A_FILE = 60  # kernels are compiled within the first ones
MEGABYTES = 4000


def main() -> None:
    """Run one harness."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("harness", choices=HARNESSES)
    parser.add_argument("--seconds", type=int, default=0, help="0: as long as --runs")
    parser.add_argument("--runs", type=int, default=-1, help="-1: as long as --seconds")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    asked = parser.parse_args()
    harness = load_harness(asked.harness)
    warnings.simplefilter("error", RuntimeWarning)
    warnings.simplefilter("ignore", UserWarning)
    if atheris is None:
        print(
            "atheris is not installed: the kept files are read, and no new ones are made",
            file=sys.stderr,
        )
        for path in kept_files(asked.harness):
            harness.check(path.read_bytes())
    else:
        with tempfile.TemporaryDirectory() as fresh:
            fuzz(harness, asked, fresh)


def load_harness(name: str) -> ModuleType:
    """Import a harness, with the packages that it tests instrumented if possible."""
    sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]
    with (
        atheris.instrument_imports(include=["discbayes"], exclude=_others())
        if atheris
        else nullcontext()
    ):
        return importlib.import_module(name)


def kept_files(name: str) -> list[Path]:
    """Return the corpus of a harness."""
    return sorted((HERE / "corpus" / name).iterdir())


def fuzz(harness: ModuleType, asked: Namespace, fresh: str) -> None:
    """Run until the time or the number of files is up; files that reach new code are put into a
    folder.
    """
    found = HERE / "found"
    found.mkdir(exist_ok=True)
    options = {
        "max_total_time": asked.seconds,
        "runs": asked.runs,
        "seed": asked.seed,
        "max_len": LONGEST_FILE,
        "timeout": SECONDS_OF_A_FILE,
        "rss_limit_mb": MEGABYTES,
        "artifact_prefix": f"{found}{os.sep}{asked.harness}-",
        "print_final_stats": 1,
    }
    folders = [fresh, str(HERE / "corpus" / asked.harness)]
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), *folders]
    atheris.Setup(arguments, harness.check, custom_mutator=_mutator(harness))
    atheris.Fuzz()


def _others() -> list[str]:
    """Return the modules of all packages that are not instrumented."""
    modules = (path.relative_to(SOURCE).with_suffix("").parts for path in SOURCE.rglob("*.py"))
    return [
        ".".join(parts).removesuffix(".__init__")
        for parts in modules
        if parts[1] not in INSTRUMENTED
    ]


def _mutator(harness: ModuleType) -> Callable[[bytes, int, int], bytes] | None:
    """Changes by the harness, which knows what its files are made of, and changes of bytes, in
    turn.
    """
    change = getattr(harness, "change", None)
    if change is None:
        return None

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        changed = change(data, seed // 2) if seed % 2 else None
        return atheris.Mutate(data, most) if changed is None or len(changed) > most else changed

    return mutate


if __name__ == "__main__":
    main()

"""Try the wheels where nothing of the source is, after ``make dist``: ``python
tests/packaging/installed.py dist``.

Environments, each in a temporary folder: the wheel alone; the wheel with compiled kernels, if there
is one, without and with numba; the wheel with all extras, for the examples of the README and every
feature; the same with what the tests need, for types and for some of the tests, which come from the
source archive without its ``src``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXTRAS = ("core", "plot", "cli", "solver", "dask", "exchange")
FOLDERS = ("bayesnet", "calibration", "cli", "io", "recipes", "report", "streams")
MARKED = re.compile(r"# error: ([a-z-]+)$")
FOUND = re.compile(r"^[^:]+:(\d+): error: .*\[([a-z-]+)\]$", re.M)
FIRST_ANSWER = 3.0  # seconds from the import to predictions, where kernels are compiled ahead
# Numba compiles for the same processor as hatch_build.py, and does not use what is shipped.
LIKE_SHIPPED = {
    "DISCBAYES_SHIPPED": "0",
    "NUMBA_CPU_NAME": "x86-64-v3",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_INTEL_SVML": "1",
}
FENCE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


class Environment:
    """A new environment with its own folder to work in."""

    def __init__(self, folder: Path, name: str, *packages: str):
        self.home, self.work = folder / name, folder / f"{name}-work"
        self.work.mkdir()
        venv.create(self.home, with_pip=True)
        self.bin = self.home / ("Scripts" if os.name == "nt" else "bin")
        self.install(*packages)

    def install(self, *packages: str) -> None:
        """Install packages by pip."""
        self.python("-m", "pip", "install", "--quiet", *packages)

    def python(self, *arguments: str | Path, code: int = 0, **settings: str) -> str:
        """Run Python in the folder; what it printed, if it ended with the code that is expected."""
        return self._run(self.bin / "python", *arguments, code=code, **settings)

    def discbayes(self, *arguments: str | Path, code: int = 0) -> str:
        """Run the command line."""
        return self._run(self.bin / "discbayes", *arguments, code=code)

    def _run(self, *command: str | Path, code: int, **settings: str) -> str:
        hidden = {
            key: value
            for key, value in os.environ.items()
            if key not in ("PYTHONPATH", "VIRTUAL_ENV")
        }
        done = subprocess.run(
            [*map(str, command)],
            cwd=self.work,
            env=hidden | settings,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        if done.returncode != code:
            sys.exit(
                f"{' '.join(map(str, command))}\nended with"
                f" {done.returncode}:\n{done.stdout}\n{done.stderr}"
            )
        return done.stdout + done.stderr


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def try_alone(folder: Path, wheel: Path) -> None:
    """The wheel and what it depends on, nothing else."""
    plain = Environment(folder, "alone", str(wheel))
    where = plain.python("-c", "import discbayes; print(discbayes.__file__)").strip()
    if not Path(where).is_relative_to(plain.home):
        sys.exit(f"discbayes was imported from {where}")
    seconds, packages = (
        _import_seconds(plain, name) for name in ("discbayes", "sklearn.base, numba")
    )
    say(f"import discbayes: {seconds:.2f} s, of which {packages:.2f} s for scikit-learn and numba")
    plain.python(HERE / "features.py", "core")
    told = plain.python(HERE / "features.py", "plot", code=1)
    if "pip install 'discbayes[plot]'" not in told:
        sys.exit(f"a missing extra is not named:\n{told}")
    plain.discbayes("--version")
    say("the wheel alone: learns, saves, loads, draws its page, and names an extra that is missing")


def _import_seconds(environment: Environment, modules: str) -> float:
    """The quickest of three tries."""
    program = (
        f"import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
    )
    return min(float(environment.python("-c", program)) for _ in range(3))


def try_compiled(folder: Path, wheel: Path) -> None:
    """The wheel with compiled kernels: without numba, and beside what numba compiles."""
    ahead = Environment(folder, "compiled", str(wheel))
    ahead.python("-c", "import numba", code=1)
    ahead.python(HERE / "features.py", "core")  # and writes bytecode, as installers do
    cold = _first_answer(ahead)
    seconds = sum(cold["seconds"].values())
    steps = ", ".join(f"{step} {taken:.2f}" for step, taken in cold["seconds"].items())
    say(f"compiled kernels, no numba: first answers after {seconds:.2f} s ({steps})")
    if seconds > FIRST_ANSWER:
        sys.exit(f"that is more than {FIRST_ANSWER} s")
    ahead.install(f"{wheel}[jit]")
    if _first_answer(ahead) | {"seconds": 0} != cold | {"seconds": 0}:
        sys.exit("where numba is installed the answers differ, or it is imported")
    here = _first_answer(ahead, **LIKE_SHIPPED)
    if here["digest"] != cold["digest"]:
        sys.exit("kernels that are compiled here for the same processor give other answers")
    seconds = sum(here["seconds"].values())
    say(f"compiled by numba instead: {seconds:.0f} s, the same to the last bit")


def _first_answer(environment: Environment, **settings: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as empty:
        told = environment.python(HERE / "first_answer.py", NUMBA_CACHE_DIR=empty, **settings)
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found


def try_all(folder: Path, wheel: Path, readme: str) -> Environment:
    """All extras: the README, the command line, and a feature of each extra."""
    full = Environment(folder, "all", f"{wheel}[all]")
    for extra in EXTRAS:
        full.python(HERE / "features.py", extra)
    try_commands(full)
    full.install("pandas")
    program = full.work / "readme.py"
    program.write_text("\n".join(FENCE.findall(readme)), encoding="utf-8")
    full.python(program)
    say(f"all extras: {', '.join(EXTRAS)}, the command line and the README")
    return full


def try_commands(full: Environment) -> None:
    """The command line on a CSV file."""
    full.discbayes("datasets", "iris", "-o", "iris.csv")
    full.discbayes("fit", "iris.csv", "--target", "class", "-o", "iris.json", "--quiet")
    full.discbayes("predict", "iris.json", "iris.csv", "--proba", "-o", "answers.csv", "--quiet")
    full.discbayes("explain", "iris.json", "iris.csv", "--row", "3", "--quiet")
    full.discbayes("report", "iris.json", "iris.csv", "-o", "page.html", "--quiet")
    lines = (full.work / "answers.csv").read_text(encoding="utf-8").splitlines()
    if len(lines) != 151 or "<svg" not in (full.work / "page.html").read_text(encoding="utf-8"):
        sys.exit("the command line wrote something else than expected")


def try_types(full: Environment) -> None:
    """What a type checker says of programs of users."""
    full.python(HERE / "typed_use.py")
    full.python("-m", "mypy", "--strict", HERE / "typed_use.py")
    misuse = HERE / "typed_misuse.py"
    lines = misuse.read_text(encoding="utf-8").splitlines()
    expected = {(n, mark[1]) for n, line in enumerate(lines, 1) if (mark := MARKED.search(line))}
    told = full.python("-m", "mypy", "--strict", misuse, code=1)
    found = {(int(line), kind) for line, kind in FOUND.findall(told)}
    if found != expected:
        sys.exit(f"expected errors {sorted(expected)}, found:\n{told}")
    say(
        f"types: a program of a user is clean under mypy --strict, and {len(found)} wrong uses are"
        " found"
    )


def try_tests(full: Environment, source: Path) -> None:
    """Some packages of the tests, from the source archive, against what is installed."""
    with tarfile.open(source) as file:
        wanted = [
            one
            for one in file.getmembers()
            if one.name.split("/")[1:2] in (["tests"], ["fuzz"], ["docs"], ["pyproject.toml"])
        ]
        file.extractall(full.work, members=wanted, filter="data")
    tree = next(path for path in full.work.iterdir() if (path / "pyproject.toml").exists())
    packages = [str(tree / "tests" / package) for package in FOLDERS]
    told = full.python(
        "-m", "pytest", "-p", "no:cacheprovider", "-c", tree / "pyproject.toml", *packages
    )
    say(f"tests of {', '.join(FOLDERS)}: {told.strip().splitlines()[-1]}")


def main(folder: Path) -> None:
    """All of it; the first thing that fails ends it with what was printed."""
    (wheel,), (source,) = folder.resolve().glob("*-any.whl"), folder.resolve().glob("*.tar.gz")
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        try_alone(Path(temporary), wheel)
        for compiled in set(folder.resolve().glob("*.whl")) - {wheel}:
            try_compiled(Path(temporary), compiled)
        full = try_all(
            Path(temporary), wheel, (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
        )
        full.install(f"{wheel}[all,test]")
        try_types(full)
        try_tests(full, source)
    say(f"done in {(time.perf_counter() - started) / 60:.0f} min")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Break critical lines one at a time, in a copy of the project, and say which test notices.

``make mutants`` runs this. A line is named by its text, so that the list fails, and does not lie,
when the code has changed. Kernels are broken with the compiler off: its cache does not see what
changes in another file. All other lines are broken beside compiled kernels, which are copied with
the code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED, FAILED = 0, 1  # what pytest returns


@dataclass(frozen=True)
class Mutation:
    """What is broken where, and the tests that must notice."""

    what: str
    file: str
    line: str
    broken: str
    tests: str
    compiled: bool = True

    def apply(self, source: Path) -> None:
        """Break the line in a copy of the code."""
        path = source / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.line) != 1:
            raise ValueError(f"{self.file} has {text.count(self.line)} times: {self.line.strip()}")
        path.write_text(text.replace(self.line, self.broken), encoding="utf-8")


MUTATIONS = (
    Mutation(
        "the sign of the gradient of the likelihood",
        "kernels/objective_rows.py",
        "gradient[m, c] = -share[c] / total",
        "gradient[m, c] = share[c] / total",
        "tests/objectives",
        compiled=False,
    ),
    Mutation(
        "the greatest score is taken off before exponentials are summed",
        "inference/marginalization.py",
        "np.where(np.isfinite(top), top + np.log(",
        "np.where(np.isfinite(top), np.log(",
        "tests/inference",
    ),
    Mutation(
        "a missing value is no value: rows that have one are not complete",
        "kernels/joint.py",
        "flags[m] |= row[m] >= card",
        "flags[m] |= row[m] > card",
        "tests/inference",
        compiled=False,
    ),
    Mutation(
        "the half in the penalty of the description length",
        "scores/edge.py",
        "return 0.5 * np.log(max(n_rows, 1.0)) * n_parameters",
        "return np.log(max(n_rows, 1.0)) * n_parameters",
        "tests/scores/test_edge_scores.py",
    ),
    Mutation(
        "how strong smoothing is",
        "parameters/generative.py",
        "return self.strength / among[self.prior]",
        "return 1.0 / among[self.prior]",
        "tests/parameters/test_parameters.py",
    ),
    Mutation(
        "an edge that is worth nothing is no edge of a branching",
        "search/branching.py",
        "weight <= self.alone[place]",
        "weight < self.alone[place]",
        "tests/search/test_branching.py",
    ),
    Mutation(
        "the steps of a line search get smaller",
        "optim/line.py",
        "step = 2 * low if high == np.inf else (low + high) / 2",
        "step = 2 * low if high == np.inf else low + high",
        "tests/optim tests/parameters/test_gradient_learners.py",
    ),
    Mutation(
        "what is held out to calibrate is not learned from",
        "classifier/training_rows.py",
        "left[rows] -= weight",
        "left[rows] -= 0.0 * weight",
        "tests/calibration/test_calibration.py",
    ),
    Mutation(
        "scores are divided by the temperature",
        "calibration.py",
        "_below_best(log_joint) / self.temperature",
        "_below_best(log_joint) * self.temperature",
        "tests/calibration/test_calibration.py",
    ),
    Mutation(
        "a new prior keeps what was learned besides the shares of the classes",
        "network/cpts.py",
        "log_prior = log_prior + self.prior_offset",
        "log_prior = log_prior - self.prior_offset",
        "tests/network tests/classifier/test_classifier.py",
    ),
    Mutation(
        "the sign of the total in mutual information",
        "counts/entropy.py",
        "(joint + _x_log_x(total) - margins)",
        "(joint - _x_log_x(total) - margins)",
        "tests/counts",
    ),
    Mutation(
        "a file is replaced in one step",
        "_files.py",
        "            if fcntl is not None:\n                os.replace(draft, goal)",
        "            if fcntl is not None:\n                shutil.copyfile(draft, goal)",
        "tests/io/test_io.py tests/faults",
    ),
    Mutation(
        "files that are nested too deeply are refused",
        "io/document.py",
        "if is_deeper(document, MAX_DEPTH):",
        "if is_deeper(document, 100 * MAX_DEPTH):",
        "tests/io",
    ),
)


def copy_project(folder: Path) -> None:
    """The code with its compiled kernels, whose times must stay as they are, the tests, and what
    they read.
    """
    shutil.copytree(ROOT / "src", folder / "src")
    for name in ("tests", "fuzz", "docs"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)


def run_tests(folder: Path, tests: list[str], compiled: bool) -> tuple[bool, str]:
    """Whether tests pass, which are run until one fails, and what pytest says."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if not compiled:
        environment["NUMBA_DISABLE_JIT"] = "1"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-rfE",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (PASSED, FAILED):
        raise RuntimeError(
            f"{' '.join(tests)} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.returncode == PASSED, done.stdout


def try_mutation(mutation: Mutation, folder: Path) -> str | None:
    """The first test that fails where the line is broken, and passes where it is not; None if all
    pass.
    """
    source = folder / "src" / "discbayes"
    whole = shutil.copy2(source / mutation.file, folder / "whole")
    mutation.apply(source)
    passed, said = run_tests(folder, mutation.tests.split(), mutation.compiled)
    shutil.copy2(whole, source / mutation.file)
    if passed:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    if not found:
        raise RuntimeError(f"no test has a name in:\n{said[-2000:]}")
    if not run_tests(folder, [found[1]], mutation.compiled)[0]:
        raise RuntimeError(f"{found[1]} fails in any case")
    return found[1].split("::")[-1]


def main(wanted: list[str]) -> int:
    """Try all mutations, or those of files whose names contain a word, and print a table in
    Markdown.
    """
    chosen = [m for m in MUTATIONS if not wanted or any(word in m.file for word in wanted)]
    killed = 0
    print(
        "| what is broken | file | the first test that fails |",
        "|---|---|---|",
        sep="\n",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_project(folder)
        for mutation in chosen:
            test = try_mutation(mutation, folder)
            killed += test is not None
            print(
                f"| {mutation.what} | `{mutation.file}` | {f'`{test}`' if test else 'survived'} |",
                flush=True,
            )
    print(f"{killed} of {len(chosen)} killed")
    return int(killed < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Load model files that `mutations` invents, each within limits of memory and time, and ask what
was loaded.

``python fuzz/sealed.py --files 20000`` makes them in batches, each in a process of its own. A file
is refused by a `ModelFileError`, or its classifier answers, in at most 200 MB and ten times its
size, and in 5 seconds. Files that break this are left in ``found/``, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]

import numpy as np  # noqa: E402 - after the folders of this project

import damage  # noqa: E402
from discbayes.io import ModelFileError, load  # noqa: E402
from mutations import mutated  # noqa: E402

try:
    import resource
except ImportError:  # Windows: without limits, and in this process
    resource = None  # type: ignore[assignment]

FREE_BYTES, BYTES_EACH = 200_000_000, 10
SECONDS = 5.0  # of the processor
KILLED_AFTER = 60  # seconds of the processor: what does not even return
LONGEST_MESSAGE = 1000
BATCH = 500
REFUSED_ANSWERS = ("max_cells", "a joint posterior of", "the evidence has probability zero")


class BrokenPromiseError(Exception):
    """A file that is neither refused as it should be nor answers."""


def check(path: Path) -> str:
    """Load a file and predict with it; return the outcome as a word."""
    try:
        classifier = load(path)
    except ModelFileError as error:
        check_message(error, path)
        return "refused"
    check_answers(classifier)
    return "answered"


def check_message(error: ModelFileError, path: Path) -> None:
    """One line that names the file; and memory was not what it lacked."""
    message = str(error)
    if isinstance(error.__cause__, MemoryError):
        raise BrokenPromiseError("it takes too much memory") from error
    if not (
        message.startswith(str(path)) and len(message) < LONGEST_MESSAGE and message.isprintable()
    ):
        raise BrokenPromiseError(f"a message that is no short line: {message[:2000]!r}")


def check_answers(classifier: object) -> None:
    """Probabilities of rows with and without missing values, decisions, and questions about columns
    and the class.
    """
    members = getattr(classifier, "members_", None)
    network = classifier.network_ if members is None else members[-1].network_
    features = network.domain.features
    row = damage.row_of(network.domain)
    rows = np.array([[None] * len(row), row], dtype=object)
    rows = np.vstack([rows, np.where(np.arange(len(row)) % 2, rows[0], rows[1])])
    answers = {
        "predict_proba": lambda: check_shares(classifier.predict_proba(rows).sum(axis=1)),
        "predict": lambda: classifier.predict(rows),
        "class": lambda: check_shares(
            network.query([network.domain.target.name]).probabilities.sum()
        ),
        "column": lambda: check_shares(network.query([features[-1].name]).probabilities.sum()),
    }
    for answer in answers.values():
        try:
            answer()
        except ValueError as error:
            if not any(text in str(error) for text in REFUSED_ANSWERS):
                raise


def check_shares(totals: np.ndarray) -> None:
    """Check probabilities: they sum to one."""
    if not np.allclose(totals, 1, atol=1e-9):
        raise BrokenPromiseError(f"probabilities sum to {totals}")


# Limits


def limited(path: Path, size: int) -> str:
    """`check` within the limits of a file of this size."""
    start = time.process_time()
    limit_memory(FREE_BYTES + BYTES_EACH * size, start)
    try:
        found = check(path)
    except MemoryError as error:
        raise BrokenPromiseError("it takes too much memory") from error
    finally:
        limit_memory(None, start)
    if time.process_time() - start > SECONDS:
        raise BrokenPromiseError(f"it takes {time.process_time() - start:.1f} s")
    return found


def limit_memory(n_bytes: int | None, used: float) -> None:
    """Let this process have so many bytes more than now, or any number; and kill it if it never
    comes back.
    """
    pages = Path("/proc/self/statm")
    if resource is None or not pages.exists():
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    now = int(pages.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (hard if n_bytes is None else now + n_bytes, hard))
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + KILLED_AFTER, most))


# Batches


def run_batch(
    documents: list[dict], seed: int, numbers: range, path: Path, found: Path | None
) -> Counter[str]:
    """What became of the files of some numbers; those that break a promise are kept and told of."""
    counts: Counter[str] = Counter()
    for number in numbers:
        content = mutated(documents, seed, number)
        path.write_bytes(content)
        try:
            counts[limited(path, len(content))] += 1
        except Exception:
            counts["broken"] += 1
            traceback.print_exc(limit=-4)
            keep(path, found, seed, number)
    return counts


def keep(path: Path, found: Path | None, seed: int, number: int) -> None:
    """Store a file that was found."""
    print(
        f"file {number} of seed {seed}, {path.stat().st_size:,} bytes", file=sys.stderr, flush=True
    )
    if found is not None:
        found.mkdir(exist_ok=True)
        shutil.copy(path, found / f"model_file-sealed-{seed}-{number}.json")


def run_in_processes(
    documents: list[dict], seed: int, files: range, folder: Path, found: Path
) -> Counter[str]:
    """All batches, each in a child of this process, where everything is imported already."""
    total: Counter[str] = Counter()
    for first in range(files.start, files.stop, BATCH):
        numbers = range(first, min(first + BATCH, files.stop))
        path, told = folder / "model.json", folder / "counts"
        child = os.fork()
        if not child:
            counts = run_batch(documents, seed, numbers, path, found)
            told.write_text(" ".join(f"{name}={n}" for name, n in counts.items()), encoding="ascii")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(f"a process ended with the status {status}", file=sys.stderr)
            keep(path, found, seed, first)
            total["broken"] += 1
        else:
            total.update(
                {
                    part.split("=")[0]: int(part.split("=")[1])
                    for part in told.read_text("ascii").split()
                }
            )
        print(f"{min(first + BATCH, files.stop) - files.start:,} files: {dict(total)}", flush=True)
    return total


def sound_documents() -> list[dict]:
    """The files that changes begin with: those of the corpus that can be loaded, and those of the
    tests.
    """
    kept = [
        json.loads(path.read_bytes()) for path in sorted((HERE / "corpus" / "model_file").iterdir())
    ]
    return [*kept, *damage.documents().values()]


def main() -> None:
    """Run all batches."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    asked = parser.parse_args()
    seed = asked.seed or int(time.time())
    warnings.simplefilter("error", RuntimeWarning)
    warnings.simplefilter("ignore", UserWarning)
    documents, files = sound_documents(), range(asked.first, asked.first + asked.files)
    with tempfile.TemporaryDirectory(prefix="discbayes-fuzz-") as name:
        path = Path(name) / "model.json"
        for document in documents:  # kernels are compiled before any limit holds
            path.write_bytes(damage.sealed(document))
            check(path)
        if hasattr(os, "fork"):
            total = run_in_processes(documents, seed, files, Path(name), HERE / "found")
        else:
            total = run_batch(documents, seed, files, path, HERE / "found")
    print(f"seed {seed}, {asked.files:,} files: {dict(total)}")
    sys.exit(1 if total["broken"] else 0)


if __name__ == "__main__":
    main()

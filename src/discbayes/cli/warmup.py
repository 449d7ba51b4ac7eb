"""``discbayes warmup``: compile the library's code before it is needed."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from discbayes._lazy_imports import need
from discbayes.cli import options
from discbayes.cli.console import UserError
from discbayes.engine import worker_count
from discbayes.kernels._compile import SHIPPED, UNCOMPILED
from discbayes.kernels._signatures import FILE, FILE_OF_DEFAULT

SUMMARY = "compile the code of the library now, so that no later run has to"
EXAMPLES = """examples:
  discbayes warmup
  discbayes warmup --default

Compiled code is kept in a cache, for this machine and this version. Where it is installed with the
library there is nothing to do. What no usual run needs is left to be compiled when it is."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_effort(parser, "processes")
    parser.add_argument(
        "--default",
        action="store_true",
        help="compile what fits and predictions of the default need, and no more",
    )


def run(args: Namespace) -> None:
    """Compile."""
    if UNCOMPILED:
        raise UserError("NUMBA_DISABLE_JIT is set, so nothing is compiled; unset it")
    if SHIPPED is not None:
        args.progress.stage("compiled code is installed with the library: there is nothing to do")
        return
    started = time.perf_counter()

    def report(module: str, n_done: int, n_all: int) -> None:
        args.progress.stage(f"compiled {module}, {n_done} of {n_all} modules")

    path = FILE_OF_DEFAULT if args.default else FILE
    need("discbayes.kernels._warmup").compile_all(worker_count(args.n_jobs), report, path)
    args.progress.stage(f"done in {time.perf_counter() - started:.0f} s")

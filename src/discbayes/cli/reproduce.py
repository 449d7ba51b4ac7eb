"""``discbayes reproduce``: a table or figure of the papers, ours beside the published one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path
from typing import Any

from discbayes._text import text_table
from discbayes.cli import options
from discbayes.cli.console import UserError
from discbayes.evaluation.result_blocks import as_text

SUMMARY = "reproduce a table or figure of the papers, with the published figures beside ours"
EXAMPLES = """examples:
  discbayes reproduce --list
  discbayes reproduce p10-table7 --n-jobs 2
  discbayes reproduce c11-table3 --quick

The experiments are in the folder papers/ of the source, not in the installed package: run this
command in the folder of the source. Results are stored as they come, so an interrupted run resumes
where it stopped. The data are those of `discbayes datasets`; the folder that DISCBAYES_DATA names
comes first."""
FOLDER = "discbayes-results"
PAPERS, PACKAGE = "papers", "discbayes_papers"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="experiments, or 'all'; see --list"
    )
    add("--list", "list the experiments, and what cannot be reproduced")
    add("--quick", "run a small part only, to try it; stored separately")
    add("--pages", "run nothing: write the pages of the stored results")
    add("--folder DIR", f"for rows and pages (default: {FOLDER})", default=FOLDER)
    options.add_effort(parser, "processes")


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse to run nothing."""
    if not args.list and not args.names:
        parser.error("which experiment? --list shows them")


def run(args: Namespace) -> None:
    """Print the pages, and where they are."""
    papers = load_papers()
    if args.list:
        print(_listing(papers))
        return
    names = papers.EXPERIMENTS if args.names == ["all"] else args.names
    for name in names:
        papers.find(name)
    for name in names:
        blocks = papers.reproduce(
            name, args.folder, args.quick, args.n_jobs, args.progress, not args.pages
        )
        print(as_text(blocks), end="\n\n")
    if not args.quick:
        papers.write_index(args.folder)
    print(f"pages: {Path(args.folder) / 'quick' if args.quick else args.folder}")


def load_papers() -> Any:
    """Import the experiments from the checkout of this package, or from the current folder."""
    for root in (Path(__file__).parents[3], Path.cwd()):
        folder = root / PAPERS
        if (folder / PACKAGE / "__init__.py").is_file():
            # also for the processes of --n-jobs, which take over the search path
            sys.path.insert(0, str(folder))
            break
    try:
        return import_module(PACKAGE)
    except ModuleNotFoundError as error:
        if error.name != PACKAGE:
            raise
        raise UserError(
            f"the experiments are not in the installed package: get the source of discbayes, which"
            f" has them in its folder {PAPERS}/ (pip download --no-deps --no-binary :all:"
            f" discbayes), and run this command in the folder of the source"
        ) from error


def _listing(papers: Any) -> str:
    found = [papers.find(name) for name in papers.EXPERIMENTS]
    rows = [[one.name, f"{one.paper} {one.where}".strip(), one.title] for one in found]
    absent = [[name, "not available", data] for name, data in papers.ABSENT.items()]
    return text_table(["name", "source", "what it shows"], [*rows, *absent], left=3)

"""``discbayes reproduce``: a table or figure of the papers, ours beside the published one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from discbayes._text import text_table
from discbayes.cli import options
from discbayes.experiments.blocks import as_text
from discbayes.experiments.papers import ABSENT, EXPERIMENTS, find, reproduce, write_index

SUMMARY = "repeat a table or figure of the papers, ours beside the published one"
EXAMPLES = """examples:
  discbayes reproduce --list
  discbayes reproduce p10-table7 --n-jobs 2
  discbayes reproduce c11-table3 --quick

What was run is stored at once, so an interrupted run goes on where it was. The data are those of
`discbayes datasets`; the folder that DISCBAYES_DATA names comes first."""
FOLDER = "discbayes-results"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="experiments, or 'all'; see --list"
    )
    parser.add_argument(
        "--list", action="store_true", help="show the experiments, and what cannot be repeated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small part only, to try it out; stored apart"
    )
    parser.add_argument(
        "--pages", action="store_true", help="run nothing: make the pages of what is stored"
    )
    parser.add_argument(
        "--folder", default=FOLDER, metavar="DIR", help=f"for rows and pages (default: {FOLDER})"
    )
    options.add_effort(parser, "processes")
    parser.set_defaults(finish=_finish)


def _finish(parser: ArgumentParser, args: Namespace) -> None:
    if not args.list and not args.names:
        parser.error("which experiment? --list shows them")


def run(args: Namespace) -> None:
    """Print the pages, and where they are."""
    if args.list:
        print(_listing())
        return
    names = EXPERIMENTS if args.names == ["all"] else args.names
    for name in names:
        find(name)
    for name in names:
        blocks = reproduce(
            name, args.folder, args.quick, args.n_jobs, options.progress(args), not args.pages
        )
        print(as_text(blocks), end="\n\n")
    if not args.quick:
        write_index(args.folder)
    print(f"pages: {Path(args.folder) / 'quick' if args.quick else args.folder}")


def _listing() -> str:
    found = [find(name) for name in EXPERIMENTS]
    rows = [[one.name, f"{one.paper} {one.where}".strip(), one.title] for one in found]
    absent = [[name, "not to be had", data] for name, data in ABSENT.items()]
    return text_table(["name", "source", "what it shows"], [*rows, *absent], left=3)

"""The command line: ``discbayes fit | predict | explain | ask | report | evaluate | compare | …``.

Results go to the standard output, progress and messages to the error stream. The exit code is 0 for
success, 1 for an error that is explained in one line, 2 for wrong usage, 130 after an interrupt,
143 where the system has ended the command and 141 where the reader of the output has gone.
"""

from __future__ import annotations

import sys
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import NoReturn

from discbayes._version import __version__
from discbayes.cli import (
    ask,
    compare,
    datasets,
    evaluate,
    explain,
    fit,
    options,
    predict,
    recipes,
    report,
    reproduce,
)
from discbayes.cli.console import PROGRAM, UserError, complain, describe, readable_warnings
from discbayes.cli.console_encoding import spelled_streams
from discbayes.cli.file_tables import STANDARD
from discbayes.cli.signals import Terminated, ended_by_signals

COMMANDS = {
    "fit": fit,
    "predict": predict,
    "explain": explain,
    "ask": ask,
    "report": report,
    "evaluate": evaluate,
    "compare": compare,
    "datasets": datasets,
    "recipes": recipes,
    "reproduce": reproduce,
}
OK, FAILED, WRONG_USAGE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
EXAMPLES = """examples:
  discbayes evaluate iris --structure tan
  discbayes compare patients.csv --target diagnosis
  discbayes fit patients.csv --target diagnosis -o model.json
  discbayes predict model.json new.csv --proba
  discbayes explain model.json new.csv --row 3
  discbayes ask model.json
  discbayes report model.json patients.csv -o report.html

`discbayes COMMAND --help` shows the options of a command."""


class Parser(ArgumentParser):
    """A parser whose errors are what is wrong, and where help is; the list of all options would
    hide it.
    """

    def error(self, message: str) -> NoReturn:
        """Leave with what is wrong."""
        self.exit(
            WRONG_USAGE,
            f"{self.prog}: error: {message}\n`{self.prog} --help` shows how it is used\n",
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; wrong usage leaves through
    ``SystemExit(2)``.
    """
    with spelled_streams():
        return _guarded(argv)


def _guarded(argv: Sequence[str] | None) -> int:
    """The exit code, also where something ends the command."""
    try:
        with ended_by_signals():
            return _run(parse(argv))
    except KeyboardInterrupt:
        complain("error", "interrupted")
        return INTERRUPTED
    except Terminated as stop:
        complain("error", str(stop))
        return stop.exit_code
    except BrokenPipeError:
        return BROKEN_PIPE


def _run(args: Namespace) -> int:
    try:
        with readable_warnings():
            COMMANDS[args.command].run(args)
    except BrokenPipeError:
        raise
    except (UserError, ValueError, OSError, ImportError) as error:
        return _failed(args, error, describe(error))
    except MemoryError as error:
        return _failed(args, error, f"there is not enough memory: {describe(error)}")
    return _flush()


def _failed(args: Namespace, error: Exception, text: str) -> int:
    """Say what was wrong; with --debug where, through the stream that shows no control
    characters.
    """
    if args.debug:
        traceback.print_exception(error)
    else:
        complain("error", text)
    return FAILED


def _flush() -> int:
    """Write what the standard output still holds, while there is someone to tell that it cannot be:
    the exit code.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        complain("error", f"the standard output cannot be written: {error.strerror}")
        return FAILED
    return OK


def parse(argv: Sequence[str] | None) -> Namespace:
    """The arguments, checked; without any, all the help there is."""
    parser = Parser(
        PROGRAM,
        description="Bayesian network classifiers on tables: learn, predict, explain, evaluate.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    made = {name: _add_command(commands, name) for name in COMMANDS}
    if not (sys.argv[1:] if argv is None else argv):
        parser.exit(WRONG_USAGE, parser.format_help())
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:  # after help, or wrong usage
        raise SystemExit(end.code or _flush()) from None
    _check_standard_input(made[args.command], args)
    if hasattr(args, "finish"):
        args.finish(made[args.command], args)
    return args


def _check_standard_input(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse to read two things from the standard input."""
    readers = [name for name in ("model", "data") if getattr(args, name, None) == STANDARD]
    if args.command == "ask" and readers:
        parser.error("-: answers come from the standard input; give a file")
    if len(readers) > 1:
        parser.error(
            "-: the model and the rows cannot both come from the standard input; give a file for"
            " one of them"
        )


def _add_command(commands: object, name: str) -> ArgumentParser:
    module = COMMANDS[name]
    parser: ArgumentParser = commands.add_parser(  # type: ignore[attr-defined]
        name,
        help=module.SUMMARY,
        description=module.SUMMARY[0].upper() + module.SUMMARY[1:] + ".",
        epilog=module.EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.configure(parser)
    options.add_common(parser)
    return parser

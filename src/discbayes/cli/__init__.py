"""The command line: ``discbayes check | fit | predict | explain | ask | report | evaluate | …``.

Results go to the standard output, progress and messages to the error stream. The exit code is 0 for
success, 1 for an error, which is explained in one line, 2 for wrong usage, 130 after an interrupt,
143 after SIGTERM, 129 after SIGHUP, and 141 if the reader of the output has closed it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import traceback
from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from discbayes._text import did_you_mean
from discbayes._version import __version__
from discbayes.cli import (
    ask,
    check,
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
    warmup,
)
from discbayes.cli.console import (
    PROGRAM,
    STANDARD,
    UserError,
    complain,
    describe,
    readable_warnings,
)
from discbayes.cli.console_encoding import safe_streams
from discbayes.engine import Progress

_MODULES = (
    check,
    fit,
    predict,
    explain,
    ask,
    report,
    evaluate,
    compare,
    datasets,
    recipes,
    reproduce,
    warmup,
)
COMMANDS = {module.__name__.split(".")[-1]: module for module in _MODULES}
OK = 0
FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
N_FIRST = 3  # examples at the top of a help text
EXAMPLES = """examples:
  discbayes evaluate iris --structure tan
  discbayes compare patients.csv --target diagnosis
  discbayes check patients.csv --target diagnosis
  discbayes fit patients.csv --target diagnosis -o model.json
  discbayes predict model.json new.csv --proba
  discbayes explain model.json new.csv --row 3
  discbayes ask model.json
  discbayes report model.json patients.csv -o report.html

`discbayes COMMAND --help` shows the options of a command."""
_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Parser(ArgumentParser):
    """A parser whose errors are two lines: the error, and where help is, not all options."""

    def error(self, message: str) -> NoReturn:
        """Exit with the error."""
        asked = self._meant(message)
        self.exit(
            WRONG_USAGE,
            f"{self.prog}: error: {message}{asked}\n`{self.prog} --help` shows the options\n",
        )

    def _meant(self, message: str) -> str:
        """Return a question for a word that is much like a known one, or nothing."""
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice:
            return did_you_mean(choice[1], re.findall(r"[^\s',]+", choice[2]))
        option = re.search(r"unrecognized arguments: (--[\w-]+)", message)
        return did_you_mean(option[1], self._options()) if option else ""

    def _options(self) -> list[str]:
        """Return the options of the command that was given, or of all commands."""
        parsers = [action.choices for action in self._actions if isinstance(action.choices, dict)]
        known = [self, *(parser for choices in parsers for parser in choices.values())]
        given = [parser for parser in known if parser.prog.split()[-1] in sys.argv[1:2]]
        found = {flag for parser in given or known for flag in parser._option_string_actions}
        return sorted(flag for flag in found if flag.startswith("--"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; wrong usage raises ``SystemExit(2)``."""
    with safe_streams():
        try:
            with signals_as_exceptions():
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
    """Print the error, or its traceback with --debug, and return the exit code."""
    if args.debug:
        traceback.print_exception(error)
    else:
        complain("error", text)
    return FAILED


def _flush() -> int:
    """Flush the standard output while an error can still be reported; return the exit code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        complain("error", str(error))
        return FAILED
    return OK


# ---- arguments


def parse(argv: Sequence[str] | None) -> Namespace:
    """Return the arguments, checked; without any, exit with the help."""
    parser = Parser(
        PROGRAM,
        description="Bayesian network classifiers on tables: learn, predict, explain, evaluate.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parsers = {name: _add_command(commands, name) for name in COMMANDS}
    if not (sys.argv[1:] if argv is None else argv):
        parser.exit(WRONG_USAGE, parser.format_help())
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:  # after help, or wrong usage
        raise SystemExit(end.code or _flush()) from None
    args.progress = Progress(0 if args.quiet else 1)
    command = COMMANDS[args.command]
    _check_standard_input(parsers[args.command], args)
    if hasattr(command, "finish"):
        command.finish(parsers[args.command], args)
    return args


def _check_standard_input(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse to read two inputs from the standard input."""
    readers = [name for name in ("model", "data") if getattr(args, name, None) == STANDARD]
    if args.command == "ask" and readers:
        parser.error("-: answers come from the standard input; give a file")
    if len(readers) > 1:
        parser.error(
            "-: the model and the rows cannot both come from the standard input; give a file for"
            " one of them"
        )


def _add_command(commands: Any, name: str) -> ArgumentParser:
    module = COMMANDS[name]
    top, end = _texts(module)
    parser: ArgumentParser = commands.add_parser(
        name,
        help=module.SUMMARY,
        description=top,
        epilog=end,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    module.configure(parser)
    options.add_common(parser)
    common = getattr(module, "COMMON", ())
    text = "show the help" if not common else "show the most common options"
    parser.add_argument("-h", "--help", action=_Help, nargs=0, common=common, help=text)
    if common:
        text = "show all options"
        parser.add_argument("--help-all", action=_Help, nargs=0, common=(), help=text)
    return parser


def _texts(module: Any) -> tuple[str, str]:
    """Return the top of a help text, with the most common ways to call a command, and its end."""
    lines = module.EXAMPLES.splitlines()
    places = [k for k, line in enumerate(lines) if line.startswith(f"  {PROGRAM} ")]
    first, others = places[:N_FIRST], places[N_FIRST:]
    summary = module.SUMMARY[0].upper() + module.SUMMARY[1:] + "."
    top = "\n".join([summary, "", *(lines[k] for k in first)])
    rest = [line for k, line in enumerate(lines) if k and k not in first]
    return top, "\n".join(["more examples:", *rest] if others else rest).strip("\n")


class _Help(Action):
    """Print the help, with the common options alone if a command has many, and exit."""

    def __init__(self, *args: Any, common: Sequence[str] = (), **how: Any):
        super().__init__(*args, **how)
        self.common = common

    def __call__(self, parser: Any, namespace: Any, value: Any, option: str | None = None) -> None:
        if not self.common:
            parser.print_help()
            parser.exit()
        shown = [
            action
            for action in parser._actions
            if not action.option_strings or {*action.option_strings} & {*self.common}
        ]
        formatter = parser._get_formatter()
        formatter.add_text(parser.description)
        formatter.start_section("options")
        formatter.add_arguments(shown)
        formatter.end_section()
        n_others = sum(action.help != SUPPRESS for action in parser._actions) - len(shown)
        formatter.add_text(f"`{parser.prog} --help-all` shows {n_others} more, and more examples.")
        parser._print_message(formatter.format_help(), sys.stdout)
        parser.exit()


# ---- signals


class Terminated(BaseException):
    """A signal that ends the command; not an ``Exception``, so that only `main` handles it."""

    def __init__(self, number: int):
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.exit_code = 128 + number


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Raise `Terminated` for signals that end a process, so that temporary files are removed.

    A signal that is ignored, as by ``nohup``, stays ignored. Only the first one is raised: a
    terminal that closes may send two, and the second would end the cleaning up. Processes that are
    forked meanwhile end as they would without.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process = os.getpid()

    def end(number: int, frame: Any) -> None:
        if os.getpid() == process:
            for each in changed:
                signal.signal(each, signal.SIG_IGN)
            raise Terminated(number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    old = {number: signal.getsignal(number) for number in _SIGNALS}
    changed = [number for number in _SIGNALS if old[number] == signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, old[number])

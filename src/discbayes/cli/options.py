"""Options that several commands share, and the objects that they describe.

Options of learning have no default in the parser: one that is absent from the parsed arguments was
not given, so that ``evaluate --model`` can refuse them instead of ignoring them.
"""

from __future__ import annotations

import codecs
import csv
import sys
from argparse import SUPPRESS, Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from discbayes._deprecation import END
from discbayes._settings import float_or_nan
from discbayes.calibration import AUTO, CALIBRATIONS
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.classifier.ensemble import MAX_MEMBERS
from discbayes.cli.console import complain
from discbayes.data.dates import DATES, EXPAND
from discbayes.data.discretize import DISCRETIZERS as WORDS
from discbayes.inference import ESTIMATE, RAISE
from discbayes.parameters import HYBRID, PARAMETERS
from discbayes.recipes import parse, recipe
from discbayes.search import STRUCTURES
from discbayes.streams import bytes_of
from discbayes.streams.csv_format import MISSING_VALUES, CsvFormat

_OTHERWISE = "- (CSV from stdin), the name of a data set, or openml:NAME"
DATA = f"a CSV, Parquet or Arrow file, {_OTHERWISE}"
DATA_OR_FOLDER = f"a CSV, Parquet or Arrow file, a folder of them, {_OTHERWISE}"
MAX_WHOLE_FILE = 1 << 28  # bytes; larger files are read in batches
DISCRETIZERS = {AUTO: AUTO, **{word: word for word in WORDS}, "none": None}
UNCALIBRATED = "none"
LEARNING: dict[str, Any] = {
    "ensemble": None,
    "recipe": None,
    "structure": AUTO,
    "parameters": AUTO,
    "discretizer": AUTO,
    "categorical": (),
    "missing": AUTO,
    "dates": EXPAND,
    "calibrate": AUTO,
    "drop": (),
    "seed": 0,
}
LIMITS = ("max_cells", "beyond_max_cells")
N_MEMBERS = 8  # of an ensemble
# what an ensemble decides by itself
NOT_OF_ENSEMBLES = ("recipe", "structure", "parameters", "discretizer", "calibrate")


# ---- types of values


def names(text: str) -> tuple[str, ...]:
    """Parse names between commas; a name that holds a comma goes in quotes.

    >>> names('age,"city, country"')
    ('age', 'city, country')
    """
    row = next(csv.reader([text], skipinitialspace=True), [])
    if not row:
        raise ArgumentTypeError("expected names, with commas between them")
    return tuple(row)


def at_least(minimum: int) -> Any:
    """Return a parser of integers of at least ``minimum``."""

    def number(text: str) -> int:
        if not text.lstrip("-").isdigit() or int(text) < minimum:
            raise ArgumentTypeError(f"{text!r} is not a whole number of at least {minimum}")
        return int(text)

    return number


def n_jobs(text: str) -> int:
    """Parse a number of threads, or a negative one as scikit-learn reads it."""
    count = at_least(-1024)(text)
    if count == 0:
        raise ArgumentTypeError("0 threads do no work; -1 is one for each core")
    return int(count)


def character(text: str) -> str:
    """Parse one character; ``\\t`` is a tab."""
    value = "\t" if text == "\\t" else text
    if len(value) != 1:
        raise ArgumentTypeError(f"{text!r} is not one character")
    return value


def encoding(text: str) -> str:
    """Parse the name of an encoding, as Python knows it.

    >>> encoding("Windows-1252")
    'cp1252'
    """
    try:
        return codecs.lookup(text).name
    except LookupError:
        raise ArgumentTypeError(
            f"{text!r} is not an encoding; cp1252, latin-1, utf-8 and utf-16 are some"
        ) from None


def beyond_max_cells(text: str) -> str | int:
    """Parse what is done with rows beyond the limit of exact inference."""
    if text in (ESTIMATE, RAISE):
        return text
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not {ESTIMATE}, {RAISE} or a number of draws")
    return int(text)


def evaluation(text: str) -> str | int:
    """Parse how a sample score is estimated."""
    if text in ("resubstitution", "loo"):
        return text
    if not text.isdigit() or int(text) < 2:
        raise ArgumentTypeError(
            f"{text!r} is not resubstitution, loo or a number of folds of at least 2"
        )
    return int(text)


def positive(what: str, largest: float = sys.float_info.max) -> Any:
    """Return a parser of numbers above zero; ``what`` describes them in the error."""

    def number(text: str) -> float:
        value = float_or_nan(text)
        if not 0 < value <= largest:
            raise ArgumentTypeError(f"{text!r} is not a {what}")
        return value

    return number


def memory(text: str) -> int:
    """Parse a number of bytes, such as 500MB or 2GB."""
    try:
        return bytes_of(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


class _Renamed(Action):
    """An option under its old name: it warns, and sets the value of the option that replaces it."""

    def __call__(self, parser: Any, namespace: Any, value: Any, option: str | None = None) -> None:
        text = f"{option} is deprecated and will be removed in version {END}"
        complain("warning", f"{text}: use {flag_of(self.dest)}")
        setattr(namespace, self.dest, value)


def add_renamed(parser: ArgumentParser, old: str, new: str, kind: Any = str) -> None:
    """Let an option go on working under its old name, which the help does not list."""
    dest = new.lstrip("-").replace("-", "_")
    parser.add_argument(old, dest=dest, type=kind, action=_Renamed, help=SUPPRESS)


# ---- groups of options


def add(group: Any, usage: str, text: str, kind: Any = None, **how: Any) -> None:
    """Add an argument, written as the help shows it.

    Parameters
    ----------
    group : ArgumentParser or group
        The parser.
    usage : str
        ``DATA`` is a positional argument, ``-o, --output FILE`` an option with a value, and
        ``--quiet`` a switch, or an option whose value is one of its ``choices``.
    text : str
        The help text.
    kind : callable, optional
        The parser of the value; it stays a text by default.
    **how
        Further arguments of ``add_argument``.
    """
    words = usage.replace(",", "").split()
    flags = [word for word in words if word.startswith("-")]
    if not flags:
        group.add_argument(usage.lower(), metavar=usage, help=text, type=kind, **how)
    elif len(flags) < len(words):
        group.add_argument(*flags, metavar=words[-1], help=text, type=kind, **how)
    else:
        switch = {} if "choices" in how else {"action": "store_true"}
        group.add_argument(*flags, help=text, **switch, **how)


def adder(group: Any) -> Callable[..., None]:
    """Return `add` for one parser or group."""
    return partial(add, group)


# Settings of searches as options: the help text, and how argparse reads the value. The name is that
# of the setting; a search that does not have it refuses the option.
SEARCH_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "k": (
        "maximum number of feature parents (kdb, greedy, order, superparent)",
        {"type": at_least(0), "metavar": "K"},
    ),
    "score": (
        "score to maximize: cr, cl, mm, or an edge score such as fcll (tan, kdb, ghc)",
        {"metavar": "NAME"},
    ),
    "evaluation": (
        "estimate the score by resubstitution, loo, or a number of folds (cr, cl, mm)",
        {"type": evaluation, "metavar": "HOW"},
    ),
    "max_time": (
        "time limit in seconds; the best structure found so far is kept",
        {"type": positive("number of seconds above 0"), "metavar": "SECONDS"},
    ),
}


def add_common(parser: ArgumentParser) -> None:
    """Add the options of every command."""
    group = parser.add_argument_group("messages")
    add(group, "--quiet", "no progress messages; warnings and errors are still shown")
    add(group, "--debug", "show the traceback of an error")


def add_model(parser: ArgumentParser) -> None:
    """Add the model file of a command that uses a saved model."""
    add(parser, "MODEL", "a model file written by fit")


def add_heading(parser: ArgumentParser) -> None:
    """Add what the report says at its top."""
    add(parser, "--title TEXT", "title of the report (default: the target)", default="")
    source = 'where the data are from, for the report, such as "Ward 3, 2019 to 2024"'
    add(parser, "--source TEXT", source, default="")
    card = 'model card for the report: a JSON file such as {"Intended use": "…", "Limits": "…"}'
    add(parser, "--card FILE", card)


def add_known_target(parser: ArgumentParser) -> None:
    """Add the column with the classes, which a saved model knows."""
    add(parser, "--target COLUMN", "the column with the classes (default: as the model has it)")


def add_reading(parser: ArgumentParser) -> None:
    """Add the format of CSV files."""
    group = parser.add_argument_group("reading CSV")
    further = 'further texts that mean a missing value, such as "?,unknown"'
    add(group, "--na-values LIST", further, names, default=())
    text = "encoding of the text, such as cp1252 (default: found in the bytes)"
    add(group, "--encoding NAME", text, encoding)
    between = "character between cells (default: the one with which rows are alike)"
    add(group, "--delimiter CHAR", between, character)
    decimal = "decimal separator, such as ',' (default: found in the numbers)"
    add(group, "--decimal CHAR", decimal, character)
    add(group, "--skip-ragged", "leave out rows with too many or too few cells")


def add_target(parser: ArgumentParser, weights: bool = True) -> None:
    """Add the roles of columns."""
    group = parser.add_argument_group("columns")
    classes = "the column with the classes; required unless DATA is the name of a data set"
    add(group, "--target COLUMN", classes)
    if weights:
        add(group, "--weights COLUMN", "the column with the sample weights")
    add(group, "--drop LIST", "columns to leave out", names, default=SUPPRESS)
    labels = "columns whose numbers are labels, kept as text (with leading zeros)"
    add(group, "--categorical LIST", labels, names, default=SUPPRESS)


def add_learning(parser: ArgumentParser) -> None:
    """Add the options of structure learning, parameter learning and preparation."""
    group = parser.add_argument_group("learning")

    def option(usage: str, text: str, *kind: Any, **how: Any) -> None:
        default = LEARNING[usage.split()[0][2:]]
        add(group, usage, f"{text} (default: {default})", *kind, default=SUPPRESS, **how)

    add(
        group,
        "--ensemble N",
        "learn an ensemble of N networks instead of one: more accurate, at most ten times the size"
        f" (N: {N_MEMBERS} if it is left out)",
        at_least(1),
        nargs="?",
        const=N_MEMBERS,
        default=SUPPRESS,
    )
    add(
        group,
        "--recipe TAG",
        "structure and parameters by a tag such as TAN-OMI-CR-CL, in place of --structure and"
        " --parameters; `discbayes recipes` lists those of the papers",
        default=SUPPRESS,
    )
    option(
        "--structure",
        "structure learning: naive Bayes (nb), a tree (tan, tan-fcll, tan-acll), k parents (kdb),"
        " a search by score (ghc, greedy, superparent, order, anneal), or chosen by held-out rows"
        " with --parameters auto (auto)",
        choices=[AUTO, *STRUCTURES],
    )
    option(
        "--parameters",
        "parameter learning: generative (ml, map, hierarchy), discriminative (cl, ccbn-d, ccbn-e,"
        " ccbn-w, levels, mm, dfe, bn-svm), between both (hybrid, ml-bn-svm), or levels that are"
        " chosen by held-out rows (auto)",
        choices=[AUTO, *PARAMETERS],
    )
    # without a default here, as each search has its own
    for name, (text, how) in SEARCH_OPTIONS.items():
        group.add_argument(flag_of(name), default=SUPPRESS, help=text, **how)
    option(
        "--discretizer",
        "discretization of numeric columns; auto has two resolutions where the parameters can use"
        " them, none treats numbers as labels",
        choices=list(DISCRETIZERS),
    )
    option(
        "--missing",
        "missing values in training: available estimates from the observed values, value makes"
        " missing a value of its own (in prediction too), auto chooses between them with"
        " --parameters auto, drop leaves out incomplete rows",
        choices=[AUTO, "available", "value", "drop", "error"],
    )
    option(
        "--dates",
        "columns of dates: expand learns from year, month, weekday, hour and days since 2000, drop"
        " leaves them out, error refuses them",
        choices=list(DATES),
    )
    option(
        "--calibrate",
        "calibration of the probabilities on held-out rows of five folds; auto calibrates if"
        f" --parameters is {AUTO} or {HYBRID}",
        choices=[AUTO, UNCALIBRATED, *CALIBRATIONS],
    )
    option("--seed N", "random seed", at_least(0))


def add_effort(parser: ArgumentParser, workers: str = "threads") -> None:
    """Add the number of threads or processes."""
    group = parser.add_argument_group("effort")
    text = f"number of {workers} (default: -1, one for each core)"
    add(group, "--n-jobs N", text, n_jobs, default=-1)


def add_memory(parser: ArgumentParser) -> None:
    """Add the memory limit of commands that can read rows in batches."""
    text = (
        "read DATA in batches, within a memory limit such as 2GB; folders and files above"
        f" {MAX_WHOLE_FILE >> 20} MiB are always read in batches (default limit: 512 MiB)"
    )
    add(parser, "--memory SIZE", text, memory)


def add_cluster(parser: ArgumentParser) -> None:
    """Add the processes or the cluster that work on the rows."""
    group = parser.add_argument_group(
        "cluster", "Work is shared; the model is the same. DATA is read in batches."
    )
    one = group.add_mutually_exclusive_group()
    add(one, "--workers N", "start N processes on this machine", at_least(1))
    add(
        one,
        "--cluster ADDRESS",
        "the Dask scheduler, such as tcp://10.0.0.5:8786, of a cluster whose machines have"
        " discbayes; they read Parquet and Arrow files themselves if they can access them"
        " (without calibration: --calibrate none)",
    )


def add_prediction(parser: ArgumentParser) -> None:
    """Add the options of commands in which a saved model predicts the rows of a table."""
    add_unknown(parser)
    add_limits(parser)
    add_effort(parser)
    add_reading(parser)


def add_unknown(parser: ArgumentParser) -> None:
    """Add the treatment of values that did not occur in training."""
    text = (
        "values never seen in training: treat them as missing, or refuse them (default: as the"
        " model was fitted)"
    )
    add(parser, "--unknown", text, choices=["marginalize", "error"])


def add_limits(parser: ArgumentParser) -> None:
    """Add the limit of exact inference, and what is done beyond it."""
    add(
        parser,
        "--max-cells N",
        "cells that exact marginalization of the missing values of a row may compute; a thousand"
        " million take about a second (default: as the model was fitted)",
        at_least(1),
    )
    add(
        parser,
        "--beyond-max-cells WHAT",
        "rows that need more: estimate them, raise an error, or a number of draws to estimate them"
        " by (default: as the model was fitted)",
        beyond_max_cells,
    )
    add_renamed(parser, "--n-draws", "--beyond-max-cells", at_least(1))


# ---- parsed options


def given(args: Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options among some that were given, or switched on, with their values."""
    values = {name: getattr(args, name, None) for name in names}
    return {
        name: value for name, value in values.items() if value is not None and value is not False
    }


def flag_of(name: str) -> str:
    """Return an option as it is typed.

    >>> flag_of("max_time")
    '--max-time'
    """
    return f"--{name.replace('_', '-')}"


def given_learning(args: Namespace) -> list[str]:
    """Return the options of learning that were given."""
    return [flag_of(name) for name in (*LEARNING, *SEARCH_OPTIONS) if hasattr(args, name)]


def fill_learning(parser: ArgumentParser, args: Namespace) -> None:
    """Set the defaults of learning, and check what argparse cannot."""
    chosen = given_learning(args)
    for name, default in {**LEARNING, **dict.fromkeys(SEARCH_OPTIONS)}.items():
        setattr(args, name, getattr(args, name, default))
    if args.ensemble is not None:
        _check_ensemble(parser, args, chosen)
        return
    if args.recipe is not None:
        _check_recipe(parser, args, chosen)
        return
    known = _structure_learner(args.structure).get_params()
    for name in given(args, SEARCH_OPTIONS):
        if name not in known:
            fitting = ", ".join(s for s in STRUCTURES if hasattr(_structure_learner(s), name))
            parser.error(
                f"{flag_of(name)} goes with --structure {fitting}, not with {args.structure}"
            )


def _structure_learner(name: str) -> Any:
    """Return the structure learner of a name, with the methods of scikit-learn's estimators."""
    return STRUCTURES["tan" if name == AUTO else name]()


def _check_ensemble(parser: ArgumentParser, args: Namespace, chosen: list[str]) -> None:
    """Refuse options of single networks beside --ensemble, before any data are read."""
    flags = [flag_of(name) for name in (*NOT_OF_ENSEMBLES, *SEARCH_OPTIONS)]
    doubled = [flag for flag in flags if flag in chosen]
    if doubled:
        parser.error(
            f"{' and '.join(doubled)}: the networks of --ensemble differ in this; leave out one of"
            " them"
        )
    if args.ensemble > MAX_MEMBERS:
        parser.error(f"--ensemble {args.ensemble}: at most {MAX_MEMBERS} networks")


def _check_recipe(parser: ArgumentParser, args: Namespace, chosen: list[str]) -> None:
    """Refuse a recipe that is unknown, or options that contradict it, before any data are read."""
    doubled = [flag for flag in ("--structure", "--parameters") if flag in chosen]
    if doubled:
        parser.error(f"{' and '.join(doubled)}: --recipe sets this already; leave out one of them")
    try:
        if "--calibrate" in chosen and parse(args.recipe).options:
            parser.error(
                f"--calibrate: --recipe {args.recipe} sets this already; leave out one of them"
            )
        classifier(args)
    except ValueError as error:
        parser.error(f"--recipe: {str(error).replace('recipes()', '`discbayes recipes`')}")


def csv_format(args: Namespace) -> CsvFormat:
    """Return how CSV files are read: as was found out, or as the options describe it."""
    found: CsvFormat | None = getattr(args, "csv", None)
    if found is not None:
        return found
    return CsvFormat(
        args.delimiter,
        (*MISSING_VALUES, *args.na_values),
        decimal=args.decimal or ".",
        encoding=args.encoding,
        skips_ragged=args.skip_ragged,
    )


def classifier(args: Namespace, verbose: int = 0) -> Any:
    """Return the estimator that the options describe."""
    search = given(args, SEARCH_OPTIONS)
    others: dict[str, Any] = {
        "categorical": list(args.categorical) or "auto",
        "missing": args.missing,
        "dates": args.dates,
        "n_jobs": args.n_jobs,
        "random_state": args.seed,
        "verbose": verbose,
    }
    if args.ensemble is not None:
        return BayesNetEnsemble(args.ensemble, **others)
    others["discretizer"] = DISCRETIZERS[args.discretizer]
    if args.calibrate != AUTO:
        others["calibrate"] = None if args.calibrate == UNCALIBRATED else args.calibrate
    if args.recipe is not None:
        return recipe(args.recipe, **search, **others)
    structure: Any = args.structure
    if search:
        structure = _structure_learner(structure).set_params(**search)
    return BayesNetClassifier(structure, args.parameters, **others)

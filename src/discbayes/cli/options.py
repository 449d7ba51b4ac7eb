"""Options that several commands share, and what they stand for.

Options that shape a model have no default in the parser: what is absent from the parsed arguments
was not given, so that ``evaluate --model`` can refuse them instead of ignoring them.
"""

from __future__ import annotations

import csv
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from discbayes.calibration import AUTO, CALIBRATIONS
from discbayes.classifier import BayesNetClassifier
from discbayes.cli.file_tables import FileReading
from discbayes.engine import Progress
from discbayes.parameters import HYBRID, PARAMETERS
from discbayes.recipes import parse, recipe
from discbayes.search import STRUCTURES

_OTHERWISE = "- (CSV from stdin), the name of a data set, or openml:NAME"
DATA = f"a CSV, Parquet or Arrow file, {_OTHERWISE}"
DATA_OR_FOLDER = f"a CSV, Parquet or Arrow file, a folder of them, {_OTHERWISE}"
DISCRETIZERS = {"mdlp": "mdlp", "equal-frequency": "equal-frequency", "none": None}
UNCALIBRATED = "none"
LEARNING: dict[str, Any] = {
    "recipe": None,
    "structure": "tan",
    "parameters": HYBRID,
    "k": None,
    "score": None,
    "evaluation": None,
    "max_time": None,
    "discretizer": "mdlp",
    "categorical": (),
    "missing": "available",
    "calibrate": AUTO,
    "drop": (),
    "seed": 0,
}

SEARCH = ("k", "score", "evaluation", "max_time")


def names(text: str) -> tuple[str, ...]:
    """Names between commas; a name that holds a comma goes in quotes.

    >>> names('age,"city, country"')
    ('age', 'city, country')
    """
    row = next(csv.reader([text], skipinitialspace=True), [])
    if not row:
        raise ArgumentTypeError("expected names, with commas between them")
    return tuple(row)


def at_least(least: int) -> Any:
    """A whole number from ``least`` on, for argparse."""

    def number(text: str) -> int:
        if not text.lstrip("-").isdigit() or int(text) < least:
            raise ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return number


def n_jobs(text: str) -> int:
    """A number of threads, or a negative one as scikit-learn reads it."""
    count = at_least(-1024)(text)
    if count == 0:
        raise ArgumentTypeError("0 threads do no work; -1 is one for each core")
    return int(count)


def character(text: str) -> str:
    """One character; ``\\t`` is a tab."""
    value = "\t" if text == "\\t" else text
    if len(value) != 1:
        raise ArgumentTypeError(f"{text!r} is not one character")
    return value


def add_common(parser: ArgumentParser) -> None:
    """Options of every command."""
    group = parser.add_argument_group("messages")
    group.add_argument(
        "--quiet",
        action="store_true",
        help="no progress on the error stream; warnings and errors stay",
    )
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_reading(parser: ArgumentParser) -> None:
    """How CSV files are read."""
    group = parser.add_argument_group("reading CSV")
    group.add_argument(
        "--na-values",
        type=names,
        default=(),
        metavar="LIST",
        help='more marks of missing values, such as "?,unknown"',
    )
    group.add_argument(
        "--delimiter",
        type=character,
        metavar="CHAR",
        help="between cells (default: by file ending)",
    )
    group.add_argument(
        "--decimal",
        type=character,
        default=".",
        metavar="CHAR",
        help="before decimals, such as ',' (default: '.')",
    )


def add_target(parser: ArgumentParser, weights: bool = True) -> None:
    """Which columns are not features."""
    group = parser.add_argument_group("columns")
    group.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column with the classes; needed unless DATA is a name",
    )
    if weights:
        group.add_argument(
            "--weights", metavar="COLUMN", help="a column with a weight for each row"
        )
    group.add_argument(
        "--drop", type=names, default=SUPPRESS, metavar="LIST", help="columns to leave out"
    )
    group.add_argument(
        "--categorical",
        type=names,
        default=SUPPRESS,
        metavar="LIST",
        help="columns whose numbers are labels, kept as text (leading zeros too)",
    )


def add_learning(parser: ArgumentParser) -> None:
    """What is learned, and how."""
    group = parser.add_argument_group("learning")

    def option(flag: str, text: str, **how: Any) -> None:
        group.add_argument(
            flag, default=SUPPRESS, help=f"{text} (default: {LEARNING[flag[2:]]})", **how
        )

    group.add_argument(
        "--recipe",
        default=SUPPRESS,
        metavar="TAG",
        help=(
            "structure and parameters by a tag such as TAN-OMI-CR-CL, in place of --structure and"
            " --parameters; `discbayes recipes` lists those of the papers"
        ),
    )
    option("--structure", "how features depend on one another", choices=list(STRUCTURES))
    option("--parameters", "how the tables are learned", choices=list(PARAMETERS))
    _add_search(group)
    option(
        "--discretizer",
        "how numbers become intervals; none takes them as labels",
        choices=list(DISCRETIZERS),
    )
    option(
        "--missing",
        "what missing values are: value makes them a value, in predicting too",
        choices=["available", "value", "drop", "error"],
    )
    option(
        "--calibrate",
        "make probabilities mean what they say, by rows that are held out in five folds; auto does"
        " it for hybrid",
        choices=[AUTO, UNCALIBRATED, *CALIBRATIONS],
    )
    option("--seed", "seed of everything random", type=at_least(0))


def _add_search(group: Any) -> None:
    """Settings of some of the searches; without a default here, as each search has its own."""
    settings: list[tuple[str, Any, str, str]] = [
        (
            "--k",
            at_least(0),
            "K",
            "the largest number of feature parents (kdb, greedy, order, superparent)",
        ),
        (
            "--score",
            str,
            "NAME",
            (
                "what the search makes large: cr, cl, mm, or an edge score such as fcll (tan, kdb,"
                " ghc)"
            ),
        ),
        (
            "--evaluation",
            evaluation,
            "HOW",
            "score rows by resubstitution, loo, or a number of folds (cr, cl, mm)",
        ),
        ("--max-time", seconds, "SECONDS", "end the search then, with the best structure so far"),
    ]
    for flag, kind, shown, text in settings:
        group.add_argument(flag, type=kind, default=SUPPRESS, metavar=shown, help=text)


def evaluation(text: str) -> str | int:
    """How a sample score is evaluated."""
    if text in ("resubstitution", "loo"):
        return text
    if not text.isdigit() or int(text) < 2:
        raise ArgumentTypeError(
            f"{text!r} is not resubstitution, loo or a number of folds of at least 2"
        )
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def add_effort(parser: ArgumentParser, workers: str = "threads") -> None:
    """How much work may be done, by threads or by processes."""
    group = parser.add_argument_group("effort")
    group.add_argument(
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help=f"{workers} (default: -1, all cores)"
    )


def add_answering(parser: ArgumentParser) -> None:
    """What all commands share that let a saved model answer for rows of a table."""
    add_unknown(parser)
    add_draws(parser)
    add_effort(parser)
    add_reading(parser)


def add_unknown(parser: ArgumentParser) -> None:
    """What to do with values that were not there in learning."""
    parser.add_argument(
        "--unknown",
        choices=["marginalize", "error"],
        help=(
            "values never seen in learning: count them as missing, or refuse them (default: as the"
            " model has it)"
        ),
    )


def add_draws(parser: ArgumentParser) -> None:
    """What to do where exact prediction would need too much memory."""
    parser.add_argument(
        "--n-draws",
        type=at_least(1),
        metavar="N",
        help=(
            "estimate by N draws where summing out the gaps of a row exactly would need too large a"
            " table"
        ),
    )


def given_learning(args: Namespace) -> list[str]:
    """The options of learning that the command line holds."""
    return [f"--{name.replace('_', '-')}" for name in LEARNING if hasattr(args, name)]


def fill_learning(parser: ArgumentParser, args: Namespace) -> None:
    """Put the defaults of learning in place, and check what argparse cannot."""
    given = given_learning(args)
    for name, default in LEARNING.items():
        setattr(args, name, getattr(args, name, default))
    if args.recipe is not None:
        _check_recipe(parser, args, given)
        return
    known = _settings(args.structure)
    for name in SEARCH:
        if getattr(args, name) is not None and name not in known:
            fitting = ", ".join(s for s in STRUCTURES if name in _settings(s))
            parser.error(
                f"--{name.replace('_', '-')} goes with --structure {fitting}, not with"
                f" {args.structure}"
            )


def _check_recipe(parser: ArgumentParser, args: Namespace, given: list[str]) -> None:
    """A recipe says what is learned and how; what it has no use for is refused before any data are
    read.
    """
    said = [flag for flag in ("--structure", "--parameters") if flag in given]
    if said:
        parser.error(f"{' and '.join(said)}: --recipe says this already; leave out one of them")
    try:
        if "--calibrate" in given and parse(args.recipe).options:
            parser.error(
                f"--calibrate: --recipe {args.recipe} says this already; leave out one of them"
            )
        classifier(args)
    except ValueError as error:
        parser.error(f"--recipe: {str(error).replace('recipes()', '`discbayes recipes`')}")


def _searcher(name: str) -> Any:
    """The learner behind a name, which has settings as all estimators of scikit-learn do."""
    return STRUCTURES[name]()


def _settings(name: str) -> dict[str, Any]:
    return _searcher(name).get_params()


def reading(args: Namespace) -> FileReading:
    """How to read CSV."""
    return FileReading(args.na_values, args.delimiter, args.decimal)


def progress(args: Namespace) -> Progress:
    """The progress display that the command line asks for."""
    return Progress(0 if args.quiet else 1)


def classifier(args: Namespace, verbose: int = 0) -> BayesNetClassifier:
    """The estimator that the options describe."""
    settings = {name: getattr(args, name) for name in SEARCH if getattr(args, name) is not None}
    around = {
        "discretizer": DISCRETIZERS[args.discretizer],
        "categorical": list(args.categorical) or "auto",
        "missing": args.missing,
        "n_jobs": args.n_jobs,
        "random_state": args.seed,
        "verbose": verbose,
    }
    if args.calibrate != AUTO:
        around["calibrate"] = None if args.calibrate == UNCALIBRATED else args.calibrate
    if args.recipe is not None:
        return recipe(args.recipe, **settings, **around)
    structure = _searcher(args.structure).set_params(**settings) if settings else args.structure
    return BayesNetClassifier(structure, args.parameters, **around)

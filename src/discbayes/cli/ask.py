"""``discbayes ask``: the most informative question, again and again, until the class is sure
enough.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from discbayes.classifier import BayesNetClassifier
from discbayes.cli import options
from discbayes.cli.answers import given_values
from discbayes.cli.dialogue import Case, converse, outcome, say
from discbayes.cli.input_tables import open_source
from discbayes.cli.models import features_of, load_model, set_options, text_columns
from discbayes.cli.pricing import read_costs, read_prices
from discbayes.cli.row_selection import chosen_rows, known_values
from discbayes.engine import Progress

SUMMARY = "ask for the most informative column, again and again, until the class is sure enough"
EXAMPLES = """examples:
  discbayes ask model.json
  discbayes ask model.json --know age=54 --know sex=f --sure 0.9
  discbayes ask model.json patients.csv --row 3
  discbayes ask model.json --costs costs.json --prices prices.csv
  printf '1.7\\n5.1\\n' | discbayes ask iris.json

An answer is the number of a value or the value itself; for a column of numbers, a number. Nothing or ? stands for
"not known": that column is not asked for again. back takes the last answer back, why shows what speaks for the class
so far, stop ends. Questions and answers are on the error stream, the result is on the standard output.

costs.json is {"sick": {"well": 20}, "well": {"sick": 1}}: what it costs to decide for the inner class where the outer
one is true. costs.csv is the same as a table, with the true class in the first column. Prices, in the same unit, are
{"biopsy": 3} or lines of column,price. With costs a column is asked for as long as it saves more than its price."""
SURE = 0.95


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model file that fit has written")
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="a table with a row of which something is known"
    )
    parser.add_argument(
        "--row", type=options.at_least(1), metavar="N", help="the row of DATA; the first one is 1"
    )
    parser.add_argument(
        "--know",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="what is known already; may be repeated",
    )
    parser.add_argument(
        "--sure",
        type=probability,
        metavar="P",
        help=(
            f"end where a class has this probability (default: {SURE}; with --costs only if given)"
        ),
    )
    parser.add_argument(
        "--most", type=options.at_least(1), metavar="N", help="ask N questions at most"
    )
    parser.add_argument(
        "--costs", metavar="FILE", help="what mistakes cost: JSON, a JSON file or a CSV file"
    )
    parser.add_argument(
        "--prices", metavar="FILE", help="what it costs to know a column: JSON, JSON or CSV file"
    )
    options.add_unknown(parser)
    options.add_draws(parser)
    options.add_reading(parser)
    parser.set_defaults(finish=_finish)


def _finish(parser: ArgumentParser, args: Namespace) -> None:
    if (args.data is None) != (args.row is None):
        parser.error("DATA and --row go together: which row of which table?")
    if args.data is None and args.unknown is not None:
        parser.error("--unknown is about the values of DATA")
    if args.prices is not None and args.costs is None:
        parser.error("--prices are in the unit of --costs: give both")
    if args.costs is None and args.sure is None:
        args.sure = SURE


def probability(text: str) -> float:
    """A probability above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise ArgumentTypeError(f"{text!r} is not a probability above 0 and up to 1, such as 0.95")
    return value


def run(args: Namespace) -> None:
    """Ask, and print what came of it; an interrupt comes after the result so far."""
    model = load_model(args.model)
    set_options(model, args)
    domain = model.network_.domain
    costs = read_costs(args.costs, domain.target.labels)
    prices = read_prices(args.prices, domain.names)
    case = Case(model, _known(model, args, options.progress(args)), costs, prices)
    try:
        reason = converse(case, args.sure, args.most)
    except KeyboardInterrupt:
        _close(case, "interrupted")
        raise
    _close(case, reason)


def _close(case: Case, reason: str) -> None:
    say("")
    print(outcome(case, reason), flush=True)


def _known(model: BayesNetClassifier, args: Namespace, progress: Progress) -> dict[str, Any]:
    """What the row and the options say; the options count more."""
    domain = model.network_.domain
    known = given_values(domain, args.know)
    if args.data is None:
        return known
    source = open_source(args.data, options.reading(args), text_columns(domain), progress)
    row = chosen_rows(features_of(domain, source, (), progress), [args.row], source.name)
    return {**known_values(model, row, args.row), **known}

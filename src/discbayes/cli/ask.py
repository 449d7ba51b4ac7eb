"""``discbayes ask``: ask for the most informative column, until the class is probable enough."""

from __future__ import annotations

import csv
import json
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._settings import float_or_nan
from discbayes._text import listed, nearest_first
from discbayes.classifier import BayesNetClassifier
from discbayes.cli import options
from discbayes.cli.console import UserError
from discbayes.cli.models import load_model, read_rows, require_network, select_rows, warn_unseen
from discbayes.cli.prompts import Case, converse, outcome, tell, value_of
from discbayes.costs import DecisionCosts
from discbayes.data import Domain
from discbayes.data.labels import is_missing

SUMMARY = "ask for the most informative columns of one case, until its class is probable enough"
EXAMPLES = """examples:
  discbayes ask model.json
  discbayes ask model.json --know age=54 --know sex=f --sure 0.9
  discbayes ask model.json --know age=40..60 --know "size=medium | large"
  discbayes ask model.json patients.csv --row 3
  discbayes ask model.json --costs costs.json --prices prices.csv
  printf '1.7\\n5.1\\n' | discbayes ask iris.json

An answer is a value or its number; for a numeric column, a number. It may also be a range such as
40..60 or 40.., one of several values (medium | large), none of some (not red) or the likelihoods of
all values (yes=0.8 | no=0.2). An empty line or ? means
"not known": that column is not asked for again. back takes back the last answer, why shows the
contributions to the decision so far, stop ends. Questions go to the error stream, the result to
the standard output.

costs.json is {"sick": {"well": 20}, "well": {"sick": 1}}: the cost of deciding for the inner class
where the outer one is true; a decision that is not a class, such as "refer", is an action with a
cost for every class. costs.csv is a table of the costs, with the true class in the first column.
Prices, in the same unit, are {"biopsy": 3} or lines of column,price. With costs, columns
are asked for as long as the best one is expected to save more than its price."""
MIN_PROBABILITY = 0.95
COMMON = (
    "--row",
    "--know",
    "--sure",
    "--max-questions",
    "--costs",
    "--prices",
)  # options of the short help


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    options.add_model(parser)
    add("DATA", "a table; the known values of --row are used", nargs="?")
    number = options.at_least(1)
    add("--row N", "row of DATA; the first one is 1", number)
    add("--know COLUMN=VALUE", "a known value; may be repeated", action="append", default=[])
    sure = (
        f"stop when a class has this probability (default: {MIN_PROBABILITY}; with --costs"
        " only if given)"
    )
    probability = options.positive("probability above 0 and up to 1, such as 0.95", 1)
    add("--sure P", sure, probability)
    add("--max-questions N", "maximum number of questions", number)
    options.add_renamed(parser, "--most", "--max-questions", number)
    add("--costs FILE", "misclassification costs: JSON, a JSON file or a CSV file")
    add("--prices FILE", "prices of columns: JSON, a JSON file or a CSV file")
    options.add_unknown(parser)
    options.add_limits(parser)
    options.add_reading(parser)


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse options that do not go together, and choose how sure is sure enough."""
    if (args.data is None) != (args.row is None):
        parser.error("DATA and --row go together: which row of which table?")
    if args.data is None and args.unknown is not None:
        parser.error("--unknown is about the values of DATA")
    if args.prices is not None and args.costs is None:
        parser.error("--prices are in the unit of --costs: give both")
    if args.costs is None and args.sure is None:
        args.sure = MIN_PROBABILITY


def run(args: Namespace) -> None:
    """Ask, and print the result; after an interrupt, the result so far."""
    model = load_model(args)
    require_network(model, "ask", args.model)
    domain = model.network_.domain
    costs = read_costs(args.costs, domain.target.labels)
    prices = read_prices(args.prices, domain.names)
    case = Case(model, _known_values(model, args), costs, prices)
    try:
        reason = converse(case, args.sure, args.max_questions)
    except KeyboardInterrupt:
        _print_outcome(case, "interrupted")
        raise
    _print_outcome(case, reason)


def _print_outcome(case: Case, reason: str) -> None:
    tell("")
    print(outcome(case, reason), flush=True)


# ---- known values


def _known_values(model: BayesNetClassifier, args: Namespace) -> dict[str, Any]:
    """Return the values of the row and of the options, which take precedence."""
    domain = model.network_.domain
    known = given_values(domain, args.know)
    if args.data is None:
        return known
    source, X = read_rows(model, args)
    row = select_rows(X, [args.row], source.name)
    unseen = {name for _, name, _ in warn_unseen(model, row, [args.row])}
    values = {
        name: value
        for name, value in row.to_pylist()[0].items()
        if name not in unseen and not is_missing(value)
    }
    return {**values, **known}


def given_values(domain: Domain, texts: Sequence[str]) -> dict[str, Any]:
    """Return values by column from texts such as ``age=45``."""
    known: dict[str, Any] = {}
    for text in texts:
        name = _column(domain.names, text)
        if name in known:
            raise UserError(f"--know gives the column {name!r} twice")
        variable = domain.features[domain.position(name)]
        known[name] = value_of(variable, text[len(name) + 1 :], numbers=False)
    return known


def _column(names: Sequence[str], text: str) -> str:
    """Return the column before the equals sign: the longest, as names may hold that sign."""
    fitting = [name for name in names if text.startswith(f"{name}=")]
    if fitting:
        return max(fitting, key=len)
    if "=" not in text:
        raise UserError(f"--know {text!r}: write it as column=value")
    near = listed(nearest_first(text.split("=")[0], names))
    raise UserError(
        f"--know {text!r}: no column of the model has that name; its columns are {near}"
    )


# ---- costs and prices


def read_costs(text: str | None, labels: Sequence[str]) -> DecisionCosts | None:
    """Return the costs of decisions: of the classes, and of actions that are not classes.

    Parameters
    ----------
    text : str or None
        JSON, or the name of a JSON or CSV file.
    labels : sequence of str
        The classes, in the order of rows and columns.
    """
    if text is None:
        return None
    found = _content(text, "--costs", _cost_table)
    if not isinstance(found, (dict, list)):
        raise UserError(
            f"--costs holds {found!r}: it must be {{truth: {{decision: cost}}}} or rows of numbers"
        )
    try:
        return DecisionCosts.of(found, np.array(labels, dtype=object))
    except ValueError as error:
        raise UserError(f"--costs: {error}") from error


def _cost_table(rows: list[list[str]]) -> dict[str, dict[str, str]]:
    """Read a table: decisions in the header, the true class at the beginning of each row."""
    header, *body = rows
    uneven = next((row for row in body if len(row) != len(header)), None)
    if uneven is not None:
        raise UserError(
            f"--costs: the row of {uneven[0]!r} has {len(uneven)} cells, and the header has"
            f" {len(header)}"
        )
    return {truth: dict(zip(header[1:], cells, strict=True)) for truth, *cells in body}


def read_prices(text: str | None, names: Sequence[str]) -> dict[str, float] | None:
    """Return the price of each column that has one, from JSON or a JSON or CSV file."""
    if text is None:
        return None
    found = _content(text, "--prices", _price_pairs)
    if not isinstance(found, dict):
        raise UserError(f"--prices holds {found!r}: it must be {{column: price}}")
    unknown = [name for name in found if name not in names]
    if unknown:
        raise UserError(
            f"--prices names {listed(unknown)}, which the model does not know; its columns are"
            f" {listed(nearest_first(unknown[0], names))}"
        )
    return {name: _price(name, value) for name, value in found.items()}


def _price_pairs(rows: list[list[str]]) -> dict[str, str]:
    """Read lines of a column and its price; a header is one of ``column,price``."""
    odd = next((row for row in rows if len(row) != 2), None)
    if odd is not None:
        raise UserError(
            f"--prices: expected lines of a column and its price, but there is {','.join(odd)!r}"
        )
    return {name: price for name, price in rows if (name, price) != ("column", "price")}


def _price(name: str, value: Any) -> float:
    price = float_or_nan(value)
    if not 0 <= price < math.inf:
        raise UserError(f"--prices has {value!r} for {name!r}: a price is a number of at least 0")
    return price


def _content(text: str, option: str, from_rows: Callable[[list[list[str]]], Any]) -> Any:
    """Return the content of JSON, of a JSON file, or of a CSV file, whose rows become a mapping."""
    if text.lower().endswith(".csv"):
        lines = _read(text, option).splitlines()
        rows = [row for row in csv.reader(lines, skipinitialspace=True) if row]
        if not rows:
            raise UserError(f"{option}: {text} is empty")
        return from_rows(rows)
    inline = text.lstrip().startswith(("{", "["))
    try:
        return json.loads(text if inline else _read(text, option))
    except json.JSONDecodeError as error:
        raise UserError(f"{option}: {'this' if inline else text} is not JSON: {error}") from error


def _read(path: str, option: str) -> str:
    if not Path(path).exists():
        raise UserError(
            f"{option}: there is no file {path!r}; give a file, or JSON such as {{…}} in quotes"
        )
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{option}: {path} is not UTF-8 text; save it as UTF-8") from error

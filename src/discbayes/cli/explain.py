"""``discbayes explain``: why a row has its class, what would change it, which columns matter."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from discbayes._text import did_you_mean, listed, nearest_first
from discbayes.classifier import BayesNetClassifier
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.cli import options
from discbayes.cli.console import UserError
from discbayes.cli.explain_output import Explained, joined, relevance_output
from discbayes.cli.input_tables import InputTable, has_known_ending, matcher
from discbayes.cli.models import (
    classes_of,
    load_model,
    read_rows,
    require_network,
    select_rows,
    warn_unseen,
)
from discbayes.cli.outputs import check_output, check_table, is_standard, write_bytes, write_table

SUMMARY = "explain the predictions of single rows, or the relevance of columns over a whole table"
EXAMPLES = """examples:
  discbayes explain model.json patients.csv --row 3
  discbayes explain model.json patients.csv --row 3 --counterfactual --keep age,sex
  discbayes explain model.json patients.csv --row 3 --class sick --against well
  discbayes explain model.json patients.csv
  discbayes explain model.json patients.csv --row all -o contributions.csv

Row 1 is the first row below the header. A contribution such as +1.3 is what a value adds to the
log odds of the class; the prior and all contributions add up to the log odds of the row. Without
--row: the relevance of every column over all rows and, if the table has the classes, the loss of
accuracy without columns."""
FORMATS = ("text", "csv", "json")
MAX_CONTRIBUTIONS = 10
MAX_RELEVANT = 20
BLOCK_ROWS = 1000
ALL = "all"
COMMON = (
    "--row",
    "--counterfactual",
    "--class",
    "--against",
    "--output",
)  # options of the short help


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    options.add_model(parser)
    add("DATA", options.DATA)
    add("--row N", "the row to explain, from 1 on; 3,5 or all", row_numbers)
    add("--class LABEL", "the class to explain (default: the decision)")
    add("--against LABEL", "compare with this class (default: with all others together)")
    add("--counterfactual", "add the smallest change of values that changes the decision")
    add("--wanted LABEL", "the decision that a counterfactual leads to (default: any other)")
    add("--keep LIST", "columns that must not change", options.names)
    add("--relevance", "the relevance of all columns over all rows (the default without --row)")
    options.add_known_target(parser)
    columns = (
        f"maximum number of columns in a text (default: {MAX_CONTRIBUTIONS}, or {MAX_RELEVANT}"
        " without --row)"
    )
    add("--max-columns K", columns, options.at_least(1))
    options.add_renamed(parser, "--most", "--max-columns", options.at_least(1))
    add("--format", "output format (default: by the file ending, or text)", choices=FORMATS)
    add("-o, --output FILE", "output file (default: stdout)")
    options.add_prediction(parser)


def row_numbers(text: str) -> list[int] | str:
    """Parse numbers of rows from 1 on, with commas between them, or "all".

    >>> row_numbers("3,5")
    [3, 5]
    """
    if text == ALL:
        return ALL
    parts = [part.strip() for part in text.split(",")]
    odd = next((part for part in parts if not (part.isdecimal() and int(part) > 0)), None)
    if odd is not None:
        raise ArgumentTypeError(
            f"{odd!r} is not the number of a row: the first row is 1, and all rows are 'all'"
        )
    return [int(part) for part in parts]


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse options that would have no effect, and choose the format."""
    of_rows = options.given(args, ("against", "counterfactual", "class"))
    if args.row is None and of_rows:
        flags = " and ".join(map(options.flag_of, of_rows))
        parser.error(f"{flags}: which row? Give it with --row, from 1 on")
    if args.row is not None and args.relevance:
        parser.error("--relevance is about all rows together: leave out --row")
    if args.row is not None and args.target is not None:
        parser.error("--target is for the relevance of columns only: leave it out with --row")
    for name in ("wanted", "keep"):
        if getattr(args, name) and not args.counterfactual:
            parser.error(f"--{name} goes with --counterfactual")
    args.format = args.format or _format_of(args.output)
    if args.max_columns is not None and args.format != "text":
        parser.error("--max-columns goes with --format text: a table has all columns")
    if args.counterfactual and args.format == "csv" and options.given(args, ("class", "against")):
        parser.error(
            "--class and --against are not in a table of changes: use --format text or json"
        )


def _format_of(output: str | None) -> str:
    if output is None:
        return "text"
    if output.lower().endswith(".json"):
        return "json"
    return "csv" if has_known_ending(output) else "text"


def run(args: Namespace) -> None:
    """Read, explain, write."""
    check = check_table if args.format == "csv" else check_output
    check(args.output, [args.model, args.data])
    model = load_model(args)
    if args.row is None or args.counterfactual:
        what = "--counterfactual" if args.counterfactual else "the relevance of columns"
        way_out = "" if args.counterfactual else ", or explain rows with --row"
        require_network(model, what, args.model, way_out)
    named = options.given(args, ("class", "against", "wanted"))
    labels = {option: _class(model, option, text) for option, text in named.items()}
    if "class" in labels and labels["class"] == labels.get("against"):
        raise UserError(
            f"--class and --against are the same class, {args.against!r}: compare it with"
            " another one"
        )
    source, X = read_rows(model, args, args.target or model.domain_.target.name)
    if args.row is None:
        _write(_relevance(model, X, source, args), args)
    else:
        _write(_explained(model, X, source.name, labels, args), args)


def _class(model: PosteriorClassifier, option: str, text: str) -> Any:
    """Return the class that an option names, as the model has it."""
    labels = model.domain_.target.labels
    found = matcher(labels)(text)
    if found not in labels:
        raise UserError(
            f"--{option} {text!r} is none of the classes {listed(nearest_first(text, labels))}"
            f"{did_you_mean(text, labels)}"
        )
    return model.classes_.tolist()[labels.index(found)]


def _explained(model: Any, X: Any, name: str, labels: dict[str, Any], args: Namespace) -> Any:
    """Explain rows, a block at a time, since contributions to all classes take memory."""
    numbers = list(range(1, X.num_rows + 1)) if args.row == ALL else args.row
    rows = select_rows(X, numbers, name)
    keep = _checked_columns(model, args.keep or ())
    warn_unseen(model, rows, numbers)
    args.progress.stage(f"explaining {len(numbers)} row{'s' if len(numbers) > 1 else ''}")
    parts = []
    for start in range(0, len(numbers), BLOCK_ROWS):
        block = rows.slice(start, BLOCK_ROWS)
        explanation = model.explain(block, against=labels.get("against"))
        explained = Explained(explanation, numbers[start : start + BLOCK_ROWS], labels.get("class"))
        if args.counterfactual:
            single = (block.slice(k, 1) for k in range(block.num_rows))
            explained.changes = [
                model.counterfactual(row, target=labels.get("wanted"), keep=keep) for row in single
            ]
        parts.append(explained.part(args.format, args.max_columns or MAX_CONTRIBUTIONS))
    return joined(parts, args.format)


def _checked_columns(model: PosteriorClassifier, names: tuple[str, ...]) -> list[str]:
    """Return the columns of --keep, all of which the model knows."""
    columns = model.domain_.names
    for name in names:
        if name not in columns:
            raise UserError(
                f"--keep {name!r} is none of the model's columns"
                f" {listed(nearest_first(name, columns))}{did_you_mean(name, columns)}"
            )
    return list(names)


def _relevance(model: BayesNetClassifier, X: Any, source: InputTable, args: Namespace) -> Any:
    """Measure the relevance of columns over all rows, with the classes if the table has them."""
    target = args.target or model.domain_.target.name
    has_classes = args.target is not None or target in source.table.column_names
    y = classes_of(model, source, target) if has_classes else None
    args.progress.stage(f"explaining {X.num_rows} rows")
    return relevance_output(model.relevance(X, y), args.format, args.max_columns or MAX_RELEVANT)


def _write(output: Any, args: Namespace) -> None:
    """Write a table as CSV or Parquet, anything else as text."""
    if args.format == "csv":
        write_table(output, args.output)
    elif args.format == "text" and is_standard(args.output):
        print(output)
    else:
        write_bytes(f"{output}\n".encode(), args.output)

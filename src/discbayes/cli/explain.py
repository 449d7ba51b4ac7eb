"""``discbayes explain``: why a row has its class, what would change that, and which columns matter
over a table.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from discbayes._text import nearest_first
from discbayes.classifier import BayesNetClassifier
from discbayes.cli import options
from discbayes.cli.console import UserError, listed
from discbayes.cli.explain_output import Explained, joined, relevance_as
from discbayes.cli.file_tables import has_known_ending
from discbayes.cli.input_tables import InputTable, open_source
from discbayes.cli.models import features_of, load_model, set_options, text_columns
from discbayes.cli.outputs import check_output, check_table, is_standard, write_bytes, write_table
from discbayes.cli.row_selection import ALL, chosen_rows, classes_of, note_unseen, row_numbers
from discbayes.cli.spelling import matcher
from discbayes.engine import Progress

SUMMARY = (
    "say why a row has its class and what would change it, or which columns matter over a whole"
    " table"
)
EXAMPLES = """examples:
  discbayes explain model.json patients.csv --row 3
  discbayes explain model.json patients.csv --row 3 --counterfactual --keep age,sex
  discbayes explain model.json patients.csv --row 3 --class sick --against well
  discbayes explain model.json patients.csv
  discbayes explain model.json patients.csv --row all -o contributions.csv

Row 1 is the first row below the header. A number such as +1.3 is what a value adds to the log odds of the class; the
prior and all numbers add up to the log odds of the row. Without --row: the relevance of every column over all rows and,
where the table has the classes, what leaving columns out would cost."""
FORMATS = ("text", "csv", "json")
MOST, MAX_RELEVANT = 10, 20
BLOCK_ROWS = 1000


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model file that fit has written")
    parser.add_argument("data", metavar="DATA", help=options.DATA)
    parser.add_argument(
        "--row", type=row_numbers, metavar="N", help="the row to explain, from 1 on; 3,5 or all"
    )
    parser.add_argument(
        "--class",
        dest="label",
        metavar="LABEL",
        help="the class to explain (default: the decision)",
    )
    parser.add_argument(
        "--against", metavar="LABEL", help="compare with this class, not with all others together"
    )
    parser.add_argument(
        "--counterfactual",
        action="store_true",
        help="the smallest change that changes the decision",
    )
    parser.add_argument(
        "--wanted",
        metavar="LABEL",
        help="the decision that the change should lead to (default: any)",
    )
    parser.add_argument(
        "--keep", type=options.names, metavar="LIST", help="columns that must not change"
    )
    parser.add_argument(
        "--relevance",
        action="store_true",
        help="the relevance of all columns; so it is without --row",
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column with the classes (default: as the model has it)",
    )
    parser.add_argument(
        "--most",
        type=options.at_least(1),
        metavar="K",
        help=f"columns in a text (default: {MOST}, or {MAX_RELEVANT} without --row)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="the form of the output (default: by its ending, or text)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where it goes (default: stdout)")
    options.add_answering(parser)
    parser.set_defaults(finish=_finish)


def _finish(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse what would have no effect, and choose the format."""
    given = {name for name in ("label", "against", "counterfactual") if getattr(args, name)}
    if args.row is None and given:
        flags = " and ".join(f"--{'class' if name == 'label' else name}" for name in sorted(given))
        parser.error(f"{flags}: which row? Say it with --row, from 1 on")
    if args.row is not None and args.relevance:
        parser.error("--relevance is about all rows together: leave out --row")
    if args.row is not None and args.target is not None:
        parser.error(
            "--target is of use for the relevance of columns only: leave it out with --row"
        )
    for name in ("wanted", "keep"):
        if getattr(args, name) and not args.counterfactual:
            parser.error(f"--{name} goes with --counterfactual")
    args.format = args.format or _format_of(args.output)
    if args.most is not None and args.format != "text":
        parser.error("--most goes with --format text: a table has all columns")
    if args.counterfactual and args.format == "csv" and (args.label or args.against):
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
    _check_output(args)
    progress = options.progress(args)
    model = load_model(args.model)
    set_options(model, args)
    domain = model.network_.domain
    labels = {
        name: _class(model, name, getattr(args, name)) for name in ("label", "against", "wanted")
    }
    if args.against and labels["label"] == labels["against"]:
        raise UserError(
            f"--class and --against are the same class, {args.against!r}: compare it with"
            " another one"
        )
    target = args.target or domain.target.name
    source = open_source(
        args.data, options.reading(args), {target, *text_columns(domain)}, progress
    )
    X = features_of(domain, source, {target}, progress)
    if args.row is None:
        _write(_relevance(model, X, source, target, args, progress), args)
    else:
        _write(_explained(model, X, source, labels, args, progress), args)


def _class(model: BayesNetClassifier, option: str, text: str | None) -> Any:
    """The class that an option names, as the model has it."""
    if text is None:
        return None
    labels = model.network_.domain.target.labels
    found = matcher(labels)(text)
    if found not in labels:
        flag = "class" if option == "label" else option
        raise UserError(
            f"--{flag} {text!r} is none of the classes {listed(nearest_first(text, labels))}"
        )
    return model.classes_.tolist()[labels.index(found)]


def _explained(
    model: BayesNetClassifier,
    X: Any,
    source: InputTable,
    labels: dict[str, Any],
    args: Namespace,
    progress: Progress,
) -> Any:
    """Some rows, a block of them at a time, since contributions to all classes take memory."""
    numbers = list(range(1, X.num_rows + 1)) if args.row == ALL else args.row
    rows, keep = chosen_rows(X, numbers, source.name), _kept(model, args.keep or ())
    note_unseen(model, rows, numbers)
    progress.stage(f"explaining {len(numbers)} row{'s' if len(numbers) > 1 else ''}")
    pieces = []
    for start in range(0, len(numbers), BLOCK_ROWS):
        block = rows.slice(start, BLOCK_ROWS)
        explanation = model.explain(block, against=labels["against"])
        explained = Explained(explanation, numbers[start : start + BLOCK_ROWS], labels["label"])
        if args.counterfactual:
            single = (block.slice(k, 1) for k in range(block.num_rows))
            explained.changes = [
                model.counterfactual(row, target=labels["wanted"], keep=keep) for row in single
            ]
        pieces.append(explained.piece(args.format, args.most or MOST))
    return joined(pieces, args.format)


def _kept(model: BayesNetClassifier, names: Sequence[str]) -> list[str]:
    columns = model.network_.domain.names
    for name in names:
        if name not in columns:
            raise UserError(
                f"--keep {name!r} is none of the model's columns"
                f" {listed(nearest_first(name, columns))}"
            )
    return list(names)


def _relevance(
    model: BayesNetClassifier,
    X: Any,
    source: InputTable,
    target: str,
    args: Namespace,
    progress: Progress,
) -> Any:
    """Over all rows; classes count where the table has them, and must be there if --target names
    them.
    """
    has_classes = args.target is not None or target in source.table.column_names
    y = classes_of(model, source, target) if has_classes else None
    progress.stage(f"explaining {X.num_rows} rows")
    return relevance_as(model.relevance(X, y), args.format, args.most or MAX_RELEVANT)


def _check_output(args: Namespace) -> None:
    check = check_table if args.format == "csv" else check_output
    check(args.output, [args.model, args.data])


def _write(what: Any, args: Namespace) -> None:
    """A table as CSV or Parquet, anything else as text."""
    if args.format == "csv":
        write_table(what, args.output)
    elif args.format == "text" and is_standard(args.output):
        print(what)
    else:
        write_bytes(f"{what}\n".encode(), args.output)

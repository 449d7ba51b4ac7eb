"""``discbayes report``: the model as one HTML file that can be sent to a colleague."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from discbayes._memory import in_bytes
from discbayes.classifier import BayesNetClassifier
from discbayes.cli import options
from discbayes.cli.input_tables import open_source
from discbayes.cli.models import classes_of, features_of, load_model, set_options, text_columns
from discbayes.cli.outputs import check_output, is_standard, write_bytes
from discbayes.engine import Progress

SUMMARY = "write an HTML report of the model, with its quality on a table"
EXAMPLES = """examples:
  discbayes report model.json
  discbayes report model.json test.csv -o report.html
  discbayes report model.json test.csv --target diagnosis

The report is a single self-contained HTML file; it needs no server. In the browser it shows the
network and predicts cases. Quality is measured on the rows of DATA: on rows that the model was
fitted on, the figures are optimistic."""
REPORT = "report.html"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    options.add_model(parser)
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="test rows with classes: a file or a data set"
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column with the classes (default: as the model has it)",
    )
    parser.add_argument(
        "-o",
        "--output",
        default=REPORT,
        metavar="FILE",
        help=f"the report to write (default: {REPORT})",
    )
    options.add_prediction(parser)
    parser.set_defaults(finish=_finish)


def _finish(parser: ArgumentParser, args: Namespace) -> None:
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("target", "unknown", "n_draws")
        if getattr(args, name)
    ]
    if args.data is None and given:
        parser.error(f"{' and '.join(given)}: this needs DATA")


def run(args: Namespace) -> None:
    """Read, write the report, print its name and size."""
    check_output(args.output, [args.model, args.data])
    progress = options.progress(args)
    model = load_model(args.model)
    set_options(model, args)
    X, y = (None, None) if args.data is None else _test_rows(model, args, progress)
    progress.stage("writing the report")
    if is_standard(args.output):
        write_bytes(model.report(None, X, y).html.encode(), args.output)
        return
    model.report(args.output, X, y)
    print(f"{args.output}: {in_bytes(Path(args.output).stat().st_size)}")


def _test_rows(model: BayesNetClassifier, args: Namespace, progress: Progress) -> tuple[Any, Any]:
    domain = model.network_.domain
    target = args.target or domain.target.name
    source = open_source(args, {target, *text_columns(domain)}, progress)
    return features_of(domain, source, {target}, progress), classes_of(model, source, target)

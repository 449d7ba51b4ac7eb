"""``discbayes report``: the model as one HTML file that can be sent to a colleague."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._memory import in_bytes
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.cli import options
from discbayes.cli.card_file import read_card
from discbayes.cli.models import labeled_rows, load_model, read_rows
from discbayes.cli.outputs import check_output, is_standard, write_bytes

SUMMARY = "write an HTML report of the model, with its quality on a table"
EXAMPLES = """examples:
  discbayes report model.json
  discbayes report model.json test.csv -o report.html
  discbayes report model.json test.csv --target diagnosis --by sex --card card.json

The report is a single self-contained HTML file; it needs no server. In the browser it shows the
network and predicts cases. Quality is measured on the rows of DATA: on rows that the model was
fitted on, the figures are optimistic."""
REPORT = "report.html"
COMMON = (
    "--target",
    "--output",
    "--na-values",
    "--delimiter",
    "--decimal",
)  # options of the short help


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    options.add_model(parser)
    add("DATA", "test rows with classes: a file or a data set", nargs="?")
    options.add_known_target(parser)
    add("-o, --output FILE", f"the report to write (default: {REPORT})", default=REPORT)
    options.add_heading(parser)
    by = "column such as sex: the model card has the metrics of each of its groups"
    add("--by COLUMN", by)
    options.add_prediction(parser)


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse options that would have no effect."""
    idle = options.given(args, ("target", "unknown", "by", *options.LIMITS))
    if args.data is None and idle:
        parser.error(f"{' and '.join(map(options.flag_of, idle))}: this needs DATA")


def run(args: Namespace) -> None:
    """Read, write the report, print its name and size."""
    check_output(args.output, [args.model, args.data])
    model = load_model(args)
    X, y, groups = (None, None, None) if args.data is None else _test_rows(model, args)
    args.progress.stage("writing the report")
    says = {"title": args.title, "source": args.source, "card": read_card(args.card)}
    if is_standard(args.output):
        report = model.report(None, X, y, **says, by=groups)
        write_bytes(report.html.encode(), args.output)
        return
    model.report(args.output, X, y, **says, by=groups)
    print(f"{args.output}: {in_bytes(Path(args.output).stat().st_size)}")


def _test_rows(model: PosteriorClassifier, args: Namespace) -> tuple[Any, Any, Any]:
    """Return the rows with a class, their labels, and the group of each row."""
    target = args.target or model.domain_.target.name
    source, X = read_rows(model, args, target)
    groups = None
    if args.by is not None:
        source.require([args.by], "--by")
        known = np.array(source.table.column(target).is_valid().to_pylist(), dtype=bool)
        values = source.table.column(args.by).to_pylist()
        groups = [value for value, is_known in zip(values, known, strict=True) if is_known]
    return *labeled_rows(model, source, X, target), groups

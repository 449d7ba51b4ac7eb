"""``discbayes fit``: learn a model from a table and save it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from discbayes.classifier import BayesNetEnsemble
from discbayes.classifier.fitting import UNLABELED
from discbayes.cli import options
from discbayes.cli.batch_input import fit_batches, reads_batches
from discbayes.cli.card_file import read_card
from discbayes.cli.console import UserError
from discbayes.cli.outputs import check_output, is_standard, write_bytes
from discbayes.cli.reading import stored_format
from discbayes.cli.splits import add_splitting, hold_out, test_size
from discbayes.cli.training import Training, load_training, require_target
from discbayes.evaluation.quality import TEST, Quality, codes_of_labels
from discbayes.io.model import pack
from discbayes.report import make_ensemble_report, make_report
from discbayes.report.heading import Heading

SUMMARY = "learn a model from a table and save it"
EXAMPLES = """examples:
  discbayes fit patients.csv --target diagnosis -o model.json
  discbayes fit patients.csv --target diagnosis -o model.json --test-size 0.3 --report report.html
  discbayes fit patients.csv --target diagnosis --categorical zip,ward -o model.json
  discbayes fit patients.csv --target diagnosis --structure kdb --k 2 -o model.json
  discbayes fit patients.csv --target diagnosis --recipe TAN-OMI-CR-CL -o model.json
  discbayes fit big.parquet --target diagnosis --parameters map --memory 2GB -o model.json
  discbayes fit rows/ --target diagnosis --calibrate none --workers 4 -o model.json
  discbayes fit rows/ --target diagnosis --calibrate none \\
      --cluster tcp://10.0.0.5:8786 -o model.json
  discbayes fit patients.csv --target diagnosis --ensemble -o model.json
  discbayes fit iris -o iris.json"""

_IN_MEMORY = (
    "--test-size needs all rows in memory; keep test rows in a file of their own, for `discbayes"
    " evaluate --model`"
)
COMMON = (
    "--output",
    "--target",
    "--test-size",
    "--report",
    "--groups",
    "--time",
    "--drop",
    "--categorical",
    "--na-values",
    "--delimiter",
    "--decimal",
    "--ensemble",
)  # options of the short help


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    add("DATA", options.DATA_OR_FOLDER)
    add("-o, --output MODEL", "the model file to write (JSON); - is stdout", required=True)
    add("--report FILE", "write an HTML report of the model too")
    options.add_heading(parser)
    group = add_splitting(parser)
    held_out = (
        "hold out this share of the rows, such as 0.3: the model is learned from the others, and"
        " its metrics on the held-out rows are printed and are in the report"
    )
    options.add(group, "--test-size SHARE", held_out, test_size)
    options.add_target(parser)
    options.add_learning(parser)
    add(
        "--unlabeled",
        "rows without a class: drop leaves them out, use learns parameters from them as well, as"
        " far as held-out labeled rows speak for it, error refuses them (default: a few are left"
        " out)",
        choices=list(UNLABELED),
    )
    options.add_effort(parser)
    options.add_memory(parser)
    options.add_cluster(parser)
    options.add_reading(parser)


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Complete the options of learning, and check them."""
    options.fill_learning(parser, args)
    require_target(parser, args)
    by = options.given(args, ("groups", "time"))
    if by and args.test_size is None:
        parser.error(f"{options.flag_of(next(iter(by)))} goes with --test-size")
    in_batches = options.given(args, ("memory", "workers", "cluster"))
    if args.test_size is not None and in_batches:
        parser.error(f"{options.flag_of(next(iter(in_batches)))}: {_IN_MEMORY}")
    if args.ensemble is not None and args.unlabeled in ("drop", "use"):
        parser.error("--ensemble learns from labeled rows only: leave out --unlabeled")


def run(args: Namespace) -> None:
    """Fit and save."""
    for output in (args.output, args.report):
        check_output(output, [args.data])
    verbose = args.progress.verbose
    test = None
    if reads_batches(args):
        if args.test_size is not None:
            raise UserError(f"{args.data}: {_IN_MEMORY}")
        model = _new_model(args, verbose)
        fit_batches(args, model)
    else:
        training = load_training(args)
        if args.test_size is not None:
            training, test = (training.take(rows) for rows in hold_out(training, args))
            args.progress.stage(f"{len(training.y):,} training rows, {len(test.y):,} test rows")
        model = _new_model(args, verbose)
        model.fit(training.X, training.y, sample_weight=training.weight)
    # how this run was carried out is not a property of the model
    model.set_params(verbose=0, memory=None, cluster=None)
    model.csv_format_ = stored_format(args)
    write_bytes(pack(model), args.output)
    if not is_standard(args.output):
        args.progress.stage(f"model saved in {args.output}")
    if test is not None:
        _print_quality(model, test, args)
    if args.report is not None:
        _write_report(model, test, args)


def _print_quality(model: Any, test: Training, args: Namespace) -> None:
    """Print the metrics of the test rows, on the error stream if the model is on the other one."""
    labels = model.domain_.target.labels
    codes = codes_of_labels(test.y.values, labels)
    quality = Quality(labels, model.predict_proba(test.X), codes, test.weight, TEST)
    print(quality, file=sys.stderr if is_standard(args.output) else sys.stdout)


def _write_report(model: Any, test: Training | None, args: Namespace) -> None:
    if test is None:
        args.progress.stage("the report has no metrics: --test-size 0.3 holds out rows for them")
    make = make_ensemble_report if isinstance(model, BayesNetEnsemble) else make_report
    heading = Heading(args.title, args.source, read_card(args.card))
    if test is None:
        report = make(model, heading=heading)
    else:
        report = make(model, test.X, test.y.values, rows_are=TEST, heading=heading)
    write_bytes(report.html.encode(), args.report)
    args.progress.stage(f"report written to {args.report}")


def _new_model(args: Namespace, verbose: int) -> Any:
    """Return the classifier of the options, not fitted."""
    model = options.classifier(args, verbose)
    if args.unlabeled not in ("drop", "use"):
        return model
    return model.set_params(unlabeled=args.unlabeled)

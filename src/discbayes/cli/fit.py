"""``discbayes fit``: learn a model from a table and save it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from discbayes.cli import options
from discbayes.cli.batch_input import fit_batches, reads_batches
from discbayes.cli.outputs import check_output, is_standard, write_bytes
from discbayes.cli.reading import stored_format
from discbayes.cli.training import load_training, require_target
from discbayes.io.model import pack

SUMMARY = "learn a model from a table and save it"
EXAMPLES = """examples:
  discbayes fit patients.csv --target diagnosis -o model.json
  discbayes fit patients.csv --target diagnosis --categorical zip,ward -o model.json
  discbayes fit patients.csv --target diagnosis --structure kdb --k 2 -o model.json
  discbayes fit patients.csv --target diagnosis --recipe TAN-OMI-CR-CL -o model.json
  discbayes fit big.parquet --target diagnosis --parameters map --memory 2GB -o model.json
  discbayes fit rows/ --target diagnosis --calibrate none --workers 4 -o model.json
  discbayes fit rows/ --target diagnosis --calibrate none \\
      --cluster tcp://10.0.0.5:8786 -o model.json
  discbayes fit patients.csv --target diagnosis --ensemble -o model.json
  discbayes fit iris -o iris.json"""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    add("DATA", options.DATA_OR_FOLDER)
    add("-o, --output MODEL", "the model file to write (JSON); - is stdout", required=True)
    options.add_target(parser)
    options.add_learning(parser)
    options.add_effort(parser)
    options.add_memory(parser)
    options.add_cluster(parser)
    options.add_reading(parser)


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Complete the options of learning, and check them."""
    options.fill_learning(parser, args)
    require_target(parser, args)


def run(args: Namespace) -> None:
    """Fit and save."""
    check_output(args.output, [args.data])
    verbose = args.progress.verbose
    if reads_batches(args):
        model = options.classifier(args, verbose)
        fit_batches(args, model)
    else:
        training = load_training(args)
        model = options.classifier(args, verbose)
        model.fit(training.X, training.y, sample_weight=training.weight)
    # how this run was carried out is not a property of the model
    model.set_params(verbose=0, memory=None, cluster=None)
    model.csv_format_ = stored_format(args)
    write_bytes(pack(model), args.output)
    if not is_standard(args.output):
        args.progress.stage(f"model saved in {args.output}")

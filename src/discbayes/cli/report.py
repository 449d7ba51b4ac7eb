"""``discbayes report``: the model as one page that can be sent to a colleague."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from discbayes.classifier import BayesNetClassifier
from discbayes.cli import options
from discbayes.cli.input_tables import open_source
from discbayes.cli.models import features_of, load_model, set_options, text_columns
from discbayes.cli.outputs import check_output, is_standard, write_bytes
from discbayes.cli.row_selection import classes_of
from discbayes.engine import Progress

SUMMARY = (
    "write a page with the network, which answers in the browser, and with how good it is on a"
    " table"
)
EXAMPLES = """examples:
  discbayes report model.json
  discbayes report model.json test.csv -o report.html
  discbayes report model.json test.csv --target diagnosis

The page is one file that asks nothing of any server. Figures of quality are those of the rows of DATA: rows that the
model has not learned from say more than those that it has."""
PAGE = "report.html"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model file that fit has written")
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="rows with classes to test on: a file or a data set"
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column with the classes (default: as the model has it)",
    )
    parser.add_argument(
        "-o", "--output", default=PAGE, metavar="FILE", help=f"the page to write (default: {PAGE})"
    )
    options.add_answering(parser)
    parser.set_defaults(finish=_finish)


def _finish(parser: ArgumentParser, args: Namespace) -> None:
    idle = [
        f"--{name.replace('_', '-')}"
        for name in ("target", "unknown", "n_draws")
        if getattr(args, name)
    ]
    if args.data is None and idle:
        parser.error(f"{' and '.join(idle)}: there is no DATA that it could be about")


def run(args: Namespace) -> None:
    """Read, write the page, say where it is."""
    check_output(args.output, [args.model, args.data])
    progress = options.progress(args)
    model = load_model(args.model)
    set_options(model, args)
    X, y = (None, None) if args.data is None else _rows(model, args, progress)
    progress.stage("writing the page")
    if is_standard(args.output):
        write_bytes(model.report(None, X, y).html.encode(), args.output)
        return
    model.report(args.output, X, y)
    print(f"{args.output}: {_size(Path(args.output).stat().st_size)}")


def _rows(model: BayesNetClassifier, args: Namespace, progress: Progress) -> tuple[Any, Any]:
    domain = model.network_.domain
    target = args.target or domain.target.name
    source = open_source(
        args.data, options.reading(args), {target, *text_columns(domain)}, progress
    )
    return features_of(domain, source, {target}, progress), classes_of(model, source, target)


def _size(n_bytes: int) -> str:
    """The size of a file.

    >>> _size(153_600), _size(2_411_724)
    ('154 KB', '2.4 MB')
    """
    return f"{n_bytes / 1e3:.0f} KB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"

"""``discbayes compare``: cross-validate recipes and classifiers of other libraries on one table."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from discbayes.cli import options
from discbayes.cli.console import STANDARD, complain, with_options
from discbayes.cli.outputs import check_output
from discbayes.cli.training import load_training, require_target
from discbayes.evaluation.method_names import (
    BASELINES,
    DEFAULT_BASELINES,
    DEFAULT_RECIPES,
    PAGE,
    PEERS,
    ROWS,
    SORTS,
    TABLE,
)
from discbayes.evaluation.result_blocks import as_text

SUMMARY = "compare recipes and classifiers of other libraries on a table"
_LISTED = "; ".join(f"{name} {text}" for name, text in BASELINES.items())
EXAMPLES = f"""examples:
  discbayes compare patients.csv --target diagnosis
  discbayes compare patients.csv --target diagnosis --missing 0,10,...,90
  discbayes compare patients.csv --target diagnosis --recipes TAN-MAP,KDB2-MAP --baselines lr,hgb
  discbayes compare patients.csv --target diagnosis --baselines rf,lightgbm,catboost
  discbayes compare breast-cancer --cv 10 --folder results

Everything, the preparation of columns included, is learned again in each fold, on its training rows
alone. Results are stored as they come: an interrupted run resumes where it stopped when it is
started again, and more methods can be added to a folder.

baselines: {_LISTED}.
{", ".join(PEERS)} need the extra peers (pip install 'discbayes[peers]')"""
NONE = "none"
DOTS = ("...", "…")
COMMON = (
    "--recipes",
    "--baselines",
    "--missing",
    "--folder",
    "--target",
    "--drop",
    "--categorical",
    "--na-values",
    "--delimiter",
    "--decimal",
)  # options of the short help


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    add("DATA", options.DATA)
    tags = f"tags, see `discbayes recipes`, or {NONE} (default: {','.join(DEFAULT_RECIPES)})"
    add("--recipes LIST", tags, options.names, default=DEFAULT_RECIPES)
    others = f"of {', '.join(BASELINES)}, or {NONE} (default: {','.join(DEFAULT_BASELINES)})"
    add("--baselines LIST", others, options.names, default=DEFAULT_BASELINES)
    add("--cv K", "number of stratified folds (default: 5)", options.at_least(2), default=5)
    removed = (
        "percentages of the cells of test rows to remove at random, such as 0,10,...,90"
        " (default: none)"
    )
    add("--missing LIST", removed, shares, default=())
    add("--sort", f"metric to sort by (default: {SORTS[0]})", choices=SORTS, default=SORTS[0])
    add("--seed N", "seed of everything random", options.at_least(0), default=0)
    add("--folder DIR", "folder of results and page (default: compare-NAME)")
    add("--fresh", "remove an earlier comparison from the folder")
    options.add_target(parser, weights=False)
    options.add_effort(parser, "processes")
    options.add_reading(parser)
    parser.set_defaults(weights=None)


def shares(text: str) -> tuple[int, ...]:
    """Parse whole percentages between commas; dots continue in the same steps.

    >>> shares("0,10,...,40,90")
    (0, 10, 20, 30, 40, 90)
    """
    found: list[int] = []
    words = [word.strip() for word in text.split(",")]
    for place, word in enumerate(words):
        if word in DOTS:
            step = found[-1] - found[-2] if len(found) > 1 and place + 1 < len(words) else 0
            if step <= 0:
                raise ArgumentTypeError(
                    f"{text!r}: dots stand after two rising percentages and before one more"
                )
            found.extend(range(found[-1] + step, _share(words[place + 1]), step))
        else:
            found.append(_share(word))
    return tuple(found)


def _share(text: str) -> int:
    if not text.isdigit() or int(text) > 100:
        raise ArgumentTypeError(f"{text!r} is not a whole percentage from 0 to 100")
    return int(text)


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Complete the options, and check the methods before any data are read."""
    args.drop = getattr(args, "drop", ())
    args.categorical = getattr(args, "categorical", ())
    args.recipes = () if args.recipes == (NONE,) else args.recipes
    args.baselines = () if args.baselines == (NONE,) else args.baselines
    # with all of scikit-learn's classifiers
    from discbayes.evaluation.comparison.running import check_methods

    try:
        check_methods(args.recipes, args.baselines)
    except (ValueError, ModuleNotFoundError) as error:
        parser.error(str(error).replace("recipes()", "`discbayes recipes`"))
    require_target(parser, args)


def run(args: Namespace) -> None:
    """Print the table, and where the page and the results are."""
    from discbayes.evaluation.comparison.running import compare

    os.environ.setdefault("MPLBACKEND", "agg")  # pictures go to a file: no display is needed
    name = "stdin" if args.data == STANDARD else Path(args.data).name
    folder = Path(args.folder or f"compare-{name.split('.')[0]}".replace(":", "-"))
    for file in (PAGE, TABLE, ROWS):
        if folder.is_dir():
            check_output(str(folder / file), [args.data])
    data = load_training(args)
    data.require_rows(args.cv)
    try:
        found = compare(
            data.X,
            data.y,
            args.recipes,
            args.baselines,
            cv=args.cv,
            missing=args.missing,
            categorical=list(args.categorical) or "auto",
            sort=args.sort,
            folder=folder,
            fresh=args.fresh,
            n_jobs=args.n_jobs,
            random_state=args.seed,
            progress=args.progress,
            name=name,
        )
    except KeyboardInterrupt:
        complain(
            "note",
            f"finished results are kept in {folder}: the same command, without --fresh, resumes"
            " there",
        )
        raise
    print(with_options(as_text(found.tables())), end="\n\n")
    for what, file in (("page", PAGE), ("table", TABLE), ("rows", ROWS)):
        print(f"{what}: {folder / file}")
    if found.failed:
        complain(
            "warning",
            f"failed: {', '.join(found.failed)}; the notes give the reason, --fresh tries again",
        )

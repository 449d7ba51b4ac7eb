"""``discbayes evaluate``: cross-validation, or the score of a saved model."""

from __future__ import annotations

import warnings
from argparse import SUPPRESS, ArgumentParser, Namespace
from contextlib import suppress
from time import perf_counter

import numpy as np

from discbayes._text import listed
from discbayes.classifier import BayesNetClassifier, FitPlan
from discbayes.cli import options
from discbayes.cli.console import UserError, complain
from discbayes.cli.input_tables import InputTable, as_text, matched, open_source
from discbayes.cli.models import features_of, load_model, set_options, text_columns
from discbayes.cli.scoring import Score, accuracy_and_loss, fold_table, model_table
from discbayes.cli.training import Training, load_training, read_weights, require_target
from discbayes.data import DataWarning
from discbayes.data.folds import stratified_folds
from discbayes.data.targets import classes_and_codes
from discbayes.engine import Progress, interrupts_end_runs

SUMMARY = "cross-validate a learning method, or score a saved model"
EXAMPLES = """examples:
  discbayes evaluate patients.csv --target diagnosis --structure nb --cv 10
  discbayes evaluate patients.csv --target diagnosis --model model.json
  discbayes evaluate iris --recipe TAN-fCLL-OFE
  discbayes evaluate iris

Everything, discretization included, is learned again in each fold, on its training rows alone.
With --weights the metrics are weighted too."""
DEFAULT_FOLDS = 5
WARM_UP_ROWS = 100


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("data", metavar="DATA", help=options.DATA)
    parser.add_argument(
        "--model", metavar="MODEL", help="score this model file instead of learning"
    )
    parser.add_argument(
        "--cv",
        type=options.at_least(2),
        default=SUPPRESS,
        metavar="K",
        help=f"number of stratified folds (default: {DEFAULT_FOLDS})",
    )
    options.add_unknown(parser)
    options.add_draws(parser)
    options.add_target(parser)
    options.add_learning(parser)
    options.add_effort(parser)
    options.add_reading(parser)
    parser.set_defaults(finish=_finish)


def _finish(parser: ArgumentParser, args: Namespace) -> None:
    idle = [*options.given_learning(args), *(["--cv"] if hasattr(args, "cv") else [])]
    if args.model is not None:
        if idle:
            parser.error(
                f"{', '.join(idle)}: a saved model is not learned again; leave this out with"
                " --model"
            )
        return
    args.cv = getattr(args, "cv", DEFAULT_FOLDS)
    options.fill_learning(parser, args)
    require_target(parser, args)


def run(args: Namespace) -> None:
    """Print the table of metrics."""
    progress = options.progress(args)
    # a fold that is only partly learned must not be averaged with the others
    with interrupts_end_runs():
        print(
            _cross_validate(args, progress) if args.model is None else _score_model(args, progress)
        )


# ---- cross-validation


def _cross_validate(args: Namespace, progress: Progress) -> str:
    data = load_training(args, progress)
    scores, folds = [], _folds(data, args)
    # warns of what is noteworthy in the columns, once for all folds
    encoder = FitPlan.of(_classifier(args)).new_encoder()
    encoder.fit_transform(data.X, data.y, data.weight)
    encoder.warn_of_unused()
    _warm_up(args, data, folds[0][0])
    for number, (train, test) in enumerate(folds, 1):
        progress.stage(f"fold {number} of {args.cv}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            scores.append(_score_fold(args, data.take(train), data.take(test)))
    return fold_table(scores)


def _folds(data: Training, args: Namespace) -> list[tuple[np.ndarray, np.ndarray]]:
    labels = data.y.values.astype(str)
    if len(labels) < args.cv:
        raise UserError(
            f"{len(labels)} rows cannot be split into {args.cv} folds; --cv {len(labels)} can"
        )
    classes, codes = classes_and_codes(labels)
    sizes = np.bincount(codes)
    if sizes.min() < args.cv:
        rare = (
            f"{str(classes[sizes.argmin()])!r}, has {sizes.min()} rows, fewer than the {args.cv}"
            " folds"
        )
        complain("warning", f"The least populated class, {rare}: it is not tested in all of them")
    # those of `discbayes compare`
    fold = stratified_folds(codes, args.cv, np.random.default_rng(args.seed))
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(args.cv)]


def _warm_up(args: Namespace, data: Training, rows: np.ndarray) -> None:
    """Fit to a few rows first, so that the times of the first fold do not include compiling."""
    few = data.take(rows[:: max(1, rows.size // WARM_UP_ROWS)])
    # the folds report what is wrong with the data
    with warnings.catch_warnings(), suppress(ValueError):
        warnings.simplefilter("ignore")
        _classifier(args).fit(few.X, few.y, sample_weight=few.weight).predict_proba(few.X)


def _classifier(args: Namespace) -> BayesNetClassifier:
    return options.classifier(args).set_params(
        n_draws=args.n_draws, unknown=args.unknown or "marginalize"
    )


def _score_fold(args: Namespace, train: Training, test: Training) -> Score:
    model = _classifier(args)
    start = perf_counter()
    model.fit(train.X, train.y, sample_weight=train.weight)
    fitted = perf_counter()
    shares = model.predict_proba(test.X)
    done = perf_counter()
    accuracy, loss = accuracy_and_loss(shares, model.classes_.tolist(), test.y.values, test.weight)
    return Score(accuracy, loss, fitted - start, done - fitted)


# ---- a saved model


def _score_model(args: Namespace, progress: Progress) -> str:
    model = load_model(args.model)
    set_options(model, args)
    domain = model.network_.domain
    target = args.target or domain.target.name
    source = open_source(args, {target, *text_columns(domain)}, progress)
    source.require([target], "the target")
    weight = read_weights(source, args.weights)
    X = features_of(domain, source, {target, args.weights}, progress)
    labels = _known_labels(source, target, domain.target.labels)
    _check_labels(labels, domain.target.labels, args)
    progress.stage(f"scoring {X.num_rows} rows")
    model.predict_proba(X.slice(0, WARM_UP_ROWS))
    start = perf_counter()
    shares = model.predict_proba(X)
    seconds = perf_counter() - start
    return model_table(
        args.model,
        Score(*accuracy_and_loss(shares, domain.target.labels, labels, weight), 0.0, seconds),
    )


def _known_labels(source: InputTable, target: str, known: list[str]) -> np.ndarray:
    """Return the class of every row, in the spelling of the model."""
    column = as_text(source.table, [target]).column(target)
    return np.array(matched(column, known).to_pylist(), dtype=object)


def _check_labels(labels: np.ndarray, known: list[str], args: Namespace) -> None:
    """Warn of classes that the model has never seen; raise an error if there are no others."""
    found = {label for label in labels if label is not None}
    strange = sorted(found - set(known))
    if len(strange) == len(found):
        raise UserError(
            f"no class of {args.data} is one of the model's, {listed(known)}: is --target right?"
        )
    if strange:
        complain(
            "warning", f"classes that the model has never seen count as errors: {listed(strange)}"
        )

"""``discbayes evaluate``: cross-validation, or the score of a saved model."""

from __future__ import annotations

import warnings
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np

from discbayes._text import listed, text_table
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble, FitPlan
from discbayes.cli import options
from discbayes.cli.console import UserError, complain
from discbayes.cli.models import load_model, matched_labels, read_rows
from discbayes.cli.training import Training, load_training, read_weights, require_target
from discbayes.data import DataWarning
from discbayes.data.folds import stratified_folds
from discbayes.data.targets import classes_and_codes
from discbayes.engine import interrupts_end_runs
from discbayes.evaluation.metrics import accuracy, log_loss

SUMMARY = "cross-validate a learning method, or score a saved model"
EXAMPLES = """examples:
  discbayes evaluate patients.csv --target diagnosis --structure nb --cv 10
  discbayes evaluate patients.csv --target diagnosis --model model.json
  discbayes evaluate iris --recipe TAN-fCLL-OFE
  discbayes evaluate iris

Everything, discretization included, is learned again in each fold, on its training rows alone.
With --weights the metrics are weighted too."""
DEFAULT_FOLDS = 5
HEADER = ("accuracy", "log loss", "fit s", "predict s")
Figures = tuple[float, float, float, float]  # of one fold, in the order of the header
WARM_UP_ROWS = 100


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    add("DATA", options.DATA)
    add("--model MODEL", "score this model file instead of learning")
    folds = f"number of stratified folds (default: {DEFAULT_FOLDS})"
    add("--cv K", folds, options.at_least(2), default=SUPPRESS)
    options.add_unknown(parser)
    options.add_limits(parser)
    options.add_target(parser)
    options.add_learning(parser)
    options.add_effort(parser)
    options.add_reading(parser)


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Complete the options of learning, or refuse them if a saved model is scored."""
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
    # a fold that is only partly learned must not be averaged with the others
    with interrupts_end_runs():
        print(_cross_validate(args) if args.model is None else _score_model(args))


# ---- cross-validation


def _cross_validate(args: Namespace) -> str:
    data = load_training(args)
    scores, folds = [], _folds(data, args)
    # warns of what is noteworthy in the columns, once for all folds
    encoder = _plan(_classifier(args)).new_encoder()
    encoder.fit_transform(data.X, data.y, data.weight)
    encoder.warn_of_unused()
    _warm_up(args, data, folds[0][0])
    for number, (train, test) in enumerate(folds, 1):
        args.progress.stage(f"fold {number} of {args.cv}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            scores.append(_score_fold(args, data.take(train), data.take(test)))
    return fold_table(np.array(scores))


def _folds(data: Training, args: Namespace) -> list[tuple[np.ndarray, np.ndarray]]:
    data.require_rows(args.cv)
    classes, codes = classes_and_codes(data.y.values.astype(str))
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


def _plan(model: BayesNetClassifier | BayesNetEnsemble) -> FitPlan:
    """Return the plan of a fit; of an ensemble, that of its first member."""
    return model.member_plans()[0] if isinstance(model, BayesNetEnsemble) else FitPlan.of(model)


def _classifier(args: Namespace) -> Any:
    limits = options.given(args, options.LIMITS)
    return options.classifier(args).set_params(**limits, unknown=args.unknown or "marginalize")


def _score_fold(args: Namespace, train: Training, test: Training) -> Figures:
    model = _classifier(args)
    start = perf_counter()
    model.fit(train.X, train.y, sample_weight=train.weight)
    fitted = perf_counter()
    shares = model.predict_proba(test.X)
    done = perf_counter()
    metrics = accuracy_and_loss(shares, model.classes_.tolist(), test.y.values, test.weight)
    return *metrics, fitted - start, done - fitted


# ---- a saved model


def _score_model(args: Namespace) -> str:
    model = load_model(args)
    known = model.domain_.target.labels
    target = args.target or model.domain_.target.name
    source, X = read_rows(model, args, target, args.weights)
    source.require([target], "the target")
    weight = read_weights(source, args.weights)
    labels = np.array(matched_labels(source, target, known), dtype=object)
    _check_labels(labels, known, args)
    args.progress.stage(f"scoring {X.num_rows} rows")
    model.predict_proba(X.slice(0, WARM_UP_ROWS))
    start = perf_counter()
    shares = model.predict_proba(X)
    seconds = perf_counter() - start
    return model_table(args.model, *accuracy_and_loss(shares, known, labels, weight), seconds)


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


# ---- metrics


def accuracy_and_loss(
    shares: np.ndarray, classes: Sequence[str], labels: np.ndarray, weight: np.ndarray | None
) -> tuple[float, float]:
    """Return the accuracy and the log loss of a posterior.

    A row of a class that the model has never seen counts as wrong, with the smallest probability.

    >>> shares = np.array([[0.9, 0.1], [0.5, 0.5]])
    >>> accuracy_and_loss(shares, ["no", "yes"], np.array(["no", "yes"]), None)
    (0.5, 0.399...)
    """
    index = {label: code for code, label in enumerate(classes)}
    codes = np.array([index.get(label, -1) for label in labels])
    return accuracy(shares, codes, weight), log_loss(shares, codes, weight)


def fold_table(values: np.ndarray) -> str:
    """Format a row for each fold, and mean ± standard deviation below."""
    rows = [[str(number), *_cells(row)] for number, row in enumerate(values, 1)]
    mean, deviation = _cells(values.mean(axis=0)), _cells(values.std(axis=0, ddof=1))
    rows.append(["mean ± sd", *(f"{m} ± {d}" for m, d in zip(mean, deviation, strict=True))])
    return text_table(["fold", *HEADER], rows)


def model_table(name: str, share: float, loss: float, seconds: float) -> str:
    """Format one row for a saved model, with a note on rows that it may have been fitted to."""
    cells = [name, f"{share:.4f}", f"{loss:.4f}", f"{seconds:.3f}"]
    table = text_table(["model", "accuracy", "log loss", "predict s"], [cells])
    return f"{table}\non the rows of DATA: optimistic if the model was learned from them"


def _cells(row: np.ndarray) -> list[str]:
    return [f"{row[0]:.4f}", f"{row[1]:.4f}", f"{row[2]:.3f}", f"{row[3]:.3f}"]

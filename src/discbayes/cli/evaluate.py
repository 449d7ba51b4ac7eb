"""``discbayes evaluate``: cross-validation, or the score of a saved model."""

from __future__ import annotations

import warnings
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from discbayes._text import listed, text_table
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble, FitPlan
from discbayes.cli import options
from discbayes.cli.console import UserError, complain
from discbayes.cli.input_tables import name_of
from discbayes.cli.models import load_model, matched_labels, read_rows
from discbayes.cli.outputs import check_output, write_bytes
from discbayes.cli.splits import add_splitting, cross_validation_splits
from discbayes.cli.training import Training, load_training, read_weights, require_target
from discbayes.data import DataWarning
from discbayes.data.targets import classes_and_codes
from discbayes.engine import interrupts_end_runs
from discbayes.evaluation.metrics import accuracy, log_loss
from discbayes.evaluation.quality import GIVEN, Quality, codes_of_labels
from discbayes.report import make_evaluation_page

SUMMARY = "cross-validate a learning method, or score a saved model"
EXAMPLES = """examples:
  discbayes evaluate patients.csv --target diagnosis
  discbayes evaluate patients.csv --target diagnosis --groups patient -o quality.html
  discbayes evaluate patients.csv --target diagnosis --model model.json
  discbayes evaluate patients.csv --target diagnosis --time admitted
  discbayes evaluate patients.csv --target diagnosis --cv 10 --repeats 5
  discbayes evaluate iris --recipe TAN-fCLL-OFE

Everything, discretization included, is learned again in each fold, on its training rows alone.
With --weights the metrics are weighted too."""
DEFAULT_FOLDS = 5
HEADER = ("accuracy", "log loss", "fit s", "predict s")
Figures = tuple[float, float, float, float]  # of one fold, in the order of the header
WARM_UP_ROWS = 100
COMMON = (
    "--model",
    "--output",
    "--cv",
    "--groups",
    "--time",
    "--repeats",
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
    add("--model MODEL", "score this model file instead of learning")
    add("-o, --output FILE", "write a page with all metrics and curves too (HTML)")
    group = add_splitting(parser)
    folds = f"number of stratified folds (default: {DEFAULT_FOLDS})"
    options.add(group, "--cv K", folds, options.at_least(2), default=SUPPRESS)
    repeats = "assign rows to folds N times, with the seeds from --seed on (default: 1)"
    options.add(group, "--repeats N", repeats, options.at_least(1))
    options.add_target(parser)
    options.add_learning(parser)
    options.add_unknown(parser)
    options.add_limits(parser)
    options.add_effort(parser)
    options.add_reading(parser)


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Complete the options of learning, or refuse them if a saved model is scored."""
    splitting = options.given(args, ("cv", "groups", "time", "repeats"))
    idle = [*options.given_learning(args), *map(options.flag_of, splitting)]
    if args.model is not None:
        if idle:
            parser.error(
                f"{', '.join(idle)}: a saved model is not learned again; leave this out with"
                " --model"
            )
        return
    if args.time and args.repeats:
        parser.error("--repeats draws folds at random, and --time has one order: leave out one")
    args.cv = getattr(args, "cv", DEFAULT_FOLDS)
    options.fill_learning(parser, args)
    require_target(parser, args)


def run(args: Namespace) -> None:
    """Print the metrics, and write the page."""
    check_output(args.output, [args.data, args.model])
    # a fold that is only partly learned must not be averaged with the others
    with interrupts_end_runs():
        found = _cross_validate(args) if args.model is None else _score_model(args)
    print(f"{found.quality.sentence}\n\n{text_table(*found.table)}")
    if found.note:
        print(found.note)
    print(f"\n{found.quality.text()}")
    if args.output is not None:
        folds = found.table if args.model is None else None
        page = make_evaluation_page(found.title, found.quality, found.facts, folds)
        write_bytes(page.html.encode(), args.output)
        args.progress.stage(f"page written to {args.output}")


@dataclass(frozen=True)
class _Evaluated:
    """The output: predicted rows, a table of folds or of the model, and how it was done."""

    title: str
    quality: Quality
    table: tuple[list[str], list[list[str]]]
    facts: dict[str, str]
    note: str = ""


# ---- cross-validation


def _cross_validate(args: Namespace) -> _Evaluated:
    data = load_training(args)
    splits = cross_validation_splits(data, args)
    # warns of what is noteworthy in the columns, once for all folds
    encoder = _plan(_classifier(args)).new_encoder()
    encoder.fit_transform(data.X, data.y, data.weight)
    encoder.warn_of_unused()
    _warm_up(args, data, splits[0][0])
    labels = classes_and_codes(data.y.values.astype(str))[0].tolist()
    scores, predicted = [], []
    for number, (train, test) in enumerate(splits, 1):
        args.progress.stage(f"fold {number} of {len(splits)}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            figures, shares = _score_fold(args, data.take(train), data.take(test), labels)
        scores.append(figures)
        predicted.append(shares)
    rows = np.concatenate([test for _, test in splits])
    codes = codes_of_labels(data.y.values[rows], labels)
    weight = None if data.weight is None else data.weight[rows]
    n_repeats = args.repeats or 1
    quality = Quality(labels, np.concatenate(predicted), codes, weight, n_repeats=n_repeats)
    table = fold_table(np.array(scores), n_repeats)
    return _Evaluated(_title(data.y.name, args), quality, table, _facts(args, len(data.y)))


def _title(target: str, args: Namespace) -> str:
    return f"{target} of {name_of(args.data)}"


def _facts(args: Namespace, n_rows: int) -> dict[str, str]:
    """Return in words how rows were split and learned from."""
    how = f"{args.cv} stratified folds"
    if args.groups:
        how = f"{args.cv} folds that keep rows of one {args.groups} together"
    if args.time:
        how = f"{args.cv} folds in the order of {args.time}, each learned from all rows before it"
    if args.repeats:
        how += f", assigned {args.repeats} times"
    method = args.recipe or f"structure {args.structure}, parameters {args.parameters}"
    if args.ensemble is not None:
        method = f"ensemble of {args.ensemble} networks"
    learned = "everything, discretization included, anew in each fold, on its training rows alone"
    return {"Rows": f"{n_rows:,}", "Folds": how, "Method": method, "Learned": learned}


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


def _score_fold(
    args: Namespace, train: Training, test: Training, labels: Sequence[str]
) -> tuple[Figures, np.ndarray]:
    """Return the metrics of a fold, and the probabilities of its test rows for all classes."""
    model = _classifier(args)
    start = perf_counter()
    model.fit(train.X, train.y, sample_weight=train.weight)
    fitted = perf_counter()
    shares = model.predict_proba(test.X)
    done = perf_counter()
    known = model.classes_.tolist()
    metrics = accuracy_and_loss(shares, known, test.y.values, test.weight)
    whole = np.zeros((len(shares), len(labels)))
    whole[:, codes_of_labels(known, labels)] = shares
    return (*metrics, fitted - start, done - fitted), whole


# ---- a saved model


def _score_model(args: Namespace) -> _Evaluated:
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
    quality = Quality(known, shares, codes_of_labels(labels, known), weight, GIVEN)
    n_trained = getattr(model, "n_samples_seen_", None)
    facts = {"Model": args.model, "Rows": f"{len(labels):,}"}
    facts |= {} if n_trained is None else {"Training rows": f"{n_trained:,}"}
    metrics = accuracy_and_loss(shares, known, labels, weight)
    table = model_table(args.model, *metrics, seconds)
    note = "on the rows of DATA: optimistic if these are training rows of the model"
    if n_trained == len(labels):
        note += ", and it was learned from as many rows"
    return _Evaluated(_title(target, args), quality, table, facts, note)


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
    codes = codes_of_labels(labels, classes)
    return accuracy(shares, codes, weight), log_loss(shares, codes, weight)


def fold_table(values: np.ndarray, n_repeats: int = 1) -> tuple[list[str], list[list[str]]]:
    """Return a row for each fold, or for each repeat, and mean ± standard deviation below."""
    first = "fold"
    if n_repeats > 1:
        first = "repeat"
        values = values.reshape(n_repeats, -1, values.shape[1]).mean(axis=1)
    rows = [[str(number), *_cells(row)] for number, row in enumerate(values, 1)]
    if len(values) > 1:
        mean, deviation = _cells(values.mean(axis=0)), _cells(values.std(axis=0, ddof=1))
        rows.append(["mean ± sd", *(f"{m} ± {d}" for m, d in zip(mean, deviation, strict=True))])
    return [first, *HEADER], rows


def model_table(
    name: str, share: float, loss: float, seconds: float
) -> tuple[list[str], list[list[str]]]:
    """Return the header and the one row of a saved model."""
    cells = [name, f"{share:.4f}", f"{loss:.4f}", f"{seconds:.3f}"]
    return ["model", "accuracy", "log loss", "predict s"], [cells]


def _cells(row: np.ndarray) -> list[str]:
    return [f"{row[0]:.4f}", f"{row[1]:.4f}", f"{row[2]:.3f}", f"{row[3]:.3f}"]

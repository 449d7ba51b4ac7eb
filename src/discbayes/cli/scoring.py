"""Metrics of predictions, and their tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discbayes._text import text_table
from discbayes.cli.console import UserError
from discbayes.evaluation.metrics import accuracy, log_loss

HEADER = ("accuracy", "log loss", "fit s", "predict s")
Figures = tuple[float, float, float, float]  # of one fold, in the order of the header


def accuracy_and_loss(
    shares: np.ndarray, classes: Sequence[str], labels: np.ndarray, weight: np.ndarray | None
) -> tuple[float, float]:
    """Return the accuracy and the log loss of a posterior.

    A row of a class that the model has never seen counts as wrong, with the smallest probability.

    >>> shares = np.array([[0.9, 0.1], [0.5, 0.5]])
    >>> accuracy_and_loss(shares, ["no", "yes"], np.array(["no", "yes"]), None)
    (0.5, 0.399...)
    """
    if weight is not None and not weight.sum() > 0:
        raise UserError("the weights of the rows to score on sum to zero")
    index = {label: code for code, label in enumerate(classes)}
    codes = np.array([index.get(label, -1) for label in labels])
    return accuracy(shares, codes, weight), log_loss(shares, codes, weight)


def fold_table(values: np.ndarray) -> str:
    """Format a row for each fold, and mean ± standard deviation below."""
    rows = [[str(number), *_cells(row)] for number, row in enumerate(values, 1)]
    mean, deviation = _cells(values.mean(axis=0)), _cells(values.std(axis=0, ddof=1))
    rows.append(["mean ± sd", *(f"{m} ± {d}" for m, d in zip(mean, deviation, strict=True))])
    return text_table(["fold", *HEADER], rows)


def model_table(name: str, accuracy: float, loss: float, seconds: float) -> str:
    """Format one row for a saved model, with a note on rows that it may have been fitted to."""
    cells = [name, f"{accuracy:.4f}", f"{loss:.4f}", f"{seconds:.3f}"]
    table = text_table(["model", "accuracy", "log loss", "predict s"], [cells])
    return f"{table}\non the rows of DATA: optimistic if the model was learned from them"


def _cells(row: np.ndarray) -> list[str]:
    return [f"{row[0]:.4f}", f"{row[1]:.4f}", f"{row[2]:.3f}", f"{row[3]:.3f}"]

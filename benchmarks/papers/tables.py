"""The stored results as tables in Markdown; nothing is computed but averages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from store import Results

TABLES = {
    "published": ("set", "tag", "ours", "published", "difference", "median", "least", "largest", "seconds", "note"),
    "causes_summary": ("set", "tag", "cause", "n", "least", "median", "largest"),
    "parameters": (
        "set", "tag", "variant", "ours", "published", "difference", "least", "largest", "train_accuracy", "iterations",
        "lam", "kappa", "seconds", "note",
    ),
    "parameters_causes": ("set", "tag", "variant", "n", "accuracy", "train_accuracy", "log_loss", "iterations"),
    "parameters_paths": ("set", "structure", "lam", "each", "rising", "falling"),
    "backoff_by_learner": (
        "learner", "sets", "touched_sets", "accuracy_better", "accuracy_worse", "mean_accuracy_gain",
        "log_loss_better", "log_loss_worse", "mean_log_loss_gain",
    ),
    "table8": (
        "set", "omi", "min_mi", "ro_mean", "ro_std", "ro_median", "ro_min", "ro_max", "p10_omi", "p10_ro_mean",
        "p10_ro_median", "p10_ro_min", "p10_ro_max",
    ),
    "fig7": ("set", "omi", "ro_mean", "ro_std", "min_mi", "omi_above_both"),
    "fcll": (
        "cut_on", "better", "worse", "c11_z", "c11_p", "z", "p", "wins", "losses", "median_z", "least_z", "largest_z",
        "z_of_means",
    ),
    "three_feature": ("what", "expected", "accuracy", "of_structures", "with_x1_x3", "with_x2_x3"),
    "convergence": (
        "solver", "against", "start", "after", "sets", "NB", "NB_p", "NB_without_draws", "TAN", "TAN_p",
        "TAN_without_draws", "KDB-1", "KDB-1_p", "KDB-1_without_draws",
    ),
    "convergence_reach": (
        "solver", "against", "start", "structure", "after", "nursery", "pendigits", "letter", "shuttle", "adult",
        "kddcup10", "mnist14", "median_iterations",
    ),
    "convergence_nll": (
        "solver", "set", "structure", "start", "w_5", "d_5", "e_5", "w_10", "d_10", "e_10", "w_50", "d_50", "e_50",
        "seconds_w", "seconds_d", "seconds_e",
    ),
    "missing": (
        "missing", "draws", "NB-ML", "NB-ML_std", "NB-CL", "NB-CL_std", "NB-CL-10", "NB-CL-10_std", "TAN-CR-ML",
        "TAN-CR-ML_std",
    ),
    "p13_path": ("lam", "slack", "negative_likelihood", "train_accuracy", "accuracy"),
    "p13": (
        "set", "ML", "ML_difference", "MCL", "MCL_difference", "MM", "MM_difference", "ML-BN-SVM",
        "ML-BN-SVM_difference",
    ),
    "p13_agreement": ("method", "sets", "within", "not_below", "mean_difference"),
    "p13_causes": ("method", "tol", "within", "not_below", "mean_difference", "iterations", "train", "test"),
    "p13_likelihood": (
        "structure", "method", "sets", "runs", "train", "test", "train_by_set", "test_by_set", "train_published",
        "test_published",
    ),
    "p13_missing": ("missing", "sets", "ML", "MCL", "MM", "ML-BN-SVM", "SVM", "LR", "behind_best_network"),
    "p13_missing_vehicle": ("missing", "lam_0", "lam_1", "lam_16", "lam_256"),
}  # fmt: skip
DIGITS = {
    "fig7": 6, "convergence_nll": 4, "seconds": 1, "iterations": 0, "mean_log_loss_gain": 4, "slack": 4, "tol": 6,
    "negative_likelihood": 4,
}  # fmt: skip
WHOLE = {
    "n", "wins", "losses", "with_x1_x3", "with_x2_x3", "after", "sets", "missing", "draws", "nursery", "pendigits",
    "letter", "shuttle", "adult", "kddcup10", "mnist14", "median_iterations", "touched_sets",
    "accuracy_better", "accuracy_worse", "log_loss_better", "log_loss_worse", "runs", "within", "not_below",
}  # fmt: skip


def show() -> None:
    for name, columns in TABLES.items():
        results = Results(name, columns)
        if results.rows:
            print(f"\n{name}\n")
            print_table(
                columns, [[cell(name, column, row.get(column, "")) for column in columns] for row in results.rows]
            )
    show_fcll_sets()
    show_backoff_sets()


def show_fcll_sets() -> None:
    """What fCLL gains over the likelihood on each set, mean over the folds."""
    results = Results("fcll_accuracy", ())
    names = dict.fromkeys(row["set"] for row in results.rows)
    lines = []
    for name in names:
        means = {
            key: np.mean(results.column(key, cut_on="train", set=name))
            for key in ("TAN-fCLL", "TAN-LL", "GHC2-fCLL", "GHC2-LL")
        }
        lines.append([name, *(f"{mean:.2f}" for mean in means.values()), f"{means['TAN-fCLL'] - means['TAN-LL']:+.2f}"])
    print("\nfcll, means over the folds\n")
    print_table(("set", "TAN-fCLL", "TAN-LL", "GHC2-fCLL", "GHC2-LL", "TAN difference"), lines)


def show_backoff_sets() -> None:
    """What backing off gains on each set, in accuracy and log loss."""
    results = Results("backoff", ())
    names, learners = (list(dict.fromkeys(row[key] for row in results.rows)) for key in ("set", "learner"))
    lines = []
    for name in names:
        line = [name]
        for learner in learners:
            gains = (results.column(key, set=name, learner=learner) for key in ("accuracy_gain", "log_loss_gain"))
            line += [f"{gain[0]:+.{digits}f}" if gain else "" for gain, digits in zip(gains, (2, 4), strict=True)]
        lines.append(line)
    print("\nbackoff, gains in accuracy and in log loss\n")
    print_table(("set", *(f"{learner}: {what}" for learner in learners for what in ("accuracy", "log loss"))), lines)


def cell(table: str, column: str, text: str) -> str:
    """Measures with two digits or so, whole numbers and words as they are."""
    digits = DIGITS.get(column, DIGITS.get(table, 2))
    try:
        return text if column in WHOLE else f"{float(text):.{digits}f}"
    except ValueError:
        return text


def print_table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    print(f"| {' | '.join(column.replace('_', ' ') for column in columns)} |")
    print("|---" * len(columns) + "|")
    for line in lines:
        print(f"| {' | '.join(line)} |")

"""The quality of predicted rows: metrics beside those of scikit-learn, and the sentence."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
)

from discbayes.evaluation.quality import Quality


def drawn(n_rows=400, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_classes, n_rows, p=np.linspace(2, 1, n_classes) / (1.5 * n_classes))
    scores = rng.normal(size=(n_rows, n_classes)) + np.eye(n_classes)[codes]
    shares = np.exp(scores)
    return shares / shares.sum(axis=1, keepdims=True), codes


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_are_those_of_scikit_learn(weighted):
    shares, codes = drawn()
    weight = np.random.default_rng(1).uniform(0.5, 2, codes.size) if weighted else None
    found = Quality(["no", "yes"], shares, codes, weight).metrics
    decided = shares.argmax(axis=1)
    balanced = balanced_accuracy_score(codes, decided, sample_weight=weight)
    rare = average_precision_score(codes == 1, shares[:, 1], sample_weight=weight)
    expected = {
        "accuracy": np.average(codes == decided, weights=weight),
        "balanced accuracy": balanced,
        "log loss": log_loss(codes, shares, sample_weight=weight),
        "AUC": roc_auc_score(codes, shares[:, 1], sample_weight=weight),
        "average precision": rare,
        "Brier score": 2 * brier_score_loss(codes, shares[:, 1], sample_weight=weight),
        "base rate": np.average(codes == 0, weights=weight),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value), name


def test_several_classes_have_means_of_each_against_the_others():
    shares, codes = drawn(n_classes=3)
    found = Quality("abc", shares, codes).metrics
    areas = roc_auc_score(codes, shares, multi_class="ovr", average="macro")
    assert found["AUC"] == pytest.approx(areas)


def test_the_sentence_compares_with_the_most_frequent_class():
    shares, codes = drawn()
    quality = Quality(["no", "yes"], shares, codes, rows="test rows")
    assert quality.sentence.startswith("better than always predicting 'no' by ")
    assert "of the 400 test rows are right" in quality.sentence
    constant = np.tile([0.7, 0.3], (400, 1))
    assert Quality(["no", "yes"], constant, codes).sentence.startswith("no better than always")
    share = f"{np.mean(codes == 0):.1%}".replace("%", " %")
    either = Quality(["no", "yes"], constant, codes).sentence
    assert either.endswith(f"either is right in {share} of the 400 held-out rows")
    wrong = Quality(["no", "yes"], shares[:, ::-1], codes)
    assert wrong.sentence.startswith("worse than always predicting 'no'")


def test_the_error_is_that_of_paired_differences_and_repeats_do_not_make_it_smaller():
    shares, codes = drawn(60)
    difference = (codes == shares.argmax(axis=1)).astype(float) - (codes == 0)
    error = 100 * difference.std() / np.sqrt(60)
    once = Quality(["no", "yes"], shares, codes).sentence
    assert f"± {error:.0f} percentage" in once
    twice = Quality(["no", "yes"], np.tile(shares, (2, 1)), np.tile(codes, 2), n_repeats=2).sentence
    assert twice == once


def test_classes_that_are_unknown_or_absent():
    shares = np.array([[0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.6, 0.4, 0.0]])
    quality = Quality(["a", "b", "c"], shares, np.array([0, 1, -1]))
    assert quality.metrics["accuracy"] == pytest.approx(2 / 3)
    text = quality.text()
    assert "unknown classes" in text
    assert "nan" not in text.split("true class")[1]


def test_intervals_of_accuracies_hold_them():
    """Of folds of 60 rows, weighted or not, from a classifier of known accuracy."""
    rng = np.random.default_rng(0)
    for truth in (0.75, 0.9):
        held = []
        for _ in range(400):
            right = rng.random(60) < truth
            shares = np.where(right[:, None], [0.9, 0.1], [0.2, 0.8])
            weight = rng.uniform(0.5, 1.5, 60)
            quality = Quality(["a", "b"], shares, np.zeros(60, int), weight)
            low, high = quality.accuracy_interval()
            held.append(low <= truth <= high)
        assert 0.85 <= np.mean(held) <= 0.95
    assert "with 90 % confidence" in quality.text()


def test_probabilities_may_tell_more_than_decisions():
    rng = np.random.default_rng(1)
    yes = np.where(rng.random(2000) < 0.5, 0.05, 0.45)  # never more probable than no
    codes = (rng.random(2000) < yes).astype(int)
    shares = np.column_stack([1 - yes, yes])
    sentence = Quality(["no", "yes"], shares, codes).sentence
    rare = codes.mean()
    entropy = -rare * np.log(rare) - (1 - rare) * np.log(1 - rare)
    loss = log_loss(codes, shares)
    assert sentence.startswith("no better than always predicting 'no': either is right in")
    assert sentence.endswith(
        "its probabilities tell more than the shares of the classes: log loss"
        f" {loss:.3f}, not {entropy:.3f}"
    )
    twice = Quality(["no", "yes"], np.tile(shares, (2, 1)), np.tile(codes, 2), n_repeats=2)
    assert twice.sentence == sentence

"""Accuracies of P10's Table 7 on its own splits, to the digit."""

from __future__ import annotations

from discbayes import BayesNetClassifier, load_dataset


def published_accuracy(name, structure):
    """The accuracy in per cent with ML parameters, as tables print it."""
    data = load_dataset(name, source="files")
    clf = BayesNetClassifier(structure, "ml").fit(data.X_train, data.y_train)
    return round(100 * clf.score(data.X_test, data.y_test), 2)

"""Make the pictures of ``docs/plots.md``: every plot for three data sets, of 8, 36 and 57 features.

    DISCBAYES_DATA=... python docs/make_pictures.py [part of a file name ...]

``DISCBAYES_DATA`` is the folder of data sets that the experiments use.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import cross_validate, train_test_split

from discbayes import KDB, BayesNetClassifier, load_dataset, margin_path, plot
from discbayes.parameters import DiscriminativeCCBN

FOLDER = Path(__file__).parent / "pictures"
FEATURES = {"diabetes": "plas", "chess": "bxqsq", "spambase": "capital_run_length_longest"}
DPI = 80


class Example:
    """A data set in two halves, and classifiers of the first one."""

    def __init__(self, name: str):
        data = load_dataset(name)
        self.name = name
        self.X, self.X_test, self.y, self.y_test = train_test_split(
            data.X, data.y, test_size=0.5, random_state=0
        )
        self.clf = self.fit()

    def fit(self, structure: Any = "tan", parameters: Any = "hybrid") -> BayesNetClassifier:
        """A classifier of the first half."""
        return BayesNetClassifier(structure, parameters, random_state=0).fit(self.X, self.y)

    def with_missing(self) -> Any:
        """A row of the other half without some of its values."""
        row = self.X_test.iloc[[3]].astype(object)
        row.iloc[0, 2::5] = None
        return row

    def codes(self) -> np.ndarray:
        """The true classes of the other half, as numbers."""
        return np.searchsorted(self.clf.classes_, self.y_test)


def pictures(example: Example) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each picture, and what draws it."""
    clf, feature = example.clf, FEATURES[example.name]
    yield "network", lambda: plot.network(clf)
    yield "network-kdb", lambda: plot.network(example.fit(KDB(k=2), parameters="map"))
    yield (
        "network-class",
        lambda: plot.network(example.fit("ghc", parameters="map"), show_class=True),
    )
    yield (
        "network-compared",
        lambda: plot.network(clf, compare_to=example.fit("tan-fcll", parameters="map")),
    )
    yield "table", lambda: plot.table(clf, feature)
    yield "class-bars", lambda: plot.class_bars(clf, feature)
    yield "history", lambda: plot.history(clf)
    yield (
        "history-search",
        lambda: plot.history(example.fit("ghc", parameters=DiscriminativeCCBN(penalty="cv"))),
    )
    yield "waterfall", lambda: plot.waterfall(clf.explain(example.with_missing()))
    yield "relevance", lambda: plot.relevance(clf.relevance(example.X_test, example.y_test))
    yield "missing", lambda: plot.missing_curve_of(several(example), example.X_test, example.y_test)
    yield (
        "margin-path",
        lambda: plot.margin_path(margin_path(example.X, example.y, [0, 0.25, 1, 4, 16, 64])),
    )
    yield (
        "reliability",
        lambda: plot.reliability_diagram(clf.predict_proba(example.X_test), example.codes()),
    )
    yield "scatter", lambda: scatter(example)
    yield "folds", lambda: folds(example)


def several(example: Example) -> dict[str, BayesNetClassifier]:
    """Classifiers to compare."""
    return {"TAN": example.clf, "naive Bayes": example.fit("nb"), "KDB-2": example.fit(KDB(k=2))}


def scatter(example: Example) -> Any:
    """Log losses of single rows by naive Bayes and TAN."""
    codes = example.codes()[:200]
    losses = [
        -clf.predict_log_proba(example.X_test.iloc[:200])[np.arange(codes.size), codes]
        for clf in (example.fit("nb"), example.clf)
    ]
    return plot.scatter_losses(
        *losses, ("log loss of a row, naive Bayes", "log loss of a row, TAN")
    )


def folds(example: Example) -> Any:
    """Accuracy and log loss in five folds, of three structures."""
    X, y, found = example.X_test, example.y_test, {"accuracy, %": {}, "log loss": {}}
    for name, structure in {"naive Bayes": "nb", "TAN": "tan", "KDB-2": KDB(k=2)}.items():
        scores = cross_validate(
            BayesNetClassifier(structure, "hybrid"), X, y, scoring=("accuracy", "neg_log_loss")
        )
        found["accuracy, %"][name] = 100 * scores["test_accuracy"]
        found["log loss"][name] = -scores["test_neg_log_loss"]
    return plot.fold_dots(found).axes[0]


def main(wanted: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    # of structures whose parents are not joined: the fits are good enough to look at
    warnings.simplefilter("ignore")
    for name in FEATURES:
        example = Example(name)
        for what, draw in pictures(example):
            file = f"{name}-{what}.png"
            if not wanted or any(part in file for part in wanted):
                save(draw(), file)


def save(ax: Any, file: str) -> None:
    """Write the figure of some axes."""
    ax.figure.savefig(FOLDER / file, dpi=DPI, pil_kwargs={"optimize": True})
    plt.close("all")
    print(f"{file}: {(FOLDER / file).stat().st_size // 1024} KB")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The main job on embedded data: fit, compare, predict with gaps, ask, save and load. Run by ``make demo``."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from discbayes import KDB, BayesNetClassifier, load, load_dataset

FOLDER = Path("demo")
METHODS = {"naive Bayes": "nb", "TAN": "tan", "KDB, 1 parent": KDB(k=1), "KDB, 2 parents": KDB(k=2)}


def with_gaps(X: np.ndarray, share: float) -> np.ndarray:
    """The same rows with a share of the cells missing, drawn with a fixed seed."""
    return np.where(np.random.default_rng(0).random(X.shape) < share, np.nan, X)


def measure(structure: object, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Accuracy and log loss on complete test rows and on rows with gaps, and seconds, by 5-fold cross-validation."""
    results, started = [], time.perf_counter()
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        clf = BayesNetClassifier(structure, n_jobs=-1).fit(X[train], y[train])
        row = []
        for rows in (X[test], with_gaps(X[test], 0.3)):
            shares = clf.predict_proba(rows)
            row += [(clf.classes_[shares.argmax(axis=1)] == y[test]).mean(), log_loss(y[test], shares)]
        results.append(row)
    return [*np.mean(results, axis=0), time.perf_counter() - started]


def main() -> None:
    """Print the comparison, a few answers of the network, and leave a model and a page in ``demo/``."""
    data = load_dataset("breast-cancer", as_frame=False)
    print(f"{data.name}: {data.n_rows} rows, {data.n_features} numeric columns, classes {', '.join(data.classes)}\n")
    print(f"{'5-fold cross-validation':24}{'complete rows':>22}{'30 % of cells missing':>26}")
    print(f"{'':24}{'accuracy':>11}{'log loss':>11}{'accuracy':>15}{'log loss':>11}{'seconds':>10}")
    for structure in METHODS.values():  # compile before measuring
        BayesNetClassifier(structure).fit(data.X, data.y).predict(with_gaps(data.X[:5], 0.3))
    for name, structure in METHODS.items():
        a, b, c, d, seconds = measure(structure, data.X, data.y)
        print(f"{name:24}{a:>11.1%}{b:>11.3f}{c:>15.1%}{d:>11.3f}{seconds:>10.2f}")

    frame = load_dataset("breast-cancer")
    clf = BayesNetClassifier("tan", n_jobs=-1).fit(frame.X, frame.y)
    net = clf.network_
    print(f"\n{net!r}\nfirst edges: " + ", ".join(f"{a} -> {b}" for a, b in net.edges()[:3]))
    print("\nWhat is the class if only the worst radius, 20, is known?")
    print(net.query(net.domain.target.name, {"worst radius": 20.0}))

    FOLDER.mkdir(exist_ok=True)
    clf.save(FOLDER / "model.json")
    (FOLDER / "network.html").write_text(f"<!doctype html><meta charset=utf-8>{net._repr_html_()}", encoding="utf-8")
    same = np.array_equal(load(FOLDER / "model.json").predict_proba(frame.X), clf.predict_proba(frame.X))
    print(f"\nsaved to {FOLDER / 'model.json'}; loaded again, it predicts the same bits: {same}")
    print(f"the network as a picture: {FOLDER / 'network.html'}")


if __name__ == "__main__":
    main()

"""After the comparison: a network, what it answers, why, what to ask next, and its files. Run by
``make demo``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from discbayes import BayesNetClassifier, load, load_dataset

FOLDER = Path("demo")


def main() -> None:
    """Print a few answers of the network, and leave it in ``demo/`` as a file and as a picture."""
    data = load_dataset("breast-cancer")
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=0.3, stratify=data.y, random_state=0
    )
    clf = BayesNetClassifier(n_jobs=-1).fit(X, y)
    net = clf.network_
    print(f"\n{net!r}\nfirst edges: " + ", ".join(f"{a} -> {b}" for a, b in net.edges()[:3]))
    print("\nWhat is the class if only the worst radius, 20, is known?")
    print(net.query(net.domain.target.name, {"worst radius": 20.0}))

    print("\nWhy does the first row of the test have its class?")
    print(clf.explain(X_test[:1]).text(most=4))
    print("\nAnd if nothing but a mean texture of 18 were known, what should be asked next?")
    print(clf.value_of_information({"mean texture": 18.0}).text(most=3))

    FOLDER.mkdir(exist_ok=True)
    clf.save(FOLDER / "model.json")
    (FOLDER / "network.html").write_text(
        f"<!doctype html><meta charset=utf-8>{net._repr_html_()}", encoding="utf-8"
    )
    clf.report(FOLDER / "report.html", X_test, y_test)
    same = np.array_equal(
        load(FOLDER / "model.json").predict_proba(data.X), clf.predict_proba(data.X)
    )
    print(f"\nsaved to {FOLDER / 'model.json'}; loaded again, it predicts the same bits: {same}")
    print(f"the network as a picture: {FOLDER / 'network.html'}")
    print(f"the HTML report, which answers queries and has the test: {FOLDER / 'report.html'}")
    print(f"the comparison as an HTML page: {FOLDER / 'compare.html'}")


if __name__ == "__main__":
    main()

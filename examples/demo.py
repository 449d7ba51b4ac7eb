"""After the comparison: a network, what it answers if one value is known, and its files. Run by ``make demo``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discbayes import BayesNetClassifier, load, load_dataset

FOLDER = Path("demo")


def main() -> None:
    """Print a few answers of the network, and leave it in ``demo/`` as a file and as a picture."""
    data = load_dataset("breast-cancer")
    clf = BayesNetClassifier(n_jobs=-1).fit(data.X, data.y)
    net = clf.network_
    print(f"\n{net!r}\nfirst edges: " + ", ".join(f"{a} -> {b}" for a, b in net.edges()[:3]))
    print("\nWhat is the class if only the worst radius, 20, is known?")
    print(net.query(net.domain.target.name, {"worst radius": 20.0}))

    FOLDER.mkdir(exist_ok=True)
    clf.save(FOLDER / "model.json")
    (FOLDER / "network.html").write_text(f"<!doctype html><meta charset=utf-8>{net._repr_html_()}", encoding="utf-8")
    same = np.array_equal(load(FOLDER / "model.json").predict_proba(data.X), clf.predict_proba(data.X))
    print(f"\nsaved to {FOLDER / 'model.json'}; loaded again, it predicts the same bits: {same}")
    print(f"the network as a picture: {FOLDER / 'network.html'}")
    print(f"the comparison as a page: {FOLDER / 'compare.html'}")


if __name__ == "__main__":
    main()

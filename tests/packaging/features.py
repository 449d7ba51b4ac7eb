"""One use of the library and of each extra, without any other package: ``python features.py
core``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np


def table() -> tuple[np.ndarray, np.ndarray]:
    """Some rows with gaps, and their classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 4)) + y[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def core(folder: Path) -> None:
    """Learn, answer, explain, save, load, a page."""
    from discbayes import BayesNetClassifier, load

    X, y = table()
    clf = BayesNetClassifier().fit(X, y)
    assert clf.score(X, y) > 0.8
    clf.save(folder / "model.json")
    assert np.array_equal(load(folder / "model.json").predict_proba(X), clf.predict_proba(X))
    assert "which has the probability" in clf.explain(X[:1]).text()
    clf.report(folder / "page.html", X, y)
    assert "<svg" in (folder / "page.html").read_text(encoding="utf-8")


def plot(folder: Path) -> None:
    """A picture."""
    from discbayes import BayesNetClassifier, plot

    plot.network(BayesNetClassifier("tan", "map").fit(*table())).figure.savefig(
        folder / "network.png"
    )
    assert (folder / "network.png").stat().st_size > 1000


def cli(folder: Path) -> None:
    """Rows that are read from a file in batches."""
    import pyarrow
    import pyarrow.parquet

    from discbayes import BayesNetClassifier

    X, y = table()
    columns = {f"x{k}": np.where(np.isnan(column), None, column) for k, column in enumerate(X.T)}
    pyarrow.parquet.write_table(pyarrow.table({**columns, "y": y}), folder / "rows.parquet")
    clf = BayesNetClassifier("tan", "map").fit(str(folder / "rows.parquet"), "y")
    expected = BayesNetClassifier("tan", "map").fit(X, y).predict_proba(X)
    assert np.array_equal(clf.predict_proba(pyarrow.table(columns)), expected)


def solver(folder: Path) -> None:
    """A convex problem by the reference solver."""
    from discbayes import BNSVM, BayesNetClassifier

    X, y = table()
    clf = BayesNetClassifier("nb", BNSVM(lam=1.0, solver="reference"), missing="drop").fit(
        X[:60], y[:60]
    )
    assert clf.score(X, y) > 0.7


def exchange(folder: Path) -> None:
    """A network for another program, and back."""
    from discbayes import BayesNetClassifier, read_network, write_network

    net = BayesNetClassifier("nb", "map").fit(*table()).network_
    write_network(net, folder / "network.xdsl")
    again = read_network(folder / "network.xdsl", "class")
    assert np.allclose(again.posterior({}), net.posterior({}), atol=1e-5)


def dask(folder: Path) -> None:
    """Two processes."""
    from discbayes import BayesNetClassifier

    X, y = table()
    clf = BayesNetClassifier("tan", "map", cluster=2).fit(X, y)
    assert np.array_equal(
        clf.predict_proba(X), BayesNetClassifier("tan", "map").fit(X, y).predict_proba(X)
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        globals()[sys.argv[1]](Path(temporary))

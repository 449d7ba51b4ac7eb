"""A program as users write it, for the type checker: the main calls have types of their own, not
Any.

``make test-dist`` checks it with ``mypy --strict`` against the installed package, and runs it.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

from discbayes import (
    BayesNet,
    BayesNetClassifier,
    BayesNetEnsemble,
    Counterfactual,
    Explanation,
    GreedyEdges,
    Information,
    Margin,
    MaximumAPosteriori,
    Relevance,
    Structure,
    load,
    load_dataset,
    recipe,
)


def main() -> None:
    """Fit, answer, explain, save and load."""
    data = load_dataset("iris")
    clf = BayesNetClassifier("tan", MaximumAPosteriori(strength=2.0), random_state=0, n_jobs=1)
    assert_type(clf.fit(data.X, data.y), BayesNetClassifier)
    assert_type(clf.score(data.X, data.y), float)
    assert_type(clf.explain(data.X[:1]), Explanation)
    assert_type(clf.counterfactual(data.X[:1]), Counterfactual)
    assert_type(clf.value_of_information({"petal width (cm)": 1.0}), Information)
    assert_type(clf.relevance(data.X, data.y), Relevance)
    assert_type(clf.structure_, Structure)
    answers: np.ndarray[Any, Any] = clf.predict_proba(data.X)
    about(clf.network_)
    clf.save("typed.json")
    again = load("typed.json")
    assert_type(again, BayesNetClassifier | BayesNetEnsemble)
    assert np.array_equal(again.predict_proba(data.X), answers)
    assert_type(recipe("TAN-CMI-ML"), BayesNetClassifier)
    BayesNetClassifier(GreedyEdges(Margin(0.1), evaluation="loo", max_time=60))


def about(network: BayesNet) -> None:
    """What a network tells."""
    assert_type(network.edges(), list[tuple[str, str]])
    assert_type(network.tables(), dict[str, Any])


if __name__ == "__main__":
    main()

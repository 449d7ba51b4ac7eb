"""Wrong uses that a type checker must find: exactly in the lines, and of the kinds, that the
comments name.
"""

from __future__ import annotations

from discbayes import BayesNetClassifier, load, recipe


def misuse(clf: BayesNetClassifier) -> None:
    """Never called."""
    BayesNetClassifier("tan", n_jobs="many")  # error: arg-type
    BayesNetClassifier(penalty=3)  # error: call-arg
    clf.explain({"age": 3}, row=3)  # error: call-arg
    clf.network_.nothing()  # error: attr-defined
    edges: list[str] = clf.network_.edges()  # error: assignment
    load(3)  # error: arg-type
    recipe(["NB-ML"])  # error: arg-type
    print(edges)

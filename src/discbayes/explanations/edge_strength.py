"""The strength of edges: conditional mutual information under the network."""

from __future__ import annotations

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.inference import TooManyCellsError, family_posteriors
from discbayes.network import CLASS

Edge = tuple[int, int]


def edge_strengths(network: BayesNet) -> dict[Edge, float]:
    """Return the conditional mutual information of every edge, in nats.

    It is that of parent and child given the class and the other parents, under the network itself:
    exact, or a ``TooManyCellsError`` where it would need more than the ``max_cells`` of it.

    Parameters
    ----------
    network : BayesNet
        The fitted network.

    Returns
    -------
    dict of (parent, child) to float
        By position: ``(parent, child)`` has I(x_child; x_parent | other parents, class) and
        ``(CLASS, child)``, where ``CLASS`` is −1, has I(x_child; class | parents). Parents of two
        resolutions count by their states, which are all that the child sees of them.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
    >>> strengths = edge_strengths(clf.network_)
    >>> max(strengths, key=strengths.get)[0]
    -1
    """
    network.require_root("edge_strengths")
    structure, layout = network.structure, network.parameters.layout
    try:
        cells = family_posteriors(network.parameters, network.inference_options)
    except TooManyCellsError as error:
        raise TooManyCellsError(
            error.size, error.features, error.limit, network.domain.names
        ) from None
    found = {}
    for child, parents in enumerate(structure.parents):
        joint = layout.table(cells, child)
        axes = dict(zip(parents, range(len(parents)), strict=True))
        if structure.class_children[child]:
            axes[CLASS] = joint.ndim - 1
        for parent, axis in axes.items():
            found[parent, child] = _information(joint, axis, joint.ndim - 2)
    return found


def _information(joint: np.ndarray, a: int, b: int) -> float:
    """Return the mutual information of two axes given all others, never below zero."""
    parts = _entropy(joint.sum(axis=a)) + _entropy(joint.sum(axis=b))
    return max(0.0, parts - _entropy(joint) - _entropy(joint.sum(axis=(a, b))))


def _entropy(joint: np.ndarray) -> float:
    shares = joint[joint > 0]
    return -float(shares @ np.log(shares))

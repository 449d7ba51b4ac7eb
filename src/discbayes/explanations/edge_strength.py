"""How strong the edges of a network are."""

from __future__ import annotations

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.inference import FactorTooLargeError, family_posteriors
from discbayes.network import CLASS

Edge = tuple[int, int]


def edge_strengths(network: BayesNet) -> dict[Edge, float]:
    """What a parent says about its child that the class and the other parents do not, for every
    edge, in nats.

    By position: ``(parent, child)`` has the mutual information I(x_child; x_parent | other parents,
    class) under the network itself, ``(CLASS, child)`` has I(x_child; class | parents). That is
    exact, and a ``FactorTooLargeError`` where it would need more than the ``max_factor_size`` of
    the network.
    """
    structure, layout = network.structure, network.parameters.layout
    try:
        cells = family_posteriors(network.parameters, network.inference_options)
    except FactorTooLargeError as error:
        raise FactorTooLargeError(
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
    """The mutual information of two axes given all others; rounding cannot make it negative."""
    parts = _entropy(joint.sum(axis=a)) + _entropy(joint.sum(axis=b))
    return max(0.0, parts - _entropy(joint) - _entropy(joint.sum(axis=(a, b))))


def _entropy(joint: np.ndarray) -> float:
    shares = joint[joint > 0]
    return -float(shares @ np.log(shares))

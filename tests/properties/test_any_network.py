"""Any network, whatever its tables came from: sums over gaps, questions, draws and files against
enumeration.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import believing
import discbayes
import oracle
from discbayes import inference
from properties import for_all

NETWORKS = {
    "seed": st.integers(0, 2**32 - 1),
    "kind": st.sampled_from(believing.KINDS),
    "n_features": st.integers(1, 4),
    "n_classes": st.integers(1, 3),
    "normalized": st.booleans(),
    "zeros": st.booleans(),
}


def network(seed, kind, n_features, n_classes, normalized, zeros):
    options = {"normalized": normalized, "zeros": zeros}
    tables, rng = believing.random_tables(seed, kind, n_features, n_classes, **options)
    return believing.named(tables), rng


@for_all(80, **NETWORKS)
def test_gaps_are_summed_out_as_enumeration_does(**drawn):
    net, rng = network(**drawn)
    codes = believing.some_rows(rng, net.domain.cards, 4, gaps=0.5)
    expected = oracle.log_joint(net.parameters, codes)
    np.testing.assert_allclose(net.log_joint_of(codes), expected, rtol=1e-9, atol=1e-9)
    shares = inference.posterior(net.log_joint_of(codes), net.prior)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)


@for_all(80, **NETWORKS, n_asked=st.integers(1, 2), n_known=st.integers(0, 2))
def test_a_question_is_a_sum_over_the_joint_distribution(n_asked, n_known, **drawn):
    net, rng = network(**drawn)
    joint = oracle.full_joint(net.parameters)
    axes = rng.permutation(joint.ndim)
    names = [*net.domain.names, net.domain.target.name]
    asked, known = axes[:n_asked].tolist(), axes[n_asked : n_asked + n_known].tolist()
    state = {at: int(rng.integers(joint.shape[at])) for at in known}
    variables = [*net.domain.features, net.domain.target]
    evidence = {names[at]: variables[at].values[code] for at, code in state.items()}
    part = joint[
        tuple(
            slice(state[at], state[at] + 1) if at in state else slice(None)
            for at in range(joint.ndim)
        )
    ]
    expected = part.sum(axis=tuple(at for at in range(joint.ndim) if at not in asked))
    order = np.argsort(np.argsort(asked))
    if part.sum() == 0:
        with pytest.raises(ValueError, match="probability zero"):
            net.query([names[at] for at in asked], evidence)
        return
    found = net.query([names[at] for at in asked], evidence).probabilities
    np.testing.assert_allclose(found, np.transpose(expected, order) / part.sum(), atol=1e-9)


@for_all(40, **{**NETWORKS, "normalized": st.just(True)})
def test_a_network_in_a_file_is_the_same_network(folder, **drawn):
    net, rng = network(**drawn)
    net.to_bif(folder / "any.bif")
    read = discbayes.read_bif(folder / "any.bif", target="y")
    assert read.structure == net.structure
    codes = believing.some_rows(rng, net.domain.cards, 4)
    np.testing.assert_allclose(
        read.log_joint_of(codes), net.log_joint_of(codes), rtol=1e-9, atol=1e-9
    )

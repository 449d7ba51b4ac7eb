"""Every variable of published networks as the class has the posteriors of pyAgrum.

``DISCBAYES_NETWORKS`` is a folder of BIF files; ``benchmarks/cases/networks.py`` says where they
are to be had, and compares more of them.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from cases import blankets, networks

pytestmark = pytest.mark.skipif(
    networks.FOLDER not in os.environ, reason="DISCBAYES_NETWORKS names no folder of BIF files"
)


@pytest.mark.parametrize("name", ["asia", "cancer", "child", "sachs"])
def test_posteriors_are_those_of_pyagrum(name, tmp_path):
    pytest.importorskip("pyagrum")
    path = networks.path_of(name)
    found = networks.compared(path, 5, networks.variables(path), again=tmp_path / "again.bif")
    assert found.n_rows > 5
    assert found.worst < 1e-9


def test_learned_networks_have_at_most_the_loss_of_trees():
    chosen = {"asia": ["lung", "either"], "sachs": ["Erk", "PKA"], "child": ["Disease", "LungFlow"]}
    means = []
    for name, targets in chosen.items():
        found, _ = blankets.losses(networks.path_of(name), targets, blankets.N_ROWS)
        differences = (found["blanket"] - found["TAN-MAP"]).mean(axis=0)
        # of one network it may be chance: on asia it is one standard error
        assert differences.mean() <= 2 * differences.std() / differences.size**0.5
        means.append(differences.mean())
    assert np.mean(means) <= 0

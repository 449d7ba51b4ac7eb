"""Tables of a network as Dirichlet priors: what an expert knows, worth so many rows.

A network is worth ``strength`` rows that it was learned from: the virtual observations of a cell
are ``strength`` · P(value, parents, class) under the network (the prior of BDe). They are those of
one distribution, whatever structure they are counted for, and "ess" is the network in which all
values are equally probable.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from discbayes._text import listed
from discbayes.counts import FamilyCounts
from discbayes.data.domain import Domain, Variable
from discbayes.data.targets import DataWarning
from discbayes.inference import joint_posterior
from discbayes.network import CLASS, Layout


class NetworkPrior:
    """The virtual observations of a network, for tables over the variables of a domain.

    Parameters
    ----------
    network : BayesNet
        The network, of any structure and with any class variable. Its variables are found by their
        names; one that it does not have is uniform and independent of the others.
    domain : Domain
        The variables of the tables.
    strength : float
        The number of virtual observations.
    """

    def __init__(self, network: Any, domain: Domain, strength: float):
        self.network, self.domain = network, domain
        self.strength = strength
        known = {variable.name: i for i, variable in enumerate(network.domain.features)}
        known[network.domain.target.name] = CLASS
        if domain.target.name not in known:
            raise ValueError(
                f"the prior network has no variable {domain.target.name!r}, which is the class;"
                f" it has {listed(list(known))}"
            )
        variables = [*domain.features, domain.target]
        lacking = [v.name for v in variables if v.name not in known and v.card > 1]
        if lacking:
            warnings.warn(
                f"the prior network does not have {listed(lacking)}: all of their values are"
                " equally probable in it",
                DataWarning,
                stacklevel=5,
            )
        # by position, the class at the end: where a variable is, and where its values are
        self._places = [known.get(v.name) for v in variables]
        self._values = [
            None if place is None else _matching(own, _variable(network.domain, place))
            for own, place in zip(variables, self._places, strict=True)
        ]
        self._cards = [v.card for v in variables]

    def joint(self, variables: Sequence[int]) -> np.ndarray:
        """Return the virtual observations of all values of some variables.

        Parameters
        ----------
        variables : sequence of int
            The positions in the domain, ``CLASS`` for the class.
        """
        asked = [v for v in variables if self._places[v] is not None]
        places = [place for v in asked if (place := self._places[v]) is not None]
        cards = [self._cards[v] for v in variables]
        table = np.array(1.0)
        if places:
            table = joint_posterior(self.network.parameters, places, {})
            table = table[np.ix_(*[self._values[v] for v in asked])]
        sizes = iter(table.shape)
        shape = [1 if self._places[v] is None else next(sizes) for v in variables]
        spread = np.prod([c for v, c in zip(variables, cards, strict=True) if v not in asked])
        return self.strength * np.broadcast_to(table.reshape(shape), cards) / spread

    def added_to(self, families: FamilyCounts) -> FamilyCounts:
        """Return counts with the virtual observations; refuse rows that the network excludes.

        Parameters
        ----------
        families : FamilyCounts
            The counts of the rows.
        """
        layout, cells = families.layout, families.cells.copy()
        for i, group in enumerate(layout.structure.parents):
            virtual = self._by_state(self.joint([*group, i, CLASS]), layout, group)
            own = layout.table(cells, i)
            if not layout.structure.class_children[i]:
                self._refuse_excluded(virtual.sum(axis=-1), own.sum(axis=-1), i)
            else:
                self._refuse_excluded(virtual, own, i)
            own += virtual
        of_class = self.joint([CLASS])
        self._refuse_excluded(of_class, families.class_count, CLASS)
        return FamilyCounts(layout, families.class_count + of_class, cells)

    def of_class(self, layout: Layout, parents: Sequence[int], counted: np.ndarray) -> np.ndarray:
        """Return the counts of the class given its parents, with the virtual observations."""
        virtual = self._by_state(self.joint([*parents, CLASS]), layout, parents)
        self._refuse_excluded(virtual, counted, CLASS)
        return np.asarray(counted + virtual)

    def _by_state(self, table: np.ndarray, layout: Layout, group: Sequence[int]) -> np.ndarray:
        """Return a table whose first axes, those of parents, are by state."""
        for axis, parent in enumerate(group):
            reduced = np.zeros((int(layout.n_states[parent]), *np.delete(table.shape, axis)))
            np.add.at(reduced, layout.states_of(parent), np.moveaxis(table, axis, 0))
            table = np.moveaxis(reduced, 0, axis)
        return table

    def _refuse_excluded(self, virtual: np.ndarray, counted: np.ndarray, position: int) -> None:
        if self.strength and ((virtual == 0) & (counted > 0)).any():
            n_rows = counted[virtual == 0].sum()
            name = (
                self.domain.target if position == CLASS else self.domain.features[position]
            ).name
            raise ValueError(
                f"the table of {name!r} in the prior network has probabilities of zero for what"
                f" {n_rows:g} rows hold: give them at least a small probability (with_table)"
            )


def is_network(prior: Any) -> bool:
    """Return whether a prior is a network, and not the name of a way to add observations."""
    return hasattr(prior, "domain") and hasattr(prior, "parameters")


def _variable(domain: Domain, place: int) -> Variable:
    return domain.target if place == CLASS else domain.features[place]


def _matching(own: Variable, theirs: Variable) -> np.ndarray:
    """Return the code in the prior network of each value; refuse other values or intervals."""
    there = {label: code for code, label in enumerate(theirs.labels)}
    mine, missing = list(own.labels), [label for label in own.labels if label not in there]
    surplus = [label for label in there if label not in mine]
    if missing or surplus:
        only = f"{listed(missing)} is there in the rows only" if missing else ""
        more = f"{listed(surplus)} in the prior network only" if surplus else ""
        raise ValueError(
            f"{own.name!r} has other values in the rows than in the prior network:"
            f" {' and '.join(part for part in (only, more) if part)}; the network needs all values"
            f" of the rows, and BayesNetClassifier(domains={{{own.name!r}: [...]}}) gives the rows"
            " those of the network"
        )
    return np.array([there[label] for label in mine], np.int64)

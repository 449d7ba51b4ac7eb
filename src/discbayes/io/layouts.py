"""The sizes of CPTs by the domain and structure of a file, checked before they are allocated."""

from __future__ import annotations

from discbayes.data import Domain
from discbayes.io.validation import naming
from discbayes.network import Layout, Structure


def check_cells(domain: Domain, structure: Structure, n_cells: int, where: str) -> None:
    """Raise an error if CPTs do not have the number of cells of a domain and a structure."""
    # Python's integers, since in 64 bits the size of a false structure could overflow to a match.
    # A product stops above the cells that there are: one of many factors takes quadratic time.
    cards, left = domain.cards.tolist(), n_cells
    for feature, parents in enumerate(structure.parents):
        size = domain.n_classes
        for member in (feature, *parents):
            size *= cards[member]
            if size > left:
                raise ValueError(
                    f"{where} has {n_cells} cells, too few for the domain and structure"
                )
        left -= size
    if left:
        raise ValueError(
            f"{where} has {n_cells} cells, {left} too many for the domain and structure"
        )


def layout_of(domain: Domain, structure: Structure, where: str) -> Layout:
    """Return the layout of CPTs whose cells were checked; raise an error for too many axes."""
    layout = Layout(structure, domain.cards, domain.n_classes)
    with naming(where):
        _ = layout.offsets
    return layout

"""The layout of CPTs in a file, checked against the cells that are there."""

from __future__ import annotations

from discbayes.data import Domain
from discbayes.io.domains import check_cells
from discbayes.io.validation import naming
from discbayes.network import Layout, Structure


def checked_layout(
    domain: Domain, structure: Structure, n_cells: int, where: str, field: str
) -> Layout:
    """Return the layout of CPTs; raise an error unless it has this number of cells.

    Parameters
    ----------
    domain : Domain
        The variables.
    structure : Structure
        The edges, which may belong to another domain.
    n_cells : int
        The number of cells in the file.
    where, field : str
        The place in the file for messages: the object, and its field with the cells.
    """
    check_cells(domain, structure, n_cells, where, field)
    layout = Layout(structure, domain.cards, domain.n_classes, domain.states)
    with naming(where):
        _ = layout.offsets  # refuses too many axes
    return layout

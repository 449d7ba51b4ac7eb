"""The sizes of CPTs by the domain and structure of a file, checked before they are allocated."""

from __future__ import annotations

from discbayes.data import Domain
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
    if structure.n_features != len(domain.features):
        raise ValueError(
            f"{where} has a structure of {structure.n_features} features, and the domain has"
            f" {len(domain.features)}"
        )
    # Python's integers, since in 64 bits the size of a false structure could overflow to a match.
    # A product stops above the cells that there are: one of many factors takes quadratic time.
    cards, left = domain.cards.tolist(), n_cells
    for feature, parents in enumerate(structure.parents):
        size = domain.n_classes
        for member in (feature, *parents):
            size *= cards[member]
            if size > left:
                raise ValueError(
                    f"{where}.{field} has {n_cells} cells, too few for the domain and structure"
                )
        left -= size
    if left:
        raise ValueError(
            f"{where}.{field} has {n_cells} cells, {left} too many for the domain and structure"
        )
    layout = Layout(structure, domain.cards, domain.n_classes)
    with naming(where):
        _ = layout.offsets  # refuses too many axes
    return layout

"""The sizes of tables, from what a file says of domain and structure, before there is any of
them.
"""

from __future__ import annotations

from discbayes.data import Domain
from discbayes.io.validation import naming
from discbayes.network import Layout, Structure


def check_cells(domain: Domain, structure: Structure, n_cells: int, where: str) -> None:
    """Refuse tables of another number of cells than a domain and a structure ask for.

    Sizes are whole numbers without a limit, since in 64 bits a false structure could wrap round to
    fit, and no product goes on beyond the cells that there are: one of many factors would take time
    in proportion to their square.
    """
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
            f"{where} has {n_cells} cells, {left} more than the domain and the structure ask for"
        )


def layout_of(domain: Domain, structure: Structure, where: str) -> Layout:
    """The layout of tables whose cells were checked; refused where a table has more axes than an
    array can have.
    """
    layout = Layout(structure, domain.cards, domain.n_classes)
    with naming(where):
        _ = layout.offsets
    return layout

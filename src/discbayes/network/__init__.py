"""Networks: their structure, and the numbers in their tables."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discbayes.network.class_parents import ClassTable, absorb_class, absorbed_cells
    from discbayes.network.cpts import CPTs, Layout, reduce_states
    from discbayes.network.graph import CLASS
    from discbayes.network.leaves import add_leaves
    from discbayes.network.normalization import normalize
    from discbayes.network.structure import Structure
else:
    from discbayes._lazy_imports import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "class_parents": ["ClassTable", "absorb_class", "absorbed_cells"],
            "cpts": ["CPTs", "Layout", "reduce_states"],
            "graph": ["CLASS"],
            "leaves": ["add_leaves"],
            "normalization": ["normalize"],
            "structure": ["Structure"],
        },
    )

__all__ = [
    "CLASS",
    "CPTs",
    "ClassTable",
    "Layout",
    "Structure",
    "absorb_class",
    "absorbed_cells",
    "add_leaves",
    "normalize",
    "reduce_states",
]

"""What a network is: its structure, and the numbers in its tables."""

from discbayes.network.class_parents import ClassTable, absorb_class
from discbayes.network.cpts import CPTs, Layout, reduce_states
from discbayes.network.graph import CLASS
from discbayes.network.leaves import add_leaves
from discbayes.network.normalization import normalize
from discbayes.network.structure import Structure

__all__ = [
    "CLASS",
    "CPTs",
    "ClassTable",
    "Layout",
    "Structure",
    "absorb_class",
    "add_leaves",
    "normalize",
    "reduce_states",
]

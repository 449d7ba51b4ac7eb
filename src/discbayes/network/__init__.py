"""What a network is: its structure, and the numbers in its tables."""

from discbayes.network.graph import CLASS
from discbayes.network.normalization import normalize
from discbayes.network.structure import Structure
from discbayes.network.tables import Layout, Tables

__all__ = ["CLASS", "Layout", "Structure", "Tables", "normalize"]

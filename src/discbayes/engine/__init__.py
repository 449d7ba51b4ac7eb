"""How work is spread: blocks of rows or columns on threads, and what a run shares."""

from discbayes.engine.context import Context
from discbayes.engine.progress import Progress
from discbayes.engine.threads import map_reduce, parallel_map, row_blocks, worker_count

__all__ = ["Context", "Progress", "map_reduce", "parallel_map", "row_blocks", "worker_count"]

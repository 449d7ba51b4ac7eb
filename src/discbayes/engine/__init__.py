"""How work is spread: blocks of rows or columns on threads or on a cluster, and what a run
shares.
"""

from discbayes.engine.context import Context, Interrupts, Progress, interrupts_end_runs
from discbayes.engine.dask import DaskEngine, active_client, connected_client, is_client
from discbayes.engine.shards import Combine, Shard, ShardSource
from discbayes.engine.threads import Threads, parallel_map, row_blocks, worker_count

__all__ = [
    "Combine",
    "Context",
    "DaskEngine",
    "Interrupts",
    "Progress",
    "Shard",
    "ShardSource",
    "Threads",
    "active_client",
    "connected_client",
    "interrupts_end_runs",
    "is_client",
    "parallel_map",
    "row_blocks",
    "worker_count",
]

"""The engine of a cluster: shards on the workers of a ``dask.distributed`` client.

A shard is a future that a pure function makes of its description: a file and the numbers of its blocks, or the rows
themselves. What is made of its blocks and kept is another one. So when a worker dies, Dask makes again what it had.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from discbayes._leaves import need
from discbayes.engine.shards import BlockShard, Combine, KeptShard, Node, Source, Tree, add_up, runs


class DaskEngine:
    """Blocks on the workers of a cluster; learners give the same bits as on threads.

    Parameters
    ----------
    client : distributed.Client
        The cluster. Its workers must have discbayes, and see the file of the codes under the same name.
    n_shards : int, optional
        Into how many runs the blocks are divided, by default two for each thread of the cluster; the results are the
        same for any number.
    """

    near = False

    def __init__(self, client: Any, n_shards: int | None = None):
        if n_shards is not None and n_shards < 1:
            raise ValueError(f"n_shards={n_shards!r} must be at least 1")
        self.client = client
        self.n_shards = n_shards

    def load(self, source: Source) -> list[Any]:
        """The shards of a source, as futures."""
        shards = (BlockShard(source, *run).alone() for run in runs(len(source), self._shard_count()))
        return [self._submit(_same, shard) for shard in shards]

    def keep(
        self, shards: Sequence[Any], make: Callable[[Any], Any], memory: float = inf, n_jobs: int | None = None
    ) -> list[Any]:
        """Shards of what is made of each block, on the workers; ``memory`` is that of the whole cluster."""
        each = memory / max(1, len(shards))
        return [self._submit(_keep, shard, make, each) for shard in shards]

    def map_reduce(
        self,
        function: Callable[..., Any],
        shards: Sequence[Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Combine ``function(item, 1, *arguments)`` of all items, as a tree over their numbers."""
        tree = Tree(combine)
        parts = [self._submit(_add_up, shard, function, combine, tuple(arguments)) for shard in shards]
        for _, nodes in need("distributed").as_completed(parts, loop=self.client.loop, with_results=True):
            for node in nodes:
                tree.add(node)
        return tree.result()

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future; all that it needs travels with it, large tables too, so that it can be made again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.submit(function, *arguments, pure=False)

    def _shard_count(self) -> int:
        if self.n_shards is not None:
            return self.n_shards
        return max(1, 2 * sum(self.client.nthreads().values()))


def _same(shard: BlockShard) -> BlockShard:
    return shard


def _keep(shard: Any, make: Callable[[Any], Any], memory: float) -> KeptShard:
    """What is kept on this worker; its own folder is removed also after it was killed."""
    return KeptShard(shard, make, memory, need("distributed").get_worker().local_directory)


def _add_up(shard: Any, function: Callable[..., Any], combine: Combine, arguments: tuple[Any, ...]) -> list[Node]:
    return add_up(shard, function, combine, arguments, 1)

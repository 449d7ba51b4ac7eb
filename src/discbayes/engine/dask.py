"""The engine of a cluster: shards on the workers of a ``dask.distributed`` client.

A shard is a future of a pure function of its description: files and the numbers of their rows, or
the rows themselves. What is made of its blocks and kept is another future. So when a worker dies,
Dask computes again what it had.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any
from uuid import uuid4

from discbayes._lazy_imports import need
from discbayes.engine.shards import (
    BlockShard,
    Combine,
    KeptShard,
    MappedShard,
    Node,
    ReductionTree,
    ShardSource,
    add_up,
    runs,
)

_DIED = (
    "the same rows have ended several workers of the cluster, one after the other, probably for"
    " lack of memory: lower the limit of memory, or use more workers"
)
# for each thread: with few, the others wait for the last one, and a worker that dies loses more
SHARDS_EACH = 4


class DaskEngine:
    """Engine of a cluster: blocks on its workers, with the same bits as on threads.

    Parameters
    ----------
    client : distributed.Client
        The cluster. Its workers must have discbayes.
    n_shards : int, optional
        The number of runs of blocks, by default four for each thread of the cluster; the results
        are the same for any number.
    memory : float, optional
        The bytes that the rows may take on each worker; what does not fit goes to its own folder.
    """

    is_local = False

    def __init__(self, client: Any, n_shards: int | None = None, memory: float = inf):
        if n_shards is not None and n_shards < 1:
            raise ValueError(f"n_shards={n_shards!r} must be at least 1")
        self.client = client
        self.n_shards = n_shards or max(1, SHARDS_EACH * sum(client.nthreads().values()))
        self.memory = memory
        self._hosts: list[str] | None = None

    def load(self, source: ShardSource) -> list[Any]:
        """Return the shards of a source, as futures.

        A source may load itself. Of others the workers read the file if all of them see it; else
        the blocks are sent.
        """
        own = getattr(source, "load_on", None)
        if own is not None:
            return list(own(self))
        shards = [BlockShard(source, *run) for run in self.runs(len(source))]
        if not self._shares_file_of(source):
            shards = [shard.alone() for shard in shards]
        return [self.submit(_same, shard) for shard in shards]

    def keep(
        self,
        shards: Sequence[Any],
        make: Callable[[Any], Any],
        memory: float = inf,
        n_jobs: int | None = None,
    ) -> list[Any]:
        """Return shards of what is made of each block; ``memory`` is that of each worker."""
        each = self.share(memory, len(shards))
        return self._of_each(keep_shard, shards, make, each)

    def mapped(self, shards: Sequence[Any], function: Callable[[Any, int], Any]) -> list[Any]:
        """Return shards of a function of each block and its number, called when it is needed."""
        return self._of_each(MappedShard, shards, function)

    def map_reduce(
        self,
        function: Callable[..., Any],
        shards: Sequence[Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Return the combined ``function(item, 1, *arguments)`` of all items.

        The results are combined as a tree over the numbers of the items.
        """
        tree = ReductionTree(combine)
        for part in self.as_done(
            self._of_each(_add_up, shards, function, combine, tuple(arguments))
        ):
            for node in part.result():
                tree.add(node)
        return tree.result()

    def as_done(self, parts: Sequence[Any]) -> Iterator[Any]:
        """Yield futures as they are done.

        Where several fail, the error is that of the first one, as if they had been done one after
        the other.
        """
        distributed = need("distributed")
        for part in distributed.as_completed(parts, loop=self.client.loop):
            if part.status != "finished":
                error = next(filter(None, (other.exception() for other in parts)))
                if isinstance(error, distributed.KilledWorker):
                    raise ConnectionError(_DIED) from error
                raise error
            yield part

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a future; all that it needs is sent with it, so that it can be computed again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.submit(function, *arguments, pure=False, workers=self._hosts)

    def _of_each(
        self, function: Callable[..., Any], shards: Sequence[Any], *arguments: Any
    ) -> list[Any]:
        """Return futures of a function of each shard, and of arguments that are the same for all.

        These are packed here: arrays that Dask unpacks are read-only, and kernels would be compiled
        once more for them.
        """
        packed = need("cloudpickle").dumps(arguments)
        return [self.submit(_unpack_and_call, function, shard, packed) for shard in shards]

    def runs(self, n_blocks: int) -> list[tuple[int, int]]:
        """Return the first block of each shard, and one after its last."""
        return list(runs(n_blocks, self.n_shards))

    def share(self, memory: float, n_shards: int) -> float:
        """Return the bytes that each shard has of the memory of a worker.

        Half of the memory is for the rows, half for what is made of them.
        """
        return memory / 2 * max(1, len(self.client.nthreads())) / max(1, n_shards)

    def agrees(self, question: Callable[..., bool], *arguments: Any) -> bool:
        """Return whether all workers answer yes.

        If so, work stays on their machines, whichever others join them.
        """
        answers = self.client.run(question, *arguments)
        if not answers or not all(answers.values()):
            return False
        host_of = need("distributed.comm").get_address_host
        self._hosts = sorted({host_of(address) for address in answers})
        return True

    def _shares_file_of(self, source: ShardSource) -> bool:
        """Return whether all workers see the file of a source: they find a token beside it."""
        path = getattr(source, "path", None)
        if path is None or not hasattr(source, "part"):
            return False
        token = Path(path).parent / f"token-{uuid4().hex}"
        try:
            token.write_text(token.name, encoding="ascii")
            return self.agrees(_finds, str(token), token.name)
        except OSError:
            return False
        finally:
            token.unlink(missing_ok=True)


def keep_shard(shard: Any, make: Callable[[Any], Any], memory: float) -> KeptShard:
    """Return a shard that is kept on this worker, in whose own folder it puts its files."""
    return KeptShard(shard, make, memory, need("distributed").get_worker().local_directory)


def _unpack_and_call(function: Callable[..., Any], shard: Any, packed: bytes) -> Any:
    return function(shard, *pickle.loads(packed))


def _same(shard: BlockShard) -> BlockShard:
    return shard


def _finds(path: str, text: str) -> bool:
    try:
        return Path(path).read_text(encoding="ascii") == text
    except OSError:
        return False


def _add_up(
    shard: Any, function: Callable[..., Any], combine: Combine, arguments: tuple[Any, ...]
) -> list[Node]:
    return add_up(shard, function, combine, arguments, 1)

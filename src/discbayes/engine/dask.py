"""A Dask cluster: connecting to it, and an engine with shards on its workers.

A shard is a future of a pure function of its description: files and the numbers of their rows, or
the rows themselves. What is made of its blocks and kept is another future. So when a worker dies,
Dask computes again what it had.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from math import inf
from numbers import Integral
from pathlib import Path
from typing import Any
from uuid import uuid4

from discbayes._lazy_imports import need
from discbayes._version import __version__
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

_PATIENCE = 5.0  # seconds that a scheduler has to accept a connection, and to have workers
_GREETING = 10.0  # seconds in which a scheduler must identify itself
_DIED = (
    "the same rows have ended several workers of the cluster, one after the other, probably for"
    " lack of memory: lower the limit of memory, or use more workers"
)
# for each thread: with few, the others wait for the last one, and a worker that dies loses more
SHARDS_EACH = 4


@contextmanager
def connected_client(cluster: Any) -> Iterator[Any]:
    """Yield the client of a cluster whose workers are ready, and close what was opened here.

    Parameters
    ----------
    cluster : str, int, distributed.Client or None
        The address of a scheduler, a number of worker processes to start on this machine, or a
        client. None stays None.
    """
    with ExitStack() as opened:
        client = None if cluster is None else _client_of(cluster, opened)
        if client is not None:
            _check_workers(client)
        yield client


def active_client() -> Any:
    """Return the client that is active in this process; None if there is none."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None


def is_client(cluster: Any) -> bool:
    """Return whether something is a client of a cluster, without importing Dask."""
    return "distributed" in sys.modules and isinstance(cluster, sys.modules["distributed"].Client)


def _client_of(cluster: Any, opened: ExitStack) -> Any:
    distributed = need("distributed")
    if is_client(cluster):
        if cluster.status != "running" or cluster.asynchronous:
            raise ValueError(
                "cluster is a client that is closed or asynchronous: pass one that is connected"
            )
        return cluster
    if isinstance(cluster, str):
        _check_address(cluster)
        client = _connected(cluster)
    elif isinstance(cluster, Integral) and not isinstance(cluster, bool) and int(cluster) >= 1:
        local = distributed.LocalCluster(
            n_workers=int(cluster),
            threads_per_worker=1,
            processes=True,
            # any port that is free, since the scheduler wants one in any case
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        )
        opened.callback(local.close)
        client = distributed.Client(local, set_as_default=False)
    else:
        raise ValueError(
            f"cluster={cluster!r} must be the address of a Dask scheduler such as"
            " 'tcp://10.0.0.5:8786', a number of worker processes of at least 1, or a"
            " distributed.Client"
        )
    opened.callback(client.close)
    return client


def _check_address(address: str) -> None:
    """Refuse an address where nothing listens, or where no scheduler answers.

    A client would retry, or wait forever.
    """
    parsing = need("distributed.comm.addressing")
    try:
        scheme, location = parsing.parse_address(address)
        need("distributed.comm.registry").get_backend(scheme)
        host, port = parsing.parse_host_port(location)
    except ValueError as error:
        raise ValueError(
            f"cluster={address!r} is not an address of a Dask scheduler, such as 'tcp://10.0.0.5:8786':"
            f" {error}"
        ) from None
    if scheme not in ("tcp", "tls"):
        return
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
        with ThreadPoolExecutor(1) as apart:  # where no event loop runs, as one may do here
            apart.submit(asyncio.run, _greeted(address)).result()
    except TimeoutError:
        silence = f"it accepts the connection and sends nothing for {_GREETING:g} s"
        raise ConnectionError(_nobody(address, silence)) from None
    except Exception as error:  # of any kind, since anything may listen there
        raise ConnectionError(_nobody(address, error)) from None


async def _greeted(address: str) -> None:
    """Exchange greetings with a scheduler, within a limit that Dask's own connections lack."""
    security = need("distributed.security").Security().get_connection_args("client")
    connecting = need("distributed.comm").connect(address, timeout=_PATIENCE, **security)
    comm = await asyncio.wait_for(connecting, _GREETING)
    await comm.close()


def _connected(address: str) -> Any:
    try:
        return need("distributed").Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(_nobody(address, error)) from error


def _nobody(address: str, error: object) -> str:
    return (
        f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`, or"
        " correct the address"
    )


def _check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or with workers of another version of discbayes."""
    address = client.scheduler.address
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise ConnectionError(
            f"the Dask scheduler at {address} has no workers: start some with `dask worker"
            f" {address}`"
        ) from None

    def version() -> str | None:  # sent by its code, so that a worker without discbayes can answer
        from importlib import import_module

        try:
            return str(import_module("discbayes").__version__)
        except ImportError:
            return None

    odd = {worker: found for worker, found in client.run(version).items() if found != __version__}
    if odd:
        worker, found = next(iter(odd.items()))
        what = "does not have discbayes"
        if found is not None:
            what = f"has discbayes {found}, this process {__version__}"
        others = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
        raise ImportError(
            f"the worker {worker} of the cluster{others} {what}: install discbayes {__version__}"
            " where the workers run"
        )


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
        return [self.submit(itself, shard) for shard in shards]

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


def itself(item: Any) -> Any:
    """Return the argument: a worker keeps what is sent to it."""
    return item


def _finds(path: str, text: str) -> bool:
    try:
        return Path(path).read_text(encoding="ascii") == text
    except OSError:
        return False


def _add_up(
    shard: Any, function: Callable[..., Any], combine: Combine, arguments: tuple[Any, ...]
) -> list[Node]:
    return add_up(shard, function, combine, arguments, 1)

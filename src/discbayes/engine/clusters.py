"""Connecting to a Dask cluster: by address, by a client, or by starting workers here."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from numbers import Integral
from typing import Any

from discbayes._lazy_imports import need
from discbayes._version import __version__

_PATIENCE = 5.0  # seconds that a scheduler has to accept a connection, and to have workers
_GREETING = 10.0  # seconds in which a scheduler must identify itself


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

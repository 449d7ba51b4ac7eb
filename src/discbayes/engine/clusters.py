"""Reaching a Dask cluster: by the address of its scheduler, by a client, or by starting workers here."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from numbers import Integral
from typing import Any

from discbayes._leaves import need
from discbayes._version import __version__

_PATIENCE = 5.0  # seconds that a scheduler has to answer, and to have workers


@contextmanager
def reached(cluster: Any) -> Iterator[Any]:
    """The client of a cluster, whose workers are ready; what was opened or started here is closed in the end.

    Parameters
    ----------
    cluster : str, int, distributed.Client or None
        The address of a scheduler, a number of worker processes to start on this machine, or a client. None stays
        None.
    """
    with ExitStack() as opened:
        client = None if cluster is None else _client_of(cluster, opened)
        if client is not None:
            _check_workers(client)
        yield client


def active_client() -> Any:
    """The client that is active in this process; None if there is none."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None


def is_client(cluster: Any) -> bool:
    """Whether something is a client of a cluster, without importing Dask."""
    return "distributed" in sys.modules and isinstance(cluster, sys.modules["distributed"].Client)


def _client_of(cluster: Any, opened: ExitStack) -> Any:
    distributed = need("distributed")
    if is_client(cluster):
        if cluster.status != "running" or cluster.asynchronous:
            raise ValueError("cluster is a client that is closed or asynchronous: pass one that is connected")
        return cluster
    if isinstance(cluster, str):
        _check_address(cluster)
        client = _connected(cluster)
    elif isinstance(cluster, Integral) and not isinstance(cluster, bool) and int(cluster) >= 1:
        local = distributed.LocalCluster(
            n_workers=int(cluster),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any port that is free, since the scheduler wants one in any case
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        )
        opened.callback(local.close)
        client = distributed.Client(local, set_as_default=False)
    else:
        raise ValueError(
            f"cluster={cluster!r} must be the address of a Dask scheduler such as 'tcp://10.0.0.5:8786', a number of "
            "worker processes of at least 1, or a distributed.Client"
        )
    opened.callback(client.close)
    return client


def _check_address(address: str) -> None:
    """Refuse an address where nobody listens; a client would go on trying in the background."""
    parsing = need("distributed.comm.addressing")
    try:
        scheme, location = parsing.parse_address(address)
        need("distributed.comm.registry").get_backend(scheme)
        host, port = parsing.parse_host_port(location)
    except ValueError as error:
        raise ValueError(
            f"cluster={address!r} is no address of a Dask scheduler, such as 'tcp://10.0.0.5:8786': {error}"
        ) from None
    if scheme not in ("tcp", "tls"):
        return
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        raise ConnectionError(_nobody(address, error)) from None


def _connected(address: str) -> Any:
    try:
        return need("distributed").Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(_nobody(address, error)) from error


def _nobody(address: str, error: Exception) -> str:
    return f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`, or correct the address"


def _check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or with workers that could not do the same as this process does."""
    address = client.scheduler.address
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise ConnectionError(
            f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`"
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
        what = "does not have discbayes" if found is None else f"has discbayes {found}, this process {__version__}"
        others = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
        raise ImportError(
            f"the worker {worker} of the cluster{others} {what}: install discbayes {__version__} where the workers run"
        )

"""A real cluster of two processes for tests, and how to kill one of them."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import contextmanager


@contextmanager
def two_workers():
    """The client of a cluster that forgives dying workers."""
    import dask
    import distributed

    settings = {
        "distributed.scheduler.allowed-failures": 10,
        "distributed.worker.memory.terminate": False,
    }
    with dask.config.set(settings):
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        )
        client = distributed.Client(cluster, set_as_default=False)
        yield client
        client.close()
        cluster.close()


def kill_a_worker(client):
    """End one worker process, as the machine would that runs out of memory."""
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)
    return pid


def wait_for_workers(client, gone):
    """Wait until there are two workers again, none of which is the one that was killed."""
    deadline = time.time() + 240  # a busy machine takes its time to start a process
    while time.time() < deadline:
        pids = list(client.run(os.getpid).values())
        if len(pids) == 2 and gone not in pids:
            return
        time.sleep(0.2)
    raise AssertionError("the worker did not come back")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]

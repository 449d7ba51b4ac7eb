"""A process of its own that runs the greedy search on mnist14 and prints the largest memory that it
had.
"""

from __future__ import annotations

import json
import sys

from discbayes.counts import count
from discbayes.engine import Context
from discbayes.search import GreedyEdges
from suite.data import coded
from suite.measure import N_JOBS
from suite.probe_memory import forget_peak, peak

GREEDY = GreedyEdges("cr", 5, max_time=60.0)


def main(*smoke: str) -> None:
    data = coded("mnist14", smoke=bool(smoke)).encoded
    coded.cache_clear()
    forget_peak()
    GREEDY.learn(data, count(data, N_JOBS), Context(n_jobs=N_JOBS))
    print(json.dumps({"peak": peak()}))


if __name__ == "__main__":
    main(*sys.argv[1:])

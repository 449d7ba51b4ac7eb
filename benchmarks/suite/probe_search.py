"""A process of its own that runs the greedy search on mnist14 and prints the largest memory that it had."""

from __future__ import annotations

import json

from discbayes.counts import count
from discbayes.engine import Context
from discbayes.search import GreedyEdges
from suite.data import coded
from suite.probe_memory import forget_peak, peak


def main() -> None:
    data = coded("mnist14").encoded
    coded.cache_clear()
    forget_peak()
    GreedyEdges("cr", 5, max_time=60.0).learn(data, count(data, 2), Context(n_jobs=2))
    print(json.dumps({"peak": peak()}))


if __name__ == "__main__":
    main()

"""How a fit of the default grows with the number of values of its columns: processor time and
memory, and how good it is where pairs of columns or of regions of values show the class, and
where nothing does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from suite.measure import Row, below, in_new_process, noted, of, repeats
from suite.probe_values import DEFAULT, N_COLUMNS

VALUES = (10, 100, 1_000, 10_000)
N_ROWS = 20_000
MEGABYTE = 1e6
RUNS = 3
LIMITED = 1_000  # values for which time and memory have a limit
MORE_LOSS = 0.001  # nats above naive Bayes that rounding and calibration may cost on noise
LEARNERS = {"default": DEFAULT}


def run(smoke: bool) -> Iterator[Row]:
    yield from of("default", *_measure(600 if smoke else N_ROWS, smoke))


def _measure(n_rows: int, smoke: bool) -> Iterator[Row]:
    times, sizes = [], []
    for n_values in VALUES:
        what = f"default fit, {n_rows:,} x {N_COLUMNS} of {n_values:,} values"
        linked = [_probe(n_rows, n_values, "linked") for _ in range(repeats(smoke, RUNS))]
        noise, regions = (_probe(n_rows, n_values, kind) for kind in ("noise", "regions"))
        times.append(min(probe["seconds"] for probe in linked))
        sizes.append(max(probe["bytes"] for probe in linked) / MEGABYTE)
        if n_values == LIMITED:
            yield below(what, times[-1], 5.0)
            yield below(f"{what}, peak memory of the process", sizes[-1], 500, "MB")
        else:
            yield noted(what, times[-1])
            yield noted(f"{what}, peak memory of the process", sizes[-1], unit="MB")
        yield noted(f"{what}, accuracy where pairs show the class", linked[0]["right"], unit="")
        where = f"{what}, where regions of values do"
        yield noted(f"{where}, accuracy", regions["right"], unit="")
        yield noted(
            f"{where}, log loss below naive Bayes", regions["naive"] - regions["loss"], unit="nats"
        )
        yield noted(where, regions["seconds"])
        yield noted(f"{where}, peak memory of the process", regions["bytes"] / MEGABYTE, unit="MB")
        more = noise["loss"] - noise["naive"]
        yield below(f"{what}, log loss on noise beyond naive Bayes", more, MORE_LOSS, "nats")
    for what, figures in (("time", times), ("memory", sizes)):
        exponent = float(np.polyfit(np.log(VALUES), np.log(figures), 1)[0])
        yield below(f"default fit, growth of {what} with the values", exponent, 1.0, "exponent")


def _probe(n_rows: int, n_values: int, kind: str) -> dict[str, float]:
    return in_new_process("suite.probe_values", str(n_rows), str(n_values), kind)

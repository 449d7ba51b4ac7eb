"""BIF files: `read_bif` gives a network that can be written and read again, or a `BifError` of one
line.
"""

from __future__ import annotations

import atexit
import re
import tempfile
from pathlib import Path

import numpy as np

from discbayes.io import BifError, read_bif, write_bif

LONGEST_MESSAGE = 1000
MAX_CELLS = 100_000
FOLDER = tempfile.TemporaryDirectory(prefix="discbayes-fuzz-")
atexit.register(FOLDER.cleanup)
READ, WRITTEN = Path(FOLDER.name) / "read.bif", Path(FOLDER.name) / "written.bif"
WORDS = (
    "network", "variable", "probability", "property", "type", "discrete", "table", "default",
    "{", "}", "(", ")", "[", "]", "|", ",", ";", '"', "//", "/*", "*/",
    "0", "1", "2", "0.5", "1e-9", "-1", "nan", "1e999",
    "discbayes_name", "discbayes_kind", "discbayes_values", "discbayes_cuts",
    "discbayes_missing", "discbayes_padded", "discbayes_role",
    "=", "class", "numeric", "categorical", "boolean", "yes", "none",
    "s:a", "i:3", "f:0.5", "b:True", "%FF", "%", "a",
)  # fmt: skip
TOKEN = re.compile(r"\s+|[\w.:%+-]+|.", re.DOTALL)


def check(data: bytes) -> None:
    """Read with the class that the file names, and with the first variable as the class."""
    READ.write_bytes(data)
    first = re.search(rb'variable\s+"?([\w-]+)', data)
    for target in (None, first[1].decode("utf-8", "replace") if first else "c"):
        read(target)


def read(target: str | None) -> None:
    """Check that a file gives a network that works, or an error with its line."""
    try:
        network = read_bif(READ, target, max_cells=MAX_CELLS)
    except BifError as error:
        message = str(error)
        assert message.startswith(str(READ)), message
        assert len(message) < LONGEST_MESSAGE, len(message)
        assert message.isprintable(), message
        return
    assert network.parameters.is_normalized
    assert np.isclose(network.prior.sum(), 1)
    write_bif(network, WRITTEN)
    again = read_bif(WRITTEN, max_cells=4 * MAX_CELLS)
    assert again.domain == network.domain
    assert again.structure == network.structure
    for ours, theirs in (
        (network.parameters.log_theta, again.parameters.log_theta),
        (network.parameters.log_prior, again.parameters.log_prior),
    ):
        assert np.allclose(np.exp(ours), np.exp(theirs), rtol=1e-9, atol=0)


def change(data: bytes, seed: int) -> bytes | None:
    """One to three words or signs removed, doubled, moved or replaced; None where there is no
    text.
    """
    rng = np.random.default_rng(seed)
    tokens = TOKEN.findall(data.decode("utf-8", "replace"))
    if not tokens:
        return None
    for _ in range(int(rng.integers(1, 4))):
        at, other = (int(rng.integers(len(tokens))) for _ in range(2))
        word = WORDS[int(rng.integers(len(WORDS)))]
        new = [[], [tokens[at]] * 2, [word], [tokens[other]], [tokens[at], " ", word]][
            int(rng.integers(5))
        ]
        tokens[at : at + 1] = new
        if not tokens:
            return None
    return "".join(tokens).encode("utf-8")

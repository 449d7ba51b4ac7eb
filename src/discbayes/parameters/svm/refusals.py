"""Checks of the reference solver: settings, missing values, structures and sizes."""

from __future__ import annotations

import numpy as np

from discbayes._settings import require_number
from discbayes.data.domain import Encoded
from discbayes.network import Layout

# about a minute and 300 MB, measured
MAX_NON_ZEROS = 500_000
MAX_NUMBERS = 30_000
MAX_COUPLED = 3_000
SHOWN = 5
SCALABLE = 'use the scalable solver, solver="auto"'


def check_settings(lam: float, gamma: float) -> None:
    """Raise an error for invalid λ or γ."""
    require_number("lam", lam)
    require_number("gamma", gamma, 0, ": it is the required margin of rows")


def check_missing(data: Encoded) -> None:
    """Raise an error that names the columns with missing values."""
    found = np.flatnonzero(data.n_missing)
    if found.size:
        names = [f"{data.domain.names[i]!r} ({data.n_missing[i]})" for i in found[:SHOWN]]
        raise ValueError(
            "margins of the reference solver need complete rows, and values are missing in"
            f" {', '.join(names)}"
            f'{", …" if found.size > SHOWN else ""}: learn with missing="drop" or missing="value"'
        )


def check_structure(data: Encoded, layout: Layout) -> None:
    """Raise an error for a structure whose optimum may have no normalized network."""
    structure = layout.structure
    if structure.is_c1:
        return
    found = [
        i
        for i, flag in enumerate(structure.class_children)
        if flag and structure.covering_parent(i) is None
    ]
    names = ", ".join(repr(data.domain.names[i]) for i in found[:SHOWN]) + (
        ", …" if len(found) > SHOWN else ""
    )
    raise ValueError(
        f"the reference solver needs a C1 structure, and {names}"
        f" {'has' if len(found) == 1 else 'have'} no covering parent, which is a parent that has"
        " all the other parents as its own: the optimum may have no normalized network. Take a"
        f" structure like TAN, or {SCALABLE}"
    )


def check_size(n_margins: int, per_margin: int, n_numbers: int) -> None:
    """Raise an error for a program that would take more than about a minute."""
    sizes = (
        (n_margins * per_margin, MAX_NON_ZEROS, "non-zeros"),
        (n_numbers, MAX_NUMBERS, "parameters"),
        (min(n_margins, n_numbers), MAX_COUPLED, "in the smaller of its dimensions"),
    )
    for size, limit, of_what in sizes:
        if n_margins and size > limit:
            raise ValueError(
                f"the program has {n_margins:,} margins over {n_numbers:,} parameters and so"
                f" {size:,} {of_what}; above {limit:,} the reference solver would take more than"
                f" about a minute. Take fewer rows, or {SCALABLE}"
            )

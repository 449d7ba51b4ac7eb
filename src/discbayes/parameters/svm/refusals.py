"""What the reference solver does not take: settings, gaps, structures and sizes."""

from __future__ import annotations

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.network import Layout

# about a minute and 300 MB, measured
MAX_NON_ZEROS, MAX_NUMBERS, MAX_COUPLED = 500_000, 30_000, 3_000
SHOWN = 5
SCALABLE = 'use the scalable solver, solver="auto"'


def check_settings(lam: float, gamma: float) -> None:
    """Refuse numbers that make no sense."""
    if not (np.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam={lam!r} must be a number that is at least 0")
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(
            f"gamma={gamma!r} must be a number above 0: it is the margin that rows are to reach"
        )


def check_gaps(data: Encoded) -> None:
    """Refuse rows with gaps, by the names of their columns."""
    found = np.flatnonzero(data.n_missing)
    if found.size:
        names = [f"{data.domain.names[i]!r} ({data.n_missing[i]})" for i in found[:SHOWN]]
        raise ValueError(
            "margins of the reference solver need complete rows, and there are gaps in"
            f" {', '.join(names)}"
            f'{", …" if found.size > SHOWN else ""}: learn with missing="drop" or missing="value"'
        )


def check_structure(data: Encoded, layout: Layout) -> None:
    """Refuse a structure whose optimum may have no normalised network."""
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
        " all the other parents as its own: the optimum may have no normalised network. Take a"
        f" structure like TAN, or {SCALABLE}"
    )


def check_size(n_margins: int, per_margin: int, n_numbers: int) -> None:
    """Refuse a program that would take more than about a minute."""
    sizes = (
        (n_margins * per_margin, MAX_NON_ZEROS, "non-zeros"),
        (n_numbers, MAX_NUMBERS, "free numbers"),
        (min(n_margins, n_numbers), MAX_COUPLED, "in the smaller of its dimensions"),
    )
    for size, limit, of_what in sizes:
        if n_margins and size > limit:
            raise ValueError(
                f"the program has {n_margins:,} margins over {n_numbers:,} free numbers and so"
                f" {size:,} {of_what}; above {limit:,} the reference solver would take more than"
                f" about a minute. Take fewer rows, or {SCALABLE}"
            )

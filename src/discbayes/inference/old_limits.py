"""The limits of exact inference as version 0.1 named them (docs/compatibility.md).

``max_factor_size`` was the number of cells of the largest factor, and ``n_draws`` the number of
draws for rows beyond it, None for an error.
"""

from __future__ import annotations

from collections.abc import Callable

from discbayes._deprecation import Decorated, renamed_parameters, warn_renamed
from discbayes._settings import require_integer
from discbayes.inference.marginalization import ESTIMATE, MAX_CELLS, RAISE
from discbayes.inference.sampling import N_DRAWS

MAX_FACTOR_SIZE = 1 << 22  # the default of version 0.1


def cells_of_factor(max_factor_size: int) -> int:
    """Return the limit on cells for one on the largest factor; larger limits scale with it."""
    require_integer("max_factor_size", max_factor_size, 1)
    if max_factor_size < MAX_FACTOR_SIZE:
        return int(max_factor_size)
    return MAX_CELLS * int(max_factor_size) // MAX_FACTOR_SIZE


def beyond_of_draws(n_draws: int | None) -> str | int:
    """Return what is done beyond the limit, for a number of draws."""
    if n_draws is None:
        return RAISE
    require_integer("n_draws", n_draws, 1)
    return int(n_draws)


_RENAMED = {"max_factor_size": "max_cells", "n_draws": "beyond_max_cells"}
_TRANSLATED = {"max_factor_size": cells_of_factor, "n_draws": beyond_of_draws}


def renamed_limits(*positional: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that lets a function accept the old limits, with a warning.

    ``positional`` are the parameters by position of version 0.1, where the limits were among them.
    """
    return renamed_parameters(_TRANSLATED, positional, **_RENAMED)


class WithOldLimits:
    """An object with ``max_cells`` and ``beyond_max_cells`` that has their old names too."""

    max_cells: int
    beyond_max_cells: str | int

    @property
    def max_factor_size(self) -> int:
        """Deprecated: use ``max_cells``."""
        warn_renamed("the attribute max_factor_size", "max_cells")
        scaled = self.max_cells * MAX_FACTOR_SIZE // MAX_CELLS
        return max(scaled, min(self.max_cells, MAX_FACTOR_SIZE - 1))

    @max_factor_size.setter
    def max_factor_size(self, value: int) -> None:
        self.max_cells = cells_of_factor(value)
        warn_renamed("the attribute max_factor_size", f"max_cells={self.max_cells}")

    @property
    def n_draws(self) -> int | None:
        """Deprecated: use ``beyond_max_cells``."""
        warn_renamed("the attribute n_draws", "beyond_max_cells")
        known = {RAISE: None, ESTIMATE: N_DRAWS}
        return known.get(self.beyond_max_cells, self.beyond_max_cells)  # type: ignore

    @n_draws.setter
    def n_draws(self, value: int | None) -> None:
        self.beyond_max_cells = beyond_of_draws(value)
        warn_renamed("the attribute n_draws", f"beyond_max_cells={self.beyond_max_cells!r}")

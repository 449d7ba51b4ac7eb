"""Sufficient statistics as JSON: counts in the narrowest integer type that holds them.

Files call them "tallies".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.counts import Counts, FamilyCounts, PairCounts, SufficientStatistics
from discbayes.counts.sufficient_statistics import pair_cells
from discbayes.data import Domain
from discbayes.io.domains import check_features
from discbayes.io.layouts import checked_layout
from discbayes.io.setting_values import pack_structure, unpack_structure
from discbayes.io.validation import FLOATS, as_array, as_bool, as_object, pack_array

_WHOLE = ("|u1", "<u2", "<u4")
_ROWS = "<i8"
_MAX_COUNT = 1e200  # sums stay finite
_MAX_ROWS = 2**53  # sums stay exact
_FIELDS = ("rows", "class_count", "cells", "pairs", "families", "weighted", "fixed_classes")


def pack_statistics(statistics: SufficientStatistics) -> dict[str, Any]:
    """Return sufficient statistics as JSON, without the domain, which is that of the model."""
    pairs, families = statistics.pairs, None
    if statistics.families is not None:
        structure = pack_structure(statistics.families.layout.structure)
        families = {"structure": structure, "cells": _pack_counts(statistics.families.cells)}
    return {
        "rows": pack_array(statistics.rows, _ROWS),
        "class_count": pack_array(statistics.counts.class_count),
        "cells": _pack_counts(statistics.counts.cells),
        "pairs": None if pairs is None else _pack_counts(pairs.cells),
        "families": families,
        "weighted": statistics.weighted,
        "fixed_classes": statistics.fixed_classes,
    }


def _pack_counts(cells: np.ndarray) -> dict[str, Any]:
    whole = bool((cells == np.floor(cells)).all())
    fitting = [dtype for dtype in _WHOLE if whole and cells.max(initial=0.0) <= np.iinfo(dtype).max]
    return pack_array(cells, fitting[0] if fitting else FLOATS)


def unpack_statistics(value: Any, domain: Domain) -> SufficientStatistics:
    """Return the sufficient statistics of a domain, checked in size and range."""
    fields = as_object(value, "tallies", _FIELDS)
    rows = as_array(fields["rows"], "tallies.rows", (_ROWS,))
    if rows.shape != (domain.n_classes,) or (rows < 0).any() or (rows > _MAX_ROWS).any():
        raise ValueError(f"tallies.rows must be the rows of each of {domain.n_classes} classes")
    class_count = _as_counts(fields["class_count"], domain.n_classes, "tallies.class_count")
    n_cells = sum(domain.cards.tolist()) * domain.n_classes
    cells = _as_counts(fields["cells"], n_cells, "tallies.cells")
    pairs = families = None
    if fields["pairs"] is not None:
        own = _as_counts(fields["pairs"], pair_cells(domain), "tallies.pairs")
        pairs = PairCounts(domain.cards, domain.n_classes, own)
    if fields["families"] is not None:
        families = _unpack_families(fields["families"], domain, class_count)
    flags = [as_bool(fields[name], f"tallies.{name}") for name in ("weighted", "fixed_classes")]
    counts = Counts(domain.cards, class_count, cells)
    return SufficientStatistics(domain, rows, counts, pairs, families, *flags)


def _as_counts(value: Any, size: int | None, where: str) -> np.ndarray:
    """Return a vector of counts, of any size if ``size`` is None."""
    counts = as_array(value, where, (*_WHOLE, FLOATS)).astype(np.float64)
    if counts.ndim != 1 or size not in (None, counts.size):
        raise ValueError(f"{where} has {counts.size} cells where the domain has {size}")
    if not ((counts >= 0) & (counts <= _MAX_COUNT)).all():
        raise ValueError(f"{where} holds numbers that are not counts")
    return counts


def _unpack_families(value: Any, domain: Domain, class_count: np.ndarray) -> FamilyCounts:
    fields = as_object(value, "tallies.families", ("structure", "cells"))
    structure = unpack_structure(fields["structure"], "tallies.families.structure")
    check_features(domain, structure, "tallies.families")
    cells = _as_counts(fields["cells"], None, "tallies.families.cells")
    layout = checked_layout(domain, structure, cells.size, "tallies.families", "cells")
    return FamilyCounts(layout, class_count, cells)

"""What the parts of one run share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discbayes.engine.progress import Progress


@dataclass(frozen=True)
class Context:
    """The random generator, the number of threads and the progress display of one run."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    n_jobs: int | None = None
    progress: Progress = field(default_factory=Progress)

"""The data sets that need no file: scikit-learn's, those that a rule makes, and seeded synthetic
ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from discbayes.datasets import rules
from discbayes.datasets.dataset import Columns, DatasetInfo, Split
from discbayes.datasets.generators import (
    make_conditioned_logistic,
    make_led,
    make_random_distribution,
    make_three_feature,
    make_waveform,
)
from discbayes.datasets.trees import random_trees

Seed = int | np.random.Generator | None


@dataclass(frozen=True)
class Embedded:
    """A data set that code makes: its line of the list, and the function that makes it."""

    info: DatasetInfo
    build: Callable[..., Columns]

    def load(self, options: dict[str, Any]) -> Columns:
        """Make the columns; an option that this data set does not have is an error."""
        allowed = [
            name
            for name, parameter in inspect.signature(self.build).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        ]
        wrong = sorted(set(options) - set(allowed))
        if wrong:
            offered = ", ".join(allowed) or "none"
            raise TypeError(
                f"data set {self.info.name!r} has no option {', '.join(wrong)} (its options:"
                f" {offered})"
            )
        return self.build(**options)


def _from_sklearn(loader: str) -> Columns:
    from sklearn import datasets  # heavy, so only when asked for

    bunch = getattr(datasets, loader)()
    names = [str(name) for name in bunch.feature_names]
    features = {
        name: np.ascontiguousarray(column) for name, column in zip(names, bunch.data.T, strict=True)
    }
    return Columns(features, np.asarray(bunch.target_names).astype(str)[bunch.target])


def _named(prefix: str, X: np.ndarray) -> list[str]:
    return [f"{prefix}{position}" for position in range(1, X.shape[1] + 1)]


def _three_feature(*, n_samples: int = 2000, random_state: Seed = 0) -> Columns:
    X, y = make_three_feature(
        check_scalar(n_samples, "n_samples", Integral, min_val=2), random_state=random_state
    )
    half = n_samples // 2
    return Columns(
        rules.categories(_named("X", X), X), rules.labels(y), split=(half, n_samples - half)
    )


def _random_tree(
    *, n_samples: int = 150_000, n_features: int = 10, random_state: Seed = 0
) -> Columns:
    rng = np.random.default_rng(random_state)
    trees = random_trees(n_features, random_state=rng)
    half = check_scalar(n_samples, "n_samples", Integral, min_val=2) // 2
    # each part with P10's shares
    parts = [trees.sample(half, rng), trees.sample(n_samples - half, rng)]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Columns(
        rules.categories(_named("X", X), X), rules.labels(y), split=(half, n_samples - half)
    )


def _random_distribution(
    *, n_samples: int = 100_000, n_features: int = 10, random_state: Seed = 0
) -> Columns:
    X, y = make_random_distribution(n_samples, n_features=n_features, random_state=random_state)
    return Columns(rules.categories(_named("X", X), X), rules.labels(y))


def _conditioned_logistic(
    *, n_samples: int = 10_000, alpha: float = 1.0, random_state: Seed = 0
) -> Columns:
    X, y = make_conditioned_logistic(n_samples, alpha=alpha, random_state=random_state)
    return Columns(rules.categories(_named("x", X), X), rules.labels(y))


def _led(
    n_irrelevant: int, *, n_samples: int = 1000, noise: float = 0.1, random_state: Seed = 0
) -> Columns:
    X, y = make_led(n_samples, n_irrelevant=n_irrelevant, noise=noise, random_state=random_state)
    return Columns(rules.categories(_named("a", X), X), rules.labels(y))


def _waveform(n_noise: int, *, n_samples: int = 5000, random_state: Seed = 0) -> Columns:
    X, y = make_waveform(n_samples, n_noise=n_noise, random_state=random_state)
    features = {
        f"X{position:02d}": np.ascontiguousarray(column) for position, column in enumerate(X.T)
    }
    return Columns(features, rules.labels(y))


def _entry(
    name: str,
    build: Callable[..., Columns],
    shape: tuple[int, int, int],
    description: str,
    split: Split = None,
) -> Embedded:
    return Embedded(DatasetInfo(name, "embedded", *shape, split, description), build)


_DRAWN = "Drawn by our generator with random_state=0"
_MONKS = (
    "All 432 robots with the noise-free class, which is the problem's test set; the published"
    " training samples are a file of the UCI repository."
)
_ENTRIES = [
    _entry(
        "balance-scale",
        rules.balance_scale,
        (625, 4, 3),
        "The side of a balance that goes down; the UCI data set, by its rule.",
    ),
    _entry(
        "breast-cancer",
        partial(_from_sklearn, "load_breast_cancer"),
        (569, 30, 2),
        "Wisconsin diagnostic breast cancer, from scikit-learn.",
    ),
    _entry(
        "conditioned-logistic",
        _conditioned_logistic,
        (10_000, 3, 2),
        f"{_DRAWN}: the conditioned logistic example of Zaidi et al. (2017), section 5.5.1.",
    ),
    _entry(
        "corral",
        rules.corral,
        (128, 6, 2),
        "(A0 and A1) or (B0 and B1), an irrelevant and a correlated feature; the rows of MLC++'s"
        " test file.",
    ),
    _entry(
        "digits",
        partial(_from_sklearn, "load_digits"),
        (1797, 64, 10),
        "Handwritten digits as 8 x 8 pixels, from scikit-learn.",
    ),
    _entry(
        "iris",
        partial(_from_sklearn, "load_iris"),
        (150, 4, 3),
        "Fisher's iris, from scikit-learn, which follows Fisher's paper; the UCI file has three"
        " other cells.",
    ),
    _entry(
        "led",
        partial(_led, 0),
        (1000, 7, 10),
        f"{_DRAWN}: a seven-segment display, each segment wrong with probability 0.1.",
    ),
    _entry(
        "led-24",
        partial(_led, 17),
        (1000, 24, 10),
        f"{_DRAWN}: as led, with 17 irrelevant features.",
    ),
    _entry(
        "mofn-3-7-10",
        rules.mofn,
        (1324, 10, 2),
        "At least 3 of bits 2 to 8. The test part is all 1,024 combinations; the training part is"
        " our own draw with random_state=0 and differs from MLC++'s 300 rows.",
        (300, 1024),
    ),
    *[_entry(f"monks-{n}", partial(rules.monks, n), (432, 6, 2), _MONKS) for n in (1, 2, 3)],
    _entry(
        "random-distribution",
        _random_distribution,
        (100_000, 10, 2),
        f"{_DRAWN}: a random joint distribution, Pernkopf & Bilmes (2010), section 6.3.",
    ),
    _entry(
        "random-tree",
        _random_tree,
        (150_000, 10, 5),
        f"{_DRAWN}: a random 1-tree per class, Pernkopf & Bilmes (2010), section 6.4.",
        (75_000, 75_000),
    ),
    _entry(
        "three-feature",
        _three_feature,
        (2000, 3, 2),
        f"{_DRAWN}: the example of Pernkopf & Bilmes (2010), section 3.",
        (1000, 1000),
    ),
    _entry(
        "tic-tac-toe",
        rules.tic_tac_toe,
        (958, 9, 2),
        "Every board at which a game can end, x to open; is x the winner? The UCI data set, by its"
        " rule.",
    ),
    _entry(
        "waveform",
        partial(_waveform, 0),
        (5000, 21, 3),
        f"{_DRAWN}: Breiman's waveforms. The UCI sample of them is the file set waveform-21.",
    ),
    _entry(
        "waveform-40",
        partial(_waveform, 19),
        (5000, 40, 3),
        f"{_DRAWN}: as waveform, with 19 columns of noise.",
    ),
    _entry(
        "wine",
        partial(_from_sklearn, "load_wine"),
        (178, 13, 3),
        "Wine recognition, from scikit-learn; the UCI file calls the classes 1, 2 and 3.",
    ),
]

EMBEDDED: dict[str, Embedded] = {entry.info.name: entry for entry in _ENTRIES}

"""Data sets that need no file: scikit-learn's, those that a rule makes, and seeded draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discbayes.datasets import rules
from discbayes.datasets.dataset import Columns, DatasetInfo, Split
from discbayes.datasets.generators import (
    make_conditioned_logistic,
    make_led,
    make_random_distribution,
    make_three_feature,
    make_waveform,
)
from discbayes.datasets.trees import RandomState, Sample, random_trees, require_counts


@dataclass(frozen=True)
class Embedded:
    """A data set that code makes: its line of the list, the function that makes it, its options."""

    info: DatasetInfo
    build: Callable[..., Columns]
    options: tuple[str, ...] = ()

    def load(self, options: dict[str, Any]) -> Columns:
        """Make the columns; an option that this data set does not have is an error."""
        wrong = sorted(set(options) - set(self.options))
        if wrong:
            raise TypeError(
                f"data set {self.info.name!r} has no option {', '.join(wrong)} (its options:"
                f" {', '.join(self.options) or 'none'})"
            )
        return self.build(**options)


def _from_sklearn(loader: str) -> Columns:
    from sklearn import datasets  # heavy, so only when asked for

    bunch = getattr(datasets, loader)()
    features = _numbers(map(str, bunch.feature_names), bunch.data)
    return Columns(features, np.asarray(bunch.target_names).astype(str)[bunch.target])


def _numbers(names: Iterable[str], X: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(names, map(np.ascontiguousarray, X.T), strict=True))


# ---- drawn rows, the same with each load unless there is another random_state


def _drawn(draw: Callable[..., Sample], prefix: str, **options: Any) -> Columns:
    """Draw rows as columns of text with numbered names."""
    X, y = draw(**{"random_state": 0, **options})
    names = [f"{prefix}{position}" for position in range(1, X.shape[1] + 1)]
    return Columns(rules.categories(names, X), rules.labels(y))


def _split(draw: Callable[..., Sample], n_samples: int, **options: Any) -> Columns:
    """Draw rows of which the first half is to train on."""
    require_counts(2, n_samples=n_samples)
    half = n_samples // 2
    columns = _drawn(draw, "X", n_samples=n_samples, **options)
    return replace(columns, split=(half, n_samples - half))


def _random_tree(n_samples: int, random_state: RandomState, n_features: int = 10) -> Sample:
    rng = np.random.default_rng(random_state)
    trees = random_trees(n_features, random_state=rng)
    half = n_samples // 2
    # each part with P10's shares
    parts = [trees.sample(half, rng), trees.sample(n_samples - half, rng)]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X, y


def _waveform(n_noise: int, **options: Any) -> Columns:
    X, y = make_waveform(n_noise=n_noise, **{"random_state": 0, **options})
    return Columns(_numbers([f"X{k:02d}" for k in range(X.shape[1])], X), rules.labels(y))


def _entry(
    name: str,
    build: Callable[..., Columns],
    shape: tuple[int, int, int],
    description: str,
    split: Split = None,
    options: tuple[str, ...] = (),
) -> Embedded:
    return Embedded(DatasetInfo(name, "embedded", *shape, split, description), build, options)


_ROWS = ("n_samples", "random_state")
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
        partial(_drawn, make_conditioned_logistic, "x"),
        (10_000, 3, 2),
        f"{_DRAWN}: the conditioned logistic example of Zaidi et al. (2017), section 5.5.1.",
        options=("n_samples", "alpha", "random_state"),
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
        partial(_drawn, make_led, "a", n_irrelevant=0),
        (1000, 7, 10),
        f"{_DRAWN}: a seven-segment display, each segment wrong with probability 0.1.",
        options=("n_samples", "noise", "random_state"),
    ),
    _entry(
        "led-24",
        partial(_drawn, make_led, "a", n_irrelevant=17),
        (1000, 24, 10),
        f"{_DRAWN}: as led, with 17 irrelevant features.",
        options=("n_samples", "noise", "random_state"),
    ),
    _entry(
        "mofn-3-7-10",
        rules.mofn,
        (1324, 10, 2),
        "At least 3 of bits 2 to 8. The test part is all 1,024 combinations; the training part is"
        " our own draw with random_state=0 and differs from MLC++'s 300 rows.",
        (300, 1024),
        options=("random_state",),
    ),
    *[_entry(f"monks-{n}", partial(rules.monks, n), (432, 6, 2), _MONKS) for n in (1, 2, 3)],
    _entry(
        "random-distribution",
        partial(_drawn, make_random_distribution, "X"),
        (100_000, 10, 2),
        f"{_DRAWN}: a random joint distribution, Pernkopf & Bilmes (2010), section 6.3.",
        options=("n_samples", "n_features", "random_state"),
    ),
    _entry(
        "random-tree",
        partial(_split, _random_tree, n_samples=150_000),
        (150_000, 10, 5),
        f"{_DRAWN}: a random 1-tree per class, Pernkopf & Bilmes (2010), section 6.4.",
        (75_000, 75_000),
        options=("n_samples", "n_features", "random_state"),
    ),
    _entry(
        "three-feature",
        partial(_split, make_three_feature, n_samples=2000),
        (2000, 3, 2),
        f"{_DRAWN}: the example of Pernkopf & Bilmes (2010), section 3.",
        (1000, 1000),
        options=_ROWS,
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
        options=_ROWS,
    ),
    _entry(
        "waveform-40",
        partial(_waveform, 19),
        (5000, 40, 3),
        f"{_DRAWN}: as waveform, with 19 columns of noise.",
        options=_ROWS,
    ),
    _entry(
        "wine",
        partial(_from_sklearn, "load_wine"),
        (178, 13, 3),
        "Wine recognition, from scikit-learn; the UCI file calls the classes 1, 2 and 3.",
    ),
]

EMBEDDED: dict[str, Embedded] = {entry.info.name: entry for entry in _ENTRIES}

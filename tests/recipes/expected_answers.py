"""What every recipe answers on five small data sets: structures, probabilities and scores.

``python tests/recipes/expected_answers.py`` prints nothing and writes ``expected_answers.json``
anew. Do so only in a commit that changes a method, with the reason in its message:
`test_expected_answers.py` holds everything else to it.
"""

from __future__ import annotations

import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discbayes import load_dataset, recipe, recipes

FILE = Path(__file__).with_suffix(".json")
N_SHOWN = 6  # rows whose probabilities are stored, the last two with missing values
# every k-th row, columns
SUBSETS = {"iris": (2, 4), "wine": (3, 5), "breast-cancer": (9, 5), "monks-1": (7, 6)}
DATA_SETS = [*SUBSETS, "mixed"]
TAGS = sorted({known.tag for known in recipes()})


def small_table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """About sixty rows of a data set, of few columns."""
    if name == "mixed":
        return _mixed_table()
    every, n_columns = SUBSETS[name]
    dataset = load_dataset(name)
    frame = pd.DataFrame(dataset.X).iloc[::every, :n_columns].reset_index(drop=True)
    return frame, np.asarray(dataset.y)[::every]


def _mixed_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories, booleans and missing values."""
    rng = np.random.default_rng(8)
    y = rng.choice(["high", "low", "mid"], 66, p=[0.3, 0.4, 0.3])
    size = rng.normal(size=66) + (y == "high") * 1.5
    color = np.where(rng.random(66) < 0.6, y, rng.choice(["red", "blue"], 66)).astype(object)
    frame = pd.DataFrame(
        {"size": size, "color": color, "old": rng.random(66) < 0.3 + 0.4 * (y == "low")}
    )
    frame["level"] = rng.integers(0, 4, 66) + (y == "mid")
    frame.loc[::11, "size"] = np.nan
    frame.loc[::13, "color"] = None
    return frame, y


def answer(tag: str, name: str) -> dict[str, Any]:
    """The edges of a recipe's structure on a data set, some probabilities, and sums over all of
    them.
    """
    X, y = small_table(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = recipe(tag, random_state=0).fit(X, y)
    shown = X.iloc[:N_SHOWN].astype(object)
    shown.iloc[-2, 0] = None
    shown.iloc[-1, 1:] = None
    log_joint = classifier.predict_joint_log_proba(X)
    return {
        "edges": sorted(map(list, classifier.network_.edges())),
        "probabilities": classifier.predict_proba(shown).tolist(),
        "accuracy": classifier.score(X, y),
        "log_joint": float(np.where(np.isfinite(log_joint), log_joint, -1e3).sum()),
    }


def answers_of(tag: str) -> dict[str, dict[str, Any]]:
    """The answers of a recipe on all data sets."""
    return {name: answer(tag, name) for name in DATA_SETS}


def main() -> None:
    """Write the file."""
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(TAGS, pool.map(answers_of, TAGS), strict=True))
    lines = (f"{json.dumps(tag)}: {json.dumps(kept)}" for tag, kept in found.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""Keep what a release promises: model files with their answers, BIF files, names with their
settings.

``make keep-release`` writes the folder of the version that is in ``src/discbayes/_version.py``,
once. After that it is never written again: `test_released.py` reads the folders of all releases and
says what a change has broken. Until a version is released, ``--again`` writes its folder anew.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import discbayes
from damage import shop_rows
from discbayes import KDB, BayesNetClassifier, HillClimb, OrderBased, WeightedCCBN
from discbayes.parameters import PARAMETERS
from discbayes.search import STRUCTURES

FOLDER = Path(__file__).parent
INTERFACE = FOLDER.parents[1] / "docs" / "api" / "index.md"
# which may change with any minor version, and comes last
NOT_PROMISED = "## For those who extend it"


def models() -> dict[str, BayesNetClassifier]:
    """A classifier for each structure and each learner that has a name, and for what else a file
    can hold.
    """
    quick: dict[str, Any] = {"calibrate": None, "random_state": 0}
    known = {"anneal": {"structure__max_tries": 2}}
    structures = {
        f"structure-{name}": (
            BayesNetClassifier(STRUCTURES[name](), "map", **quick).set_params(**known.get(name, {}))
        )
        for name in STRUCTURES
    }
    parameters = {
        f"parameters-{name}": BayesNetClassifier("tan", name, **quick) for name in PARAMETERS
    }
    return (
        structures
        | parameters
        | {
            "default": BayesNetClassifier(),
            "isotonic": BayesNetClassifier(KDB(k=2), "map", calibrate="isotonic", missing="value"),
            "levels": BayesNetClassifier("tan", WeightedCCBN(level=2, penalty=0.5), **quick),
            "two-parents": BayesNetClassifier(OrderBased(k=2, evaluation=3), "map", **quick),
            "without-class": BayesNetClassifier(
                HillClimb(), "map", class_prior=[0.2, 0.3, 0.5], **quick
            ),
            "given-edges": BayesNetClassifier(
                [("size", "old")], "ml", class_weight="balanced", beyond_max_cells=50, **quick
            ),
        }
    )


def keep(folder: Path) -> None:
    """Write all files of this version."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y = shop_rows()
    rows = [
        [None if value != value else value for value in row]
        for row in X.astype(object).to_numpy().tolist()
    ]
    answers: dict[str, Any] = {"columns": list(X.columns), "rows": rows, "proba": {}}
    for name, model in models().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y).save(folder / f"{name}.json")
        answers["proba"][name] = model.predict_proba(X).tolist()
        if name in ("default", "isotonic", "without-class"):
            model.network_.to_bif(folder / f"{name}.bif")
            answers["proba"][f"{name}.bif"] = model.network_.posterior(X).tolist()
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    (folder / "names.json").write_text(_a_line_each(promised_names()), encoding="utf-8")


def _a_line_each(names: dict[str, list[str]]) -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(parameters)}" for name, parameters in names.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def promised_names() -> dict[str, list[str]]:
    """The names of the page of the interface, each with the parameters that it and its methods take
    by name.
    """
    found = {}
    for name in public_names():
        thing = named(name)
        found[name] = parameters_of(thing)
        if inspect.isclass(thing):
            for method in sorted(set(dir(thing)) - set(dir(object))):
                if not method.startswith("_"):
                    found[f"{name}.{method}"] = parameters_of(getattr(thing, method))
    return found


def public_names() -> list[str]:
    """What the page of the interface lists, but for what is there for extensions."""
    promised = INTERFACE.read_text(encoding="utf-8").partition(NOT_PROMISED)[0]
    return re.findall(r"^   ([A-Za-z_.]+)$", promised, re.MULTILINE)


def named(name: str) -> Any:
    """A class or function by its name within the package."""
    room, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"discbayes.{room}".rstrip(".")), last)


def parameters_of(thing: Any) -> list[str]:
    """The names that a call may use; none for what cannot be called."""
    if not callable(thing):
        return []
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # compiled, without a signature
        return []
    return [
        one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]


def renamed_parameters_of(name: str) -> dict[str, str]:
    """The old names of parameters that a class or function still takes, with a warning."""
    thing = functools.reduce(getattr, name.split("."), discbayes)
    call = thing.__init__ if inspect.isclass(thing) else thing
    return getattr(call, "renamed", {})


def rows_and_answers(folder: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """The rows of a release, and the probabilities that it gave them."""
    kept = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    X = {name: [row[k] for row in kept["rows"]] for k, name in enumerate(kept["columns"])}
    return X, {name: np.array(shares) for name, shares in kept["proba"].items()}


if __name__ == "__main__":
    goal = FOLDER / discbayes.__version__
    if goal.exists() and "--again" not in sys.argv:
        sys.exit(f"{goal.name} is kept already; until it is released, --again writes it anew")
    keep(goal)

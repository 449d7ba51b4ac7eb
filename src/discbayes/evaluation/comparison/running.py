"""Cross-validation of several methods on one table; results are stored at once to resume."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np

from discbayes._files import replace_file
from discbayes._settings import require_choice, require_integer
from discbayes._temporary import TemporaryFolder
from discbayes._version import __version__
from discbayes.data.date_columns import expand_dates
from discbayes.data.folds import stratified_folds
from discbayes.data.table import NumericColumns
from discbayes.data.table_reader import read_table
from discbayes.data.targets import classes_and_codes, label_array
from discbayes.engine import Progress
from discbayes.evaluation.comparison.cells import Setup, load_setup, posterior_file, run_cell
from discbayes.evaluation.comparison.result import Comparison, metrics_of
from discbayes.evaluation.judging import estimator_of
from discbayes.evaluation.method_names import (
    BASELINES,
    DEFAULT_BASELINES,
    DEFAULT_RECIPES,
    PAGE,
    POSTERIOR,
    ROWS,
    SETTINGS,
    SORTS,
    TABLE,
)
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task, run_tasks

DATA = ".data-"  # the beginning of the name of the folder that holds the rows while a run goes on


def compare(
    X: Any,
    y: Any,
    recipes: Sequence[str] = DEFAULT_RECIPES,
    baselines: Sequence[str] = DEFAULT_BASELINES,
    *,
    cv: int = 5,
    missing: Sequence[int] = (),
    categorical: Any = "auto",
    sort: str = "log_loss",
    folder: str | Path | None = None,
    fresh: bool = False,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
    name: str = "data",
) -> Comparison:
    """Cross-validate recipes and classifiers of other libraries on the same folds.

    All that is learned, discretization and the preparation of columns included, is learned from the
    training rows of a fold. A method that fails is shown as failed, and the others go on.

    Parameters
    ----------
    X : frame, array or list of rows
        Numbers, text, categories, booleans; NaN and None are missing values.
    y : sequence of labels
        The class of each row.
    recipes : sequence of str
        Tags such as "TAN-MAP"; ``recipes()`` lists those of the papers. Options go behind a tag:
        "TAN-W penalty=1".
    baselines : sequence of str
        Of "lr", "svm", "hgb", "tree", "knn", "cnb" and "rf", or with the extra ``peers`` of
        "lightgbm", "xgboost", "catboost" and "ebm"; see ``discbayes.evaluation.baselines``.
    cv : int, default=5
        The number of stratified folds.
    missing : sequence of int
        Percentages of the cells of test rows to remove at random, such as (10, 30, 50); the same
        cells for all methods.
    categorical : "auto", "all" or list
        Numeric columns that are categories.
    sort : {"log_loss", "accuracy"}
        The metric by which the table is sorted.
    folder : path, optional
        The folder of the results, which are stored as they come, of the page ``compare.html`` and
        of the tables ``table.csv`` and ``rows.csv``. An interrupted run resumes there; more methods
        can be added to it.
    fresh : bool, default=False
        Remove another comparison from the folder and start again.
    n_jobs : int, optional
        Number of processes; None is one, -1 all cores. Only times depend on it.
    random_state : int, default=0
        Seed of the folds, the missing cells and all methods.
    progress : Progress, optional
        Reports what was done.
    name : str
        The name of the data, for titles.

    Returns
    -------
    Comparison
        The metrics of all methods; printed, it is a table.

    Examples
    --------
    >>> from discbayes import compare, load_dataset
    >>> iris = load_dataset("iris")
    >>> found = compare(iris.X, iris.y, ["NB-MAP", "TAN-MAP"], ["lr"], cv=3, name="iris")
    >>> found.methods
    ('NB-MAP', 'TAN-MAP', 'lr')
    >>> round(found.mean("accuracy", "NB-MAP"), 2)
    0.95
    """
    methods = check_methods(recipes, baselines)
    require_choice("sort", sort, SORTS)
    setup = make_setup(X, y, cv, missing, categorical, random_state)
    settings = describe(name, setup)
    with _place(folder) as place:
        _open_folder(place, settings, fresh)
        store = Store(place / ROWS, metrics_of(setup.missing))
        with _tasks(place, setup, settings, methods) as tasks:
            run_tasks(tasks, store, n_jobs, progress, _figures)
        found = _gather(place, store, name, setup, methods, sort)
    if folder is not None:
        found.write(Path(folder) / TABLE, Path(folder) / PAGE)
    return found


def check_methods(recipes: Sequence[str], baselines: Sequence[str]) -> tuple[str, ...]:
    """Return the methods, each once; raise an error if there are none or one is unknown."""
    if isinstance(recipes, str) or isinstance(baselines, str):
        raise TypeError("recipes and baselines are lists of names, not one name")
    unknown = [name for name in baselines if name not in BASELINES]
    if unknown:
        raise ValueError(f"there is no baseline {unknown[0]!r}; they are {', '.join(BASELINES)}")
    methods = tuple(dict.fromkeys(" ".join(name.split()) for name in (*recipes, *baselines)))
    for method in methods:
        estimator_of(method)
    if not methods:
        raise ValueError("there is nothing to compare: give recipes or baselines")
    return methods


def make_setup(
    X: Any, y: Any, cv: int, missing: Sequence[int] = (), categorical: Any = "auto", seed: int = 0
) -> Setup:
    """Check the arguments, and return the table, the folds and the missing percentages."""
    table = expand_dates(read_table(X))
    labels = label_array(y, table.n_rows)
    classes, codes = classes_and_codes(labels)
    require_integer("cv", cv, 2)
    if cv > table.n_rows:
        raise ValueError(
            f"{table.n_rows} rows cannot be split into {cv} folds; cv={table.n_rows} can"
        )
    odd = [share for share in missing if not 0 <= share <= 100 or share != int(share)]
    if odd:
        raise ValueError(f"missing={odd[0]!r} is not a whole percentage from 0 to 100")
    require_integer("random_state", seed, 0, ", so that a run can resume")
    shares = tuple(sorted({int(share) for share in missing} - {0}))
    folds = stratified_folds(codes, int(cv), np.random.default_rng(seed))
    return Setup(table, labels, classes, folds, shares, categorical, int(seed))


# ---- the folder


def describe(name: str, setup: Setup) -> dict[str, Any]:
    """Return what must be equal for a run to resume: a fingerprint of the data, and settings."""
    return {
        "data": name,
        "rows": setup.table.n_rows,
        "columns": len(setup.table.names),
        "classes": setup.classes.size,
        "folds": setup.n_folds,
        "missing": list(setup.missing),
        "categorical": repr(setup.categorical),
        "seed": setup.seed,
        "version": __version__,
        "fingerprint": _fingerprint(setup),
    }


def _fingerprint(setup: Setup) -> str:
    """Return a hash of all cells and classes."""
    found = hashlib.sha256(repr((setup.table.names, setup.classes.tolist())).encode())
    for part in setup.table.parts:
        # what the table holds, whatever library it came from
        array = part.data if isinstance(part, NumericColumns) else part.places
        kind = part.boolean if isinstance(part, NumericColumns) else part.levels
        found.update(repr((part.positions.tolist(), kind, array.dtype.str)).encode())
        found.update(array.tobytes())
    found.update(np.searchsorted(setup.classes, setup.y).astype("<i8").tobytes())
    return found.hexdigest()


@contextmanager
def _place(folder: str | Path | None) -> Iterator[Path]:
    """Yield the folder, created if needed; a temporary one if none is given."""
    if folder is None:
        with TemporaryFolder() as temporary:
            yield temporary.path
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    yield Path(folder)


def _open_folder(folder: Path, settings: dict[str, Any], fresh: bool) -> None:
    """Start or resume a run; refuse the folder of another one, or clear it."""
    path = folder / SETTINGS
    if not path.exists():
        taken = [name for name in (ROWS, TABLE, PAGE, POSTERIOR) if (folder / name).exists()]
        if taken:
            raise ValueError(
                f"{folder} has a file {taken[0]} that does not belong to a comparison: choose"
                " another folder"
            )
    elif fresh:
        _clear(folder)
    else:
        _refuse_other(folder, json.loads(path.read_text(encoding="utf-8")), settings)
    for left in folder.glob(f"{DATA}*"):  # of a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    replace_file(path, json.dumps(settings, indent=1) + "\n")


def _clear(folder: Path) -> None:
    shutil.rmtree(folder / POSTERIOR, ignore_errors=True)
    # the settings last: without them the others would be in the way
    for name in (ROWS, TABLE, PAGE, SETTINGS):
        (folder / name).unlink(missing_ok=True)


def _refuse_other(folder: Path, there: dict[str, Any], settings: dict[str, Any]) -> None:
    differing = [key for key in settings if there.get(key) != settings[key]]
    if not differing:
        return
    told = [key for key in differing if key != "fingerprint"]
    reason = ", ".join(f"{key} {there.get(key)!r}, not {settings[key]!r}" for key in told)
    if not told:
        reason = "the same columns with other values"
    raise ValueError(
        f"{folder} holds another comparison ({reason}): choose another folder, or start again"
        " (fresh=True, --fresh), which removes its results"
    )


# ---- running


@contextmanager
def _tasks(
    folder: Path, setup: Setup, settings: dict[str, Any], methods: Sequence[str]
) -> Iterator[list[Task]]:
    """Yield the cells, fold by fold, with the rows in a file that all processes read."""
    with TemporaryDirectory(prefix=DATA, dir=folder, ignore_cleanup_errors=True) as temporary:
        path = Path(temporary) / "setup"
        joblib.dump(setup, path)
        options = {
            "path": str(path.absolute()),  # processes that are kept may have another working folder
            "fingerprint": settings["fingerprint"],
            "posterior": str((folder / POSTERIOR).absolute()),
        }
        try:
            yield [
                Task(settings["data"], fold, (method,), setup.seed, run_cell, options)
                for fold in range(settings["folds"])
                for method in methods
            ]
        finally:
            load_setup.cache_clear()  # or the file stays mapped


def _figures(result: Result) -> str:
    if not result.measured:
        return result.note
    return f"accuracy {result['accuracy']:.4f}, log loss {result['log_loss']:.4f}"


def _gather(
    folder: Path, store: Store, name: str, setup: Setup, methods: Sequence[str], sort: str
) -> Comparison:
    """Collect the stored results of these methods."""
    posteriors = {
        method: np.full((setup.y.size, setup.classes.size), np.nan, np.float32)
        for method in methods
    }
    results = [result for result in store if result.recipe in posteriors]
    for result in results:
        path = posterior_file(folder / POSTERIOR, result.fold, result.recipe)
        if result.measured and path.exists():
            rows = setup.folds == result.fold
            posteriors[result.recipe][rows] = np.load(path, allow_pickle=False)
    order = {method: place for place, method in enumerate(methods)}
    return Comparison(
        name=name,
        methods=tuple(methods),
        results=tuple(sorted(results, key=lambda result: (result.fold, order[result.recipe]))),
        posteriors=posteriors,
        codes=np.searchsorted(setup.classes, setup.y),
        classes=setup.classes,
        n_features=len(setup.table.names),
        n_folds=setup.n_folds,
        missing=setup.missing,
        seed=setup.seed,
        sort=sort,
    )

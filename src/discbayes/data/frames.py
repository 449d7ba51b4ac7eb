"""Columns as a frame of an installed library, or as an array.

No library is imported before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import narwhals as nw
import numpy as np

from discbayes._lazy_imports import is_installed
from discbayes._text import listed
from discbayes.data.domain import Variable
from discbayes.data.table import Table

FeatureColumns = Mapping[str, np.ndarray]
_SURROGATE = re.compile("[\ud800-\udfff]")


def _to_pandas(features: FeatureColumns) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(features))


def _to_polars(features: FeatureColumns) -> Any:
    import polars as pl

    def series(name: str, values: np.ndarray) -> Any:
        if values.dtype == object:
            return pl.Series(name, values.tolist(), dtype=pl.String)
        return pl.Series(name, values, nan_to_null=True)

    return pl.DataFrame([series(name, values) for name, values in features.items()])


def _to_pyarrow(features: FeatureColumns) -> Any:
    import pyarrow as pa

    def array(values: np.ndarray) -> Any:
        kind = {"O": pa.string(), "f": pa.float64()}.get(values.dtype.kind)
        return pa.array(values, type=kind, from_pandas=True)  # from_pandas: NaN becomes null

    return pa.table({name: array(values) for name, values in features.items()})


_BUILDERS: dict[str, Callable[[FeatureColumns], Any]] = {
    "pandas": _to_pandas,
    "polars": _to_polars,
    "pyarrow": _to_pyarrow,
}


def to_array(features: FeatureColumns) -> np.ndarray:
    """Return a matrix of floats if all columns are numbers, else one of objects with None."""
    columns = list(features.values())
    if all(values.dtype != object for values in columns):
        return np.column_stack(columns)
    matrix = np.empty((len(columns[0]), len(columns)), dtype=object)
    for position, values in enumerate(columns):
        matrix[:, position] = values if values.dtype == object else _without_nan(values)
    return matrix


def _without_nan(values: np.ndarray) -> np.ndarray:
    boxed = values.astype(object)
    boxed[np.isnan(values)] = None
    return boxed


def _installed() -> list[str]:
    return [name for name in _BUILDERS if is_installed(name)]


def choose_library(as_frame: bool | str) -> str | None:
    """Return the library that ``as_frame`` requests; None for an array."""
    if as_frame is False:
        return None
    if as_frame is True or as_frame == "auto":
        library = next(iter(_installed()), None)
        if library is None and as_frame is True:
            raise ImportError(f"as_frame=True needs one of {listed(_BUILDERS, show=str)}")
        return library
    if as_frame not in _BUILDERS:
        allowed = listed(("auto", True, False, *_BUILDERS))
        raise ValueError(f"as_frame must be one of {allowed}; got {as_frame!r}")
    if as_frame not in _installed():
        raise ImportError(f"as_frame={as_frame!r} needs {as_frame}, which is not installed")
    return str(as_frame)


def build_table(features: FeatureColumns, library: str | None) -> Any:
    """Return the features as a frame of the library, or as an array."""
    if library is None:
        return to_array(features)
    try:
        return _BUILDERS[library](features)
    except UnicodeEncodeError:
        if library == "pandas":
            return _to_pandas_objects(features)
        refuse_lone_surrogates(features, f"{library} cannot hold it, library='pandas' can")
        raise


def _to_pandas_objects(features: FeatureColumns) -> Any:
    """Return a frame without arrow's texts, which must be valid Unicode."""
    import pandas as pd

    frame = pd.concat(
        [pd.Series(values, dtype=_plain_dtype(values)) for values in features.values()], axis=1
    )
    frame.columns = pd.Index(list(features), dtype=object)
    return frame


def _plain_dtype(values: np.ndarray) -> Any:
    return object if values.dtype.kind in "OU" else values.dtype


def refuse_lone_surrogates(features: FeatureColumns, why: str) -> None:
    """Refuse texts that are not valid Unicode, with the column, the text and the way out."""
    for name, values in features.items():
        texts = [name, *(values.tolist() if values.dtype.kind in "OU" else [])]
        odd = next(
            (text for text in texts if isinstance(text, str) and _SURROGATE.search(text)), None
        )
        if odd is not None:
            raise ValueError(
                f"column {name!r} has the text {odd!r}, which is not valid Unicode (a lone"
                f" surrogate): {why}. Text can be mended by text.encode('utf-16',"
                " 'surrogatepass').decode('utf-16', 'replace') before fit"
            )


def take_rows(X: Any, rows: slice | np.ndarray) -> Any:
    """Return rows of a frame of any library, of an array, or of a table that has been read."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(X, Table):
        return X.take(np.arange(X.n_rows)[rows])
    return nw.from_native(X, eager_only=True)[rows].to_native()


def make_frame(columns: dict[str, np.ndarray], library: bool | str) -> Any:
    """Return a frame of the requested library; a dictionary of columns if none is installed."""
    chosen = choose_library(library)
    return dict(columns) if chosen is None else build_table(columns, chosen)


def frame_like(columns: dict[str, np.ndarray], library: bool | str, X: Any) -> Any:
    """Return a frame of the requested library, by default that of X.

    Between pandas frames the index is kept.
    """
    source = nw.from_native(X, pass_through=True, eager_only=True)
    if not isinstance(source, nw.DataFrame):
        return make_frame(columns, library)
    name = str(source.implementation.value)
    asked = name if library == "auto" and name in ("pandas", "polars", "pyarrow") else library
    frame = make_frame(columns, asked)
    if asked == name == "pandas":
        frame.index = X.index
    return frame


def values_of(variable: Variable, codes: np.ndarray) -> np.ndarray:
    """Return the values of codes as text, numbers or booleans; as text if they are mixed."""
    known = variable.decode(range(variable.card)).tolist()
    if all(isinstance(value, str) for value in known):
        return variable.decode(codes)
    if not all(isinstance(value, (bool, int, float)) for value in known):
        return np.array([*map(str, known), None], dtype=object)[codes]
    return np.array(known if (codes < variable.card).all() else [*known, np.nan])[codes]


def with_own_values(values: np.ndarray, rows: np.ndarray, own: list[Any]) -> np.ndarray:
    """Return the values with those of some rows replaced; as text if types would be mixed."""
    whole = all(type(value) is int for value in values if value is not None)
    for row, value in zip(rows, own, strict=True):
        values[row] = (
            int(value) if whole and isinstance(value, float) and value.is_integer() else value
        )
    kinds = {type(value) for value in values}
    if kinds == {bool} or (kinds and kinds <= {int, float}):
        return np.array(values.tolist())
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def free_name(wanted: str, taken: Any) -> str:
    """Return a column name that is not taken yet."""
    while wanted in taken:
        wanted += " "
    return wanted

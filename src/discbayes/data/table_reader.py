"""Reading tables of any library: frames through narwhals, arrays and lists through numpy."""

from __future__ import annotations

import datetime
import numbers
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from discbayes._text import listed
from discbayes.data.dates import seconds_of_objects, seconds_since
from discbayes.data.evidence import Evidence
from discbayes.data.labels import check_levels, is_missing, plain
from discbayes.data.table import (
    EXACT,
    CategoricalColumn,
    DateColumn,
    NumericColumns,
    Part,
    Table,
    default_names,
    factorize,
    only_used,
    unmasked,
)

_TEMPORAL = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_INT64_MAX = np.iinfo(np.int64).max
_BLOCK_CELLS = 1 << 19  # of a frame whose numbers are read as blocks
_BLOCK_TYPES = {np.dtype(kind).str for kind in (bool, "f4", "f8", "i1", "i2", "i4", "i8", "u1")}
_BLOCK_TYPES |= {np.dtype(kind).str for kind in ("u2", "u4")}


def read_table(X: Any) -> Table:
    """Read a frame, an array or a list of rows; a table is returned as it is.

    >>> table = read_table([["red", 1.5], ["blue", 2.0]])
    >>> table.names, table.n_rows
    (['x0', 'x1'], 2)
    """
    if isinstance(X, Table):
        return X
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required: pass X.toarray()"
        )
    frame = as_frame(X)
    table = _read_array(_as_array(X)) if frame is None else _read_frame(frame)
    if not table.names:
        _refuse_shape("0 feature(s)", (table.n_rows, 0))
    if table.n_rows == 0:
        _refuse_shape("0 sample(s)", (0, len(table.names)))
    return table


def _refuse_shape(what: str, shape: tuple[int, int]) -> NoReturn:
    raise ValueError(f"Found array with {what} (shape={shape}) while a minimum of 1 is required.")


# Frames


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a table as a narwhals frame; None if it is not a frame."""
    try:
        frame = nw.from_native(arrow_table(X), pass_through=True, allow_series=True)
    except DuplicateError:
        _check_names(getattr(X, "column_names", None) or list(X.columns))
        raise
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            "X is a lazy frame, whose rows are not there yet: call collect() on it (compute() in"
            " Dask)"
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def arrow_table(X: Any) -> Any:
    """Return a record batch of arrow as a table, which narwhals supports; else the argument."""
    if type(X).__name__ == "RecordBatch" and type(X).__module__.startswith("pyarrow"):
        return sys.modules["pyarrow"].Table.from_batches([X])
    return X


def _check_names(names: Sequence[Any]) -> None:
    twice = [str(name) for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"X has several columns with the same name: {listed(twice)}; rename them")


def _read_frame(frame: nw.DataFrame[Any]) -> Table:
    names = [str(name) for name in frame.columns]
    _check_names(names)
    parts: list[Part] = []
    if frame.implementation.is_pandas() and len(frame) * len(names) <= _BLOCK_CELLS:
        parts += _numeric_blocks(frame.to_native())
    in_blocks = {at for part in parts for at in part.positions.tolist()}
    for at, key in enumerate(frame.columns):
        if at not in in_blocks:
            parts.append(_read_series(frame.get_column(key), at, names[at]))
    return Table(names=names, n_rows=len(frame), parts=parts, named=True)


def _numeric_blocks(native: Any) -> list[NumericColumns]:
    """Return the numbers of a pandas frame, the columns of each type together.

    To ask for columns one by one takes most of the time of reading a small frame. Blocks of a large
    one would be copies, which take memory.
    """
    positions = defaultdict(list)
    for at, dtype in enumerate(native.dtypes.tolist()):
        if isinstance(dtype, np.dtype) and dtype.str in _BLOCK_TYPES:
            positions[dtype].append(at)
    blocks = []
    for found in positions.values():
        columns = native if len(found) == native.shape[1] else native.iloc[:, found]
        blocks.append(_numeric_columns(columns.to_numpy(), np.array(found)))
    return blocks


def _read_series(series: nw.Series[Any], position: int, name: str) -> Part:
    dtype = series.dtype
    if dtype.is_numeric():
        return _numbers(_numeric_values(series), position, name)
    if dtype == nw.Boolean:
        if series.null_count():
            data = series.cast(nw.Float64).to_numpy()
        else:
            data = series.to_numpy().astype(bool)
        return _numbers(data, position, name, boolean=True)
    if dtype in (nw.Categorical, nw.Enum):
        return _read_categories(series, position, name)
    if dtype == nw.String and (text := _read_text(series, position)) is not None:
        return text
    if dtype in (nw.String, nw.Object):
        return read_objects(series.to_list(), position, name)
    if dtype in (nw.Date, nw.Datetime):
        return _dates(_wall_clock(series), position)
    if series.null_count() == len(series):  # a column of nulls has no type in arrow and polars
        return _numbers(np.full(len(series), np.nan), position, name)
    if dtype == nw.Unknown and (known := _known_series(series)) is not None:
        return _read_series(known, position, name)
    return _refuse_type(name, *_type_name(series))


def _wall_clock(series: nw.Series[Any]) -> np.ndarray:
    """Return dates as seconds, without their time zone."""
    if getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.replace_time_zone(None)
    times = series.to_numpy()
    if times.dtype.kind != "M":
        times = np.array(series.to_list(), dtype="datetime64[us]")
    return seconds_since(times)


def _dates(seconds: np.ndarray, position: int) -> DateColumn:
    return DateColumn(seconds[:, None], np.array([position]))


def _known_series(series: nw.Series[Any]) -> nw.Series[Any] | None:
    """Return a column of a type that narwhals does not know as one that it knows; else None.

    These are sparse columns and numbers of another byte order or length in pandas, and repeated
    values in arrow.
    """
    native = series.to_native()
    if series.implementation.is_pyarrow() and str(native.type).startswith("run_end_encoded"):
        decode = sys.modules["pyarrow"].compute.run_end_decode
        return nw.from_native(
            sys.modules["pyarrow"].chunked_array(map(decode, native.chunks)), series_only=True
        )
    if not series.implementation.is_pandas_like():
        return None
    if hasattr(native, "sparse"):
        return nw.from_native(native.sparse.to_dense(), series_only=True)
    if isinstance(native.dtype, np.dtype) and native.dtype.kind in "iuf":
        to = np.float64 if native.dtype.char == "g" else native.dtype.newbyteorder("=")
        return nw.from_native(native.astype(to), series_only=True)
    return None


def _type_name(series: nw.Series[Any]) -> tuple[str, bool]:
    """Return the name of the type of a column in messages, and whether it is one of times."""
    if series.dtype != nw.Unknown:
        return str(series.dtype), series.dtype.is_temporal()
    native = series.to_native()
    name = str(getattr(native, "dtype", None) or native.type)
    return name, name.startswith("period")


def _read_text(series: nw.Series[Any], position: int) -> CategoricalColumn | None:
    """Return a column of text; None if it holds anything else.

    Where pandas has objects, narwhals infers text from the first rows only.
    """
    try:
        places, levels = factorize_series(series)
    except TypeError:  # lists and the like cannot be numbered
        return None
    if not all(type(level) is str for level in levels):
        return None
    return CategoricalColumn(position, places, levels, text=True)


def _numeric_values(series: nw.Series[Any]) -> np.ndarray:
    if series.dtype in (nw.Int128, nw.UInt128):
        return _numeric_values(_narrowed(series))
    exact = series.dtype.is_float() or series.dtype.is_integer()
    values = series.to_numpy() if exact else series.cast(nw.Float64).to_numpy()
    if values.dtype.kind in "iu" or not series.dtype.is_integer():
        return values if values.dtype.kind in "iuf" else series.cast(nw.Float64).to_numpy()
    floats = series.cast(nw.Float64).to_numpy()  # whole numbers with missing values
    if np.nanmax(np.abs(floats), initial=0.0) > EXACT:
        raise ValueError(
            f"column {series.name!r} has missing values and whole numbers above 2^53, which would"
            " be rounded: cast it to str"
        )
    return floats


def _narrowed(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return whole numbers of 128 bits in 64."""
    largest = np.nanmax(np.abs(series.cast(nw.Float64).to_numpy()), initial=0.0)
    if largest >= 2.0**63:
        raise ValueError(
            f"column {series.name!r} holds {largest:.6g}, too large for 64 bits: cast it to float"
            " or str"
        )
    return series.cast(nw.Int64)


def _read_categories(series: nw.Series[Any], position: int, name: str) -> CategoricalColumn:
    native = series.to_native()
    if hasattr(native, "cat") and series.implementation.is_pandas_like():
        levels = [plain(value) for value in native.cat.categories.tolist()]
        check_levels(levels, name)
        codes = native.cat.codes.to_numpy().astype(np.int32)
        ordered = bool(native.cat.ordered)
        return CategoricalColumn(position, codes, levels, declared=True, ordered=ordered)
    if series.implementation.is_pyarrow() and getattr(native.type, "ordered", False):
        return _read_ordered_arrow(native, position)
    places, seen = factorize_series(series)
    if series.dtype != nw.Enum:
        return CategoricalColumn(position, places, seen)
    levels = list(series.dtype.categories)  # type: ignore[attr-defined]
    index = {value: place for place, value in enumerate(levels)}
    to_declared = np.array([index[value] for value in seen] + [-1], dtype=np.int32)
    return CategoricalColumn(position, to_declared[places], levels, declared=True)


def _read_ordered_arrow(native: Any, position: int) -> CategoricalColumn:
    """Read a dictionary of arrow whose order means something."""
    unified = native.unify_dictionaries()
    levels = unified.chunk(0).dictionary.to_pylist() if unified.num_chunks else []
    codes = [chunk.indices.cast("int32").fill_null(-1).to_numpy() for chunk in unified.chunks]
    places = np.concatenate([np.zeros(0, np.int32), *codes])
    return CategoricalColumn(position, places, levels, declared=True, ordered=True)


def factorize_series(series: nw.Series[Any]) -> tuple[np.ndarray, list[Any]]:
    """Return places and levels as `factorize` does, many times as fast.

    Arrow, pandas and polars number the values of a column themselves.
    """
    if series.implementation.is_pyarrow():
        return _factorize_arrow(series.to_native())
    # a dictionary of arrow in pandas
    if series.implementation.is_pandas_like() and series.dtype == nw.Categorical:
        return _factorize_arrow(sys.modules["pyarrow"].chunked_array(series.to_arrow()))
    if series.implementation.is_pandas() or series.implementation.is_polars():
        number = _number_in_pandas if series.implementation.is_pandas() else _number_in_polars
        places, levels = number(series.to_native())
        # else pandas takes 1, 1.0 and True for the same
        if all(type(level) is str for level in levels):
            return places, levels
    return factorize(series.to_list())


def _factorize_arrow(native: Any) -> tuple[np.ndarray, list[Any]]:
    coded = (
        native.unify_dictionaries()
        if hasattr(native.type, "value_type")
        else native.dictionary_encode()
    )
    if not coded.num_chunks:
        return factorize([])
    numbers = [chunk.indices.cast("int32").fill_null(-1).to_numpy() for chunk in coded.chunks]
    of_number, levels = factorize(coded.chunk(0).dictionary.to_pylist())
    places = np.append(of_number, np.int32(-1))[np.concatenate(numbers)]
    return only_used(places, levels)


def _number_in_pandas(native: Any) -> tuple[np.ndarray, list[Any]]:
    places, levels = native.factorize()
    return places.astype(np.int32), levels.tolist()


def _number_in_polars(native: Any) -> tuple[np.ndarray, list[Any]]:
    polars = sys.modules["polars"]
    text = native.cast(polars.String)
    levels = text.drop_nulls().unique(maintain_order=True)
    order = polars.Series(range(len(levels)), dtype=polars.Int32)
    return (
        text.replace_strict(levels, order, default=-1, return_dtype=polars.Int32).to_numpy(),
        levels.to_list(),
    )


def _refuse_type(name: str, dtype: str, temporal: bool) -> NoReturn:
    if dtype.startswith("complex"):
        raise ValueError(
            f"Complex data not supported: column {name!r} holds {dtype}; split it into two columns"
        )
    if temporal:
        way_out = (
            "turn it into numbers (the age in days) or categories (the month) first, or drop it"
        )
    elif dtype.startswith("interval"):
        way_out = (
            "cast it to str, whose values are categories, or take the midpoints of its intervals"
        )
    elif dtype == "Binary":
        way_out = "decode it to str, or drop it"
    else:
        way_out = "split it into columns of numbers or strings, or drop it"
    raise ValueError(
        f"column {name!r} holds {_kind_in_words(dtype)}, which are neither numbers, booleans nor"
        f" categories: {way_out}"
    )


# Arrays


def _kind_in_words(dtype: str) -> str:
    """Return what a column holds in words.

    >>> _kind_in_words("Datetime(time_unit='ns', time_zone=None)"), _kind_in_words("Object")
    ('dates with times', 'values of the type Object')
    """
    words = {
        "Datetime": "dates with times",
        "Date": "dates",
        "Duration": "time differences",
        "Time": "times of day",
        "List": "lists",
        "Array": "lists",
        "Struct": "records",
        "Binary": "bytes",
        "interval": "intervals",
    }
    plain = dtype.split("(")[0].split("[")[0]
    return words.get(plain, f"values of the type {dtype}")


def _as_array(X: Any) -> np.ndarray:
    array = _to_numpy(X)
    if array.ndim == 2 and not hasattr(X, "__array__") and _holds_others(array, X):
        array = np.array(X, dtype=object)
    if array.ndim < 2 and (
        isinstance(X, Mapping) or (array.size and isinstance(array.flat[0], Mapping))
    ):
        raise ValueError(
            "X holds mappings of names to values, which do not tell what all columns are: pass a"
            " frame"
        )
    if array.ndim == 1:
        in_frame = (
            " One row of a frame is frame.iloc[[0]], or dict(frame.iloc[0])."
            if hasattr(X, "iloc")
            else ""
        )
        raise ValueError(
            "Expected 2D array, got 1D array instead. Reshape your data either using"
            " array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it has a"
            f" single sample.{in_frame}"
        )
    if array.ndim != 2:
        raise ValueError(
            f"X must be a table with rows and columns; found {array.ndim} dimensions"
            f" ({type(X).__name__})"
        )
    return array


def _holds_others(array: np.ndarray, rows: Any) -> bool:
    """Return whether numpy made strings of numbers, or numbers of booleans."""
    if array.dtype.kind in "US":
        return True
    return array.dtype.kind in "iuf" and any(
        isinstance(value, (bool, np.bool_)) for row in rows for value in row
    )


def _to_numpy(X: Any) -> np.ndarray:
    if isinstance(X, np.ma.MaskedArray):
        return unmasked(X, objects=X.dtype.kind not in "iuf")
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"X is not a table, its rows differ in length or nest lists: {error}"
        ) from error


def _read_array(array: np.ndarray) -> Table:
    n_rows, n_columns = array.shape
    names = default_names(n_columns)
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported: split X into its real and imaginary parts")
    if kind in "biuf":
        parts: list[Part] = list(matrix_blocks(array)) if array.size else []
    elif kind == "M":
        parts = [_dates(seconds_since(array[:, at]), at) for at in range(n_columns)]
    elif kind in "OUT":
        parts = [read_objects(array[:, at].tolist(), at, name) for at, name in enumerate(names)]
    else:
        _refuse_type(names[0] if names else "x0", str(array.dtype), kind in "mM")
    return Table(names=names, n_rows=n_rows, parts=parts, named=False)


def matrix_blocks(array: np.ndarray) -> list[NumericColumns]:
    """Return a matrix as one part; in Fortran order one part per column, which is contiguous."""
    positions = np.arange(array.shape[1])
    if array.flags.f_contiguous and array.shape[1] > 1:
        return [_numeric_columns(array[:, at, None], positions[at : at + 1]) for at in positions]
    return [_numeric_columns(array, positions)]


def _numbers(values: np.ndarray, position: int, name: str, boolean: bool = False) -> NumericColumns:
    """Return a part of one column."""
    return _numeric_columns(values[:, None], np.array([position]), boolean, f"column {name!r}")


def _numeric_columns(
    array: np.ndarray, positions: np.ndarray, boolean: bool = False, where: str = "a column"
) -> NumericColumns:
    """Return a part, in a type that kernels know."""
    boolean = boolean or array.dtype == bool
    if array.dtype == bool:
        array = array.view(np.uint8)
    elif array.dtype.str[1:] == "u8":
        array = _signed(array, where)
    return NumericColumns(array, positions, boolean)


def _signed(values: np.ndarray, where: str) -> np.ndarray:
    if values.size and int(values.max()) > _INT64_MAX:
        raise ValueError(
            f"{where} holds {values.max()}, too large for 64 bits with a sign: cast it to float"
            " or str"
        )
    return values.astype(np.int64)


# Columns of Python objects


def read_objects(values: list[Any], position: int, name: str) -> Part:
    """Read a column of Python objects: strings, or numbers and booleans, or missing values.

    Cells of evidence are kept beside the values, and are missing there.
    """
    kinds = {_type_kind(kind) for kind in set(map(type, values))}
    if "evidence" in kinds:
        cells = {row: value for row, value in enumerate(values) if isinstance(value, Evidence)}
        others = [None if row in cells else value for row, value in enumerate(values)]
        return replace(read_objects(others, position, name), evidence=cells)
    if "date" in kinds and kinds <= {"date", "missing"}:
        return _dates(seconds_of_objects(values, name), position)
    if "date" in kinds:
        raise ValueError(f"column {name!r} mixes dates and other values: give it one type")
    if "other" in kinds:
        _refuse_object(values, name)
    if "text" in kinds:
        places, levels = factorize(values)
        levels = [plain(value) for value in levels]
        check_levels(levels, name)
        return CategoricalColumn(position, places, levels, text=True)
    return _object_numbers(values, position, name, kinds)


def _object_numbers(values: list[Any], position: int, name: str, kinds: set[str]) -> NumericColumns:
    boolean = "boolean" in kinds and (
        "number" not in kinds
        or all(isinstance(value, (bool, np.bool_)) or is_missing(value) for value in values)
    )
    if "missing" not in kinds:
        array = np.array(values)
        if array.dtype.kind in "biuf":
            return _numbers(array, position, name, boolean)
    floats = [np.nan if is_missing(value) else _float(value, name) for value in values]
    return _numbers(np.array(floats), position, name, boolean)


def _float(value: Any, name: str) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError) as error:  # a signalling NaN of decimals is the other case
        raise ValueError(
            f"column {name!r} holds a number that is not a float ({error}): cast it to str"
        ) from error


def _type_kind(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    if issubclass(kind, Evidence):
        return "evidence"
    if issubclass(kind, (datetime.date, np.datetime64)):
        return "date"
    is_number = issubclass(kind, (numbers.Real, Decimal)) and not issubclass(kind, _TEMPORAL)
    return "number" if is_number else "other"


def _refuse_object(values: list[Any], name: str) -> NoReturn:
    row, value = next(
        (row, value) for row, value in enumerate(values) if _type_kind(type(value)) == "other"
    )
    if isinstance(value, (complex, np.complexfloating)):
        raise ValueError(
            f"Complex data not supported: column {name!r} holds {value!r}; split it into two"
            " columns"
        )
    if isinstance(value, _TEMPORAL):
        _refuse_type(name, type(value).__name__, temporal=True)
    raise TypeError(
        f"column {name!r}, row {row}: argument must be a string or a number, not"
        f" {type(value).__name__!r}; convert the column or drop it"
    )

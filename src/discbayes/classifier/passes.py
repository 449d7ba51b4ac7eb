"""Learning from rows that are read in passes, and predicting them batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial, wraps
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from discbayes.bayesnet import BayesNet
from discbayes.classifier.calibrating import Calibrate, held_out_log_joint, not_at_all
from discbayes.classifier.columns import columns_named
from discbayes.data import Domain, Encoded, FrameEncoder
from discbayes.data.mappings import mappings_of, read_mappings
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.data.rows import Rows
from discbayes.data.table import Table
from discbayes.data.table_reader import arrow_table, read_table
from discbayes.data.targets import label_array
from discbayes.engine import Context, DaskEngine, active_client, is_client, reached
from discbayes.streams import (
    ClusterCodes,
    DiskCodes,
    KeyFile,
    Labelled,
    LabelledRows,
    RereadRows,
    WithoutHeldOut,
    batches_of,
    bytes_of,
    encode_rows,
    is_dask,
    is_source,
    open_rows,
)

_ANSWERS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "expected_costs",
)
_KEY_BYTES = 128  # of a distinct key and all that is known of its rows, while they are dealt out
_Method = TypeVar("_Method", bound=Callable[..., np.ndarray])


def over_batches(method: _Method) -> _Method:
    """A method that takes a table, for rows that are read in batches too."""

    @wraps(method)
    def answer(self: Any, X: Any, *arguments: Any, **options: Any) -> np.ndarray:
        if not is_source(X):
            return method(self, X, *arguments, **options)
        check_is_fitted(self)
        return np.concatenate(
            [method(self, table, *arguments, **options) for table in self._batches(X)]
        )

    return answer  # type: ignore[return-value]


class Passes:
    """The methods of the classifier for rows that are not in memory."""

    categorical: Any
    memory: int | str | None
    cluster: Any
    network_: BayesNet
    classes_: np.ndarray
    predict: Callable[..., np.ndarray]
    _learners: Callable[[], tuple[Any, Any]]
    _calibration_name: Callable[[], str | None]
    _context: Callable[..., Context]
    _make_encoder: Callable[[Any], FrameEncoder]
    _learn: Callable[[Any, np.ndarray, Context], BayesNet]
    _calibration_of: Callable[..., Calibrate]
    _encoder_of_fold: Callable[[Domain], FrameEncoder]
    _learn_and_count: Callable[[Any, np.ndarray, Context], tuple[BayesNet, Any]]
    _adopt: Callable[..., None]

    def predict_batches(
        self, X: Any, method: str = "predict", **options: Any
    ) -> Iterator[np.ndarray]:
        """What a method says of rows that are read, batch by batch as they come, in the order of
        the rows.

        Parameters
        ----------
        X : path, list of paths, pyarrow dataset, iterator of frames, or Dask collection
            As in ``fit``; columns that the fit did not have are left out.
        method : str, default="predict"
            Or "predict_proba", "predict_log_proba", "predict_joint_log_proba" or "expected_costs".
        options
            Further arguments of that method, such as ``class_prior``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
        >>> thirds = (iris.X[start : start + 50] for start in range(0, 150, 50))
        >>> [shares.shape for shares in clf.predict_batches(thirds, "predict_proba")]
        [(50, 3), (50, 3), (50, 3)]
        """
        check_is_fitted(self)
        if method not in _ANSWERS:
            raise ValueError(f"method={method!r} is none of {', '.join(map(repr, _ANSWERS))}")
        answer = getattr(self, method)
        return (answer(table, **options) for table in self._batches(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of the rows, by their weight, whose class is predicted.

        Parameters
        ----------
        X : frame, array, list of rows, or where to read them, as in ``fit``
            Of a file, columns that the fit did not have are left out.
        y : sequence of labels, or str
            The name of the target column where rows are read; nothing for pairs.
        sample_weight : sequence of float or str, optional
            Where rows are read, the name of a column.
        """
        if not is_source(X):
            # as fit reads them: numpy cuts off members of enumerations in lists
            labels = label_array(y, None)
            return super().score(X, labels, sample_weight)  # type: ignore[misc]
        check_is_fitted(self)
        opened = LabelledRows(
            X, y, sample_weight, bytes_of(self.memory), domain=self.network_.domain
        )
        right, total = opened.read(self._right_and_all, "available")
        return right / total

    def _right_and_all(self, batches: Iterator[Labelled]) -> tuple[float, float]:
        """The weight of the rows whose class is predicted, and of all rows."""
        right = total = 0.0
        text = self.classes_.dtype.kind in "UO"
        for batch in batches:
            if (batch.y.dtype.kind in "UO") != text:
                kinds = ("strings", "numbers") if text else ("numbers", "strings")
                raise ValueError(
                    f"the classes of the fit are {kinds[0]}, those of y are {kinds[1]}: cast y"
                )
            found = self.predict(batch.table) == batch.y
            right += float(np.sum(found if batch.weight is None else found * batch.weight))
            total += found.size if batch.weight is None else float(batch.weight.sum())
        return right, total

    def _batches(self, X: Any) -> Iterator[Table]:
        """The columns of the fit, in batches."""
        return (
            table for table, _ in batches_of(X, self.network_.domain, memory=bytes_of(self.memory))
        )

    @contextmanager
    def _engine(self, X: Any) -> Iterator[DaskEngine | None]:
        """What works on the rows of a fit if not this process does: the cluster of the setting, or
        that of the rows.
        """
        self._learners()  # refuses what is none before any work is done
        with reached(
            active_client() if self.cluster is None and is_dask(X) else self.cluster
        ) as client:
            yield None if client is None else DaskEngine(client, memory=bytes_of(self.memory))

    def _on_cluster(self, data: Any, context: Context) -> Any:
        """A table in memory as blocks on the cluster, if there is one, and anything else as it
        is.
        """
        if (
            context.engine is None
            or not isinstance(data, Encoded)
            or _needing_all_rows(self._learners())
        ):
            return data
        rows = RowsInMemory(data)
        return RowBlocks(rows, context.engine) if len(rows) > 1 else data

    def _fit_source(
        self, X: Any, y: Any, sample_weight: Any, engine: DaskEngine | None = None
    ) -> Self:
        """Learn the network of rows that are read in two passes, and its calibration in two more
        for each fold.
        """
        name = self._calibration_name()
        context, memory = self._context(engine), bytes_of(self.memory)
        encoder = self._make_encoder(self.categorical)
        with open_rows(X, y, sample_weight, memory=memory) as reading:
            keys = None if name is None else KeyFile(reading.space)
            encoder, rows = encode_rows(
                reading, encoder, progress=context.progress, keys=keys, engine=engine
            )
            self._warn_of_unused(encoder)
            with rows:
                calibrate = self._calibration_of_source(name, reading, keys, encoder)
                data = _as_wanted(rows, self._learners(), memory, engine)
                network, tallies = self._learn_and_count(data, encoder.classes_, context)
            calibration = calibrate(context)
        columns = columns_named(rows.domain.names, rows.named)
        self._adopt(encoder, network, calibration, tallies, context.history, columns)
        context.progress.stage("done: {network!r}", network=self.network_)
        return self

    def _warn_of_unused(self, encoder: FrameEncoder) -> None:
        encoder.warn_of_unused()

    def _calibration_of_source(
        self, name: str | None, reading: RereadRows, keys: KeyFile | None, encoder: FrameEncoder
    ) -> Calibrate:
        """Deal out the rows that were read; what calibrates by them, once the network of all rows
        was learned.
        """
        domain, classes = encoder.domain_, encoder.classes_
        if name is None or keys is None or domain.n_classes == 1:
            reading.close()  # nothing is read again
            return not_at_all
        say = partial(self._said_of_source, reading, domain)
        room = bytes_of(self.memory) // _KEY_BYTES
        return self._calibration_of(name, keys.portions, domain, classes, say, room)

    def _said_of_source(
        self,
        reading: RereadRows,
        domain: Domain,
        rows: np.ndarray,
        held_out: np.ndarray,
        context: Context,
    ) -> np.ndarray:
        """What a network that is learned without so much of some rows of a source says of them."""
        rest = WithoutHeldOut(reading, rows, held_out)
        encoder, codes = self._encoder_of_fold(domain), list[np.ndarray]()

        def look() -> None:
            rest.see = lambda table: codes.append(encoder.transform(table, "marginalize"))

        _, seen = encode_rows(rest, encoder, progress=context.progress, ready=look)
        with seen:
            data = _as_wanted(seen, self._learners(), bytes_of(self.memory), context.engine)
            network = self._learn(data, encoder.classes_, context)
        return held_out_log_joint(network, np.concatenate(codes, axis=1))

    def _known_table(self, X: Any) -> Table:
        """A table with the columns of the fit."""
        if isinstance(X, Table):
            return X  # read from a file, by the names of the columns
        if (rows := mappings_of(X)) is not None:
            check_is_fitted(self)
            return read_mappings(rows, self.network_.domain.names)
        table = read_table(X)
        try:
            validate_data(self, arrow_table(X), skip_check_array=True, reset=False)
        except ValueError as error:
            raise ValueError(f"{str(error).rstrip()}\n{self._way_out(table)}".rstrip()) from None
        return table

    def _way_out(self, table: Table) -> str:
        """What to do about columns that are not those of the fit, after scikit-learn has said that
        they are not.
        """
        if not (table.named and hasattr(self, "feature_names_in_")):
            return ""
        names = [repr(str(name)) for name in self.feature_names_in_]
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        return (
            f"The columns of the fit are {listed}: select them with X[list(clf.feature_names_in_)],"
            " and add what you do not have as a column of None\n"
        )

    def __sklearn_clone__(self) -> Any:
        """A client is no setting that could be copied: clones have the same one."""
        twin = BaseEstimator.__sklearn_clone__(copy(self) if is_client(self.cluster) else self)  # type: ignore[arg-type]
        twin.cluster = self.cluster
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: a client belongs to this process, and is left out."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, "cluster": None} if is_client(self.cluster) else state


def _as_wanted(
    rows: DiskCodes | ClusterCodes,
    learners: tuple[Any, Any],
    memory: int,
    engine: DaskEngine | None,
) -> Rows:
    """The rows as learners want them: in blocks, where there are several.

    A learner that supports blocks asks for all rows itself where it needs them; others get them
    here.
    """
    if len(rows) == 1:
        return rows.block(0)
    blocks = RowBlocks(rows, engine, memory)
    needing = _needing_all_rows(learners)
    return blocks.in_memory(type(needing[0]).__name__) if needing else blocks


def _needing_all_rows(learners: tuple[Any, Any]) -> list[Any]:
    """The learners whose ``learn`` does not take blocks of rows."""
    return [learner for learner in learners if not _supports_blocks(type(learner))]


def _supports_blocks(kind: type) -> bool:
    """What ``supports_blocks`` says of a class: it is inherited, but not by a class with a
    ``learn`` of its own.
    """
    for ancestor in kind.__mro__:
        if "supports_blocks" in vars(ancestor):
            return bool(vars(ancestor)["supports_blocks"])
        if "learn" in vars(ancestor):
            return False
    return False

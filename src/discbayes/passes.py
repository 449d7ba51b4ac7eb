"""Learning from rows that are read in passes, and predicting them batch by batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from discbayes.bayesnet import BayesNet
from discbayes.calibration import AUTO
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.blocks import Blocks
from discbayes.data.columns import Table
from discbayes.data.reading import read_table
from discbayes.engine import Context
from discbayes.streams import Spilled, batches_of, bytes_of, encode_source, is_source

_ANSWERS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "expected_costs")
_Method = TypeVar("_Method", bound=Callable[..., np.ndarray])


def over_batches(method: _Method) -> _Method:
    """A method that takes a table, for rows that are read in batches too."""

    @wraps(method)
    def answer(self: Any, X: Any, *arguments: Any, **options: Any) -> np.ndarray:
        if not is_source(X):
            return method(self, X, *arguments, **options)
        check_is_fitted(self)
        return np.concatenate([method(self, table, *arguments, **options) for table in self._batches(X)])

    return answer  # type: ignore[return-value]


class Passes:
    """The methods of the classifier for rows that are not in memory."""

    calibrate: str | None
    categorical: Any
    memory: int | str | None
    network_: BayesNet
    _learners: Callable[[], tuple[Any, Any]]
    _calibration_name: Callable[[], str | None]
    _context: Callable[[], Context]
    _make_encoder: Callable[[Any], FrameEncoder]
    _learn_and_count: Callable[[Any, np.ndarray, Context], tuple[BayesNet, Any]]
    _adopt: Callable[..., None]

    def predict_batches(self, X: Any, method: str = "predict", **options: Any) -> Iterator[np.ndarray]:
        """What a method says of rows that are read, batch by batch as they come, in the order of the rows.

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

    def _batches(self, X: Any) -> Iterator[Table]:
        """The columns of the fit, in batches."""
        return (table for table, _ in batches_of(X, self.network_.domain, memory=bytes_of(self.memory)))

    def _fit_source(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn the network of rows that are read in two passes."""
        self._learners()  # refuses what is none before any work is done
        self._leave_calibration_out()
        context, memory = self._context(), bytes_of(self.memory)
        encoder = self._make_encoder(self.categorical)
        encoder, rows = encode_source(X, encoder, y, sample_weight, memory=memory, progress=context.progress)
        with rows:
            data = _as_wanted(rows, self._learners(), memory)
            network, tallies = self._learn_and_count(data, encoder.classes_, context)
        self._set_columns(rows)
        self._adopt(encoder, network, None, tallies)
        self.history_ = context.history
        context.progress.stage("done: {network!r}", network=self.network_)
        return self

    def _leave_calibration_out(self) -> None:
        """Calibration learns columns anew from the rows of each fold, and only their codes are kept."""
        name = self._calibration_name()
        if name is None:
            return
        reason = "learns from the values of held-out rows, of which only codes are kept where rows are read in passes"
        if self.calibrate != AUTO:
            raise ValueError(f"calibrate={name!r} {reason}: use calibrate=None, or fit on a table in memory")
        warnings.warn(
            f"the probabilities are not calibrated: calibrate='auto' {reason}. calibrate=None says that this is meant; "
            "a fit on a table in memory is calibrated",
            stacklevel=4,
        )

    def _known_table(self, X: Any) -> Table:
        """A table with the columns of the fit."""
        if isinstance(X, Table):
            return X  # read from a file, by the names of the columns
        table = read_table(X)
        try:
            validate_data(self, X, skip_check_array=True, reset=False)
        except ValueError as error:
            raise ValueError(f"{str(error).rstrip()}\n{self._way_out(table)}".rstrip()) from None
        return table

    def _way_out(self, table: Table) -> str:
        """What to do about columns that are not those of the fit, after scikit-learn has said that they are not."""
        if not (table.named and hasattr(self, "feature_names_in_")):
            return ""
        names = [repr(str(name)) for name in self.feature_names_in_]
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        return (
            f"The columns of the fit are {listed}: select them with X[list(clf.feature_names_in_)], and add what you "
            "do not have as a column of None\n"
        )

    def _set_columns(self, rows: Spilled) -> None:
        """What scikit-learn remembers of the columns."""
        names = rows.domain.names
        self.n_features_in_ = len(names)
        if rows.named:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def _as_wanted(rows: Spilled, learners: tuple[Any, Any], memory: int) -> Encoded | Blocks:
    """The rows as learners want them: in blocks, where there are several.

    Those of this library know what to do with blocks, and ask for all rows where they need them; others cannot.
    """
    if len(rows) == 1:
        return rows.block(0)
    blocks = Blocks(rows, memory=memory)
    foreign = [learner for learner in learners if not type(learner).__module__.startswith("discbayes.")]
    return blocks.in_memory(type(foreign[0]).__name__) if foreign else blocks

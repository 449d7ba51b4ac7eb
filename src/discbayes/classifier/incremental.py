"""Learn from rows that come in parts, and merge classifiers that were learned in different places.

Some learners need nothing but counts, and counts add up. Their classifier keeps its sufficient
statistics and learns its network anew from the sums: the rows are not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import update_wrapper
from types import MethodType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discbayes.classifier.fitting import (
    COLUMN_ATTRIBUTES,
    MAX_KEPT_CELLS,
    FitPlan,
    FittedModel,
    count_rows,
    learn_from_statistics,
    why_not_incremental,
)
from discbayes.counts import SufficientStatistics
from discbayes.data import Domain, FrameEncoder
from discbayes.data.growing_domain import difference, first_rows, more_rows
from discbayes.data.targets import classes_and_codes, label_array
from discbayes.streams import BatchRows, located

_NO_STATISTICS = (
    f"has no counts that others could be added to: fit keeps them up to {MAX_KEPT_CELLS:,} cells,"
    " and only where learning needs no more than counts. Begin with partial_fit, on a new"
    " classifier or on clone(clf)"
)


class available_with_counts:
    """A method that exists, as ``hasattr`` tells, only if the learners need nothing but counts."""

    def __init__(self, method: Callable[..., Any]):
        self._method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, classifier: Any, owner: type | None = None) -> Any:
        if classifier is None:
            return self._method
        reason = why_not_incremental(classifier)
        if reason is not None:
            raise AttributeError(f"{self._method.__name__} learns from counts alone: {reason}")
        return MethodType(self._method, classifier)


def statistics_so_far(classifier: Any, classes: Any) -> SufficientStatistics | None:
    """Return the statistics that ``partial_fit`` goes on from; None if it begins.

    Other ``classes`` than those of the first call are refused.
    """
    statistics: SufficientStatistics | None = getattr(classifier, "sufficient_statistics_", None)
    if statistics is None:
        if hasattr(classifier, "network_"):
            raise ValueError(f"this classifier {_NO_STATISTICS}")
        return None
    if classes is not None:
        given = classes_and_codes(label_array(classes, None))[0].tolist()
        known = classifier.classes_.tolist()
        if set(given) != set(known):
            raise ValueError(
                f"classes={given!r} is not the same as on last call to partial_fit, was: {known!r}."
                " All classes are declared at the first call, or come with the rows"
            )
    return statistics


def add_batches(
    plan: FitPlan,
    batches: Iterable[BatchRows],
    statistics: SufficientStatistics | None,
    labels: np.ndarray | None,
    classes: Any,
    target: Any = None,
) -> tuple[FrameEncoder, SufficientStatistics]:
    """Count rows batch by batch, and add the counts to those that are known.

    Parameters
    ----------
    plan : FitPlan
        The settings of the classifier.
    batches : iterable of BatchRows
        The rows, at least one batch.
    statistics : SufficientStatistics or None
        The counts of the rows before; None if there were none.
    labels : ndarray or None
        The classes of those rows, in the type of the labels.
    classes : sequence of labels or None
        The classes that the user declares at the first call.
    target : str or None
        The name of the target column.

    Returns
    -------
    encoder : FrameEncoder
        The encoder of the domain, which may have grown.
    statistics : SufficientStatistics
        The counts of all rows.
    """
    for batch in batches:
        encoder = plan.new_encoder()
        with located(batch.where) if batch.where else nullcontext():
            if statistics is None or labels is None:
                data = first_rows(encoder, batch.table, batch.y, batch.weight, classes, target)
                fixed = classes is not None or isinstance(encoder.domains, Domain)
                statistics = count_rows(plan, data, fixed)
            else:
                counts, n_features = statistics.counts, statistics.n_features
                observed = np.array([counts.feature(i).sum() for i in range(n_features)])
                encoder.use_domain(statistics.domain, labels)
                encoder, data = more_rows(
                    encoder,
                    batch.table,
                    batch.y,
                    batch.weight,
                    statistics.fixed_classes,
                    observed,
                )
                statistics = statistics.with_rows(data, plan.context.n_jobs)
        labels = encoder.classes_
    assert statistics is not None
    return encoder, statistics


def merge_statistics(classifier: Any, other: Any) -> FittedModel:
    """Learn the network of the rows of two classifiers, with the settings of the first one."""
    reason = why_not_incremental(classifier)
    if reason is not None:
        raise ValueError(f"merge adds counts and learns from them alone: {reason}")
    mine = _statistics_to_merge(classifier, "this classifier")
    more = _statistics_to_merge(other, "the other classifier")
    differs = difference(mine.domain, more.domain)
    if differs is not None:
        raise ValueError(
            f"the two classifiers know different domains: {differs}. Learn both with"
            " domains=clf.network_.domain of one and the same classifier"
        )
    plan = FitPlan.of(classifier)
    statistics = mine + more
    network = learn_from_statistics(plan, statistics, classifier.classes_)
    columns = {
        name: getattr(classifier, name) for name in COLUMN_ATTRIBUTES if hasattr(classifier, name)
    }
    fitted = (classifier._encoder, network, None, statistics, plan.context.history)
    return FittedModel(*fitted, columns, statistics.n_samples)


def _statistics_to_merge(classifier: Any, which: str) -> SufficientStatistics:
    check_is_fitted(classifier)
    statistics: SufficientStatistics | None = classifier.sufficient_statistics_
    if statistics is None:
        raise ValueError(f"{which} {_NO_STATISTICS}")
    return statistics

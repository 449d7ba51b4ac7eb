"""Learning from rows that come in parts, and from models that were learned in different places.

Some learners need nothing but counts, and counts add up. Their classifier keeps them
(``SufficientStatistics``), and learns its network anew from the sums whenever there are more: the
rows are not needed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import update_wrapper
from types import MethodType
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from discbayes.bayesnet import BayesNet
from discbayes.classifier.columns import COLUMNS, columns_named, columns_of
from discbayes.counts import SufficientStatistics
from discbayes.counts.sufficient_statistics import pair_cells
from discbayes.data import Domain, Encoded, FrameEncoder
from discbayes.data.growing_domain import difference, first_rows, more_rows
from discbayes.data.row_blocks import RowBlocks
from discbayes.data.table import Table
from discbayes.data.table_reader import read_table
from discbayes.data.targets import classes_and_codes, label_array
from discbayes.engine import Context
from discbayes.network import Layout, Structure
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.scores import EDGE_SCORES, edge_score_of
from discbayes.search import KDB, Branching, FixedStructure, NaiveBayes, SpanningTree
from discbayes.search.constraints import read_structure
from discbayes.search.table_sizes import warn_of_sparse_columns
from discbayes.streams import Labelled, LabelledRows, bytes_of, is_source, located

_BY_EDGES = (SpanningTree, Branching, KDB)
_FREQUENCIES = (MaximumLikelihood, MaximumAPosteriori)
KEPT_CELLS = 1_000_000  # of counts that fit keeps: 8 MB
_NO_COUNTS = (
    f"has no counts that others could be added to: fit keeps them up to {KEPT_CELLS:,} cells, and"
    " only where learning needs no more than counts. Begin with partial_fit, on a new classifier"
    " or on clone(clf)"
)


class _WhereCountsDo:
    """A method that is only there, as scikit-learn asks by ``hasattr``, if the learners need no
    more than counts.
    """

    def __init__(self, method: Callable[..., Any]):
        self._method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, classifier: Any, owner: type | None = None) -> Any:
        if classifier is None:
            return self._method
        reason = why_not(classifier)
        if reason is not None:
            raise AttributeError(f"{self._method.__name__} learns from counts alone: {reason}")
        return MethodType(self._method, classifier)


@dataclass(frozen=True)
class _SoFar:
    """What was counted of the rows so far, and their classes in the type of the labels."""

    tallies: SufficientStatistics
    classes: np.ndarray


class Incremental:
    """The methods of the classifier that learn from counts."""

    structure: Any
    parameters: Any
    categorical: Any
    domains: Any
    class_weight: Any
    missing: str
    memory: int | str | None
    n_jobs: int | None
    classes_: np.ndarray
    network_: BayesNet
    structure_: Structure
    history_: list[dict[str, Any]]
    _encoder: FrameEncoder
    _tallies: SufficientStatistics | None
    _learners: Callable[[], tuple[Any, Any]]
    _context: Callable[[], Context]
    _make_encoder: Callable[[Any], FrameEncoder]
    _known_table: Callable[[Any], Table]
    _class_weights: Callable[[np.ndarray, Any], np.ndarray]
    _network: Callable[[Any, Any], BayesNet]
    _adopt: Callable[..., None]

    @_WhereCountsDo
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows, or from the first ones.

        It is there for learners that need counts only: ``structure`` "nb", "tan", "tan-fcll",
        "tan-acll", "kdb" and structures that are given, with ``parameters`` "ml" or "map", not
        calibrated. Others need all rows in ``fit``.

        The result is that of ``fit`` on all rows so far, for unweighted rows to the bit, with two
        exceptions. Numbers are cut where the *first* rows say: give as many as you can, or
        ``domains``. And a value that a declared column does not have is treated as ``unknown``
        says. Columns of text or categories that are not declared get new values as they come, and
        so do the classes, unless ``classes`` or a ``Domain`` has said which there are.

        The network is learned anew at each call. That does not depend on the number of rows, so
        large parts are faster than small ones. What is kept are counts: those of all pairs of
        columns where the structure is searched for. ``fit`` keeps up to a million of them, to go on
        from; a classifier that begins here keeps a hundred million.

        Parameters
        ----------
        X : frame, array, list of rows, or where to read them, as in ``fit``
            What is read comes in batches of 65,536 rows at most, and in smaller ones where a file
            ends: the first batch says where numbers are cut. The network is learned once, after the
            last one.
        y : sequence of labels, or str
            The name of the target column where rows are read; nothing for pairs.
        classes : sequence of labels, optional
            At the first call: all classes that will ever come.
        sample_weight : sequence of float or str, optional
            As in ``fit``, but never scaled: the rows of one call do not tell what the weights of
            all rows sum to.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map")
        >>> for k in range(3):
        ...     clf = clf.partial_fit(iris.X[k::3], iris.y[k::3])
        >>> clf.network_
        <BayesNet: 4 features, 3 classes, 3 edges between features, ...>
        """
        tallies = self._counts_so_far()
        if tallies is not None:
            self._refuse_other_classes(classes)
        so_far = None if tallies is None else _SoFar(tallies, self.classes_)
        if is_source(X):
            return self._go_through(X, y, classes, sample_weight, so_far)
        if so_far is None:
            table, columns = read_table(X), columns_of(X)
        else:
            table, columns = self._known_table(X), None
        context = self._context()
        encoder, tallies = self._with_rows(
            so_far, Labelled(table, y, sample_weight, ""), classes, None, context
        )
        network = self._learn_from(tallies, encoder.classes_, context)
        self._adopt(encoder, network, None, tallies, context.history, columns)
        return self

    def _go_through(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, so_far: _SoFar | None
    ) -> Self:
        """Learn from more rows that are read, batch by batch."""
        context = self._context()
        domain = None if so_far is None else so_far.tallies.domain
        rows = LabelledRows(X, y, sample_weight, bytes_of(self.memory), domain)

        def add_up(batches: Iterator[Labelled]) -> tuple[FrameEncoder, SufficientStatistics]:
            known = so_far
            for batch in batches:
                with located(batch.where):
                    encoder, tallies = self._with_rows(
                        known, batch, classes, rows.target_name, context
                    )
                known = _SoFar(tallies, encoder.classes_)
            return encoder, tallies

        encoder, tallies = rows.read(add_up, self.missing)
        network = self._learn_from(tallies, encoder.classes_, context)
        columns = columns_named(rows.names, rows.named) if so_far is None else None
        self._adopt(encoder, network, None, tallies, context.history, columns)
        return self

    def _with_rows(
        self, so_far: _SoFar | None, batch: Labelled, classes: Any, target: Any, context: Context
    ) -> tuple[FrameEncoder, SufficientStatistics]:
        """The counts with those of more rows, and the encoder of their domain."""
        encoder = self._make_encoder(self.categorical)
        if so_far is None:
            data = first_rows(encoder, batch.table, batch.y, batch.weight, classes, target)
            fixed = classes is not None or isinstance(self.domains, Domain)
            return encoder, _tallies_of(data, self._learners()[0], fixed, context)
        tallies = so_far.tallies
        present = np.array([tallies.counts.feature(i).sum() for i in range(tallies.n_features)])
        encoder.use_domain(tallies.domain, so_far.classes)
        encoder, data = more_rows(
            encoder, batch.table, batch.y, batch.weight, tallies.fixed_classes, present
        )
        return encoder, tallies.with_rows(data, self.n_jobs)

    def merge(self, other: Any) -> Self:
        """A new classifier, learned from the rows of both: the same as training on all of them
        together.

        It is there for the learners of ``partial_fit``. Both classifiers must know the same domain:
        the same columns, values, cut points and classes. The way to one domain in several places is
        to give it to all of them::

            domain = BayesNetClassifier("tan", "map").fit(X_some, y_some).network_.domain
            here = BayesNetClassifier("tan", "map", domains=domain).fit(X_here, y_here)

        A model file carries it too: ``discbayes.load(path).network_.domain``. Without weights the
        result is the same to the bit, in whatever order. The settings are those of this classifier;
        both stay as they are.

        Parameters
        ----------
        other : BayesNetClassifier
            Learned by ``fit`` or ``partial_fit``, or loaded from a file.

        Examples
        --------
        >>> from sklearn.base import clone
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> wine = load_dataset("wine")
        >>> whole = BayesNetClassifier("tan", "map").fit(wine.X, wine.y)
        >>> place = BayesNetClassifier("tan", "map", domains=whole.network_.domain)
        >>> one, two = (clone(place).fit(wine.X[k::2], wine.y[k::2]) for k in range(2))
        >>> bool((one.merge(two).predict_proba(wine.X) == whole.predict_proba(wine.X)).all())
        True
        """
        reason = why_not(self)
        if reason is not None:
            raise ValueError(f"merge adds counts and learns from them alone: {reason}")
        mine, more = (
            _tallies_to_merge(self, "this classifier"),
            _tallies_to_merge(other, "the other classifier"),
        )
        differs = difference(mine.domain, more.domain)
        if differs is not None:
            raise ValueError(
                f"the two classifiers know different domains: {differs}. Learn both with"
                " domains=clf.network_.domain of one and the same classifier"
            )
        tallies, merged, context = mine + more, clone(self), self._context()
        network = self._learn_from(tallies, self.classes_, context)
        columns = {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        merged._adopt(self._encoder, network, None, tallies, context.history, columns)
        return merged

    def _counts_so_far(self) -> SufficientStatistics | None:
        """What to go on from; None if this is the beginning."""
        tallies = getattr(self, "_tallies", None)
        if tallies is None and hasattr(self, "network_"):
            raise ValueError(f"this classifier {_NO_COUNTS}")
        return tallies

    def _refuse_other_classes(self, classes: Any) -> None:
        if classes is None:
            return
        given, known = (
            classes_and_codes(label_array(classes, None))[0].tolist(),
            self.classes_.tolist(),
        )
        if set(given) != set(known):
            raise ValueError(
                f"classes={given!r} is not the same as on last call to partial_fit, was: {known!r}."
                " All classes are declared at the first call, or come with the rows"
            )

    def _tallies_of_fit(
        self, data: Encoded | RowBlocks, context: Context
    ) -> SufficientStatistics | None:
        """The counts of all rows of a fit; None where they are not enough to learn from, or too
        many to keep.
        """
        learner = self._learners()[0]
        if why_not(self) is not None or _n_cells(data, learner) > KEPT_CELLS:
            return None
        return _tallies_of(data, learner, isinstance(self.domains, Domain), context)

    def _learn_from(
        self, tallies: SufficientStatistics, classes: np.ndarray, context: Context
    ) -> BayesNet:
        """The network that follows from counts."""
        structure, parameters = self._learners()
        if self.class_weight is not None:
            tallies = tallies.weighted_by(self._class_weights(classes, tallies.rows))
        warn_of_sparse_columns(tallies, tallies.counts)
        context.progress.stage(
            "structure: {learner!r} on {rows} rows", learner=structure, rows=tallies.n_samples
        )
        found = structure.learn(tallies, tallies.counts, context)
        context.progress.stage(
            "parameters: {learner!r} on {edges} edges", learner=parameters, edges=found.n_edges
        )
        return self._network(tallies, parameters.learn(tallies, tallies.counts, found, context))


def _tallies_of(
    data: Encoded | RowBlocks, learner: Any, fixed_classes: bool, context: Context
) -> SufficientStatistics:
    """What a structure learner needs to know of some rows."""
    if isinstance(learner, FixedStructure):
        structure = read_structure(data, learner.structure, "given")
        tallies = SufficientStatistics.of_families(data, structure, context.n_jobs)
    elif isinstance(learner, NaiveBayes):
        tallies = SufficientStatistics.of_features(data, context.n_jobs)
    else:
        tallies = SufficientStatistics.of_pairs(data, context.n_jobs)
    return replace(tallies, fixed_classes=fixed_classes)


def _n_cells(data: Encoded | RowBlocks, learner: Any) -> int:
    """How many counts that would be."""
    if isinstance(learner, FixedStructure):
        layout = Layout(
            read_structure(data, learner.structure, "given"), data.cards, data.n_classes
        )
        layout.require(data.domain.names)
        return layout.size
    return 0 if isinstance(learner, NaiveBayes) else pair_cells(data.domain)


def _tallies_to_merge(classifier: Any, which: str) -> SufficientStatistics:
    if not isinstance(classifier, Incremental):
        raise TypeError(f"merge takes another BayesNetClassifier, not {type(classifier).__name__}")
    check_is_fitted(classifier)
    tallies = getattr(classifier, "_tallies", None)
    if tallies is None:
        raise ValueError(f"{which} {_NO_COUNTS}")
    return tallies


# What needs no more than counts


def why_not(classifier: Any) -> str | None:
    """Why a classifier cannot be learned from counts, and the way out; None if it can."""
    try:
        structure, parameters = classifier._learners()
        calibration = classifier._calibration_name()
    except (ValueError, TypeError) as error:
        return str(error)
    reason = _why_not_parameters(classifier.parameters, parameters)
    reason = reason or _why_not_structure(classifier.structure, structure)
    if reason is None and calibration is not None:
        reason = f"calibrate={calibration!r} needs rows that are held out: use calibrate=None"
    return reason


def _why_not_parameters(given: Any, learner: Any) -> str | None:
    if type(learner) not in _FREQUENCIES:
        return f"parameters={given!r} needs all rows at once: use parameters='map' or 'ml', or fit"
    if learner.gaps != "available":
        return f"parameters={given!r}: EM needs all rows at once: use gaps='available', or fit"
    return None


def _why_not_structure(given: Any, learner: Any) -> str | None:
    if type(learner) in (NaiveBayes, FixedStructure):
        return None
    fix = "fix what a fit on some rows finds (structure=clf.structure_), or fit"
    if type(learner) not in _BY_EDGES:
        names = "'nb', 'tan', 'tan-fcll', 'tan-acll' or 'kdb'"
        return f"structure={given!r} needs all rows at once: use {names}, {fix} on all"
    if isinstance(learner, KDB) and learner.k > 1:
        return (
            f"structure={given!r} needs counts of families that are not known beforehand: use k=1,"
            f" {fix} on all"
        )
    score = edge_score_of(learner.score)
    if type(score) not in EDGE_SCORES.values():
        return f"structure={given!r} has a score of your own, which may need rows: {fix} on all"
    if score.em:
        return f"structure={given!r}: EM needs all rows at once: use missing='available', or fit"
    return None

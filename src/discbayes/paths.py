"""The path from generative to discriminative: a network for each λ of ML-BN-SVM (P13 Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes._lazy_imports import leaf
from discbayes.bayesnet import BayesNet
from discbayes.classifier import BayesNetClassifier, FitPlan, FittedModel, adopt
from discbayes.classifier.fitting import (
    learn_structure,
    make_network,
    table_columns,
    weigh_and_count,
)
from discbayes.parameters import MLBNSVM
from discbayes.parameters.svm import LAMS


@dataclass(frozen=True)
class MarginPath:
    """The classifiers along a path, and their figures for each λ.

    Parameters
    ----------
    lams : ndarray
        The values of λ, in increasing order.
    accuracy : ndarray
        The weighted share of training rows that are predicted correctly.
    log_likelihood : ndarray
        Log P(y, x) of the rows and of the virtual observations, divided by the weight of the rows.
        It never increases with λ, but for the tolerance of the solver.
    slack : ndarray
        The sum of the slacks of the rows, divided by their weight. It never increases either.
    gap : ndarray
        The relative duality gap: a bound on how far the objective is above the optimum.
    classifiers : list of BayesNetClassifier
        A fitted classifier for each λ.

    Examples
    --------
    >>> from discbayes import load_dataset, margin_path
    >>> iris = load_dataset("iris")
    >>> margin_path(iris.X, iris.y, [0, 1]).lams.tolist()
    [0.0, 1.0]
    """

    lams: np.ndarray
    accuracy: np.ndarray
    log_likelihood: np.ndarray
    slack: np.ndarray
    gap: np.ndarray
    classifiers: list[BayesNetClassifier]

    @property
    def networks(self) -> list[BayesNet]:
        """The network of each λ."""
        return [classifier.network_ for classifier in self.classifiers]

    def plot(self, ax: Any = None) -> Any:
        """Plot likelihood, slack and accuracy against λ, as P13 Figure 1 (extra ``plot``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.

        Returns
        -------
        matplotlib Axes
            The axes.

        Examples
        --------
        >>> from discbayes import load_dataset, margin_path
        >>> iris = load_dataset("iris")
        >>> ax = margin_path(iris.X, iris.y, [0, 1]).plot()  # doctest: +SKIP
        """
        return leaf("plot").margin_path(self, ax)


def margin_path(
    X: Any,
    y: Any,
    lams: Sequence[float] = LAMS,
    *,
    estimator: BayesNetClassifier | None = None,
    sample_weight: Any = None,
) -> MarginPath:
    """Learn an ML-BN-SVM for each λ, each fit started where the one before ended.

    The structure is learned once; all else is as in ``estimator.fit``.

    Parameters
    ----------
    X : frame, array or list of rows
        The rows.
    y : sequence of labels
        The class labels.
    lams : sequence of float, optional
        The values of λ, in any order; P13's 0 and 2⁻² to 2¹⁰ by default.
    estimator : BayesNetClassifier, optional
        The classifier to learn for each λ: its ``parameters`` must be "ml-bn-svm" or an
        ``MLBNSVM``, of which ``gamma``, ``tol`` and the like count. TAN by default. It stays as it
        is.
    sample_weight : sequence of float, optional
        The weights of the rows.

    Returns
    -------
    MarginPath
        The fitted classifiers and their figures.

    Examples
    --------
    >>> from discbayes import load_dataset
    >>> iris = load_dataset("iris")
    >>> path = margin_path(iris.X, iris.y, [0, 1, 16])
    >>> path.slack.round(2).tolist(), path.accuracy.round(2).tolist()
    ([0.11, 0.1, 0.07], [0.95, 0.96, 0.97])
    """
    estimator = BayesNetClassifier(parameters="ml-bn-svm") if estimator is None else estimator
    plan = FitPlan.of(estimator)
    learner = plan.parameters
    if not isinstance(learner, MLBNSVM):
        raise ValueError(
            f'a path over λ is one of "ml-bn-svm" or MLBNSVM(...), not of parameters={learner!r}'
        )
    if plan.calibration is not None:
        raise ValueError(
            "a path has no held-out rows to calibrate by: fit the λ that you choose with calibrate="
        )
    encoder = plan.new_encoder()
    codes = encoder.fit_transform(X, y, sample_weight)
    encoder.warn_of_unused()
    data, counts = weigh_and_count(plan, codes, encoder.classes_)
    structure = learn_structure(plan, data, counts, plan.context)
    points = list(learner.path(data, counts, structure, sorted(lams), plan.context))
    weight = data.n_samples if data.weight is None else data.weight.sum()
    class_weight = np.bincount(data.classes, data.weight, data.n_classes)
    fitted = []
    for point in points:
        own = clone(learner).set_params(lam=point.lam)
        classifier = clone(estimator).set_params(parameters=own)
        network = make_network(plan, data.domain, point.tables, class_weight)
        history, columns = plan.context.history, table_columns(X)
        adopt(classifier, FittedModel(encoder, network, history=history, columns=columns))
        fitted.append(classifier)
    return MarginPath(
        lams=np.array([point.lam for point in points]),
        accuracy=np.array([point.rate for point in points]),
        log_likelihood=np.array([point.log_likelihood for point in points]) / weight,
        slack=np.array([point.slack for point in points]) / weight,
        gap=np.array([point.gap for point in points]),
        classifiers=fitted,
    )

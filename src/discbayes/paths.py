"""The dial from generative to discriminative: one network for each λ of ML-BN-SVM (P13 Figure
1).
"""

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
from discbayes.data.table_reader import read_table
from discbayes.parameters import MLBNSVM
from discbayes.parameters.svm import LAMS


@dataclass(frozen=True)
class MarginPath:
    """What each λ gives; the arrays have an entry for each of ``lams``.

    Attributes
    ----------
    lams : ndarray
        λ, in rising order.
    accuracy : ndarray
        The weighted share of training rows that are classified right.
    log_likelihood : ndarray
        Log P(y, x) of the rows and of the virtual observations, divided by the weight of the rows.
        It never rises with λ, but for the tolerance of the solver.
    slack : ndarray
        The sum of the slacks of the rows, divided by their weight. It never rises either.
    gap : ndarray
        How far above the optimum the objective is at most, relative to it.
    classifiers : list of BayesNetClassifier
        A fitted classifier for each λ.
    """

    lams: np.ndarray
    accuracy: np.ndarray
    log_likelihood: np.ndarray
    slack: np.ndarray
    gap: np.ndarray
    classifiers: list[BayesNetClassifier]

    @property
    def networks(self) -> list[BayesNet]:
        """The network for each λ."""
        return [classifier.network_ for classifier in self.classifiers]

    def plot(self, ax: Any = None) -> Any:
        """Likelihood, slack and accuracy against λ, as P13 Figure 1 (extra ``plot``); returns the
        axes.
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
    """Learn an ML-BN-SVM for each λ, each fit begun where the one before ended.

    The structure is learned once; all else is as in ``estimator.fit``.

    Parameters
    ----------
    X : frame, array or list of rows
    y : sequence of labels
    lams : sequence of float
        λ; P13's 0 and 2⁻² to 2¹⁰ by default. They are taken in rising order.
    estimator : BayesNetClassifier, optional
        What is learned but for λ: its ``parameters`` must be "ml-bn-svm" or an ``MLBNSVM``, of
        which ``gamma``, ``tol`` and the like count. TAN by default. It stays as it is.
    sample_weight : sequence of float, optional

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
    codes = encoder.fit_transform(read_table(X), y, sample_weight)
    encoder.warn_of_unused()
    data, counts = weigh_and_count(plan, codes, encoder.classes_)
    structure = learn_structure(plan, data, counts, plan.context)
    points = list(learner.path(data, counts, structure, sorted(lams), plan.context))
    weight = data.n_samples if data.weight is None else data.weight.sum()
    class_weight = np.bincount(data.classes, data.weight, data.n_classes)
    fitted = []
    for point in points:
        classifier = clone(estimator).set_params(
            parameters=clone(learner).set_params(lam=point.lam)
        )
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

"""Published accuracies under the papers' protocol, on the real data sets and on the example of P10
section 3.

The second number is what a plain reference implementation gives on these files (METHODS 6): where
the split is the papers' own they agree to the digit, on letter the split is not quite theirs.
"""

from __future__ import annotations

import os
from pathlib import Path

import numba
import numpy as np
import pytest
from sklearn.base import clone

from discbayes import BayesNetClassifier, Structure, load_dataset
from discbayes.datasets import make_three_feature
from discbayes.datasets.generators import three_feature_joint
from discbayes.objectives import Margin
from discbayes.search import Annealing, GreedyEdges, OrderBased, SpanningTree, SuperParent

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="too large without the compiler"
)
FILES = pytest.mark.skipif(
    not (Path(os.environ.get("DISCBAYES_DATA", "")) / "MANIFEST.json").is_file(),
    reason="DISCBAYES_DATA does not point to the data sets",
)


def on_real_data(test):
    return pytest.mark.data(FILES(test))


# data set, structure, published accuracy (P10 Table 7), reference on these files, rows tested
PUBLISHED = [
    ("letter", "nb", 74.92, 74.08, 5000),
    ("chess", "nb", 87.15, 87.15, 1066),
    ("satimage", "nb", 81.75, 81.75, 2000),
    ("mofn-3-7-10", "nb", 86.43, 86.43, 1024),
    ("letter", "tan", 87.46, 86.08, 5000),
    ("chess", "tan", 92.40, 92.40, 1066),
    ("mofn-3-7-10", "tan", 91.70, 91.70, 1024),
]


@on_real_data
@pytest.mark.parametrize("name, structure, published, reference, n_test", PUBLISHED)
def test_published_accuracy(name, structure, published, reference, n_test):
    data = load_dataset(name, source="files")
    clf = BayesNetClassifier(structure, "ml", missing="drop").fit(data.X_train, data.y_train)
    accuracy = 100 * clf.score(data.X_test, data.y_test)
    assert len(data.y_test) == n_test
    assert accuracy >= published - 1.5
    assert accuracy == pytest.approx(reference, abs=0.1)


@on_real_data
def test_naive_bayes_on_waveform_and_tan_on_satimage():
    waveform = load_dataset("waveform-21", source="files")
    nb = BayesNetClassifier("nb", "ml").fit(waveform.X_train, waveform.y_train)
    assert 100 * nb.score(waveform.X_test, waveform.y_test) == pytest.approx(78.57, abs=0.1)
    satimage = load_dataset("satimage", source="files")
    tan = BayesNetClassifier("tan", "ml").fit(satimage.X_train, satimage.y_train)
    assert 86.65 <= 100 * tan.score(satimage.X_test, satimage.y_test) <= 87.05


@on_real_data
def test_available_cases_beat_dropping_rows_where_gaps_are_many():
    """Soybean-large has gaps in 121 of 683 rows, and four classes have no complete row at all."""
    data = load_dataset("soybean-large", source="files")
    kept = BayesNetClassifier().fit(data.X, data.y)
    dropped = BayesNetClassifier(missing="drop").fit(data.X, data.y)
    assert kept.classes_.size == 19
    assert dropped.classes_.size == 15
    assert kept.score(data.X, data.y) > 0.9


# P10 Table 7, ML parameters; the searches that gain a family at a time are in docs/results with the
# rest.
SEARCHED = [
    ("chess", GreedyEdges("cr"), 96.06),
    ("chess", OrderBased("omi", "cr"), 94.93),
    ("satimage", GreedyEdges("cr"), 87.70),
    ("satimage", OrderBased("omi", "cr"), 88.25),
    ("letter", GreedyEdges("cr"), 87.42),
    ("letter", OrderBased("omi", "cr"), 87.00),
    ("mofn-3-7-10", OrderBased("omi", "cr"), 91.41),
]


@on_real_data
@pytest.mark.parametrize("name, search, published", SEARCHED)
def test_discriminative_structures_reach_the_published_accuracy(name, search, published):
    data = load_dataset(name, source="files")
    clf = BayesNetClassifier(search, "ml").fit(data.X_train, data.y_train)
    assert 100 * clf.score(data.X_test, data.y_test) >= published - 1.0


@on_real_data
def test_greedy_rate_on_mofn_depends_on_which_of_equal_edges_comes_first():
    """With 300 rows of ten bits many edges gain equally: P10's 91.02 is one of the outcomes, 89.94
    another.
    """
    data = load_dataset("mofn-3-7-10", source="files")
    for columns, accuracy in (
        (data.feature_names, 89.94),
        (np.random.default_rng(17).permutation(data.feature_names).tolist(), 91.02),
    ):
        clf = BayesNetClassifier(GreedyEdges("cr"), "ml").fit(data.X_train[columns], data.y_train)
        assert 100 * clf.score(data.X_test[columns], data.y_test) == pytest.approx(
            accuracy, abs=0.01
        )


CELLS = np.indices((2, 2, 2, 2)).reshape(4, -1).T  # class, X1, X2, X3
JOINT = three_feature_joint().ravel()


def population_accuracy(clf):
    return 100 * JOINT[clf.predict(CELLS[:, 1:]) == CELLS[:, 0]].sum()


@pytest.mark.parametrize(
    "edges, accuracy",
    [
        ([], 50.0),
        ([(0, 1), (1, 2)], 57.5),
        ([(0, 2)], 65.0),
        ([(0, 2), (0, 1)], 65.0),
        ([(0, 2), (2, 1)], 61.25),
    ],
)
def test_three_features_in_the_population(edges, accuracy):
    clf = BayesNetClassifier(Structure.from_edges(edges, range(3)), "ml", discretizer=None)
    clf.fit(CELLS[:, 1:], CELLS[:, 0], sample_weight=1e4 * JOINT)
    assert population_accuracy(clf) == pytest.approx(accuracy)


def three_feature_runs(structure, n_repeats=5):
    for seed in range(n_repeats):
        X, y = make_three_feature(1000, random_state=seed)
        yield BayesNetClassifier(structure, "ml", discretizer=None, random_state=seed).fit(X, y)


@pytest.mark.parametrize("score", ["cr", "cl", Margin(1.0)], ids=["cr", "cl", "mm"])
@pytest.mark.parametrize(
    "search",
    [
        GreedyEdges(),
        GreedyEdges(evaluation=5, fill=True),
        SuperParent(),
        OrderBased("omi"),
        OrderBased("omisp"),
        OrderBased("ocr"),
        Annealing(),
    ],
    ids=["greedy", "filled", "superparent", "omi", "omisp", "ocr", "annealing"],
)
def test_every_discriminative_search_joins_the_features_that_tell_the_classes_apart(search, score):
    for clf in three_feature_runs(clone(search).set_params(score=score)):
        assert 2 in clf.structure_.parents[0] or 0 in clf.structure_.parents[2]
        assert population_accuracy(clf) >= 61.0


@pytest.mark.parametrize(
    "structure, accuracy",
    [
        ("nb", 50.0),
        (SpanningTree(), 57.5),
        (SpanningTree(score="fcll"), 61.25),
        (GreedyEdges("cr"), 65.0),
        (OrderBased("omi", "cr"), 65.0),
    ],
)
def test_three_features_from_a_thousand_rows(structure, accuracy):
    accuracies = [population_accuracy(clf) for clf in three_feature_runs(structure, 30)]
    assert np.mean(accuracies) == pytest.approx(accuracy, abs=1.0)

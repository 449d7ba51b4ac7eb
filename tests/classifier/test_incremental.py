"""Rows in parts and models in places: the same as all rows at once."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from itertools import combinations, permutations
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import learning_curve

import discbayes
from discbayes import (
    KDB,
    BayesNetClassifier,
    MaximumAPosteriori,
    MaximumLikelihood,
    SpanningTree,
    Structure,
    load_dataset,
)
from discbayes.classifier import fitting
from discbayes.counts import SufficientStatistics, sufficient_statistics
from discbayes.data import Domain, FrameEncoder, Variable
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.io import ModelFileError
from discbayes.io.document import seal
from discbayes.scores import ConditionalInformation

EDGES = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]  # c has two parents
STRUCTURES = [
    "nb",
    "tan",
    "tan-fcll",
    "tan-acll",
    "kdb",
    EDGES,
    SpanningTree(score="mdl", min_weight=0.0),
]
COLUMNS = ["a", "b", "c", "d"]


def table_of(rng, n_rows, gaps=0.15):
    """Four columns of few values that depend on each other, some of which are rare; with gaps."""
    y = rng.integers(0, 3, n_rows)
    a = (y + rng.integers(0, 3, n_rows)) % 5
    b = (a + rng.integers(0, 2, n_rows)) % 4
    c = np.where(rng.random(n_rows) < 0.1, 7, b * y % 3)
    d = (c + y + rng.integers(0, 2, n_rows)) % 6
    frame = pd.DataFrame(
        {
            name: [f"v{x}" for x in column]
            for name, column in zip(COLUMNS, (a, b, c, d), strict=True)
        }
    )
    return frame.mask(rng.random(frame.shape) < gaps), np.array(["n", "o", "p"])[y]


def same(one, two, exact=True):
    """Whether two classifiers are the same model."""
    assert one.classes_.tolist() == two.classes_.tolist()
    assert one.network_.domain == two.network_.domain
    assert one.structure_ == two.structure_
    for name in ("log_prior", "log_theta"):
        mine, other = (getattr(clf.network_.parameters, name) for clf in (one, two))
        if exact:
            assert np.array_equal(mine, other)
        else:
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def by_rows(clf, X, y, weight=None):
    """A fit that goes to the rows for everything, as learners do that need more than counts."""
    with patch.object(fitting, "MAX_KEPT_CELLS", -1):
        fitted = clone(clf).fit(X, y, weight)
    assert fitted.sufficient_statistics_ is None
    return fitted


def in_parts(clf, X, y, parts, **options):
    for rows in parts:
        clf.partial_fit(X.iloc[rows], y[rows], **options)
    return clf


# Parts and the whole


@pytest.mark.parametrize("structure", ["nb", "tan", [("mean area", "mean texture")]], ids=str)
def test_parts_of_columns_with_two_resolutions(structure):
    """The cut points are those of the first part; all counts go by them."""
    data = load_dataset("breast-cancer")
    X, y = data.X.iloc[:, :8], np.array(data.y)
    first, rest = np.arange(300), np.arange(300, len(y))
    clf = BayesNetClassifier(structure, "map", discretizer="two-resolution")
    parts = in_parts(clone(clf), X, y, [first, rest])
    domain = parts.network_.domain
    alone = FrameEncoder("two-resolution").fit_transform(X.iloc[first], y[first]).domain
    assert domain.features == alone.features
    assert domain.states is not None
    clf.set_params(domains=domain)
    whole = by_rows(clf, X, y)
    same(parts, whole)
    merged = clone(clf).partial_fit(X.iloc[rest], y[rest])
    same(merged.merge(clone(clf).partial_fit(X.iloc[first], y[first])), whole)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@given(seed=st.integers(0, 10_000), n_parts=st.integers(1, 5), n_rows=st.integers(5, 60))
@settings(max_examples=8, deadline=None)
def test_parts_in_any_order_are_the_whole(structure, seed, n_parts, n_rows):
    rng = np.random.default_rng(seed)
    X, y = table_of(rng, n_rows)
    assume(np.unique(y).size > 1)  # of one class alone `fit` warns
    parameters = [MaximumLikelihood(), MaximumAPosteriori("dirichlet", 0.5)][seed % 2]
    missing = ["available", "value"][seed % 3 == 0]
    clf = BayesNetClassifier(structure, parameters, missing=missing)
    parts = np.array_split(rng.permutation(n_rows), n_parts)
    with_parts = in_parts(clone(clf), X, y, [rows for rows in parts if rows.size])
    whole = by_rows(clf, X, y)
    same(with_parts, whole)
    assert np.array_equal(with_parts.predict_proba(X), whole.predict_proba(X))
    assert [step["score"] for step in with_parts.history_] == [
        step["score"] for step in whole.history_
    ]


def test_the_counts_are_those_of_counting_row_by_row():
    X, y = table_of(np.random.default_rng(3), 90)
    clf = in_parts(BayesNetClassifier("tan", "map"), X, y, np.array_split(np.arange(90), 7))
    kept, domain = clf.sufficient_statistics_, clf.network_.domain
    assert kept.rows.tolist() == [np.count_nonzero(y == c) for c in clf.classes_]
    for i, j in combinations(range(4), 2):
        slow = Counter(zip(X.iloc[:, i], X.iloc[:, j], y, strict=True))
        one, two = domain.features[i].values, domain.features[j].values
        expected = [[[slow[u, v, c] for c in "nop"] for v in two] for u in one]
        assert kept.pairs.table(i, j).tolist() == expected


@pytest.mark.parametrize("structure", ["tan", "tan-acll", EDGES], ids=str)
def test_what_fit_keeps_changes_nothing(structure):
    X, y = table_of(np.random.default_rng(5), 200)
    kept = BayesNetClassifier(structure, "map").fit(X, y)
    bare = by_rows(kept, X, y)
    same(kept, bare)
    assert kept.sufficient_statistics_ is not None
    assert bare.sufficient_statistics_ is None
    with pytest.raises(
        ValueError, match=r"has no counts that others could be added to.*partial_fit, on a new"
    ):
        bare.partial_fit(X, y)
    with pytest.raises(ValueError, match="the other classifier has no counts"):
        kept.merge(bare)


def test_fit_goes_on_by_partial_fit_and_fit_begins_anew():
    X, y = table_of(np.random.default_rng(6), 120)
    clf = BayesNetClassifier("tan", "map").fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    same(clf, by_rows(clf, X, y))
    same(clf.fit(X[:30], y[:30]), by_rows(clf, X[:30], y[:30]))


def test_weights_of_rows_and_classes():
    rng = np.random.default_rng(7)
    X, y = table_of(rng, 150)
    weight = rng.random(150) * 3
    weight[::10] = 0.0
    for class_weight in (None, "balanced", {"n": 1.0, "o": 2.5, "p": 0.0}):
        clf = BayesNetClassifier("tan", "map", class_weight=class_weight)
        whole = by_rows(clf, X, y, weight)
        rows = np.array_split(rng.permutation(150), 4)
        parts = clone(clf)
        for part in rows:
            parts.partial_fit(X.iloc[part], y[part], sample_weight=weight[part])
        same(parts, whole, exact=False)
    twice = by_rows(
        BayesNetClassifier("tan", "map"), X.iloc[np.repeat(np.arange(150), 2)], np.repeat(y, 2)
    )
    same(BayesNetClassifier("tan", "map").partial_fit(X, y, sample_weight=np.full(150, 2.0)), twice)


def test_numbers_are_cut_where_the_first_rows_say():
    wine = load_dataset("wine")
    X, y = wine.X, np.asarray(wine.y)
    first = np.random.default_rng(0).permutation(len(y))
    clf = in_parts(BayesNetClassifier("tan", "map"), X, y, [first[:100], first[100:]])
    cuts = [v.cuts for v in clf.network_.domain.features]
    assert cuts == [
        v.cuts
        for v in (
            BayesNetClassifier("nb", "map")
            .fit(X.iloc[first[:100]], y[first[:100]])
            .network_.domain.features
        )
    ]
    same(clf, BayesNetClassifier("tan", "map", domains=clf.network_.domain).fit(X, y))
    assert cuts != [
        v.cuts for v in BayesNetClassifier("nb", "map").fit(X, y).network_.domain.features
    ]


def test_the_network_can_be_learned_otherwise_from_the_same_counts():
    X, y = table_of(np.random.default_rng(9), 120)
    clf = BayesNetClassifier("tan", "map").partial_fit(X[:60], y[:60])
    clf.set_params(structure="kdb", parameters="ml").partial_fit(X[60:], y[60:])
    same(clf, by_rows(clf, X, y))
    tree = BayesNetClassifier("tan", "map").fit(X, y).structure_
    clf.set_params(structure=tree).partial_fit(X, y)
    same(clf, by_rows(clf, pd.concat([X, X]), np.concatenate([y, y])))
    with pytest.raises(
        ValueError, match=r"no counts of 'c' with 'a', 'b': the structure was another one"
    ):
        clf.set_params(structure=EDGES).partial_fit(X, y)
    naive = BayesNetClassifier("nb", "map").partial_fit(X, y).set_params(structure="tan")
    with pytest.raises(ValueError, match="no counts of pairs of columns"):
        naive.partial_fit(X, y)


# Domains that grow


def test_new_values_and_classes_get_their_place():
    X1 = pd.DataFrame(
        {"text": ["b", "d"], "size": pd.Categorical(["L", "S"], categories=["S", "L"]), "n": [3, 5]}
    )
    X2 = pd.DataFrame({"text": ["c", None], "size": ["M", "XL"], "n": [4, 5]})
    clf = BayesNetClassifier("tan", "map", categorical=["n"]).partial_fit(X1, ["no", "yes"])
    clf.partial_fit(X2, ["maybe", "no"])
    assert [v.values for v in clf.network_.domain.features] == [
        ("b", "c", "d"),
        ("S", "L", "M", "XL"),
        (3, 4, 5),
    ]
    assert clf.classes_.tolist() == ["maybe", "no", "yes"]
    assert clf.sufficient_statistics_.counts.feature(0).tolist() == [
        [0, 1, 0],
        [1, 0, 0],
        [0, 0, 1],
    ]
    # L with 3, 4, 5
    assert clf.sufficient_statistics_.pairs.table(1, 2)[1].tolist() == [
        [0, 1, 0],
        [0, 0, 0],
        [0, 0, 0],
    ]
    assert clf.predict(pd.DataFrame({"text": ["c"], "size": ["M"], "n": [4]})).tolist() == ["maybe"]


def test_columns_that_had_no_value_or_no_gap_before():
    X1 = pd.DataFrame({"late": pd.Series([None, None], dtype=object), "full": ["x", "y"]})
    X2 = pd.DataFrame({"late": ["u", None], "full": [None, "y"]})
    both = pd.concat([X1, X2])
    for missing in ("available", "value"):
        clf = (
            BayesNetClassifier("tan", "map", missing=missing)
            .partial_fit(X1, [0, 1])
            .partial_fit(X2, [1, 0])
        )
        same(clf, BayesNetClassifier("tan", "map", missing=missing).fit(both, [0, 1, 1, 0]))
    assert [v.labels for v in clf.network_.domain.features] == [
        ["u", "(missing)"],
        ["x", "y", "(missing)"],
    ]


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [False, True], np.array([0.0, 1.0]), ["a", "b"], np.array(["a", "b"], object)],
)
def test_classes_keep_their_type(labels):
    X = pd.DataFrame({"a": ["x", "y"]})
    clf = BayesNetClassifier("nb", "map").partial_fit(X, labels).partial_fit(X, labels[::-1])
    whole = BayesNetClassifier("nb", "map").fit(pd.concat([X, X]), [*labels, *labels[::-1]])
    assert clf.classes_.tolist() == whole.classes_.tolist()
    assert (
        clf.predict(X).dtype.kind
        == BayesNetClassifier("nb", "map").fit(X, labels).predict(X).dtype.kind
    )
    with pytest.raises(ValueError, match="y mixes strings and numbers"):
        clf.partial_fit(X, [1, 2] if isinstance(labels[0], str) else ["a", "b"])


def test_declared_classes_stay():
    X = pd.DataFrame({"a": ["x", "y", "x"]})
    clf = BayesNetClassifier("nb", "map").partial_fit(
        X, ["no", "yes", "no"], classes=["yes", "no", "never"]
    )
    assert clf.classes_.tolist() == ["never", "no", "yes"]
    assert 0 < clf.predict_proba(X)[0, 0] < 0.15
    with pytest.raises(
        ValueError,
        match=r"classes that were not declared: 'new'; the classes are 'never', 'no', 'yes'",
    ):
        clf.partial_fit(X, ["no", "yes", "new"])
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        clf.partial_fit(X, ["no", "yes", "no"], classes=["no", "yes"])
    clf.partial_fit(X, ["no", "yes", "no"], classes=["no", "yes", "never"])
    with pytest.raises(ValueError, match="classes that were not declared: 'maybe'"):
        BayesNetClassifier("nb", "map").partial_fit(X, ["no", "maybe", "no"], classes=["no", "yes"])


def test_declared_columns_stay():
    X, odd = pd.DataFrame({"a": ["x", "y"] * 3}), pd.DataFrame({"a": ["x", "z"] * 3})
    clf = BayesNetClassifier("nb", "map", domains={"a": ["y", "x", "w"]})
    lenient = clone(clf).partial_fit(X, [0, 1] * 3).partial_fit(odd, [0, 1] * 3)
    assert lenient.network_.domain.features[0].values == ("y", "x", "w")
    assert lenient.sufficient_statistics_.counts.feature(0).tolist() == [[0, 3], [6, 0], [0, 0]]
    strict = clf.set_params(unknown="error").partial_fit(X, [0, 1] * 3)
    with pytest.raises(
        ValueError, match=r"column 'a' holds 'z', which is none of its known values.*marginalize"
    ):
        strict.partial_fit(odd, [0, 1] * 3)


def test_an_unknown_value_is_no_gap():
    X = pd.DataFrame({"a": ["x", None, "z", "x"]})
    clf = BayesNetClassifier("nb", "map", domains={"a": ["x", "y"]}, missing="value").partial_fit(
        X, [0, 0, 0, 1]
    )
    assert clf.sufficient_statistics_.counts.feature(0).tolist() == [[1, 1], [0, 0], [1, 0]]


def test_columns_that_change_their_type_are_refused():
    clf = BayesNetClassifier("nb", "map")
    with pytest.warns(
        UserWarning, match="not used, since the 2 rows to begin with.*: .n.. Begin with more rows"
    ):
        clf.partial_fit(pd.DataFrame({"t": ["x", "y"], "n": [1.0, 1.0]}), [0, 1])
    before = clf.network_
    with pytest.raises(
        ValueError, match="column 't' mixes strings and numbers, 'x' and 1 for example"
    ):
        clf.partial_fit(pd.DataFrame({"t": [1, 2], "n": [1.0, 2.0]}), [0, 1])
    with pytest.raises(
        ValueError, match=r"column 'n' was numeric at fit and now holds the string 'q'"
    ):
        clf.partial_fit(pd.DataFrame({"t": ["x", "y"], "n": ["q", "r"]}), [0, 1])
    with pytest.raises(ValueError, match=r"feature names should match"):
        clf.partial_fit(pd.DataFrame({"t": ["x"], "other": [1.0]}), [0])
    assert clf.network_ is before  # what fails leaves the classifier as it was
    assert clf.sufficient_statistics_.n_samples == 2


def test_identifiers_are_found_while_they_come():
    rows = pd.DataFrame({"id": [f"person {k}" for k in range(120)], "a": ["x", "y"] * 60})
    clf = BayesNetClassifier("tan", "map").partial_fit(rows[:40], [0, 1] * 20)
    with pytest.raises(
        ValueError,
        match=r"column 'id' looks like free text or an identifier: 80 distinct strings in 80",
    ):
        clf.partial_fit(rows[40:80], [0, 1] * 20)
    listed = BayesNetClassifier("tan", "map", categorical=["id"]).partial_fit(
        rows[:40], [0, 1] * 20
    )
    with pytest.warns(
        UserWarning, match=r"more cells than rows \(120\) .* of 'id', with up to 120 values"
    ):
        assert listed.partial_fit(rows[40:], [0, 1] * 40).network_.domain.cards.tolist() == [120, 2]


def test_counts_have_a_limit(monkeypatch):
    X, y = table_of(np.random.default_rng(1), 60, gaps=0.0)
    clf = BayesNetClassifier("tan", "map").partial_fit(X[:50], y[:50])
    monkeypatch.setattr(
        sufficient_statistics, "MAX_CELLS", int(clf.sufficient_statistics_.pairs.cells.size)
    )
    more = X[:2].assign(b=["new", "newer"])
    with pytest.raises(
        ValueError, match=r"the counts to keep would have [\d,]+ cells, above .* 'b' \(6\).*'nb'"
    ):
        clf.partial_fit(more, y[:2])
    monkeypatch.setattr(sufficient_statistics, "MAX_CELLS", 5)
    with pytest.raises(ValueError, match="the counts to keep would have"):
        BayesNetClassifier(EDGES, "map").partial_fit(X, y)


# What needs more than counts


@pytest.mark.parametrize(
    "options, words",
    [
        ({}, r"parameters='auto' needs all rows at once: use parameters='map' or 'ml'"),
        ({"parameters": "cl"}, r"parameters='cl' needs all rows at once"),
        (
            {"parameters": MaximumAPosteriori(missing="em")},
            r"EM needs all rows at once: use missing='available'",
        ),
        (
            {"parameters": "map", "structure": "ghc"},
            r"structure='ghc' needs all rows .*structure=clf\.structure_",
        ),
        (
            {"parameters": "map", "structure": KDB(k=2)},
            r"KDB\(k=2\) needs all rows at once: use .*'kdb' with k=1",
        ),
        (
            {
                "parameters": "map",
                "structure": SpanningTree(score=ConditionalInformation(missing="em")),
            },
            r"EM needs all rows at once: use missing='available'",
        ),
        (
            {"parameters": "map", "calibrate": "isotonic"},
            r"calibrate='isotonic' needs held-out rows: use calibrate=None",
        ),
        ({"parameters": "mpa"}, r"parameters='mpa' is not known"),
    ],
    ids=str,
)
def test_other_learners_are_refused_by_name(options, words):
    clf = BayesNetClassifier(**options)
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(AttributeError, match=words):
        clf.partial_fit([["x"]], [0])
    with pytest.raises(ValueError, match=words):
        clf.merge(clf)


def test_a_score_of_ones_own_is_refused():
    class OwnWeights(ConditionalInformation):
        def weights(self, data, counts, n_jobs=None, skip=None):
            return super().weights(data, counts, n_jobs, skip)

    class OwnName(ConditionalInformation):
        pass

    class Declared(OwnWeights):
        counts_pairs_only = True

    with pytest.raises(AttributeError, match="has a score of your own, which may need rows"):
        BayesNetClassifier(SpanningTree(score=OwnWeights()), "map").partial_fit([["x"]], [0])
    for score in (OwnName(), Declared()):
        assert hasattr(BayesNetClassifier(SpanningTree(score=score), "map"), "partial_fit")
    assert not hasattr(BayesNetClassifier(OwnSearch(), "map"), "partial_fit")


class OwnSearch(SpanningTree):
    """A search of one's own may need more than the counts of the one that it changes."""

    def _search(self, run):
        super()._search(run)


def test_a_structure_found_on_some_rows_can_be_fixed():
    X, y = table_of(np.random.default_rng(2), 200)
    found = BayesNetClassifier(KDB(k=2), "map").fit(X[:100], y[:100]).structure_
    clf = in_parts(BayesNetClassifier(found, "map"), X, y, np.array_split(np.arange(200), 3))
    same(clf, by_rows(clf, X, y))
    assert isinstance(clf.structure_, Structure)
    assert max(len(group) for group in clf.structure_.parents) == 2


# Merging


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_merged_in_any_order_they_are_the_whole(structure):
    X, y = table_of(np.random.default_rng(11), 150)
    whole = by_rows(BayesNetClassifier(structure, "map"), X, y)
    place = BayesNetClassifier(structure, "map", domains=whole.network_.domain)
    places = [clone(place).fit(X[k::3], y[k::3]) for k in range(3)]
    before = [clf.network_ for clf in places]
    for a, b, c in permutations(places):
        merged = a.merge(b).merge(c)
        same(merged, whole)
        same(a.merge(b.merge(c)), whole)
        assert np.array_equal(merged.predict_proba(X), whole.predict_proba(X))
    assert [clf.network_ for clf in places] == before
    assert merged.feature_names_in_.tolist() == COLUMNS
    assert merged.score(X, y) == whole.score(X, y)
    merged.partial_fit(X, y)


@pytest.fixture(scope="module")
def adult(data_folder):
    data = load_dataset("adult")
    return data.X, np.asarray(data.y)


@pytest.mark.parametrize("structure", ["nb", "tan", "tan-fcll", "tan-acll", "kdb"])
def test_four_quarters_of_adult(structure, adult):
    X, y = adult
    whole = by_rows(BayesNetClassifier(structure, "map"), X, y)
    place = BayesNetClassifier(structure, "map", domains=whole.network_.domain)
    quarters = np.array_split(np.arange(len(X)), 4)
    one, two, three, four = (clone(place).partial_fit(X.iloc[rows], y[rows]) for rows in quarters)
    merged = one.merge(two).merge(three.merge(pickle.loads(pickle.dumps(four))))
    same(merged, whole)
    assert np.array_equal(merged.predict_proba(X), whole.predict_proba(X))
    assert merged.predict(X).tolist() == whole.predict(X).tolist()
    assert [step["score"] for step in merged.history_] == [step["score"] for step in whole.history_]


def test_different_domains_are_refused_by_the_first_column_that_differs():
    X, y = table_of(np.random.default_rng(4), 100, gaps=0.0)
    X["n"] = np.linspace(0, 1, 100)
    clf = BayesNetClassifier("tan", "map", discretizer="equal-frequency").fit(X, y)
    few = X.replace({"b": {"v0": "v1"}})

    def refused(other, words):
        with pytest.raises(ValueError, match=words):
            clf.merge(clone(clf).fit(other, y))

    refused(
        few,
        r"different domains: column 'b' has 'v0' here only\. Learn both with"
        r" domains=clf\.network_\.domain",
    )
    refused(X.rename(columns={"c": "e"}), r"column 2 is 'c' here and 'e' there")
    refused(X[["a", "b"]], r"there are 5 columns here and 2 there")
    refused(X.assign(n=X["n"] + 5), r"column 'n' has cut points 0\.\d+.* here and 5\.\d+.* there")
    refused(
        X.assign(n="x"),
        r"column 'n' is discretized into intervals here and a column of categories there",
    )
    one_class = clone(clf).fit(X[y != "p"], y[y != "p"])
    renamed = np.where(y == "p", "q", y)
    with pytest.raises(ValueError, match=r"the class has 'p' here only"):
        clf.merge(clone(clf).set_params(domains=None).fit(X, renamed))
    assert one_class.classes_.tolist() == ["n", "o"]
    with pytest.raises(
        ValueError, match=r"they are of all pairs of columns here and of single columns there"
    ):
        clf.merge(clone(clf).set_params(structure="nb").fit(X, y))
    with pytest.raises(TypeError, match="another BayesNetClassifier, not str"):
        clf.merge("model.json")


# A domain that is given


def test_a_given_domain_is_kept_by_fit_too():
    wine = load_dataset("wine")
    whole = BayesNetClassifier("tan", "map").fit(wine.X, wine.y)
    again = BayesNetClassifier(
        "tan", "map", domains=whole.network_.domain, discretizer="equal-frequency"
    )
    same(again.fit(wine.X, wine.y), whole)
    assert again.fit(wine.X[:90], wine.y[:90]).network_.domain == whole.network_.domain
    assert again.classes_.size == 3  # of which those rows have two
    with pytest.raises(ValueError, match="classes that were not declared: 'x'"):
        again.fit(wine.X[:3], ["x", "x", "x"])
    with pytest.raises(ValueError, match="expecting 13 features"):
        again.fit(wine.X.iloc[:, :5], wine.y)
    with pytest.raises(ValueError, match="are not those of the given domain"):
        clone(again).partial_fit(wine.X, wine.y, classes=[7, 8])


def test_a_domain_by_hand():
    size, colour = (
        Variable("size", "numeric", cuts=(2.0, 4.0)),
        Variable("colour", "categorical", ("red", "blue")),
    )
    domain = Domain((size, colour), Variable("sold", "categorical", ("no", "yes")))
    clf = BayesNetClassifier("nb", "map", domains=domain)
    X = pd.DataFrame({"size": [1.0, 3.0, 5.0], "colour": ["blue", "red", "blue"]})
    clf.partial_fit(X, ["yes", "yes", "yes"])
    assert clf.sufficient_statistics_.counts.feature(0).tolist() == [[0, 1], [0, 1], [0, 1]]
    assert clf.sufficient_statistics_.counts.feature(1).tolist() == [[0, 1], [0, 2]]
    assert clf.predict(X).tolist() == ["yes"] * 3
    with pytest.raises(
        ValueError, match=r"column 'colour' holds 'green', which is none of its known values"
    ):
        clf.fit(X.assign(colour="green"), ["yes", "yes", "no"])


def test_domains_of_another_kind_are_refused():
    with pytest.raises(
        TypeError, match="domains='a' must be a mapping of column names to values, or a Domain"
    ):
        BayesNetClassifier("nb", "map", domains="a").fit([["x"]], [0])


def test_a_given_domain_with_a_class_that_no_row_has_can_be_calibrated():
    X, y = table_of(np.random.default_rng(8), 300)
    learned = FrameEncoder().fit_transform(X, y).domain
    domain = Domain(learned.features, Variable("class", "categorical", ("n", "o", "p", "q")))
    clf = BayesNetClassifier("tan", domains=domain).fit(X, y)
    assert clf.calibration_ is not None
    assert clf.predict_proba(X).shape == (300, 4)
    assert clf.predict_proba(X)[:, 3].max() < 0.05


# scikit-learn, pickles, files


def test_learning_curves_by_parts():
    X, y = table_of(np.random.default_rng(12), 200)
    clf = BayesNetClassifier("tan", "map")
    options = {"train_sizes": [40, 100, 150], "cv": 4}
    _, _, by_parts = learning_curve(clf, X, y, exploit_incremental_learning=True, **options)
    _, _, anew = learning_curve(clf, X, y, **options)
    assert np.array_equal(by_parts, anew)


@pytest.mark.parametrize("structure", ["nb", "tan", EDGES], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_file_goes_on_where_it_was(structure, weighted, tmp_path):
    rng = np.random.default_rng(13)
    X, y = table_of(rng, 120)
    weight = rng.random(120) if weighted else np.ones(120)
    clf = BayesNetClassifier(
        structure, "map", domains={"d": [f"v{k}" for k in range(9)]}, missing="value"
    )
    clf.partial_fit(X[:60], y[:60], classes=list("nopq"), sample_weight=weight[:60])
    clf.save(tmp_path / "model.json")
    clf.save(tmp_path / "small.json", counts=False)
    again = discbayes.load(tmp_path / "model.json")
    copies = [clf, again, pickle.loads(pickle.dumps(again))]
    for one in copies:
        one.partial_fit(X[60:], y[60:], sample_weight=weight[60:])
    for one in copies[1:]:
        same(one, clf)
        same(one.merge(clf), clf.merge(one))
    with pytest.raises(ValueError, match="classes that were not declared: 'z'"):
        again.partial_fit(X[:1], ["z"])
    small = discbayes.load(tmp_path / "small.json")
    assert (tmp_path / "small.json").stat().st_size < (tmp_path / "model.json").stat().st_size
    with pytest.raises(ValueError, match="has no counts that others could be added to"):
        small.partial_fit(X, y)


def test_a_file_holds_a_given_domain(tmp_path):
    wine = load_dataset("wine")
    domain = BayesNetClassifier("nb", "map").fit(wine.X, wine.y).network_.domain
    clf = BayesNetClassifier("tan", "map", domains=domain).fit(wine.X[:100], wine.y[:100])
    clf.save(tmp_path / "model.json")
    again = discbayes.load(tmp_path / "model.json")
    assert again.domains == domain
    same(
        again.partial_fit(wine.X[100:], wine.y[100:]),
        BayesNetClassifier("tan", "map").fit(wine.X, wine.y),
    )


@pytest.mark.parametrize(
    "field, value, words",
    [
        (
            "rows",
            {"dtype": "<i8", "shape": [1], "data": "AQAAAAAAAAA="},
            "must be the rows of each of 3 classes",
        ),
        (
            "pairs",
            {"dtype": "|u1", "shape": [1], "data": "AQ=="},
            "tallies.pairs has 1 cells where the domain has",
        ),
        (
            "class_count",
            {"dtype": "<f8", "shape": [3], "data": "AAAAAAAA+H8AAAAAAAAAAAAAAAAAAAAA"},
            "not counts",
        ),
        ("weighted", 1, "tallies.weighted must be true or false"),
        (
            "families",
            {"structure": {"parents": [[]], "class_children": [True]}, "cells": None},
            "has 1 features",
        ),
    ],
)
def test_false_counts_in_a_file_are_refused(field, value, words, tmp_path):
    X, y = table_of(np.random.default_rng(14), 50)
    path = tmp_path / "model.json"
    BayesNetClassifier("tan", "map").fit(X, y).save(path)
    model = json.loads(path.read_text())["model"]
    model["tallies"][field] = value
    path.write_bytes(seal(model))
    with pytest.raises(ModelFileError, match=words):
        discbayes.load(path)


def test_tallies_of_blocks_are_those_of_the_table():
    X, y = table_of(np.random.default_rng(15), 100)
    for weight in (None, np.arange(100) % 4 + 1.0):
        data = FrameEncoder().fit_transform(X, y, weight)
        one, two = (
            SufficientStatistics.of_pairs(data),
            SufficientStatistics.of_pairs(RowBlocks(RowsInMemory(data, size=16))),
        )
        assert np.array_equal(one.pairs.cells, two.pairs.cells)
        assert one.rows.tolist() == two.rows.tolist()
        assert one.weighted == two.weighted

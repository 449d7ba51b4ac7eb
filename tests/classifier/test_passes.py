"""Classifiers that learn from and predict rows in files, iterators and Dask collections: the same
as from a table.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import discbayes
from discbayes import BayesNetClassifier, load_dataset
from discbayes.classifier.fitting import supports_blocks
from discbayes.data.row_blocks import RowBlocks
from discbayes.parameters import PARAMETERS, MaximumAPosteriori, WeightedCCBN
from discbayes.search import KDB, STRUCTURES, FixedStructure, MarkovBlanketClimb, SpanningTree
from discbayes.streams import batches as stream_limits
from discbayes.streams.batches import bytes_of
from shop import FEATURES, OwnParameters, assert_same, make_frame, parts_of, write_parts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")


@pytest.fixture(scope="module")
def frame():
    return make_frame(150_000)


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    parts = parts_of(frame, [30_001, 65_536, 17, 54_000, 446])
    return write_parts(parts, tmp_path_factory.mktemp("rows") / "five")


# ---- learning


@pytest.mark.parametrize(
    "settings",
    [
        {"structure": "tan", "parameters": "map"},
        {"structure": "tan-fcll", "parameters": "ml", "weights": True},
        {"structure": KDB(k=2), "parameters": "map", "class_weight": "balanced"},
        {"structure": "nb", "parameters": "map", "missing": "drop", "n_jobs": 2, "weights": True},
        {"structure": KDB(k=2), "parameters": "map", "discretizer": "two-resolution"},
        {"parameters": "map", "discretizer": "two-resolution", "weights": True, "missing": "value"},
    ],
    ids=["tan", "weighted fcll", "balanced kdb", "nb", "two resolutions", "weighted two"],
)
def test_the_same_bits_from_every_source(frame, folder, settings):
    settings = dict(settings)
    weight = "w" if settings.pop("weights", False) else None
    names = FEATURES if weight else [*FEATURES, "w"]
    clf = BayesNetClassifier(**settings)
    expected = clone(clf).fit(frame[names], frame["bought"], None if weight is None else frame["w"])
    parts = parts_of(frame, [70_000, 1, 79_999])
    for source in (folder, sorted(folder.iterdir()), ds.dataset(folder), iter(parts)):
        found = clone(clf).fit(source, "bought", weight)
        assert_same(found, expected)
        assert found.feature_names_in_.tolist() == names
    pairs = [(part[names], part["bought"], *([part["w"]] if weight else [])) for part in parts]
    assert_same(clone(clf).fit(iter(pairs)), expected)


def test_the_same_bits_from_dask(frame):
    dd = pytest.importorskip("dask.dataframe")
    clf = BayesNetClassifier("tan", "map")
    rows = dd.from_pandas(frame.drop(columns="w"), npartitions=3)
    expected = clone(clf).fit(frame[FEATURES], frame["bought"])
    found = clone(clf).fit(rows, "bought")
    assert_same(found, expected)
    assert found.predict(rows).tolist() == expected.predict(frame[FEATURES]).tolist()


@pytest.mark.parametrize("memory", [None, "16MiB"])
def test_gradients_over_blocks(frame, folder, memory):
    clf = BayesNetClassifier(
        "nb", WeightedCCBN(max_iter=3), memory=memory, domains={"town": ["A", "B", "C", "D"]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three iterations are few
        expected = clone(clf).fit(frame[[*FEATURES, "w"]], frame["bought"])
        assert_same(clone(clf).fit(folder, "bought"), expected)


@pytest.mark.parametrize("name", sorted({*STRUCTURES} - {"anneal"}))
def test_structures_by_name(name, small_blocks):
    check_on_small_blocks(BayesNetClassifier(name, "map", random_state=0))


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_all_parameters(name, small_blocks):
    check_on_small_blocks(BayesNetClassifier("tan", name, calibrate=None, class_weight="balanced"))


@pytest.mark.parametrize("name", ["tan-fcll", "tan-acll", "kdb"])
@pytest.mark.parametrize("parameters", ["map", "hybrid"])
def test_two_resolutions(name, parameters, small_blocks):
    check_on_small_blocks(
        BayesNetClassifier(name, parameters, discretizer="two-resolution", random_state=0)
    )


def check_on_small_blocks(clf):
    frame = make_frame(1200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clone(clf).fit(frame[FEATURES], frame["bought"])
        found = clone(clf).fit(iter(parts_of(frame.drop(columns="w"), [500, 700])), "bought")
    assert_same(found, expected)
    assert len(found.history_) == len(expected.history_)


def test_real_data(data_folder, tmp_path):
    adult = load_dataset("adult")
    table = adult.X.assign(**{"class": adult.y})
    folder = write_parts(
        parts_of(table, [20_000, 10_000, 10_000, 8_000, len(table) - 48_000]), tmp_path / "adult"
    )
    clf = BayesNetClassifier("tan", "map")
    expected = clone(clf).fit(adult.X, adult.y)
    found = clone(clf).fit(folder, "class")
    assert_same(found, expected)
    assert found.predict_proba(folder).tobytes() == expected.predict_proba(adult.X).tobytes()


def test_a_fit_from_files_goes_on_with_more_rows(tmp_path):
    frame = make_frame(2000)
    some, rest = frame[:1500], frame[1500:]
    folder = write_parts(parts_of(some.drop(columns="w"), [1000, 500]), tmp_path / "some")
    clf = (
        BayesNetClassifier("tan", "map")
        .fit(folder, "bought")
        .partial_fit(rest[FEATURES], rest["bought"])
    )
    domains = clf.network_.domain
    expected = BayesNetClassifier("tan", "map", domains=domains).fit(
        frame[FEATURES], frame["bought"]
    )
    assert_same(clf, expected)


def test_arrays_have_no_names():
    frame = make_frame(600)
    X, y = frame[["size", "age"]].to_numpy(), frame["bought"].to_numpy()
    clf = BayesNetClassifier("tan", "map").fit(frame[["size", "age"]], y)
    found = clf.fit(iter([(X[:100], y[:100]), (X[100:], y[100:])]))
    assert_same(found, BayesNetClassifier("tan", "map").fit(X, y))
    assert not hasattr(found, "feature_names_in_")
    assert found.predict_proba(iter([X[:7], X[7:]])).tobytes() == found.predict_proba(X).tobytes()
    with pytest.raises(ValueError, match="X has 1 features"):
        found.predict(iter([X[:, :1]]))


def test_temporary_files_are_gone(tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    frame = make_frame(500)
    BayesNetClassifier("nb", "map").fit(iter([frame]), "bought")
    with pytest.raises(ValueError, match="class_weight"):
        BayesNetClassifier("nb", "map", class_weight={"no": -1.0}).fit(iter([frame]), "bought")
    assert not list(place.iterdir())


def test_one_class_is_said(tmp_path):
    frame = make_frame(300)
    with pytest.warns(UserWarning, match="y has one class only, 'no'"):
        clf = BayesNetClassifier("nb", "map").fit(iter([frame.assign(bought="no")]), "bought")
    assert set(clf.predict(iter([frame]))) == {"no"}


# ---- what cannot be


def test_learners_that_need_all_rows(small_blocks, monkeypatch):
    frame = make_frame(1400).drop(columns="w")
    clf = BayesNetClassifier("nb", OwnParameters())
    assert_same(
        clone(clf).fit(iter([frame]), "bought"), clone(clf).fit(frame[FEATURES], frame["bought"])
    )
    monkeypatch.setattr(stream_limits, "_MIN_MEMORY", 1000)
    with pytest.raises(
        ValueError, match=r"OwnParameters needs all rows in memory: .* 7,000 bytes.*Raise the limit"
    ):
        clone(clf).set_params(memory=5000).fit(iter([frame]), "bought")
    with pytest.raises(
        ValueError, match=r"MaximumAPosteriori.missing=\"em\". needs all rows in memory"
    ):
        BayesNetClassifier("nb", MaximumAPosteriori(missing="em"), memory=5000).fit(
            iter([frame]), "bought"
        )
    assert (
        BayesNetClassifier(SpanningTree(), "map", memory=5000)
        .fit(iter([frame]), "bought")
        .structure_.n_edges
        == 4
    )


def assert_same_network(found, expected):
    """The same bits; counts to go on from are kept for the classes of the library alone."""
    assert found.network_.domain == expected.network_.domain
    assert found.structure_ == expected.structure_
    assert (
        found.network_.parameters.log_theta.tobytes()
        == expected.network_.parameters.log_theta.tobytes()
    )


class PlainTree(SpanningTree):
    """A learner of the library under another name, in another module."""


class ReadingTree(SpanningTree):
    """One that looks at rows, which blocks do not have."""

    def learn(self, data, counts, context):
        assert data.codes.shape == (data.n_features, data.n_samples)
        return super().learn(data, counts, context)


class DeclaredTree(ReadingTree):
    """One that says that it needs no more than blocks."""

    supports_blocks = True

    def learn(self, data, counts, context):
        assert isinstance(data, RowBlocks)
        return SpanningTree.learn(self, data, counts, context)


def test_a_subclass_learns_from_blocks_unless_it_has_its_own_way(small_blocks, monkeypatch):
    """Where a class was defined decided that, so that a subclass had to have all rows in memory."""
    frame = make_frame(1400).drop(columns="w")
    expected = BayesNetClassifier("tan", "map").fit(frame[FEATURES], frame["bought"])
    monkeypatch.setattr(stream_limits, "_MIN_MEMORY", 1000)
    for tree in (PlainTree(), DeclaredTree()):
        clf = BayesNetClassifier(tree, "map", memory=5000).fit(iter([frame]), "bought")
        assert_same_network(clf, expected)
    assert_same_network(
        BayesNetClassifier(ReadingTree(), "map").fit(iter([frame]), "bought"), expected
    )
    with pytest.raises(ValueError, match="ReadingTree needs all rows in memory"):
        BayesNetClassifier(ReadingTree(), "map", memory=5000).fit(iter([frame]), "bought")


@pytest.mark.parametrize(
    "learner", [*STRUCTURES.values(), *PARAMETERS.values(), lambda: FixedStructure([])]
)
def test_all_learners_of_the_library_support_blocks(learner):
    """But for the search in which the class is a node: it counts it as a column of the rows."""
    assert supports_blocks(learner()) == (learner is not MarkovBlanketClimb)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("much", "such as"),
        ("2 XB", "such as"),
        (True, "such as"),
        (1.5, "such as"),
        ("1MB", "at least"),
        (-1, "at least"),
    ],
)
def test_false_memory(memory, message):
    with pytest.raises(ValueError, match=f"memory is .*{message}"):
        BayesNetClassifier("nb", "map", memory=memory).fit(iter([make_frame(50)]), "bought")


def test_memory_in_words():
    assert bytes_of("2GB") == 2_000_000_000
    assert bytes_of(" 0.5 gib ") == 1 << 29
    assert bytes_of(np.int64(1 << 25)) == 1 << 25


def test_false_sources(tmp_path):
    clf = BayesNetClassifier("nb", "map")
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder .*nowhere\.parquet"):
        clf.fit(tmp_path / "nowhere.parquet", "bought")
    with pytest.raises(
        ValueError, match=r"there is no column 'Bought' .the target.; the columns are 'bought'"
    ):
        clf.fit(iter([make_frame(50)]), "Bought")
    with pytest.raises(ValueError, match=r"there are no classes: name the column of the target"):
        clf.fit(iter([make_frame(50)]))
    with pytest.raises(TypeError, match="structure=3"):
        BayesNetClassifier(3, "map").fit(iter([make_frame(50)]), "bought")
    assert not hasattr(clf, "network_")


# ---- predicting


@pytest.fixture(scope="module")
def model(frame):
    return BayesNetClassifier("tan", "map").fit(frame[FEATURES], frame["bought"])


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]
)
def test_predicting_files(frame, folder, model, method):
    expected = getattr(model, method)(frame[FEATURES])
    found = getattr(model, method)(folder)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
    several = list(model.predict_batches(sorted(folder.iterdir()), method))
    assert len(several) >= 5
    assert np.array_equal(np.concatenate(several), expected)


def test_predicting_with_options(frame, model):
    some, prior = frame[:3000], [0.2, 0.2, 0.6]
    parts = parts_of(some, [1000, 2000])
    costs = {"yes": {"no": 5.0}, "no": {"yes": 1.0, "maybe": 1.0}}
    assert np.array_equal(
        model.predict_proba(iter(parts), prior), model.predict_proba(some[FEATURES], prior)
    )
    assert np.array_equal(
        model.predict(iter(parts), costs=costs), model.predict(some[FEATURES], costs=costs)
    )
    expected = model.expected_costs(some[FEATURES], costs)
    assert np.array_equal(model.expected_costs(iter(parts), costs), expected)
    batches = model.predict_batches(iter(parts), "expected_costs", costs=costs)
    assert np.array_equal(np.concatenate(list(batches)), expected)


def test_batches_come_one_by_one(frame, model):
    read = []

    def batches():
        for start in range(0, 3000, 1000):
            read.append(start)
            yield frame[start : start + 1000]

    answers = model.predict_batches(batches())
    assert next(answers).shape == (1000,)
    assert read == [0]


def test_predicting_csv_files(tmp_path):
    frame = make_frame(2000)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    clf = BayesNetClassifier("tan", "map").fit(tmp_path / "rows.csv", "bought")
    expected = BayesNetClassifier("tan", "map").fit(frame[[*FEATURES, "w"]], frame["bought"])
    assert_same(clf, expected)
    assert np.array_equal(
        clf.predict_proba(str(tmp_path / "rows.csv")),
        expected.predict_proba(frame[[*FEATURES, "w"]]),
    )


def test_what_cannot_be_predicted(frame, folder, model):
    with pytest.raises(NotFittedError):
        BayesNetClassifier().predict(folder)
    with pytest.raises(NotFittedError):
        BayesNetClassifier().predict_batches(folder)
    with pytest.raises(ValueError, match="method='score' is none of 'predict'"):
        model.predict_batches(folder, "score")
    with pytest.raises(
        ValueError, match="there is no column 'town', which the model was learned from"
    ):
        model.predict(iter([frame.drop(columns="town")]))
    with pytest.raises(ValueError, match=r"holds 'lilac'.*unknown="):
        strict_model().predict(iter([frame[:5].assign(colour="lilac")]))


def strict_model():
    strict = BayesNetClassifier("tan", "map", unknown="error")
    rows = make_frame(300)
    return strict.fit(rows[FEATURES], rows["bought"])


def test_model_files_know_the_setting(tmp_path):
    frame = make_frame(300)
    clf = BayesNetClassifier("nb", "map", memory="100MB").fit(iter([frame]), "bought")
    clf.save(tmp_path / "model.json")
    again = discbayes.load(tmp_path / "model.json")
    assert again.memory == "100MB"
    assert np.array_equal(again.predict_proba(iter([frame])), clf.predict_proba(iter([frame])))


def test_a_given_structure(small_blocks):
    frame = make_frame(1400).drop(columns="w")
    clf = BayesNetClassifier(FixedStructure([("age", "old"), ("bought", "age")]), "ml")
    assert_same(
        clone(clf).fit(iter([frame]), "bought"), clone(clf).fit(frame[FEATURES], frame["bought"])
    )

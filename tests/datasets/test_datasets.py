"""Made sets against files and rules, files against their manifest, and which source is chosen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from discbayes import datasets
from discbayes.data import frames
from discbayes.datasets import generators, list_datasets, load_dataset, manifest, rules
from discbayes.datasets.embedded import EMBEDDED
from discbayes.datasets.trees import random_trees

DATA = Path(os.environ.get("DISCBAYES_DATA") or "no folder")
HAS_DATA = (DATA / manifest.MANIFEST).is_file()
MANIFEST = json.loads((DATA / manifest.MANIFEST).read_text(encoding="utf-8")) if HAS_DATA else []

needs_data = pytest.mark.skipif(not HAS_DATA, reason="DISCBAYES_DATA names no folder of data files")


pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture
def data_files(monkeypatch):
    monkeypatch.setenv("DISCBAYES_DATA", str(DATA))


def rows_of(data):
    return [(*row, label) for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True)]


# The public names


def test_all_is_sorted_and_complete():
    assert datasets.__all__ == sorted(datasets.__all__)
    assert all(hasattr(datasets, name) for name in datasets.__all__)


def test_import_brings_no_frame_library():
    heavy = "{'pandas', 'polars', 'pyarrow', 'matplotlib'}"
    code = (
        # which has pandas
        "import sys, sklearn.base; before = set(sys.modules); import discbayes.datasets; "
        f"print(sorted({heavy} & (set(sys.modules) - before)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


# Made data sets


@pytest.mark.parametrize("name", sorted(EMBEDDED))
def test_embedded_set_is_as_listed(name):
    info, data = EMBEDDED[name].info, load_dataset(name, as_frame=False)
    assert data.X.shape == (info.n_rows, info.n_features) == (data.n_rows, data.n_features)
    assert len(data.classes) == info.n_classes
    assert data.y.dtype.kind == "U"
    assert data.source == "embedded"
    assert data.description
    if info.split is None:
        assert data.split is None
    else:
        assert (len(data.y_train), len(data.y_test)) == info.split


@needs_data
@pytest.mark.parametrize("name", ["corral", "balance-scale"])
def test_rule_reproduces_the_file_row_by_row(name, data_files):
    made, read = (
        load_dataset(name, source=source, as_frame=False) for source in ("embedded", "files")
    )
    assert made.feature_names == read.feature_names
    assert made.categorical == read.categorical
    assert rows_of(made) == rows_of(read)


@needs_data
def test_mofn_test_part_equals_the_file(data_files):
    made, read = (
        load_dataset("mofn-3-7-10", source=source, as_frame=False)
        for source in ("embedded", "files")
    )
    assert made.feature_names == read.feature_names
    pairs = [sorted(map(str, np.column_stack([d.X_test, d.y_test]).tolist())) for d in (made, read)]
    assert pairs[0] == pairs[1]


@needs_data
def test_wine_equals_the_file_but_for_class_names(data_files):
    made, read = (
        load_dataset("wine", source=source, as_frame=False) for source in ("embedded", "files")
    )
    np.testing.assert_array_equal(made.X, read.X)
    assert [f"class_{int(label) - 1}" for label in read.y] == made.y.tolist()


@needs_data
def test_iris_differs_from_the_file_in_the_three_known_cells(data_files):
    made, read = (
        load_dataset("iris", source=source, as_frame=False) for source in ("embedded", "files")
    )
    assert np.argwhere(made.X != read.X).tolist() == [[34, 3], [37, 1], [37, 2]]
    assert [f"Iris-{label}" for label in made.y] == read.y.tolist()


def test_corral_correlates_in_three_rows_of_four():
    data = load_dataset("corral", as_frame=False)
    assert (data.X[:, 5] == data.y).mean() == 0.75


def test_monks_have_the_published_class_counts():
    positives = [Counter(load_dataset(f"monks-{n}").y.tolist())["1"] for n in (1, 2, 3)]
    assert positives == [216, 142, 228]


def _line_of(board: str, player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in rules._LINES)


def _final_boards() -> dict[str, str]:
    """Play every game of tic-tac-toe to its end."""

    @cache
    def play(board: str, player: str) -> frozenset[tuple[str, str]]:
        other = "o" if player == "x" else "x"
        if _line_of(board, other) or "b" not in board:
            return frozenset({(board, "positive" if _line_of(board, "x") else "negative")})
        moves = (board[:at] + player + board[at + 1 :] for at in range(9) if board[at] == "b")
        return frozenset().union(*(play(move, other) for move in moves))

    return dict(play("b" * 9, "x"))


def test_tic_tac_toe_equals_playing_all_games():
    data = load_dataset("tic-tac-toe", as_frame=False)
    made = {"".join(row): label for row, label in zip(data.X, data.y.tolist(), strict=True)}
    assert made == _final_boards()
    assert Counter(made.values()) == {"positive": 626, "negative": 332}
    assert len(made) == data.n_rows


# Generators


def family(joint: np.ndarray, child: int, parents: tuple[int, ...]) -> np.ndarray:
    """P(child | class, parents) in a shape that multiplies with the joint."""
    kept = {0, child, *parents}
    table = joint.sum(
        axis=tuple(axis for axis in range(joint.ndim) if axis not in kept), keepdims=True
    )
    return table / table.sum(axis=child, keepdims=True)


def population_accuracy(parents: dict[int, tuple[int, ...]]) -> float:
    """The accuracy, in percent, of the network whose tables are exact; ties share what they get."""
    joint = generators.three_feature_joint()
    model = joint.sum(axis=(1, 2, 3), keepdims=True)
    for child in (1, 2, 3):
        model = model * family(joint, child, parents.get(child, ()))
    chosen = np.isclose(model, model.max(axis=0), rtol=1e-9)
    return 100 * float((joint * chosen / chosen.sum(axis=0)).sum())


@pytest.mark.parametrize(
    "parents, percent",
    [
        ({}, 50.0),
        ({2: (1,), 3: (2,)}, 57.5),
        ({3: (1,)}, 65.0),
        ({2: (1,), 3: (1,)}, 65.0),
        ({3: (1,), 2: (3,)}, 61.25),
    ],
    ids=["nb", "x1-x2-x3", "x1-x3", "x2-x1-x3", "x1-x3-x2"],
)
def test_population_accuracies_of_the_three_feature_example(parents, percent):
    assert population_accuracy(parents) == pytest.approx(percent)


def test_three_feature_joint_is_the_distribution_of_the_paper():
    joint = generators.three_feature_joint()
    for c, x1, x2, x3 in product((0, 1), repeat=4):
        follows = x1 if c == 0 else 1 - x1
        p_x2 = 0.5 * (x2 == x1) + 0.25
        p_x3 = 0.3 * (x3 == follows) + 0.5 * (x3 == x2) + 0.1
        assert joint[c, x1, x2, x3] == pytest.approx(0.5 * 0.5 * p_x2 * p_x3)


def frequencies(X: np.ndarray, y: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    cells = np.ravel_multi_index((y, *X.T), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / len(y)


def test_three_feature_draw_follows_the_joint():
    X, y = datasets.make_three_feature(200_000, random_state=0)
    joint = generators.three_feature_joint()
    np.testing.assert_allclose(frequencies(X, y, joint.shape), joint, atol=0.004)


def test_random_distribution_follows_its_joint():
    rng = np.random.default_rng(5)
    joint = generators.random_joint(4, 3, rng)
    X, y = datasets.make_random_distribution(100_000, n_features=4, n_classes=3, random_state=5)
    assert joint.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(frequencies(X, y, joint.shape), joint, atol=0.006)


def test_random_trees_have_the_portions_of_the_paper():
    _, y = datasets.make_random_tree(75_000, n_features=5, random_state=0)
    assert np.bincount(y).tolist() == [25_000, 12_500, 12_500, 12_500, 12_500]


def test_random_trees_log_joint_is_the_distribution_that_is_sampled():
    truth = random_trees(3, n_classes=3, n_values=2, random_state=2)
    every = rules.combinations(2, 2, 2)
    joint = np.exp(truth.log_joint(every)).T.reshape(3, 2, 2, 2)
    X, y = truth.sample(200_000, random_state=3)
    assert joint.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(frequencies(X, y, joint.shape), joint, atol=0.004)


def test_random_trees_of_one_feature_and_of_one_value():
    for size in ({"n_features": 1}, {"n_values": 1}):
        X, y = datasets.make_random_tree(90, **size, random_state=0)
        assert len(X) == len(y) == 90


def test_random_tree_is_a_tree():
    tree = random_trees(12, random_state=0).trees[3]
    position = np.argsort(tree.order)
    later = tree.order[1:]
    assert (position[tree.parents[later]] < position[later]).all()
    np.testing.assert_allclose(tree.tables.sum(axis=2), 1.0)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_conditioned_logistic_follows_its_formula(alpha):
    X, y = datasets.make_conditioned_logistic(200_000, alpha=alpha, random_state=1)
    for x in product((0, 1), repeat=3):
        here = (x == X).all(axis=1)
        expected = 1 / (1 + np.exp(-(10**alpha * x[0] + x[1] + 10**-alpha * x[2])))
        assert here.mean() == pytest.approx(1 / 8, abs=0.005)
        assert y[here].mean() == pytest.approx(expected, abs=0.015)


def test_led_bayes_rate_is_74_percent():
    every = rules.combinations(*[2] * 7)
    wrong = (every[:, None] != generators.LED_PATTERNS).sum(axis=2)
    assert (0.1**wrong * 0.9 ** (7 - wrong)).max(axis=1).sum() / 10 == pytest.approx(
        0.74, abs=0.001
    )


def test_led_noise_and_irrelevant_features():
    X, y = datasets.make_led(50_000, n_irrelevant=17, random_state=0)
    assert X.shape == (50_000, 24)
    flipped = (X[:, :7] != generators.LED_PATTERNS[y]).mean(axis=0)
    np.testing.assert_allclose(flipped, 0.1, atol=0.01)
    np.testing.assert_allclose(X[:, 7:].mean(axis=0), 0.5, atol=0.02)


@needs_data
def test_waveform_resembles_the_uci_sample(data_files):
    read = load_dataset("waveform-21", as_frame=False)
    X, y = datasets.make_waveform(20_000, random_state=0)
    for label in range(3):
        theirs, ours = read.X[read.y == str(label)], X[y == label]
        np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.2)
        np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), atol=0.2)


MAKERS = {
    "three_feature": datasets.make_three_feature,
    "random_tree": datasets.make_random_tree,
    "random_distribution": datasets.make_random_distribution,
    "conditioned_logistic": datasets.make_conditioned_logistic,
    "led": datasets.make_led,
    "waveform": datasets.make_waveform,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_generators_repeat_with_the_seed(make):
    first, same, other = (make(60, random_state=seed) for seed in (3, np.random.default_rng(3), 4))
    for left, right in zip(first, same, strict=True):
        np.testing.assert_array_equal(left, right)
    assert any((left != right).any() for left, right in zip(first, other, strict=True))
    assert len(first[0]) == len(first[1]) == 60


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_generators_refuse_no_rows(make):
    with pytest.raises(ValueError, match="n_samples == 0, must be >= 1"):
        make(0)
    with pytest.raises(TypeError):
        make(2.5)


def test_generators_refuse_impossible_settings():
    with pytest.raises(ValueError, match="probability"):
        datasets.make_led(noise=1.5)
    with pytest.raises(ValueError, match="n_classes == 1, must be >= 2"):
        datasets.make_random_tree(n_classes=1)
    with pytest.raises(ValueError, match="n_samples == 1, must be >= 2"):
        load_dataset("random-tree", n_samples=1)


# Files


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("entry", MANIFEST, ids=[entry["name"] for entry in MANIFEST])
def test_file_is_as_its_manifest_says(entry, data_files):
    pytest.importorskip("pyarrow")
    data = load_dataset(entry["name"], source="files", as_frame="pyarrow")
    assert data.X.shape == (entry["n_rows"], entry["n_features"])
    assert sorted(data.feature_names) == sorted(
        entry["numeric_features"] + entry["categorical_features"]
    )
    assert set(data.categorical) == set(entry["categorical_features"])
    assert sum(column.null_count for column in data.X.columns) == entry["missing_cells"]
    assert Counter(data.y.tolist()) == entry["class_counts"]
    if entry["split"] == "cv5":
        assert data.split is None
    else:
        assert data.X_train.num_rows == len(data.y_train) == entry["split"]["train"]
        assert data.X_test.num_rows == len(data.y_test) == entry["split"]["test"]


@needs_data
def test_alias_is_the_same_data(data_files):
    alias, original = load_dataset("pima", as_frame=False), load_dataset("diabetes", as_frame=False)
    np.testing.assert_array_equal(alias.X, original.X)
    assert alias.name == "pima"


@needs_data
def test_categories_stay_text_and_numbers_are_floats(data_files):
    data = load_dataset("cleve", as_frame=False)
    ca, age = (data.X[:, data.feature_names.index(name)] for name in ("ca", "age"))
    assert {value for value in ca if value is not None} == {"0", "1", "2", "3"}
    assert sum(value is None for value in ca) == 5
    assert all(isinstance(value, float) for value in age)


@needs_data
def test_made_set_comes_before_the_file(data_files):
    assert load_dataset("corral").source == "embedded"
    assert load_dataset("corral", source="files").source == "files"
    assert load_dataset("waveform-21").source == "files"


MIXED = "size,colour,kind\n1.5,red,a\n,?,b\n?,,a\n3,0,b\n"


def write_folder(folder: Path, text: str = MIXED, **changes) -> Path:
    import gzip

    folder.mkdir(exist_ok=True)
    (folder / "mixed.csv.gz").write_bytes(gzip.compress(text.encode()))
    entry = {
        "name": "Mixed_Set",
        "file": "mixed.csv.gz",
        "n_rows": 4,
        "n_features": 2,
        "n_classes": 2,
        "numeric_features": ["size"],
        "categorical_features": ["colour"],
        "split": {"train": 3, "test": 1},
        "note": "Made for a test.",
    }
    entries = [entry | changes, {"name": "other", "alias_of": "mixed-set", "split": "cv5"}]
    (folder / manifest.MANIFEST).write_text(json.dumps(entries))
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCBAYES_DATA", str(tmp_path / "data"))
    return write_folder(tmp_path / "data")


@pytest.mark.parametrize("name", ["mixed-set", "MIXED_SET", " Mixed-Set "])
def test_names_ignore_case_and_underscores(folder, name):
    assert load_dataset(name).name == "mixed-set"


def test_alias_takes_what_it_does_not_state(folder):
    data = load_dataset("other")
    assert data.n_rows == 4
    assert data.split is None
    assert "Made for a test." in data.description


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_same(folder, library):
    pytest.importorskip(library)
    import narwhals as nw

    data = load_dataset("mixed-set", as_frame=library)
    frame = nw.from_native(data.X, eager_only=True)
    assert type(data.X).__module__.split(".")[0] == library
    assert frame.columns == data.feature_names == ["size", "colour"]
    assert frame["size"].is_null().to_list() == [False, True, True, False]
    assert frame["colour"].is_null().to_list() == [False, True, True, False]
    assert frame["colour"].drop_nulls().to_list() == ["red", "0"]
    assert frame["size"].drop_nulls().to_list() == [1.5, 3.0]
    assert data.target == "kind"
    parts = [nw.from_native(part, eager_only=True) for part in (data.X_train, data.X_test)]
    assert [len(part) for part in parts] == [3, 1]
    assert parts[1]["colour"].to_list() == ["0"]


def test_mixed_array_marks_gaps_with_none(folder):
    data = load_dataset("mixed-set", as_frame=False)
    assert data.X.tolist() == [[1.5, "red"], [None, None], [None, None], [3.0, "0"]]
    assert data.X_test.tolist() == [[3.0, "0"]]
    assert data.y_test.tolist() == ["b"]


def test_numeric_array_marks_gaps_with_nan():
    X = frames.to_array({"a": np.array([1.0, np.nan]), "b": np.array([2.0, 3.0])})
    assert X.dtype == np.float64
    assert np.isnan(X).tolist() == [[False, False], [True, False]]


def test_without_frame_libraries(folder, monkeypatch):
    monkeypatch.setattr(frames, "is_installed", lambda name: False)
    assert isinstance(load_dataset("mixed-set").X, np.ndarray)
    with pytest.raises(ImportError, match="as_frame=True needs one of pandas, polars, pyarrow"):
        load_dataset("mixed-set", as_frame=True)
    with pytest.raises(ImportError, match="needs polars"):
        load_dataset("mixed-set", as_frame="polars")


def test_auto_prefers_pandas_then_polars_then_pyarrow(folder, monkeypatch):
    pytest.importorskip("polars")
    monkeypatch.setattr(frames, "is_installed", lambda name: name != "pandas")
    assert type(load_dataset("mixed-set").X).__module__.startswith("polars")


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"n_rows": 5, "split": "cv5"}, "has 4 rows, its manifest states 5"),
        ({"split": {"train": 3, "test": 3}}, "does not add up"),
        (
            {"numeric_features": ["size", "colour"], "categorical_features": []},
            "'colour' should hold numbers",
        ),
        ({"numeric_features": ["weight"]}, "header of mixed.csv.gz does not fit"),
        ({"file": "../mixed.csv.gz"}, "in the same folder"),
        ({"file": "mixed.pkl"}, "in the same folder"),
    ],
)
def test_manifest_and_file_must_agree(folder, changes, message):
    write_folder(folder, **changes)
    with pytest.raises(ValueError, match=message):
        load_dataset("mixed-set")


@pytest.mark.parametrize(
    "text, message",
    [
        ("size,colour,kind\n1,red\n", "row 1 has 2 cells, the header has 3"),
        ("size,colour,kind\n1,red,\n", "the class 'kind' is missing in 1 rows"),
        ("", "header of mixed.csv.gz does not fit"),
    ],
)
def test_damaged_files_are_refused(folder, text, message):
    write_folder(folder, text)
    with pytest.raises(ValueError, match=message):
        load_dataset("mixed-set")


def test_missing_file_and_missing_manifest(folder, monkeypatch, tmp_path):
    write_folder(folder, file="absent.csv.gz")
    with pytest.raises(FileNotFoundError, match=r"absent.csv.gz is in MANIFEST.json but not in"):
        load_dataset("mixed-set")
    monkeypatch.setenv("DISCBAYES_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"DISCBAYES_DATA is .*nowhere"):
        load_dataset("mixed-set")
    assert load_dataset("corral").n_rows == 128  # found before the folder is looked at


def test_npz_must_fit_its_manifest(folder):
    parts = {
        "X_train": np.eye(3, 2, dtype=np.uint8),
        "y_train": [0, 1, 0],
        "X_test": [[5, 6]],
        "y_test": [1],
    }
    np.savez(folder / "mixed.npz", **parts)
    pixels = {"file": "mixed.npz", "numeric_features": ["p0", "p1"], "categorical_features": []}
    write_folder(folder, **pixels)
    data = load_dataset("mixed-set", as_frame=False)
    assert data.X_test.tolist() == [[5.0, 6.0]]
    assert data.y_train.tolist() == ["0", "1", "0"]
    write_folder(folder, **pixels, split={"train": 2, "test": 2})
    with pytest.raises(ValueError, match=r"mixed.npz does not fit"):
        load_dataset("mixed-set")


def test_manifest_must_be_a_list(folder):
    (folder / manifest.MANIFEST).write_text("{}")
    with pytest.raises(ValueError, match="must be a list"):
        list_datasets("files")


# Choosing and listing


def test_list_has_every_source_in_order(folder):
    listed = list_datasets()
    assert [info.source for info in listed] == ["embedded"] * len(EMBEDDED) + ["files"] * 2
    assert all(a.name < b.name for a, b in pairwise(list_datasets("embedded")))
    [mixed] = [info for info in list_datasets("files") if info.name == "Mixed_Set"]
    assert (mixed.n_rows, mixed.n_features, mixed.n_classes, mixed.split) == (4, 2, 2, (3, 1))
    assert list_datasets("cache") == []


def test_wrong_choices_are_named():
    with pytest.raises(
        ValueError, match="source must be one of auto, embedded, files, cache, openml; got 'web'"
    ):
        load_dataset("iris", source="web")
    with pytest.raises(
        ValueError, match="source must be one of embedded, files, cache; got 'openml'"
    ):
        list_datasets("openml")
    with pytest.raises(ValueError, match="as_frame must be one of"):
        load_dataset("iris", as_frame="dask")


def test_no_fixed_split_says_what_to_do():
    with pytest.raises(ValueError, match="'iris' has no fixed split: use cross-validation"):
        _ = load_dataset("iris").X_train


def test_options_reach_the_generator_and_wrong_ones_are_refused(folder):
    assert load_dataset("led-24", n_samples=10, noise=0.0).n_rows == 10
    assert load_dataset("random-tree", n_samples=100, n_features=4).X_train.shape == (50, 4)
    first, second = (
        load_dataset("mofn-3-7-10", as_frame=False, random_state=s).X_train for s in (0, 1)
    )
    assert (first != second).any()
    with pytest.raises(
        TypeError, match=r"'led' has no option n_irrelevant \(its options: n_samples, noise"
    ):
        load_dataset("led", n_irrelevant=3)
    with pytest.raises(TypeError, match=r"'corral' has no option seed \(its options: none\)"):
        load_dataset("corral", seed=1)
    with pytest.raises(TypeError, match="has no option version"):
        load_dataset("mixed-set", version=1)
    with pytest.raises(TypeError, match="has no option n_samples"):
        load_dataset("elsewhere", n_samples=5)


def test_unknown_name_shows_the_nearest():
    with pytest.raises(LookupError, match="no data set 'coral' in files; nearest names: corral"):
        load_dataset("coral", source="files")
    with pytest.raises(LookupError, match=r"list_datasets\(\) shows"):
        load_dataset("qqqqqqqqqq", source="embedded")


@pytest.mark.parametrize(
    "platform, variables, expected",
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/discbayes")),
        ("linux", {"XDG_CACHE_HOME": ""}, Path.home() / ".cache" / "discbayes"),
        ("darwin", {}, Path.home() / "Library" / "Caches" / "discbayes"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/discbayes")),
        ("linux", {"DISCBAYES_CACHE": "/mine"}, Path("/mine")),
    ],
)
def test_cache_folder_by_platform(monkeypatch, platform, variables, expected):
    monkeypatch.delenv("DISCBAYES_CACHE")
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert manifest.cache_folder() == expected

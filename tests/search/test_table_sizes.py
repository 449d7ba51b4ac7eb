"""How large tables may become, and that what is left out because of it is said: once, with names
and a way out.
"""

from __future__ import annotations

import warnings
from html import escape
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from test_search_settings import SEARCHES, search_of

import discbayes
from block_rows import far
from coded import encoded, rows_of
from discbayes import BayesNetClassifier, TwoResolutionDiscretizer
from discbayes.counts import class_information, count, pair_information
from discbayes.data import Domain, Encoded, Variable
from discbayes.engine import Context
from discbayes.kernels import counting
from discbayes.report.summary import summary_html
from discbayes.report.training_history import history_html
from discbayes.search import KDB, OrderBased, SpanningTree
from discbayes.search.table_sizes import TableSizes, warn_of_sparse_columns

# the tables of two wide columns have 7,200 cells, of the others at most 360
CARDS = [60, 60, 2, 3, 60]
WIDE = {(0, 1), (0, 4), (1, 4)}


def rows(n_rows=300, cards=CARDS, **options):
    return encoded(np.random.default_rng(0), list(cards), 2, n_rows, linked=True, **options)


def learn(search, data, context=None):
    return search.learn(data, count(data), context or Context())


def frame_of(data):
    return pd.DataFrame(data.codes.T.astype(str), columns=data.domain.names), data.y


# ---- the rule


@pytest.mark.parametrize(
    "n_rows, given, most",
    [
        (20_000, None, [40_000, 400_000, 4_000_000, 10_000_000]),
        (30, None, [5_000, 50_000, 500_000, 5_000_000]),
        (3_000_000, None, [6_000_000, 10_000_000, 10_000_000, 10_000_000]),
        (30, 77, [77] * 4),
        (10**9, 77, [77] * 4),
        (None, None, [10_000_000] * 4),
    ],
)
def test_the_rows_limit_a_table_unless_a_number_does(n_rows, given, most):
    sizes = TableSizes.of(rows(), n_rows, given)
    assert [sizes.max_cells(k) for k in (1, 2, 3, 4)] == most
    assert sizes.max_cells(10**4) == (given or 10**7)


@pytest.mark.parametrize("wide", [30, 300])
def test_all_tables_together_have_at_most_twice_the_cells_of_the_training_table(wide):
    """Whatever the numbers of values are, if there are more than 2,500 rows."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(wide, size=(3_000, 20)), rng.integers(2, size=3_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        clf = BayesNetClassifier("tan", "map", discretizer=None).fit(X, y)
    assert clf.network_.parameters.layout.size <= 2 * X.size
    assert clf.structure_.n_edges == (19 if wide == 30 else 0)


# in networks in which the class is a node, no table has an axis of its own for the class
every_search_of_features = pytest.mark.parametrize("name", sorted(SEARCHES.keys() - {"blanket"}))


@every_search_of_features
def test_the_structure_is_that_without_these_edges_and_they_are_named(name):
    """The oracle is the same search, told to leave out the edges whose tables an enumeration finds
    too large.
    """
    data = rows()
    tables = {(a, b): int(data.cards[a] * data.cards[b]) * 2 for a, b in combinations(range(5), 2)}
    assert {edge for edge, cells in tables.items() if cells > 5_000} == WIDE
    barred = [*WIDE, *((b, a) for a, b in WIDE)]
    expected = learn(search_of(name, random_state=0, max_table_size=10**7, forbidden=barred), data)
    context = Context()
    with pytest.warns(UserWarning, match="left out") as caught:
        found = learn(search_of(name, random_state=0), data, context)
    assert found == expected
    assert len(caught) == 1
    said = str(caught[0].message)
    assert (
        "3 edges between 'x0', 'x1', 'x4' left out: for 300 rows, a table with 1 parent may have"
        " 5,000 cells" in said
    )
    assert "the largest table would have 7,200. To avoid this, group the values" in said
    told = [step for step in context.history if "left_out" in step]
    assert told == context.history[:1]
    assert (told[0]["left_out"], told[0]["reason"]) == (3, said)
    assert set(told[0]["edges"]) == {(f"x{a}", f"x{b}") for a, b in WIDE}


@every_search_of_features
def test_a_number_of_cells_is_the_only_limit(name):
    context = Context()
    learn(search_of(name, random_state=0, max_table_size=7_200, max_time=60), rows(), context)
    assert not any("left_out" in step for step in context.history)


def test_parents_that_kdb_passes_over_are_told():
    data = rows(200, [25, 25, 25, 25, 25, 2])
    relevance, weights = (
        class_information(count(data)),
        pair_information(data, count(data)).conditional,
    )
    order = sorted(range(6), key=lambda i: (-relevance[i], i))
    expected, passed_over = {}, set()
    for place, i in enumerate(order):
        chosen = []
        for p in sorted(order[:place], key=lambda j, i=i: (-weights[i, j], j)):
            if len(chosen) == 4:
                break
            subsets = [
                (p, *some) for size in range(len(chosen) + 1) for some in combinations(chosen, size)
            ]
            if all(
                np.prod(data.cards[[i, *some]]) * 2 <= 500 * 10 ** len(some) for some in subsets
            ):
                chosen.append(p)
            else:
                passed_over.add((f"x{p}", f"x{i}"))
        expected[i] = set(chosen)
    assert passed_over
    context = Context()
    with pytest.warns(
        UserWarning, match=rf"^KDB: {len(passed_over)} edge.* a table with \d parents may have"
    ):
        found = learn(KDB(4), data, context)
    assert {i: set(group) for i, group in enumerate(found.parents)} == expected
    assert set(context.history[0]["edges"]) == passed_over


def test_a_search_that_may_add_no_edge_leaves_none_out():
    assert learn(KDB(0), rows()).n_edges == 0


def test_no_pair_that_is_left_out_is_counted(monkeypatch):
    counted = set()

    def spy(kernel, first, seconds, *arguments):
        counted.update((first, int(second)) for second in seconds)
        kernel(first, seconds, *arguments)

    for name in ("pairs_by_loop", "pairs_by_bits"):
        kernel = getattr(counting, name)
        monkeypatch.setattr(counting, name, lambda *given, kernel=kernel: spy(kernel, *given))
    with pytest.warns(UserWarning, match="3 edges"):
        learn(SpanningTree(), rows())
    assert counted == set(combinations(range(5), 2)) - WIDE


def test_required_edges_and_the_start_are_up_to_the_user():
    with pytest.warns(UserWarning, match="2 edges between 'x4', 'x0', 'x1' left out"):
        found = learn(KDB(1, required=[(0, 1)]), rows())
    assert (0, 1) in found.edges()
    with pytest.warns(UserWarning, match="2 edges between 'x4', 'x0', 'x1' left out"):
        assert (0, 1) in learn(KDB(1, start=[(0, 1)]), rows()).edges()
    with pytest.raises(ValueError, match="needs a table above max_table_size=10,000,000"):
        learn(KDB(1, required=[(0, 1)]), rows(cards=[3_000, 3_000, 2]))


def test_columns_of_one_value_are_no_loss():
    data = rows(100, [3_000, 1, 1])
    assert learn(KDB(1), data).parents[0] == ()


def test_sets_of_parents_that_are_too_large_name_the_last_one_only():
    data = rows(200, [40, 40, 40, 2])
    context = Context()
    with pytest.warns(UserWarning, match=r"edges? between .* left out"):
        learn(OrderBased(order=[0, 1, 2, 3], score="cl", k=3), data, context)
    assert {("x1", "x2"), ("x1", "x3"), ("x2", "x3")} >= set(context.history[0]["edges"])


# ---- one rule on every way


def test_a_weight_of_two_is_the_row_twice():
    """4,000 rows fill half of a table of 7,200 cells, 2,000 rows do not."""
    once = rows(2_000, [60, 60, 2])
    heavy = Encoded(once.codes, once.domain, once.y, np.full(2_000, 2.0))
    twice = rows_of(once, np.tile(np.arange(2_000), 2))
    with pytest.warns(UserWarning, match="1 edge between 'x0', 'x1' left out"):
        learn(SpanningTree(), once)
    assert learn(SpanningTree(), heavy) == learn(SpanningTree(), twice)


@pytest.mark.parametrize("name", ["tan", "tan-acll", "kdb", "ghc", "greedy"])
def test_rows_in_blocks_have_the_same_structure_and_say_the_same(name):
    data, said = rows(500), []
    for given in (data, far(data, 100)):
        with pytest.warns(UserWarning, match="3 edges") as caught:
            structure = learn(search_of(name, random_state=0), given)
        said.append((structure, [str(warning.message) for warning in caught]))
    assert said[0] == said[1]


def test_rows_that_come_in_parts_have_the_same_structure():
    X, y = frame_of(rows(500))
    clf = BayesNetClassifier("tan", "map")
    for part in (slice(0, 200), slice(200, 500)):
        with pytest.warns(UserWarning, match="left out"):
            clf.partial_fit(X[part], y[part])
    with pytest.warns(UserWarning, match="3 edges"):
        whole = BayesNetClassifier("tan", "map").fit(X, y)
    assert clf.network_.edges() == whole.network_.edges()
    assert clf.history_[0]["left_out"] == whole.history_[0]["left_out"] == 3


def test_a_table_by_value_may_have_ten_times_the_cells_of_that_by_group():
    city = Variable("city", "categorical", tuple(range(1000)), groups=(0,) * 999 + (1,))
    wide = Variable("wide", "categorical", tuple(range(60)))
    small = Variable("small", "categorical", tuple(range(20)))
    domain = Domain((city, wide, small), Variable("y", "categorical", (0, 1)))
    data = Encoded(np.zeros((3, 2), np.uint16), domain, np.zeros(2, np.int64)).coarse
    sizes = TableSizes.of(data, 2_500.0, None)
    assert sizes.widths.tolist() == [100, 60, 20]
    fitting = sizes.pairs(~np.eye(3, dtype=bool), lambda: np.zeros((3, 3), bool))
    # [parent, child]: 100 · 60 · 2 cells are too many, 2 · 60 · 2 and 100 · 20 · 2 are not
    assert fitting.tolist() == [[False, True, True], [False, False, True], [True, True, False]]
    assert not sizes.joining(0, [2], np.array([False, True, False])).any()
    assert sizes.joining(1, [2], np.array([True, False, False])).tolist() == [True, False, False]


# ---- where it is said


@pytest.fixture(scope="module")
def fitted():
    X, y = frame_of(rows(2_000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        no_groups = TwoResolutionDiscretizer("mdlp", min_states=8, n_groups=None)
        clf = BayesNetClassifier(calibrate_folds=3, discretizer=no_groups).fit(X, y)
    return clf, [str(warning.message) for warning in caught]


def test_a_fit_says_it_once_however_many_networks_calibrate_it(fitted):
    clf, said = fitted
    assert clf.calibration_ is not None
    assert len(said) == 1
    assert said[0].startswith("KDB: 3 edges between 'x0', 'x1', 'x4' left out")


def test_a_model_file_holds_it(fitted, tmp_path):
    clf, said = fitted
    clf.save(tmp_path / "model.json")
    # what held-out rows chose comes before the search
    choice, step = discbayes.load(tmp_path / "model.json").history_[:2]
    assert "chosen" in choice
    # no clock in files
    assert step == {key: value for key, value in clf.history_[1].items() if key != "seconds"}
    assert (step["left_out"], step["reason"]) == (3, said[0])


def test_the_report_shows_it(fitted):
    clf, said = fitted
    assert "2 edges; 3 edges left out (see History)" in summary_html(clf)
    html = history_html(clf)
    assert "3 edges left out" in html
    assert escape(said[0]) in html
    quiet = BayesNetClassifier("tan", "map").fit(*frame_of(rows(100, [2, 3])))
    assert "left out" not in summary_html(quiet) + history_html(quiet)


def test_a_plot_of_the_history_has_no_panel_for_it(fitted):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from discbayes.plot import history

    titles = [panel.get_title() for panel in history(fitted[0], figure.add_subplot()).child_axes]
    assert titles[0] == "2 edges"
    assert len(titles) == 2


def test_a_fit_that_shows_its_steps_shows_it(capsys):
    with pytest.warns(UserWarning, match="left out"):
        BayesNetClassifier("tan", "map", verbose=2).fit(*frame_of(rows()))
    assert (
        "left_out 3, reason SpanningTree: 3 edges between 'x0', 'x1', 'x4' left out"
        in capsys.readouterr().err
    )


# ---- columns whose own table has more cells than rows


def sparse_columns(data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_sparse_columns(data, count(data))
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "cards, n_rows, names",
    [
        ([51, 2], 101, "'x0'"),
        ([51, 2], 102, None),  # a cell for each row
        ([50, 50], 4, None),  # few values, however few rows
        ([2, 51, 200, 51], 90, "'x2', 'x1', 'x3'"),
        ([60] * 8, 90, "'x0', 'x1', 'x2', 'x3', 'x4' and 3 more columns"),
    ],
)
def test_columns_with_more_cells_than_rows_are_named(cards, n_rows, names):
    said = sparse_columns(rows(n_rows, cards))
    assert len(said) == (names is not None)
    if names is not None:
        values = max(cards)
        assert (
            f"more cells than rows ({n_rows}) in the tables P(x | class) of {names}, with up to"
            f" {values}" in said[0]
        )
        assert "drop such columns, or group their values" in said[0]


@pytest.mark.parametrize("settings", [{}, {"structure": "nb", "parameters": "map"}])
def test_a_fit_names_such_columns_once(settings):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"id": rng.permutation(300).astype(str), "size": rng.integers(4, size=300).astype(str)}
    )
    y = rng.integers(3, size=300)
    for method in ("fit", *(["partial_fit"] if settings else [])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf = BayesNetClassifier(categorical=["id"], **settings)
            getattr(clf, method)(X, y)
        said = [
            str(warning.message)
            for warning in caught
            if "more cells than rows" in str(warning.message)
        ]
        assert len(said) == 1
        assert "of 'id', with up to 300 values and 3 classes" in said[0]

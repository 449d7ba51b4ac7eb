"""The experiments of C11."""

import json
import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import norm

from discbayes.data import FrameEncoder
from discbayes.evaluation.result_blocks import Picture, ResultTable, as_text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import wilcoxon
from discbayes.evaluation.tasks import Task
from discbayes.scores import edge
from discbayes_papers import find, reproduce
from discbayes_papers.c11 import fig4_5, table3, table4, theorems, times, weka
from discbayes_papers.c11 import others as _c11_others
from discbayes_papers.c11 import shared as _c11
from discbayes_papers.parts import load_rows, published_splits

NAMES = ("c11-theorems", "c11-fig4-5", "c11-table3", "c11-table4", "c11-times")
CLASSIFIERS = (*_c11.NETWORKS, *_c11.OTHERS)


@pytest.fixture
def filled(tmp_path):
    """A store with all runs, of made-up accuracies: the later a classifier, the worse it is."""
    store = Store(tmp_path / "c11.csv", _c11.METRICS)
    for name, (place, recipe) in product(_c11.SETS, enumerate(CLASSIFIERS)):
        n_test = _c11.TABLE_1[name][2]
        right = round(n_test * (0.9 - 0.02 * place - 0.001 * len(name)))
        store.results[(name, 0, recipe, 0)] = Result(
            name, 0, recipe, 0, {"accuracy": right / n_test, "n_test": n_test}, 1.0 + place
        )
    return store


class TestPublished:
    @pytest.mark.parametrize("published", [table3.PUBLISHED, table4.PUBLISHED])
    def test_p_is_that_of_z(self, published):
        """To the digits that are given: Z and p have two."""
        for z, p in published.values():
            least, largest = norm.sf(abs(z) + 0.005) - 0.005, norm.sf(abs(z) - 0.005) + 0.005
            assert least <= (p or 0.005) <= largest

    def test_every_pair_of_the_tables_is_there(self):
        assert len(table4.PUBLISHED) == 3 * 8
        assert set(table4.PUBLISHED) == set(product(_c11.PROPOSED, _c11.OTHERS))
        assert len(table3.PUBLISHED) == 5 + 4 + 3
        assert {tag for pair in table3.PUBLISHED for tag in pair} == set(_c11.NETWORKS)
        assert set(times.PUBLISHED) == set(CLASSIFIERS)

    def test_the_sets_are_those_of_the_files(self, data_folder):
        files = {
            one["name"]: one for one in json.loads((data_folder / "MANIFEST.json").read_text())
        }
        for name, (n_columns, n_classes, n_test) in _c11.TABLE_1.items():
            file = files[name]
            assert file["n_features"] == n_columns - 1
            assert file["n_classes"] == n_classes - (
                name in ("glass", "shuttle-small")
            )  # one of their classes has no rows
            assert name in (*_c11.FIXED, "segment") or file["complete_rows"] == n_test
        assert sorted(_c11.BY_SIZE) == sorted(_c11.SETS)


class TestTheorems:
    def test_expectations_are_those_of_adaptive_quadrature(self):
        (log_u, _, _), f, weight = theorems.ratio(1.0)
        mean, _ = dblquad(lambda v, u: math.log2(u / (u + v)), 0, 1, 0, 1)
        both, _ = dblquad(lambda v, u: math.log2(u / (u + v)) * math.log2(u), 0, 1, 0, 1)
        assert np.sum(weight * f) == pytest.approx(mean, abs=1e-7)
        assert np.sum(weight * f * log_u) == pytest.approx(both, abs=1e-7)
        (log_w, _), g, weight = theorems.odds()
        square, _ = quad(lambda w: math.log2(w / (1 - w)) ** 2, 0, 1)
        assert np.sum(weight * g**2) == pytest.approx(square, abs=1e-7)
        assert np.sum(weight * g * log_w) == pytest.approx(
            math.pi**2 / 6 / math.log(2) ** 2, abs=1e-7
        )

    @pytest.mark.parametrize("theorem", theorems.STATED)
    def test_what_is_stated_is_found(self, theorem):
        stated = theorems.STATED[theorem]
        found = dict(zip(stated, theorems.FOUND[theorem](), strict=True))
        for name, (formula, value) in stated.items():
            assert found[name] == pytest.approx(
                value, abs=theorems.TOLERANCE if "≈" in formula else 1e-9
            ), name

    def test_the_score_has_these_constants(self):
        alpha, beta, _ = theorems.least_squares(*theorems.ratio(theorems.P))[0]
        rate, _ = theorems.least_squares(*theorems.odds())[0]
        assert [alpha, beta, rate] == pytest.approx([edge.ALPHA, edge.BETA, edge.LAMBDA], abs=1e-9)

    def test_relative_frequencies_are_better_than_others(self):
        counts = np.array([[[8.0, 1.0], [2.0, 9.0]]])
        best = theorems.factorized(counts, counts / counts.sum(axis=1, keepdims=True))
        for first, second in product(np.linspace(0.05, 0.95, 19), repeat=2):
            theta = np.array([[[first, second], [1 - first, 1 - second]]])
            assert theorems.factorized(counts, theta) <= best + 1e-12


class TestOthers:
    @pytest.mark.parametrize("k", [1, 3, 5])
    def test_neighbors_by_counting(self, k):
        part = _c11.set_parts("iris", 0)[0]
        train, y = part.data.codes.T, part.data.classes
        expected = []
        for row in part.test_codes.T:
            distance = (train != row).sum(axis=1)
            near = distance <= np.sort(distance)[k - 1]
            expected.append(np.bincount(y[near], minlength=3).argmax())
        assert _c11_others.neighbors(part, k).tolist() == expected

    def test_an_unknown_value_sets_no_indicator(self):
        part = _c11.set_parts("corral", 0)[0]
        part.test_codes[2, 0] = part.data.cards[2]
        train, test = _c11_others.indicators(part)
        assert train.sum(axis=1).tolist() == [6.0] * part.data.n_samples
        assert test.sum(axis=1).tolist() == [5.0] + [6.0] * (part.n_test - 1)

    @pytest.mark.parametrize("name", ["CART", "SVM2", "LogR"])
    def test_what_needs_pairs_of_features(self, name):
        """Corral is (a0 and a1) or (b0 and b1): no sum of single features tells it, products of two
        do.
        """
        parts = _c11.set_parts("corral", 0)[:2]
        rate = np.mean([np.mean(_c11.answers(name, part) == part.test_y) for part in parts])
        assert rate == 1.0 if name == "SVM2" else rate > 0.8

    def test_few_rows_choose_and_all_are_learned_from(self, monkeypatch):
        part = _c11.set_parts("iris", 0)[0]
        asked = []

        class Model(_c11_others.SVC):
            def fit(self, X, y):
                asked.append(len(y))
                return super().fit(X, y)

        _c11_others.chosen(Model(kernel="linear"), {"C": [1.0]}, most=50)(part, 0)
        assert asked == [40] * 5 + [part.data.n_samples]


class TestRuns:
    def test_a_line_is_of_a_whole_set(self):
        tags = ("TAN-fCLL-OFE", "forest-fCLL-OFE", "1-NN")
        found = list(_c11.run_set(Task("iris", 0, tags, 0, _c11.run_set, {"suffix": ""})))
        assert [one.recipe for one in found] == list(tags)
        for one in found:
            right = sum(
                (_c11.answers(one.recipe, part) == part.test_y).sum()
                for part in _c11.set_parts("iris", 0)
            )
            assert one.measured == {"accuracy": right / 150, "n_test": 150}

    def test_cut_points_of_all_rows(self):
        rows = load_rows("iris")
        train, test = published_splits(rows, 0)[1]
        part = _c11.cut_on_all_rows(rows, (train, test))
        everything = FrameEncoder("mdlp").fit_transform(rows.X, rows.y)
        assert np.array_equal(part.data.codes, everything.codes[:, train])
        assert np.array_equal(part.test_codes, everything.codes[:, test])
        assert np.array_equal(part.test_y, everything.classes[test])

    def test_a_published_split_is_one_draw(self):
        tasks = _c11.tasks_of(["iris", "chess"], ["1-NN"], range(3), ("", _c11.ALL_ROWS))
        assert [(task.data, task.seed) for task in tasks] == [
            ("iris", s // 2) for s in range(6)
        ] + [("chess", 0)] * 2
        assert {recipe for task in tasks for recipe in task.recipes} == {"1-NN", "1-NN@all"}

    @pytest.mark.parametrize("name", NAMES)
    def test_quick_is_a_part(self, name):
        full, quick = (
            {(t.data, t.seed, t.recipes) for t in find(name).tasks(quick)}
            for quick in (False, True)
        )
        assert quick <= full

    def test_from_the_start_to_the_page(self, tmp_path):
        reproduce("c11-theorems", tmp_path, quick=True, n_jobs=1)
        page = (tmp_path / "quick" / "c11-theorems.md").read_text()
        assert "0.352114" in page
        assert "▼ |" not in page
        assert (tmp_path / "quick" / "c11-theorems-figures.png").exists()


class TestPages:
    @pytest.mark.parametrize("name", NAMES)
    def test_without_runs(self, name, tmp_path):
        experiment = find(name)
        text = as_text(experiment.page(Store(tmp_path / "a.csv", experiment.metrics)))
        assert "–" in text
        assert name == "c11-theorems" or "0 of " in text

    @pytest.mark.parametrize("name", NAMES[1:])
    def test_with_all_runs(self, name, filled):
        assert "runs are there" not in as_text(find(name).page(filled))

    def test_z_is_that_of_the_test_over_sets(self, filled):
        tables = [block for block in table3.page(filled) if isinstance(block, ResultTable)]
        row = {row[0]: row[1:] for row in tables[0].rows}["TAN-fCLL-OFE – TAN-LL-OFE"]
        found = _c11.figures(filled)
        both = [[found[name, tag] for name in _c11.SETS] for tag in ("TAN-fCLL-OFE", "TAN-LL-OFE")]
        assert row[0].startswith(f"{wilcoxon(*both).z:.2f} (2.13) ▲")
        assert row[2] == "25/0/0"

    def test_draws_have_published_splits_of_the_first(self, filled):
        for seed, name in product((0, 1), _c11.SETS):
            if seed == 0 or name not in _c11.FIXED:
                for place, tag in enumerate(table3.DRAWN):
                    filled.results[(name, 0, f"{tag}@all", seed)] = Result(
                        name, 0, f"{tag}@all", seed, {"accuracy": 0.5 + 0.1 * place, "n_test": 10}
                    )
        rows = next(
            block for block in table3.page(filled) if block.title == "Other draws of the folds"
        ).rows
        counts = {(row[0], row[1]): row[2] for row in rows}
        assert counts["training rows", "TAN-fCLL-OFE – TAN-LL-OFE"] == "1"
        assert counts["all rows", "TAN-fCLL-OFE – TAN-LL-OFE"] == "2"

    def test_equal_differences_stay_equal(self, tmp_path):
        """Accuracies are stored with seven digits, and ranks need to know which differences are the
        same.
        """
        store = Store(tmp_path / "a.csv", _c11.METRICS)
        for name, right in (("diabetes", (500, 501)), ("pima", (571, 572))):
            for tag, n in zip(("TAN-LL-OFE", "TAN-LL-ELR"), right, strict=True):
                store.add(Result(name, 0, tag, 0, {"accuracy": n / 768, "n_test": 768}))
        first, second = _c11.columns(
            _c11.figures(Store(store.path, _c11.METRICS)), ("TAN-LL-ELR", "TAN-LL-OFE")
        )
        assert first[0] - second[0] == pytest.approx(first[1] - second[1], abs=1e-15)

    def test_errors_are_binomial(self, filled):
        table = _c11.accuracy_table(filled, ["TAN-fCLL-OFE"])
        right = round(690 * (0.9 - 0.001 * len("australian")))
        share = right / 690
        assert (
            table.rows[0][1]
            == f"{100 * share:.2f} ± {100 * math.sqrt(share * (1 - share) / 690):.2f}"
        )

    def test_times_are_totals_of_25_sets(self, filled):
        assert times.totals(filled)["TAN-fCLL-OFE"] == 25.0
        del filled.results[("iris", 0, "TAN-fCLL-OFE", 0)]
        assert "TAN-fCLL-OFE" not in times.totals(filled)

    def test_scatter_plots(self, filled):
        pytest.importorskip("matplotlib").use("agg")
        pictures = [block for block in fig4_5.page(filled) if isinstance(block, Picture)]
        assert [picture.name for picture in pictures] == ["fig4", "fig5"]
        figure = pictures[0].draw()
        assert len(figure.axes) == 8
        assert [axes.get_xlabel() for axes in figure.axes[:4]] == list(fig4_5.FIGURE_4)
        assert all(axes.get_ylabel() in fig4_5.UPRIGHT for axes in figure.axes)
        pytest.importorskip("matplotlib.pyplot").close(figure)


def test_figures_of_weka_are_read_and_compared():
    draws = weka.read_draws("c11/weka.csv")
    assert len(draws) == 20
    assert {len(sets) for sets in draws.values()} == {25}
    assert draws[1]["chess"] == draws[20]["chess"]
    assert round(draws[1]["chess"]["TAN-fCLL"] * 1066) == 995
    first = weka.table("c11/weka.csv", weka.PAIRS, "").rows[0]
    assert first == ["TAN-fCLL – TAN-LL", "0.46", "-0.12", "-1.52", "0.73", "0.16", "2.13"]

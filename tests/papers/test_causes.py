"""Each figure that a page marks as worse than the published one has a cause, and what a cause says
of draws is so.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from discbayes.evaluation.result_blocks import ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes_papers import registry
from discbayes_papers.causes import CAUSES, OPEN, TITLE, cause, causes_table, marks
from discbayes_papers.draws import Place, draws_of, places
from discbayes_papers.figures import WORSE
from discbayes_papers.p10 import draws as p10_draws
from discbayes_papers.p13 import draws as p13_draws

FOLDER = Path(__file__).parents[2] / "docs" / "results"
PAGES = [name for name in registry.STATUS if (FOLDER / f"{name}.md").exists()]
CELL = re.compile(rf"{WORSE} (?=\|)")  # a marked cell of a table in Markdown


def stored(name):
    """The results of an experiment."""
    return Store(FOLDER / "rows" / f"{registry.find(name).rows}.csv", ())


@pytest.fixture(scope="module")
def marked():
    """The marks of each page."""
    return {name: marks(registry.find(name).page(stored(name))) for name in PAGES}


def test_every_mark_has_a_cause(marked):
    without = [(name, str(m)) for name, of in marked.items() for m in of if cause(name, m) == OPEN]
    assert without == []


def test_every_cause_belongs_to_a_mark(marked):
    used = {cause(name, mark) for name, of in marked.items() for mark in of}
    assert [line["cause"] for line in CAUSES if line["cause"] not in used] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_lists_the_causes_of_its_marks(name, marked):
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert len(CELL.findall(text)) == len(marked[name])
    assert (f"**{TITLE}**" in text) == bool(marked[name])
    row = next(
        line
        for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith(f"| [{name}](")
    )
    assert row.split("|")[-4].strip() == str(len(marked[name]) or "")


@pytest.mark.parametrize(
    "name, drawn, tag",
    [
        ("p10-table7", p10_draws.drawn, "{row} {column}-{tables}"),
        ("p10-table13", p10_draws.drawn, "{row} {column}"),
        ("p13-table1", p13_draws.drawn, "{row} TAN-{column}"),
    ],
)
def test_causes_that_name_draws_are_so(name, drawn, tag, marked):
    """A draw: the published figure is in the central range; smoothing: it is with another one."""
    found = {(data, recipe): place for (data, recipe), place in drawn(stored(name)).items()}
    names = {f"TAN-{method}": words for method, words in p13_draws.TAN.items()}
    checked = 0
    for mark in marked[name]:
        why = cause(name, mark)
        if not why.endswith("(table of the marked figures)"):
            continue
        tables = "CL" if "CL parameters" in mark.table else "ML"
        column = mark.column.partition(",")[0]
        data, recipe = tag.format(row=mark.row, column=column, tables=tables).split(" ")
        recipe = names.get(recipe, recipe)
        near = [p for (d, r), p in found.items() if d == data and r.partition(",")[0] == recipe]
        assert near, mark
        assert any(place.is_within for place in near), mark
        checked += 1
    assert checked


def test_marks_are_the_cells_that_end_with_one():
    table = ResultTable("t", ["", "set", "a", "b"], [["x", "iris", "1 ▼", "2 ▲"]], "▼: worse", 2)
    assert [str(mark) for mark in marks([table])] == ["x iris: a"]
    (block,) = causes_table("no-page", [table])
    assert list(block.rows) == [[OPEN, "x iris: a"]]
    assert causes_table("no-page", []) == []


def test_a_place_among_draws():
    place = Place(np.linspace(80.0, 90.0, 101), 90.0)
    assert place.central == pytest.approx((80.25, 89.75))
    assert not place.is_within
    assert place._replace(published=89.754).is_within


def test_readings_stand_below_their_recipe(tmp_path):
    store = Store(tmp_path / "rows.csv", ("accuracy",))
    for recipe in ("NB-ML", "NB-ML, ε = 0.01", "TAN-ML"):
        store.add(Result("iris", 0, recipe, 0, {"accuracy": 0.5}))
    found = places(store, {("iris", "NB-ML"): 50.0})
    (block,) = draws_of(found, [("iris", "NB-ML")], "title")
    assert [row[1] for row in block.rows] == ["NB-ML", "NB-ML, ε = 0.01"]
    assert [row[-1] for row in block.rows] == ["yes", "yes"]

"""The table of docs/guide/experts.md that says which part supports what, cell by cell."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from discbayes import (
    BayesNetClassifier,
    BayesNetEnsemble,
    Between,
    MarkovBlanketClimb,
    MaximumAPosteriori,
    MaximumLikelihood,
    SpanningTree,
    load_dataset,
    predict,
)
from discbayes.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "experts.md"
NO = "–"
IRIS = load_dataset("iris")
X, Y = IRIS.X[::2], IRIS.y[::2]
WIDTH = "petal width (cm)"
ABOVE = [(WIDTH, "class"), ("class", "petal length (cm)")]
RANGE = {WIDTH: Between(1, None)}
COSTS = {label: {"refer": 0.2, **dict.fromkeys(set(Y) - {label}, 1.0)} for label in set(Y)}
TWO = (IRIS.y != "setosa")[::2]  # rows of two classes
PARENTS_OF_CLASS = ("map", "ml", "hybrid", "cl", "ccbn-e", "mm")


def fitted(structure="nb", parameters="map", **settings):
    return BayesNetClassifier(structure, parameters, **settings).fit(X, Y)


def fitted_to_two(monotone):
    return BayesNetClassifier("nb", MaximumAPosteriori(monotone=monotone)).fit(X[TWO], Y[TWO])


@pytest.fixture(scope="module")
def ensemble():
    return BayesNetEnsemble(2, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def learners():
    """A classifier of each kind of parameters and calibration."""
    made = [fitted("tan", "hybrid"), fitted("nb", "map", calibrate="isotonic")]
    return [fitted(), BayesNetClassifier(random_state=0).fit(X, Y), fitted(ABOVE), *made]


@pytest.fixture
def folder(tmp_path):
    table = X.assign(**{"class": Y})
    table.to_csv(tmp_path / "rows.csv", index=False)
    X.to_csv(tmp_path / "new.csv", index=False)
    fitted().save(tmp_path / "model.json")
    (tmp_path / "costs.json").write_text(
        '{"setosa": {"versicolor": 1, "virginica": 1}, "versicolor": {"setosa": 1, "virginica": 1},'
        ' "virginica": {"setosa": 1, "versicolor": 1}}'
    )
    (tmp_path / "prices.json").write_text('{"petal width (cm)": 0.01}')
    return tmp_path


def cells():
    """The table: rows by their first cell, cells by the heads of their columns."""
    lines = PAGE.read_text("utf-8").split("## What supports what")[1].split("\n\n")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}


TABLE = cells()
BY_PREDICT = "`discbayes.predict`, npm package"


def answers_as(clf, path, rows):
    """Whether ``discbayes.predict`` answers as a classifier."""
    clf.save(path)
    ours = predict.load(path).predict_proba(rows)
    np.testing.assert_allclose(ours, clf.predict_proba(rows), atol=1e-9)


def command(folder, *args):
    """Run a command on files of the folder."""
    return main([str(folder / arg) if arg.endswith((".csv", ".json")) else arg for arg in args])


# ---- what works


def test_learners_of_a_class_with_parents(tmp_path):
    row = TABLE["a class with parents"]
    assert tuple(re.findall(r'"([\w-]+)"', row["learners"])) == PARENTS_OF_CLASS
    for parameters in PARENTS_OF_CLASS:
        assert fitted(ABOVE, parameters).network_.class_parents
    for parameters in ("levels", "hierarchy", "ccbn-d", "ccbn-w", "dfe"):
        with pytest.raises(ValueError, match="class without parents"):
            fitted(ABOVE, parameters)
    assert row["calibration"] == "temperature, isotonic"
    for calibrate in ("temperature", "isotonic"):
        clf = fitted(ABOVE, "map", calibrate=calibrate)
        answers_as(clf, tmp_path / "model.json", X[:3])
    assert "<svg" in clf.report().html


def test_evidence_of_any_kind(tmp_path, learners, ensemble):
    for clf in (*learners, ensemble):
        answers_as(clf, tmp_path / "model.json", [RANGE])
    assert ensemble.bootstrap(X, Y, n=2).interval(RANGE)[0].shape == (1, 3)
    assert learners[0].report().html


def test_knowledge_of_experts(tmp_path):
    tiers = [WIDTH, "class", "petal length (cm)"]
    for search in (
        SpanningTree(required=[("petal length (cm)", WIDTH)]),
        MarkovBlanketClimb(tiers=tiers),
    ):
        clf = fitted(search)
        assert clf.report().html
        answers_as(clf, tmp_path / "model.json", X[:3])
    expert = fitted().network_
    prior = MaximumAPosteriori(expert, 10)
    for calibrate in (None, "temperature", "isotonic"):
        assert fitted("nb", prior, calibrate=calibrate, domains=expert.domain).network_
    clf = fitted_to_two({WIDTH: +1})
    assert "monotone" in clf.report().html
    answers_as(clf, tmp_path / "model.json", X[:3])


def test_error_bars(learners, ensemble):
    for clf in (*learners, ensemble):
        bars = clf.bootstrap(X, Y, n=2)
        assert bars.interval(X[:2])[0].shape == (2, 3)
        assert bars.contributions(X[:2])[0].shape == (2, 4, 3)
        assert bars.edges() is not None
        assert bars.average_structure().parents
    with pytest.raises(ValueError, match="an ensemble has tables in each of its members"):
        bars.tables()
    for clf in (fitted(), fitted("nb", "ml"), fitted(ABOVE)):
        bars = clf.dirichlet(X, Y, n=2)
        assert bars.tables()
        assert "draws by dirichlet" in clf.report(error_bars=bars).html
    assert "draws by bootstrap" in clf.report(error_bars=clf.bootstrap(X, Y, n=2)).html


def test_decisions(learners, ensemble):
    for clf in (*learners, ensemble):
        assert "refer" in clf.predict(X, costs=COSTS).tolist()
        assert clf.calibrate_sets(X, Y, level=0.9).contains(X[:2]).shape == (2, 3)
        assert "interval" in clf.report(None, X, Y).html
    for clf in learners:
        assert clf.same_decision([{WIDTH: 1.7}], held_out=X).shape == (1,)
        assert clf.questionnaire(prices=0.05, max_questions=2).text()


OUT = ("--target", "class", "-o", "out.json")
PRICED = ("--costs", "costs.json", "--prices", "prices.json")
KNOWN = [f"--know={name}=5" for name in X.columns if name != WIDTH]


@pytest.mark.parametrize(
    "args",
    [
        ("fit", "rows.csv", *OUT, "--structure", "blanket", "--parameters", "map"),
        ("fit", "rows.csv", *OUT, "--structure", "nb", "--parameters", "map", "--test-size", "0.3"),
        ("predict", "model.json", "new.csv", "--interval", "90"),
        ("evaluate", "rows.csv", "--target", "class", "--structure", "nb", "--parameters", "map"),
        ("ask", "model.json", f"--know={WIDTH}=1..2", *KNOWN),
        ("ask", "model.json", *PRICED, f"--know={WIDTH}=0.2", *KNOWN),
    ],
)
def test_commands(args, folder):
    assert command(folder, *args) == 0


# ---- what does not


REFUSED = {
    ("a class with parents", "ensemble"): lambda e: BayesNetEnsemble(structure="blanket"),
    ("tiers, required and forbidden edges", "ensemble"): lambda e: BayesNetEnsemble(tiers=[]),
    ("a network as a prior, monotone columns", "ensemble"): lambda e: BayesNetEnsemble(prior="m"),
    ("`dirichlet`", "ensemble"): lambda e: e.dirichlet(),
    ("same decision", "ensemble"): lambda e: e.same_decision(X),
    ("questionnaires", "ensemble"): lambda e: e.questionnaire(),
    ("tiers, required and forbidden edges", "command line"): "fit --tiers",
    ("a network as a prior, monotone columns", "command line"): "fit --monotone",
    ("`bootstrap`", "command line"): "predict --bootstrap",
    ("sets of classes", "command line"): "predict --sets",
    ("same decision", "command line"): "predict --same-decision",
    ("actions beside the classes", "HTML report"): lambda e: e.report(costs=COSTS),
    ("sets of classes", "HTML report"): lambda e: e.report(sets=None),
    ("same decision", "HTML report"): lambda e: e.report(same_decision=True),
    ("questionnaires", "HTML report"): lambda e: e.report(questionnaire=True),
    ("`bootstrap`", BY_PREDICT): "bootstrap",
    ("`dirichlet`", BY_PREDICT): "dirichlet",
    ("an interval of the accuracy", BY_PREDICT): "score",
    ("actions beside the classes", BY_PREDICT): "expected_costs",
    ("sets of classes", BY_PREDICT): "calibrate_sets",
    ("same decision", BY_PREDICT): "same_decision",
    ("questionnaires", BY_PREDICT): "questionnaire",
}


def test_all_dashes_are_tried():
    dashes = {(row, head) for row, found in TABLE.items() for head in found if found[head] == NO}
    assert dashes == set(REFUSED)


@pytest.mark.parametrize("row, head", REFUSED)
def test_what_is_refused_is_named(row, head, ensemble, folder, capsys):
    refused = REFUSED[row, head]
    if callable(refused):
        with pytest.raises((TypeError, AttributeError), match=r"unexpected keyword|no attribute"):
            refused(ensemble)
    elif head == "command line":
        name, option = refused.split()
        given = {"fit": ("rows.csv", *OUT), "predict": ("model.json", "new.csv")}[name]
        with pytest.raises(SystemExit):
            command(folder, name, *given, option)
        assert option in capsys.readouterr().err
    else:
        with pytest.raises(AttributeError, match=refused):
            getattr(predict.load(folder / "model.json"), refused)


def test_generative_parameters_alone_have_priors_and_dirichlet_distributions():
    for learner in (MaximumLikelihood, SpanningTree):
        with pytest.raises(TypeError, match="monotone"):
            learner(monotone={WIDTH: +1})
    with pytest.raises(ValueError, match="not relative frequencies"):
        fitted("nb", "hybrid").dirichlet(X, Y)

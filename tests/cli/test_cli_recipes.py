"""``discbayes recipes``, and ``--recipe`` in fit and evaluate."""

from __future__ import annotations

import pytest

from discbayes import GreedyEdges, load, recipes


def test_all_recipes_are_listed(run):
    code, out, err = run("recipes")
    assert (code, out) == (0, f"{recipes()!r}\n")
    assert all(f"{one.paper} " in err for one in recipes())
    assert run("recipes", "--quiet") == (0, out, "")
    assert "P13" not in run("recipes", "Z17")[2]


def test_recipes_of_a_pattern_are_listed(run):
    code, out, _ = run("recipes", "tan-sa-*")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [one.tag for one in recipes("TAN-SA")]


def test_a_pattern_without_recipes_is_an_error(run):
    code, out, err = run("recipes", "zzz")
    assert (code, out) == (1, "")
    assert "no recipe of the papers has 'zzz'" in err


def test_fit_with_a_recipe(run, isolated, tmp_path):
    path = tmp_path / "m.json"
    options = "--recipe tan-hc-cr-ofe+t --evaluation 3 --missing drop --seed 7 --n-jobs 1 --quiet"
    assert run("fit", "iris", *options.split(), "-o", path) == (0, "", "")
    clf = load(path)
    assert isinstance(clf.structure, GreedyEdges)
    assert (clf.structure.evaluation, clf.structure.fill, clf.parameters.strength) == (3, True, 0.5)
    assert (clf.calibrate, clf.missing, clf.random_state, clf.n_jobs) == (
        "temperature",
        "drop",
        7,
        1,
    )


def test_evaluate_with_a_recipe(run, isolated):
    code, out, _ = run("evaluate", "iris", "--recipe", "NB-M", "--cv", 2, "--quiet")
    assert code == 0
    assert "mean" in out


@pytest.mark.parametrize(
    "options, message",
    [
        ("--recipe NB-ML --structure nb", "--structure: --recipe sets this already"),
        (
            "--recipe NB-ML --structure nb --parameters ml",
            "--structure and --parameters: --recipe sets this already",
        ),
        ("--recipe NB-ML+T --calibrate none", "--calibrate: --recipe NB-ML+T sets this already"),
        ("--recipe NB-MX", "the nearest are NB-M"),
        ("--recipe NB-MX", "`discbayes recipes` lists those of the papers"),
        ("--recipe NB-ML --max-time 3", "'max_time' is not an option of NB-ML"),
        ("--recipe NB-ML --model m.json", "--recipe: a saved model is not learned again"),
    ],
)
def test_wrong_usage(run, options, message):
    code, out, err = run("evaluate", "iris", *options.split())
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())

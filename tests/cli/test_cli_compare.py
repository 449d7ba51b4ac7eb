"""``discbayes compare``: what it prints and leaves behind, how it goes on, and what it says of
mistakes.
"""

from __future__ import annotations

import sys
from argparse import Namespace

import numpy as np
import pandas as pd
import pytest

import discbayes.evaluation.comparison.result as comparison
import discbayes.evaluation.comparison.running as module
from discbayes import load_dataset
from discbayes.cli import main
from discbayes.cli.compare import shares
from discbayes.cli.splits import cross_validation_splits
from discbayes.cli.training import TargetLabels, Training
from discbayes.evaluation.comparison.running import make_setup

FAST = ("--recipes", "NB-MAP", "--baselines", "tree", "--cv", "2", "--n-jobs", "1")


@pytest.fixture
def place(tmp_path, monkeypatch, isolated):
    """A folder to work in, with a file of patients; pages are empty."""
    rng = np.random.default_rng(0)
    ill = rng.random(80) < 0.5
    frame = pd.DataFrame(
        {
            "age": rng.normal(50 + 20 * ill, 10).round(1),
            "city": np.where(ill, "A", "B"),
            "id": range(80),
        }
    )
    frame.loc[::9, "city"] = "?"
    frame.assign(ill=np.where(ill, "yes", "no")).to_csv(tmp_path / "patients.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "page", lambda title, blocks, foot: f"page of {title}")
    return tmp_path


def run(*words: str) -> int:
    return main(["compare", *words])


def test_a_table_and_where_the_rest_is(place, capsys):
    code = run(
        "patients.csv",
        "--target",
        "ill",
        "--drop",
        "id",
        "--na-values",
        "?",
        "--missing",
        "0,50",
        *FAST,
    )
    out, err = capsys.readouterr()
    assert code == 0
    assert "method" in out.splitlines()[0]
    assert "accuracy % with cells of the test rows missing at random" in out
    last = out.splitlines()[-3:]
    files = [line.split(": ")[1] for line in last]
    assert files == [
        f"compare-patients/{name}" for name in ("compare.html", "table.csv", "rows.csv")
    ]
    assert (place / files[0]).read_text() == "page of patients.csv: methods side by side"
    rows = pd.read_csv(files[2])
    assert rows["recipe"].tolist() == ["NB-MAP", "tree"] * 2
    assert rows["accuracy@50"].between(0, 1).all()
    assert err.count("fold 1") == err.count("fold 2") == 2


def test_it_goes_on_and_is_refused_where_it_cannot(place, capsys):
    words = ("patients.csv", "--target", "ill", "--folder", "here", *FAST)
    assert run(*words) == 0
    first = capsys.readouterr()
    assert run(*words, "--quiet") == 0
    assert capsys.readouterr() == (first.out, "")
    assert run(*words, "--drop", "id") == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("discbayes: error: here holds another comparison (columns 3, not 2)")
    assert run(*words, "--drop", "id", "--fresh", "--sort", "accuracy") == 0
    assert "sorted by accuracy" in capsys.readouterr().out


def test_an_interrupt_says_how_to_go_on(place, capsys, monkeypatch):
    def interrupted(*data, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run_tasks", interrupted)
    assert run("patients.csv", "--target", "ill", *FAST) == 130
    err = capsys.readouterr().err
    assert (
        "finished results are kept in compare-patients: the same command, without --fresh, resumes"
        " there" in err
    )


def test_a_data_set_by_its_name_and_labels_that_are_numbers(place, capsys):
    assert (
        run(
            "iris",
            "--recipes",
            "none",
            "--baselines",
            "tree",
            "--cv",
            "2",
            "--n-jobs",
            "1",
            "--quiet",
        )
        == 0
    )
    assert "compare-iris/rows.csv" in capsys.readouterr().out
    words = (
        "patients.csv",
        "--target",
        "ill",
        "--categorical",
        "id",
        "--baselines",
        "none",
        "--recipes",
        "NB-MAP",
    )
    assert run(*words, "--cv", "2", "--n-jobs", "1", "--quiet") == 0
    assert "failed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--recipes", "TAM"], "'TAM' is not a recipe; the nearest are TAN"),
        (
            ["--baselines", "lr,gbm"],
            "there is no baseline 'gbm'; they are lr, svm, hgb, tree, knn, cnb, rf",
        ),
        (["--baselines", "none", "--recipes", "none"], "there is nothing to compare"),
        (["--missing", "0,x"], "'x' is not a whole percentage from 0 to 100"),
        (["--missing", "0,...,90"], "dots stand after two rising percentages"),
        (["--cv", "1"], "'1' is not a whole number of at least 2"),
        (["--sort", "speed"], "invalid choice: 'speed'"),
        (["--weights", "age"], "unrecognized arguments: --weights age"),
    ],
)
def test_wrong_usage(place, capsys, words, message):
    with pytest.raises(SystemExit) as left:
        run("patients.csv", "--target", "ill", *words)
    assert left.value.code == 2
    assert message in capsys.readouterr().err


def test_a_baseline_whose_library_is_not_installed_names_the_extra(place, capsys, monkeypatch):
    monkeypatch.setattr("discbayes.evaluation.baselines.is_installed", lambda package: False)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(SystemExit) as left:
        run("patients.csv", "--target", "ill", "--recipes", "none", "--baselines", "lightgbm")
    assert left.value.code == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "this needs lightgbm, which is not installed: pip install 'discbayes[peers]'" in message


def test_the_target_is_asked_for(place, capsys):
    with pytest.raises(SystemExit):
        run("patients.csv")
    assert "--target is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.csv", "--target", "ill"], "absent.csv: no such file"),
        (
            ["patients.csv", "--target", "il"],
            "patients.csv has no column 'il' (the target); its columns are 'ill'",
        ),
        (
            ["patients.csv", "--target", "ill", "--cv", "81"],
            "80 rows cannot be split into 81 folds; --cv 80 can",
        ),
        (
            ["patients.csv", "--target", "ill", "--folder", "patients.csv"],
            "patients.csv: File exists",
        ),
    ],
)
def test_errors_in_one_line(place, capsys, words, message):
    assert run(*words) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"discbayes: error: {message}")


def test_shares():
    assert shares("0,10,…,90") == tuple(range(0, 100, 10))
    assert shares("5, 10, ..., 22, 80") == (5, 10, 15, 20, 22, 80)
    assert shares("30") == (30,)


@pytest.mark.parametrize("seed", [0, 3])
def test_evaluate_and_compare_make_the_same_folds(seed):
    """From the same seed; they had two makers of folds."""
    data = load_dataset("iris", as_frame="pyarrow")
    training = Training(data.X, TargetLabels("class", data.y.astype(object)), None)
    ours = cross_validation_splits(training, Namespace(cv=4, seed=seed))
    theirs = make_setup(data.X, data.y, cv=4, seed=seed).folds
    assert len(ours) == 4
    for fold, (train, test) in enumerate(ours):
        np.testing.assert_array_equal(test, np.flatnonzero(theirs == fold))
        np.testing.assert_array_equal(train, np.flatnonzero(theirs != fold))

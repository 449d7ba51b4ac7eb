"""The benchmarks: what is stored was measured with the settings that the code has now, and every
case can be tried.
"""

# ruff: noqa: E402

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import pytest

import discbayes
from discbayes import BayesNetClassifier
from discbayes.parameters import DiscriminativeCCBN, MaximumAPosteriori
from discbayes.search import GreedyEdges, SpanningTree

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
pytest.importorskip("psutil")

from cases import CASES
from suite import data as suite_data
from suite.settings import LATER, settings_of

MEASURED = [
    (case, name, learner)
    for case, module in CASES.items()
    for name, learner in module.LEARNERS.items()
]
OWN_TO_A_RUN = ("n_jobs", "verbose", "random_state")
AGAIN = "measure again: python benchmarks/run.py --only {0}, or benchmarks/scale.py for large data"


def stored(case):
    with (ROOT / "benchmarks" / "results" / f"{case}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return list(csv.DictReader(file))


# ---- settings


def test_settings_say_what_names_and_defaults_stand_for():
    named = settings_of(BayesNetClassifier("tan", "map"))
    assert named == settings_of(
        BayesNetClassifier(SpanningTree(), MaximumAPosteriori(), calibrate=None)
    )
    assert "calibrate=None" in named
    assert "structure=SpanningTree(" in named
    assert "score='cmi'" in named
    hybrid = settings_of(BayesNetClassifier("tan", "hybrid"))
    assert all(f"{text}'" in hybrid for text in ("calibrate='temperature", "missing='available"))
    assert "discretizer='mdlp'" in hybrid
    default = settings_of(BayesNetClassifier())
    assert "calibrate='pool'" in default
    assert "chosen_by_held_out_rows=True" in default
    assert default != settings_of(BayesNetClassifier(calibrate=None))
    assert default != settings_of(BayesNetClassifier(missing="available"))
    shown = set(BayesNetClassifier().get_params()) - set(LATER["BayesNetClassifier"])
    assert all(f"{name}=" in default for name in shown)


@pytest.mark.parametrize(
    "other",
    [
        BayesNetClassifier("nb", "map"),
        BayesNetClassifier("nb"),
        BayesNetClassifier("tan", "map"),
        BayesNetClassifier("tan", "map", n_jobs=2),
        BayesNetClassifier("tan", "map", missing="value"),
        BayesNetClassifier("tan", MaximumAPosteriori(strength=2.0)),
        GreedyEdges("cr"),
        GreedyEdges("cr", 5),
        (SpanningTree(), DiscriminativeCCBN()),
    ],
    ids=settings_of,
)
def test_other_settings_are_other_lines(other):
    assert settings_of(other) != settings_of(BayesNetClassifier())
    if isinstance(other, GreedyEdges):
        assert settings_of(other, n_jobs=2) != settings_of(other, n_jobs=1)


def test_learners_of_a_case_are_told_apart_by_their_settings():
    for case, module in CASES.items():
        lines = [
            settings_of(learner)
            for name, learner in module.LEARNERS.items()
            if name[:6] != "NB-CL,"
        ]
        assert len(lines) == len(set(lines)), case


@pytest.mark.parametrize(
    "case, name, learner", MEASURED, ids=lambda part: part if isinstance(part, str) else ""
)
def test_only_what_is_called_default_leaves_out_its_parameters(case, name, learner):
    """A case that leaves them out measures another classifier as soon as the default is another
    one.
    """
    if not isinstance(learner, BayesNetClassifier):
        return
    default = BayesNetClassifier().get_params()
    if name != "default":
        assert learner.parameters != default["parameters"], case
    else:
        own = learner.get_params()
        assert {key: own[key] for key in own if key not in OWN_TO_A_RUN} == {
            key: default[key] for key in default if key not in OWN_TO_A_RUN
        }


def test_later_settings_are_left_out_with_their_default_only():
    for name, settings in LATER.items():
        made = getattr(discbayes, name)()
        assert {key: made.get_params()[key] for key in settings} == settings
        for key in settings:
            assert not re.search(rf"\b{key}=", settings_of(made))
    assert "ties='parent'" in settings_of(discbayes.GreedyEdges(ties="parent"))
    assert "unlabeled='drop'" in settings_of(BayesNetClassifier("nb", "map", unlabeled="drop"))


# ---- stored results


@pytest.mark.parametrize("case", CASES)
def test_results_were_measured_with_the_settings_of_now(case):
    now = {name: settings_of(learner) for name, learner in CASES[case].LEARNERS.items()}
    rows = [row for row in stored(case) if not row["what"].startswith("import ")]
    for row in rows:
        assert row.get("settings") == now.get(row.get("learner"), ""), (
            f"{row['what']}: {AGAIN.format(case)}"
        )
    assert {row["learner"] for row in rows} == measured_in(case)


def measured_in(case):
    """The learners that have rows of their own; the tree that another one is held against has
    none.
    """
    return set(CASES[case].LEARNERS) - {"TAN-CMI"}


def test_results_of_large_data_were_measured_with_the_settings_of_now():
    pytest.importorskip("pyarrow")
    from scaling import cluster, files, growth
    from scaling.results import Results

    now = {files.CASE: files.SETTINGS, files.PREDICTING: files.SETTINGS}
    now |= {growth.CASE: growth.SETTINGS, cluster.CASE: cluster.SETTINGS}
    lines = list(Results(ROOT / "benchmarks" / "results" / "scale.csv"))
    for line in lines:
        assert line.settings == now[line.case].get(line.what, ""), (
            f"{line.what}: {AGAIN.format('')}"
        )
    for case, settings in now.items():
        without = {line.what for line in lines if line.case == case and not line.settings}
        assert not without & set(settings), case


def test_the_page_of_large_data_is_made_of_its_results():
    pytest.importorskip("pyarrow")
    from scaling import page
    from scaling.results import Results

    text = page.rendered(Results(ROOT / "benchmarks" / "results" / "scale.csv"))
    assert (ROOT / "docs" / "scale.md").read_text(encoding="utf-8") == text, (
        "run benchmarks/scale.py --only"
    )


# ---- tries


@pytest.fixture
def main(monkeypatch):
    # which the module sets, and nothing else should keep
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.delenv("DISCBAYES_DATA", raising=False)
    import run

    suite_data.coded.cache_clear()
    yield run.main
    suite_data.coded.cache_clear()


def test_a_try_runs_what_it_can_and_keeps_nothing(main, capsys, tmp_path):
    assert main(["--smoke", "--only", "nb", "tan", "default", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "NB fit, 300 x 100, vs CategoricalNB" in said
    assert "skipped: DISCBAYES_DATA has no letter" in said
    assert "0 not as required, 2 cases skipped" in said
    assert not list(tmp_path.iterdir())


def test_results_of_a_run_have_their_settings(main, monkeypatch, tmp_path):
    monkeypatch.setattr(CASES["nb"], "N_TRAIN", 300)
    monkeypatch.setattr(CASES["nb"], "N_TEST", 60)
    main(["--only", "nb", "--output", str(tmp_path)])
    with (tmp_path / "nb.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["settings"] for row in rows] == [settings_of(CASES["nb"].LEARNERS["NB"])] * 2


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("published", [False, True])
def test_a_try_has_few_rows_of_all_classes(published):
    whole, few = (
        suite_data.raw("letter", published, smoke, as_frame=True) for smoke in (False, True)
    )
    assert (len(whole.X), len(whole.X_test)) == ((15_000, 5_000) if published else (13_333, 6_667))
    assert 500 < len(few.X) + len(few.X_test) < 700
    assert few.X.shape[1] == suite_data.FEW_COLUMNS
    assert set(few.y) == set(few.y_test) == set(whole.y)
    assert set(few.X.index) <= set(whole.X.index) or not published


def test_ci_tries_all_benchmarks():
    script = ROOT / ".ci" / "run"
    if not script.exists():
        pytest.skip("the source archive has no .ci")
    assert "\nmake bench-smoke\n" in script.read_text(encoding="utf-8")

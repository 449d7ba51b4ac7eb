"""Interrupts: a classifier is as it was or as it will be, Ctrl-C keeps the best so far once,
commands tidy up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from discbayes import (
    BNSVM,
    BayesNetClassifier,
    GreedyEdges,
    HillClimb,
    MaximumConditionalLikelihood,
    load_dataset,
)
from discbayes.classifier import calibrating, fitting
from discbayes.cli import fit, main
from discbayes.engine import Context, Interrupts
from discbayes.evaluation import tasks
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task, run_tasks

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals as POSIX has them")
ROOM = str(Path(fitting.__file__).parent)
ENDS = {"as before", "best so far", "learned", "learned, then interrupted"}


@posix
def test_signals_at_random_moments(times):
    tool = Path(__file__).parents[1] / "support" / "interrupting.py"
    command = [sys.executable, str(tool), str(3 * times), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200 * times)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)  # the tool has checked the classifiers and what is on disk
    assert set().union(*found["fit"].values()) <= ENDS
    assert any("as before" in ends for ends in found["fit"].values())
    for name, ends in found["command"].items():
        code = 130 if name.endswith("SIGINT") else 143
        assert set(ends) <= {
            "exit 0",
            "exit 0, best so far",
            f"exit {code}",
            f"exit {code}, model saved",
        }
        assert name.endswith("SIGINT") or "exit 0, best so far" not in ends
    print(found)


# At every line of the room of the classifier


class AtLine:
    """Ctrl-C at one of the lines of the room of the classifier."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(ROOM):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def interrupted_everywhere(make, learn, check):
    """Learn again and again, each time interrupted one line later; how often it was not the best so
    far.
    """
    number, raised = 0, 0
    old = sys.gettrace()
    while True:
        number, clf = number + 1, make()
        before, tracer = dict(vars(clf)), AtLine(number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                sys.settrace(tracer)
                learn(clf)
            except KeyboardInterrupt:
                raised += 1
            finally:
                sys.settrace(old)
        whole = vars(clf).keys() == before.keys() and all(
            vars(clf)[name] is before[name] for name in before
        )
        check(clf, whole)
        if tracer.left > 0:
            assert not whole
            return raised


def test_a_refit_is_all_or_nothing(iris):
    wine = load_dataset("wine")
    new = wine.X.iloc[:, :3]
    first = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)

    def make():
        clf = BayesNetClassifier("tan", "map")
        clf.__dict__.update(
            {name: value for name, value in vars(first).items() if name.endswith("_")}
        )
        return clf

    def check(clf, whole):
        X = iris.X if whole else new
        assert clf.n_features_in_ == X.shape[1] == clf.network_.structure.n_features
        assert clf.feature_names_in_.tolist() == list(X.columns)
        assert clf.structure_ is clf.network_.structure
        assert (
            clf.sufficient_statistics_ if hasattr(clf, "sufficient_statistics_") else None
        ) is None or clf.sufficient_statistics_.n_samples == len(X)

    assert interrupted_everywhere(make, lambda clf: clf.fit(new, wine.y), check) > 20


def test_counts_are_those_before_or_after(iris):
    new = np.arange(150) % 2 == 1
    domain = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_.domain

    def begin(rows):
        return BayesNetClassifier("nb", "map", domains=domain).partial_fit(
            iris.X[rows], iris.y[rows]
        )

    said = {75: begin(~new).predict_proba(iris.X), 150: begin(new | ~new).predict_proba(iris.X)}

    def check(clf, whole):
        assert clf.sufficient_statistics_.n_samples == (75 if whole else 150)
        np.testing.assert_array_equal(
            clf.predict_proba(iris.X), said[clf.sufficient_statistics_.n_samples]
        )

    def more(clf):
        clf.partial_fit(iris.X[new], iris.y[new])

    assert interrupted_everywhere(lambda: begin(~new), more, check) > 10


@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt])
def test_a_refit_that_fails_leaves_the_old_fit(error, model, iris, monkeypatch):
    before, said = dict(vars(model)), model.predict_proba(iris.X)

    def fail(*given):
        raise error("in the last step")

    monkeypatch.setattr(fitting, "make_network", fail)
    with pytest.raises(error):
        model.fit(iris.X.iloc[:, :2], iris.y)
    monkeypatch.undo()
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict_proba(iris.X), said)


# What an interrupt does


def again_and_again(monkeypatch, key="iteration"):
    """Ctrl-C whenever a step of some kind is recorded; the list gets what was recorded by then."""
    seen, record = [], Context.record

    def interrupt(self, most=None, **step):
        record(self, most, **step)
        if key in step:
            seen.append(step)
            raise KeyboardInterrupt

    monkeypatch.setattr(Context, "record", interrupt)
    return seen


def stop(step):
    raise KeyboardInterrupt


def test_the_first_interrupt_keeps_the_best_so_far_and_the_second_ends_the_fit(iris, monkeypatch):
    seen = again_and_again(monkeypatch)
    clf = BayesNetClassifier("tan", "cl")
    with pytest.warns(
        UserWarning, match="interrupted after 1 iterations: the tables are the best so far"
    ):
        clf.fit(iris.X, iris.y)
    assert len(seen) == 1
    clf = BayesNetClassifier(GreedyEdges(callback=stop), "cl")
    with (
        pytest.warns(UserWarning, match="interrupted; the best structure so far"),
        pytest.raises(KeyboardInterrupt),
    ):
        clf.fit(iris.X, iris.y)
    assert not hasattr(clf, "network_")


def test_an_interrupt_in_a_fold_of_calibration_is_not_swallowed(iris, monkeypatch):
    folds, held_out = [], calibrating._held_out_log_joint

    def interrupted(*given):
        folds.append(again_and_again(monkeypatch))
        return held_out(*given)

    monkeypatch.setattr(calibrating, "_held_out_log_joint", interrupted)
    clf = BayesNetClassifier("tan", "hybrid")
    with pytest.raises(KeyboardInterrupt):
        clf.fit(iris.X, iris.y)
    assert len(folds) == 1
    assert not hasattr(clf, "network_")


def test_an_interrupt_in_a_fold_that_chooses_the_network_ends_the_fit(iris, monkeypatch):
    seen = again_and_again(monkeypatch)
    clf = BayesNetClassifier()
    with pytest.raises(KeyboardInterrupt):
        clf.fit(iris.X, iris.y)
    assert len(seen) == 1
    assert not hasattr(clf, "network_")


def test_an_interrupt_in_a_fold_that_chooses_a_number_ends_the_fit(iris, monkeypatch):
    from discbayes.parameters.svm import descent

    follow, calls = descent.Certificate.follow, []

    def interrupt(*given):
        follow(*given)
        calls.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(descent.Certificate, "follow", interrupt)
    with pytest.raises(KeyboardInterrupt):
        BayesNetClassifier("nb", BNSVM(lam=[1, 4])).fit(iris.X, iris.y)
    assert len(calls) == 1


def test_an_interrupt_while_a_candidate_is_trained_ends_the_search(iris, monkeypatch):
    seen = again_and_again(monkeypatch)
    learner = MaximumConditionalLikelihood(max_iter=5)
    with pytest.warns(
        UserWarning, match="GreedyEdges: interrupted; the best structure so far, with 0 edges"
    ):
        clf = BayesNetClassifier(GreedyEdges(score="cl", parameters=learner), "map").fit(
            iris.X, iris.y
        )
    assert len(seen) == 1
    assert clf.structure_.n_edges == 0


def test_a_run_takes_so_many_interrupts():
    interrupts = Interrupts(2)
    assert [interrupts.take() for _ in range(4)] == [True, True, False, False]


# The command line


def signalled(monkeypatch, number):
    run = fit.run

    def run_and_signal(args):
        os.kill(os.getpid(), number)
        run(args)

    monkeypatch.setattr(fit, "run", run_and_signal)


@posix
@pytest.mark.parametrize(
    "name, code, said", [("SIGTERM", 143, "ended by SIGTERM"), ("SIGINT", 130, "interrupted")]
)
def test_a_command_that_is_told_to_end(name, code, said, run, monkeypatch, tmp_path):
    signalled(monkeypatch, getattr(signal, name))
    # processes in the background may ignore it
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run("fit", "iris", "-o", tmp_path / "model.json") == (
            code,
            "",
            f"discbayes: error: {said}\n",
        )
    finally:
        signal.signal(signal.SIGINT, old)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_second_signal_does_not_end_the_tidying_up(run, monkeypatch):
    tidied = []

    def run_and_tidy(args):
        try:
            os.kill(os.getpid(), signal.SIGHUP)
        finally:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            tidied.append(True)

    monkeypatch.setattr(fit, "run", run_and_tidy)
    old = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        assert run("fit", "iris", "-o", "model.json") == (
            129,
            "",
            "discbayes: error: ended by SIGHUP\n",
        )
        assert tidied == [True]
        assert [signal.getsignal(each) for each in (signal.SIGHUP, signal.SIGTERM)] == [
            signal.SIG_DFL
        ] * 2
    finally:
        signal.signal(signal.SIGHUP, old)


@posix
def test_a_command_under_nohup_goes_on(run, monkeypatch, tmp_path):
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        signalled(monkeypatch, signal.SIGHUP)
        assert (
            run(
                "fit", "iris", "--structure", "nb", "--parameters", "map", "-o", tmp_path / "m.json"
            )[0]
            == 0
        )
    finally:
        signal.signal(signal.SIGHUP, old)


def test_a_command_in_another_thread_leaves_signals_alone(tmp_path):
    from threading import Thread

    codes = []
    call = [
        "fit",
        "iris",
        "--structure",
        "nb",
        "--parameters",
        "map",
        "--quiet",
        "-o",
        str(tmp_path / "model.json"),
    ]
    thread = Thread(target=lambda: codes.append(main(call)))
    thread.start()
    thread.join()
    assert codes == [0]


def test_hill_climbing_on_the_command_line_saves_the_best_so_far(run, monkeypatch, tmp_path):
    seen = again_and_again(monkeypatch, "edge")
    command = [
        "fit",
        "breast-cancer",
        "--structure",
        "ghc",
        "--parameters",
        "map",
        "--quiet",
        "-o",
        tmp_path / "m.json",
    ]
    code, _, err = run(*command)
    assert (code, len(seen)) == (0, 1)
    not_used, interrupted = err.splitlines()
    assert "3 of 30 columns are not used" in not_used
    assert interrupted.startswith(
        "discbayes: warning: HillClimb: interrupted; the best structure so far, with"
    )
    assert HillClimb.__name__ in err


# Many fits whose results are kept


def fit_and_say(task):
    """A task: whether the fit was interrupted is in no result."""
    iris = load_dataset("iris")
    for recipe in task.recipes:
        BayesNetClassifier("tan", "cl").fit(iris.X, iris.y)
        yield task.result(recipe, {"accuracy": 1.0}, 0.0)


def test_an_interrupt_ends_a_run_of_many_fits_and_keeps_no_part_of_one(monkeypatch, tmp_path):
    seen = again_and_again(monkeypatch)
    store = Store(tmp_path / "rows.csv", ["accuracy"])
    with pytest.raises(KeyboardInterrupt):
        run_tasks([Task("iris", 0, ("TAN-CMI-CL",), 0, fit_and_say)], store)
    assert (len(seen), len(store)) == (1, 0)
    with pytest.raises(KeyboardInterrupt):  # as another process runs it
        tasks._run(Task("iris", 0, ("TAN-CMI-CL",), 0, fit_and_say))
    assert Interrupts().take()


def test_an_interrupt_ends_a_cross_validation(run, monkeypatch):
    seen = again_and_again(monkeypatch)
    found = run(
        "evaluate", "iris", "--structure", "tan", "--parameters", "cl", "--cv", "2", "--quiet"
    )
    assert found == (130, "", "discbayes: error: interrupted\n")
    assert len(seen) == 1

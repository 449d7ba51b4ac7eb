"""One model in eight threads, models in many processes: the same bits, and nobody waits for
ever.
"""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from discbayes import KDB, BayesNetClassifier, load_dataset
from discbayes.engine import parallel_map, threads

N = 8
PATIENCE = 120  # seconds after which a process hangs
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@pytest.fixture(scope="module")
def heart():
    """Rows with gaps, and a model of them whose gaps need elimination."""
    data = load_dataset("breast-cancer")
    X = data.X.iloc[:, :8].copy()
    X.iloc[::3, 2] = np.nan
    X.iloc[::4, 5] = np.nan
    return BayesNetClassifier(KDB(k=2), "map", n_jobs=2).fit(X, data.y), X, data.y


def at_once(work, items):
    """What a function gives for each item, all of them begun at the same moment in a thread
    each.
    """
    gate = Barrier(len(items))

    def one(item):
        gate.wait()
        return work(item)

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(one, items))


def answers(model, X):
    """All kinds of answers of a model, as bytes."""
    rows = X.iloc[:40]
    told = model.explain(X.iloc[[3]])
    drawn, labels = model.network_.sample(200, random_state=3)
    asked = model.value_of_information(X.iloc[[3]])
    return (
        model.predict_proba(X).tobytes(),
        model.predict(X).tobytes(),
        model.predict_joint_log_proba(rows).tobytes(),
        repr(told),
        repr(asked),
        drawn.to_csv(),
        labels.tobytes(),
        model.network_.fill(rows).to_csv(),
        repr(model.network_.query(["mean radius", "mean area"])),
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_eight_threads_ask_one_model(heart, n_jobs, monkeypatch):
    monkeypatch.setattr(threads, "THREAD_WORK", 0)
    model, X, _ = heart
    # nothing that is made at first use has been made
    fresh = pickle.dumps(model.set_params(n_jobs=n_jobs))
    alone = answers(pickle.loads(fresh), X)
    shared = pickle.loads(fresh)
    assert at_once(lambda _: answers(shared, X), range(N)) == [alone] * N


def test_eight_threads_learn_different_models(heart):
    _, X, y = heart
    settings = [(s, p, k) for s in ("nb", "tan") for p in ("map", "cl") for k in (4, 8)]

    def learn(setting):
        structure, parameters, n_columns = setting
        clf = BayesNetClassifier(structure, parameters, n_jobs=2).fit(X.iloc[:, :n_columns], y)
        return clf.network_.parameters.log_theta.tobytes()

    assert at_once(learn, settings) == [learn(setting) for setting in settings]


def test_maps_within_maps_on_eight_threads(monkeypatch):
    monkeypatch.setattr(threads, "THREAD_WORK", 0)

    def rows(k):
        return sum(parallel_map(lambda i: i * k, range(20), 4))

    found = at_once(lambda k: parallel_map(rows, range(k, k + 5), 4), range(N))
    assert found == [[190 * i for i in range(k, k + 5)] for k in range(N)]


# Processes


def said_by_child(model, X, n_jobs=2):
    """What a model says in another process, where it learns too."""
    threads.THREAD_WORK = 0
    model.set_params(n_jobs=n_jobs)
    return model.predict_proba(X).tobytes(), parallel_map(len, ["a", "bb", "ccc"], n_jobs)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_of_every_kind(method, heart, monkeypatch):
    monkeypatch.setattr(threads, "THREAD_WORK", 0)
    model, X, _ = heart
    here = said_by_child(model, X)  # this process has threads of its own by now
    assert threads._pool()._threads
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(said_by_child, (model, X)).get(PATIENCE) == here
        assert pool.apply_async(said_by_child, (model, X, 1)).get(PATIENCE) == here


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_fork_while_other_threads_work(heart, times):
    model, X, y = heart
    context = multiprocessing.get_context("fork")
    here = model.predict_proba(X).tobytes()
    with ThreadPoolExecutor(4) as pool:
        busy = [
            pool.submit(BayesNetClassifier("tan", "cl", n_jobs=2).fit, X, y)
            for _ in range(4 * times)
        ]
        for _ in range(4 * times):
            with context.Pool(1) as child:
                assert child.apply_async(said_by_child, (model, X)).get(PATIENCE)[0] == here
        for one in busy:
            one.result()


def test_a_grid_search_in_processes(heart, times):
    if times == 1:
        pytest.skip("two more processes; tests/classifier has one: make faults")
    _, X, y = heart
    grid = {"structure": ["nb", "tan"], "parameters": ["map", "hybrid"]}
    searches = [
        GridSearchCV(BayesNetClassifier(), grid, cv=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    ]
    one, two = (search.cv_results_["mean_test_score"].tobytes() for search in searches)
    assert one == two

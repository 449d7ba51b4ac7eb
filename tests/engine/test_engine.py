"""Threads: order, exceptions, folding; blocks; progress and the trace of a run."""

from __future__ import annotations

import io
import threading
import time

import numpy as np
import pytest

from discbayes.engine import Context, Progress, parallel_map, row_blocks, worker_count


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_results_come_in_the_order_of_the_items(n_jobs):
    def slow_first(item):
        time.sleep(0.002 * (10 - item))
        return item * item

    assert parallel_map(slow_first, range(10), n_jobs) == [k * k for k in range(10)]


def test_threads_are_used_only_where_there_is_work():
    def who(_):
        time.sleep(0.01)
        return threading.get_ident()

    assert set(parallel_map(who, range(6), n_jobs=2, work=10.0)) == {threading.get_ident()}
    assert len(set(parallel_map(who, range(6), n_jobs=2))) == 2
    assert set(parallel_map(who, range(6), n_jobs=1)) == {threading.get_ident()}


def test_nothing_to_do():
    assert parallel_map(lambda item: item, [], n_jobs=2) == []


@pytest.mark.parametrize("bad", [0, 7, 19])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_exceptions_propagate_from_any_thread(n_jobs, bad):
    def fail(item):
        time.sleep(0.001)
        if item == bad:
            raise KeyError(f"item {item}")
        return item

    with pytest.raises(KeyError, match=f"item {bad}"):
        parallel_map(fail, range(20), n_jobs)


def test_an_exception_of_a_worker_thread_is_not_lost():
    main = threading.get_ident()

    def fail_elsewhere(item):
        time.sleep(0.005)
        if threading.get_ident() != main:
            raise RuntimeError("in a worker")

    with pytest.raises(RuntimeError, match="in a worker"):
        parallel_map(fail_elsewhere, range(8), n_jobs=2)


def test_after_an_exception_no_new_items_are_taken():
    taken = []

    def fail_first(item):
        taken.append(item)
        time.sleep(0.002)
        if item == 0:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        parallel_map(fail_first, range(200), n_jobs=2)
    assert len(taken) < 20


@pytest.mark.parametrize("n_rows, size", [(0, 4), (1, 4), (4, 4), (5, 4), (100, 7)])
def test_blocks_cover_every_row_once(n_rows, size):
    blocks = row_blocks(n_rows, size)
    covered = [row for block in blocks for row in range(block.start, block.stop)]
    assert covered == list(range(n_rows))
    assert all(block.start % size == 0 for block in blocks)


def test_worker_count():
    assert worker_count(None) == 1
    assert worker_count(3) == 3
    assert worker_count(-1) >= 1
    with pytest.raises(ValueError, match="n_jobs"):
        worker_count(0)


@pytest.mark.parametrize(
    "verbose, expected", [(0, ""), (1, "[discbayes] a\n"), (2, "[discbayes] a\n[discbayes]   b\n")]
)
def test_progress_says_what_was_asked_for(verbose, expected):
    stream = io.StringIO()
    progress = Progress(verbose, stream)
    progress.stage("a")
    progress.step("b")
    assert stream.getvalue() == expected


def test_values_of_many_lines_are_shown_on_one():
    stream = io.StringIO()
    Progress(1, stream).stage("by {learner}", learner="A(b=1,\n  c=2)")
    assert stream.getvalue() == "[discbayes] by A(b=1, c=2)\n"


def test_progress_goes_to_the_error_stream(capsys):
    Progress(1).stage("counting")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "[discbayes] counting\n"


def test_a_context_records_steps_with_their_time():
    stream = io.StringIO()
    context = Context(progress=Progress(2, stream))
    context.record(edge=("a", "b"), score=0.5)
    time.sleep(0.002)
    context.record(edge=("b", "c"), score=0.25)
    first, second = context.history
    assert first["edge"] == ("a", "b")
    assert first["score"] == 0.5
    assert 0 <= first["seconds"] < second["seconds"]
    assert "edge ('a', 'b'), score 0.5" in stream.getvalue()
    quiet = Context(progress=Progress(1, io.StringIO()))
    quiet.record(edge=("a", "b"))
    assert quiet.progress._stream.getvalue() == ""


def test_contexts_share_nothing():
    one, two = Context(), Context()
    one.record(step=1)
    assert two.history == []
    assert one.rng.random() == two.rng.random() == np.random.default_rng(0).random()

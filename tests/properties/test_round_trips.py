"""What goes out comes back: files, pickles, clones, BIF, frames of every make, some of the rows,
the same fit again.
"""

from __future__ import annotations

import pickle
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st
from sklearn.base import clone

import discbayes
from discbayes import BayesNetClassifier
from discbayes.engine import threads
from drawn_learners import classifiers, structures
from drawn_tables import FRAMES, PLAIN_KINDS, tables
from judging_fits import assert_same_network, fit_or_refuse
from properties import for_all

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@for_all(25, clf=classifiers(), table=tables())
def test_a_model_saved_and_loaded_is_the_same_to_the_bit(folder, clf, table):
    fitted = fit_or_refuse(clf, table, "pyarrow")
    if fitted is None:
        return
    fitted.save(folder / "model.json")
    loaded = discbayes.load(folder / "model.json")
    assert_same_network(loaded, fitted)
    assert loaded.classes_.dtype.kind == fitted.classes_.dtype.kind
    assert repr(clone(loaded)) == repr(clone(fitted))
    assert loaded.n_features_in_ == fitted.n_features_in_
    assert list(loaded.feature_names_in_) == list(fitted.feature_names_in_)
    assert len(loaded.history_) == len(fitted.history_)
    X = table.frame("pyarrow")
    assert loaded.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    loaded.save(folder / "again.json")
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()


@for_all(20, clf=classifiers(), table=tables(), how=st.sampled_from(FRAMES))
def test_pickles_clones_and_a_second_fit_are_the_same_to_the_bit(clf, table, how):
    X, before = table.frame(how), deepcopy(table.frame(how))
    fitted = fit_or_refuse(clf, table, how)
    if fitted is None:
        return
    expected = fitted.predict_proba(X).tobytes()
    pickled = pickle.loads(pickle.dumps(fitted))
    assert pickled.predict_proba(X).tobytes() == expected
    assert repr(clone(pickled)) == repr(clone(fitted)) == repr(clone(clf))
    again = fitted.fit(X, table.labels, table.weight)
    assert_same_network(again, pickled)
    assert again.predict_proba(X).tobytes() == expected
    assert str(X) == str(before)


@for_all(20, clf=classifiers(), table=tables(), seed=st.integers(0, 999))
def test_some_rows_are_answered_as_among_all(clf, table, seed):
    fitted = fit_or_refuse(clf, table, "objects")
    if fitted is None:
        return
    rng = np.random.default_rng(seed)
    rows = rng.permutation(table.n_rows)[: rng.integers(1, table.n_rows + 1)]
    whole, part = table.frame("objects"), table.take(rows).frame("objects")
    for answer in (fitted.predict_joint_log_proba, fitted.predict_proba, fitted.predict):
        np.testing.assert_array_equal(answer(part), answer(whole)[rows])


def has_values(table):
    """Whether no column is nothing but gaps, which has a type in some frames and none in others."""
    return all(any(value is not None for value in column.cells) for column in table.columns)


@for_all(
    20,
    clf=classifiers(("nb", "tan", "kdb")),
    table=tables(PLAIN_KINDS, ("none", "none", "scattered"), most_rows=40).filter(has_values),
    hows=st.permutations(FRAMES),
)
def test_frames_of_every_make_give_the_same_model(clf, table, hows):
    # folds of calibration know names, arrays have none
    if table.names != [f"x{k}" for k in range(len(table.columns))]:
        clf.set_params(calibrate=None)
    models = [fit_or_refuse(clf, table, how) for how in hows[:3]]
    assert len({model is None for model in models}) == 1
    if models[0] is None:
        return
    expected = models[0].predict_proba(table.frame(hows[0]))
    for model, how in zip(models, hows, strict=False):
        assert model.structure_ == models[0].structure_
        np.testing.assert_array_equal(model.predict_proba(table.frame(how)), expected)
    rows = table.frame("objects")
    np.testing.assert_array_equal(models[0].predict_proba(rows), expected)


@for_all(25, clf=classifiers(n_jobs=1), table=tables(most_rows=40))
def test_threads_change_no_bit(clf, table):
    one = fit_or_refuse(clf, table, "objects")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "THREAD_WORK", 0.0)  # however little there is to do
        two = fit_or_refuse(clone(clf).set_params(n_jobs=3), table, "objects")
        assert (one is None) == (two is None)
        if one is not None:
            assert_same_network(one, two)
            assert (
                one.predict_proba(table.frame("objects")).tobytes()
                == two.predict_proba(table.frame("objects")).tobytes()
            )


@for_all(
    25, structure=structures(), table=tables(), missing=st.sampled_from(["available", "value"])
)
def test_a_network_written_as_bif_and_read_again_says_the_same(folder, structure, table, missing):
    clf = BayesNetClassifier(structure, "map", missing=missing, random_state=0)
    fitted = fit_or_refuse(clf, table, "pyarrow")
    if fitted is None:
        return
    net = fitted.network_
    net.to_bif(folder / "net.bif")
    read = discbayes.read_bif(folder / "net.bif")
    assert read.domain == net.domain
    assert read.structure == net.structure
    X = table.frame("pyarrow")
    np.testing.assert_allclose(read.posterior(X), net.posterior(X), atol=1e-9)


SEARCHES_BY_COUNTS = ("nb", "tan", "tan-fcll", "tan-acll", "kdb")


@for_all(
    30,
    name=st.sampled_from(SEARCHES_BY_COUNTS),
    parameters=st.sampled_from(["ml", "map"]),
    table=tables(("bool", "text"), weights=(None, "whole", "broken")),
    cuts=st.lists(st.integers(1, 40), max_size=3),
)
def test_rows_in_parts_are_the_same_as_all_at_once(name, parameters, table, cuts):
    clf = BayesNetClassifier(name, parameters)
    whole = clone(clf).fit(table.frame("pyarrow"), table.labels, table.weight)
    borders = [0, *sorted({cut for cut in cuts if cut < table.n_rows}), table.n_rows]
    for start, end in pairwise(borders):
        part = table.take(range(start, end))
        clf.partial_fit(
            part.frame("pyarrow"), part.labels, classes=table.labels, sample_weight=part.weight
        )
    assert clf.classes_.tolist() == whole.classes_.tolist()
    assert clf.structure_ == whole.structure_
    np.testing.assert_allclose(
        clf.predict_proba(table.frame("pyarrow")),
        whole.predict_proba(table.frame("pyarrow")),
        atol=1e-12,
    )


@for_all(
    10,
    clf=classifiers(("nb", "tan", "kdb")),
    table=tables(PLAIN_KINDS, weights=(None, None, "whole", "broken"), most_rows=40),
    rows=st.integers(1, 50),
)
def test_rows_in_a_file_are_the_same_as_in_memory(folder, clf, table, rows):
    whole = fit_or_refuse(clf, table, "pyarrow")
    target, weight = ("the class", "the weight")
    file = table.frame("pyarrow").append_column(target, pa.array(table.labels.tolist()))
    if table.weight is not None:
        file = file.append_column(weight, pa.array(table.weight))
    pq.write_table(file, folder / "rows.parquet", row_group_size=rows)
    try:
        read = clone(clf).fit(
            folder / "rows.parquet", target, None if table.weight is None else weight
        )
    except ValueError:
        assert whole is None
        return
    assert [v.values or v.cuts for v in read.network_.domain.features] == [
        v.values or v.cuts for v in whole.network_.domain.features
    ]
    assert read.structure_ == whole.structure_
    assert (
        read.network_.parameters.log_theta.tobytes()
        == whole.network_.parameters.log_theta.tobytes()
    )
    X = table.frame("pyarrow")
    assert read.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()

"""Any table, any learner, any setting: a classifier that answers every row, or an error that says
what is wrong.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from discbayes import BayesNetClassifier
from discbayes.parameters import PARAMETERS
from discbayes.search import STRUCTURES
from drawn_learners import classifiers, structure_of
from drawn_tables import FRAMES, tables
from judging_fits import assert_probabilities, fit_or_refuse
from properties import for_all

# of one class, of light weights, of lost columns
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def answers_everything(clf, table, how):
    """Rows as they are, with more gaps, with values that were never seen, and without any value."""
    n_rows, n_classes = table.n_rows, clf.classes_.size
    odd = table.changed(lambda value: value + "?", ("text",)).changed(
        lambda value: value / 3 + 1, ("float", "number")
    )
    without = table.hidden(np.ones((n_rows, len(table.columns)), bool))
    for rows in (table, odd, without):
        X = rows.frame(how)
        shares = clf.predict_proba(X)
        assert_probabilities(shares, n_rows, n_classes)
        logs = clf.predict_log_proba(X)
        np.testing.assert_allclose(np.exp(logs), shares, atol=1e-9)
        decisions = clf.predict(X)
        assert set(decisions.tolist()) <= set(clf.classes_.tolist())
        chosen = shares[np.arange(n_rows), np.searchsorted(clf.classes_, decisions)]
        assert (chosen >= shares.max(axis=1) - 1e-9).all()
        if rows is without and clf.calibration_ is None:
            prior = clf.network_.query(clf.network_.domain.target.name).probabilities
            np.testing.assert_allclose(shares, np.tile(prior, (n_rows, 1)), atol=1e-9)
            if clf.network_.parameters.is_normalized:
                np.testing.assert_allclose(clf.network_.prior, prior, atol=1e-9)
        joint = clf.predict_joint_log_proba(X)
        assert not np.isnan(joint).any()
        assert (joint < np.inf).all()


@for_all(50, clf=classifiers(), table=tables(), how=st.sampled_from(FRAMES))
def test_a_fit_answers_every_row_or_says_what_is_wrong(clf, table, how):
    fitted = fit_or_refuse(clf, table, how)
    if fitted is not None:
        answers_everything(fitted, table, how)


@pytest.mark.parametrize("name", STRUCTURES)
@for_all(5, table=tables(most_rows=40), seed=st.integers(0, 9))
def test_every_structure_answers_every_row(name, table, seed):
    clf = BayesNetClassifier(structure_of(name), "map", random_state=seed)
    answers_everything(clf.fit(table.frame(), table.labels, table.weight), table, "pandas")


@pytest.mark.parametrize("name", PARAMETERS)
@for_all(4, table=tables(most_rows=40), calibrate=st.sampled_from([None, "auto"]))
def test_all_parameters_answer_every_row(name, table, calibrate):
    clf = BayesNetClassifier("tan", name, calibrate=calibrate, calibrate_folds=2, random_state=0)
    answers_everything(clf.fit(table.frame(), table.labels, table.weight), table, "pandas")

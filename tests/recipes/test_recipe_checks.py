"""scikit-learn's checks of an estimator, on every recipe.

``make check-recipes`` runs them all; each run of the tests has a few, others every day.
"""

from __future__ import annotations

import datetime
import os

import numba
import pytest
from sklearn.utils.estimator_checks import check_estimator

from discbayes import recipe, recipes

# up to minutes each: penalties and structures chosen in folds
SLOW = ("BNSVM", "SA-", "MM", "CRCL", "2-tree")
# A row of weight two is not the row twice where rows are met one after the other (DFE), nor where
# folds of rows choose λ (margins): such a row is held out as a whole, its copies are not.
UNLIKE_REPEATED_ROWS = ("DFE", "MM")
A_DAY = 3
TAGS = sorted({known.tag for known in recipes()})
QUICK = [tag for tag in TAGS if not any(slow in tag for slow in SLOW)]
TODAY = datetime.date.today().toordinal() * A_DAY
CHOSEN = (
    TAGS
    if os.environ.get("DISCBAYES_RECIPES") == "all"
    else [QUICK[(TODAY + k) % len(QUICK)] for k in range(A_DAY)]
)


@pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="scikit-learn's checks are for the compiled library"
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tag", CHOSEN)
def test_scikit_learn_checks_pass_for_a_recipe(tag):
    results = check_estimator(recipe(tag), on_fail=None)
    bad = [(r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")]
    if any(part in tag for part in UNLIKE_REPEATED_ROWS):
        bad = [
            (name, exception) for name, exception in bad if "sample_weight_equivalence" not in name
        ]
    assert not bad


@pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="scikit-learn's checks are for the compiled library"
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tag", ["TAN-SA-CR-ML", "2-tree-OMI-CR-CL"])
def test_a_recipe_with_folds_refuses_a_single_row_by_its_number(tag):
    with pytest.raises(ValueError, match="n_samples=1"):
        recipe(tag).fit([[1.0, 2.0]], [1])

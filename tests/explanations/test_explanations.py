"""Contributions to log odds against enumeration over all states, and how they are told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit, logsumexp

import oracle
from believing import enumerated_pool, named, random_pool
from discbayes import KDB, BayesNet, BayesNetClassifier, load_dataset
from discbayes.calibration import CalibratedPosterior, Isotonic, Temperature
from discbayes.data.domain import Domain, Variable
from discbayes.explanations import explain, steps
from discbayes.explanations.dependence import Dependence
from discbayes.network import CPTs, Layout, Structure

KINDS = ["naive", "forest", "any"]


def network_of(tables, **options):
    features = [
        Variable(f"x{i}", "categorical", tuple(f"v{k}" for k in range(c)))
        for i, c in enumerate(tables.cards)
    ]
    classes = Variable("y", "categorical", tuple(f"c{k}" for k in range(tables.n_classes)))
    return BayesNet(Domain(tuple(features), classes), tables, **options)


def beliefs_of(tables, calibration=None, log_prior=None, **options):
    network = network_of(tables, **options)
    return CalibratedPosterior(
        network, np.array(network.domain.target.values), calibration, log_prior
    )


def make(seed, kind="any", normalized=True, zeros=False, n_classes=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    cards = rng.integers(1, 4, size=n)
    structure = {
        "naive": Structure.naive,
        "forest": lambda n: oracle.random_forest(rng, n),
        "any": lambda n: oracle.random_structure(rng, n),
    }[kind](n)
    n_classes = int(rng.integers(2, 5)) if n_classes is None else n_classes
    return oracle.random_tables(
        rng, structure, cards, n_classes, normalized, zeros
    ), oracle.every_pattern(rng, cards)


def against_rest(scores, c):
    return scores[c] - logsumexp(np.delete(scores, c))


def enumerated(tables, row, against=None):
    """The log odds before anything is known, and what each known feature adds, straight from the
    definition.
    """
    joint, n_classes = oracle.full_joint(tables), tables.n_classes

    def odds(known):
        scores = np.log(
            oracle.selected(joint, tables.cards, known).reshape(-1, n_classes).sum(axis=0)
        )
        if against is not None:
            return scores - scores[against]
        return np.array([against_rest(scores, c) for c in range(n_classes)])

    known = tables.cards.copy()
    base = before = odds(known)
    parts = np.full((tables.cards.size, n_classes), np.nan)
    for i in tables.structure.order:
        if row[i] < tables.cards[i]:
            known[i] = row[i]
            after = odds(known)
            parts[i], before = after - before, after
    return base, parts


def total(explanation):
    return explanation.base + np.nansum(explanation.contributions, axis=1)


# ---- contributions


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_contributions_equal_enumeration_on_every_pattern_of_gaps(kind, normalized, seed):
    tables, codes = make(seed, kind, normalized)
    for against in (None, tables.n_classes - 1):
        found = explain(beliefs_of(tables), codes, against)
        for m, row in enumerate(codes.T):
            base, parts = enumerated(tables, row, against)
            np.testing.assert_allclose(found.base, base, rtol=0, atol=1e-10)
            np.testing.assert_allclose(found.contributions[m], parts, rtol=0, atol=1e-10)
        np.testing.assert_allclose(total(found), found.log_odds, rtol=0, atol=1e-10)


@pytest.mark.parametrize("missing_value", [(), (0, 1, 3)])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_contributions_of_a_pool_equal_enumeration(kind, seed, zeros, missing_value):
    """The features of a row become known under the weights of the whole row."""
    tables, codes = make(seed, kind, zeros=zeros)
    network = named(tables, missing_value)
    pool = random_pool(np.random.default_rng(seed), network, zeros)
    beliefs = CalibratedPosterior(network, np.arange(tables.n_classes), pool)
    found = explain(beliefs, codes)
    np.testing.assert_allclose(total(found), found.log_odds, rtol=0, atol=1e-10)
    for m, row in enumerate(codes.T):
        assert found.impossible[m] == (beliefs.log_joint(row[:, None]) == -np.inf).all()
        if found.impossible[m]:
            assert not np.nansum(np.abs(found.contributions[m]))
            continue

        def odds(known, row=row):
            logs = enumerated_pool(beliefs, row, known)
            return np.array([against_rest(logs, c) for c in range(tables.n_classes)])

        known = tables.cards.copy()
        before = odds(known)
        np.testing.assert_allclose(found.base_of(m), before, rtol=0, atol=1e-10)
        for i in tables.structure.order:
            if row[i] < tables.cards[i]:
                known[i] = row[i]
                after = odds(known)
                np.testing.assert_allclose(found.contributions[m, i], after - before, atol=1e-10)
                before = after


def test_without_calibration_a_contribution_is_the_log_ratio_of_the_value():
    """log P(x_i | known earlier, c) − log P(x_i | known earlier, not c), for the last of two
    features.
    """
    tables = oracle.random_tables(np.random.default_rng(1), Structure(((), (0,))), [3, 3], 3)
    joint, row = oracle.full_joint(tables), [2, 1]
    found = explain(beliefs_of(tables), np.array([row], np.uint8).T)
    own = joint[2, 1] / joint[2].sum(axis=0)
    others = [
        np.delete(joint[2, 1], c).sum() / np.delete(joint[2], c, axis=1).sum() for c in range(3)
    ]
    np.testing.assert_allclose(found.contributions[0, 1], np.log(own) - np.log(others), atol=1e-12)


def calibrations(rng, n_classes):
    shares = rng.dirichlet(np.full(n_classes, 3.0))
    odds = tuple(np.sort(rng.normal(0, 3, 6)) for _ in range(n_classes))
    probabilities = tuple(np.sort(rng.uniform(0.01, 0.99, 6)) for _ in range(n_classes))
    return [
        None,
        Temperature(shares, 2.5),
        Temperature(shares, 0.3),
        Isotonic(shares, odds, probabilities),
    ]


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("normalized", [True, False])
def test_contributions_add_up_to_the_log_odds_of_the_posterior(normalized, seed, prior):
    tables, codes = make(seed + 20, KINDS[seed % 3], normalized)
    rng = np.random.default_rng(seed)
    log_prior = np.log(rng.dirichlet(np.full(tables.n_classes, 2.0))) if prior else None
    for calibration in calibrations(rng, tables.n_classes):
        beliefs = beliefs_of(tables, calibration, log_prior)
        found = explain(beliefs, codes)
        logs = beliefs.log_posterior(codes)
        expected = np.array(
            [[against_rest(row, c) for c in range(tables.n_classes)] for row in logs]
        )
        np.testing.assert_allclose(total(found), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(total(found), found.log_odds, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.posterior, beliefs.posterior(codes), rtol=0, atol=1e-12)
        against = explain(beliefs, codes, 0)
        np.testing.assert_allclose(total(against), logs - logs[:, :1], rtol=0, atol=1e-10)
        np.testing.assert_array_equal(
            np.isnan(found.contributions[:, :, 0]), tables.cards <= codes.T
        )


def test_odds_are_exact_where_a_probability_is_one_to_the_last_digit():
    """Forty columns, each with the odds 1000 : 1, and P(c | x) that rounds to 1 after six of
    them.
    """
    structure = Structure.naive(40)
    theta = np.log(np.tile([[1000 / 1001, 1 / 1001], [1 / 1001, 1000 / 1001]], (40, 1)).ravel())
    tables = CPTs(Layout(structure, np.full(40, 2), 2), np.log([0.5, 0.5]), theta)
    found = explain(beliefs_of(tables), np.zeros((40, 1), np.uint8))
    np.testing.assert_allclose(found.contributions[0, :, 0], np.log(1000), rtol=1e-12)
    np.testing.assert_allclose(
        found.log_odds[0], [40 * np.log(1000), -40 * np.log(1000)], rtol=1e-12
    )
    assert found.posterior[0, 0] == 1.0
    assert found.text().endswith("for c0, which has the probability 1 − 1e-120")


def test_two_classes_mirror_each_other():
    for seed in range(5):
        tables, codes = make(seed, n_classes=2)
        found = explain(beliefs_of(tables, Temperature(np.array([0.3, 0.7]), 1.7)), codes)
        np.testing.assert_allclose(
            found.contributions[..., 0], -found.contributions[..., 1], rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(found.base[0], -found.base[1])


def test_one_class_is_certain_and_nothing_moves_it():
    tables, codes = make(3, n_classes=1)
    found = explain(beliefs_of(tables), codes)
    assert (found.base == np.inf).all()
    assert (found.log_odds == np.inf).all()
    assert np.nansum(np.abs(found.contributions)) == 0
    assert (
        found.text()
        .splitlines()[-1 - (codes[:, 0] >= tables.cards).any()]
        .endswith("which has the probability 1")
    )


def test_a_row_without_values_has_the_base_and_nothing_else():
    tables, codes = make(5, n_classes=3)
    found = explain(beliefs_of(tables), codes)
    np.testing.assert_allclose(found.log_odds[-1], found.base)
    assert np.isnan(found.contributions[-1]).all()
    np.testing.assert_allclose(found.posterior[-1], np.exp(tables.log_prior))
    lines = found.text(codes.shape[1] - 1).splitlines()
    assert [line.split(":")[0] for line in lines] == ["prior", "sum", "unknown"]


def test_no_rows():
    tables, codes = make(5)
    found = explain(beliefs_of(tables), codes[:, :0])
    assert found.contributions.shape == (0, tables.cards.size, tables.n_classes)
    with pytest.raises(ValueError, match="row=0 is not one of the 0 rows"):
        found.text()


def test_blocks_of_rows_change_nothing(monkeypatch):
    tables, codes = make(12, n_classes=3)
    whole = explain(beliefs_of(tables), codes)
    monkeypatch.setattr(steps, "BATCH_CELLS", 100)
    parts = explain(beliefs_of(tables), codes)
    np.testing.assert_allclose(parts.contributions, whole.contributions, atol=1e-13)
    np.testing.assert_allclose(parts.log_odds, whole.log_odds, atol=1e-13)


@pytest.mark.filterwarnings("ignore::discbayes.EstimateWarning")
def test_estimates_by_draws_add_up_to_the_same_estimate():
    rng = np.random.default_rng(0)
    structure = Structure(((), (0,), (0, 1), (0, 1), (2, 3), (3, 4)))
    tables = oracle.random_tables(rng, structure, np.full(6, 3), 3)
    beliefs = beliefs_of(tables, max_cells=1, beyond_max_cells=50)
    codes = oracle.every_pattern(rng, tables.cards)
    np.testing.assert_allclose(
        total(explain(beliefs, codes)), logit(beliefs.posterior(codes)), rtol=0, atol=1e-10
    )


# ---- infinite odds


def impossible_tables():
    """Three classes, two columns: x0 = 1 is impossible in class 0, x1 = 1 in classes 1 and 2."""
    x0 = np.array([[0.5, 0.5, 0.2], [0.0, 0.3, 0.4], [0.5, 0.2, 0.4]])
    x1 = np.array([[0.5, 1.0, 1.0], [0.5, 0.0, 0.0]])
    with np.errstate(divide="ignore"):
        theta = np.log(np.concatenate([x0.ravel(), x1.ravel()]))
    return CPTs(Layout(Structure.naive(2), np.array([3, 2]), 3), np.log([0.5, 0.3, 0.2]), theta)


@pytest.mark.parametrize("temperature", [None, 2.0])
def test_values_that_rule_classes_out(temperature):
    calibration = (
        None if temperature is None else Temperature(np.array([0.5, 0.3, 0.2]), temperature)
    )
    beliefs = beliefs_of(impossible_tables(), calibration)
    found = explain(beliefs, np.array([[1, 0], [0, 1], [1, 1], [2, 0]], np.uint8).T)
    assert found.contributions[0, :, 0].tolist() == [-np.inf, 0.0]  # class 0 is out, and stays out
    assert np.isfinite(found.contributions[0, :, 1:]).all()
    assert found.contributions[1, 1].tolist() == [np.inf, -np.inf, -np.inf]
    assert found.impossible.tolist() == [False, False, True, False]
    assert not found.contributions[2].any()  # possible in no class: nothing but the prior counts
    np.testing.assert_allclose(found.log_odds[2], found.base)
    np.testing.assert_allclose(total(found), found.log_odds, atol=1e-12)
    np.testing.assert_allclose(
        found.posterior, beliefs.posterior(np.array([[1, 0, 1, 2], [0, 1, 1, 0]], np.uint8))
    )
    assert "x1 = v1: +∞ for c0" in found.text(1)
    assert "no class can have these values together" in found.text(2)
    assert "x0" not in found.text(2)


def test_classes_that_are_both_impossible_keep_their_odds():
    found = explain(beliefs_of(impossible_tables()), np.array([[0, 1]], np.uint8).T, against=2)
    assert found.base[2] == found.log_odds[0, 2] == 0
    assert found.contributions[0, 1].tolist() == [np.inf, 0.0, 0.0]
    np.testing.assert_allclose(found.log_odds[0, 1], found.base[1] + np.log(0.5 / 0.2))


@pytest.mark.parametrize("seed", range(8))
def test_no_known_value_has_an_undefined_contribution(seed):
    tables, codes = make(seed, KINDS[seed % 3], zeros=True)
    prior = np.eye(tables.n_classes)[0] * 0.5 + np.eye(tables.n_classes)[-1] * 0.5
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    for beliefs in (beliefs_of(tables), beliefs_of(tables, log_prior=log_prior)):
        for against in (None, 0, 1):
            found = explain(beliefs, codes, against)
            np.testing.assert_array_equal(
                np.isnan(found.contributions).any(axis=2), tables.cards <= codes.T
            )
            assert not np.isnan(found.log_odds).any()
            np.testing.assert_allclose(total(found), found.log_odds, atol=1e-10)
        joint = oracle.log_joint(tables, codes) + (
            0 if beliefs.log_prior is None else beliefs.log_prior
        )
        np.testing.assert_array_equal(found.impossible, (joint == -np.inf).all(axis=1))


# ---- what a value is given


def independent(joint, i, j):
    """Whether two axes are independent given all others."""
    product = joint.sum(axis=i, keepdims=True) * joint.sum(axis=j, keepdims=True)
    return np.allclose(joint * joint.sum(axis=(i, j), keepdims=True), product, rtol=1e-9, atol=0)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_given_is_conditional_dependence_in_random_tables(seed, normalized):
    rng = np.random.default_rng(seed)
    structure = oracle.random_structure(rng, 6, 2)
    tables = oracle.random_tables(rng, structure, np.full(6, 2), 2, normalized)
    joint, codes = oracle.full_joint(tables), (rng.random((6, 8)) * 3).astype(np.uint8)
    found = explain(beliefs_of(tables), codes)
    for row in range(8):
        for place, i in enumerate(structure.order):
            if codes[i, row] == 2:
                continue
            known = [j for j in structure.order[:place] if codes[j, row] < 2]
            unknown = tuple(j for j in range(6) if j != i and j not in known)
            part = joint.sum(axis=unknown, keepdims=True)
            assert set(found.given(row, i)) == {j for j in known if not independent(part, i, j)}


def test_given_is_the_parents_where_all_is_known():
    structure = Structure(((), (0,), (0, 1), (1, 2), (1,)))
    tables = oracle.random_tables(np.random.default_rng(0), structure, np.full(5, 2), 2)
    dependence = Dependence(tables)
    assert dict(dependence.in_order(range(5))) == dict(enumerate(structure.parents))
    assert dependence.on(4, {0, 2}) == (0, 2)  # through x1, which is unknown
    assert dependence.on(0, set()) == ()


# ---- classifiers on data


def with_missing(X, seed=0, share=0.2):
    hidden = np.random.default_rng(seed).random(X.shape) < share
    return X.mask(hidden)


@pytest.mark.parametrize(
    "options",
    [
        {"parameters": "map"},
        {"structure": KDB(k=2), "parameters": "map", "class_prior": [0.2, 0.3, 0.5]},
        {},
        {"parameters": "map", "calibrate": "isotonic"},
        {"parameters": "ccbn-w"},
        {"parameters": "ccbn-d"},
    ],
    ids=["tan", "kdb2", "default", "isotonic", "ccbn-w", "ccbn-d"],
)
def test_sums_of_classifiers(options):
    wine = load_dataset("wine")
    clf = BayesNetClassifier(**options).fit(wine.X, wine.y)
    for X in (wine.X, with_missing(wine.X)):
        for prior in (None, [0.6, 0.3, 0.1]):
            found, logs = clf.explain(X, class_prior=prior), clf.predict_log_proba(X, prior)
            expected = np.array([[against_rest(row, c) for c in range(3)] for row in logs])
            np.testing.assert_allclose(total(found), expected, rtol=0, atol=1e-10)
            np.testing.assert_allclose(
                found.posterior, clf.predict_proba(X, prior), rtol=0, atol=1e-12
            )
            against = clf.explain(X, clf.classes_[1], prior)
            np.testing.assert_allclose(total(against), logs - logs[:, [1]], rtol=0, atol=1e-10)


def draw_patients():
    """Glucose tells who is sick, and depends on age; smell tells nothing."""
    rng = np.random.default_rng(3)
    n = 2000
    sick = rng.random(n) < 0.4
    old = np.where(rng.random(n) < 0.5 + 0.3 * sick, "yes", "no")
    glucose = rng.normal(110 + 40 * sick + 20 * (old == "yes"), 15)
    X = pd.DataFrame(
        {"old": old, "glucose": glucose.round(), "smell": rng.choice(["foul", "none"], n)}
    )
    return X, np.where(sick, "diabetic", "healthy")


@pytest.fixture(scope="module")
def patients():
    return draw_patients()


@pytest.fixture(scope="module")
def clinic(patients):
    X, y = patients
    edges = [("old", "glucose")]
    return BayesNetClassifier(edges, "map", discretizer="mdlp").fit(X, y)


def test_text_says_what_counts(clinic):
    cuts = clinic.network_.domain.features[1].cuts
    X = pd.DataFrame(
        {"old": ["yes", None], "glucose": [cuts[0], 500.0], "smell": ["foul", "green"]}
    )
    found = clinic.explain(X)
    lines = found.text(0, "diabetic").splitlines()
    assert lines[0].startswith("prior: −0.")
    glucose = next(line for line in lines if line.startswith("glucose"))
    assert glucose.startswith(f"glucose in [{cuts[0]:g}, {cuts[1]:g}): ")
    assert glucose.endswith(" for diabetic, given old = yes")
    assert any(line.startswith("smell = foul: ") and "given" not in line for line in lines)
    assert lines[-1].startswith("sum: ")
    assert lines[-1].endswith(
        f"for diabetic, which has the probability {found.posterior[0, 0]:.3g}"
    )
    second = found.text(1).splitlines()
    assert f"glucose ≥ {cuts[-1]:g}: +" in second[1]
    assert second[-1] == "unknown: old, smell"  # a gap, and a value that was never seen
    assert repr(clinic.explain(X.iloc[[1]])) == found.text(1)
    assert repr(found) == "<Explanation: 2 rows, 3 features, 2 classes>"


def test_text_joins_the_smaller_contributions(clinic, patients):
    found = clinic.explain(patients[0].iloc[:1])
    place = found.class_of(0)
    ranked = np.sort(np.abs(found.contributions[0, :, place]))
    lines = found.text(most=1).splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("2 other columns: ")
    rest = found.contributions[0, :, place][
        np.abs(found.contributions[0, :, place]) < ranked[-1]
    ].sum()
    assert abs(float(lines[2].split(": ")[1].replace("−", "-")) - rest) <= 0.05
    assert "1 other column: " in found.text(most=2)
    assert found.text(most=0).splitlines()[1].startswith("3 other columns: ")


def test_text_against_one_class():
    iris = load_dataset("iris")
    clf = BayesNetClassifier(parameters="map").fit(iris.X, iris.y)
    found = clf.explain(iris.X.iloc[[0, 60]], against="setosa")
    assert "for versicolor over setosa; versicolor has the probability 0." in found.text(1)
    assert found.class_of(0) != 0  # the decision is what all else is compared with
    with pytest.raises(
        ValueError, match="'setosa' is the class that all others were compared with"
    ):
        found.text(0, "setosa")
    with pytest.raises(ValueError, match="explain without `against`"):
        found.relevance()
    with pytest.raises(
        ValueError, match="label='rose' is not one of the classes 'setosa', 'versicolor'"
    ):
        found.text(0, "rose")
    with pytest.raises(ValueError, match="against='rose' is not one of the classes"):
        clf.explain(iris.X, against="rose")
    for row in (2, -1, 0.5):
        with pytest.raises(ValueError, match=f"row={row} is not one of the 2 rows"):
            found.text(row)
    with pytest.raises(ValueError, match="most=-1 is a number of lines"):
        found.text(most=-1)


def test_long_lists_of_unknown_columns_are_cut():
    tables = oracle.random_tables(np.random.default_rng(0), Structure.naive(30), np.full(30, 2), 2)
    text = explain(beliefs_of(tables), np.full((30, 1), 2, np.uint8)).text()
    assert text.endswith("x19 and 10 more")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frame(clinic, patients, library):
    pytest.importorskip(library)
    X = with_missing(patients[0].iloc[:20], 1)
    found = clinic.explain(X)
    frame = found.to_frame(library)
    frame = frame if library == "pandas" else frame.to_pandas()
    assert list(frame.columns) == ["row", "class", "feature", "value", "contribution", "given"]
    assert len(frame) == 20 * 2 * 3
    sums = frame.groupby(["row", "class"])["contribution"].sum().unstack()
    np.testing.assert_allclose(sums[found.labels].to_numpy() + found.base, found.log_odds)
    unknown = frame[frame["value"].isna()]
    assert len(unknown) == 2 * X.isna().to_numpy().sum()
    assert unknown["contribution"].isna().all()
    assert unknown["given"].isna().all()
    both = frame[
        (frame["feature"] == "glucose") & frame["row"].isin(np.flatnonzero(X.notna().all(axis=1)))
    ]
    assert (both["given"] == ["old = " + X["old"].iloc[row] for row in both["row"]]).all()
    row = frame[(frame["row"] == 0) & (frame["class"] == "healthy")]
    assert row["feature"].tolist() == [found.names[i] for i in found.order]
    assert row["value"].fillna("gap").tolist() == [found.values[0, i] or "gap" for i in found.order]


def test_classes_that_are_numbers_stay_numbers_in_the_frame():
    wine = load_dataset("wine")
    y = np.unique(wine.y, return_inverse=True)[1] + 5
    frame = (
        BayesNetClassifier(parameters="map")
        .fit(wine.X, y)
        .explain(wine.X.iloc[:2])
        .to_frame("pandas")
    )
    assert frame["class"].unique().tolist() == [5, 6, 7]

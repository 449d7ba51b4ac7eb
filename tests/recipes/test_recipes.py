"""Tags to classifiers: the learners of each paper, spellings, every cell of the product, and
options.
"""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError
from itertools import product

import numba
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import discbayes
from discbayes import (
    BNSVM,
    DFE,
    KDB,
    MLBNSVM,
    Annealing,
    BayesNetClassifier,
    Branching,
    DiscriminativeCCBN,
    ExtendedCCBN,
    GreedyEdges,
    HillClimb,
    Margin,
    MaximumAPosteriori,
    MaximumConditionalLikelihood,
    MaximumLikelihood,
    MaxMargin,
    NaiveBayes,
    OrderBased,
    SpanningTree,
    SuperParent,
    WeightedCCBN,
    load,
    load_dataset,
    recipe,
    recipes,
)
from discbayes.recipes import parse
from discbayes.recipes.parameter_words import LEARNERS
from discbayes.recipes.structure_words import structure_tags

UNCOMPILED = bool(numba.config.DISABLE_JIT)
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # P12's λ
ML, OFE, M = MaximumLikelihood(), MaximumAPosteriori("dirichlet", 0.5), MaximumAPosteriori("m", 1.0)
CL = MaximumConditionalLikelihood(stopping="cross-tuning")
FEW = {
    "MM": {"lam": [0.1, 1.0]},
    "MM13": {"lam": [0.1], "kappa": [0.1, 0.5]},
    "BNSVM": {"lam": [1, 4]},
}
FEW["MLBNSVM"] = {"lam": [0, 1], "gamma": 1.0}


def settings(estimator):
    """All settings, learners by their class."""
    return {
        key: type(v) if hasattr(v, "get_params") else v for key, v in estimator.get_params().items()
    }


def small(tag):
    """Options with which the slow recipes are done soon."""
    parsed = parse(tag)
    options = dict(FEW.get(parsed.parameters_tag, {}))
    if getattr(parsed.structure, "score", None) == "mm":
        options["score"] = Margin(0.1)
    if isinstance(parsed.structure, Annealing):
        options |= {"max_tries": 5, "max_rejections": 5}
    return options


@pytest.fixture(scope="module")
def rows():
    iris = load_dataset("iris")
    step = 6 if UNCOMPILED else 3
    return iris.X.iloc[::step], np.asarray(iris.y)[::step]


def distinct_named():
    """One of each recipe that several papers have; without the compiler, one of each structure and
    of each learner.
    """
    by_tag = {parse(one.tag).tag: one.tag for one in recipes()}
    if not UNCOMPILED:
        return list(by_tag.values())
    return [tag for tag in by_tag if tag.endswith("-ML") or tag.startswith("NB-")]


# ---- the learners of the papers

BY_HAND = [
    ("NB-ML", NaiveBayes(), ML),
    ("TAN-CMI-CL", SpanningTree(), CL),
    ("TAN-CR-ML", GreedyEdges("cr", ties="parent"), ML),
    ("TAN-CL", GreedyEdges("cl", ties="parent"), ML),
    ("2-tree-CR-CL", GreedyEdges("cr", 5, k=2, ties="parent"), CL),
    ("TAN-SuperParent-ML", SuperParent("cr"), ML),
    ("2-tree-SuperParent-ML", SuperParent("cr", 5, k=2), ML),
    ("TAN-OMI-CR-CL", OrderBased("omi", "cr"), CL),
    ("TAN-OMI-CRCL-ML", OrderBased("omi", "cr", parameters=CL), ML),
    ("TAN-OMI-CR-Ext-ML", OrderBased("omi", "cr", refine=True), ML),
    ("TAN-OMISP-CR-ML", OrderBased("omisp", "cr"), ML),
    ("TAN-OCR-CR-ML", OrderBased("ocr", "cr"), ML),
    ("TAN-RO-CR-ML", OrderBased("random", "cr"), ML),
    ("TAN-minMI-CL", OrderBased("min-mi", "cl"), ML),
    ("2-tree-OMI-CR-ML", OrderBased("omi", "cr", 5, k=2), ML),
    ("TAN-HC-CR-ML", GreedyEdges("cr", 5, fill=True), ML),
    ("TAN-HC-MM-MM", GreedyEdges("mm", 5, fill=True), MaxMargin(SCALES)),
    ("TAN-SA-MM-MM", Annealing("mm", 5), MaxMargin(SCALES)),
    ("TAN-fCLL-OFE", SpanningTree(score="fcll"), OFE),
    ("TAN-aCLL-OFE", Branching("acll"), OFE),
    ("GHC2-LL-OFE", HillClimb("ll"), OFE),
    ("NB", NaiveBayes(), M),
    ("NB-W", NaiveBayes(), WeightedCCBN(backoff=False)),
    ("TAN-W1-R", SpanningTree(), WeightedCCBN(1, penalty=1.0, backoff=False)),
    ("KDB1-D", KDB(1), DiscriminativeCCBN()),
    ("TAN-E-I", SpanningTree(), ExtendedCCBN(start="generative")),
    ("KDB2-W3-I", KDB(2), WeightedCCBN(3, start="generative", backoff=False)),
    ("NB-DFE", NaiveBayes(), DFE()),
    ("TAN-P13ML", SpanningTree(), MaximumAPosteriori("ess", 1.0)),
    ("TAN-MCL", SpanningTree(), MaximumConditionalLikelihood(generative="map")),
    ("TAN-MM13", SpanningTree(), MaxMargin("cv", "cv", generative="map")),
    ("TAN-MLBNSVM", SpanningTree(), MLBNSVM("cv", "cv")),
    ("NB-BNSVM", NaiveBayes(), BNSVM("cv")),
    ("TAN-LOO-CR-MAP", GreedyEdges("cr", "loo", ties="parent"), MaximumAPosteriori()),
]


@pytest.mark.parametrize("tag, structure, parameters", BY_HAND)
def test_a_recipe_is_the_estimator_made_by_hand(tag, structure, parameters):
    made = recipe(tag, random_state=3)
    assert settings(made) == settings(
        BayesNetClassifier(structure, parameters, calibrate=None, random_state=3)
    )


@pytest.mark.parametrize("tag", distinct_named())
def test_every_recipe_of_the_papers_learns_and_predicts(tag, rows):
    X, y = rows
    with warnings.catch_warnings():
        # of parents that are not joined; of limits, on few rows
        warnings.simplefilter("ignore", UserWarning)
        clf = clone(recipe(tag, random_state=0, **small(tag))).fit(X, y)
    assert clf.score(X, y) > 0.8
    assert clf.structure_.n_features == X.shape[1]


def test_the_trees_of_likelihood_and_of_information_are_one(rows):
    trees = [
        BayesNetClassifier(SpanningTree(score=score), "map").fit(*rows).structure_
        for score in ("ll", "cmi")
    ]
    assert trees[0] == trees[1] == recipe("TAN-LL").fit(*rows).structure_


def test_p12_fills_the_tree_and_p10_stops(rows):
    n_edges = [
        recipe(tag, random_state=0).fit(*rows).structure_.n_edges for tag in ("TAN-HC-CR", "TAN-CR")
    ]
    assert n_edges[0] == rows[0].shape[1] - 1 > n_edges[1]


@pytest.mark.parametrize("tag", ["NB-MM", "TAN-OMI-CR-W-I", "TAN-SA-CR-OFE"])
def test_a_recipe_is_saved_and_loaded(tag, rows, tmp_path):
    X, y = rows
    clf = recipe(tag, random_state=0, **small(tag)).fit(X, y)
    clf.save(tmp_path / "model.json")
    np.testing.assert_array_equal(
        load(tmp_path / "model.json").predict_proba(X), clf.predict_proba(X)
    )


# ---- tags


def test_every_cell_is_read_back_as_it_is():
    """A canonical tag is its own, and its parts are those it was made of: no two cells share a
    tag.
    """
    for structure, parameters in product(structure_tags(), LEARNERS):
        found = parse(f"{structure}-{parameters}")
        assert (found.structure_tag, found.parameters_tag) == (structure, parameters)
        assert found.tag == f"{structure}-{parameters}"


def test_no_two_words_mean_the_same():
    searches = {repr(settings(recipe(f"{tag}-ML"))) for tag in structure_tags()}
    learners = {repr(settings(recipe(f"NB-{tag}"))) for tag in LEARNERS}
    assert (len(searches), len(learners)) == (len(structure_tags()), len(LEARNERS))


SPELLINGS = [
    ("NB^w", "NB-W"),
    ("KDB-1^d", "KDB1-D"),
    ("kdb_2_mm", "KDB2-MM"),
    ("KDB", "KDB1-M"),
    ("TAN", "TAN-CMI-M"),
    ("TAN-CMI", "TAN-CMI-ML"),
    ("ST-CMI-MM", "TAN-CMI-MM"),
    ("TAN-ST-CMI-ML", "TAN-CMI-ML"),
    ("TAN-LL", "TAN-CMI-OFE"),
    ("TAN-LL-ELR", "TAN-CMI-CL"),
    ("TAN-CL", "TAN-CL-ML"),
    ("TAN-CL-CL", "TAN-CL-CL"),
    ("TAN-MM", "TAN-CMI-MM"),
    ("TAN-fcll", "TAN-fCLL-OFE"),
    ("GHC-fCLL-OFE", "GHC2-fCLL-OFE"),
    ("SuperParent", "TAN-SuperParent-ML"),
    ("2-TREE-SUPERPARENT-CL", "2-tree-SuperParent-CL"),
    ("2tree-OMI-CR", "2-tree-OMI-CR-ML"),
    ("1-tree-CR-CL", "TAN-CR-CL"),
    ("3-tree-OMI-CR", "3-tree-OMI-CR-ML"),
    ("TAN-OMI-CRML-CL", "TAN-OMI-CR-CL"),
    ("TAN-min-MI-CL", "TAN-minMI-CL-ML"),
    ("TAN-ML-BN-SVM", "TAN-CMI-MLBNSVM"),
    ("TAN-P13-ML", "TAN-CMI-MAP"),
    ("NB-W4-I", "NB-W-I"),
    ("TAN-MAP+T", "TAN-CMI-MAP+T"),
    ("nb-ml + iso", "NB-ML+ISO"),
]


@pytest.mark.parametrize("spelled, canonical", SPELLINGS)
def test_other_spellings(spelled, canonical):
    found = parse(spelled)
    assert found.tag == canonical
    assert found == parse(canonical)
    assert hash(found) == hash(parse(canonical))


def test_recipes_of_one_structure_have_learners_of_their_own_that_are_alike():
    one, other = parse("TAN-OMI-CR-ML"), parse("TAN-OMI-CR-CL")
    assert one.structure_tag == other.structure_tag
    assert settings(one.structure) == settings(other.structure)
    assert one.structure is not parse("TAN-OMI-CR-ML").structure
    with pytest.raises(FrozenInstanceError):
        one.tag = "NB-ML"


@pytest.mark.parametrize("word, name", [("T", "temperature"), ("ISO", "isotonic")])
def test_calibration_is_part_of_a_tag(word, name):
    assert recipe(f"NB-ML+{word}").calibrate == name
    with pytest.raises(ValueError, match="calibrate= is set by the tag"):
        recipe(f"NB-ML+{word}", calibrate="isotonic")


@pytest.mark.parametrize(
    "tag, near",
    [
        ("TAN-OMI-CR-CLL", "TAN-OMI-CR-CL"),
        ("TANN-CMI-ML", "TAN-CMI-ML"),
        ("KDB1-MLBNSMV", "KDB1-MLBNSVM"),
        ("NB-ML+", "NB-ML"),
        ("NB-ML+T+ISO", "NB-ML"),
        ("TAN-HC-MM-", "TAN-HC-MM-M"),
        ("2-tree-SA-CR", "2-tree-CR"),
        ("0-tree-CR", "2-tree-CR"),
        ("", "NB-ML"),
    ],
)
def test_unknown_tags_show_the_nearest(tag, near):
    with pytest.raises(ValueError, match="is not a recipe") as refused:
        parse(tag)
    shown = (
        str(refused.value)
        .partition("the nearest are ")[2]
        .split("; recipes()")[0]
        .split(". What")[0]
    )
    assert near in shown.split(", ")


def test_what_follows_a_structure_is_listed():
    with pytest.raises(
        ValueError,
        match=r"structure TAN-OMI-CR can be followed by parameters \(ML, MAP.*\+T, \+ISO",
    ):
        recipe("TAN-OMI-CR-XYZ")
    with pytest.raises(TypeError, match="a tag is text"):
        parse(5)


# ---- options


def test_options_find_their_place():
    made = recipe(
        "TAN-HC-MM-MM", cv=4, random_state=0, max_time=9.0, lam=[0.1, 0.2], missing="drop"
    )
    assert (made.random_state, made.missing) == (0, "drop")
    assert (made.structure.evaluation, made.structure.max_time) == (4, 9.0)
    assert (made.parameters.n_folds, made.parameters.lam) == (4, [0.1, 0.2])


def test_cv_is_the_number_of_all_folds():
    made = recipe("2-tree-OMI-CR-CL+T", cv=3)
    assert (made.structure.evaluation, made.parameters.n_folds, made.calibrate_folds) == (3, 3, 3)
    made = recipe("TAN-CR-CL", cv=3, evaluation="loo")
    assert (made.structure.evaluation, made.parameters.n_folds) == ("loo", 3)
    assert recipe("TAN-MCL", cv=3, stopping="cross-tuning").parameters.n_folds == 3


def test_an_option_of_both_learners_is_said_in_full():
    with pytest.raises(ValueError, match=r"start= .*write structure__start or parameters__start"):
        recipe("TAN-W", start="generative")
    assert recipe("TAN-W", parameters__start="generative").parameters.start == "generative"
    assert recipe("TAN-CR", structure__parameters="map").structure.parameters == "map"


@pytest.mark.parametrize(
    "tag, options, message",
    [
        (
            "NB-ML",
            {"lamda": 1},
            "'lamda' is not an option of NB-ML: the classifier takes .*NB takes nothing; ML takes",
        ),
        ("NB-ML", {"max_time": 1}, "'max_time' is not an option of NB-ML"),
        ("NB-ML", {"structure": "tan"}, "'structure' is not an option"),
        ("TAN-CR", {"parameters": "map"}, "'parameters' is not an option"),
        ("TAN-CR", {"other__k": 2}, "'other__k' is not an option"),
        ("TAN-CR", {"parameters__k": 2}, "'parameters__k' is not an option"),
        ("TAN-MAP", {"cv": 5}, "cv=5: nothing in TAN-CMI-MAP is scored or chosen by folds"),
        ("TAN-CR", {"cv": 5}, "nothing in TAN-CR-ML"),
        ("TAN-MCL", {"cv": 5}, "nothing in TAN-CMI-MCL"),
        ("NB-MM", {"cv": 5, "lam": 0.1}, "nothing in NB-MM"),
        ("NB-MM", {"cv": 1}, "cv=1 must be a whole number of at least 2"),
        ("NB-MM", {"cv": True}, "cv=True must be"),
        ("NB-MM", {"cv": 5, "n_folds": 5}, "cv= and n_folds= both"),
        ("TAN-MCL", {"n_folds": 3}, "n_folds= changes nothing in TAN-CMI-MCL"),
        ("NB-ML", {"calibrate_folds": 3}, "calibrate_folds= changes nothing"),
        ("NB-ML", {"max_iter": 3}, "max_iter= changes nothing"),
        (
            "NB-D",
            {"towards": "generative"},
            "towards= changes nothing in NB-D: there is no penalty",
        ),
    ],
)
def test_options_without_use_are_refused(tag, options, message):
    with pytest.raises(ValueError, match=message):
        recipe(tag, **options)


def test_options_that_have_a_use_beside_others():
    assert recipe("NB-ML", max_iter=3, parameters__missing="em").parameters.max_iter == 3
    with pytest.warns(FutureWarning, match="gaps is deprecated .* use parameters__missing"):
        assert recipe("NB-ML", max_iter=3, gaps="em").parameters.missing == "em"
    assert recipe("NB-D", towards="generative", penalty=1.0).parameters.towards == "generative"
    assert recipe("NB-ML", calibrate="temperature", calibrate_folds=3).calibrate_folds == 3


def test_options_reach_the_fit(rows):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        recipe("NB-MCL", max_iter=1).fit(*rows)


# ---- the list


def test_the_list_has_all_papers_and_tags_that_can_be_read():
    assert {one.paper for one in recipes()} == {"P10", "P12", "C11", "Z17", "P13"}
    assert len({(one.paper, one.tag) for one in recipes()}) == len(recipes())
    for one in recipes():
        assert parse(one.tag).tag
        assert one.section
        assert one.description


def test_the_list_is_shown_one_to_a_line_and_can_be_searched():
    lines = repr(recipes()).splitlines()
    assert len(lines) == len(recipes())
    assert max(map(len, lines)) <= 120
    assert [one.tag for one in recipes("ghc2")] == ["GHC2-fCLL-OFE", "GHC2-LL-OFE"]
    assert {one.paper for one in recipes("z17")} == {"Z17"}
    assert {one.tag for one in recipes("tan-hc-??-mm")} == {"TAN-HC-CR-MM", "TAN-HC-MM-MM"}
    assert recipes("nothing of the kind") == []


def test_the_name_in_the_package_is_the_function():
    assert discbayes.recipes is recipes
    assert {"recipe", "recipes"} <= set(discbayes.__all__)

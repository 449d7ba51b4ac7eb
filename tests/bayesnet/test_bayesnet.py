"""The network with names and values: tables as frames, questions against enumeration, completions,
samples, errors.
"""

from __future__ import annotations

import datetime
import pickle
from itertools import product

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

import oracle
from discbayes import BayesNetClassifier, load
from discbayes.bayesnet import BayesNet
from discbayes.data.domain import Domain, Variable
from discbayes.data.frames import make_frame
from discbayes.inference import (
    EstimateWarning,
    TooManyCellsError,
    joint_posterior,
    log_joint,
    most_probable,
    sample,
)
from discbayes.network import CLASS, CPTs, Layout, Structure

FEATURES = (
    Variable("colour", "categorical", ("blue", "red", "green")),
    Variable("size", "numeric", cuts=(1.5, 4.0)),
    Variable("flag", "boolean", (False, True)),
    Variable("count", "categorical", (0, 1)),
    Variable("never", "categorical", ()),
)
DOMAIN = Domain(FEATURES, Variable("kind", "categorical", ("no", "yes", "maybe")))
STRUCTURE = Structure(((), (0,), (0, 1), (), (3,)), (True, True, True, False, True))
SIZES = (0.5, 2.0, 9.0)  # a number in each interval
LIBRARIES = ["pandas", "polars", "pyarrow"]


def network(seed=0, normalized=True, structure=STRUCTURE, **options):
    tables = oracle.random_tables(
        np.random.default_rng(seed), structure, DOMAIN.cards, 3, normalized
    )
    return BayesNet(DOMAIN, tables, **options)


def dense_joint(net):
    """P(colour, size, flag, count, never, kind)."""
    joint = oracle.full_joint(net.parameters)
    return joint / joint.sum()


def every_state():
    """All complete rows as a frame with values, and their codes."""
    codes = np.array(list(product(*(range(card) for card in DOMAIN.cards)))).T
    columns = {
        "colour": np.array(FEATURES[0].values, object)[codes[0]],
        "size": np.array(SIZES)[codes[1]],
        "flag": codes[2].astype(bool),
        "count": codes[3],
        "never": np.full(codes.shape[1], None, object),
    }
    return pd.DataFrame(columns), codes


def column(frame, name):
    return nw.from_native(frame, eager_only=True)[name].to_list()


# ---- tables


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_hold_the_probabilities_under_readable_names(library):
    net = network()
    tables = net.tables(library)
    assert list(tables) == ["kind", *DOMAIN.names]
    assert type(tables["flag"]).__module__.split(".")[0] == library
    assert column(tables["kind"], "kind") == ["no", "yes", "maybe"]
    np.testing.assert_allclose(
        column(tables["kind"], "probability"), np.exp(net.parameters.log_prior)
    )
    flag = nw.from_native(tables["flag"], eager_only=True)
    assert flag.columns == ["kind", "colour", "size", "False", "True"]
    assert len(flag) == 27
    for kind, colour, size, no, yes in flag.iter_rows():
        given = FEATURES[0].labels.index(colour), FEATURES[1].labels.index(size)
        c = DOMAIN.target.labels.index(kind)
        np.testing.assert_allclose(
            [no, yes], np.exp(net.parameters.log_table(2)[(*given, slice(None), c)])
        )
        assert no + yes == pytest.approx(1.0)
    assert nw.from_native(tables["size"], eager_only=True).columns == [
        "kind",
        "colour",
        "< 1.5",
        "[1.5, 4)",
        ">= 4",
    ]


def test_a_table_that_does_not_depend_on_the_class_does_not_show_it():
    frame = network().tables("pandas")["count"]
    assert list(frame.columns) == ["0", "1"]
    assert len(frame) == 1
    assert frame.loc[0].sum() == pytest.approx(1.0)


def test_names_that_collide_get_columns_of_their_own():
    domain = Domain(
        (
            Variable("probability", "categorical", ("y", "probability")),
            Variable("b", "categorical", ("b", "probability")),
        ),
        Variable("y", "categorical", ("u", "v")),
    )
    tables = oracle.random_tables(np.random.default_rng(0), Structure(((), (0,))), [2, 2], 2)
    net = BayesNet(domain, tables)
    frames = net.tables("pandas")
    assert list(frames["probability"].columns) == ["y", "y ", "probability"]
    assert list(frames["b"].columns) == ["y", "probability", "b", "probability "]
    np.testing.assert_allclose(frames["b"][["b", "probability "]].sum(axis=1), 1.0)
    posterior = net.query(["probability", "b"]).to_frame("pandas")
    assert list(posterior.columns) == ["probability", "b", "probability "]
    assert posterior["probability "].sum() == pytest.approx(1.0)


def test_edges_and_text():
    net = network()
    assert net.edges() == [
        ("colour", "size"),
        ("colour", "flag"),
        ("size", "flag"),
        ("count", "never"),
    ]
    assert ("kind", "colour") in net.edges(with_class=True)
    assert ("kind", "count") not in net.edges(with_class=True)
    assert net.n_parameters == 2 + 2 * 3 + 3 * 2 * 3 + 9 * 3 + 1 + 0
    assert (
        repr(net)
        == "<BayesNet: 5 features (1 not used), 3 classes, 4 edges between features, 54 parameters>"
    )


# ---- questions


@pytest.mark.parametrize("normalized", [True, False])
def test_queries_equal_enumeration(normalized):
    net = network(1, normalized)
    joint = dense_joint(net)
    got = net.query(["kind"])
    assert got.names == ("kind",)
    assert got.labels == (("no", "yes", "maybe"),)
    np.testing.assert_allclose(got.probabilities, joint.sum(axis=(0, 1, 2, 3, 4)), atol=1e-12)
    got = net.query(["size", "kind", "colour"], {"flag": True})
    part = joint[:, :, 1].sum(axis=(2, 3))
    np.testing.assert_allclose(got.probabilities, part.transpose(1, 2, 0) / part.sum(), atol=1e-12)
    got = net.query("flag", {"kind": "yes", "colour": "green"})
    part = joint[2, ..., 1].sum(axis=(0, 2, 3))
    np.testing.assert_allclose(got.probabilities, part / part.sum(), atol=1e-12)


@pytest.mark.parametrize(
    "value, code", [(-3, 0), (1.4999, 0), (1.5, 1), (3, 1), (4.0, 2), (1e9, 2)]
)
def test_numeric_evidence_is_given_by_value(value, code):
    net = network(2)
    part = dense_joint(net)[:, code].sum(axis=(0, 1, 2, 3))
    np.testing.assert_allclose(
        net.query("kind", {"size": value}).probabilities, part / part.sum(), atol=1e-12
    )


def test_evidence_that_is_a_gap_is_no_evidence():
    net = network(2)
    free = net.query("kind").probabilities
    for gap in (None, np.nan):
        np.testing.assert_array_equal(
            net.query("kind", {"size": gap, "colour": None}).probabilities, free
        )


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_may_be_mappings_as_evidence_is(library):
    """`query` took them, and `fill` and the others refused them."""
    net = network(2)
    known = {"size": 3, "colour": "red"}
    frame = make_frame(
        {name: np.array([known.get(name)], dtype=object) for name in net.domain.names}, "pandas"
    )
    for rows, table in ((known, frame), ([known], frame), ([known, {}], None)):
        found = net.posterior(rows)
        np.testing.assert_allclose(found[0], net.query("kind", known).probabilities, atol=1e-12)
        if table is not None:
            np.testing.assert_array_equal(net.encode(rows), net.encode(table))
            np.testing.assert_array_equal(net.log_likelihood(rows), net.log_likelihood(table))
            filled = net.fill(rows, library=library)
            for name in net.domain.names:
                assert column(filled, name) == column(net.fill(table, library=library), name)
    np.testing.assert_allclose(found[1], net.query("kind").probabilities, atol=1e-12)
    with pytest.raises(ValueError, match="'siz', which is not a column; the nearest are 'size'"):
        net.fill({"siz": 3})


@pytest.mark.parametrize("library", LIBRARIES)
def test_texts_with_lone_surrogates_are_answered_or_refused_by_name(library, tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(["x\ud800", "y"], 60), rng.choice(["p", "q"], 60)]).astype(
        object
    )
    y = np.where(X[:, 0] == "y", "no", "yes\udc80").astype(object)
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    clf.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.classes_.tolist() == ["no", "yes\udc80"]
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    net = again.network_
    calls = [
        lambda: net.sample(5, 0, library)[0],
        lambda: net.fill(X[:5], library=library),
        lambda: net.tables(library)["x0"],
        lambda: net.query(["x0", "class"]).to_frame(library),
        lambda: clf.explain(X[:2]).to_frame(library),
    ]
    for call in calls:
        if library == "pandas":
            frame = call()
            assert {"x\ud800", "yes\udc80"} & {
                value for name in frame for value in [name, *frame[name]]
            }
        else:
            with pytest.raises(
                ValueError,
                match=rf"column '.*' has the text '.*\\ud.*'.*: {library} cannot hold it",
            ):
                call()


def test_a_posterior_as_a_frame_and_as_text():
    posterior = network().query(["kind", "flag"], {"count": 1})
    for library in LIBRARIES:
        frame = posterior.to_frame(library)
        assert column(frame, "kind") == ["no", "no", "yes", "yes", "maybe", "maybe"]
        assert column(frame, "flag") == ["False", "True"] * 3
        np.testing.assert_allclose(column(frame, "probability"), posterior.probabilities.ravel())
    lines = repr(posterior).splitlines()
    assert lines[0] == "P(kind, flag | evidence)"
    assert lines[1].strip() == f"no, False: {posterior.probabilities[0, 0]:.6g}"
    assert "… 34 more" in repr(network().query(["kind", "flag", "size", "colour"]))


@pytest.mark.parametrize(
    "variables, evidence, error, message",
    [
        (
            "age",
            {},
            KeyError,
            (
                "no feature is called 'age'; the features are colour, size.*; the target is named"
                " 'kind'"
            ),
        ),
        ("class", {}, KeyError, "no feature is called 'class'.*; the target is named 'kind'"),
        (
            "kind",
            {"size": datetime.date(2020, 1, 1)},
            ValueError,
            "column 'size' holds dates, and held none at fit",
        ),
        ("kind", {"size": [1, 2]}, ValueError, "column 'size' has several values"),
        ("kind", {"age": 3}, KeyError, "no feature is called 'age'"),
        (
            "kind",
            {"colour": "pink"},
            ValueError,
            "'pink' is not a value of the column 'colour'; give one of blue, red",
        ),
        (
            "kind",
            {"count": 7},
            ValueError,
            "7 is not a value of the column 'count'; give one of 0, 1, or leave",
        ),
        ("kind", {"size": "big"}, ValueError, "'size'.*'big'"),
        (
            "size",
            {"kind": "perhaps"},
            ValueError,
            "'perhaps'; the classes are 'no', 'yes', 'maybe'",
        ),
        ("kind", {"kind": "yes"}, ValueError, r"not for what is given: \['kind'\]"),
        (["size", "flag"], {"size": 3}, ValueError, r"not for what is given: \['size'\]"),
        (["size", "size"], {}, ValueError, r"ask for each variable once.*\['size'\]"),
        ([], {}, ValueError, "nothing"),
    ],
)
def test_questions_that_make_no_sense_are_refused(variables, evidence, error, message):
    with pytest.raises(error, match=message):
        network().query(variables, evidence)


def test_impossible_evidence_is_refused():
    layout = Layout(Structure.naive(1), np.array([2]), 2)
    with np.errstate(divide="ignore"):
        tables = CPTs(layout, np.log([0.5, 0.5]), np.log(np.array([1.0, 1.0, 0.0, 0.0])))
    domain = Domain(
        (Variable("a", "categorical", ("u", "v")),), Variable("y", "categorical", (0, 1))
    )
    for ask in (lambda net: net.query("y", {"a": "v"}), lambda net: net.most_probable({"a": "v"})):
        with pytest.raises(
            ValueError, match="the evidence 'a' = 'v' has probability zero under this network"
        ):
            ask(BayesNet(domain, tables))


def test_a_network_in_which_nothing_is_possible_says_so():
    layout = Layout(Structure.naive(1), np.array([2]), 2)
    tables = CPTs(layout, np.log([0.5, 0.5]), np.full(4, -np.inf))
    domain = Domain(
        (Variable("a", "categorical", ("u", "v")),), Variable("y", "categorical", (0, 1))
    )
    for ask in (lambda net: net.query("y"), lambda net: net.most_probable()):
        with pytest.raises(ValueError, match="zero under this network, whatever it is"):
            ask(BayesNet(domain, tables))


def test_a_question_with_too_many_cells_is_refused():
    n = 70
    domain = Domain(
        tuple(Variable(f"x{i}", "categorical", (0, 1)) for i in range(n)),
        Variable("y", "categorical", (0, 1)),
    )
    tables = oracle.random_tables(np.random.default_rng(0), Structure.naive(n), [2] * n, 2)
    net = BayesNet(domain, tables)
    for asked in (64, 70):  # 2 to the 64 is 0 in 64 bits
        with pytest.raises(
            ValueError, match=rf"of {asked} variables needs .* cells .*ask for fewer"
        ):
            net.query(domain.names[:asked])


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(
    "evidence", [{}, {"size": 2.0}, {"kind": "yes"}, {"flag": True, "kind": "no", "size": 9}]
)
def test_most_probable_equals_enumeration(evidence, normalized):
    net = network(3, normalized)
    joint = dense_joint(net)
    codes = {"size": {2.0: 1, 9: 2}, "flag": {True: 1}, "kind": {"no": 0, "yes": 1}}
    names = [*DOMAIN.names, "kind"]
    index = tuple(codes[n][evidence[n]] if n in evidence else slice(None) for n in names)
    part = joint[index]
    found, value = net.most_probable(evidence)
    assert set(found) == set(names) - set(evidence)
    assert value == pytest.approx(np.log(part.max()), abs=1e-10)
    best = iter(np.unravel_index(part.argmax(), part.shape))
    for name in names:
        if name not in evidence:
            variable = DOMAIN.target if name == "kind" else DOMAIN.features[DOMAIN.position(name)]
            assert found[name] == variable.decode([next(best)])[0]
    assert type(found.get("flag", True)) is bool


# ---- gaps


def gappy_frame(rng, rows=40):
    frame, _ = every_state()
    frame = frame.sample(rows, replace=True, random_state=0).reset_index(drop=True).astype(object)
    return frame.mask(rng.random(frame.shape) < 0.4, None)


@pytest.mark.parametrize("how", ["each", "joint", "draw"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_fill_keeps_what_is_observed_and_leaves_no_gap(library, how):
    net, frame = network(4), gappy_frame(np.random.default_rng(0))
    codes = net.encode(frame)
    filled = nw.from_native(net.fill(frame, how, random_state=1, library=library), eager_only=True)
    assert filled.columns == DOMAIN.names
    for i, variable in enumerate(DOMAIN.features):
        values = filled[variable.name].to_list()
        known = variable.decode(range(variable.card)).tolist()
        assert all(value in known for value in values)
        for code, value in zip(codes[i], values, strict=True):
            if code < variable.card:
                assert value == known[code]
    assert ((codes >= DOMAIN.cards[:, None]).sum(axis=1) > 5).all()


def test_filled_values_are_the_most_probable_ones():
    net, frame = network(4), gappy_frame(np.random.default_rng(0), rows=15)
    joint, codes = dense_joint(net), net.encode(frame)
    each, together = (
        net.fill(frame, "each", library="pandas"),
        net.fill(frame, "joint", library="pandas"),
    )
    for m, row in enumerate(codes.T):
        part = oracle.selected(joint, DOMAIN.cards, row)
        gaps = [i for i in range(5) if row[i] >= DOMAIN.cards[i]]
        best = np.unravel_index(part.argmax(), part.shape)
        for axis, i in enumerate(gaps):
            share = part.sum(axis=tuple(a for a in range(part.ndim) if a != axis))
            assert each.iloc[m, i] == FEATURES[i].decode([share.argmax()])[0]
            assert together.iloc[m, i] == FEATURES[i].decode([best[axis]])[0]


def test_fill_given_the_class():
    net, frame = network(5), gappy_frame(np.random.default_rng(1), rows=20)
    codes = net.encode(frame)
    for k, label in enumerate(("no", "yes", "maybe")):
        expected, _, _ = most_probable(net.parameters, codes, np.full(20, k))
        got = net.fill(frame, "joint", y=[label] * 20, library="pandas")
        pd.testing.assert_frame_equal(got, net.decode(expected, "pandas"))
    one, two = (
        net.fill(frame, "draw", y=["yes"] * 20, random_state=3, library="pandas") for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"how": "mean"}, 'how=\'mean\' is not "each", "joint" or "draw"'),
        ({"how": "each", "y": ["no"] * 4}, 'how="each" does not look at y'),
        ({"how": "joint", "y": ["no"] * 3}, "X has 4 rows and y has 3"),
        ({"how": "draw", "y": ["no"] * 5}, "X has 4 rows and y has 5"),
        ({"how": "joint", "y": ["nope"] * 4}, "classes that were not there at fit: 'nope'"),
    ],
)
def test_fill_refuses_what_makes_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        network().fill(gappy_frame(np.random.default_rng(0), rows=4), **options)


WITH_MISSING = Domain(
    (
        Variable("a", "categorical", ("u", "v"), missing_value=True),
        Variable("b", "numeric", cuts=(1.0,), missing_value=True),
        Variable("c", "categorical", ("s", "t", "w"), missing_value=True),
        Variable("d", "categorical", (), missing_value=True),
    ),
    Variable("y", "categorical", (0, 1)),
)


@pytest.mark.parametrize(
    "parents", [((), (), (), ()), ((), (0,), (1,), (0,)), ((), (0,), (0, 1), ())]
)
def test_gaps_are_never_filled_with_the_value_for_missing(parents):
    layout = Layout(Structure(parents), WITH_MISSING.cards, 2)
    rng, flat = np.random.default_rng(2), np.empty(layout.size)
    for i, card in enumerate(WITH_MISSING.cards):
        table = rng.gamma(1.0, size=layout.shapes[i])
        table[..., card - 1, :] += 20  # "missing" is by far the most probable
        layout.table(flat, i)[...] = np.log(table / table.sum(axis=-2, keepdims=True))
    net = BayesNet(WITH_MISSING, CPTs(layout, np.log([0.4, 0.6]), flat))
    values = (("u", "v", None), (0.0, 2.0, None), ("s", "t", "w", None), (None,))
    X = pd.DataFrame(list(product(*values)), columns=WITH_MISSING.names)
    joint = oracle.full_joint(net.parameters)[:2, :2, :3, 0]
    filled = {how: net.fill(X, how, random_state=0) for how in ("each", "joint", "draw")}
    for how, frame in filled.items():
        assert not (frame[["a", "b", "c"]].isna() | (frame == "(missing)")[["a", "b", "c"]]).any(
            axis=None
        ), how
        assert frame["d"].isna().all()
    codes = np.minimum(net.encode(X)[:3], np.array([[2], [2], [3]]))
    for m, row in enumerate(codes.T):
        part = oracle.selected(joint, np.array([2, 2, 3]), row)
        best = np.unravel_index(part.argmax(), part.shape)
        for axis, i in enumerate(np.flatnonzero(row >= [2, 2, 3])):
            share = part.sum(axis=tuple(k for k in range(part.ndim) if k != axis))
            assert filled["each"].iloc[m, i] == WITH_MISSING.features[i].decode([share.argmax()])[0]
            assert filled["joint"].iloc[m, i] == WITH_MISSING.features[i].decode([best[axis]])[0]


@pytest.mark.parametrize("how", ["each", "joint", "draw"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_fill_leaves_values_that_were_never_seen(library, how):
    rows = {
        "colour": ["zzz", None, "red"],
        "size": [None, 2.0, 9.0],
        "flag": [True, None, False],
        "count": [7, 1, None],
    }
    X = pd.DataFrame(rows | {"never": ["x", None, None]})
    filled = network(4).fill(X, how, random_state=0, library=library)
    colours, counts, never = (column(filled, name) for name in ("colour", "count", "never"))
    assert (colours[0], colours[2]) == ("zzz", "red")
    assert colours[1] in FEATURES[0].values
    assert counts[:2] == [7, 1]
    assert counts[2] in (0, 1)
    assert nw.from_native(filled, eager_only=True)["count"].dtype.is_integer()
    assert never == ["x", "(never observed)", "(never observed)"]
    assert None not in column(filled, "size") + column(filled, "flag")
    as_array = network(4).fill(X.astype(object).to_numpy(), how, random_state=0, library="pandas")
    assert as_array["colour"].tolist() == colours


def test_unseen_values_of_another_type_make_a_column_of_text():
    X = pd.DataFrame(
        {"colour": ["red"] * 2, "size": [1.0] * 2, "flag": [True] * 2, "count": ["many", None]}
    )
    filled = network(4).fill(X.assign(never=None))
    assert filled["count"].tolist()[0] == "many"
    assert filled["count"].tolist()[1] in ("0", "1")
    domain = Domain((Variable("a", "boolean", (True,)),), Variable("y", "categorical", (0, 1)))
    tables = oracle.random_tables(np.random.default_rng(0), Structure.naive(1), [1], 2)
    assert BayesNet(domain, tables).fill([[False], [True], [None]])["a"].tolist() == [
        False,
        True,
        True,
    ]


def test_fill_answers_in_the_library_of_the_question():
    net, frame = network(4), gappy_frame(np.random.default_rng(0), rows=6)
    frame.index = list("abcdef")
    expected = net.fill(frame)
    assert expected.index.tolist() == list("abcdef")
    assert net.fill(frame, library="pandas").index.tolist() == list("abcdef")
    columns = {name: [None if value != value else value for value in frame[name]] for name in frame}
    for library in ("polars", "pyarrow"):
        module = pytest.importorskip(library)
        filled = net.fill(
            module.DataFrame(columns) if library == "polars" else module.table(columns)
        )
        assert type(filled).__module__.split(".")[0] == library
        assert [column(filled, name) for name in columns] == [
            expected[name].tolist() for name in columns
        ]
        assert type(net.fill(frame, library=library)).__module__.split(".")[0] == library


# ---- samples, likelihood, novelty


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
def test_samples_are_frames_of_values(library, normalized):
    X, y = network(6, normalized).sample(50, random_state=0, library=library)
    frame = nw.from_native(X, eager_only=True)
    assert frame.columns == DOMAIN.names
    assert len(frame) == 50
    assert y.shape == (50,)
    assert set(y.tolist()) <= {"no", "yes", "maybe"}
    assert set(frame["size"].to_list()) <= set(FEATURES[1].labels)
    assert set(frame["count"].to_list()) == {0, 1}
    assert set(frame["flag"].to_list()) == {False, True}
    if library != "pyarrow":
        assert frame["flag"].dtype == nw.Boolean
        assert frame["count"].dtype == nw.Int64


def test_samples_repeat_with_the_seed():
    net = network(6)
    one, two, other = (net.sample(30, random_state=seed, library="pandas") for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])
    assert not one[0].equals(other[0])
    assert net.sample(0)[1].shape == (0,)


def test_labels_of_samples_have_the_type_of_the_classes():
    tables = oracle.random_tables(np.random.default_rng(0), Structure.naive(1), [2], 2)
    for values, kind in (((3, 7), "i"), ((False, True), "b"), (("a", "b"), "U")):
        domain = Domain(
            (Variable("x", "categorical", ("u", "v")),), Variable("y", "categorical", values)
        )
        _, y = BayesNet(domain, tables).sample(20, random_state=0)
        assert y.dtype.kind == kind
        assert set(y.tolist()) == set(values)


@pytest.mark.parametrize("normalized", [True, False])
def test_likelihoods_of_all_states_sum_to_one(normalized):
    net = network(7, normalized)
    X, codes = every_state()
    joint = dense_joint(net)
    total = 0.0
    for c, label in enumerate(("no", "yes", "maybe")):
        with_class = np.exp(net.log_likelihood(X, [label] * len(X)))
        np.testing.assert_allclose(with_class, joint[(*codes, c)], atol=1e-12)
        total += with_class.sum()
    assert total == pytest.approx(1.0, abs=1e-10)
    assert np.exp(net.log_likelihood(X)).sum() == pytest.approx(1.0, abs=1e-10)
    with pytest.raises(ValueError, match="X has 36 rows and y has 2"):
        net.log_likelihood(X, ["no", "yes"])


def test_log_joint_and_posterior_of_values():
    net, frame = network(8), gappy_frame(np.random.default_rng(2))
    expected = oracle.log_joint(net.parameters, net.encode(frame))
    np.testing.assert_allclose(net.log_joint(frame), expected, atol=1e-10)
    shares = np.exp(expected)
    np.testing.assert_allclose(
        net.posterior(frame), shares / shares.sum(axis=1, keepdims=True), atol=1e-10
    )
    unseen = pd.DataFrame(
        {"colour": ["pink"], "size": [2.0], "flag": [True], "count": [1], "never": [None]}
    )
    as_gap = unseen.assign(colour=None)
    np.testing.assert_array_equal(net.posterior(unseen), net.posterior(as_gap))


def test_exact_posteriors_have_no_error():
    net, frame = network(8), gappy_frame(np.random.default_rng(2))
    shares, error = net.posterior_with_error(frame)
    np.testing.assert_array_equal(shares, net.posterior(frame))
    np.testing.assert_array_equal(error, np.zeros_like(shares))


def test_estimated_posteriors_have_an_error():
    net = network(8, max_cells=8, beyond_max_cells=500)
    row = pd.DataFrame(
        {"colour": [None], "size": [np.nan], "flag": [True], "count": [1], "never": [None]}
    )
    shares, error = net.posterior_with_error(row)
    assert (error > 0).all()
    assert np.abs(shares - network(8).posterior(row)).max() < 5 * error.max()


def test_novelty():
    domain = Domain(
        tuple(Variable(f"x{i}", "categorical", ("u", "v")) for i in range(4)),
        Variable("y", "categorical", (0, 1)),
    )
    layout = Layout(Structure.naive(4), np.array([2] * 4), 2)
    tables = CPTs(layout, np.log([0.5, 0.5]), np.log(np.tile([0.9, 0.9, 0.1, 0.1], 4)))
    net = BayesNet(domain, tables)
    rows = pd.DataFrame(
        [["u"] * 4, ["v"] * 4, ["u", "u", "u", "v"], [None] * 4, [None, None, None, "v"]]
    )
    rows.columns = domain.names
    usual, odd, one_off, blank, masked = net.novelty(rows, n_draws=2000)
    assert usual == 0.0  # nothing is more probable
    assert odd > 0.99
    assert one_off == pytest.approx(0.9**4, abs=0.05)  # what is more probable: all u
    assert blank == 0.0
    assert masked == pytest.approx(0.9, abs=0.05)
    X, _ = net.sample(200, random_state=5)
    scores = net.novelty(X)
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert np.median(scores) < 0.8


@pytest.mark.parametrize("normalized", [True, False])
def test_novelty_in_batches_of_patterns(normalized, monkeypatch):
    net, frame = network(8, normalized), gappy_frame(np.random.default_rng(2))
    scores = net.novelty(frame, n_draws=50)
    drawn, _ = sample(net.parameters, 50, np.random.default_rng(0))
    for m, row in enumerate(net.encode(frame).T):
        hidden = (row >= DOMAIN.cards)[:, None]
        rows = np.column_stack([row, np.where(hidden, DOMAIN.cards[:, None], drawn)]).astype(
            np.uint8
        )
        own, *others = np.logaddexp.reduce(oracle.log_joint(net.parameters, rows), axis=1)
        assert scores[m] == pytest.approx(np.mean(np.array(others) > own + 1e-9))
    monkeypatch.setattr("discbayes.bayesnet.BATCH_CELLS", 1)
    np.testing.assert_array_equal(net.novelty(frame, n_draws=50), scores)


@pytest.mark.parametrize("n_draws", [0, -1, 2.5, None, True])
def test_novelty_needs_draws(n_draws):
    with pytest.raises(ValueError, match=r"n_draws=.* must be a whole number of at least 1"):
        network().novelty(every_state()[0], n_draws=n_draws)


# ---- limits, files, construction


def test_rows_beyond_the_limit_are_estimated_with_one_warning():
    row = pd.DataFrame(
        {"colour": [None], "size": [np.nan], "flag": [True], "count": [1], "never": [None]}
    )
    rows = pd.concat([row, row.assign(colour="red", size=1.0), row])
    net = network(8, max_cells=8)
    with pytest.warns(EstimateWarning, match=r"^2 rows .*beyond_max_cells='raise' refuses") as w:
        shares, error = net.posterior_with_error(rows)
    assert len(w) == 1
    assert (error[[0, 2]] > 0).all()
    assert (error[1] == 0).all()
    assert (np.abs(shares - network(8).posterior(rows)) <= 5 * error + 1e-12).all()


def test_limits_of_version_0_1_go_on_working_with_a_warning():
    old = network(8)
    with pytest.warns(FutureWarning) as w:
        net = BayesNet(DOMAIN, old.parameters, 8, None, 2)
    assert [str(one.message) for one in w] == [
        "the parameter max_factor_size is deprecated and will be removed in version 0.4: use"
        " max_cells=8",
        "the parameter n_draws is deprecated and will be removed in version 0.4: use"
        " beyond_max_cells='raise'",
    ]
    assert (net.max_cells, net.beyond_max_cells, net.n_jobs) == (8, "raise", 2)
    with pytest.warns(FutureWarning, match="use beyond_max_cells=50"):
        net = BayesNet(DOMAIN, old.parameters, n_draws=50)
    assert (net.max_cells, net.beyond_max_cells) == (100_000_000, 50)
    with pytest.warns(FutureWarning, match="the attribute max_factor_size"):
        assert net.max_factor_size == 1 << 22
    with pytest.warns(FutureWarning, match="the attribute n_draws"):
        assert net.n_draws == 50
    with pytest.raises(TypeError, match="multiple values for argument 'parameters'"):
        BayesNet(DOMAIN, old.parameters, parameters=old.parameters)
    with pytest.raises(TypeError, match="n_draws is the old name of beyond_max_cells"):
        BayesNet(DOMAIN, old.parameters, n_draws=5, beyond_max_cells=5)


def test_a_factor_that_is_too_large_names_the_columns():
    net = network(0, max_cells=8, beyond_max_cells="raise")
    row = pd.DataFrame(
        {"colour": [None], "size": [np.nan], "flag": [True], "count": [1], "never": [None]}
    )
    blank = row.assign(flag=None)
    questions = [
        lambda: net.posterior(row),
        lambda: net.posterior_with_error(row),
        lambda: net.log_likelihood(row),
        lambda: net.query("kind", {"flag": True}),
        lambda: net.most_probable({"flag": True}),
        lambda: net.fill(row, "draw"),
    ]
    for ask in questions:
        with pytest.raises(
            TooManyCellsError, match=r"over 2 columns \(colour, size\), above max_cells=8"
        ):
            ask()
    # gaps without an observed child need no factor
    assert net.posterior(blank).sum() == pytest.approx(1.0)


def test_a_pickled_network_gives_the_same_answers():
    net, frame = network(9, n_jobs=2), gappy_frame(np.random.default_rng(3))
    net.posterior(frame)
    again = pickle.loads(pickle.dumps(net))
    assert again.domain == net.domain
    assert again.structure == net.structure
    np.testing.assert_array_equal(again.posterior(frame), net.posterior(frame))


def test_tables_of_another_domain_are_refused():
    tables = network().parameters
    fewer = Domain(FEATURES[:4], DOMAIN.target)
    other = Domain(
        (Variable("colour", "categorical", ("blue", "red")), *FEATURES[1:]), DOMAIN.target
    )
    for domain in (fewer, other):
        with pytest.raises(
            ValueError, match="different numbers of values: they do not belong together"
        ):
            BayesNet(domain, tables)
    with pytest.raises(ValueError, match="different numbers of classes"):
        BayesNet(Domain(FEATURES, Variable("kind", "categorical", ("no", "yes"))), tables)


def test_decode_leaves_gaps_and_turns_mixed_values_to_text():
    net = network()
    codes = np.array([[3, 0], [3, 2], [2, 1], [2, 1], [1, 0]], np.uint8)
    for library in LIBRARIES:
        frame = nw.from_native(net.decode(codes, library), eager_only=True)
        for i, name in enumerate(DOMAIN.names):
            assert frame[name].is_null().to_list() == (codes[i] >= DOMAIN.cards[i]).tolist()
        assert [frame[name].to_list()[1] for name in DOMAIN.names[:4]] == ["blue", ">= 4", True, 1]
    mixed = Domain(
        (Variable("m", "categorical", (0, 1), missing_value=True),),
        Variable("y", "categorical", (0, 1)),
    )
    tables = oracle.random_tables(np.random.default_rng(0), Structure.naive(1), [3], 2)
    for library in LIBRARIES:
        frame = BayesNet(mixed, tables).decode(np.array([[0, 1, 2]], np.uint8), library)
        assert column(frame, "m") == ["0", "1", "(missing)"]


# ---- inference, where a network of values is not needed


def test_tables_of_zeros_and_ones_on_a_forest():
    """A product of probabilities that are all 0 or 1 must still be taken to the log scale."""
    layout = Layout(Structure(((), (0,))), np.array([2, 2]), 1)
    with np.errstate(divide="ignore"):
        tables = CPTs(layout, np.zeros(1), np.log(np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])))
    got = log_joint(tables, np.array([[2, 2, 2], [0, 1, 2]], np.uint8))
    np.testing.assert_array_equal(got.ravel(), [0.0, -np.inf, 0.0])


@pytest.mark.parametrize("n_leaves", range(13, 20))
def test_a_small_message_is_not_mixed_with_what_was_in_its_place(n_leaves):
    """Below a gap, a gap with so many children that its message lies near the end of the range of a
    double.
    """
    rng = np.random.default_rng(n_leaves)
    structure = Structure(((), (0,), *((1,) for _ in range(n_leaves))))
    layout = Layout(structure, np.full(n_leaves + 2, 2), 2)
    theta = np.empty(layout.size)
    for i in range(n_leaves + 2):
        table = layout.table(theta, i)
        table[..., 0, :] = rng.random((*table.shape[:-2], 2))
        table[..., 0, 0] = 1e-6
        table[..., 1, :] = 1 - table[..., 0, :]
    tables = CPTs(layout, np.log([0.4, 0.6]), np.log(theta))
    codes = rng.integers(2, size=(n_leaves + 2, 1)).astype(np.uint8)
    codes[:2] = 2
    parts = []
    for a, b in product(range(2), repeat=2):
        complete = codes.copy()
        complete[:2, 0] = a, b
        parts.append(log_joint(tables, complete)[0])
    np.testing.assert_allclose(
        log_joint(tables, codes)[0], np.logaddexp.reduce(parts, axis=0), rtol=1e-12
    )


def test_codes_times_classes_beyond_a_byte():
    """Code 99 of a column with 100 values, 40 classes: 3,960 does not fit where the code does."""
    rng = np.random.default_rng(0)
    for structure in (Structure(((), (0,))), Structure(((), (), (0, 1)))):
        n = structure.n_features
        cards = [100] + [3] * (n - 1)
        tables = oracle.random_tables(rng, structure, cards, 40)
        codes = np.array([[99, 100, 98]] + [[2, 2, 3]] * (n - 1), np.uint8)
        expected = oracle.log_joint(tables, codes)
        np.testing.assert_allclose(log_joint(tables, codes), expected, atol=1e-10)


@pytest.mark.parametrize("normalized", [True, False])
def test_no_rows_at_all(normalized):
    tables = network(0, normalized).parameters
    empty = np.empty((5, 0), np.uint8)
    assert log_joint(tables, empty).shape == (0, 3)
    filled, classes, value = most_probable(tables, empty)
    assert filled.shape == (5, 0)
    assert classes.shape == value.shape == (0,)


def test_the_class_alone_can_be_asked_for():
    tables = network(1).parameters
    joint = oracle.full_joint(tables)
    np.testing.assert_allclose(
        joint_posterior(tables, [CLASS], {}), joint.sum(axis=(0, 1, 2, 3, 4)), atol=1e-12
    )

"""BIF files: our own come back as they were, pyAgrum reads them, and wrong ones are refused with
the line.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import oracle
from discbayes import KDB, BayesNet, BayesNetClassifier, Structure, load_dataset
from discbayes.data import Domain, Variable
from discbayes.io import BifError, read_bif, write_bif
from discbayes.io import bif_read as reader
from discbayes.io.bif_write import legal_names

DOG = """\
network "Dog-Problem" { // a comment
  property credal-set constant-density-bounded 1.1 ;
}
/* more
   comments */
variable sick { type discrete [ 2 ] { yes, no }; property position = (218, 195) ; }
variable "light-on" { type discrete[2] {"true" "false"}; }
variable out { type discrete [ 3 ] { far, near, not }; }
probability ( sick ) { table 0.25, 0.75; }
probability ( "light-on" | sick ) { (yes) 0.6, 0.4; (no) 0.05 0.95; }
probability ( out | light-on, sick ) {
  default 0.2, 0.3, 0.5;
  (true, no) 1, 0, 0;
}
"""
SMALL = """\
network n { }
variable c { type discrete [ 2 ] { u, v }; }
variable x { type discrete [ 2 ] { a, b }; }
probability ( c ) { table 0.25, 0.75; }
probability ( x | c ) {
  (u) 0.6, 0.4;
  (v) 0.1, 0.9;
}
"""


def make_network(seed, zeros=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    structure = oracle.random_structure(rng, n)
    cards, n_classes = rng.integers(1, 5, size=n), int(rng.integers(1, 5))
    features = tuple(
        Variable(f"x{i}", "categorical", tuple(f"v{k}" for k in range(c)))
        for i, c in enumerate(cards)
    )
    target = Variable("y", "categorical", tuple(range(n_classes)))
    return BayesNet(
        Domain(features, target),
        oracle.random_tables(rng, structure, cards, n_classes, zeros=zeros),
    )


def written(network, tmp_path):
    write_bif(network, tmp_path / "net.bif")
    return tmp_path / "net.bif"


def from_text(text, tmp_path, **options):
    path = tmp_path / "in.bif"
    path.write_text(text, encoding="utf-8")
    return read_bif(path, **options)


def assert_same(first, second, tolerance=1e-14):
    assert first.domain == second.domain
    assert first.structure == second.structure
    np.testing.assert_allclose(
        np.exp(first.parameters.log_prior), np.exp(second.parameters.log_prior), atol=tolerance
    )
    np.testing.assert_allclose(
        np.exp(first.parameters.log_theta), np.exp(second.parameters.log_theta), atol=tolerance
    )


# Round trips


@pytest.mark.parametrize("seed", range(25))
def test_round_trip(seed, tmp_path):
    network = make_network(seed, zeros=seed % 2 == 1)
    again = read_bif(written(network, tmp_path))
    assert_same(network, again)
    assert list(map(type, again.domain.target.values)) == list(
        map(type, network.domain.target.values)
    )


@pytest.mark.parametrize(
    "structure, parameters", [("nb", "hybrid"), ("tan", "hybrid"), (KDB(k=2), "map")]
)
def test_fitted_networks_round_trip(structure, parameters, tmp_path):
    wine = load_dataset("wine")
    network = BayesNetClassifier(structure, parameters).fit(wine.X, wine.y).network_
    path = tmp_path / "wine.bif"
    network.to_bif(path)
    again = read_bif(path)
    assert_same(network, again)
    np.testing.assert_allclose(again.posterior(wine.X), network.posterior(wine.X), atol=1e-12)


# Two resolutions


def two_resolutions(names=("size", "weight", "color", "age")):
    """A network in which two columns of two resolutions have children, and one has none."""
    cuts = (-1.0, 0.5, 2.0, 7.25)
    features = (
        Variable(names[0], "numeric", cuts=cuts, coarse_cuts=(0.5,)),
        Variable(names[1], "numeric", cuts=cuts, coarse_cuts=(), missing_value=True),
        Variable(names[2], "categorical", ("a", "b", "c"), groups=(0, 1, 0), missing_value=True),
        Variable(names[3], "numeric", cuts=cuts, coarse_cuts=(0.5, 2.0)),
    )
    domain = Domain(features, Variable("class", "categorical", ("no", "yes")))
    structure = Structure(((), (0,), (0, 1), (2,)), (True, True, True, False))
    rng = np.random.default_rng(3)
    tables = oracle.random_tables(rng, structure, domain.cards, 2, states=domain.states)
    return BayesNet(domain, tables)


def plain(path):
    """The file without the properties that other programs do not know, but for the class."""
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if "discbayes_" not in line or "_role" in line]
    return "\n".join(kept) + "\n"


@pytest.mark.parametrize(
    "names", [("size", "weight", "color", "age"), ("a", "a states", "class states", "%")]
)
def test_two_resolutions_come_back(names, tmp_path):
    network = two_resolutions(names)
    again = read_bif(written(network, tmp_path))
    *others, last = network.domain.features
    assert again.domain.features == (*others, replace(last, coarse_cuts=None))  # has no children
    assert again.structure == network.structure
    for name in ("log_prior", "log_theta"):
        found, expected = (np.exp(getattr(n.parameters, name)) for n in (again, network))
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_other_programs_see_coarse_intervals_as_variables(tmp_path):
    """The answers are the same, whether the values of those variables are given or not."""
    network = two_resolutions()
    other = from_text(plain(written(network, tmp_path)), tmp_path)
    states = ["size_states", "weight_states", "color_states"]
    assert other.domain.names == ["size", "weight", "color", "age", *states]
    assert other.structure.parents == ((), (4,), (4, 5), (6,), (0,), (1,), (2,))
    rng = np.random.default_rng(0)
    cards = network.domain.cards
    codes = np.array([rng.integers(card + 1, size=200) for card in cards], np.uint8)
    expected = network.log_joint_of(codes)
    states = np.array([codes[0] >= 2, codes[1] == 5, np.array([0, 1, 0, 2, 3])[codes[2]]], np.uint8)
    unknown = np.array([[2], [2], [3]], np.uint8)
    for given in (
        np.repeat(unknown, 200, axis=1),
        np.where(codes[:3] == cards[:3, None], unknown, states),
    ):
        found = other.log_joint_of(np.concatenate([codes, given]).astype(np.uint8))
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "old, new",
    [
        ("discbayes_states = size", "discbayes_states = nothing"),
        ("discbayes_states = size", "discbayes_states = color"),
        ("discbayes_states = size", "discbayes_states = size%20states"),
        ("(lt_minus1) 1.0, 0.0", "(lt_minus1) 0.5, 0.5"),
        ("property discbayes_cuts = 0.5 ;", "property discbayes_cuts = 0.7 ;"),
        ("( weight | class, size_states )", "( weight | class, size )"),
    ],
)
def test_coarse_intervals_that_were_changed_stay_a_variable(old, new, tmp_path):
    text = written(two_resolutions(), tmp_path).read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new, 1)
    if "weight" in old:  # a table by value, which repeats the rows of a state
        lines = text.splitlines()
        at = next(k for k, line in enumerate(lines) if new in line)
        rows = lines[at + 1 : at + 5]
        values = ["lt_minus1", "from_minus1_to_0_5", "from_0_5_to_2", "from_2_to_7_25", "ge_7_25"]
        made = []
        for c, label in enumerate(("no", "yes")):
            for k, value in enumerate(values):
                made.append(f"  ({label}, {value}) {rows[2 * c + (k > 1)].split(') ')[1]}")
        text = "\n".join([*lines[: at + 1], *made, *lines[at + 5 :]]) + "\n"
    again = from_text(text, tmp_path)
    assert "size states" in again.domain.names
    assert again.domain.features[0].coarse_cuts is None
    assert again.domain.features[1].coarse_cuts == ()


def odd_network():
    features = (
        Variable(
            'petal width (cm); // = "x"',
            "numeric",
            cuts=(-0.1, 0.30000000000000004, 1e300),
            missing_value=True,
        ),
        Variable("variable probability", "categorical", ("", "a,b", "日本", "😀", "none", "%")),
        Variable("", "boolean", (False, True)),
        Variable("table", "categorical", (1, 2.5, 10**17)),
        Variable("Table", "numeric", cuts=()),
        Variable("never", "categorical", ()),
        Variable("e" * 3000, "categorical", ("x" * 70, "x" * 70 + "y"), missing_value=True),
    )
    structure = Structure(
        ((), (0,), (0, 1), (), (), (3,), (2,)), (True, False, True, True, True, False, True)
    )
    rng = np.random.default_rng(5)
    tables = oracle.random_tables(rng, structure, [v.card for v in features], 2)
    return BayesNet(Domain(features, Variable("class", "boolean", (False, True))), tables)


def test_names_values_types_and_cuts_come_back(tmp_path):
    network = odd_network()
    again = read_bif(written(network, tmp_path))
    assert_same(network, again)
    for a, b in zip(network.domain.features, again.domain.features, strict=True):
        assert list(map(type, a.values)) == list(map(type, b.values))
        assert a.cuts == b.cuts


def test_files_are_plain_identifiers(tmp_path):
    text = written(odd_network(), tmp_path).read_text(encoding="ascii")
    for line in text.splitlines():
        if not line.lstrip().startswith("property"):
            assert re.fullmatch(r"[A-Za-z0-9_ .,(){}|;\[\]+-]*", line)
        assert len(line) < 600 or not line.lstrip().startswith("property")
    # as pgmpy counts them
    assert len(re.findall("variable", text)) == len(re.findall(r"^variable ", text, re.M))


def test_a_column_of_one_value_gets_an_impossible_second_one(tmp_path):
    features = (Variable("flat", "numeric", cuts=()), Variable("x", "categorical", ("a", "b")))
    structure = Structure(((), (0,)))
    tables = oracle.random_tables(np.random.default_rng(0), structure, [1, 2], 2)
    network = BayesNet(Domain(features, Variable("c", "categorical", ("u", "v"))), tables)
    path = written(network, tmp_path)
    text = path.read_text()
    assert "{ any, impossible }" in text
    assert "(u) 1.0, 0.0;" in text
    assert_same(network, read_bif(path))
    with pytest.raises(BifError, match="marked as impossible"):
        from_text(text.replace("(u) 1.0, 0.0;", "(u) 0.5, 0.5;"), tmp_path)


def test_legal_names_are_unique_identifiers():
    names = legal_names(
        ["a b", "a_b", "A-B", "a_b_2", "1", "type", "", "é", "ü", "日", "本", "x" * 500, "x" * 501]
    )
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and len(name) < 70 for name in names)
    assert len(set(legal_names(["日"] * 5000))) == 5000


# pyAgrum as a second opinion


@pytest.mark.parametrize("seed", range(8))
def test_pyagrum_reads_the_same_tables(seed, tmp_path):
    gum = pytest.importorskip("pyagrum")
    network = make_network(seed)
    other = gum.loadBN(str(written(network, tmp_path)))
    structure = network.structure
    assert other.size() == structure.n_features + 1
    prior = np.exp(network.parameters.log_prior)
    np.testing.assert_allclose(other.cpt("y").toarray()[: prior.size], prior, atol=1e-12)
    for i, group in enumerate(structure.parents):
        cpt, table = other.cpt(f"x{i}"), np.exp(network.parameters.log_table(i))
        parents = (
            ["y", *(f"x{p}" for p in group)]
            if structure.class_children[i]
            else [f"x{p}" for p in group]
        )
        assert set(cpt.names) == {f"x{i}", *parents}
        ours = np.moveaxis(table, -1, 0) if structure.class_children[i] else table[..., 0]
        order = [[*parents, f"x{i}"].index(name) for name in reversed(cpt.names)]
        # without impossible second values
        known = tuple(slice(size) for size in ours.transpose(order).shape)
        np.testing.assert_allclose(cpt.toarray()[known], ours.transpose(order), atol=1e-12)


# pyAgrum reads numbers in single precision: a row multiplies one of each of the 14 tables, and in
# the large tables of two resolutions the errors add up
@pytest.mark.parametrize(
    "parameters, rtol", [("hybrid", 1e-7), ("auto", 14 * np.finfo(np.float32).eps)]
)
def test_pyagrum_gives_the_same_posterior(parameters, rtol, tmp_path):
    gum = pytest.importorskip("pyagrum")
    wine = load_dataset("wine")
    network = BayesNetClassifier("tan", parameters).fit(wine.X, wine.y).network_
    other = gum.loadBN(str(written(network, tmp_path)))
    codes = network.encode(wine.X)
    rows = [0, 70, 150]
    for row in rows:
        engine = gum.LazyPropagation(other)
        names = legal_names([network.domain.target.name, *network.domain.names])
        engine.setEvidence(
            {
                name: int(code)
                for name, code in zip(names[1:], codes[:, row], strict=True)
                if row != 70
            }
        )
        if row == 70:  # half of the columns only
            engine.setEvidence(
                {
                    name: int(code)
                    for name, code in list(zip(names[1:], codes[:, row], strict=True))[:6]
                }
            )
        engine.makeInference()
        known = wine.X.iloc[[row]].copy()
        if row == 70:
            known.iloc[:, 6:] = np.nan
        np.testing.assert_allclose(
            engine.posterior(names[0]).toarray(), network.posterior(known)[0], rtol, atol=1e-9
        )


def test_pyagrum_reads_odd_names(tmp_path):
    gum = pytest.importorskip("pyagrum")
    other = gum.loadBN(str(written(odd_network(), tmp_path)))
    assert other.size() == 8


def test_the_order_of_a_table_is_that_of_pyagrum(tmp_path):
    gum = pytest.importorskip("pyagrum")
    text = (
        SMALL + "variable z { type discrete [ 2 ] { s, t }; }\n"
        "probability ( z | c, x ) { table 0.1, 0.2, 0.3, 0.4, 0.9, 0.8, 0.7, 0.6; }\n"
    )
    network = from_text(text, tmp_path, target="c")
    other = gum.loadBN(str(tmp_path / "in.bif"))
    ours = network.parameters.log_table(1)  # axes x, z, c
    for c, x, z in np.ndindex(2, 2, 2):
        assert other.cpt("z")[{"c": c, "x": x, "z": z}] == pytest.approx(np.exp(ours[x, z, c]))


# Files of others


def test_a_foreign_file(tmp_path):
    network = from_text(DOG, tmp_path, target="sick")
    assert network.domain.names == ["light-on", "out"]
    assert network.domain.target.values == ("yes", "no")
    assert network.structure == Structure(((), (0,)), (True, True))
    table = np.exp(network.parameters.log_table(1))  # light-on, out, sick
    np.testing.assert_allclose(table[0, :, 1], [1, 0, 0])
    np.testing.assert_allclose(table[0, :, 0], [0.2, 0.3, 0.5])
    assert network.query("sick", {"out": "near"}).probabilities.sum() == pytest.approx(1)


def test_a_feature_that_does_not_depend_on_the_class(tmp_path):
    text = (
        SMALL
        + "variable w { type discrete [ 2 ] { s, t }; }\nprobability ( w | x ) { (a) 0.5, 0.5; (b)"
        " 0.2, 0.8; }\n"
    )
    network = from_text(text, tmp_path, target="c")
    assert network.structure.class_children == (True, False)
    table = np.exp(network.parameters.log_table(1))
    np.testing.assert_array_equal(table[..., 0], table[..., 1])


def test_rounded_rows_are_scaled_and_exact_ones_are_not(tmp_path):
    network = from_text(SMALL.replace("0.6, 0.4", "0.66667, 0.33334"), tmp_path, target="c")
    row = np.exp(network.parameters.log_table(0)[:, 0])
    assert row.sum() == pytest.approx(1, abs=1e-15)
    assert row[0] == pytest.approx(0.66667 / 1.00001)
    assert network.parameters.is_normalized
    exact = from_text(SMALL, tmp_path, target="c").parameters.log_table(0)[:, 0]
    np.testing.assert_array_equal(exact, np.log([0.6, 0.4]))


@pytest.mark.parametrize("last", ["0.399999999", "0.400000001", "0.3999999995"])
def test_rows_at_the_edge_of_the_tolerance_can_be_written_again(tmp_path, last):
    # as in munin2: sums of 0.999999999 were taken as they are, and then not as normalized
    network = from_text(SMALL.replace("0.6, 0.4", f"0.6, {last}"), tmp_path, target="c")
    assert network.parameters.is_normalized
    network.to_bif(tmp_path / "again.bif")


def test_another_variable_can_be_the_class(tmp_path):
    wine = load_dataset("wine")
    network = BayesNetClassifier([]).fit(wine.X[["hue", "ash"]], wine.y).network_
    path = written(network, tmp_path)
    assert read_bif(path, target="hue").class_parents == ("class",)
    alone = Structure(((), ()), (True, False))
    other = BayesNetClassifier(alone).fit(wine.X[["hue", "ash"]], wine.y).network_
    turned = read_bif(written(other, tmp_path), target="ash")
    assert turned.domain.target.values == tuple(other.domain.features[1].labels)
    assert turned.domain.names == ["class", "hue"]


# What is wrong, and where

WRONG = {
    "no target": (SMALL, r"line 1: .*name the class variable.*target= one of 'c', 'x'", None),
    "unknown target": (SMALL, r"target='q' is not a single variable: one of 'c', 'x'", "q"),
    "cycle through the class": (
        SMALL.replace("( c ) { table 0.25, 0.75; }", "( c | x ) { (a) 0.25, 0.75; (b) 0.5, 0.5; }"),
        r"the parents form a cycle among 'x', 'c'",
        "c",
    ),
    "missing row": (
        SMALL.replace("  (v) 0.1, 0.9;\n", ""),
        r"line 5: the row \(v\) of 'x' is missing",
        "c",
    ),
    "row twice": (
        SMALL.replace("(v) 0.1", "(u) 0.1"),
        r"line 7: the row \(u\) of 'x' is there twice",
        "c",
    ),
    "sum": (
        SMALL.replace("0.1, 0.9", "0.1, 0.8"),
        r"line 7: the row \(v\) of 'x' sums to 0.9 and not to 1",
        "c",
    ),
    "sum of prior": (
        SMALL.replace("0.25, 0.75", "0.25, 0.7"),
        r"line 4: the row \(\) of 'c' sums to 0.95",
        "c",
    ),
    "negative": (
        SMALL.replace("0.1, 0.9", "-0.1, 1.1"),
        r"line 7: a probability is expected here, not '-0.1'",
        "c",
    ),
    "nan": (SMALL.replace("0.1, 0.9", "nan, 0.9"), r"line 7: a probability is expected", "c"),
    "inf": (SMALL.replace("0.1, 0.9", "1e999, 0.9"), r"line 7: a probability is expected", "c"),
    "word for number": (
        SMALL.replace("0.1, 0.9", "zero, 0.9"),
        r"line 7: a probability is expected.*'zero'",
        "c",
    ),
    "python number": (
        SMALL.replace("0.1, 0.9", "0.1_0, 0.9"),
        r"line 7: a probability is expected",
        "c",
    ),
    "long row": (
        SMALL.replace("0.1, 0.9", "0.1, 0.8, 0.1"),
        r"line 7: a row of 'x' has 3 numbers for 2",
        "c",
    ),
    "short table": (
        SMALL.replace("0.25, 0.75", "1"),
        r"line 4: the table of 'c' must have 2 numbers",
        "c",
    ),
    "unknown state": (SMALL.replace("(v)", "(w)"), r"line 7: 'c' has no value 'w'", "c"),
    "too many states": (
        SMALL.replace("(v)", "(v, v)"),
        r"line 7: \(v, v\) does not give each parent",
        "c",
    ),
    "unknown parent": (
        SMALL.replace("x | c", "x | d"),
        r"line 5: variable 'd' is not declared",
        "c",
    ),
    "parent twice": (SMALL.replace("x | c", "x | c, c"), r"line 5: .* names a variable twice", "c"),
    "own parent": (SMALL.replace("x | c", "x | x"), r"line 5: .* names a variable twice", "c"),
    "declared twice": (
        SMALL.replace("variable x", "variable c"),
        r"line 3: variable 'c' is declared twice",
        "c",
    ),
    "no distribution": (
        SMALL[: SMALL.index("probability ( x")],
        r"line 3: variable 'x' has no distribution",
        "c",
    ),
    "two distributions": (
        SMALL + "probability ( c ) { table 1, 0; }",
        r"line 9: .*'c' has two distributions",
        "c",
    ),
    "value twice": (
        SMALL.replace("a, b", "a, a"),
        r"line 3: variable 'x' lists a value twice",
        "c",
    ),
    "wrong count": (
        SMALL.replace("[ 2 ] { a", "[ 3 ] { a"),
        r"line 3: .* declared to have 3 values and lists 2",
        "c",
    ),
    "no values": (
        SMALL.replace("[ 2 ] { a, b }", "[ 0 ] { }"),
        r"line 3: variable 'x' has no values",
        "c",
    ),
    "no type": (
        SMALL.replace("type discrete [ 2 ] { a, b };", ""),
        r"line 3: variable 'x' has no type",
        "c",
    ),
    "two tables": (
        SMALL.replace("0.75;", "0.75; table 1, 0;"),
        r"line 4: 'c' has a second table",
        "c",
    ),
    "continuous": (
        SMALL.replace("type discrete", "type continuous"),
        r"line 2: 'discrete' is expected",
        "c",
    ),
    "open comment": (SMALL + "/* x", r"line 9: a quotation mark or comment is not closed", "c"),
    "open string": (SMALL + '"x', r"line 9: a quotation mark or comment is not closed", "c"),
    "open property": (
        SMALL.replace("n { }", "n { property x }").replace(";", ""),
        r"line 1: a property has no",
        "c",
    ),
    "not BIF": (
        "<?xml version='1.0'?>",
        r"line 1: network, variable or probability is expected",
        "c",
    ),
    "empty": ("", r"line 1: target='c' is not a single variable", "c"),
    "class alone": (
        SMALL[: SMALL.index("variable x")] + "probability ( c ) { table 1, 0; }",
        r"besides the class",
        "c",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_line(case, tmp_path):
    text, message, target = WRONG[case]
    with pytest.raises(BifError, match=message) as caught:
        from_text(text, tmp_path, target=target)
    assert "in.bif" in str(caught.value)


def test_a_cycle_is_named(tmp_path):
    text = (
        SMALL
        + "variable s { type discrete [ 1 ] { k }; }\nvariable t { type discrete [ 1 ] { k }; }\n"
        "probability ( s | t ) { (k) 1; }\nprobability ( t | s ) { (k) 1; }\n"
    )
    with pytest.raises(BifError, match=r"line 11: the parents form a cycle among 's', 't'"):
        from_text(text, tmp_path, target="c")


def test_every_truncation_is_refused(tmp_path):
    end = SMALL.rindex("}")
    for stop in range(end):
        with pytest.raises(BifError):
            from_text(SMALL[:stop], tmp_path, target="c")


@pytest.mark.parametrize("seed", range(300))
def test_random_damage_never_escapes(seed, tmp_path):
    rng = np.random.default_rng(seed)
    text = list(SMALL if seed % 2 else DOG)
    for _ in range(int(rng.integers(1, 4))):
        text[int(rng.integers(len(text)))] = str(rng.choice(list('{}()[];,|"/*% \n0a-')))
    with contextlib.suppress(BifError):
        from_text("".join(text), tmp_path, target="c" if seed % 2 else "sick")


@pytest.mark.parametrize(
    "old,new",
    [
        ("discbayes_kind = numeric", "discbayes_kind = other"),
        ("discbayes_cuts = ", "discbayes_cuts = 5,4,"),
        ("discbayes_cuts = ", "discbayes_cuts = 1e999,"),
        ("discbayes_cuts = ", "discbayes_cuts = __import__,"),
        ("discbayes_values = s:", "discbayes_values = q:"),
        ("discbayes_values = s:", "discbayes_values = i:"),
        ("discbayes_values = s:", "discbayes_values = b:"),
        ("discbayes_values = s:", "discbayes_values = i:7,s:"),
        ("discbayes_name = alcohol", "discbayes_name = hue"),
        ("discbayes_name = alcohol", "discbayes_name = %FF"),
    ],
)
def test_damaged_properties(old, new, tmp_path):
    wine = load_dataset("wine")
    labels = np.asarray(wine.y).astype(str)
    network = BayesNetClassifier("nb").fit(wine.X[["alcohol", "hue"]], labels).network_
    text = written(network, tmp_path).read_text()
    assert old in text
    with pytest.raises(BifError):
        from_text(text.replace(old, new, 1), tmp_path)


def test_limits(tmp_path, monkeypatch):
    path = tmp_path / "in.bif"
    path.write_text(SMALL)
    with pytest.raises(BifError, match="more than 10 bytes"):
        read_bif(path, target="c", max_bytes=10)
    names = [f"p{i}" for i in range(28)]
    text = SMALL + "".join(f"variable {n} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for n in names)
    text += "".join(f"probability ( {n} ) {{ table 1, 0; }}\n" for n in names)
    text += "variable big { type discrete [ 2 ] { a, b }; }\n"
    text += f"probability ( big | {', '.join(names)} ) {{ default 1, 0; }}\n"
    with pytest.raises(BifError, match=f"that of 'big' have more than {reader.MAX_CELLS} cells"):
        from_text(text, tmp_path, target="c")
    path.write_bytes(b"network \xff { }")
    with pytest.raises(BifError, match="not UTF-8"):
        read_bif(path)


def test_a_missing_file_is_no_bif_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_bif(tmp_path / "none.bif")


def test_unnormalized_tables_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    structure = Structure.naive(2)
    tables = oracle.random_tables(rng, structure, [2, 2], 2, normalized=False)
    features = tuple(Variable(n, "categorical", ("u", "v")) for n in "ab")
    network = BayesNet(Domain(features, Variable("c", "categorical", ("0", "1"))), tables)
    with pytest.raises(BifError, match="not normalized"):
        write_bif(network, tmp_path / "x.bif")
    assert not list(tmp_path.iterdir())


def test_large_files_are_read_in_time(tmp_path):
    rng = np.random.default_rng(0)
    structure = Structure(((), *((i,) for i in range(199))))
    cards = [12] * 200
    features = tuple(Variable(f"x{i}", "categorical", tuple(range(12))) for i in range(200))
    tables = oracle.random_tables(rng, structure, cards, 5)
    network = BayesNet(Domain(features, Variable("y", "categorical", tuple("abcde"))), tables)
    assert_same(network, read_bif(written(network, tmp_path)))


@pytest.mark.parametrize("lost", ["name", "kind", "values"])
def test_notes_that_are_not_complete_are_refused(lost, tmp_path):
    """Without its name a variable was taken for one of another program, with the table of another
    number of values.
    """
    frame = pd.DataFrame({"flat": ["a"] * 6, "other": list("xyxyxy")})
    path = tmp_path / "net.bif"
    BayesNetClassifier("nb", "map").fit(frame, list("nynyny")).network_.to_bif(path)
    head, _, rest = path.read_text(encoding="utf-8").partition("variable flat")
    path.write_text(
        f"{head}variable flat{rest.replace(f'discbayes_{lost}', 'lost', 1)}", encoding="utf-8"
    )
    with pytest.raises(
        BifError, match=f"the properties of 'flat' are damaged: discbayes_{lost} is not among them"
    ):
        read_bif(path)

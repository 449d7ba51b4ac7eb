"""Growing domains: rows come in parts, and later parts may have new values.

What is learned from the first rows stays: which columns are numbers, their cut points, and what was
declared. Other columns, and the classes unless they were declared, get the new values, in the place
that they would have if all rows had been there at once: in rising order if the values so far rise,
at the end if they have an order of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from discbayes._text import listed
from discbayes.data.domain import Domain, Encoded, Variable, cut_texts
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.data.labels import check_levels
from discbayes.data.table import CategoricalColumn, Table, only_used
from discbayes.data.targets import DataWarning, classes_and_codes, label_array, target_variable
from discbayes.data.value_groups import numbered
from discbayes.data.variables import (
    SeenLabels,
    _refuse_free_text,
    distinct_numbers,
    some_columns_are,
)

# Two domains


def difference(mine: Domain, other: Domain) -> str | None:
    """Return the first difference of two domains in words; None if their codes mean the same."""
    if len(mine.features) != len(other.features):
        return f"there are {len(mine.features)} columns here and {len(other.features)} there"
    for position, (here, there) in enumerate(zip(mine.features, other.features, strict=True)):
        if here.name != there.name:
            return f"column {position} is {here.name!r} here and {there.name!r} there"
        differs = _variables_differ(here, there)
        if differs:
            return f"column {here.name!r} {differs}"
    if mine.target.values != other.target.values:
        return f"the class {_values_differ(mine.target.values, other.target.values)}"
    return None


def _variables_differ(here: Variable, there: Variable) -> str | None:
    if (here.cuts is None) != (there.cuts is None):
        return f"is {_kind(here)} here and {_kind(there)} there"
    if here.cuts is not None and there.cuts is not None and here.cuts != there.cuts:
        return f"has cut points {_shown_cuts(here.cuts)} here and {_shown_cuts(there.cuts)} there"
    if here.coarse.cuts is not None and here.coarse.cuts != there.coarse.cuts:
        cuts = _shown_cuts(here.coarse.cuts), _shown_cuts(there.coarse.cuts or ())
        return f"has coarse cut points {cuts[0]} here and {cuts[1]} there"
    if here.values != there.values:
        return _values_differ(here.values, there.values)
    if here.groups != there.groups:
        return "has its values in other groups here than there"
    if here.missing_value != there.missing_value:
        return f'has "missing" as a value {"here" if here.missing_value else "there"} only'
    if here.marginalized != there.marginalized:
        return (
            'has a value "missing" that prediction marginalizes'
            f" {'here' if here.marginalized else 'there'} only"
        )
    return None


def _shown_cuts(cuts: tuple[float, ...]) -> str:
    return listed(cut_texts(cuts), 5, show=str, empty="nothing")


def _kind(variable: Variable) -> str:
    return "a column of categories" if variable.cuts is None else "discretized into intervals"


def _values_differ(here: Sequence[Any], there: Sequence[Any]) -> str:
    for one, two, where in ((here, there, "here"), (there, here, "there")):
        more = [value for value in one if value not in set(two)]
        if more:
            return f"has {listed(more, 5)} {where} only"
    return f"has its values in another order, {listed(here, 5)} here"


def moved_codes(old: Variable, new: Variable) -> np.ndarray:
    """Return the code in a grown variable of each code of the old one.

    >>> old = Variable("a", "categorical", ("x", "z"))
    >>> moved_codes(old, Variable("a", "categorical", ("x", "y", "z")))
    array([0, 2])
    """
    if old.cuts is not None:
        codes = list(range(len(old.cuts) + 1))
    else:
        index = {value: code for code, value in enumerate(new.values)}
        codes = [index[value] for value in old.values]
    if old.missing_value:
        codes.append(new.card - 1)
    # a column that was never observed has a value that nothing has
    return np.array(codes or [0], dtype=np.int64)


# Rows in parts


def first_rows(
    encoder: FrameEncoder,
    table: Table,
    y: Any,
    sample_weight: Any,
    classes: Any = None,
    target: Any = None,
) -> Encoded:
    """Learn the domain from the first rows, and return their codes.

    ``classes`` are all classes that can occur. ``target`` is the name of the class, unless ``y``
    has a name of its own. Values that a declared column does not have are treated according to the
    setting ``unknown`` of the encoder.
    """
    rows, labels, weight, _ = encoder.select_rows(table, y, sample_weight, all_rows=False)
    encoder.learn(rows, labels, weight, getattr(y, "name", target))
    if classes is not None:
        known = classes_and_codes(label_array(classes, None))[0]
        if isinstance(encoder.domains, Domain):
            _refuse_other_classes(known, encoder.domain_)
        else:
            encoder.use_domain(_with_classes(encoder.domain_, known), known)
    _warn_of_no_cuts(encoder, rows.n_rows)
    return Encoded(_codes(encoder, rows), encoder.domain_, encoder.class_codes(labels), weight)


def more_rows(
    encoder: FrameEncoder,
    table: Table,
    y: Any,
    sample_weight: Any,
    fixed_classes: bool,
    n_present: np.ndarray,
) -> tuple[FrameEncoder, Encoded]:
    """Return an encoder that also knows the values of more rows, and the codes of these.

    ``n_present`` is the number of values that each column had so far: text that is new in most rows
    is not a category.
    """
    rows, labels, weight, _ = encoder.select_rows(table, y, sample_weight, all_rows=False)
    domain, classes = encoder.domain_, encoder.classes_
    if not isinstance(encoder.domains, Domain):
        domain = _with_values(domain, rows, encoder, n_present)
    if not fixed_classes:
        classes = _more_classes(classes, labels)
        domain = _with_classes(domain, classes)
    grown = copy(encoder)
    grown.use_domain(domain, classes)
    return grown, Encoded(_codes(grown, rows), domain, grown.class_codes(labels), weight)


def _warn_of_no_cuts(encoder: FrameEncoder, n_rows: int) -> None:
    """Warn of numeric columns that are not used: later rows add no cut points."""
    domain = encoder.domain_
    unused = [variable.name for variable in domain.features if variable.cuts == ()]
    if unused and domain.n_classes > 1 and not isinstance(encoder.domains, Domain):
        warnings.warn(
            f"{some_columns_are(len(unused), domain)} not used, since the {n_rows} rows to begin"
            " with have no informative cut point and those of later parts add none:"
            f" {listed(unused, 5)}. Begin with more rows, or give domains",
            DataWarning,
            stacklevel=5,
        )


def _codes(encoder: FrameEncoder, rows: Table) -> np.ndarray:
    """Return the codes of rows to learn from; unknown values stay unknown.

    Missing values become a value where they are one.
    """
    codes, features = encoder.transform(rows), encoder.domain_.features
    if any(variable.missing_value for variable in features):
        for row, missing, variable in zip(codes, rows.missing_mask(), features, strict=True):
            if variable.missing_value:
                row[missing] = variable.card - 1
    return codes


def _with_values(
    domain: Domain, rows: Table, encoder: FrameEncoder, n_present: np.ndarray
) -> Domain:
    """Return the domain with the new values of some rows, in the columns that may grow."""
    declared, n_missing = encoder.declared(domain.names), rows.missing_counts()
    features = list(domain.features)
    # in a model of version 0.1.0
    marginalized = any(variable.marginalized for variable in features)
    for position, variable in enumerate(features):
        if encoder.missing == "value" and n_missing[position]:
            features[position] = variable = replace(
                variable, missing_value=True, marginalized=marginalized
            )
        if variable.cuts is not None or variable.kind == "boolean" or position in declared.domains:
            continue
        new, text = _new_values(variable, rows, position)
        if new:
            check_levels([*variable.values, *new], variable.name)
            values = _in_place(variable.values, new)
            groups = _grown_groups(variable, values)
            features[position] = variable = replace(variable, values=values, groups=groups)
            if text and position not in declared.categories:
                present = int(n_present[position]) + rows.n_rows - int(n_missing[position])
                _refuse_free_text(SeenLabels(variable.values, False, True, present), variable.name)
    return replace(domain, features=tuple(features))


def _new_values(variable: Variable, rows: Table, position: int) -> tuple[list[Any], bool]:
    """Return the values that a variable does not have, and whether the column is plain text."""
    part, j = rows.find(position)
    if isinstance(part, CategoricalColumn):
        seen, text = only_used(part.places, part.levels)[1], part.text
    else:
        seen, text = distinct_numbers(part, j, variable.name).tolist(), False
    known = set(variable.values)
    return [value for value in seen if value not in known], text


def _in_place(values: tuple[Any, ...], new: list[Any]) -> tuple[Any, ...]:
    """Return the values with new ones among them.

    >>> _in_place(("b", "d"), ["c"]), _in_place(("small", "large"), ["medium"])
    (('b', 'c', 'd'), ('small', 'large', 'medium'))
    """
    rising = all(low < high for low, high in pairwise(values))
    return tuple(sorted([*values, *new])) if rising else (*values, *sorted(new))


def _grown_groups(variable: Variable, values: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the groups of values of which some are new: each new one is a group of its own.

    A new value among ordered ones is in the group of the value before it.

    >>> city = Variable("city", "categorical", ("Bonn", "Kiel", "Ulm"), groups=(0, 1, 0))
    >>> _grown_groups(city, ("Bonn", "Hof", "Kiel", "Ulm"))
    (0, 1, 2, 0)
    """
    if variable.groups is None:
        return None
    known = dict(zip(variable.values, variable.groups, strict=True))
    groups: list[int] = []
    for place, value in enumerate(values):
        alone = len(variable.groups) + place
        if variable.ordered:
            alone = groups[-1] if groups else 0
        groups.append(known.get(value, alone))
    return numbered(np.array(groups))


def _more_classes(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the classes with those of more labels."""
    found = classes_and_codes(labels)[0]
    if (classes.dtype.kind in "UO") != (found.dtype.kind in "UO"):
        raise ValueError(
            f"y mixes strings and numbers, {classes.tolist()[0]!r} before and {found.tolist()[0]!r}"
            " now: cast it to one of them"
        )
    if set(found.tolist()) <= set(classes.tolist()):
        return classes
    return classes_and_codes(np.concatenate([classes, found]))[0]


def _with_classes(domain: Domain, classes: np.ndarray) -> Domain:
    target = target_variable(domain.target.name, classes, domain.names)
    return domain if target == domain.target else replace(domain, target=target)


def _refuse_other_classes(classes: np.ndarray, domain: Domain) -> None:
    if set(classes.tolist()) != set(domain.target.values):
        raise ValueError(
            f"classes={classes.tolist()!r} are not those of the given domain,"
            f" {list(domain.target.values)!r}: leave them out"
        )

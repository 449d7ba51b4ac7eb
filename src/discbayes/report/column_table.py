"""What was done with each column, and the settings that say what happens to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discbayes.calibration import Temperature
from discbayes.classifier import BayesNetClassifier
from discbayes.data import Domain, Variable
from discbayes.inference import FactorTooLargeError
from discbayes.report.markup import name_html, number, table_html
from discbayes.report.text import count_of, escaped, shortened

MAX_VALUES, _MAX_PARENTS = 8, 6  # named in a cell
_VALUE_LETTERS, _SETTING_LETTERS = 28, 160

_GAPS = {
    "available": "Gaps in the training rows stayed gaps: a row counts where it has values.",
    "value": (
        "A missing value is a value of its own in the columns that had any in the training rows."
    ),
    "drop": "Training rows with gaps were left out.",
    "error": "Gaps in the training rows were refused.",
}
_UNSEEN = {
    "marginalize": "A category that was not there at fit counts as a gap.",
    "error": "A category that was not there at fit is refused.",
}
_CUTTING = {
    "mdlp": "numbers are cut where that tells most about the class, by minimum description length",
    "equal-frequency": "numbers are cut into intervals of equally many rows",
    None: "each number is a category",
}


def columns_html(clf: BayesNetClassifier) -> str:
    """The section on columns and settings."""
    domain, structure = clf.network_.domain, clf.structure_
    mixed = not all(structure.class_children)
    rows = [
        _column(variable, [domain.names[p] for p in parents], child if mixed else None)
        for variable, parents, child in zip(
            domain.features, structure.parents, structure.class_children, strict=True
        )
    ]
    header = [
        "column",
        "kind",
        "values",
        "which",
        "parents",
        *(["depends on the class"] if mixed else []),
    ]
    note = "" if mixed else "The class is a parent of every column."
    table = table_html(
        f"What became of {count_of(len(rows), 'column')}", header, rows, 6, "columns", note=note
    )
    return f'<p class="note">{escaped(_handling(clf))}</p>{table}{_settings(clf)}'


def _column(variable: Variable, parents: Sequence[str], child: bool | None) -> list[str]:
    cells = [
        name_html(variable.name),
        escaped(variable.kind),
        f"{variable.card:,}",
        _values(variable),
        _names(parents, _MAX_PARENTS) or "–",
    ]
    return cells if child is None else [*cells, "yes" if child else "no"]


def _values(variable: Variable) -> str:
    """The values, as many as there is room for, and what is odd about them."""
    odd = []
    if variable.missing_value:
        odd.append(
            "the last value is missing"
            if variable.reads_missing
            else "the last value is a gap in the training rows"
        )
    if variable.card == 1:
        what = "one interval" if variable.cuts is not None else "one value"
        odd.append(f"{what} only: the column is not used")
    notes = "".join(f"<small>{note}</small>" for note in odd)
    return _names(variable.labels, MAX_VALUES, variable.missing_value) + notes


def _names(names: Sequence[str], most: int, with_last: bool = False) -> str:
    """Some names, and how many more there are; the last one is among them if it matters."""
    if len(names) <= most + 1:
        return ", ".join(name_html(name, _VALUE_LETTERS) for name in names)
    last = [f"… and {len(names) - most} more"]
    if with_last:
        last = [f"… {len(names) - most - 1} more …", name_html(names[-1], _VALUE_LETTERS)]
    return ", ".join([*(name_html(name, _VALUE_LETTERS) for name in names[:most]), *last])


def _handling(clf: BayesNetClassifier) -> str:
    """What happens to gaps and to values that are new."""
    exactly = "summed out exactly"
    if clf.n_draws is not None:
        exactly = f"summed out, by {count_of(clf.n_draws, 'draw')} where that would take too much"
    reads = any(variable.reads_missing for variable in clf.network_.domain.features)
    said = [
        _GAPS.get(str(clf.missing), ""),
        f"When the model predicts, {'what else is unknown is' if reads else 'gaps are'} {exactly}.",
        _UNSEEN.get(str(clf.unknown), ""),
    ]
    if any(variable.cuts for variable in clf.network_.domain.features):
        said.append(
            "A number beyond the outermost cut is in the outermost interval, however far out."
        )
    return " ".join(filter(None, said))


# ---- settings


def _settings(clf: BayesNetClassifier) -> str:
    rows = "".join(
        f"<div><dt>{name}</dt><dd>{escaped(value)}<small>{escaped(meaning)}</small></dd></div>"
        for name, value, meaning in _entries(clf)
    )
    return f'<h3>Settings</h3><dl class="settings">{rows}</dl>'


def _entries(clf: BayesNetClassifier) -> list[tuple[str, str, str]]:
    """Name, value and meaning of the settings that matter here."""
    target = clf.network_.domain.target
    entries = [
        ("class", shortened(target.name, 48), _classes(target.labels)),
        ("structure", setting_text(clf.structure), "how the edges were found"),
        ("parameters", setting_text(clf.parameters), "how the tables were learned"),
        *_columns_entries(clf),
        ("calibrate", *_calibration(clf)),
        *_class_shares(clf),
    ]
    if isinstance(clf.domains, Mapping) and clf.domains:
        entries.append(
            ("domains", setting_text(list(clf.domains)), "columns whose values were given")
        )
    return entries


def _columns_entries(clf: BayesNetClassifier) -> list[tuple[str, str, str]]:
    """What says which values columns have: a domain that was given, or how they were learned."""
    if isinstance(clf.domains, Domain):
        return [
            (
                "domains",
                "of another classifier",
                "values, cut points and classes of all columns were given",
            )
        ]
    return [
        ("discretizer", setting_text(clf.discretizer), _cutting(clf.discretizer)),
        ("categorical", setting_text(clf.categorical), "which numeric columns are categories"),
    ]


def _classes(labels: Sequence[str]) -> str:
    names = ", ".join(shortened(label, _VALUE_LETTERS) for label in labels[:MAX_VALUES])
    more = f", … and {len(labels) - MAX_VALUES} more" if len(labels) > MAX_VALUES else ""
    return f"what is predicted: {names}{more}"


def setting_text(value: Any) -> str:
    """A setting as it was given, of limited length.

    >>> setting_text("tan"), setting_text(None)
    ('tan', 'None')
    """
    return shortened(value if isinstance(value, str) else repr(value), _SETTING_LETTERS)


def _cutting(discretizer: Any) -> str:
    known = discretizer is None or isinstance(discretizer, str)
    return _CUTTING.get(discretizer, "how numbers are cut") if known else "how numbers are cut"


def _calibration(clf: BayesNetClassifier) -> tuple[str, str]:
    found, asked = clf.calibration_, setting_text(clf.calibrate)
    if found is None:
        return asked, "probabilities are those of the network, not calibrated"
    if isinstance(found, Temperature):
        return f"{asked}: temperature {number(found.temperature, 2)}", "log odds are divided by it"
    return f"{asked}: isotonic", "each class has a rising function from log odds to probabilities"


def _shares(prior: np.ndarray) -> str:
    more = ", …" if prior.size > MAX_VALUES else ""
    return ", ".join(number(share) for share in prior[:MAX_VALUES]) + more


def _class_shares(clf: BayesNetClassifier) -> list[tuple[str, str, str]]:
    """P(class) with nothing known; nothing where that would take too large a factor, without
    normalised tables.
    """
    try:
        known = clf.network_.query(clf.network_.domain.target.name)
    except FactorTooLargeError:
        return []
    return [("class shares", _shares(known.probabilities), _origin(clf))]


def _origin(clf: BayesNetClassifier) -> str:
    if clf.class_prior is not None:
        learned = clf.network_.parameters.prior_offset is not None
        return (
            f"P(class) with nothing known, {'moved to the shares' if learned else 'as given'} by"
            " class_prior"
        )
    if clf.class_weight is not None:
        return f"P(class) with nothing known, with class_weight={setting_text(clf.class_weight)}"
    return "P(class) of the network with nothing known"

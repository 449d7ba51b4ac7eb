"""The section on columns: their values and parents, and the settings of the classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from discbayes._text import count_of, shortened
from discbayes.calibration import AUTO, LogPool, Temperature
from discbayes.classifier import BayesNetClassifier
from discbayes.data import Domain, Variable
from discbayes.inference import RAISE, TooManyCellsError, blank_rows
from discbayes.report.markup import (
    MAX_LONG_NAME,
    definitions_html,
    escaped,
    name_html,
    number,
    table_html,
)

MAX_VALUES, _MAX_PARENTS = 8, 6  # named in a cell
_MAX_VALUE, _MAX_SETTING = 28, 160  # characters

_MISSING = {
    "available": (
        "Statistics are estimated from the observed values of the training rows (available-case"
        " analysis)."
    ),
    "value": (
        "A missing value is a value of its own in the columns with missing values in the training"
        " rows."
    ),
    "drop": "Training rows with missing values were left out.",
    "error": "Missing values in the training rows were refused.",
}
_USUAL = (
    "It is evidence in rows whose missing values are like those of the training rows; where others"
    " are missing, or more of them, all are marginalized."
)
_UNSEEN = {
    "marginalize": "A category that the training rows do not have counts as missing.",
    "error": "A category that the training rows do not have is refused.",
}
_DISCRETIZERS = {
    "mdlp": "discretized by the minimum description length principle, with regard to the class",
    "equal-frequency": "discretized into intervals of equally many rows",
    "two-resolution": (
        "discretized into fine intervals, and coarse ones that the children of a column see"
    ),
    None: "each number is a category",
}


def columns_html(clf: BayesNetClassifier) -> str:
    """Return the section on columns and settings."""
    domain, structure = clf.network_.domain, clf.structure_
    is_mixed = not all(structure.class_children)
    rows: list[list[str]] = []
    unused: list[list[str]] = []
    for i, variable in enumerate(domain.features):
        parents = [domain.names[p] for p in structure.parents[i]]
        row = _column(variable, parents, structure.class_children[i] if is_mixed else None)
        row[3] += _monotone(clf, variable)
        (unused if variable.card == 1 else rows).append(row)
    header = ["column", "kind", "values", "which", "parents"]
    note = "The class is a parent of every column."
    if is_mixed:
        header, note = [*header, "depends on the class"], ""
    title = count_of(len(rows), "column").capitalize()
    table = table_html(title, header, rows, 6, "columns", note=note) if rows else ""
    if unused:
        title = f"{count_of(len(unused), 'column')} not used"
        folded = table_html(title, header, unused, 6, "columns")
        table += f"<details><summary>{title}</summary>{folded}</details>"
    return f'<p class="note">{escaped(_handling(clf))}</p>{table}{_settings(clf)}'


def _column(variable: Variable, parents: Sequence[str], child: bool | None) -> list[str]:
    cells = [
        name_html(variable.name, MAX_LONG_NAME),
        escaped(variable.kind),
        f"{variable.card:,}",
        _values(variable),
        _names(parents, _MAX_PARENTS) or "–",
    ]
    return cells if child is None else [*cells, "yes" if child else "no"]


def _monotone(clf: BayesNetClassifier, variable: Variable) -> str:
    """Return the note of a column in which the odds of a class are monotone; empty for others."""
    direction = (getattr(clf.parameters, "monotone", None) or {}).get(variable.name)
    if direction is None:
        return ""
    label = name_html(clf.network_.domain.target.labels[1], _MAX_VALUE)
    word = "fall" if direction > 0 else "rise"
    return f"<small>the odds of {label} never {word} as it rises</small>"


def _values(variable: Variable) -> str:
    """Return some values, coarse intervals or groups, with notes on them and on unused columns."""
    notes = []
    if variable.missing_value:
        where = "" if variable.reads_missing else " in the training rows"
        notes.append(f"the last value is for missing values{where}")
    if variable.card == 1:
        what = "one interval" if variable.cuts is not None else "one value"
        notes.append(f"{what} only: the column is not used")
    if variable.coarse_cuts is not None:
        notes.append(f"coarse intervals, of {variable.card:,} fine ones in all")
    values = _names(variable.coarse.labels, MAX_VALUES, variable.missing_value)
    groups = "" if variable.groups is None else _groups(variable)
    return values + "".join(f"<small>{note}</small>" for note in notes) + groups


def _groups(variable: Variable) -> str:
    """Return the values of each group, which are shown on demand."""
    members: list[list[str]] = [[] for _ in range(variable.n_states)]
    for label, state in zip(variable.labels, variable.states.tolist(), strict=True):
        members[state].append(escaped(label))
    listed = "".join(f"<li>{', '.join(group)}</li>" for group in members)
    summary = f"groups of {len(variable.values):,} values, as other columns see them"
    return f"<details><summary>{summary}</summary><ol>{listed}</ol></details>"


def _names(names: Sequence[str], max_names: int, with_last: bool = False) -> str:
    """Return some names and the number of others; with ``with_last`` always the last one."""
    if len(names) <= max_names + 1:
        return ", ".join(name_html(name, _MAX_VALUE) for name in names)
    last = [f"… and {len(names) - max_names} more"]
    if with_last:
        last = [f"… {len(names) - max_names - 1} more …", name_html(names[-1], _MAX_VALUE)]
    return ", ".join([*(name_html(name, _MAX_VALUE) for name in names[:max_names]), *last])


def _handling(clf: BayesNetClassifier) -> str:
    """Return what happens to missing values and to unknown categories."""
    how = "marginalized exactly"
    if clf.beyond_max_cells != RAISE and not clf.network_.structure.is_forest:
        how = f"marginalized exactly, or estimated beyond {count_of(clf.max_cells, 'cell')} a row,"
    reads = any(variable.reads_missing for variable in clf.network_.domain.features)
    missing = str(clf.missing)
    chosen = ""
    if missing == AUTO:
        missing = "value" if reads else "available"
        chosen = "Held-out rows were predicted better that way." if reads else ""
    if isinstance(clf.calibration_, LogPool) and clf.calibration_.reads_missing.any():
        chosen = f"{chosen} {_USUAL}".strip()
    sentences = [
        _MISSING.get(missing, ""),
        chosen,
        f"{'Other missing' if reads else 'Missing'} values are {how} at prediction time.",
        _UNSEEN.get(str(clf.unknown), ""),
    ]
    if any(variable.cuts for variable in clf.network_.domain.features):
        sentences.append("Numbers beyond the outermost cut point belong to the outermost interval.")
    return " ".join(filter(None, sentences))


# ---- settings


def _settings(clf: BayesNetClassifier) -> str:
    entries = [
        (name, f"{escaped(value)}<small>{escaped(meaning)}</small>")
        for name, value, meaning in _entries(clf)
    ]
    return f"<h3>Settings</h3>{definitions_html('settings', entries)}"


def _entries(clf: BayesNetClassifier) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of the settings."""
    target = clf.network_.domain.target
    learned = "how the conditional probability tables were learned"
    entries = [
        ("class", shortened(target.name, 48), _classes(target.labels)),
        ("structure", setting_text(clf.structure), "how the edges were learned"),
        ("parameters", setting_text(clf.parameters), learned),
        *_columns_entries(clf),
        ("calibrate", *_calibration(clf)),
        *_class_prior(clf),
    ]
    if isinstance(clf.domains, Mapping) and clf.domains:
        columns = setting_text(list(clf.domains))
        entries.append(("domains", columns, "columns whose values were given"))
    return entries


def _columns_entries(clf: BayesNetClassifier) -> list[tuple[str, str, str]]:
    """Return the settings of the values of columns: a given domain, or how they were learned."""
    if isinstance(clf.domains, Domain):
        given = "values, cut points and classes of all columns were given"
        return [("domains", "of another classifier", given)]
    name = clf.discretizer
    if isinstance(name, str) and name == AUTO:
        has_two = clf.network_.domain.states is not None
        name = "two-resolution" if has_two else "mdlp"
    is_name = name is None or isinstance(name, str)
    how = _DISCRETIZERS.get(name if is_name else "", "how numbers are discretized")
    return [
        ("discretizer", setting_text(clf.discretizer), how),
        ("categorical", setting_text(clf.categorical), "which numeric columns are categories"),
    ]


def _classes(labels: Sequence[str]) -> str:
    names = ", ".join(shortened(label, _MAX_VALUE) for label in labels[:MAX_VALUES])
    more = f", … and {len(labels) - MAX_VALUES} more" if len(labels) > MAX_VALUES else ""
    return f"what is predicted: {names}{more}"


def setting_text(value: Any) -> str:
    """Return a setting as it was given, shortened.

    >>> setting_text("tan"), setting_text(None)
    ('tan', 'None')
    """
    return shortened(value if isinstance(value, str) else repr(value), _MAX_SETTING)


def _calibration(clf: BayesNetClassifier) -> tuple[str, str]:
    found, asked = clf.calibration_, setting_text(clf.calibrate)
    if found is None:
        return asked, "probabilities are those of the network, not calibrated"
    if isinstance(found, Temperature):
        return f"{asked}: temperature {number(found.temperature, 2)}", "log odds are divided by it"
    if isinstance(found, LogPool):
        numbers = f"scale {number(found.scale, 2)}, doubt {number(found.doubt, 3)}"
        return f"{asked}: log pool, {numbers}", _pool(found)
    meaning = "each class has an increasing function from log odds to probabilities"
    return f"{asked}: isotonic", meaning


def _pool(found: LogPool) -> str:
    """Return what a log pool does to a row."""
    usual = f"{100 * found.usual_missing:.0f} %" if found.usual_missing >= 0.005 else ""
    rows = f"rows with up to the usual {usual} of missing values" if usual else "complete rows"
    text = (
        f"{rows} have the probabilities of the network shown here, learned discriminatively; the"
        " more values are missing, the more the generative estimates of the same structure count,"
        " whose log odds are multiplied by the scale"
    )
    return f"{text}; doubt is the share of the class shares mixed in" if found.doubt else text


def _class_prior(clf: BayesNetClassifier) -> list[tuple[str, str, str]]:
    """Return P(class) with nothing known, unless that needs too many cells.

    Without normalized tables it may.
    """
    network = clf.network_
    try:
        if isinstance(clf.calibration_, LogPool):
            blank = blank_rows(network.parameters, 1)
            shares = clf.calibrated_posterior().exact.posterior(blank)[0]
        else:
            exact = replace(network, beyond_max_cells=RAISE)
            shares = exact.query(network.domain.target.name).probabilities
    except TooManyCellsError:
        return []
    shown = ", ".join(map(number, shares[:MAX_VALUES]))
    more = ", …" if shares.size > MAX_VALUES else ""
    return [("class prior", shown + more, _origin(clf))]


def _origin(clf: BayesNetClassifier) -> str:
    if clf.class_prior is not None:
        is_learned = clf.network_.parameters.prior_offset is not None
        how = "adjusted to" if is_learned else "given by"
        return f"P(class) with nothing known, {how} class_prior"
    if clf.class_weight is not None:
        return f"P(class) with nothing known, with class_weight={setting_text(clf.class_weight)}"
    if isinstance(clf.calibration_, LogPool):
        return "P(class) with nothing known"
    return "P(class) of the network with nothing known"

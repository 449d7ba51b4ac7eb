"""The declaration of an experiment, and the published figures and prose that stand beside it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.learning import METRICS

HERE = Path(__file__).parent
_INCLUDED = re.compile(r"<!-- include ([\w.]+) -->")
Figures = dict[tuple[str, str], float]  # by row and column

# The papers, as they are cited.
PAPERS = {
    "P10": (
        "Pernkopf and Bilmes (2010), Efficient heuristics for discriminative structure learning of"
        " Bayesian network classifiers, JMLR 11"
    ),
    "P12": (
        "Pernkopf and Wohlmayr (2012), Stochastic margin-based structure learning of Bayesian"
        " network classifiers, Pattern Recognition"
    ),
    "C11": (
        "Carvalho, Roos, Oliveira and Myllymäki (2011), Discriminative learning of Bayesian"
        " networks via factorized conditional log-likelihood, JMLR 12"
    ),
    "Z17": (
        "Zaidi, Webb, Carman, Petitjean, Buntine, Hynes and De Sterck (2017), Efficient parameter"
        " learning of Bayesian network classifiers, Machine Learning"
    ),
    "P13": (
        "Peharz, Tschiatschek and Pernkopf (2013), The most generative maximum margin Bayesian"
        " networks, ICML"
    ),
    "ours": "An experiment of this project",
}


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Its protocol, and why our figures differ from the published ones, are in the Markdown file
    beside its module.

    Attributes
    ----------
    name, paper, where, title : str
        ``p10-table7``, ``P10``, ``Table 7``, and what it shows.
    tasks : function of ``quick``
        What is to be run; with ``quick`` a small part of it, for trying out.
    page : function of the store
        What the page shows: our figures beside the published ones. It must cope with a store that
        is not full.
    metrics : tuple of str
        What a run measures.
    store : str
        The name of the file of results; experiments that share runs share it. The name of the
        experiment by default.
    packages : tuple of str
        Packages whose versions are noted beside the results, besides those of every run.
    """

    name: str
    paper: str
    where: str
    title: str
    tasks: Callable[[bool], Sequence[Task]]
    page: Callable[[Store], Sequence[Block]]
    metrics: tuple[str, ...] = METRICS
    store: str = ""
    packages: tuple[str, ...] = ()

    @property
    def rows(self) -> str:
        """The name of its file of results."""
        return self.store or self.name

    @property
    def protocol(self) -> str:
        """How it was done."""
        return self._prose("Protocol")

    @property
    def deviations(self) -> str:
        """Why our figures differ from the published ones; empty if there is nothing to explain."""
        return self._prose("Where ours differs")

    def _prose(self, heading: str) -> str:
        sections = read_prose(f"{module_path(self.name)}.md").split("\n## ")
        found = (section.partition("\n\n") for section in sections[1:])
        return next((text.strip("\n") for title, _, text in found if title == heading), "")


def module_path(name: str) -> str:
    """Return the path of the module of an experiment within this package, without its ending.

    >>> module_path("p10-table7-crcl"), module_path("small-tables")
    ('p10/table7_crcl', 'ours/small_tables')
    """
    folder, _, module = name.replace("-", "_").partition("_")
    is_paper = folder.upper() in PAPERS
    return f"{folder}/{module}" if is_paper else f"ours/{name.replace('-', '_')}"


def read_prose(file: str) -> str:
    """Read a Markdown file of this package, with the files that it includes in their places."""
    path = HERE / file
    text = path.read_text(encoding="utf-8").rstrip("\n")
    return _INCLUDED.sub(lambda found: read_prose(f"{path.parent.name}/{found[1]}"), text)


def read_records(file: str) -> list[dict[str, str]]:
    """Read a CSV file of this package, a dictionary for each line."""
    with (HERE / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def read_figures(file: str) -> Figures:
    """Read a published table: the first column names the rows, empty cells are left out.

    >>> figures = read_figures("p10/table5.csv")
    >>> figures["TAN-OMI-CR-ML", "UCI"], ("TAN-OMI-CR-ML", "usps") in figures
    (85.11, False)
    """
    records = read_records(file)
    name, *columns = records[0]
    return {
        (record[name], column): float(record[column])
        for record in records
        for column in columns
        if record[column]
    }


def row_names(figures: Figures) -> list[str]:
    """Return the rows of a published table in their order."""
    return list(dict.fromkeys(row for row, _ in figures))

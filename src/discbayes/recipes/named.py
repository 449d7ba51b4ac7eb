"""The recipes that the papers have in their tables, by the tags that they have there.

In the descriptions, "rate" is the classification rate of the rows, "CL" the conditional likelihood
of their classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class NamedRecipe:
    """A recipe of a paper.

    Attributes
    ----------
    tag : str
        As the paper has it, but for signs that a tag has not: KDB-1^w is KDB1-W.
    paper : str
        P10, P12, C11, Z17 or P13.
    section : str
        The table or section where it is.
    description : str
        What it does.
    """

    tag: str
    paper: str
    section: str
    description: str


class RecipeList(list[NamedRecipe]):
    """Recipes, shown one to a line."""

    def __repr__(self) -> str:
        return "\n".join(
            f"{one.tag:<22} {one.paper:<4} {one.section:<17} {one.description}" for one in self
        )


# What structures and parameters are, in the words of the list.
_P10 = {
    "NB": "no edges",
    "TAN-CMI": "tree by I(Xi;Xj|C)",
    "TAN-SuperParent": "super parents by rate",
    "TAN-OMI-CR": "order by I(X;C|earlier), parents by rate",
    "TAN-OMI-CRCL": "order by I(X;C|earlier), parents by rate after CL",
    "TAN-CR": "greedy edges by rate",
    "2-tree-SuperParent": "super parents, two at most, by rate in five folds",
    "2-tree-OMI-CR": "order by I(X;C|earlier), two parents, rate in five folds",
    "2-tree-CR": "greedy edges, two parents, rate in five folds",
}
_P10_CL = {
    "TAN-CL": "greedy edges by CL",
    "TAN-OMI-CL": "order by I(X;C|earlier), parents by CL",
    "TAN-minMI-CL": "order by least I(X;C|earlier), parents by CL",
    "TAN-RO-CL": "random order, parents by CL",
}
_P10_ORDERS = {
    "TAN-OMISP-CR": "order by I(X;C|one earlier), parents by rate",
    "TAN-OCR-CR": "order by rate, parents by rate",
}
_P12 = {
    "NB": "no edges",
    "TAN-ST-CMI": "tree by I(Xi;Xj|C)",
    "TAN-HC-CR": "greedy full tree, rate in five folds",
    "TAN-HC-MM": "greedy full tree, margin in five folds",
    "TAN-SA-CR": "annealing, rate in five folds",
    "TAN-SA-MM": "annealing, margin in five folds",
}
_C11 = {
    "TAN-fCLL": "tree by fCLL",
    "TAN-aCLL": "tree by aCLL",
    "TAN-LL": "tree by likelihood",
    "GHC2-fCLL": "hill climbing on fCLL, two parents",
    "GHC2-LL": "hill climbing on likelihood, two parents",
}
_Z17 = {"NB": "no edges", "TAN": "tree by I(Xi;Xj|C)", "KDB1": "one parent each"}
_P13 = {"TAN": "tree by I(Xi;Xj|C)", "NB": "no edges"}
_PARAMETERS = {
    "ML": "frequencies",
    "CL": "CL, cross-tuned",
    "MM": "margin, λ by folds",
    "OFE": "frequencies, 0.5 in each cell",
    "ELR": "CL, cross-tuned",
    "": "m-estimates",
    "W": "CL by weights on m-estimates",
    "D": "CL by free numbers",
    "E": "CL by normalised tables",
    "W-I": "CL by weights on m-estimates, from ones on",
    "D-I": "CL by free numbers, from m-estimates on",
    "E-I": "CL by normalised tables, from m-estimates on",
    "W1": "CL, a weight for each feature",
    "W2": "CL, a weight for each value",
    "W3": "CL, a weight for each value in a class",
    "DFE": "frequencies by 1 − P(y | x)",
    "P13ML": "frequencies with one virtual observation",
    "MCL": "CL to convergence",
    "MM13": "margin, λ and κ by folds",
    "BNSVM": "slack and norm, λ by folds",
    "MLBNSVM": "likelihood and slack, λ and γ by folds",
}


def _named(
    paper: str, section: str, structures: dict[str, str], *parameters: str
) -> Iterator[NamedRecipe]:
    """Every structure with each of the parameters."""
    for structure, searched in structures.items():
        for tag in parameters:
            yield NamedRecipe(
                f"{structure}-{tag}".rstrip("-"), paper, section, f"{searched}; {_PARAMETERS[tag]}"
            )


NAMED = (
    *_named("P10", "Tables 1, 7, 9", _P10, "ML", "CL"),
    *_named("P10", "Tables 1, 8", {"TAN-RO-CR": "random order, parents by rate"}, "ML"),
    *_named(
        "P10",
        "Tables 1, 10",
        {"2-tree-RO-CR": "random order, two parents, rate in five folds"},
        "ML",
    ),
    *_named(
        "P10",
        "Table 5",
        {"TAN-OMI-CR-Ext": "order by I(X;C|earlier), parents by rate, refined"},
        "ML",
        "CL",
    ),
    *_named("P10", "Tables 11-13", _P10_ORDERS, "ML"),
    *_named("P10", "6.3, Figs. 7-9", _P10_CL, "ML"),
    *_named("P12", "Tables 1, 2", _P12, "ML", "MM"),
    *_named("C11", "Tables 3, 4", _C11, "OFE"),
    *_named("C11", "Table 3", {"TAN-LL": "tree by likelihood"}, "ELR"),
    *_named("Z17", "7, Tables 4-6", _Z17, "", "W", "D", "E"),
    *_named("Z17", "7.4, Figs. 14-19", _Z17, "W-I", "D-I", "E-I"),
    *_named("Z17", "5.4", _Z17, "W1", "W2", "W3"),
    *_named("Z17", "6", {"NB": "no edges"}, "DFE"),
    *_named("P13", "5.3, Table 1", _P13, "P13ML", "MCL", "MM13", "MLBNSVM"),
    *_named("P13", "Eq. 9", _P13, "BNSVM"),
)


def recipes(pattern: str = "") -> RecipeList:
    """The recipes of the papers, those of a pattern if there is one.

    Parameters
    ----------
    pattern : str, default=""
        With ``*`` or ``?``, the form of the whole tag (``TAN-*-CL``); without, a part of the tag,
        paper, place or description. Small and capital letters are the same.

    Examples
    --------
    >>> [one.tag for one in recipes("fCLL")]
    ['TAN-fCLL-OFE', 'GHC2-fCLL-OFE']
    >>> recipes("TAN-SA-CR-*")
    TAN-SA-CR-ML           P12  Tables 1, 2       annealing, rate in five folds; frequencies
    TAN-SA-CR-MM           P12  Tables 1, 2       annealing, rate in five folds; margin, λ by folds
    """
    wanted = pattern.lower()
    if set("*?") & set(wanted):
        return RecipeList(one for one in NAMED if fnmatchcase(one.tag.lower(), wanted))
    return RecipeList(one for one in NAMED if any(wanted in text.lower() for text in astuple(one)))

"""The recipes in the tables of the papers, by the tags of the papers.

In the descriptions, CR is the classification rate (accuracy) on the training rows, CL the
conditional likelihood of their classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class NamedRecipe:
    """A recipe of a paper.

    Parameters
    ----------
    tag : str
        The tag as in the paper, but without signs that a tag cannot have: KDB-1^w is KDB1-W.
    paper : str
        The paper: P10, P12, C11, Z17 or P13.
    section : str
        The tables, figures or sections of the paper.
    description : str
        Structure learning and parameter learning in a few words.

    Examples
    --------
    >>> from discbayes.recipes import recipes
    >>> found = recipes("TAN-fCLL-OFE")[0]
    >>> found.paper, found.section
    ('C11', 'Tables 3, 4')
    """

    tag: str
    paper: str
    section: str
    description: str


class RecipeList(list[NamedRecipe]):
    """A list of recipes, printed one to a line."""

    def __repr__(self) -> str:
        return "\n".join(
            f"{one.tag:<22} {one.paper:<4} {one.section:<17} {one.description}" for one in self
        )


# descriptions of structures and parameters
_P10 = {
    "NB": "no edges",
    "TAN-CMI": "tree by I(Xi;Xj|C)",
    "TAN-SuperParent": "super parents by CR",
    "TAN-OMI-CR": "order by I(X;C|earlier), parents by CR",
    "TAN-OMI-CRCL": "order by I(X;C|earlier), parents by CR after CL",
    "TAN-CR": "greedy edges by CR",
    "2-tree-SuperParent": "super parents, at most 2, by 5-fold CR",
    "2-tree-OMI-CR": "order by I(X;C|earlier), 2 parents by 5-fold CR",
    "2-tree-CR": "greedy edges, 2 parents by 5-fold CR",
}
_P10_CL = {
    "TAN-CL": "greedy edges by CL",
    "TAN-OMI-CL": "order by I(X;C|earlier), parents by CL",
    "TAN-minMI-CL": "order by least I(X;C|earlier), parents by CL",
    "TAN-RO-CL": "random order, parents by CL",
}
_P10_ORDERS = {
    "TAN-OMISP-CR": "order by I(X;C|one earlier), parents by CR",
    "TAN-OCR-CR": "order by CR, parents by CR",
}
_P10_RANDOM = {"2-tree-RO-CR": "random order, 2 parents by 5-fold CR"}
_P10_REFINED = {"TAN-OMI-CR-Ext": "order by I(X;C|earlier), parents by CR, refined"}
_P12 = {
    "NB": "no edges",
    "TAN-ST-CMI": "tree by I(Xi;Xj|C)",
    "TAN-HC-CR": "greedy full tree, 5-fold CR",
    "TAN-HC-MM": "greedy full tree, 5-fold margin",
    "TAN-SA-CR": "annealing, 5-fold CR",
    "TAN-SA-MM": "annealing, 5-fold margin",
}
_C11 = {
    "TAN-fCLL": "tree by fCLL",
    "TAN-aCLL": "tree by aCLL",
    "TAN-LL": "tree by likelihood",
    "GHC2-fCLL": "hill climbing on fCLL, 2 parents",
    "GHC2-LL": "hill climbing on likelihood, 2 parents",
}
_Z17 = {"NB": "no edges", "TAN": "tree by I(Xi;Xj|C)", "KDB1": "one parent each"}
_P13 = {"TAN": "tree by I(Xi;Xj|C)", "NB": "no edges"}
_PARAMETERS = {
    "ML": "generative estimates (ML)",
    "CL": "CL, cross-tuned",
    "MM": "margin, λ by cross-validation",
    "OFE": "generative estimates, counts + 0.5",
    "ELR": "CL, cross-tuned",
    "": "m-estimates",
    "W": "CL over weights of m-estimates",
    "D": "CL over unconstrained parameters",
    "E": "CL over normalized CPTs",
    "W-I": "CL over weights of m-estimates, from ones on",
    "D-I": "CL over unconstrained parameters, from m-estimates on",
    "E-I": "CL over normalized CPTs, from m-estimates on",
    "W1": "CL, a weight for each feature",
    "W2": "CL, a weight for each value",
    "W3": "CL, a weight for each value and class",
    "DFE": "rows counted with weight 1 − P(y | x)",
    "P13ML": "generative estimates, one virtual observation",
    "MCL": "CL to convergence",
    "MM13": "margin, λ and κ by cross-validation",
    "BNSVM": "slack and norm, λ by cross-validation",
    "MLBNSVM": "likelihood and slack, λ and γ by cross-validation",
}


def _named(
    paper: str, section: str, structures: dict[str, str], *parameters: str
) -> Iterator[NamedRecipe]:
    """Yield every structure with each of the parameters."""
    for structure, search in structures.items():
        for tag in parameters:
            name, description = f"{structure}-{tag}".rstrip("-"), f"{search}; {_PARAMETERS[tag]}"
            yield NamedRecipe(name, paper, section, description)


NAMED = (
    *_named("P10", "Tables 1, 7, 9", _P10, "ML", "CL"),
    *_named("P10", "Tables 1, 8", {"TAN-RO-CR": "random order, parents by CR"}, "ML"),
    *_named("P10", "Tables 1, 10", _P10_RANDOM, "ML"),
    *_named("P10", "Table 5", _P10_REFINED, "ML", "CL"),
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
    """Return the recipes of the papers, or those that match a pattern.

    Parameters
    ----------
    pattern : str, default=""
        With ``*`` or ``?``, a pattern of the whole tag (``TAN-*-CL``); without, a part of the tag,
        paper, section or description. Case is ignored.

    Returns
    -------
    list of NamedRecipe
        The recipes in the order of the papers, printed one to a line.

    See Also
    --------
    recipe : Return the classifier of a tag.

    Examples
    --------
    >>> from discbayes import recipes
    >>> [one.tag for one in recipes("fCLL")]
    ['TAN-fCLL-OFE', 'GHC2-fCLL-OFE']
    >>> recipes("TAN-SA-CR-*")
    TAN-SA-CR-ML           P12  Tables 1, 2       annealing, 5-fold CR; generative ...
    TAN-SA-CR-MM           P12  Tables 1, 2       annealing, 5-fold CR; margin, λ by ...
    """
    wanted = pattern.lower()
    if set("*?") & set(wanted):
        return RecipeList(one for one in NAMED if fnmatchcase(one.tag.lower(), wanted))
    return RecipeList(one for one in NAMED if any(wanted in text.lower() for text in astuple(one)))

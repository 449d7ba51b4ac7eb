"""Tags and the learners that they name: STRUCTURE[-PARAMETERS][+CALIBRATION]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

from discbayes._text import nearest_first
from discbayes.recipes.named import NAMED
from discbayes.recipes.parameter_words import LEARNERS, find_parameters
from discbayes.recipes.structure_words import StructureWords, find_structure, structure_tags

CALIBRATIONS = {"T": "temperature", "ISO": "isotonic"}
N_SHOWN = 5  # tags that are similar to an unknown one


@dataclass(frozen=True)
class Recipe:
    """A parsed tag; recipes of the same tag are equal, and have learners of their own.

    Parameters
    ----------
    tag : str
        The canonical tag: other spellings of a recipe have the same.
    structure_tag : str
        The part of the tag that names the structure.
    parameters_tag : str
        The part of the tag that names the parameters.
    structure : StructureLearner
        The structure learner.
    parameters : ParameterLearner
        The parameter learner.
    options : mapping
        Further parameters of the classifier.

    Examples
    --------
    >>> from discbayes.recipes import parse
    >>> parse("NB-ML") == parse("nb-ml")
    True
    """

    tag: str
    structure_tag: str
    parameters_tag: str
    structure: Any = field(compare=False)
    parameters: Any = field(compare=False)
    options: Mapping[str, Any] = field(compare=False)


def parse(tag: str) -> Recipe:
    """Return the recipe of a tag.

    Parameters
    ----------
    tag : str
        A structure (``discbayes.recipes.structure_words``), optionally parameters
        (``discbayes.recipes.parameter_words``), and optionally "+T" or "+ISO" for calibrated
        probabilities. Case is ignored, and "-", "_" and "^" are equivalent.

    Returns
    -------
    Recipe
        The canonical tag and its learners.

    Raises
    ------
    ValueError
        If the tag is not a recipe; the message lists the most similar ones.

    See Also
    --------
    recipe : Return the classifier of a tag.

    Examples
    --------
    >>> from discbayes.recipes import parse
    >>> parse("kdb-1^w").tag, parse("TAN-LL").tag, parse("TAN-OMI-CR-CL").structure_tag
    ('KDB1-W', 'TAN-CMI-OFE', 'TAN-OMI-CR')
    """
    if not isinstance(tag, str):
        raise TypeError(f"a tag is text such as 'TAN-CMI-ML', not {tag!r}")
    learned, *calibrated = tag.upper().replace(" ", "").split("+")
    words = re.split("[-_^]", learned)
    for end in range(len(words), 0, -1):  # the longest structure wins: TAN-CL is one
        structure = find_structure("-".join(words[:end]))
        if structure is not None:
            rest = words[end:]
            parameters = find_parameters("-".join(rest)) if rest else structure.alone_with
            if parameters is None or not _is_calibration(calibrated):
                _refuse(tag, "-".join(words[:end]))
            return _recipe(structure, parameters, calibrated)
    return _refuse(tag)


def _is_calibration(words: list[str]) -> bool:
    return not words or (len(words) == 1 and words[0] in CALIBRATIONS)


def _recipe(structure: StructureWords, parameters: str, calibrated: list[str]) -> Recipe:
    """Return the recipe of canonical words."""
    tag = "+".join((f"{structure.tag}-{parameters}", *calibrated))
    options = {"calibrate": CALIBRATIONS[calibrated[0]]} if calibrated else {}
    learners = structure.learner, LEARNERS[parameters]()
    return Recipe(tag, structure.tag, parameters, *learners, MappingProxyType(options))


def _refuse(tag: str, structure: str | None = None) -> NoReturn:
    followed = [f"{structure}-{parameters}" for parameters in LEARNERS] if structure else []
    known = dict.fromkeys([*(named.tag for named in NAMED), *structure_tags(), *followed])
    near = nearest_first(tag, known)
    text = f"{tag!r} is not a recipe; the nearest are {', '.join(near[:N_SHOWN])}"
    if structure is not None:
        text += (
            f". The structure {structure} can be followed by parameters ({', '.join(LEARNERS)})"
            f" and calibration ({', '.join(f'+{word}' for word in CALIBRATIONS)})"
        )
    raise ValueError(f"{text}; recipes() lists those of the papers")

"""Recipes: tags of the papers to classifiers, such as NB-ML, TAN-OMI-CR-CL, TAN-fCLL-OFE, KDB1-W or
TAN-MLBNSVM.

A tag is a structure (``recipes/structure_words.py``), parameters (``recipes/parameter_words.py``)
and perhaps "+T" or "+ISO" for calibrated probabilities. Any structure goes with any parameters; a
structure alone has the generative parameters of the paper that it is from. How gaps are treated and
numbers are cut is not part of a tag but an option: P10 and C11 leave rows with gaps out
(``missing="drop"``), and Z17 takes a gap as a value (``missing="value"``).
"""

from discbayes.recipes.build import recipe
from discbayes.recipes.named import NamedRecipe, recipes
from discbayes.recipes.parsing import Recipe, parse

__all__ = ["NamedRecipe", "Recipe", "parse", "recipe", "recipes"]

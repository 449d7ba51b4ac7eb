"""Recipes: classifiers by the tags of the papers, such as NB-ML, TAN-OMI-CR-CL or KDB1-W.

A tag is a structure (``recipes/structure_words.py``), parameters (``recipes/parameter_words.py``)
and optionally "+T" or "+ISO" for calibrated probabilities. Any structure goes with any parameters;
a structure alone has the generative parameters of the paper that it is from. The treatment of
missing values and the discretization are not part of a tag but options: P10 and C11 leave out
incomplete rows (``missing="drop"``), and Z17 makes missing a value (``missing="value"``).
"""

from discbayes.recipes.build import recipe
from discbayes.recipes.named import NamedRecipe, recipes
from discbayes.recipes.parsing import Recipe, parse

__all__ = ["NamedRecipe", "Recipe", "parse", "recipe", "recipes"]

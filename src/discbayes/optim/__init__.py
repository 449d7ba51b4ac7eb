"""Optimizers: they know a function that gives its value and gradient, and nothing else."""

from discbayes.optim.conjugate import conjugate_gradient
from discbayes.optim.interrupt import until_interrupted
from discbayes.optim.lbfgs import Coordinates, lbfgs, lbfgs_in
from discbayes.optim.line import Callback, Outcome
from discbayes.optim.projected import projected_gradient

SOLVERS = {"lbfgs": lbfgs, "cg": conjugate_gradient}

__all__ = [
    "SOLVERS",
    "Callback",
    "Coordinates",
    "Outcome",
    "conjugate_gradient",
    "lbfgs",
    "lbfgs_in",
    "projected_gradient",
    "until_interrupted",
]

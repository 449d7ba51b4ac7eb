"""Optimisers: they know a function that gives its value and gradient, and nothing else."""

from discbayes.optim.conjugate import conjugate_gradient
from discbayes.optim.lbfgs import lbfgs
from discbayes.optim.line import Outcome

SOLVERS = {"lbfgs": lbfgs, "cg": conjugate_gradient}

__all__ = ["SOLVERS", "Outcome", "conjugate_gradient", "lbfgs"]

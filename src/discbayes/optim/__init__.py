"""Optimisers: they know a function that gives its value and gradient, and nothing else."""

from discbayes.optim.lbfgs import Outcome, lbfgs

SOLVERS = {"lbfgs": lbfgs}

__all__ = ["SOLVERS", "Outcome", "lbfgs"]

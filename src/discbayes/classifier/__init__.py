"""The estimator, and its parts: plan of a fit, training rows, calibration, incremental learning."""

from discbayes.classifier.ensemble import BayesNetEnsemble
from discbayes.classifier.estimator import BayesNetClassifier
from discbayes.classifier.fitting import FitPlan, FittedModel, adopt

__all__ = ["BayesNetClassifier", "BayesNetEnsemble", "FitPlan", "FittedModel", "adopt"]

"""The estimator, and its methods by subject: calibrating, learning in parts, learning from rows
that are read.
"""

from discbayes.classifier.estimator import BayesNetClassifier

__all__ = ["BayesNetClassifier"]

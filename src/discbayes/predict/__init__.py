"""Predictions from a model file by numpy alone: no compiler, no scikit-learn.

``load`` reads the file that ``save`` of a classifier or an ensemble wrote. Its answers are those of
the library to 10⁻⁹: exact marginalization of missing values, calibration, priors, evidence. It does
not learn, explain, or estimate rows that are beyond exact inference.
"""

from discbayes.io.errors import ModelFileError
from discbayes.predict.model_reader import load, load_bytes
from discbayes.predict.predictor import Predictor

__all__ = ["ModelFileError", "Predictor", "load", "load_bytes"]

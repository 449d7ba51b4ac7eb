"""Data sets by name: the papers' benchmarks, generators, your own folder, and OpenML.

``load_dataset(name)`` looks, in this order, at

1. what needs no file: scikit-learn's small sets, sets that a rule makes, and the papers' synthetic
   data;
2. the folder that the environment variable ``DISCBAYES_DATA`` names;
3. the cache folder of the user (``DISCBAYES_CACHE`` moves it).

``load_dataset("openml:NAME")`` looks at the cache and then at OpenML, whose answer goes to the
cache. No other name is ever sent anywhere.

``make_...`` functions draw synthetic data of any size as arrays ``(X, y)``.
"""

from discbayes.datasets.dataset import Dataset
from discbayes.datasets.generators import (
    make_conditioned_logistic,
    make_led,
    make_random_distribution,
    make_random_tree,
    make_three_feature,
    make_waveform,
)
from discbayes.datasets.loading import list_datasets, load_dataset

__all__ = [
    "Dataset",
    "list_datasets",
    "load_dataset",
    "make_conditioned_logistic",
    "make_led",
    "make_random_distribution",
    "make_random_tree",
    "make_three_feature",
    "make_waveform",
]

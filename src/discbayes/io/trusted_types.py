"""The types that a classifier consists of, for those who load it by skops."""

from __future__ import annotations

from discbayes.bayesnet import BayesNet
from discbayes.calibration import Isotonic, LogPool, Temperature
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.counts import Counts, FamilyCounts, PairCounts, SufficientStatistics
from discbayes.counts.pair_runs import PairSet
from discbayes.data import Domain, FrameEncoder, Variable
from discbayes.data.codebook import Codebook
from discbayes.data.dates import DatePart
from discbayes.io.setting_values import learners
from discbayes.network import CPTs, Layout, Structure
from discbayes.streams.csv_format import CsvFormat, DateFormat, NumberFormat

_VALUES = (
    BayesNet,
    BayesNetClassifier,
    BayesNetEnsemble,
    CPTs,
    Codebook,
    Counts,
    CsvFormat,
    DateFormat,
    DatePart,
    Domain,
    FamilyCounts,
    FrameEncoder,
    Isotonic,
    Layout,
    LogPool,
    NumberFormat,
    PairCounts,
    PairSet,
    Structure,
    SufficientStatistics,
    Temperature,
    Variable,
)
# none of them runs anything that is in a file: they keep numbers, labels and settings
TRUSTED_TYPES = sorted(
    f"{kind.__module__}.{kind.__qualname__}" for kind in {*_VALUES, *learners().values()}
)

"""Tables that do not fit in memory: sources that are read in passes, and codes on disk in blocks of rows.

The first pass learns the domain, the second one writes the codes. Both take the rows in their order, in batches, and
the size of the batches has no influence on anything that comes out.
"""

from discbayes.streams.again import KeyFile, Reading, Rest
from discbayes.streams.labelled import Labelled, LabelledRows
from discbayes.streams.limits import bytes_of
from discbayes.streams.pace import Pace
from discbayes.streams.passes import batches_of, csv_types, encode_rows, open_rows
from discbayes.streams.rows import located
from discbayes.streams.sources import is_dask, is_source
from discbayes.streams.spill import Spilled
from discbayes.streams.spread import SpreadRows

__all__ = [
    "KeyFile",
    "Labelled",
    "LabelledRows",
    "Pace",
    "Reading",
    "Rest",
    "Spilled",
    "SpreadRows",
    "batches_of",
    "bytes_of",
    "csv_types",
    "encode_rows",
    "is_dask",
    "is_source",
    "located",
    "open_rows",
]

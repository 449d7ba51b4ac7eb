"""Out-of-core learning: sources that are read in passes, and codes on disk in blocks of rows.

The first pass learns the domain, the second one writes the codes. Both read the rows in their
order, in batches, and the results do not depend on the size of the batches.
"""

from discbayes.streams.batch_rows import BatchRows, located
from discbayes.streams.batch_sources import is_dask, is_source
from discbayes.streams.batches import bytes_of
from discbayes.streams.cluster_codes import ClusterCodes
from discbayes.streams.disk_codes import DiskCodes
from discbayes.streams.out_of_core import (
    LabeledRows,
    batches_of,
    csv_types,
    encode_rows,
    open_rows,
)
from discbayes.streams.rereading import KeyFile, RereadRows, WithoutHeldOut
from discbayes.streams.throughput import Throughput

__all__ = [
    "BatchRows",
    "ClusterCodes",
    "DiskCodes",
    "KeyFile",
    "LabeledRows",
    "RereadRows",
    "Throughput",
    "WithoutHeldOut",
    "batches_of",
    "bytes_of",
    "csv_types",
    "encode_rows",
    "is_dask",
    "is_source",
    "located",
    "open_rows",
]

"""Files: fitted classifiers as checked JSON, networks as BIF; nothing in a file is executed."""

from discbayes.io.bif_read import read_bif
from discbayes.io.bif_write import write_bif
from discbayes.io.errors import BifError, ModelFileError
from discbayes.io.model import load, save

__all__ = ["BifError", "ModelFileError", "load", "read_bif", "save", "write_bif"]

"""Files: fitted classifiers as checked JSON, networks as BIF; nothing in a file is executed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discbayes.io.bif_read import read_bif
    from discbayes.io.bif_write import write_bif
    from discbayes.io.errors import BifError, ModelFileError
    from discbayes.io.exchange import (
        from_networkx,
        from_pgmpy,
        from_pyagrum,
        from_tables,
        read_network,
        to_networkx,
        to_pgmpy,
        to_pyagrum,
        write_network,
    )
    from discbayes.io.model import load, save
else:
    from discbayes._lazy_imports import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "bif_read": ["read_bif"],
            "bif_write": ["write_bif"],
            "errors": ["BifError", "ModelFileError"],
            "exchange": [
                "from_networkx",
                "from_pgmpy",
                "from_pyagrum",
                "from_tables",
                "read_network",
                "to_networkx",
                "to_pgmpy",
                "to_pyagrum",
                "write_network",
            ],
            "model": ["load", "save"],
        },
    )

__all__ = [
    "BifError",
    "ModelFileError",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "from_tables",
    "load",
    "read_bif",
    "read_network",
    "save",
    "to_networkx",
    "to_pgmpy",
    "to_pyagrum",
    "write_bif",
    "write_network",
]

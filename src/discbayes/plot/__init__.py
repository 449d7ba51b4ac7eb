"""Pictures with matplotlib (extra ``plot``)."""

from discbayes.plot.paths import margin_path

__all__ = ["margin_path"]

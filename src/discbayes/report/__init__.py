"""Pages for people: the network as a picture in a notebook."""

from discbayes.report.drawing import network_html

__all__ = ["network_html"]

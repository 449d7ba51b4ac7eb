"""Links of pages to scripts of the gallery, which are files of the repository, lead to their pages
in the site.
"""

from __future__ import annotations

import re
from typing import Any

_LINK = re.compile(
    r"\]\((?P<up>(?:\.\./)*)\.\./examples/gallery/(?P<name>GALLERY_HEADER|plot_\w+)\.(?:rst|py)\)"
)


def to_site(text: str) -> str:
    """A page with its links to the gallery as those of the site.

    >>> one = "[one](../examples/gallery/plot_01_network.py)"
    >>> to_site(f"{one}, [all](../../examples/gallery/GALLERY_HEADER.rst)")
    '[one](gallery/plot_01_network.rst), [all](../gallery/index.rst)'
    """
    return _LINK.sub(lambda found: f"]({found['up']}gallery/{_page(found['name'])}.rst)", text)


def _page(name: str) -> str:
    return "index" if name == "GALLERY_HEADER" else name


def _read(app: Any, page: str, source: list[str]) -> None:
    source[0] = to_site(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Join the build."""
    app.connect("source-read", _read)
    return {"version": "1", "parallel_read_safe": True}

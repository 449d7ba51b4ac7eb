"""Check the links within the built site: every page, file and anchor that a page names must be
there.

    python docs/check_links.py docs/_build/html

Links to other sites are left alone.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, file: Path):
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what names something."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
            elif value and name in ("id", "name"):
                self.anchors.add(value)


def broken_links(folder: Path) -> list[str]:
    """A line for each link that leads nowhere."""
    # those are templates
    files = (file for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts)
    pages = {file.resolve(): Page(file) for file in files}
    return [
        f"{file.relative_to(folder.resolve())}: {link}"
        for file, page in pages.items()
        for link in sorted(page.links)
        if not _leads_somewhere(link, file, pages)
    ]


def _leads_somewhere(link: str, file: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return False
    fragment = unquote(parts.fragment)
    return not fragment or target not in pages or fragment in pages[target].anchors


def main() -> None:
    """Print what is broken; exit code 1 if anything is."""
    folder = Path(sys.argv[1])
    if not (folder / "index.html").exists():
        sys.exit(f"{folder} has no index.html: build the site first, with make docs")
    broken = broken_links(folder)
    print("\n".join(broken) if broken else f"all links within {folder} lead somewhere")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

"""Files of the library that a page of theory or for developers names are links to their text, a
part of the site.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent / "src" / "discbayes"
FOLDERS = ("theory", "developer")
_NAME = re.compile(r"`([\w/]+(?:\.py|/))`")


def _target(name: str) -> str | None:
    """The page of a file or folder, if the library has it."""
    path = ROOT / name
    if name.endswith("/") and path.is_dir():
        return f"source/{name}index"
    return f"source/{name.removesuffix('.py')}" if name.endswith(".py") and path.is_file() else None


def _link(app: Any, tree: nodes.document, page: str) -> None:
    if app.builder.format != "html" or page.split("/")[0] not in FOLDERS:
        return
    for literal in list(tree.findall(nodes.literal)):
        target = _target(literal.astext())
        if target and not isinstance(literal.parent, nodes.reference):
            link = nodes.reference(
                "", "", literal.deepcopy(), refuri=app.builder.get_relative_uri(page, target)
            )
            link["internal"] = True
            literal.replace_self(link)


def _pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file that is named, or is in a folder that is named, and one for each such
    folder.
    """
    texts = (
        page.read_text(encoding="utf-8")
        for package in FOLDERS
        for page in sorted((DOCS / package).glob("*.md"))
    )
    named = {name for text in texts for name in _NAME.findall(text) if _target(name)}
    folders = {ROOT / name for name in named if name.endswith("/")}
    files = {ROOT / name for name in named if name.endswith(".py")}
    for folder in sorted(folders):
        inside = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        files |= {*inside, folder / "__init__.py"}
        yield _page(
            f"{folder.relative_to(ROOT).as_posix()}/index",
            f"{folder.relative_to(ROOT).as_posix()}/",
            _list(inside),
        )
    for file in sorted(files):
        name = file.relative_to(ROOT).as_posix()
        text = app.builder.highlighter.highlight_block(file.read_text(encoding="utf-8"), "python")
        yield _page(name.removesuffix(".py"), name, f'<div class="source-file">{text}</div>')


def _page(name: str, title: str, body: str) -> tuple[str, dict[str, Any], str]:
    return (
        f"source/{name}",
        {"parents": [], "title": title, "body": f"<h1>{escape(title)}</h1>\n{body}"},
        "page.html",
    )


def _list(files: list[Path]) -> str:
    """The files of a folder with the first line of what they say of themselves; __init__ says what
    the folder is.
    """
    rows = []
    for file in [files[0].with_name("__init__.py"), *files] if files else []:
        said = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n")[0]
        rows.append(
            f'<li><a href="{file.stem}.html"><code>{file.name}</code></a> {escape(said)}</li>'
        )
    return f"<ul>\n{chr(10).join(rows)}\n</ul>"


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("doctree-resolved", _link)
    app.connect("html-collect-pages", _pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

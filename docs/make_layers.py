"""Draw the packages of the library, their layers and what each of them imports:
``docs/developer/layers.svg``.

    python docs/make_layers.py

The layers are those of the contract in ``pyproject.toml``, the dots are the imports in ``src``. A
test compares the file with what this gives.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "discbayes"
DRAWING = ROOT / "docs" / "developer" / "layers.svg"

CELL, LEFT, TOP, EDGE = 21, 118, 96, 8  # of the matrix, in pixels
INK, PALE, BAND, DOT = "#1f2933", "#66727f", "#f1f4f7", "#0a7d91"


def read_layers(root: Path = ROOT) -> list[list[str]]:
    """The packages of each layer, the outermost layer first."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(
        c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"
    )
    return [
        [name.strip().removeprefix(f"{PACKAGE}.") for name in layer.split("|")]
        for layer in contract["layers"]
    ]


def read_imports(packages: Sequence[str], root: Path = ROOT) -> dict[str, set[str]]:
    """The packages that each package imports, anywhere in its files."""
    root_package = root / "src" / PACKAGE
    found: dict[str, set[str]] = {}
    for package in packages:
        folder = root_package / package
        files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
        names = {
            name
            for file in files
            for name in _imported(ast.parse(file.read_text(encoding="utf-8")))
        }
        found[package] = {other for other in packages if other in names and other != package}
    return found


def _imported(tree: ast.AST) -> Iterator[str]:
    """The packages that a module names in its imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            modules = [f"{PACKAGE}.{alias.name}" for alias in node.names]
        else:
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name.split(".")[1] for name in modules if name.startswith(f"{PACKAGE}."))


def drawing(layers: Sequence[Sequence[str]], imports: dict[str, set[str]]) -> str:
    """A matrix: a row and a column for each package, a dot where the package of the row imports
    that of the column.
    """
    packages = [package for layer in layers for package in layer]
    side = len(packages) * CELL
    width, height = LEFT + side + EDGE + 24, TOP + side + EDGE
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="12"'
            ' role="img">'
        ),
        "<title>The packages of the library, and which of them each one imports</title>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
    ]
    parts += _bands(layers, side)
    for place, package in enumerate(packages):
        x, y = LEFT + place * CELL + CELL / 2, TOP + place * CELL + CELL / 2
        above = f"translate({x + 4} {TOP - 8}) rotate(-50)"
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end" fill="{INK}">{package}</text>',
            f'<text transform="{above}" fill="{PALE}" font-size="11">{package}</text>',
            (
                f'<rect x="{x - 4}" y="{y - 4}" width="8" height="8" rx="1.5" fill="none"'
                f' stroke="{PALE}"/>'
            ),
        ]
        parts += [
            f'<circle cx="{LEFT + column * CELL + CELL / 2}" cy="{y}" r="4.2" fill="{DOT}">'
            f"<title>{package} imports {other}</title></circle>"
            for column, other in enumerate(packages)
            if other in imports[package]
        ]
    return "\n".join([*parts, "</svg>", ""])


def _bands(layers: Sequence[Sequence[str]], side: int) -> Iterator[str]:
    """Every other layer has a ground, so that packages of one layer stand on one."""
    start = 0
    for number, layer in enumerate(layers):
        if number % 2 == 0:
            size = len(layer) * CELL
            yield (
                f'<rect x="4" y="{TOP + start}" width="{LEFT + side}" height="{size}" rx="3"'
                f' fill="{BAND}"/>'
            )
        start += len(layer) * CELL


def current(root: Path = ROOT) -> str:
    """The drawing of the code as it is."""
    layers = read_layers(root)
    return drawing(layers, read_imports([package for layer in layers for package in layer], root))


if __name__ == "__main__":
    DRAWING.write_text(current(), encoding="utf-8")

"""Print how many lines of each package the tests reach, from the measurements of ``make coverage``.

Packages are the folders of ``src/discbayes`` and its modules; what all of them share, the modules
that begin with an underscore, is one package. The end is an error if a package is below ``LEAST``,
and its missing lines are printed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from coverage import Coverage

LEAST = 95.0  # percent of the lines
SHARED = "shared"


@dataclass
class Package:
    """Lines of code, how many of them were reached, and the others by file."""

    n_lines: int = 0
    n_reached: int = 0
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Reached lines in percent."""
        return 100.0 * self.n_reached / self.n_lines if self.n_lines else 100.0


def package_of(path: Path) -> str:
    """The package of a file: the name below ``discbayes``.

    >>> package_of(Path("src/discbayes/io/model.py")), package_of(Path("src/discbayes/costs.py"))
    ('io', 'costs')
    """
    name = path.parts[path.parts.index("discbayes") + 1].removesuffix(".py")
    return SHARED if name.startswith("_") else name


def measure(coverage: Coverage, folder: Path) -> dict[str, Package]:
    """All packages below a folder, in the order of their names; a file that no test imports counts
    with all its lines.
    """
    packages: dict[str, Package] = {}
    for path in sorted(folder.rglob("*.py")):
        _, lines, _, missing, in_words = coverage.analysis2(str(path))
        package = packages.setdefault(package_of(path.relative_to(folder.parent)), Package())
        package.n_lines += len(lines)
        package.n_reached += len(lines) - len(missing)
        if missing:
            package.missing[str(path.relative_to(folder))] = in_words
    return dict(sorted(packages.items()))


def table(packages: dict[str, Package]) -> list[str]:
    """The packages as a table in Markdown, with a line for all of them."""
    total = Package(
        sum(package.n_lines for package in packages.values()),
        sum(package.n_reached for package in packages.values()),
    )
    lines = ["| package | lines | reached |", "|---|---:|---:|"]
    for name, package in [*packages.items(), ("all", total)]:
        lines.append(f"| {name} | {package.n_lines:,} | {package.share:.1f} % |")
    return lines


def main() -> int:
    """Print the table, and the lines that no test reaches in packages below the limit, or in all
    with ``--missing``.
    """
    coverage = Coverage()
    coverage.load()
    packages = measure(coverage, Path(__file__).parents[1] / "src" / "discbayes")
    print(*table(packages), sep="\n")
    poor = [name for name, package in packages.items() if package.share < LEAST]
    for name in packages if "--missing" in sys.argv else poor:
        for file, in_words in packages[name].missing.items():
            print(f"{file}: {in_words}")
    if poor:
        print(f"below {LEAST:g} %: {', '.join(poor)}")
    return bool(poor)


if __name__ == "__main__":
    sys.exit(main())

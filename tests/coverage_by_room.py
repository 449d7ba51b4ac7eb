"""Print how many lines of each room the tests reach, from the measurements of ``make coverage``.

Rooms are the folders of ``src/discbayes`` and its modules; what all of them share, the modules that
begin with an underscore, is one room. The end is an error if a room is below ``LEAST``, and its
missing lines are printed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from coverage import Coverage

LEAST = 95.0  # percent of the lines
SHARED = "shared"


@dataclass
class Room:
    """Lines of code, how many of them were reached, and the others by file."""

    n_lines: int = 0
    n_reached: int = 0
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Reached lines in percent."""
        return 100.0 * self.n_reached / self.n_lines if self.n_lines else 100.0


def room_of(path: Path) -> str:
    """The room of a file: the name below ``discbayes``.

    >>> room_of(Path("src/discbayes/io/model.py")), room_of(Path("src/discbayes/costs.py"))
    ('io', 'costs')
    """
    name = path.parts[path.parts.index("discbayes") + 1].removesuffix(".py")
    return SHARED if name.startswith("_") else name


def measure(coverage: Coverage, folder: Path) -> dict[str, Room]:
    """All rooms below a folder, in the order of their names; a file that no test imports counts
    with all its lines.
    """
    rooms: dict[str, Room] = {}
    for path in sorted(folder.rglob("*.py")):
        _, lines, _, missing, in_words = coverage.analysis2(str(path))
        room = rooms.setdefault(room_of(path.relative_to(folder.parent)), Room())
        room.n_lines += len(lines)
        room.n_reached += len(lines) - len(missing)
        if missing:
            room.missing[str(path.relative_to(folder))] = in_words
    return dict(sorted(rooms.items()))


def table(rooms: dict[str, Room]) -> list[str]:
    """The rooms as a table in Markdown, with a line for all of them."""
    total = Room(
        sum(room.n_lines for room in rooms.values()), sum(room.n_reached for room in rooms.values())
    )
    lines = ["| room | lines | reached |", "|---|---:|---:|"]
    for name, room in [*rooms.items(), ("all", total)]:
        lines.append(f"| {name} | {room.n_lines:,} | {room.share:.1f} % |")
    return lines


def main() -> int:
    """Print the table, and the lines that no test reaches in rooms below the limit, or in all with
    ``--missing``.
    """
    coverage = Coverage()
    coverage.load()
    rooms = measure(coverage, Path(__file__).parents[1] / "src" / "discbayes")
    print(*table(rooms), sep="\n")
    poor = [name for name, room in rooms.items() if room.share < LEAST]
    for name in rooms if "--missing" in sys.argv else poor:
        for file, in_words in rooms[name].missing.items():
            print(f"{file}: {in_words}")
    if poor:
        print(f"below {LEAST:g} %: {', '.join(poor)}")
    return bool(poor)


if __name__ == "__main__":
    sys.exit(main())

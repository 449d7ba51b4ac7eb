"""Is this tree ready to be released? The version stands where people and machines look for it.

``python tests/packaging/release.py`` compares the version of the code with that of CITATION.cff
and of the npm package;
``--tag v1.2.3`` compares it with the tag of a release and looks for its part of the change log too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def faults(root: Path, tag: str | None) -> list[str]:
    """What is not as it should be, a sentence each."""
    code = (root / "src/discbayes/_version.py").read_text(encoding="utf-8")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    package = (root / "js/package.json").read_text(encoding="utf-8")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', code, re.M)[1]
    cited = re.search(r"^version: (.+)$", citation, re.M)[1]
    found = []
    if cited != version:
        found.append(f"CITATION.cff has version {cited}, and the code {version}")
    if (packed := json.loads(package)["version"]) != version:
        found.append(f"js/package.json has version {packed}, and the code {version}")
    if tag is not None and tag != f"v{version}":
        found.append(f"the tag is {tag}, and the version of the code {version}")
    if tag is not None and not re.search(rf"^## {re.escape(version)}\b", changes, re.M):
        found.append(f"CHANGELOG.md has no part for {version}")
    return found


def main() -> int:
    """Print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the tag of the release, such as v1.2.3")
    found = faults(ROOT, parser.parse_args().tag)
    print("\n".join(found) or "the version is the same everywhere")
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())

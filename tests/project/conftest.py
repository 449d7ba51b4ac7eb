"""What the tests of the project share."""

from __future__ import annotations

import pytest

from discbayes.cli.options import SEARCH_OPTIONS
from discbayes.parameters import PARAMETERS
from discbayes.scores import EDGE_SCORES
from discbayes.search import STRUCTURES
from discbayes.streams.file_sources import FILE_ENDINGS

REGISTRIES = (EDGE_SCORES, PARAMETERS, STRUCTURES, FILE_ENDINGS, SEARCH_OPTIONS)


@pytest.fixture
def registries():
    """Remove what a test registers."""
    kept = [(registry, dict(registry)) for registry in REGISTRIES]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)

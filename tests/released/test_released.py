"""Files and names of every release are good for ever: `docs/compatibility.md` says so."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discbayes
from discbayes import load, read_bif

HERE = Path(__file__).parent
RELEASES = sorted(
    path for path in HERE.iterdir() if path.is_dir() and not path.name.startswith("_")
)
REMOVED: set[str] = set()  # names, and settings as "name(setting)"
# modules whose old path goes on working, with a warning
MOVED = {
    "experiments.baselines": "evaluation.baselines",
    "experiments.bias": "evaluation.bias_variance",
    "experiments.comparison": "evaluation.comparison",
    "experiments.metrics": "evaluation.metrics",
    "experiments.statistics": "evaluation.statistics",
}
# names that go on working, with a warning
RENAMED = {"FactorTooLargeError": "TooManyCellsError"}
FILES = [
    path
    for release in RELEASES
    for path in sorted(release.iterdir())
    if path.stem not in ("answers", "names")
]


@pytest.fixture(scope="module")
def keep():
    spec = importlib.util.spec_from_file_location("keep", HERE / "keep.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_files_of_this_version():
    assert discbayes.__version__ in [release.name for release in RELEASES]
    assert len(FILES) > 25
    assert sum(
        path.stat().st_size for release in RELEASES for path in release.iterdir()
    ) < 400_000 * len(RELEASES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_files_of_a_release_answer_as_they_did(path, keep):
    X, answers = keep.rows_and_answers(path.parent)
    if path.suffix == ".bif":
        shares = read_bif(path).posterior(pd.DataFrame(X))
        expected = answers[path.name]
    else:
        shares = load(path).predict_proba(pd.DataFrame(X))
        expected = answers[path.stem]
    np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".json"], ids=lambda path: path.stem
)
def test_a_model_of_a_release_can_be_saved_and_learned_again(path, keep, tmp_path):
    """With the settings that it was learned with, and, where it was counted, from its counts on."""
    model = load(path)
    model.save(tmp_path / "model.json")
    X, answers = keep.rows_and_answers(path.parent)
    again = load(tmp_path / "model.json")
    np.testing.assert_allclose(
        again.predict_proba(pd.DataFrame(X)), answers[path.stem], rtol=0, atol=1e-12
    )
    assert repr(again.get_params()) == repr(model.get_params())


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_names_and_settings_of_a_release_are_there(release, keep):
    """What is taken away has warned for a minor version before, and is in ``REMOVED`` then."""
    now, kept = (
        keep.promised_names(),
        json.loads((release / "names.json").read_text(encoding="utf-8")),
    )
    assert len(kept) > 100
    for old, new in (MOVED | RENAMED).items():
        for name in [name for name in now if name == new or name.startswith(f"{new}.")]:
            now[old + name.removeprefix(new)] = now[name]
    gone = [name for name in kept if name not in now]
    lost = [
        f"{name}({one})"
        for name in kept
        if name in now
        for one in kept[name]
        if one not in now[name] and one not in keep.renamed_parameters_of(name)
    ]
    assert set(gone + lost) == REMOVED & {*gone, *lost}


def test_old_names_go_on_working_with_a_warning():
    for old, new in RENAMED.items():
        with pytest.warns(FutureWarning, match=f"use discbayes.{new}"):
            assert getattr(discbayes, old) is getattr(discbayes, new)


def test_old_paths_of_modules_go_on_working_with_a_warning():
    kept = json.loads((HERE / "0.1.0" / "names.json").read_text(encoding="utf-8"))
    for old, new in MOVED.items():
        names = {name.split(".")[2] for name in kept if name.startswith(f"{old}.")}
        assert names
        there = importlib.import_module(f"discbayes.{new}")
        for name in names:
            with pytest.warns(FutureWarning, match=f"discbayes.{new}.{name}"):
                found = getattr(importlib.import_module(f"discbayes.{old}"), name)
            assert found is getattr(there, name)
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            importlib.import_module(f"discbayes.{old}").nothing  # noqa: B018

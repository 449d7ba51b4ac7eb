"""The versions that are supported, and those that are locked, are what ``pyproject.toml`` says."""

from __future__ import annotations

import re
import tomllib

import bounds

PROJECT = tomllib.loads((bounds.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (bounds.ROOT / "requirements" / "lock.txt").read_text(encoding="utf-8")
LOCKED = re.compile(r"^([a-z0-9.-]+)==([0-9][^ ]*)", re.M)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def test_oldest_versions_are_the_lower_bounds():
    assert bounds.FILE.read_text(encoding="utf-8") == bounds.text(), "run make lock"


def test_every_dependency_is_locked_within_its_range():
    locked = {}
    for name, version in LOCKED.findall(LOCK):
        locked.setdefault(name, []).append(version)
    for name, lowest in bounds.lower_bounds().items():
        assert all(numbers(version) >= numbers(lowest) for version in locked[name.lower()]), name


def test_what_developers_need_is_locked_as_well():
    for extra in ("peers", "docs", "bench", "test", "fuzz"):
        for one in PROJECT["optional-dependencies"][extra]:
            name, lowest = re.match(r"([A-Za-z0-9.-]+)>=([0-9.]+)", one).groups()
            versions = [
                version for locked, version in LOCKED.findall(LOCK) if locked == name.lower()
            ]
            assert versions, f"{name} is not locked: run make lock"
            assert all(numbers(version) >= numbers(lowest) for version in versions), name


def test_lock_holds_hashes_and_no_place_to_fetch_from():
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", LOCK)) > len(LOCKED.findall(LOCK)) > 100
    rest = re.sub(r"--hash=sha256:[0-9a-f]{64}", "", LOCK)
    assert not re.search(r"://|/|--(?!hash)|@", rest), "a host, a path or an option"


def test_all_is_every_extra_for_users_but_the_large_one():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.fullmatch(r"discbayes\[([a-z,]+)\]", everything)[1].split(","))
    assert named == set(extras) - {"all", "peers", "mlflow", "docs", "bench", "test", "fuzz"}


def test_every_extra_that_code_asks_for_is_declared():
    from discbayes._lazy_imports import EXTRA_OF

    for package, extra in EXTRA_OF.items():
        assert any(
            re.match(rf"{package}\b", one) for one in PROJECT["optional-dependencies"][extra]
        ), package


def test_versions_of_python_agree():
    lowest = PROJECT["requires-python"].removeprefix(">=")
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line]
    assert min(named, key=numbers) == lowest
    tools = tomllib.loads((bounds.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["mypy"]["python_version"] == lowest
    assert tools["ruff"]["target-version"] == "py" + lowest.replace(".", "")

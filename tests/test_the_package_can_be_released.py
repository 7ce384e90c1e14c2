"""One version, which the changelog starts with, and every Python named."""

import re
import tomllib
from pathlib import Path

import onegrad as og

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_version_is_written_once():
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    places = [
        path.relative_to(ROOT).as_posix()
        for path in (*ROOT.glob("src/**/*.py"), ROOT / "pyproject.toml", ROOT / "Makefile")
        if f'"{og.__version__}"' in path.read_text("utf-8")
    ]
    assert places == ["src/onegrad/__init__.py"]


def test_the_changelog_starts_with_this_version():
    sections = re.findall(r"^## (\S+)", CHANGELOG, re.M)
    assert sections[0] == og.__version__.removesuffix(".dev0")


def test_every_supported_python_is_a_classifier():
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    least = int(re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])[1])
    assert named and [int(minor) for minor in named] == list(range(least, least + len(named)))

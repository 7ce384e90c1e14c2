"""What is deprecated still works, says what to use instead, and goes when it was to go.

The policy is a paragraph of CONTRIBUTING.md. Once `onegrad.__version__` reaches the release that a
warning names, this file fails until the name is removed from the package and from DEPRECATED.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import onegrad as og

ROOT = Path(__file__).parents[1]
MESSAGE = re.compile(
    r"(\S+) is deprecated and will be removed in onegrad (\d+)\.(\d+)\.0: use (\S+)"
)


def prediction() -> og.Prediction:
    return og.predict(og.Problem(n=100, d=50, N=80), theory="random-features")


DEPRECATED: dict[str, tuple[Callable[[], object], str, str]] = {  # old name, new name
    "Prediction.linear": (prediction, "linear", "kernel_bound"),
}


def release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


@pytest.mark.parametrize("name", DEPRECATED)
def test_the_old_name_works_and_names_the_new_one(name):
    make, old, new = DEPRECATED[name]
    value = make()
    with pytest.warns(DeprecationWarning, match="deprecated") as caught:
        np.testing.assert_array_equal(getattr(value, old), getattr(value, new))
    (message,) = (str(warning.message) for warning in caught)
    said = MESSAGE.fullmatch(message)
    assert said is not None and said[1] == name and said[4] == new
    assert release(og.__version__) < (int(said[2]), int(said[3])), f"remove {name}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(value, new)


def test_every_deprecation_of_the_source_is_tested():
    calls = [
        match
        for path in (ROOT / "src").rglob("*.py")
        for match in re.findall(r'warn_deprecated\("([^"]+)"', path.read_text(encoding="utf-8"))
    ]
    assert sorted(calls) == sorted(DEPRECATED)


def test_the_changelog_says_what_is_deprecated():
    section = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    for _, old, new in DEPRECATED.values():
        assert f"`{old}`" in section or f".{old}`" in section
        assert f"`{new}`" in section or f".{new}`" in section

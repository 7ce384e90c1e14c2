"""What tests share: one fixture runs array code on every backend, markers say what a test needs.

`torch` and `browser` are the two things that Python and make do not bring. A test that asks for a
backend of torch or for the fixture `browser` gets its marker by itself.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

TORCH = find_spec("torch") is not None


def _devices() -> list[Any]:
    """NumPy, torch on the CPU, and a GPU where one is visible."""
    from onegrad.arrays import gpus

    there = ["torch", "cuda"] if TORCH and gpus() else ["torch"]
    return ["cpu", *(pytest.param(name, marks=pytest.mark.torch) for name in there)]


@pytest.fixture(params=_devices())
def each_backend(request: pytest.FixtureRequest) -> Any:
    """The array backend of each device in turn, in double precision."""
    from onegrad.arrays import backend

    return backend(request.param)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("torch") and not TORCH:
        pytest.skip("torch is not installed; make test-torch runs this")
    if item.get_closest_marker("browser") and "browser" not in item.config.option.markexpr:
        pytest.skip("a browser is opened only with -m browser; make test-browser runs this")

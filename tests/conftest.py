"""What tests share: one fixture runs array code on every backend, markers say what a test needs.

`torch` and `browser` are the two things that Python and make do not bring. A test that asks for a
backend of torch or for the fixture `browser` gets its marker by itself.
"""

import random
import signal
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

TORCH = find_spec("torch") is not None

# A shell starts background jobs with Ctrl-C ignored, and what tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same commit passes or fails each time, however busy the machine is: examples follow from the
# test, and neither a deadline nor the time that examples take to make counts. Others are drawn with
# --hypothesis-profile=random, and by make soak.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("random"), derandomize=True, database=None)
settings.load_profile("same")


def _devices() -> list[Any]:
    """NumPy, torch on the CPU, and a GPU where one is visible."""
    from onegrad.arrays import gpus

    there = ["torch", "cuda"] if TORCH and gpus() else ["torch"]
    return ["cpu", *(pytest.param(name, marks=pytest.mark.torch) for name in there)]


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that other users may enter: pytest's own may not be, nor the one of the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(params=_devices())
def each_backend(request: pytest.FixtureRequest) -> Any:
    """The array backend of each device in turn, in double precision."""
    from onegrad.arrays import get_ops

    return get_ops(request.param)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="files, and tests in them, mixed")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    if (seed := config.getoption("--shuffle")) is not None:
        chance = random.Random(seed)
        places = {path: chance.random() for path in sorted({str(item.path) for item in items})}
        items.sort(key=lambda item: (places[str(item.path)], chance.random()))
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("torch") and not TORCH:
        pytest.skip("torch is not installed; make test-torch runs this")
    if item.get_closest_marker("browser") and "browser" not in item.config.option.markexpr:
        pytest.skip("a browser is opened only with -m browser; make test-browser runs this")

"""pandas is imported by the tests that need it, not while they are collected."""

import pytest


@pytest.fixture(scope="session")
def pd():
    return pytest.importorskip("pandas")

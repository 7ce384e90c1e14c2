"""A server without processes for the tests of its answers; a browser for those of the page."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import browsing
import pytest

from exploring import watched
from onegrad.explorer.workers import Workers


class Inline(Workers):
    """Workers that compute in the server's own process."""

    def warm(self) -> None:
        pass

    async def compute(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        return await self.compute_here(function, *arguments)


@pytest.fixture
def client() -> Iterator[Any]:
    from onegrad.explorer.server import create_app

    with warnings.catch_warnings():  # newer releases of starlette would rather have httpx2
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient

    app = create_app(workers=Inline(1))
    with TestClient(app, base_url="http://127.0.0.1:8321", raise_server_exceptions=True) as client:
        yield client


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with browsing.served() as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if browsing.CHROMIUM is None:
        pytest.skip("no chromium found; install Debian's package chromium")
    with browsing.opened() as browser:
        yield browser


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    with watched(browser, url) as page:
        yield page

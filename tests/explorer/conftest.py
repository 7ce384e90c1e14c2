"""A server without processes for the tests of its answers; a browser for those of the page."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import browsing
import pytest

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
    """A page whose every request and complaint is checked at the end."""
    context = browser.new_context(viewport={"width": 1400, "height": 1300})
    page = context.new_page()
    page.set_default_timeout(60_000)
    requests: list[str] = []
    trouble: list[str] = []
    context.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda m: trouble.append(m.text) if _is_trouble(m) else None)
    yield page
    context.close()
    foreign = [r for r in requests if not r.startswith((url, "blob:", "data:"))]
    assert not foreign and requests
    assert not trouble


def _is_trouble(message: Any) -> bool:
    refused = "422 (Unprocessable" in message.text  # the browser's own line for a bad field
    return message.type in ("error", "warning") and not refused

"""A server without processes for the tests of its answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from onegrad.explorer.server import create_app
from onegrad.explorer.workers import Workers

with warnings.catch_warnings():  # newer releases of starlette would rather have httpx2
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient


class Inline(Workers):
    """Workers that compute in the server's own process."""

    def warm(self) -> None:
        pass

    async def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await self.here(function, *arguments)


@pytest.fixture
def client() -> Iterator[TestClient]:
    app = create_app(workers=Inline(1))
    with TestClient(app, base_url="http://127.0.0.1:8321", raise_server_exceptions=True) as client:
        yield client

"""Damaged requests to the explorer's server: it answers, or refuses in one line."""

import asyncio
import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import numpy as np

from onegrad.explorer import api
from onegrad.explorer.controls import CONTROLS, DEFAULTS, PRESETS
from onegrad.explorer.server import create_app
from onegrad.explorer.simulation_jobs import Simulations
from onegrad.explorer.workers import Workers
from soak import forgeries, mutations
from soak.ledger import AttackCounts, attempt

HOST = b"127.0.0.1:8321"
REFUSED = (400, 403, 404, 405, 409, 413, 414, 422, 503)
PATHS = ("/api/instant", "/api/code", "/api/controls", "/api/spectrum", "/api/here", "/api/curve",
         "/api/simulations/x", "/static/app.js", "/", "/api/../api/instant")  # fmt: skip
PATH_PROBABILITIES = (0.3, 0.25, 0.03, 0.2, 0.01, 0.01, 0.05, 0.05, 0.05, 0.05)
BODY = {"page": "p", "query": {"n": "300", "d": "100"}, "seeds": "3", "parts": ["alpha", "step"]}
NAMES = (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"content-length")
VALUES = (HOST, b"http://127.0.0.1:8321", b"same-origin", b"navigate", b"12")


class NoWorkers(Workers):
    """Computes everything in this process."""

    async def compute(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        return await self.compute_here(function, *arguments)

    def warm(self) -> None:
        pass


class NoSimulations(Simulations):
    """Reads and estimates simulations without running them."""

    def start(self, page: str, plan: Any) -> str:
        return "x"


@patch.object(api, "axis_values", lambda axis: [0.2])  # a curve of one point
def send_requests(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Send random requests to the server, in this process."""
    counts = AttackCounts()
    workers = NoWorkers(1)
    app = create_app(workers=workers, simulations=NoSimulations())
    loop = asyncio.new_event_loop()
    for i in range(count):
        scope, body = _damaged_request(rng)
        with attempt(counts, f"{where}.{i} {scope['path']}?{scope['query_string']!r}", ()):
            status, content = loop.run_until_complete(_respond(app, scope, body))
            if status not in (200, 201, *REFUSED):
                counts.fault("foreign", f"{where}.{i}", f"status {status}: {content!r}")
            elif status in REFUSED and scope["path"].startswith("/api/"):
                # Starlette's own middleware refuses foreign hosts in plain text
                plain = content == b"Invalid host header"
                message = content.decode() if plain else json.loads(content)["message"]
                if not message or "\n" in message or len(message) > 1000:
                    counts.fault("foreign", f"{where}.{i}", f"message {message!r}")
            elif scope["path"].startswith("/api/") and b"NaN" in content:
                counts.fault("wrong", f"{where}.{i}", "NaN in an answer")
            counts.ends["answered" if status < 300 else "refused"] += 1
    loop.close()
    workers.stop()
    return counts


def _damaged_request(rng: np.random.Generator) -> tuple[dict[str, Any], bytes]:
    """Return a request of the page after random changes of its query, body and headers."""
    post = rng.random() < 0.15
    path = "/api/simulations" if post else str(rng.choice(PATHS, p=PATH_PROBABILITIES))
    preset = [DEFAULTS, *(p.query for p in PRESETS)][int(rng.integers(len(PRESETS) + 1))]
    values = dict(preset)
    if rng.random() < 0.5:
        values[str(rng.choice(list(CONTROLS)))] = str(rng.choice(["1", "0.3", "relu", "H2", "2"]))
    if forged := rng.random() < 0.3:
        k = int(rng.integers(len(mutations.NASTY_BYTES)))
        values[str(rng.choice(list(CONTROLS)))] = mutations.NASTY_BYTES[k].decode("latin-1")
    query = "&".join(f"{quote(k)}={quote(v)}" for k, v in values.items()).encode()
    if not forged and rng.random() < 0.8:
        query = mutations.damage(rng, query).replace(b"\n", b"%0A")
    headers = dict(zip(NAMES[:1], VALUES[:1], strict=True))
    if rng.random() < 0.3:
        k = int(rng.integers(len(NAMES)))
        headers[NAMES[k]] = mutations.damage(rng, VALUES[k])
    body = b""
    if post and rng.random() < 0.5:
        body = mutations.damage(rng, json.dumps(BODY).encode())
    elif post:
        body = json.dumps(forgeries.change_value(rng, BODY | {"query": values})).encode()
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": "POST" if post else "GET", "path": path, "raw_path": path.encode(),
        "query_string": b"" if post else query, "root_path": "",
        "headers": list(headers.items()), "server": ("127.0.0.1", 8321),
        "client": ("127.0.0.1", 1),
    }  # fmt: skip
    return scope, body


async def _respond(app: Any, scope: dict[str, Any], body: bytes) -> tuple[int, bytes]:
    status, content, received = 0, bytearray(), False

    async def receive() -> dict[str, Any]:
        nonlocal received
        if received:
            return {"type": "http.disconnect"}
        received = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        content.extend(message.get("body", b""))

    await app(scope, receive, send)
    return status, bytes(content)

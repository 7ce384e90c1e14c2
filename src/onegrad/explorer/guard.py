"""Checks around every request: who may talk, what the page may load, how long a request takes."""

import asyncio
import re
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9._-]+)(:\d{1,5})?", re.ASCII)
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS = {
    # charts are styled in place and pictures saved as data; nothing comes from elsewhere
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
MAX_QUERY_LENGTH, MAX_BODY_LENGTH = 8_000, 20_000
REQUEST_SECONDS = 20.0  # that a request may take to arrive


class Guard:
    """Refuses foreign Host names (DNS rebinding), other pages, and oversized requests."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None = LOOPBACK_HOSTS) -> None:
        self.app = app
        self.hosts = hosts  # None: any

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        app = self.app
        if (refusal := self.refusal(scope)) is not None:
            status, text = refusal
            app = JSONResponse({"field": None, "message": text}, status)
        await app(scope, receive, send_with_headers)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason if the request is refused."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        match = HOST.fullmatch(host)
        if match is None:
            return 421, "the Host header must be a name and a port"
        if self.hosts is not None and match["name"].lower() not in self.hosts:
            return 421, f"this server answers to {', '.join(sorted(self.hosts))} only"
        if len(headers.getlist("host")) > 1 or _foreign(headers, host, scope.get("path", "")):
            return 403, "requests from other pages are not answered"
        if len(scope.get("query_string", b"")) > MAX_QUERY_LENGTH:
            return 414, f"the query is longer than {MAX_QUERY_LENGTH} characters"
        try:
            length = int(headers.get("content-length", "0"))
        except ValueError:
            return 400, "content-length must be a number"
        if length > MAX_BODY_LENGTH or "transfer-encoding" in headers:
            return 413, f"the body is longer than {MAX_BODY_LENGTH} bytes"
        return None


def _foreign(headers: Headers, host: str, path: str) -> bool:
    """Return whether the browser says that another page asks.

    A link to this page may be followed from anywhere: the page itself computes nothing.
    """
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return True
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    return path != "/" or headers.get("sec-fetch-mode") != "navigate"


class ImpatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, with a limit on the time that a request takes to arrive.

    uvicorn itself closes idle connections, but waits for ever for the rest of a request.
    """

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        """Start the clock where a request is still to arrive, and stop it where one has."""
        if self._clock is None and self._awaits_request():
            self._clock = self.loop.call_later(REQUEST_SECONDS, self._give_up)
        elif self._clock is not None and not self._awaits_request():
            self._clock.cancel()
            self._clock = None

    def _awaits_request(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _give_up(self) -> None:
        self._clock = None
        if self._awaits_request() and not self.transport.is_closing():
            self.transport.close()

"""Checks around every request: which page asks, how long it is, what the page may load."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guard:
    """Refuses requests of other pages, and oversized ones."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

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
        if _foreign(headers, scope.get("path", "")):
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


def _foreign(headers: Headers, path: str) -> bool:
    """Return whether the browser says that another page asks.

    A link to this page may be followed from anywhere: the page itself computes nothing.
    """
    origin, host = headers.get("origin"), headers.get("host")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return True
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    return path != "/" or headers.get("sec-fetch-mode") != "navigate"

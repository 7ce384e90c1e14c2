"""Connections that send nothing, or a request letter by letter, are closed after some seconds."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 20.0  # that a request may take to arrive


class ImpatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, with a limit on the time that a request takes to arrive."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        """Start the clock where a request is still to arrive, and stop it where one has."""
        if not self._request_is_incomplete():
            self._stop_waiting()
        elif self._patience is None:
            self._patience = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _request_is_incomplete(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if self._request_is_incomplete() and not self.transport.is_closing():
            self.transport.close()

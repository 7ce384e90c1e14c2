"""A connection that sends nothing, or half a request, is closed; others are served meanwhile."""

import asyncio
import contextlib

import pytest


async def hello(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def attack(starts: list[bytes]) -> list[bytes]:
    """Begin requests that never end; return what each connection got before it was closed."""
    import uvicorn

    from onegrad.explorer import guard

    config = uvicorn.Config(
        hello, port=0, http=guard.ImpatientProtocol, log_level="critical", lifespan="off",
        timeout_keep_alive=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]

    async def answer(start: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        received = await asyncio.wait_for(reader.read(), 60)  # until it is closed
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return received

    answers = await asyncio.gather(*map(answer, starts))
    server.should_exit = True
    await running
    return answers


@pytest.mark.full
def test_half_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onegrad.explorer.guard.REQUEST_SECONDS", 0.3)
    whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12"
    nothing, half, one, one_and_half, body = asyncio.run(
        attack([b"", b"GET / HT", whole, whole + b"GET / HT", post])
    )
    assert nothing == half == b""
    assert one.count(b"hello") == one_and_half.count(b"hello") == 1
    assert body.count(b"hello") <= 1

"""Workers: an answer is computed once, and a killed process is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from onegrad.explorer.workers import Workers


def test_a_killed_worker_is_replaced() -> None:
    async def scene() -> tuple[int, int, int]:
        first = await crew(os.getpid)
        os.kill(first, signal.SIGKILL)
        answers = await asyncio.gather(crew(abs, -3), crew(abs, -4))
        return first, *answers

    crew = Workers(1)
    try:
        first, three, four = asyncio.run(scene())
    finally:
        crew.stop()
    assert first != os.getpid()
    assert (three, four) == (3, 4)


def test_an_answer_is_computed_once() -> None:
    calls = []

    def count(value: int) -> int:
        calls.append(value)
        return 2 * value

    async def scene() -> list[int]:
        return [await crew.here(count, v) for v in (1, 2, 1, 1, 2)]

    crew = Workers(1)
    assert asyncio.run(scene()) == [2, 4, 2, 2, 4]
    assert calls == [1, 2]


def test_a_failure_is_not_remembered() -> None:
    attempts = []

    def fail_once() -> str:
        attempts.append(time.monotonic())
        if len(attempts) == 1:
            raise ValueError("not yet")
        return "done"

    async def scene() -> str:
        with pytest.raises(ValueError, match="not yet"):
            await crew.here(fail_once)
        return str(await crew.here(fail_once))

    crew = Workers(1)
    assert asyncio.run(scene()) == "done"

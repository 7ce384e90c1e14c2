"""Workers: an answer is computed once, and a killed process is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from onegrad.explorer.simulations import Job
from onegrad.explorer.workers import Memory, Workers


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


def test_what_is_remembered_is_bounded_by_bytes() -> None:
    """However large the answers are; the last one asked for is the last to go."""
    asked = []

    def large(number: int) -> bytes:
        asked.append(number)
        return bytes(40_000)

    async def scene() -> None:
        for number in (*range(30), 29, 0):
            assert len(await crew.here(large, number)) == 40_000
            assert crew._memory.bytes <= 10**6

    crew = Workers(1)
    crew._memory = Memory(10**6)
    asyncio.run(scene())
    assert asked == [*range(30), 0]


def test_an_answer_larger_than_the_memory_is_still_given() -> None:
    memory = Memory(100)
    memory["a"] = list(range(1000))
    assert memory["a"] == list(range(1000))
    memory["b"] = 1
    assert "a" not in memory and memory["b"] == 1


def test_a_simulation_keeps_its_newest_answers_only() -> None:
    job = Job("page", None, None, began=time.monotonic())  # type: ignore[arg-type]
    for i in range(1, 501):
        job._hear({"progress": i / 1000, "found": {"axis": ("alpha", "n")[i % 2], "points": [i]}})
    assert len(job.found) == 2 and job.seen == 500
    assert job.answer(499)["found"] == [{"axis": "alpha", "points": [500]}]
    assert {f["points"][0] for f in job.answer(0)["found"]} == {499, 500}

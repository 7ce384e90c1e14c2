"""Workers: an answer is computed once, and a killed process is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from onegrad.explorer.simulation_jobs import Job
from onegrad.explorer.workers import AnswerCache, Workers


@pytest.mark.full
def test_a_killed_worker_is_replaced() -> None:
    async def scene() -> tuple[int, int, int]:
        first = int(await workers.compute(os.getpid))
        os.kill(first, signal.SIGKILL)
        answers = await asyncio.gather(workers.compute(abs, -3), workers.compute(abs, -4))
        return first, *map(int, answers)  # type: ignore[return-value]

    workers = Workers(1)
    try:
        first, three, four = asyncio.run(scene())
    finally:
        workers.stop()
    assert first != os.getpid()
    assert (three, four) == (3, 4)


def test_an_answer_is_computed_once() -> None:
    calls = []

    def count(value: int) -> int:
        calls.append(value)
        return 2 * value

    async def scene() -> list[bytes]:
        return [await workers.compute_here(count, v) for v in (1, 2, 1, 1, 2)]

    workers = Workers(1)
    assert asyncio.run(scene()) == [b"2", b"4", b"2", b"2", b"4"]
    assert calls == [1, 2]


def test_a_failure_is_not_remembered() -> None:
    attempts = []

    def fail_once() -> str:
        attempts.append(time.monotonic())
        if len(attempts) == 1:
            raise ValueError("not yet")
        return "done"

    async def scene() -> bytes:
        with pytest.raises(ValueError, match="not yet"):
            await workers.compute_here(fail_once)
        return await workers.compute_here(fail_once)

    workers = Workers(1)
    assert asyncio.run(scene()) == b'"done"'


def test_what_is_remembered_is_bounded_by_bytes() -> None:
    """However large the answers are; the last one asked for is the last to go."""
    computed = []

    def large(number: int) -> str:
        computed.append(number)
        return "x" * 40_000

    async def scene() -> None:
        for number in (*range(30), 29, 0):
            assert len(await workers.compute_here(large, number)) == 40_002
            assert workers.cache.bytes <= 10**6

    workers = Workers(1)
    workers.cache = AnswerCache(10**6)
    asyncio.run(scene())
    assert computed == [*range(30), 0]


def test_an_answer_larger_than_the_cache_is_still_given() -> None:
    cache = AnswerCache(100)
    cache.keep("a", bytes(1000))
    assert cache.get("a") == bytes(1000)
    cache.keep("b", b"1")
    assert cache.get("a") is None and cache.get("b") == b"1"


@pytest.mark.full
def test_a_value_becomes_json_once_where_it_is_computed(monkeypatch) -> None:
    async def scene() -> tuple[bytes, bytes]:
        first = await workers.compute(dict, [("a", 0.5)])
        monkeypatch.setattr("json.dumps", None)  # no more JSON is made
        return first, await workers.compute(dict, [("a", 0.5)])

    workers = Workers(1)
    try:
        first, second = asyncio.run(scene())
    finally:
        workers.stop()
    assert first is second and first == b'{"a":0.5}'


def test_a_simulation_keeps_its_newest_answers_only() -> None:
    job = Job("page", None, None, began=time.monotonic())  # type: ignore[arg-type]
    for i in range(1, 501):
        job.receive({"progress": i / 1000, "found": {"axis": ("alpha", "n")[i % 2], "points": [i]}})
    assert len(job.newest) == 2 and job.count == 500
    assert job.answer(499)["found"] == [{"axis": "alpha", "points": [500]}]
    assert {f["points"][0] for f in job.answer(0)["found"]} == {499, 500}

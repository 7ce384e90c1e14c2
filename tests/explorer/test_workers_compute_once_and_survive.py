"""Workers: an answer is computed once, and a killed process is replaced."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from onegrad.explorer.simulation_jobs import Job
from onegrad.explorer.workers import AnswerCache, Workers


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers(1)
    yield workers
    workers.stop()


@pytest.mark.full
def test_points_go_before_curves(workers) -> None:
    async def scene() -> tuple[bytes, bytes]:
        return await workers.compute_now(os.nice, 0), await workers.compute(os.getpriority, 0, 0)

    workers.cache.max_bytes = 0
    point, curve = map(int, asyncio.run(scene()))
    assert point == os.nice(0) < curve


@pytest.mark.full
def test_a_killed_worker_is_replaced(workers) -> None:
    async def scene() -> tuple[bytes, bytes, list[bytes]]:
        value = await workers.compute(dict, [("a", 0.5)])
        first = await workers.compute(os.getpid)
        os.kill(int(first), signal.SIGKILL)
        return value, first, await asyncio.gather(*(workers.compute(abs, -i) for i in (3, 4)))

    value, first, after = asyncio.run(scene())
    assert int(first) != os.getpid()
    assert value == b'{"a":0.5}' and after == [b"3", b"4"]


def test_an_answer_is_computed_once_and_becomes_json_once(workers, monkeypatch) -> None:
    calls = []

    def count(value: int) -> int:
        calls.append(value)
        return 2 * value

    async def scene() -> list[bytes]:
        first = [await workers.compute_here(count, v) for v in (1, 2)]
        monkeypatch.setattr("json.dumps", None)  # no more JSON is made
        return [*first, *[await workers.compute_here(count, v) for v in (1, 1, 2)]]

    assert asyncio.run(scene()) == [b"2", b"4", b"2", b"2", b"4"]
    assert calls == [1, 2]


def test_a_failure_is_not_remembered(workers) -> None:
    attempts = []

    def fail_once() -> str:
        attempts.append(len(attempts))
        if attempts == [0]:
            raise ValueError("not yet")
        return "done"

    async def scene() -> bytes:
        with pytest.raises(ValueError, match="not yet"):
            await workers.compute_here(fail_once)
        return await workers.compute_here(fail_once)

    assert asyncio.run(scene()) == b'"done"'


def test_what_is_remembered_is_bounded_by_bytes() -> None:
    """However large the answers are; the last one asked for is the last to go."""
    cache = AnswerCache(10**6)
    for number in range(30):
        cache.keep(str(number), bytes(40_000))
        assert cache.bytes <= 10**6
    assert cache.get("29") is not None and cache.get("0") is None
    assert cache.get("10") is not None  # is now the newest
    for number in range(30, 50):
        cache.keep(str(number), bytes(40_000))
    assert cache.get("10") is not None and cache.get("11") is None
    small = AnswerCache(100)  # an answer larger than the cache is still given
    small.keep("a", bytes(1000))
    assert small.get("a") == bytes(1000)
    small.keep("b", b"1")
    assert small.get("a") is None and small.get("b") == b"1"


def test_a_simulation_keeps_its_newest_answers_only() -> None:
    job = Job("page")
    for i in range(1, 501):
        job.receive({"progress": i / 1000, "found": {"axis": ("alpha", "n")[i % 2], "points": [i]}})
    assert len(job.newest) == 2 and job.count == 500
    assert job.answer(499)["found"] == [{"axis": "alpha", "points": [500]}]
    assert {f["points"][0] for f in job.answer(0)["found"]} == {499, 500}

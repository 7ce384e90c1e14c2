"""Progress on standard error: done, rate, time left, failures; one line on a terminal."""

import io
import sys
from types import SimpleNamespace

import pytest

import onegrad.io.progress as module
from onegrad.io.progress import TerminalProgress, as_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    # not time.monotonic itself: event loops in other threads of these tests live by it
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def lines(stream):
    return stream.getvalue().splitlines()


def test_plain_lines_every_few_seconds(clock):
    stream = io.StringIO()
    progress = TerminalProgress("sweep", stream)
    progress.begin(total=110, skipped=10)
    for _ in range(20):
        clock[0] += 1.0
        progress.step()
    clock[0] += 1.0
    progress.step(failure="ValueError: no")
    assert lines(stream) == [
        "sweep: 10 of 110 cells are in the store already",
        "sweep: 15/110, 1/s, 5 s",  # the first tenth may be the slowest
        *(f"sweep: {done}/110, 1/s, {110 - done} s left" for done in (20, 25, 30)),
        "sweep: a cell failed: ValueError: no",
    ]
    progress.step(skipped=True)  # by another runner: it counts as done
    progress.end()
    assert lines(stream)[-1].startswith("sweep: 32/110") and lines(stream)[-1].endswith("1 failed")


def test_a_terminal_sees_one_line(clock):
    stream = Terminal()
    progress = TerminalProgress("sweep", stream)
    progress.begin(total=5000, skipped=0)
    for _ in range(7):
        clock[0] += 10.0
        progress.step()
    assert stream.getvalue().count("\n") == 0
    assert "\rsweep: 3/5000, 0.1/s, 30 s\x1b[K" in stream.getvalue()  # too early to tell
    assert stream.getvalue().endswith("\rsweep: 7/5000, 0.1/s, 13.9 h left\x1b[K")


def test_a_count_that_is_soon_over_needs_no_line(clock):
    stream = io.StringIO()
    progress = TerminalProgress("fit", stream)
    for seconds, expected in (
        (1.0, []),
        (6.0, ["fit: 1/3, 0.17/s, 12 s left", "fit: 2/3, 0.17/s, 6 s left",
               "fit: 3/3, 0.17/s, 18 s"]),
    ):  # fmt: skip
        for done in (1, 2, 3):
            clock[0] += seconds
            progress(done, 3)
        assert lines(stream) == expected


def test_rows_are_told_while_a_part_is_read(clock):
    stream = io.StringIO()
    progress = TerminalProgress("first pass", stream)
    progress(0, 1)
    for _ in range(12):  # one large file: nothing is done before it is all done
        clock[0] += 1.0
        progress.rows(20_000)
    progress(1, 1)
    assert lines(stream) == [
        "first pass: 0/1, 100,000 rows at 20,000/s, 5 s",
        "first pass: 0/1, 200,000 rows at 20,000/s, 10 s",
        "first pass: 1/1, 240,000 rows at 20,000/s, 12 s",
    ]
    progress(1, 4)  # the next stage counts from zero
    clock[0] += 6.0
    progress(2, 4)
    assert lines(stream)[-1].startswith("first pass: 2/4, 0.33/s")


def test_quiet_says_nothing():
    stream = io.StringIO()
    progress = TerminalProgress("sweep", stream, quiet=True)
    progress.begin(total=3, skipped=1)
    progress.step(failure="x")
    progress.end()
    assert stream.getvalue() == ""


def test_a_notebook_shows_one_line_after_two_seconds(clock, monkeypatch):
    shown = []

    def publish(data, transient, update):
        shown.append((data["text/plain"], transient, update))

    shell = SimpleNamespace(kernel=None, display_pub=SimpleNamespace(publish=publish))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    progress = as_progress(None, "networks")
    for done in range(1, 6):
        clock[0] += 0.9
        progress(done, 5)
    assert [line for line, *_ in shown] == ["networks: 3/5, 1.1/s, 2 s left",
        "networks: 4/5, 1.1/s, 1 s left", "networks: 5/5, 1.1/s, 4 s"]  # fmt: skip
    assert [update for *_, update in shown] == [False, True, True]
    assert len({transient["display_id"] for _, transient, _ in shown}) == 1
    as_progress(False)(1, 1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    as_progress(None)(1, 1)
    assert len(shown) == 3

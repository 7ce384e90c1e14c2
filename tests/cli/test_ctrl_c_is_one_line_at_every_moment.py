"""Ctrl-C, also while the program is still loading: one line, exit code 130, no traceback."""

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from onegrad import __main__ as program
from programs import ONEGRAD


def interrupt(folder: Path, *command: str, until: str) -> tuple[int, str]:
    """Send Ctrl-C to a command and its group once it has opened a file of such a name."""
    process = subprocess.Popen(
        [*ONEGRAD, *command], cwd=folder, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    with contextlib.suppress(OSError):  # it ended in the middle
        while until not in Path(f"/proc/{process.pid}/maps").read_text("utf-8"):
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGINT)
    told = process.communicate()[1]
    return process.returncode, told


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="libraries are seen in /proc")
@pytest.mark.parametrize("library", ["_multiarray_umath", "libarrow"])
def test_while_libraries_load(tmp_path: Path, library: str) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n", "utf-8")
    code, told = interrupt(tmp_path, "fit", "a.csv", "--target", "y", "--out", "m", until=library)
    if code != 2:  # over before the signal: the table is too short
        assert (code, told.count("\n")) == (130, 1) and "interrupted" in told


@pytest.mark.full
def test_while_the_page_is_served() -> None:
    command = [*ONEGRAD, "explore", "--no-open", "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None and server.stderr is not None
            url = json.loads(server.stdout.readline())["url"]
            assert url.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(url, timeout=120) as response:
                assert b"What one gradient step learns" in response.read()
            foreign = urllib.request.Request(url, headers={"Host": "evil.example"})
            with pytest.raises(urllib.error.HTTPError, match="400") as caught:
                urllib.request.urlopen(foreign, timeout=120)
            caught.value.close()
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(120) == 130
        assert server.stderr.read() == "onegrad explore: interrupted\n"


def test_an_interrupt_that_cannot_be_raised_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    again = []
    monkeypatch.setattr(program._thread, "interrupt_main", lambda: again.append(True))

    class Unraisable:
        exc_type = KeyboardInterrupt

    program._interrupt_again(Unraisable())  # type: ignore[arg-type]
    assert again == [True]


@pytest.mark.full
def test_processes_never_see_it() -> None:
    """The parent ends them: one that saw Ctrl-C would print a traceback while it starts."""
    from onegrad.parallel.children import child_map

    (blocked,) = child_map(blocked_signals, [0], 1, lost=lambda *_: 0)
    assert blocked >> (signal.SIGINT - 1) & 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def blocked_signals(_: int) -> int:
    status = Path("/proc/self/status").read_text("utf-8")
    return int(next(x for x in status.splitlines() if x.startswith("SigBlk")).split()[1], 16)

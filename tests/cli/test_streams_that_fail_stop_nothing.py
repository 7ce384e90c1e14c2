"""Closed, full or narrow standard streams: a command does its work, with its own exit code."""

import contextlib
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from soak.sweeping import rehearsal_toml

from onegrad.experiments import Store
from onegrad.io.progress import TerminalProgress
from onegrad.io.streams import SilentStream, _spelled
from programs import ONEGRAD

PROGRAM = shlex.join(ONEGRAD)
ASCII = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


def shell(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.full
def test_streams_that_are_closed_or_full_change_no_exit_code(tmp_path: Path) -> None:
    for command, code in (
        ("cite >&-", 0), ("predict --n -1 2>&-", 2), ("predict --n -1 2>/dev/full", 2),
    ):  # fmt: skip
        run = shell(tmp_path, f"{PROGRAM} {command}")
        assert (run.returncode, run.stderr) == (code, ""), command
    for command in ("cite", "--help", "help", "sweep run --help", "--version", ""):
        for unbuffered in ("", "1"):
            run = shell(tmp_path, f"{PROGRAM} {command} >/dev/full", PYTHONUNBUFFERED=unbuffered)
            assert run.returncode == 1, command  # a result is lost
            assert run.stderr.count("\n") == 1 and "No space left on device" in run.stderr


@pytest.mark.full
def test_a_sweep_goes_on_when_nobody_can_read_its_progress(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(rehearsal_toml(4, wait=0.0), "utf-8")
    for store, stream in (("full", "2>/dev/full"), ("closed", ">&- 2>&- <&-")):
        run = shell(tmp_path, f"{PROGRAM} sweep run s.toml --store {store} {stream}")
        assert run.returncode == 0
        with Store(tmp_path / store, create=False) as cells:
            assert len(cells.done()) == 4


@pytest.mark.full
def test_a_sweep_goes_on_after_a_hangup(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(rehearsal_toml(4, wait=0.2), "utf-8")
    command = [*ONEGRAD, "sweep", "run", "s.toml", "--store", "store"]
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    while not (tmp_path / "store" / "cells.sqlite").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGHUP)
    assert process.wait() == 0


@pytest.mark.full
def test_every_letter_has_a_spelling_in_ascii(tmp_path: Path) -> None:
    command = f"{PROGRAM} sweep run --help && {PROGRAM} exponents H3"
    run = shell(tmp_path, command, PYTHONIOENCODING="ascii", **ASCII)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.isascii() and "\\u" not in run.stdout


@pytest.mark.full
def test_a_table_with_a_unicode_name_is_read_in_an_ascii_locale(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 7},é\n" for i in range(60))
    (tmp_path / "größe.csv").write_text("y,x,ä\n" + rows, encoding="utf-8")
    fit = f"{PROGRAM} fit größe.csv --target y --out m --estimator one-step --width 5 --no-card"
    run = shell(tmp_path, fit, **ASCII)
    assert run.returncode == 0, run.stderr
    run = shell(tmp_path, f"{PROGRAM} apply m größe.csv --out -", **ASCII)
    assert run.returncode == 0 and run.stdout.count("\n") == 61, run.stderr


def test_letters_are_spelled_and_bytes_of_names_stay() -> None:
    error = UnicodeEncodeError("ascii", "±λ\udce9", 0, 1, "")
    assert _spelled(error) == ("+/-", 1)
    error.start = 2
    assert _spelled(error) == (b"\xe9", 3)
    with pytest.raises(UnicodeDecodeError):
        _spelled(UnicodeDecodeError("ascii", b"\xe9", 0, 1, ""))


def test_progress_goes_on_where_it_cannot_write() -> None:
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 -- closing it fails
    for _ in range(2):
        progress = TerminalProgress("cells", full)
        progress.begin(10, skipped=3)
        progress.step()
        progress.end()
        with contextlib.suppress(OSError):
            full.close()
    assert full.closed


def test_a_silent_stream_drops_what_it_cannot_write() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        stream = SilentStream(full, "utf-8", line_buffering=True)
        assert stream.write("a\n") == 2
        stream.flush()
        stream.detach()

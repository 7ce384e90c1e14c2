"""A store that is killed while it is being made is not there, or is there with its tables."""

import random
import time
from pathlib import Path

import pytest
from soak import sweeping

from onegrad.experiments import Store
from onegrad.io.files import atomic_write


def make(directory: str) -> None:
    """Make a store again and again, so that a kill falls into the making of one."""
    for i in range(10_000):
        Store(Path(directory, str(i))).close()


@pytest.mark.full
def test_kills_during_creation(tmp_path: Path) -> None:
    moments, complete = random.Random(3), 0
    for kill in range(3):
        place = tmp_path / f"{kill}"
        process = sweeping.start(make, str(place))
        while len(list(place.glob("*"))) < 4 + kill:
            time.sleep(0.001)
        time.sleep(moments.uniform(0.0, 0.01))
        process.kill()
        process.join()
        for directory in place.iterdir():
            if list(directory.glob("*.sqlite")):
                complete += 1
                with Store(directory, create=False) as store:  # as a reader sees it
                    assert store.done() == set()
            Store(directory, part="other").close()  # as another shard finds it
            with Store(directory) as store:
                assert store.done() == set()
            assert not list(directory.glob(".*.tmp"))
    assert complete > 8


def leave_a_draft(target: str) -> None:
    with atomic_write(Path(target)) as file:
        file.write(b"half of an ar")
        file.flush()
        time.sleep(3600)


@pytest.mark.full
def test_drafts_of_the_dead_are_swept_those_of_the_living_are_not(tmp_path: Path) -> None:
    sweeping.sweep(str(tmp_path), {"cells": 2})
    arrays = tmp_path / "arrays"
    process = sweeping.start(leave_a_draft, str(arrays / "killed.npy"))
    while not list(arrays.glob(".killed*.tmp")):
        time.sleep(0.01)
    process.kill()
    process.join()
    assert list(arrays.glob(".killed*.tmp"))
    with atomic_write(arrays / "alive.npy") as file:
        file.write(b"the other half")
        sweeping.sweep(str(tmp_path), {"cells": 3})
        assert not list(arrays.glob(".killed*.tmp"))
        assert len(list(arrays.glob(".alive*.tmp"))) == 1
    assert (arrays / "alive.npy").read_bytes() == b"the other half"
    assert not list(arrays.glob(".*.tmp"))


def test_any_directory_can_be_read(tmp_path: Path) -> None:
    for name in ("a b#c?d%20", "ü"):
        sweeping.sweep(str(tmp_path / name), {"cells": 2})
        with Store(tmp_path / name, create=False) as store:
            assert len(store.done()) == 2

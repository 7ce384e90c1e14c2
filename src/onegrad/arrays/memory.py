"""How much memory this process may still take: the machine's, or its container's if that is less.

A container's limit is that of a control group of Linux, or of a group around it: the process is
killed when it is passed, however much the machine has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

UNKNOWN = 8 * 2**30  # assumed where nobody says
ADAPTS = 2**25  # bytes up to which glibc follows the largest array that was freed


def keep_freed_memory() -> None:
    """From now on some megabytes of freed memory stay with the process, for the next arrays.

    glibc gives freed memory back to the system once there is twice as much of it as the largest
    array that was freed had, and memory of the system comes page by page, with zeros: a fifth of
    the time of many small fits. An array that nobody writes to teaches it that up to 64 MB are
    worth keeping. Where memory is managed otherwise nothing happens.
    """
    np.empty(ADAPTS - 2**16, np.uint8)


def free_bytes(root: Path = Path("/")) -> int:
    """Memory that is available now, caches that the system would give up included.

    root : where /proc and /sys are looked up.
    """
    return max(0, min(_of_machine(root), *_of_groups(root)))


def _of_machine(root: Path) -> int:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration):  # not Linux: half of what is installed
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (AttributeError, ValueError, OSError):
            return UNKNOWN


def _of_groups(root: Path) -> Iterator[int]:
    """What every control group around this process has left; at least one value."""
    yield UNKNOWN**2
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:  # hierarchy:controllers:path
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _left(root / "sys/fs/cgroup", path, "memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            yield from _left(root / "sys/fs/cgroup/memory", path, *names)


def _left(mount: Path, path: str, limit: str, used: str, prefix: str) -> Iterator[int]:
    """Limit minus use, file caches that can be dropped not counted, of a group and those around it.

    In a container the path may be the host's while the mount shows the container's own group.
    """
    group = mount / path.strip("/")
    for folder in (group, *group.parents):
        if folder.is_relative_to(mount):
            try:
                most = int((folder / limit).read_text())  # "max": no limit
                taken = int((folder / used).read_text())
                stat = dict(x.split() for x in (folder / "memory.stat").read_text().splitlines())
            except (OSError, ValueError):
                continue
            yield most - taken + int(stat.get(f"{prefix}inactive_file", 0))

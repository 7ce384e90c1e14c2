"""Memory that this process may still take: the machine's, or its container's if that is less.

A container's limit is that of a control group of Linux, or of a group around it: the process is
killed when it is passed, however much the machine has.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ASSUMED_BYTES = 8 * 2**30  # where the system does not say
NO_LIMIT = 2**63
MAX_ADAPTED_BYTES = 2**25  # up to which glibc follows the largest array that was freed


def keep_freed_memory() -> None:
    """Let the process keep some megabytes of freed memory for the next arrays.

    glibc gives freed memory back to the system once there is twice as much of it as the largest
    array that was freed had, and fresh memory comes page by page, filled with zeros: a fifth of
    the time of many small fits. An array that is never written to teaches it to keep up to 64 MB.
    Other allocators are not affected.
    """
    np.empty(MAX_ADAPTED_BYTES - 2**16, np.uint8)


def free_bytes(root: Path = Path("/")) -> int:
    """Return the memory that is available now, with caches that the system would give up.

    root : folder in which /proc and /sys are looked up.
    """
    return max(0, min(_machine_bytes(root), *_container_bytes(root)))


def _machine_bytes(root: Path) -> int:
    try:
        lines = (root / "proc/meminfo").read_text("utf-8").splitlines()
        return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration):  # not Linux: half of what is installed
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (AttributeError, ValueError, OSError):
            return ASSUMED_BYTES


def _container_bytes(root: Path) -> Iterator[int]:
    """Yield what every control group around this process may still take; at least one value."""
    yield NO_LIMIT
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:  # hierarchy:controllers:path
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _group_bytes(
                root / "sys/fs/cgroup", path, "memory.max", "memory.current", ""
            )
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            yield from _group_bytes(root / "sys/fs/cgroup/memory", path, *names)


def _group_bytes(mount: Path, path: str, limit: str, used: str, prefix: str) -> Iterator[int]:
    """Yield limit minus use of a group and those around it; droppable file caches do not count.

    In a container the path may be the host's while the mount shows the container's own group.
    """
    group = mount / path.strip("/")
    for folder in (group, *group.parents):
        if folder.is_relative_to(mount):
            try:
                allowed = int((folder / limit).read_text("utf-8"))  # "max": no limit
                in_use = int((folder / used).read_text("utf-8"))
                stat = dict(
                    x.split() for x in (folder / "memory.stat").read_text("utf-8").splitlines()
                )
            except (OSError, ValueError):
                continue
            yield allowed - in_use + int(stat.get(f"{prefix}inactive_file", 0))

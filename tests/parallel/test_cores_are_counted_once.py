"""Cores are counted in one place, and a container's quota is respected."""

import os
import re
from pathlib import Path

import onegrad
from onegrad.parallel.cores import core_count

OLD = "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"  # control groups of the first version


def test_a_quota_of_the_container_is_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    for i, (files, cores) in enumerate((
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu.max": "broken"}, 64),
        (dict(zip(OLD, ("300000", "100000"), strict=True)), 3),
        (dict(zip(OLD, ("-1", "100000"), strict=True)), 64),
    )):  # fmt: skip
        root = tmp_path / str(i)
        for name, text in files.items():
            path = root / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        assert core_count(root) == cores, files


def test_nobody_else_counts():
    counting = re.compile(r"cpu_count|sched_getaffinity")
    root = Path(onegrad.__file__).parent
    files = [p for p in root.rglob("*.py") if counting.search(p.read_text("utf-8"))]
    assert [p.relative_to(root).as_posix() for p in files] == ["parallel/cores.py"]

"""Cores are counted in one place, and a container's quota is respected."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import onegrad
from onegrad.parallel import core_count

QUOTAS = {"150000 100000\n": 2, "50000 100000\n": 1, "max 100000\n": 64, "broken": 64}


@pytest.fixture
def sixty_four_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)


@pytest.mark.parametrize(("text", "cores"), QUOTAS.items())
def test_a_quota_of_the_container_is_the_limit(tmp_path: Path, sixty_four_cores, text, cores):
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text(text)
    assert core_count(tmp_path) == cores


@pytest.mark.parametrize(("quota", "cores"), [("300000", 3), ("-1", 64)])
def test_so_is_one_of_the_older_kind(tmp_path: Path, sixty_four_cores, quota, cores):
    group = tmp_path / "sys/fs/cgroup/cpu"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text(quota)
    (group / "cpu.cfs_period_us").write_text("100000")
    assert core_count(tmp_path) == cores


def test_nobody_else_counts():
    counting = re.compile(r"cpu_count|sched_getaffinity")
    root = Path(onegrad.__file__).parent
    files = [p for p in root.rglob("*.py") if counting.search(p.read_text())]
    assert [p.relative_to(root).as_posix() for p in files] == ["parallel/cores.py"]

"""Memory: what the machine or the container has left, whichever is less, and what is kept."""

import os
import platform
from pathlib import Path

import pytest

import onegrad as og
from onegrad.arrays import get_ops, memory, ops
from onegrad.explorer import simulation_runs
from onegrad.networks.simulation import simulate
from programs import run_python

GB = 10**9
V1 = {"limit": "memory.limit_in_bytes", "used": "memory.usage_in_bytes", "cache": "total_"}
V2 = {"limit": "memory.max", "used": "memory.current", "cache": ""}


def machine(root: Path, line: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(
        f"MemTotal: 1 kB\nMemAvailable: {100 * GB // 1024} kB\n", "utf-8"
    )
    (root / "proc/self/cgroup").write_text(f"12:cpu,cpuacct:/x\n{line}\n", "utf-8")
    return root


def group(folder: Path, names: dict[str, str], limit: str, used: int, cache: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names["limit"]).write_text(f"{limit}\n", "utf-8")
    (folder / names["used"]).write_text(f"{used}\n", "utf-8")
    (folder / "memory.stat").write_text(f"anon 5\n{names['cache']}inactive_file {cache}\n", "utf-8")


def test_without_a_container_it_is_the_machines(tmp_path: Path) -> None:
    assert memory.free_bytes(machine(tmp_path, "0::/")) == pytest.approx(100 * GB, rel=1e-6)


def test_the_tightest_group_decides(tmp_path: Path) -> None:
    for line, mount, names in (
        ("0::/a/b", "sys/fs/cgroup", V2),
        ("4:memory:/a/b", "sys/fs/cgroup/memory", V1),
    ):
        root = machine(tmp_path / names["limit"], line)
        group(root / mount / "a/b", names, "max", 3 * GB)
        assert memory.free_bytes(root) == pytest.approx(100 * GB, rel=1e-6)
        group(root / mount / "a", names, str(8 * GB), 3 * GB, cache=GB)  # the group around it
        assert memory.free_bytes(root) == 6 * GB
        group(root / mount / "a/b", names, str(4 * GB), 5 * GB)  # over its limit already
        assert memory.free_bytes(root) == 0


def test_a_mount_that_shows_the_containers_own_group(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/docker/0123456789abcdef")
    group(root / "sys/fs/cgroup", V2, str(2 * GB), GB // 2)
    assert memory.free_bytes(root) == 3 * GB // 2


def test_networks_and_page_stay_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, "0::/")
    group(root / "sys/fs/cgroup", V2, str(60_000_000), 10_000_000)
    monkeypatch.setattr(ops, "free_bytes", lambda: memory.free_bytes(root))
    assert get_ops().free_bytes() == 50_000_000
    with pytest.raises(og.InvalidInput, match=r"but 0\.0373 GiB may be used"):
        simulate(og.Problem(n=3000, d=1000, N=2000), 1)
    plan = simulation_runs.read_run(
        {"query": {"n": "3000", "d": "1000", "N": "2000"}, "seeds": "1"}
    )
    with pytest.raises(og.InvalidInput, match=r"the page 0\.04 GB at most"):
        simulation_runs.estimate_seconds(plan, 1e12)


PAGES = """
import resource
import numpy as np
from onegrad.arrays import keep_freed_memory

def new_pages(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        for a in [np.empty(500_000) for _ in range(8)]:
            a.fill(1.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

new_pages(2), print(new_pages(20))
keep_freed_memory()
new_pages(2), print(new_pages(20))
"""


@pytest.mark.full
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's memory")
def test_new_arrays_cost_no_new_pages_where_freed_ones_are_kept() -> None:
    # Dask leaves settings of malloc in the environment of whoever starts its workers
    plain = {name: v for name, v in os.environ.items() if not name.startswith("MALLOC_")}
    as_ever, with_memory_kept = map(int, run_python(PAGES, env=plain).split())
    assert with_memory_kept < 0.1 * as_ever

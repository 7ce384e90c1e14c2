"""Cores that this process may use, and the threads that BLAS uses of them."""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import ContextDecorator, ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any


def core_count(root: Path = Path("/")) -> int:
    """Return the number of cores that this process may use, at least one.

    The limit is its affinity, the processor quota of its container, or joblib's environment
    variable LOKY_MAX_CPU_COUNT, whichever is least.

    root : folder in which the container's quota is looked up.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("LOKY_MAX_CPU_COUNT", "")
    limits = [int(limit)] if limit.isdecimal() else []
    return max(1, min(allowed or 1, _container_quota(root), *limits))


def _container_quota(root: Path) -> int:
    """Return the cores' worth of time that a control group of Linux grants, rounded up."""
    groups = root / "sys/fs/cgroup"
    try:
        if (groups / "cpu.max").exists():
            quota, period = (groups / "cpu.max").read_text("utf-8").split()
        else:
            quota = (groups / "cpu/cpu.cfs_quota_us").read_text("utf-8")
            period = (groups / "cpu/cpu.cfs_period_us").read_text("utf-8")
        return math.ceil(int(quota) / int(period)) if int(quota) > 0 else sys.maxsize
    except (OSError, ValueError, ZeroDivisionError):  # "max": no limit; not Linux: no groups
        return sys.maxsize


def thread_count() -> int:
    """Return the number of threads to compute with: cores, or fewer where BLAS may use fewer.

    OMP_NUM_THREADS and its like are respected.
    """
    libraries = _blas_libraries("torch" in sys.modules).info()
    limits = [int(x["num_threads"]) for x in libraries if x["user_api"] == "blas"]
    return max(1, min([core_count(), *limits]))


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Let every BLAS call within this context use `count` threads."""
    with _blas_libraries("torch" in sys.modules).limit(limits=count, user_api="blas"):
        yield


class _OneBlasThread(ContextDecorator):
    """Contexts of all threads together: the first one limits BLAS, the last one frees it."""

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit.enter_context(blas_threads(1))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.close()


one_blas_thread = _OneBlasThread()  # a context, or a decorator, for many small products


@lru_cache(maxsize=2)
def _blas_libraries(_torch_is_loaded: bool) -> Any:
    """Return the controller of this process's BLAS libraries; finding them takes milliseconds.

    They are NumPy's and SciPy's, and are looked up again when torch has brought its own.
    """
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

"""Which backend a device or an array asks for, and what a device says when it is full."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from onegrad.arrays.namespace import Array, is_torch
from onegrad.arrays.numpy_ops import Ops
from onegrad.arrays.torch_ops import DEVICES, TorchOps
from onegrad.exceptions import InvalidInput


def get_ops(device: str = "cpu", dtype: str = "float64", threads: int = 1) -> Ops:
    """The operations for a device: cpu is NumPy; torch, cuda and cuda:k are torch."""
    if dtype not in ("float64", "float32"):
        raise InvalidInput(f"dtype must be float64 or float32; got {dtype!r:.60}")
    if device == "cpu":
        return Ops(dtype, threads)
    if device == "torch" or str(device).split(":")[0] == "cuda":
        return TorchOps(device, dtype, threads)
    raise InvalidInput(f"device must be {DEVICES}; got {device!r:.60}")


def ops_of(x: Array) -> Ops:
    """The backend that x lives on."""
    if not is_torch(x):
        return _kept("cpu", x.dtype.name)
    device = "torch" if x.device.type == "cpu" else str(x.device)
    return _kept(device, str(x.dtype).removeprefix("torch."))


_kept = lru_cache(maxsize=16)(get_ops)


def gpus() -> list[str]:
    """Names of the CUDA devices; none when torch is not installed."""
    try:
        import torch
    except ImportError:
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def visible_gpus() -> list[str]:
    """How CUDA_VISIBLE_DEVICES would name each GPU that this process sees."""
    named = [x.strip() for x in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if x.strip()]
    return named or [str(i) for i in range(len(gpus()))]


@contextmanager
def one_line_memory_errors(advice: str) -> Iterator[None]:
    """Raise MemoryError in one line, with advice, when the host or a GPU runs out of memory."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"out of memory ({error}): {advice}") from None
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError(f"the GPU is out of memory: {advice}") from None

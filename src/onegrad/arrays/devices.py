"""The table of devices: which operations a device or an array asks for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from onegrad.arrays.namespace import Array
from onegrad.arrays.numpy_ops import NumpyOps
from onegrad.arrays.ops import Ops
from onegrad.arrays.tensor_core_ops import TensorCoreOps
from onegrad.arrays.torch_ops import TorchOps
from onegrad.exceptions import InvalidInput, check_choice

DEVICES: dict[str, type[Ops]] = {"cpu": NumpyOps, "torch": TorchOps, "cuda": TorchOps}
PRECISIONS = ("exact", "fast")


def get_ops(device: str = "cpu", dtype: str = "float64", precision: str | None = None) -> Ops:
    """Return the operations of a device: a name of the table, with or without ":k".

    precision : None computes in `dtype`, and "exact" in float64. "fast" holds float32 arrays, takes
        products in half precision on tensor cores (`TensorCoreOps`) and solves in float64; torch on
        the CPU imitates it, and NumPy refuses it.
    """
    if dtype not in ("float64", "float32"):
        raise InvalidInput("dtype", dtype, "float64 or float32")
    name, numbered, _ = str(device).partition(":")
    if name not in DEVICES or (numbered and name != "cuda"):
        allowed = "cpu (NumPy), torch (torch on the CPU), cuda or cuda:k"
        raise InvalidInput("device", device, allowed)
    if precision is not None and dtype != "float64":
        problem = "precision chooses the types of numbers; leave dtype out"
        raise InvalidInput("dtype", dtype, problem=problem)
    if precision is None or check_choice("precision", precision, PRECISIONS) == "exact":
        return DEVICES[name](device, dtype)
    if name == "cpu":
        problem = "needs tensor cores: use device='cuda', or dtype='float32' here"
        raise InvalidInput("precision", precision, problem=problem)
    return TensorCoreOps(device)


def ops_of(x: Array) -> Ops:
    """Return the operations of the device that x lives on, in the precision of x."""
    if isinstance(x, np.ndarray):
        return _cached_ops("cpu", x.dtype.name)
    devices = (backend.device_of(x) for backend in DEVICES.values())
    return _cached_ops(next(filter(None, devices), "cpu"), str(x.dtype).rpartition(".")[2])


_cached_ops = lru_cache(maxsize=16)(get_ops)


def gpus() -> list[str]:
    """Return the names of the CUDA devices; none if torch is not installed."""
    try:
        import torch
    except ImportError:
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def visible_gpus() -> list[str]:
    """Return how CUDA_VISIBLE_DEVICES would name each GPU that this process sees."""
    listed = [x.strip() for x in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if x.strip()]
    return listed or [str(i) for i in range(len(gpus()))]


@contextmanager
def one_line_memory_errors(advice: str) -> Iterator[None]:
    """Raise MemoryError in one line, with advice, when the host or a GPU runs out of memory."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"out of memory ({error}): {advice}") from None
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's, which may not be installed
            raise
        raise MemoryError(f"the GPU is out of memory: {advice}") from None

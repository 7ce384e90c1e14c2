"""Arrays on NumPy and torch, BLAS without Python's lock, standard errors."""

from onegrad.arrays.devices import (
    get_ops,
    gpus,
    one_line_memory_errors,
    ops_of,
    visible_gpus,
)  # fmt: skip
from onegrad.arrays.memory import keep_freed_memory
from onegrad.arrays.namespace import (
    Array,
    Floats,
    erf,
    is_torch,
    namespace,
    one_minus_square,
    symmetric,
    to_numpy,
    transpose,
)  # fmt: skip
from onegrad.arrays.numpy_ops import Ops
from onegrad.arrays.recording import Repeat, run_directly
from onegrad.arrays.statistics import standard_error

__all__ = [
    "Array",
    "Floats",
    "Ops",
    "Repeat",
    "erf",
    "get_ops",
    "gpus",
    "is_torch",
    "keep_freed_memory",
    "namespace",
    "one_line_memory_errors",
    "one_minus_square",
    "ops_of",
    "run_directly",
    "standard_error",
    "symmetric",
    "to_numpy",
    "transpose",
    "visible_gpus",
]  # fmt: skip

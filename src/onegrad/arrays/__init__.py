"""Arrays: one protocol of operations, NumPy and torch side by side, a frozen execution policy."""

from onegrad.arrays.devices import (
    PRECISIONS,
    get_ops,
    gpus,
    one_line_memory_errors,
    ops_of,
    visible_gpus,
)
from onegrad.arrays.executor import DeviceExecutor, RandomBlock, Repeat, run_directly
from onegrad.arrays.memory import keep_freed_memory
from onegrad.arrays.namespace import (
    Array,
    Floats,
    erf,
    is_torch,
    namespace,
    one_minus_square,
    standard_error,
    to_numpy,
    transpose,
)
from onegrad.arrays.ops import Ops
from onegrad.arrays.policy import ExecutionPolicy
from onegrad.arrays.tiles import ROW_PADDING, copy_upper, symmetric

__all__ = [
    "PRECISIONS",
    "ROW_PADDING",
    "Array",
    "DeviceExecutor",
    "ExecutionPolicy",
    "Floats",
    "Ops",
    "RandomBlock",
    "Repeat",
    "copy_upper",
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
]

"""Arrays on NumPy and torch, BLAS without Python's lock, threads, standard errors."""

from onegrad.arrays.devices import (
    backend,
    backend_of,
    gpus,
    one_line_memory_errors,
    visible_gpus,
)  # fmt: skip
from onegrad.arrays.memory import keep_freed
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
from onegrad.arrays.numpy_backend import Backend
from onegrad.arrays.recording import Repeat, plainly
from onegrad.arrays.statistics import standard_error
from onegrad.arrays.threads import (
    Stopped,
    abreast,
    blas_threads,
    cores,
    share,
    start,
    team,
    team_size,
)  # fmt: skip

__all__ = [
    "Array", "Backend", "Floats", "Repeat", "Stopped", "abreast", "backend", "backend_of",
    "blas_threads", "cores", "erf", "gpus", "is_torch", "keep_freed", "namespace",
    "one_line_memory_errors", "one_minus_square", "plainly", "share", "standard_error", "start",
    "symmetric", "team", "team_size", "to_numpy", "transpose", "visible_gpus",
]  # fmt: skip

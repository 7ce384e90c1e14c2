"""Arrays: one protocol of operations, NumPy and torch side by side, a frozen execution policy."""

from onegrad.arrays.devices import PRECISIONS as PRECISIONS
from onegrad.arrays.devices import get_ops as get_ops
from onegrad.arrays.devices import gpus as gpus
from onegrad.arrays.devices import one_line_memory_errors as one_line_memory_errors
from onegrad.arrays.devices import ops_of as ops_of
from onegrad.arrays.devices import visible_gpus as visible_gpus
from onegrad.arrays.memory import keep_freed_memory as keep_freed_memory
from onegrad.arrays.namespace import Array as Array
from onegrad.arrays.namespace import Floats as Floats
from onegrad.arrays.namespace import erf as erf
from onegrad.arrays.namespace import is_torch as is_torch
from onegrad.arrays.namespace import namespace as namespace
from onegrad.arrays.namespace import normal_score as normal_score
from onegrad.arrays.namespace import one_minus_square as one_minus_square
from onegrad.arrays.namespace import standard_error as standard_error
from onegrad.arrays.namespace import student_score as student_score
from onegrad.arrays.namespace import to_numpy as to_numpy
from onegrad.arrays.namespace import transpose as transpose
from onegrad.arrays.ops import Ops as Ops
from onegrad.arrays.policy import ExecutionPolicy as ExecutionPolicy
from onegrad.arrays.tiles import ROW_PADDING as ROW_PADDING
from onegrad.arrays.tiles import copy_upper as copy_upper
from onegrad.arrays.tiles import symmetric as symmetric

"""Activations and teachers: functions with names or formulas, and their Hermite coefficients."""

from onegrad.functions.function import Function as Function
from onegrad.functions.function import MultiIndex as MultiIndex
from onegrad.functions.named import IDENTITY as IDENTITY
from onegrad.functions.registry import REGISTRY as REGISTRY
from onegrad.functions.registry import FunctionSpec as FunctionSpec
from onegrad.functions.registry import register as register
from onegrad.functions.registry import resolve as resolve
from onegrad.functions.registry import resolve_activation as resolve_activation
from onegrad.functions.teacher_exponents import Exponents as Exponents
from onegrad.functions.teacher_exponents import exponents as exponents

"""Activations and teachers: functions with names or formulas, and their Hermite coefficients."""

from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.named import IDENTITY
from onegrad.functions.registry import REGISTRY, FunctionSpec, register, resolve, resolve_activation
from onegrad.functions.teacher_exponents import Exponents, exponents

__all__ = [
    "IDENTITY",
    "REGISTRY",
    "Exponents",
    "Function",
    "FunctionSpec",
    "MultiIndex",
    "exponents",
    "register",
    "resolve",
    "resolve_activation",
]

"""Activations and teachers: functions of one number, their Hermite coefficients, their names."""

from onegrad.functions.exponents import Exponents, exponents
from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.named import IDENTITY
from onegrad.functions.registry import REGISTRY, Spec, register, resolve

__all__ = [
    "IDENTITY",
    "REGISTRY",
    "Exponents",
    "Function",
    "MultiIndex",
    "Spec",
    "exponents",
    "register",
    "resolve",
]

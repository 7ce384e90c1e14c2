"""Activations and teachers: functions of one number, their Hermite coefficients, their names."""

from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.named import IDENTITY
from onegrad.functions.registry import REGISTRY, Spec, register, resolve

__all__ = ["IDENTITY", "REGISTRY", "Function", "MultiIndex", "Spec", "register", "resolve"]

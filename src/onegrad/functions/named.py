"""The functions that have a name, with their derivatives, on NumPy arrays and torch tensors alike.

Those that most simulations use also have a version that writes to a NumPy array in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.special

from onegrad.arrays import Array, erf, namespace, one_minus_square
from onegrad.functions.function import Function


@dataclass(frozen=True)
class _Elementwise:
    """NumPy's or torch's function of this name; one that is pickled equals itself."""

    name: str

    def __call__(self, x: Array) -> Array:
        return getattr(namespace(x), self.name)(x)


_tanh, _sin, _cos = _Elementwise("tanh"), _Elementwise("sin"), _Elementwise("cos")
_exp, _abs, _sign = _Elementwise("exp"), _Elementwise("abs"), _Elementwise("sign")


def _identity(x: Array) -> Array:
    return x


def _one(x: Array) -> Array:
    return 0.0 * x + 1  # in the type and on the device of x; NaN stays NaN


def _tanh_slope(x: Array) -> Array:
    return one_minus_square(_tanh(x))


def _erf_slope(x: Array) -> Array:
    return (2 / math.sqrt(math.pi)) * _exp(-x * x)


def _erf2(x: Array) -> Array:
    return erf(x * math.sqrt(0.5))


def _erf2_slope(x: Array) -> Array:
    return math.sqrt(2 / math.pi) * _exp(-0.5 * x * x)


def _relu(x: Array) -> Array:
    return namespace(x).clip(x, 0, None)


def _relu_slope(x: Array) -> Array:
    return (x > 0) * (0.0 * x + 1)


def _leaky(x: Array) -> Array:
    return namespace(x).where(x > 0, x, 0.01 * x)


def _leaky_slope(x: Array) -> Array:
    return 0.01 + 0.99 * _relu_slope(x)


def _softplus(x: Array) -> Array:
    # log(1 + e^x), of which e^x overflows
    return _relu(x) + namespace(x).log1p(_exp(-_abs(x)))


def _sigmoid(x: Array) -> Array:
    # 1 / (1 + e^-x), of which e^-x overflows
    return 0.5 + 0.5 * _tanh(0.5 * x)


def _sigmoid_slope(x: Array) -> Array:
    return 0.25 * _tanh_slope(0.5 * x)


def _gelu(x: Array) -> Array:
    return x * (0.5 + 0.5 * _erf2(x))


def _gelu_slope(x: Array) -> Array:
    return 0.5 + 0.5 * _erf2(x) + 0.5 * x * _erf2_slope(x)


def _silu(x: Array) -> Array:
    return x * _sigmoid(x)


def _silu_slope(x: Array) -> Array:
    return _sigmoid(x) + x * _sigmoid_slope(x)


def _minus_sin(x: Array) -> Array:
    return -_sin(x)


def _arctan_slope(x: Array) -> Array:
    return 1 / (1 + x * x)


def _elu(x: Array) -> Array:
    xp = namespace(x)
    return xp.where(x > 0, x, xp.expm1(xp.clip(x, None, 0)))  # both branches are computed


def _elu_slope(x: Array) -> Array:
    return _exp(namespace(x).clip(x, None, 0))


def _hardtanh(x: Array) -> Array:
    return namespace(x).clip(x, -1, 1)


def _hardtanh_slope(x: Array) -> Array:
    return (_abs(x) < 1) * (0.0 * x + 1)


def _zero(x: Array) -> Array:
    return 0.0 * x


def _tanh_slope_in_place(x: Array, out: Array) -> None:
    np.tanh(x, out=out)
    out *= out
    np.subtract(1, out, out=out)


def _relu_in_place(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


def _relu_slope_in_place(x: Array, out: Array) -> None:
    np.heaviside(x, 0, out=out)


IDENTITY = Function("identity", _identity, _one, homogeneous=True)

NAMED_FUNCTIONS = (
    Function("tanh", _tanh, _tanh_slope, value_in_place=np.tanh,
             slope_in_place=_tanh_slope_in_place),
    Function("erf", erf, _erf_slope, value_in_place=scipy.special.erf),
    Function("erf2", _erf2, _erf2_slope),  # erf(x / sqrt 2)
    Function("relu", _relu, _relu_slope, kinks=(0.0,), homogeneous=True,
             value_in_place=_relu_in_place, slope_in_place=_relu_slope_in_place),
    Function("leaky_relu", _leaky, _leaky_slope, kinks=(0.0,), homogeneous=True),
    Function("elu", _elu, _elu_slope, kinks=(0.0,)),
    Function("hardtanh", _hardtanh, _hardtanh_slope, kinks=(-1.0, 1.0)),
    Function("softplus", _softplus, _sigmoid),
    Function("sigmoid", _sigmoid, _sigmoid_slope),
    Function("gelu", _gelu, _gelu_slope),
    Function("silu", _silu, _silu_slope),
    Function("sin", _sin, _cos),
    Function("cos", _cos, _minus_sin),
    Function("arctan", _Elementwise("arctan"), _arctan_slope),
)  # fmt: skip

FORMULA_FUNCTIONS = (  # for formulas, besides the named ones
    Function("exp", _exp, _exp),
    Function("abs", _abs, _sign, kinks=(0.0,)),
    Function("sign", _sign, _zero, kinks=(0.0,), continuous=False),
    IDENTITY,
)

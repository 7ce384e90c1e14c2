"""The functions that have a name, with their derivatives, on NumPy arrays and torch tensors alike.

Those that most simulations use also have a version that writes to a NumPy array in place.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.special

from onegrad.arrays import Array, erf, namespace, one_minus_square
from onegrad.functions.function import ArrayFunction, Function


@dataclass(frozen=True)
class _Rule:
    """The rule of this name, or else NumPy's and torch's function of this name.

    One that is pickled equals itself, as a lambda would not.
    """

    name: str

    def __call__(self, x: Array) -> Array:
        return _RULES[self.name](x) if self.name in _RULES else getattr(namespace(x), self.name)(x)


_tanh, _exp, _abs = _Rule("tanh"), _Rule("exp"), _Rule("abs")
_relu, _relu_slope, _sigmoid = _Rule("relu"), _Rule("relu'"), _Rule("sigmoid")

# constants are 0.0 * x + 1: in the type and on the device of x, and NaN stays NaN
_RULES: dict[str, ArrayFunction] = {
    "zero": lambda x: 0.0 * x,
    "one": lambda x: 0.0 * x + 1,
    "identity": lambda x: x,
    "-sin": lambda x: -_Rule("sin")(x),
    "tanh'": lambda x: one_minus_square(_tanh(x)),
    "erf'": lambda x: (2 / math.sqrt(math.pi)) * _exp(-x * x),
    "erf2": lambda x: erf(x * math.sqrt(0.5)),
    "erf2'": lambda x: math.sqrt(2 / math.pi) * _exp(-0.5 * x * x),
    "relu": lambda x: namespace(x).clip(x, 0, None),
    "relu'": lambda x: (x > 0) * (0.0 * x + 1),
    "leaky_relu": lambda x: namespace(x).where(x > 0, x, 0.01 * x),
    "leaky_relu'": lambda x: 0.01 + 0.99 * _relu_slope(x),
    # both branches of a where are computed, of which e^x overflows
    "elu": lambda x: namespace(x).where(
        x > 0, x, namespace(x).expm1(namespace(x).clip(x, None, 0))
    ),
    "elu'": lambda x: _exp(namespace(x).clip(x, None, 0)),
    "hardtanh": lambda x: namespace(x).clip(x, -1, 1),
    "hardtanh'": lambda x: (_abs(x) < 1) * (0.0 * x + 1),
    # log(1 + e^x) and 1 / (1 + e^-x), of which e^x and e^-x overflow
    "softplus": lambda x: _relu(x) + namespace(x).log1p(_exp(-_abs(x))),
    "sigmoid": lambda x: 0.5 + 0.5 * _tanh(0.5 * x),
    "sigmoid'": lambda x: 0.25 * one_minus_square(_tanh(0.5 * x)),
    "gelu": lambda x: x * (0.5 + 0.5 * _Rule("erf2")(x)),
    "gelu'": lambda x: 0.5 + 0.5 * _Rule("erf2")(x) + 0.5 * x * _Rule("erf2'")(x),
    "silu": lambda x: x * _sigmoid(x),
    "silu'": lambda x: _sigmoid(x) + x * _Rule("sigmoid'")(x),
    "arctan'": lambda x: 1 / (1 + x * x),
}


def _tanh_slope_in_place(x: Array, out: Array) -> None:
    np.tanh(x, out=out)
    out *= out
    np.subtract(1, out, out=out)


def _relu_in_place(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


def _relu_slope_in_place(x: Array, out: Array) -> None:
    np.heaviside(x, 0, out=out)


IDENTITY = Function("identity", _Rule("identity"), _Rule("one"), homogeneous=True)

NAMED_FUNCTIONS = (
    Function("tanh", _tanh, _Rule("tanh'"), value_in_place=np.tanh,
             slope_in_place=_tanh_slope_in_place),
    Function("erf", erf, _Rule("erf'"), value_in_place=scipy.special.erf),
    Function("erf2", _Rule("erf2"), _Rule("erf2'")),  # erf(x / sqrt 2)
    Function("relu", _relu, _relu_slope, kinks=(0.0,), homogeneous=True,
             value_in_place=_relu_in_place, slope_in_place=_relu_slope_in_place),
    Function("leaky_relu", _Rule("leaky_relu"), _Rule("leaky_relu'"), kinks=(0.0,),
             homogeneous=True),
    Function("elu", _Rule("elu"), _Rule("elu'"), kinks=(0.0,)),
    Function("hardtanh", _Rule("hardtanh"), _Rule("hardtanh'"), kinks=(-1.0, 1.0)),
    Function("softplus", _Rule("softplus"), _sigmoid),
    Function("sigmoid", _sigmoid, _Rule("sigmoid'")),
    Function("gelu", _Rule("gelu"), _Rule("gelu'")),
    Function("silu", _Rule("silu"), _Rule("silu'")),
    Function("sin", _Rule("sin"), _Rule("cos")),
    Function("cos", _Rule("cos"), _Rule("-sin")),
    Function("arctan", _Rule("arctan"), _Rule("arctan'")),
)  # fmt: skip

FORMULA_FUNCTIONS = (  # for formulas, besides the named ones
    Function("exp", _exp, _exp),
    Function("abs", _abs, _Rule("sign"), kinks=(0.0,)),
    Function("sign", _Rule("sign"), _Rule("zero"), kinks=(0.0,), continuous=False),
    IDENTITY,
)

r"""Errors from the equations: an objective and its derivatives, by complex steps.

.. math:: df = \mathrm{Im}\,f(z + ih\,dz)/h

through the same code as the objective: exact to rounding, and with no second set of formulas. The
test error is the derivative of the training objective by the mass of fresh rows, the squared norm
of the readout that by the penalty, and the mean squared leave-one-out residual
:math:`E_j[(y_j - f_j)^2/\hat\pi_j^2]` that along loss weights :math:`1/\hat\pi_j^2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.theory.uniform.fit import Equations, quadratic_problem, special_shares
from onegrad.theory.uniform.pencil import Numbers, Parameter, Shares, State, evaluate
from onegrad.theory.uniform.solver import COMPLEX_STEP, LinearEquations, Solution

# of the linear response, relative, between updates of the shares, a few percent. Derivatives are
# good to 3e-5 at the second; where they change by more than `SETTLED`, near interpolation, they go
# on. With 1e-3 at first, what shares do seemed to double errors that they change by 8 % (power laws
# of 1 with n_0 < d/2)
RESPONSE_TOLERANCES: tuple[float, ...] = (1e-4, 1e-5, 1e-6, 1e-7)
SETTLED = 0.01
ROUGH_RESPONSE_TOLERANCES: tuple[float, ...] = (1e-4,)
MAX_RESPONSE_ITERATIONS = 200


@dataclass(frozen=True)
class Response:
    """The training objective, and its derivatives by parameters."""

    objective: float
    slopes: tuple[float, ...]
    slopes_at_shares: tuple[float, ...]  # where shares of the special variables do not respond
    changes: Floats  # (P, n) derivatives of (G, log a) as vectors
    log_a: tuple[Floats, ...]  # those of log a


def respond(
    eq: Equations,
    solution: Solution,
    parameters: Sequence[Parameter],
    start: Floats | None = None,
    tolerances: tuple[float, ...] = RESPONSE_TOLERANCES,
) -> Response:
    """Return the training objective and its derivatives at a fixed point.

    The shares of the special variables respond too: they are updated in between.

    start : changes with other nodes, or of a similar problem.
    tolerances : of the linear response, before and after each of these updates.
    """
    pencil, x, shares = eq.pencil, solution.x, solution.shares
    packing = solution.packing
    quadratic = quadratic_problem(eq, solution.state)
    h, weights = np.linalg.solve(quadratic.H, quadratic.sides.T).T, _weights_of_labels(eq)

    def moved(
        dx: Floats, parameter: Parameter | None = None, change: Shares | None = None
    ) -> State:
        """Return one pass at complex numbers whose imaginary parts are derivatives."""
        point = packing.unpack(_stepped(x, dx))
        at = shares if change is None else shares.map(_stepped, change)
        return evaluate(pencil, *point, at, _imaginary(parameter), solution.state)

    def left(dx: Floats, *source: Parameter | Shares | None) -> Floats:
        state = moved(dx, *source)  # type: ignore[arg-type]
        return np.asarray(_derivative(packing.pack(state.G, state.products, state.log_a)) - dx)

    equations = LinearEquations(lambda dx: -left(dx))
    xs = np.zeros((len(parameters), len(x))) if start is None else start
    moving: list[Shares | None] = [None] * len(parameters)
    slopes, slopes_at_shares = list[float](), list[float]()
    for tolerance in tolerances:
        sources = list(zip(parameters, moving, strict=True))
        residuals = np.array([left(dx, *at) for dx, at in zip(xs, sources, strict=True)])
        xs = equations.solve(xs, residuals, tolerance, MAX_RESPONSE_ITERATIONS)
        before, slopes, points = slopes, [], []
        for dx, source in zip(xs, sources, strict=True):
            state = moved(dx, *source)
            q = quadratic_problem(eq, state, _imaginary(source[0]))
            points.append((state, q))
            slope = _derivative(q.constants) - 2 * (_derivative(q.sides) * h).sum(1)
            slopes.append(float(weights @ (slope + ((h @ _derivative(q.H)) * h).sum(1))))
        slopes_at_shares = slopes_at_shares or slopes
        settled = before and np.allclose(slopes, before, rtol=SETTLED, atol=0.0)
        if settled or tolerance == tolerances[-1]:
            break
        for k, (state, q) in enumerate(points):
            moving[k] = special_shares(eq, state, q).map(_derivative)
    log_a = tuple(packing.unpack(dx)[-1] for dx in xs)
    train = weights @ (quadratic.constants - (quadratic.sides * h).sum(1))
    return Response(float(train), tuple(slopes), tuple(slopes_at_shares), xs, log_a)


def _weights_of_labels(eq: Equations) -> Floats:
    """Return one, and the squared error of a mean that was taken off on rows that know it not."""
    same = eq.step.laws.same_rows
    return np.array([1.0, 0.0 if same else eq.step.labels.fit.mean_error**2])


def _imaginary(parameter: Parameter | None) -> Parameter:
    """Return a parameter times the complex step."""
    if parameter is None:
        return Parameter()
    weights = parameter.weights
    return Parameter(
        test=1j * COMPLEX_STEP * parameter.test,
        ridge=1j * COMPLEX_STEP * parameter.ridge,
        weights=None if weights is None else [1j * COMPLEX_STEP * w for w in weights],
    )


def _stepped(value: Numbers, derivative: Numbers) -> Numbers:
    return value + 1j * COMPLEX_STEP * derivative


def _derivative(values: Numbers) -> Floats:
    return np.asarray(np.imag(values) / COMPLEX_STEP)

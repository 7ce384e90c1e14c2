r"""The direction that one step learns, :math:`\beta = X^\top res/n_0`."""

from typing import Any, NamedTuple

import numpy as np

from onegrad.functions.index_calculus import linear_part, mean_of
from onegrad.problem import Problem

MAX_CENTRED_MEAN = 1e-9  # an activation's mean below it is rounding
NumberOrArray = Any  # a number or an array over problems; None where there is none


class Direction(NamedTuple):
    r"""Squared length of beta, its cosine with the teacher's direction, and the residual's energy.

    .. math:: b^2 = c_{\star,1}^2 + \phi_0 E[res^2] \;(+\,c_1^2),\qquad \rho = c_{\star,1}/b,\qquad
        E[res^2] = E\sigma_\star^2 + \sigma_\varepsilon^2 \;(+\,E\sigma^2)

    with the terms in brackets for the full residual (:math:`Ef_0^2` of `output_energy` in place of
    :math:`E\sigma^2`), and rho = 0 where b is. The printed form has the residual y only.
    """

    b_squared: NumberOrArray
    rho: NumberOrArray
    residual_energy: NumberOrArray


def direction(problem: Problem) -> Direction:
    """Return the limit n, d, N to infinity of the learned direction.

    Holds for isotropic Gaussian inputs. With a teacher of several indices the cosine is that with
    its linear part.
    See Ba et al. 2022, Prop. 2; tests/theory/asymptotic/test_reference_values.py (task 3).
    """
    teacher, full = problem.teacher_function, problem.residual == "full"
    labels = teacher.second_moment + problem.noise**2
    output, c1 = full * output_energy(problem), full * problem.sigma.c[1]
    linear = linear_part(teacher)
    c1_star = float(linear[0] if len(linear) == 1 else np.linalg.norm(linear))
    c1_star *= 1 - problem.corrupted  # a replaced label does not know its row
    return Direction(
        *map(float, direction_from_moments(labels, output, c1_star, c1, problem.phi_step))
    )


def output_constants(problem: Problem, c0: float | None = None) -> tuple[float, ...]:
    r"""Return equally likely values of :math:`c_0\sum_ia_i`, the constant of the initial output.

    It is :math:`c_0\sqrt N` for equal readouts, else :math:`c_0` times a standard normal, which
    two nodes replace.

    c0 : mean output of a neuron; by default that of isotropic inputs.
    """
    c0 = float(problem.sigma.c[0]) if c0 is None else c0
    if abs(c0) < MAX_CENTRED_MEAN:
        return (0.0,)
    if problem.readout == "constant":
        return (c0 * float(np.sqrt(problem.N)),)
    return (c0, -c0)


def output_energy(problem: Problem) -> float:
    r"""Return what the initial output, of constant C, adds to the mean square of the residual.

    .. math:: \mathrm{Var}f_0 + E[C^2 - 2C\,c_{\star,0}],\qquad
        \mathrm{Var}f_0 = \mathrm{Var}\,\sigma + 2c_2^2\,(Eg)^2 N/d

    A readout :math:`g/\sqrt N` of nonzero mean adds up what all neurons share,
    :math:`c_2(|x|^2/d - 1)`.
    """
    shared = (problem.readout == "constant") * problem.sigma.c[2]
    variance = float(problem.sigma.variance + 2 * shared**2 / problem.psi)
    mean_label = mean_of(problem.teacher_function)
    squares = [c**2 - 2 * mean_label * c for c in output_constants(problem)]
    return variance + sum(squares) / len(squares)


def direction_from_moments(
    labels: NumberOrArray,  # mean square
    output: NumberOrArray,  # the same of the initial output in the residual
    c1_star: NumberOrArray,  # linear coefficient of the labels
    c1: NumberOrArray,  # the same of that output
    phi_step: NumberOrArray,
) -> Direction:
    """Return the direction, entry by entry, from moments of labels and initial output."""
    energy = labels + output
    b_squared = np.asarray(c1_star**2 + c1**2 + phi_step * energy)
    b = np.sqrt(b_squared)
    return Direction(b_squared, np.divide(c1_star, b, np.zeros(b.shape), where=b > 0), energy)

r"""A teacher of an index of variance one, for inputs with a spike.

Inputs have the covariance :math:`\Sigma = I + s\,vv^\top`, so that :math:`u = \beta_\star\cdot x`
has the variance :math:`q = 1 + s(v\cdot\beta_\star)^2`. The teacher is a function of
:math:`u/\sqrt q`; the labels are centred.
"""

import math

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.exceptions import InvalidInput
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, arguments_of, per_seed, seeds_of
from onegrad.functions.function import Function
from onegrad.networks import simulate
from onegrad.networks.one_network import network_of
from onegrad.problem import Problem

ORTHOGONAL = 1e-12  # a cosine of zero leaves the spike where it was drawn, which is not orthogonal


def unit_index_errors(cell: Cell, device: str) -> CellValues:
    """Return the test error of networks or of a baseline, (seeds, etas, ridges)."""
    problem = of_unit_index(cell.problem).replace(intercept=True)
    simulation = simulate(problem, seeds_of(cell), device=device, **arguments_of(cell))
    return {"test": simulation.test.values}


@per_seed
def index_correlation(cell: Cell, device: str, seed: int) -> CellValues:
    r"""Return how the index that the first gradient learns is related to the teacher's; (seeds,).

    correlation : of :math:`h\cdot x` with :math:`\beta_\star\cdot x`; cosine : of h with
    :math:`\beta_\star`, where :math:`h = X^\top y/n`.
    """
    problem = of_unit_index(cell.problem)
    network = network_of(problem, seed, get_ops(device))
    sampler = network.sampler
    h, beta = to_numpy(network.first.beta[0]), to_numpy(sampler.beta_star[0, :, 0])
    assert sampler.inputs.direction is not None
    v = to_numpy(sampler.inputs.direction[0, 0])
    return {
        "correlation": correlation(h, beta, spike_strength(problem), v),
        "cosine": correlation(h, beta, 0.0, v),
    }


def correlation(h: Floats, beta: Floats, s: float, v: Floats) -> float:
    """Return the correlation of h.x and beta.x for inputs of covariance I + s v v^T."""

    def covariance(a: Floats, b: Floats) -> float:
        return float(a @ b + s * (a @ v) * (v @ b))

    return covariance(h, beta) / math.sqrt(covariance(h, h) * covariance(beta, beta))


def of_unit_index(problem: Problem) -> Problem:
    """Return the problem whose teacher takes the index over its standard deviation.

    Its constant goes with the mean of the labels.
    """
    star = problem.sigma_star
    t = (1 + spike_strength(problem) * problem.input_overlap**2) ** -0.5
    teacher = Function(
        f"({problem.teacher}) of a unit index",
        lambda u: star(t * u),
        lambda u: t * star.derivative(t * u),
    )
    overlap = problem.input_overlap or ORTHOGONAL
    return problem.replace(teacher=teacher, labels="centred", input_overlap=overlap)


def spike_strength(problem: Problem) -> float:
    """Return s of inputs with the covariance I + s v v^T."""
    law = problem.input_law
    if law.name != "spiked" or law.parameter is None:
        raise InvalidInput("inputs", problem.inputs, "spiked(s)")
    return float(law.parameter)

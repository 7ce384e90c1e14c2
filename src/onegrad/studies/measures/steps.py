r"""Errors after steps of one length in several directions.

Beside the updates of a `Problem` there are two of rank one, :math:`a\otimes X^\top r` and
:math:`a\otimes\hat\beta` with :math:`\hat\beta` of least squares: the direction of a step without
the part of the gradient that is not of rank one. All have the Frobenius norm of the gradient.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.arrays import Array, Floats
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.networks.fits import fits
from onegrad.networks.network import Network, shared_features
from onegrad.networks.one_network import network_of
from onegrad.networks.sampling import RowSet, step_rows
from onegrad.networks.streams import Purpose

UPDATES = ("gradient", "preconditioned", "spectral")  # those of a problem
KINDS_OF_STEP = (*UPDATES, "rank-one", "least-squares")


@per_seed
def step_errors(cell: Cell, _device: str, seed: int) -> CellValues:
    """Return the test errors after each kind of step, (seeds, etas, ridges), and its direction.

    cosine_STEP : squared cosine of its first right singular vector with beta_star, (seeds,).
    """
    values: dict[str, Any] = {}
    for name, (network, step) in steps_of(cell, seed).items():
        _, _, Vt = np.linalg.svd(step[0], full_matrices=False)
        values[f"cosine_{name}"] = (Vt[0] @ network.sampler.beta_star[0, :, 0]) ** 2
        n_test = option_of(cell, "n_test", 20_000)
        values[f"test_{name}"] = risks(network, step, cell.etas, cell.ridges, n_test)
    return values


def steps_of(cell: Cell, seed: int) -> dict[str, tuple[Network, Array]]:
    """Return each step per unit of eta, (1, N, d), with the untrained network that takes it."""
    networks = {u: network_of(cell.problem.replace(update=u), seed) for u in UPDATES}
    network = networks["gradient"]
    steps = {name: (network, network.first_update) for name, network in networks.items()}
    (rows,) = network.sampler.blocks(step_rows(cell.problem, 0))
    norm = np.linalg.norm(network.first_update)
    least_squares = np.linalg.lstsq(rows.X[0], rows.y[0])[0]
    directions = {"rank-one": network.first.beta[0], "least-squares": least_squares}
    for name, direction in directions.items():
        step = np.outer(network.a[0], direction)
        steps[name] = network, norm / np.linalg.norm(step) * step[None]
    return steps


def risks(
    network: Network, step: Array, etas: Sequence[float], ridges: Sequence[float], n_test: int
) -> Floats:
    """Return the test errors at the weights W + eta step, (etas, ridges)."""
    sampler, problem = network.sampler, network.sampler.problem
    features = shared_features(sampler.ops, problem.sigma, network.W, step, tuple(etas))
    coefficients = [fit.coef for fit in fits(sampler, features, ridges)]
    squares = np.zeros((len(etas), len(ridges)))
    for block in sampler.blocks(RowSet(Purpose.TEST, n_test)):
        for e, F in enumerate(features.tiles(block)):
            miss = block.clean[..., None] - sampler.ops.read_out(F, coefficients[e])
            squares[e] += (miss[0] ** 2).sum(0)
    return squares / n_test + problem.noise**2

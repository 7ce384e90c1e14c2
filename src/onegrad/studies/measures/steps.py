r"""Errors after steps of one length in several directions, and after one giant step.

Beside the updates of a `Problem` there are two of rank one, :math:`a\otimes X^\top r` and
:math:`a\otimes\hat\beta` with :math:`\hat\beta` of least squares: the direction of a step without
the part of the gradient that is not of rank one. All have the Frobenius norm of the gradient.

The linear part of labels y over rows X is :math:`\bar y + x\cdot B`, :math:`B = X^\top y/n`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from onegrad.arrays import Array, get_ops, to_numpy
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.networks.fits import fits
from onegrad.networks.network import Network, shared_features
from onegrad.networks.one_network import network_of
from onegrad.networks.run import risks
from onegrad.networks.sampling import RowSet, linear_fit, step_rows
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
        sampler, sigma = network.sampler, cell.problem.sigma
        features = shared_features(sampler.ops, sigma, network.W, step, cell.etas)
        path = fits(sampler, features, cell.ridges)
        risk = risks(sampler, features, path, option_of(cell, "n_test", 20_000))[0]
        values[f"test_{name}"] = risk + cell.problem.noise**2
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


@per_seed
def giant_step(cell: Cell, device: str, seed: int) -> CellValues:
    r"""Return test errors (seeds, 1, ridges), and how the step lies to the indices.

    overlaps : share of the step's squared length along the unit vectors u of the indices' span that
    get least and most of it, the eigenvalues of :math:`U^\top G^\top GU/|G|_F^2`; (seeds, indices).

    With the option `own_part` test labels lose the linear part of the test rows instead of that of
    the training rows.
    """
    tests = RowSet(Purpose.TEST, option_of(cell, "n_test", 20_000))
    network = network_of(cell.problem, seed, get_ops(device))
    sampler, features = network.sampler, network.trained(cell.etas)
    star, step = sampler.beta_star[0], network.first_update[0]
    along = to_numpy(step @ star)
    overlaps = np.linalg.eigvalsh(along.T @ along) / float((step * step).sum())
    path = fits(sampler, features, cell.ridges)
    if option_of(cell, "own_part", False):
        own = linear_fit(replace(sampler, label_fit=None), tests, "residual-linear")
        sampler = replace(sampler, label_fit=own)
    test = to_numpy(risks(sampler, features, path, tests.count)[0]) + cell.problem.noise**2
    return {"test": test, "overlaps": overlaps}

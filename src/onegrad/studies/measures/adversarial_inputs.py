r"""Errors of trained networks when an adversary moves every input by a short vector.

For labels that stay as they are, the largest error over perturbations of length :math:`\epsilon` is

.. math:: E\max_{|\delta|\le\epsilon}(y - f(x+\delta))^2
    = E(|y - f(x)| + \epsilon|\nabla f(x)|)^2 + O(\epsilon^2)

with the remainder from the curvature of f alone, and
:math:`\nabla f(x) = W^\top(\hat a\odot\sigma'(Wx))`.
"""

import warnings
from itertools import chain

import numpy as np

from onegrad.arrays import Array, get_ops, namespace, to_numpy
from onegrad.exceptions import AssumptionWarning
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.functions.function import Function
from onegrad.networks.fits import fits
from onegrad.networks.network import layer_features
from onegrad.networks.one_network import network_of
from onegrad.networks.sampling import RowSet, SampleBlock
from onegrad.networks.streams import Purpose
from onegrad.problem import Problem
from onegrad.theory import learned_coefficients, predict

LENGTHS = tuple(k / 10 for k in range(1, 13))  # of perturbations that are tried out
DEFAULT_MOVED_ROWS = 20_000
CACHED_ROWS = 1000  # moved at a time: what is made of them stays in the cache
RIDGE_CHANGE = 1e-3  # relative, of a central difference: off by its square; not tuned


@per_seed
def adversarial(cell: Cell, device: str, seed: int) -> CellValues:
    r"""Return errors and gradients of networks on fresh rows without noise, (seeds, etas, ridges).

    risk : E r^2, r = y - f; slope : E|r| |grad f|; gradient : E|grad f|^2, all of which give the
    error under short perturbations, risk + 2 eps slope + eps^2 gradient; attacked : risk after one
    step of length LENGTHS along the gradient of the error, (..., lengths).
    """
    rows = RowSet(Purpose.TEST, option_of(cell, "n_test", DEFAULT_MOVED_ROWS))
    network = network_of(cell.problem, seed, get_ops(device, cell.dtype))
    sampler = network.sampler
    means = []
    for eta in cell.etas:
        W = network.trained_weights(eta)
        (fit,) = fits(sampler, layer_features(sampler.ops, cell.problem.sigma, W), cell.ridges)
        for j in range(len(cell.ridges)):
            a = sampler.ops.cast(fit.coef[0, :, j])
            parts = chain.from_iterable(b.parts(CACHED_ROWS) for b in sampler.blocks(rows))
            totals = sum(_sums(cell.problem.sigma, W[0], a, part) for part in parts)
            means.append(np.asarray(totals) / rows.count)
    table = np.reshape(means, (len(cell.etas), len(cell.ridges), -1))
    names = ("risk", "slope", "gradient")
    return {name: table[..., i] for i, name in enumerate(names)} | {"attacked": table[..., 3:]}


def _sums(sigma: Function, W: Array, a: Array, block: SampleBlock) -> np.ndarray:
    """Return the sums over rows of r^2, |r||grad f|, |grad f|^2, and of attacked r^2."""
    X, y = block.X[0], block.clean[0]
    P = X @ W.T
    r = y - sigma(P) @ a
    gradient = (sigma.derivative(P) * a) @ W  # (rows, d)
    length = (gradient * gradient).sum(-1) ** 0.5
    direction = gradient * (-namespace(r).sign(r) / length)[:, None]  # |r| grows along it
    shift = direction @ W.T  # of the neurons' inputs, per unit of length
    sums = [(r * r).sum(), (abs(r) * length).sum(), (length * length).sum()]
    sums += [((y - sigma(P + eps * shift) @ a) ** 2).sum() for eps in LENGTHS]
    return np.array([float(to_numpy(x)) for x in sums])


def gradient_theory(cell: Cell, _device: str) -> CellValues:
    """Return what the uniform theory says of E|grad f|^2, (etas, ridges); see `gradient_energy`."""
    problems = [[cell.problem.replace(eta=e, ridge=r) for r in cell.ridges] for e in cell.etas]
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        return {"gradient": np.array([[gradient_energy(p) for p in row] for row in problems])}


def gradient_energy(problem: Problem) -> float:
    r"""Return :math:`E|\nabla f|^2` of the trained network by the uniform theory.

    For Gaussian inputs it is :math:`\sum_kk\,E f_k^2` over the Hermite degrees of f. What is
    learned has the coefficients :math:`l_k`; the rest is linear, or the neurons' own, with
    :math:`|\hat a|^2 = \partial_\lambda L_{tr}`:

    .. math:: E|\nabla f|^2 = E f^2 + \sum_{k\ge2}(k-1)\,l_k^2
        + (E\sigma'^2 - \mathrm{Var}\,\sigma)\,\partial_\lambda L_{tr},\qquad
        E f^2 = \mathcal R - \sum_k\star_k^2 + 2\sum_k\star_kl_k

    Holds while neurons keep the Hermite coefficients that they started with: to a few per cent
    for steps below the maximal one. See tests/studies/test_adversaries_are_measured.py.
    """
    learned, sigma = learned_coefficients(problem), problem.sigma
    target, fitted = learned.target, learned.learned
    change = RIDGE_CHANGE * problem.ridge
    ridges = [problem.ridge - change, problem.ridge + change]
    below, above = predict(problem, ridge=ridges).train
    readout = float(above - below) / (2 * change)
    energy = float(predict(problem).risk) - target @ target + 2 * target @ fitted
    nonlinear = np.maximum(np.arange(len(fitted)) - 1, 0) @ fitted**2
    return float(energy + nonlinear + (sigma.slope_second_moment - sigma.variance) * readout)

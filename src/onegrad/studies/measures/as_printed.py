"""Formulas of Moniri et al. 2024 as we have them in print, for studies that show what is wrong.

`onegrad.theory` and `onegrad.networks.models` have them corrected; docs/theory.md lists the
differences.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onegrad.arrays import Array
from onegrad.networks.models import operator_norm, spikes_of_step
from onegrad.networks.network import Network
from onegrad.networks.sampling import SampleBlock, Sampler, step_rows
from onegrad.problem import Problem
from onegrad.theory.asymptotic import random_features
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.asymptotic.staircase import all_degrees, spike_counts, staircase_drops


def staircase_errors(problems: Sequence[Problem]) -> random_features.Pair:
    r"""Return the errors as printed, whose drop of the test error is wrong.

    The residual is y, W_0 spherical, the update rank one, every degree up to the number of spikes
    is learned, and the test drops are

    .. math:: \frac{c_{\star,1}^4}{b^2}(-m_2')
        \;+\; \frac{4 c_{\star,1}^4 c_{\star,2}^2}{3 b^4 m_1^2}(-m_1') \quad (\ell = 2)

    with :math:`m_i = \frac\phi\psi M_i`, where the first lacks the factor
    :math:`\phi/(\psi m_1^2)` and the second :math:`\phi/\psi`. For more spikes they are NaN.
    """
    count, _ = spike_counts([p.alpha for p in problems])
    s = Scalars.of([p.replace(residual="labels", weights="sphere") for p in problems])
    t, r, start = s.traces, s.psi / s.phi, random_features.untrained(s)
    rank_one = replace(s, slope_second_moment=s.c1**2)
    train = start.train - staircase_drops(rank_one, all_degrees(count)).train
    drop = np.where(count >= 1, s.c_star[:, 1] ** 2 * s.direction.rho**2 * -t.M2_prime / r, 0.0)
    quadratic = 4 / 3 * s.c_star[:, 2] ** 2 * s.direction.rho**4 * -t.M1_prime * r / t.M1**2
    drop += np.where(count >= 2, quadratic, 0.0)
    return random_features.Pair(train, np.where(count <= 2, start.test - drop, np.nan))


def label_direction(sampler: Sampler) -> Array:
    r"""Return :math:`\beta_y = X^\top y/n` over the rows of the step, (B, d)."""
    p, ops = sampler.problem, sampler.ops
    beta = ops.zeros(sampler.stack_size, p.d)
    for block in sampler.blocks(step_rows(p, 0)):
        ops.add_weighted_rows(beta, block.y / p.rows_of_step, block.X)
    return beta


def spiked_features(network: Network, rows: SampleBlock, eta: float) -> Array:
    r"""Return the spiked features of one step as printed, (B, rows, N).

    .. math:: F_\ell = F_0 + \sum_{k=1}^{\ell} c_k(c_1\eta)^k\,(\tilde X\beta_y)^{\circ k}
        (a^{\circ k})^\top
    """
    p, a = network.sampler.problem, network.a
    c = [float(x) for x in p.sigma.c]
    (F,) = network.untrained().tiles(rows)
    t = (rows.X @ label_direction(network.sampler)[..., None])[..., 0]
    for k in range(1, spikes_of_step(p.n, eta) + 1):
        F = F + c[k] * (c[1] * eta) ** k * (t**k)[..., None] * (a**k)[:, None, :]
    return F


def distance_to_spiked(network: Network, rows: SampleBlock, eta: float) -> float:
    r"""Return :math:`\|F - F_\ell\|_{op}/\sqrt n` of a single network, with features as printed."""
    (F,) = network.trained((eta,)).tiles(rows)
    F_l = spiked_features(network, rows, eta)
    return operator_norm((F - F_l)[0]) / math.sqrt(rows.X.shape[1])

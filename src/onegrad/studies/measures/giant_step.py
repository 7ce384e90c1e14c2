r"""One giant step on labels of several indices: what it finds of them, and the test error.

The linear part of labels y over rows X is :math:`\bar y + x\cdot B`, :math:`B = X^\top y/n`.
"""

from dataclasses import replace

import numpy as np

from onegrad.arrays import get_ops, to_numpy
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.networks.fits import fits
from onegrad.networks.one_network import network_of
from onegrad.networks.run import risks
from onegrad.networks.sampling import RowSet, linear_fit
from onegrad.networks.streams import Purpose


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

r"""One giant step on labels without their linear part: several data sets for each network.

The linear part of labels y over rows X is :math:`\bar y + x\cdot B`, :math:`B = X^\top y/n`. Four
protocols differ in the residual of the step, y or :math:`y - f_0/\sqrt N`, and in the rows whose
linear part is taken off the test labels: those of training, or the test rows themselves.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onegrad.arrays import Ops, get_ops
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import CellValues, option_of, per_seed
from onegrad.networks.fits import fits
from onegrad.networks.network import Network
from onegrad.networks.sampling import LinearFit, RowSet, Sampler, linear_fit
from onegrad.networks.streams import Purpose
from onegrad.problem import Problem

ONCE = {"plain": "plain", "least_squares": "residual-least-squares"}  # on the first data set only
_RESIDUALS = {  # protocols by the residual of the step: training rows' linear part, test rows' own
    "labels": ("own", "test_rows"),
    "mean-field": ("output", "notebook"),
}
PROTOCOLS = tuple(name for names in _RESIDUALS.values() for name in names)


@per_seed
def giant_step(cell: Cell, device: str, seed: int) -> CellValues:
    """Return test errors of one network per seed and of several data sets each.

    own, output, test_rows, notebook : (seeds, 1, 1, data sets), the linear part off by moments and
    the residual y; the residual y - f_0/sqrt(N); test labels without their own rows' linear part;
    both. plain, least_squares : (seeds, 1, 1), labels as they are, and without the fit of least
    squares, on the first data set.
    """
    n_test, data_sets = option_of(cell, "n_test", 100_000), option_of(cell, "data_sets", 1)
    problem, ops = cell.problem.replace(eta=cell.etas[0], ridge=cell.ridges[0]), get_ops(device)
    errors = [errors_on_data_set(problem, seed, k, n_test, ops) for k in range(data_sets)]
    by_data_set = {name: np.array([[[e[name] for e in errors]]]) for name in PROTOCOLS}
    return by_data_set | {name: np.array([[errors[0][name]]]) for name in ONCE}


def errors_on_data_set(
    problem: Problem, seed: int, data_set: int, n_test: int, ops: Ops
) -> dict[str, float]:
    """Return the test error of every protocol on one data set."""
    tests = RowSet(Purpose.TEST, n_test)
    errors: dict[str, float] = {}

    def sampler_of(labels: str, residual: str) -> Sampler:
        p = problem.replace(ridge_rows="same", labels=labels, residual=residual)
        on_device = ops.executor.prefers_to_draw
        return Sampler.of(p, (seed,), ops, device_random=on_device, data_set=data_set)

    own = linear_fit(sampler_of("plain", "labels"), tests, "residual-linear")
    for residual, names in _RESIDUALS.items():
        sampler = sampler_of("residual-linear", residual)
        values = errors_on_tests(sampler, tests, [sampler.label_fit, own])
        errors.update(zip(names, values, strict=True))
    if data_set == 0:
        for name, labels in ONCE.items():
            sampler = sampler_of(labels, "labels")
            (errors[name],) = errors_on_tests(sampler, tests, [sampler.label_fit])
    return errors


def errors_on_tests(
    sampler: Sampler, tests: RowSet, taken_off: Sequence[LinearFit | None]
) -> list[float]:
    """Train the network; return what it misses of test labels less each of some linear fits."""
    p, totals = sampler.problem, [0.0] * len(taken_off)
    features = Network.of(sampler).trained((p.step,))
    (fit,) = fits(sampler, features, (p.ridge,))
    # labels as they are: several linear parts are taken off below, with one pass over the rows
    for block in replace(sampler, label_fit=None).blocks(tests):
        (F,) = features.tiles(block)
        miss = block.y - sampler.ops.read_out(F, fit.coef)[..., 0]
        for i, part in enumerate(taken_off):
            rest = miss if part is None else miss - part(block.X)
            totals[i] += float((rest * rest).sum()) / tests.count
    return totals

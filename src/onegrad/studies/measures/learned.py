"""Measures of learned networks: errors on real inputs, outliers of the weights, Hermite degrees."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import (
    CellValues,
    arguments_of,
    option_of,
    per_seed,
    seeds_of,
)
from onegrad.networks import predict_fresh_rows, simulate
from onegrad.networks.network import Network
from onegrad.networks.sampling import Sampler
from onegrad.studies.measures.data_sets import real_inputs

SINGULAR_VALUES = 12  # that are returned
MAX_LEARNED_DEGREE = 6
DEFAULT_TEST_ROWS = 8000


def real_inputs_errors(cell: Cell, _device: str) -> CellValues:
    """Return the errors of networks on rows of a data set, labelled by the problem's teacher."""
    options = arguments_of(cell)
    X = real_inputs(str(options.pop("data")), cell.problem.d, bool(options.pop("whiten", False)))
    simulation = simulate(cell.problem, seeds_of(cell), rows=X, dtype=cell.dtype, **options)
    return {q: getattr(simulation, q).values for q in ("train", "test", "risk", "overlap")}


@per_seed
def weights(cell: Cell, _device: str, seed: int) -> CellValues:
    """Return the largest squared singular values of the weights after all steps.

    after : (seeds, etas, 1, SINGULAR_VALUES); before : the largest of the untrained weights;
    aligned : squared length of the teacher's part of the corresponding right singular vectors.
    """
    sampler = Sampler.of(cell.problem, (seed,), get_ops())
    network = Network.of(sampler)
    beta_star = to_numpy(sampler.beta_star[0])
    before = _largest(to_numpy(network.W[0]), 1)[0][0]
    after, aligned = [], []
    for eta in cell.etas:
        W = np.asarray(network.trained_weights(eta)[0])
        values, vectors = _largest(W, SINGULAR_VALUES)
        after.append(values)
        aligned.append(((beta_star.T @ W.T @ vectors) ** 2).sum(0) / values)  # v = W^T u / s
    return {
        "after": np.array(after)[:, None],
        "before": np.full((len(cell.etas), 1), before),
        "aligned": np.array(aligned)[:, None],
    }


def _largest(W: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest squared singular values, in decreasing order, and their left vectors."""
    last = len(W) - 1
    values, vectors = scipy.linalg.eigh(W @ W.T, subset_by_index=[last + 1 - count, last])
    return values[::-1], vectors[:, ::-1]


@per_seed
def learned(cell: Cell, _device: str, seed: int) -> CellValues:
    """Return the risk and the share of each Hermite degree that was learned, (seeds, etas, 1, …).

    share : E[f_hat h_k]/E[sigma_star h_k], k = 1, ..., 6; NaN where the teacher has no such degree.
    """
    n_test = option_of(cell, "n_test", DEFAULT_TEST_ROWS)
    c = cell.problem.sigma_star.c[1 : MAX_LEARNED_DEGREE + 1]
    present = np.abs(c) > 1e-9
    exact = c * np.sqrt([math.factorial(k) for k in range(1, MAX_LEARNED_DEGREE + 1)])
    risk, share = [], []
    for eta in cell.etas:
        problem = cell.problem.replace(eta=eta, ridge=cell.ridges[0])
        fresh = predict_fresh_rows(problem, seed, n_test)
        learned = fresh.learned_coefficients(MAX_LEARNED_DEGREE)[1:]
        share.append(np.where(present, learned / np.where(present, exact, 1.0), np.nan))
        risk.append(np.mean((fresh.labels - fresh.predictions) ** 2))
    return {"risk": np.array(risk)[:, None], "share": np.array(share)[:, None]}

"""Measures that the open questions need: other inputs, more steps, more layers, full training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.experiments.cell import Cell
from onegrad.experiments.measure import Values, arguments_of, seeds_of
from onegrad.networks import predict_fresh_rows, simulate
from onegrad.networks.network import Network
from onegrad.networks.sampling import Sampler
from onegrad.studies.measures.inputs import real_inputs

TOP = 12  # singular values that are kept
DEGREE = 6
TESTS = 8000  # rows that measure what was learned


def real_inputs_errors(cell: Cell, device: str) -> Values:
    """Train and test error on rows of a data set, whose labels are the problem's teacher's."""
    options = arguments_of(cell)
    X = real_inputs(str(options.pop("data")), cell.problem.d, bool(options.pop("whiten", False)))
    found = simulate(cell.problem, seeds_of(cell), rows=X, dtype=cell.dtype, **options)
    return {q: getattr(found, q).values for q in ("train", "test", "risk", "overlap")}


def weights(cell: Cell, device: str) -> Values:
    """Largest squared singular values of the weights after all steps, (seeds, etas, 1, TOP).

    before : the largest of the untrained weights; aligned : squared length of the teacher's part of
    the corresponding right singular vectors.
    """
    found = [_weights(cell, seed) for seed in seeds_of(cell)]
    after, before, aligned = (np.stack(x)[:, :, None] for x in zip(*found, strict=True))
    return {"after": after, "before": before, "aligned": aligned}


def _weights(cell: Cell, seed: int) -> tuple[Floats, Floats, Floats]:
    sampler = Sampler.of(cell.problem, (seed,), get_ops())
    network = Network.of(sampler)
    star = to_numpy(sampler.beta_star[0])
    first = _top(to_numpy(network.W[0]), 1)[0][0]
    after, aligned = [], []
    for eta in cell.etas:
        W = np.asarray(network.trained_weights(eta)[0])
        values, left = _top(W, TOP)
        after.append(values)
        aligned.append(((star.T @ W.T @ left) ** 2).sum(0) / values)  # v = W^T u / s
    return np.array(after), np.full(len(cell.etas), first), np.array(aligned)


def _top(W: Floats, count: int) -> tuple[Floats, Floats]:
    """The largest squared singular values, in decreasing order, and their left vectors."""
    last = len(W) - 1
    values, left = scipy.linalg.eigh(W @ W.T, subset_by_index=[last + 1 - count, last])
    return values[::-1], left[:, ::-1]


def learned(cell: Cell, device: str) -> Values:
    """Test error and the share of each Hermite degree that was learned, (seeds, etas, 1, …).

    share : E[f_hat h_k]/E[sigma_star h_k], k = 1, ..., 6; NaN where the teacher has no such degree.
    """
    n_test = int(dict(cell.options).get("n_test", TESTS))
    c = cell.problem.sigma_star.c[1 : DEGREE + 1]
    present = np.abs(c) > 1e-9
    exact = c * np.sqrt([math.factorial(k) for k in range(1, DEGREE + 1)])
    risk, share = [], []
    for seed in seeds_of(cell):
        for eta in cell.etas:
            problem = cell.problem.replace(eta=eta, ridge=cell.ridges[0])
            fresh = predict_fresh_rows(problem, seed, n_test)
            learned = fresh.learned_coefficients(DEGREE)[1:]
            share.append(np.where(present, learned / np.where(present, exact, 1.0), np.nan))
            risk.append(np.mean((fresh.labels - fresh.predictions) ** 2))
    shape = (cell.seeds, len(cell.etas), 1)
    return {"risk": np.reshape(risk, shape), "share": np.reshape(share, (*shape, DEGREE))}


def reused_batch(cell: Cell, device: str) -> Values:
    r"""Two ReLU neurons, readout :math:`\pm1/\sqrt2`, teacher tanh(u_1 + He_3(u_2)).

    error : half the mean square over fresh inputs after 0, 1, ... steps; overlap : of the neurons
    with the second direction, each with its sign. The batch is reused where the problem says so;
    `rate` is per row over d, as in Dandi et al. 2024.
    """
    options = dict(cell.options)
    steps, rate = int(options.get("steps", 6)), float(options.get("rate", 0.2))
    found = [_two_neurons(cell, seed, steps, rate) for seed in seeds_of(cell)]
    error, overlap = (np.array(x)[:, None, None] for x in zip(*found, strict=True))
    return {"error": error, "overlap": overlap}


def _two_neurons(cell: Cell, seed: int, steps: int, rate: float) -> tuple[Floats, Floats]:
    p = cell.problem
    rng = np.random.default_rng((seed, p.n, p.d))
    W = rng.standard_normal((2, p.d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    a = np.array([1.0, -1.0]) / math.sqrt(2)
    Z = rng.standard_normal((500_000, 4))
    errors, overlaps = [], []
    for step in range(steps + 1):
        if step == 0 or p.batches == "fresh":
            X = rng.standard_normal((p.n, p.d), dtype=np.float32)
            y = _teacher(X[:, 0], X[:, 1])
        errors.append(_error_of_two(W, a, Z))
        overlaps.append(float(-(W[:, 1] * np.sign(a)).mean()))
        P = X @ W.T.astype(np.float32)
        r = (y - np.maximum(P, 0) @ a)[:, None] * (P > 0) * a / p.n
        W = W + rate * p.n / p.d * (r.T.astype(np.float32) @ X)
    return np.array(errors), np.array(overlaps)


def _teacher(u1: Any, u2: Any) -> Floats:
    return np.asarray(np.tanh(u1 + u2**3 - 3 * u2))


def _error_of_two(W: Floats, a: Floats, Z: Floats) -> float:
    """Half the mean square over fresh inputs, through the four numbers that it depends on."""
    directions = np.vstack([np.eye(2, W.shape[1]), W])
    V = Z @ np.linalg.cholesky(directions @ directions.T + 1e-12 * np.eye(4)).T
    miss = _teacher(V[:, 0], V[:, 1]) - np.maximum(V[:, 2:], 0) @ a
    return 0.5 * float(miss @ miss) / len(Z)

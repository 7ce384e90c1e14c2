"""One real network beside the theory: its eigenvalues and its neurons, quick enough to follow."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.io.json_values import json_values
from onegrad.networks.arrangement import peak_bytes
from onegrad.networks.cost import flops
from onegrad.networks.network import Network
from onegrad.networks.neurons import after_step
from onegrad.networks.sampling import Sampler
from onegrad.problem import Problem

MOST_FLOPS, MOST_BYTES = 3e11, 1.5e9  # a few seconds
SHOWN = 400  # neurons


class FirstLayer(NamedTuple):
    """What does not depend on the step's size: the network, its update G, X W^T and X G^T."""

    network: Network
    G: Floats
    XW: Floats
    XG: Floats


def one_network(problem: Problem, seed: int = 0) -> dict[str, Any]:
    """Eigenvalues of F F^T/n but for those that are always zero, and the first SHOWN neurons."""
    if refused := too_large(problem):
        return {"refused": refused}
    began = time.perf_counter()
    layer, eta = first_layer(problem.replace(eta=0.0), seed), problem.step
    F = problem.sigma(layer.XW + eta * layer.XG)
    gram = F.T @ F if problem.n >= problem.N else F @ F.T
    values = np.maximum(np.linalg.eigvalsh(gram / problem.n)[::-1], 0.0)
    neurons = after_step(layer.network, layer.G, eta)
    answer = {
        "seed": seed,
        "eigenvalues": _rounded(values),
        "neurons": {
            name: _rounded(getattr(neurons, name)[:SHOWN])
            for name in ("readout", "before", "after")
        },
        # of all neurons, not of those that are drawn
        "correlation": _correlation(neurons.readout, neurons.after),
        "overlap": float(np.sqrt(np.mean(neurons.after**2))),
        "overlap_before": float(np.sqrt(np.mean(neurons.before**2))),
        "seconds": time.perf_counter() - began,
    }
    return dict(json_values(answer))


def too_large(problem: Problem) -> str | None:
    """Why a network of this size is not trained at once; None where it is."""
    products = 8 * problem.n * problem.d * problem.N  # X W^T and X G^T
    held = peak_bytes(problem, 1, get_ops()) + 8 * (3 * problem.N + problem.d) * problem.n
    if flops(problem, 1) + products > MOST_FLOPS or held > MOST_BYTES:
        return (
            f"a network with n = {problem.n}, d = {problem.d}, N = {problem.N} takes too long to "
            "follow the sliders; Simulate trains it"
        )
    return None


@lru_cache(maxsize=1)
def first_layer(untrained: Problem, seed: int) -> FirstLayer:
    """The first layer of the network of this seed; remembered, as the step leaves it alone."""
    network = Network.of(Sampler(untrained, (seed,), get_ops()))
    X = to_numpy(network.sampler.whole().X)[0]
    G = to_numpy(network.first_update)[0]
    return FirstLayer(network, G, X @ to_numpy(network.W)[0].T, X @ G.T)


def _correlation(readout: Floats, overlap: Floats) -> float | None:
    """Of readout and overlap over the neurons; None where the readout is constant."""
    if np.ptp(readout) == 0.0 or np.ptp(overlap) == 0.0:
        return None
    return float(np.corrcoef(readout, overlap)[0, 1])


def _rounded(values: Floats) -> list[float]:
    """Five digits: more than a picture shows, and half the bytes."""
    return [float(f"{value:.5g}") for value in values]

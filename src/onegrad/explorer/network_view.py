"""One real network beside the theory: its eigenvalues and neurons, quick enough for a slider."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.io.json_values import json_values
from onegrad.networks.cost import first_step_bytes, first_step_flops
from onegrad.networks.one_network import FirstStep
from onegrad.problem import Problem

MAX_VIEW_FLOPS, MAX_VIEW_BYTES = 3e11, 1.5e9  # a few seconds
MAX_NEURONS = 400  # that are drawn


def network_answer(problem: Problem, seed: int = 0) -> dict[str, Any]:
    """Return the eigenvalues of F F^T/n that may differ from zero, and the first neurons."""
    if refusal := refusal_of_size(problem):
        return {"refused": refusal}
    began = time.perf_counter()
    first_step = _first_step(problem.replace(eta=0.0), seed)
    neurons = first_step.neurons(problem.step)
    answer = {
        "seed": seed,
        "eigenvalues": _rounded(first_step.eigenvalues(problem.step)),
        "neurons": {
            name: _rounded(getattr(neurons, name)[:MAX_NEURONS])
            for name in ("readout", "before", "after")
        },
        # of all neurons, not only of those that are drawn
        "correlation": _correlation(neurons.readout, neurons.after),
        "overlap": float(np.sqrt(np.mean(neurons.after**2))),
        "overlap_before": float(np.sqrt(np.mean(neurons.before**2))),
        "seconds": time.perf_counter() - began,
    }
    return dict(json_values(answer))


def refusal_of_size(problem: Problem) -> str | None:
    """Return why a network of this size is not trained while a slider moves; None if it is."""
    if first_step_flops(problem) > MAX_VIEW_FLOPS or first_step_bytes(problem) > MAX_VIEW_BYTES:
        return (
            f"a network with n = {problem.n}, d = {problem.d}, N = {problem.N} takes too long to "
            "follow the sliders; Simulate trains it"
        )
    return None


@lru_cache(maxsize=1)
def _first_step(untrained: Problem, seed: int) -> FirstStep:
    """Return the first step of the network of this seed; remembered while sliders move its size."""
    return FirstStep.of(untrained, seed)


def _correlation(readout: Floats, overlap: Floats) -> float | None:
    """Return the correlation over the neurons; None if one of the two is constant."""
    if np.ptp(readout) == 0.0 or np.ptp(overlap) == 0.0:
        return None
    return float(np.corrcoef(readout, overlap)[0, 1])


def _rounded(values: Floats) -> list[float]:
    """Return the values with five digits: more than a picture shows, and half the bytes."""
    return [float(f"{value:.5g}") for value in values]

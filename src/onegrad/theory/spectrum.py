r"""Eigenvalues of :math:`F F^\top/n`: the bulk of the untrained features and the outliers."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from onegrad.errors import InvalidInput
from onegrad.functions.hermite import Floats
from onegrad.problem import Problem
from onegrad.theory.asymptotic import assumptions
from onegrad.theory.asymptotic.bulk import Bulk
from onegrad.theory.asymptotic.outliers import outliers, perturbation

POINTS = 400  # of the ready density grid
SHOWN = 6  # degrees whose alignments are reported


@dataclass(frozen=True)
class Spike:
    """An eigenvalue outside the bulk and what its eigenvector looks like.

    eigenvalue : of F F^T/n; singular_value : of F, sqrt(n eigenvalue).
    alignment : squared cosine with He_k(u) for each degree k, u the learned direction's index.
    """

    eigenvalue: float
    singular_value: float
    alignment: dict[int, float]


@dataclass(frozen=True, repr=False)
class Spectrum:
    """The limiting law of the eigenvalues of F F^T/n and its outliers, largest first.

    edge, lower_edge : ends of the bulk; lower_edge is None where it touches zero.
    atom : mass at zero.
    x, rho : a ready grid of the density, without the atom.
    """

    problem: Problem
    method: str
    edge: float
    lower_edge: float | None
    atom: float
    x: Floats
    rho: Floats
    spikes: list[Spike]
    density: Callable[[Floats], Floats]

    def __repr__(self) -> str:
        spikes = ", ".join(f"{s.eigenvalue:.4g}" for s in self.spikes) or "none"
        return (
            f"Spectrum({self.method}: edge={self.edge:.6g}, atom={self.atom:.4g}, spikes: {spikes})"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "edge": self.edge,
            "lower_edge": self.lower_edge,
            "atom": self.atom,
            "spikes": [
                {
                    "eigenvalue": s.eigenvalue,
                    "singular_value": s.singular_value,
                    "alignment": {str(k): v for k, v in s.alignment.items()},
                }
                for s in self.spikes
            ],
            "density": {"x": self.x.tolist(), "rho": self.rho.tolist()},
            "method": self.method,
            "problem": self.problem.to_dict(),
        }


def spectrum(problem: Problem, *, method: str = "asymptotic") -> Spectrum:
    r"""Bulk density, edges and outliers of :math:`F F^\top/n` after the step.

    The bulk is that of the untrained features; outliers stand at the actual strength of their
    spikes, those of the untrained features included (an even part of the activation has some).

    Parameters
    ----------
    method : "asymptotic" (bulk and spikes as above) or "uniform" (the fixed point that also moves
        the bulk with the step).

    Holds for isotropic Gaussian inputs, Gaussian readout, n, d, N proportional.
    See Moniri et al. 2024, Theorem 3.3; onegrad.theory.asymptotic.bulk and outliers;
    tests/theory/test_reference_values.py (task 8), test_bulk_is_a_probability_law.py.
    """
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {method!r:.60}")
    return METHODS[method](problem)


def _asymptotic(problem: Problem) -> Spectrum:
    assumptions.need_linear_part([problem], "spectrum")
    assumptions.warn_outside([problem], "spectrum", trained=True)
    bulk, x, rho = _drawn(bulk_of(problem))
    spikes = [
        Spike(x, math.sqrt(problem.n * x), dict(enumerate(cosines[:SHOWN].tolist(), start=1)))
        for x, cosines in outliers(bulk, perturbation(problem))
    ]
    lower_edge = bulk.support[0][0]
    return Spectrum(
        problem=problem,
        method="asymptotic",
        edge=bulk.edge,
        lower_edge=lower_edge if lower_edge > 0 else None,
        atom=bulk.atom,
        x=x,
        rho=rho,
        spikes=spikes,
        density=bulk.density,
    )


@lru_cache(maxsize=256)
def _drawn(bulk: Bulk) -> tuple[Bulk, Floats, Floats]:
    """The bulk with its grid and density, remembered: the step moves spikes only."""
    x = bulk.grid(POINTS)
    rho = bulk.density(x)
    x.flags.writeable = rho.flags.writeable = False
    return bulk, x, rho


def bulk_of(problem: Problem) -> Bulk:
    """The law of the untrained features' eigenvalues."""
    c1, b = float(problem.sigma.c[1]), problem.sigma.nonlinear_energy
    return Bulk(a=c1**2, b=b, psi=problem.psi, r=problem.n / problem.N)


def _uniform(problem: Problem) -> Spectrum:
    uniform = importlib.import_module("onegrad.theory.uniform")
    found: Spectrum = uniform.spectrum(problem)
    return found


METHODS: dict[str, Callable[[Problem], Spectrum]] = {
    "asymptotic": _asymptotic,
    "uniform": _uniform,
}

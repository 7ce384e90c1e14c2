r"""Eigenvalues of :math:`F F^\top/n`: the bulk of the untrained features and the outliers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onegrad.errors import OutOfScope
from onegrad.hermite import Floats
from onegrad.problem import Problem


@dataclass(frozen=True)
class Spike:
    """An eigenvalue outside the bulk and what its eigenvector looks like.

    eigenvalue : of F F^T/n; singular_value : of F, sqrt(n eigenvalue).
    alignment : squared cosine with He_k(u) for each degree k, u the learned direction's index.
    """

    eigenvalue: float
    singular_value: float
    alignment: dict[int, float]


@dataclass(frozen=True)
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
    """Bulk density, edges and outliers of the features after the step."""
    raise OutOfScope("spectrum: being written")

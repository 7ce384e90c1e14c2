"""What a run costs: operations and numbers, and from the rates of this machine the seconds."""

from __future__ import annotations

from dataclasses import dataclass

from onegrad.networks.options import Options
from onegrad.networks.replicate import Group
from onegrad.problem import Problem
from onegrad.ridge.shifted import FEW


@dataclass(frozen=True)
class Work:
    r"""One replicate at E step sizes and R penalties, with m = min(n, N), n' test rows.

    products : :math:`4n_sdN` for the gradient, :math:`2(n+n')dN` for the features, twice that for
        several step sizes; further steps take a gradient each.
    gram : :math:`E\,nNm`.
    factors : :math:`E\,Rm^3/3`, or :math:`4Em^3/3` for more than four penalties.
    normals : random numbers, :math:`(n_s+n+n'+N)d`; ridge on the rows of the step draws them again.
    activations : :math:`(n_s + E(n+n'))N`.
    """

    products: float
    gram: float
    factors: float
    normals: float
    activations: float

    @property
    def flops(self) -> float:
        return self.products + self.gram + self.factors

    @property
    def bytes(self) -> float:
        """Float64 numbers that are made and read once: rows, and features."""
        return 16 * (self.normals + self.activations)


def work(group: Group, options: Options | None = None) -> Work:
    """Of one replicate of a network; other models cost about the same or less."""
    p, o = group.problem, options or Options()
    n, d, N, n_step, tests = p.n, p.d, p.N, p.rows_of_step, o.tests(p.n)
    E, R, m = len(group.etas) if o.trained else 1, len(group.ridges), min(p.n, p.N)
    gradients = (1 + (p.steps - 1) * E) * any(group.etas) if o.trained else 0
    maps = 1 if E == 1 else 2 if p.steps == 1 else E
    full = 2 if p.residual == "full" else 1
    return Work(
        products=gradients * 4.0 * n_step * d * N + maps * 2.0 * (n + tests) * d * N,
        gram=float(E * n * N * m),
        factors=E * min(R, FEW) * m**3 / 3,
        normals=float((gradients * n_step + n + tests + N) * d),
        activations=float((gradients * full * n_step + E * (n + tests)) * N),
    )


def flops(problem: Problem, networks: int) -> float:
    """Operations of one replicate at so many step sizes and one ridge, those of sigma included."""
    w = work(Group(problem, tuple(range(1, networks + 1)), (problem.ridge,)))
    return w.flops + 20 * w.activations + 20 * w.normals

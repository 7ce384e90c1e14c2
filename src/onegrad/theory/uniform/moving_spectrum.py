r"""The whole spectrum of :math:`FF^\top/n` after a step of any size, whose bulk moves with it.

The density of the bulk is
:math:`\rho(x) = -\frac1\pi\mathrm{Im}\,\frac{1}{x}\sum_k\pi_k` at
:math:`\lambda = -(x + i0)`, since :math:`\sum_k\pi_k/\lambda` is the normalised trace of
:math:`(FF^\top/n + \lambda)^{-1}`.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, NotConverged
from onegrad.problem import Problem
from onegrad.theory.spectral_law import MAX_ALIGNMENT_DEGREE, Spectrum, make_spikes
from onegrad.theory.uniform.accuracy import slope_kurtosis
from onegrad.theory.uniform.concerns import require_covered
from onegrad.theory.uniform.discretisation import Equations
from onegrad.theory.uniform.fixed_point import Solution, solve_fixed_point
from onegrad.theory.uniform.gauss_nodes import Numbers
from onegrad.theory.uniform.preparation import NodeCounts, prepare_problem
from onegrad.theory.uniform.real_branch import (
    RealBranch,
    find_outliers,
    mean_squared_feature,
    spectral_equations,
)

DENSITY_NODES = NodeCounts(6, 10)  # the density is an average: few nodes
DENSITY_POINTS = 120
DENSITY_TOLERANCE = 1e-5  # of a Newton step; the next would be its square
RELATIVE_HEIGHT = 1e-6  # imaginary part over x
MAX_SLOPE_KURTOSIS = 5.0  # of sigma': 1.6 for tanh, 2 for ReLU, 8 and more for cubics
MIN_SCALED_DENSITY = 1e-3  # density times the edge that is not taken for zero


def uniform_spectrum(problem: Problem) -> Spectrum:
    """Return bulk density, edges and outliers at the actual strength of the step.

    Holds for one step on Gaussian inputs, any readout and residual of the uniform theory. Outliers
    are those of the mean part; alignments are squared cosines with He_k of the learned index.
    See docs/uniform.md; tests/theory/uniform/test_spectrum_matches_simulation.py.
    """
    require_covered(problem)
    warnings: tuple[AssumptionWarning, ...] = ()
    if slope_kurtosis(problem.sigma) > MAX_SLOPE_KURTOSIS:
        text = (
            f"uniform spectrum: heavy-tailed activation {problem.sigma.name!r:.40}: single samples "
            "rule the largest eigenvalues, and the edge is not sharp"
        )
        warnings = (AssumptionWarning("uniform", "activation", text),)
    prepared = prepare_problem(problem)
    branch = RealBranch(spectral_equations(prepared))
    edge = branch.edge()
    outliers = find_outliers(branch, MAX_ALIGNMENT_DEGREE)
    eq = spectral_equations(prepared, DENSITY_NODES)
    lower = _lower_edge(eq, edge)
    start = lower or 1e-4 * edge
    x = start + (edge - start) * (1 - np.cos(np.linspace(0, np.pi, DENSITY_POINTS))) / 2
    inside = _solutions_inside(eq, x)
    solved = [*branch.solved.values(), *inside.values()]
    return Spectrum(
        problem=problem,
        method="uniform",
        edge=edge,
        lower_edge=lower,
        atom=max(0.0, 1 - problem.N / problem.n),
        x=x,
        rho=_density(x, inside),
        spikes=make_spikes(problem.n, outliers),
        density=lambda y: bulk_density(eq, np.asarray(y, dtype=float)),
        residual=max(solution.residual for solution in solved),
        iterations=sum(solution.iterations for solution in solved),
        warnings=warnings,
    )


def bulk_density(eq: Equations, x: Floats) -> Floats:
    """Return the density of the bulk at each x > 0; zero elsewhere."""
    return _density(x, _solutions_inside(eq, x))


def _density(x: Floats, inside: dict[int, Solution]) -> Floats:
    """Return the density at each x whose solution is known, and zero elsewhere."""
    values = np.zeros(x.shape)
    for i, solution in inside.items():
        values.flat[i] = max(float(-solution.state.pi.sum().imag / x.flat[i] / np.pi), 0.0)
    return values


def _solutions_inside(eq: Equations, x: Floats) -> dict[int, Solution]:
    """Return the solution at each x > 0 by its place in x, solved from right to left."""
    solutions: dict[int, Solution] = {}
    start: tuple[Numbers, Numbers] | None = None
    for i in np.argsort(x.ravel())[::-1].tolist():
        at = float(x.flat[i])
        if at <= 0:
            break
        solutions[i] = _above_axis(eq, at, start)
        start = solutions[i].state.pi, solutions[i].state.delta
    return solutions


def _lower_edge(eq: Equations, edge: float) -> float | None:
    """Return where the bulk begins, or None where it touches zero, by three nested grids."""
    grid = edge * np.geomspace(1e-4, 0.5, 24)
    for _ in range(3):
        full = np.flatnonzero(bulk_density(eq, grid) * edge > MIN_SCALED_DENSITY)
        if not len(full) or full[0] == 0:
            return None
        grid = np.linspace(grid[full[0] - 1], grid[full[0]], 10)
    return float(grid[-1])


def _above_axis(eq: Equations, x: float, start: tuple[Numbers, Numbers] | None) -> Solution:
    """Return the solution at -(x + i0): from a neighbour, else by lowering the imaginary part."""
    if start is not None:
        try:
            near = solve_fixed_point(
                eq, complex(-x, -RELATIVE_HEIGHT * x), start, tol=DENSITY_TOLERANCE, limit=15
            )
            if near.state.pi.sum().imag <= RELATIVE_HEIGHT:  # the density is not negative
                return near
        except NotConverged:
            pass
    height = 4 * (x + mean_squared_feature(eq) * eq.N / eq.n)
    state = (eq.p + 0j, np.full(len(eq.weight), complex(-x, -height)))
    while True:
        solution = solve_fixed_point(eq, complex(-x, -height), state, tol=DENSITY_TOLERANCE)
        state = solution.state.pi, solution.state.delta
        if height <= RELATIVE_HEIGHT * x:
            return solution
        height = max(height / 3, RELATIVE_HEIGHT * x)

r"""The whole spectrum of :math:`FF^\top/n` after a step of any size, whose bulk moves with it.

The density of the bulk is
:math:`\rho(x) = -\frac1\pi\mathrm{Im}\,\frac{1}{x}\sum_k\pi_k` at
:math:`\lambda = -(x + i0)`, since :math:`\sum_k\pi_k/\lambda` is the normalised trace of
:math:`(FF^\top/n + \lambda)^{-1}`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, NotConverged
from onegrad.parallel.cores import one_blas_thread
from onegrad.problem import Problem
from onegrad.theory.spectral_law import (
    MAX_ALIGNMENT_DEGREE,
    Spectrum,
    density_grid,
    make_spikes,
)
from onegrad.theory.uniform.accuracy import slope_kurtosis
from onegrad.theory.uniform.concerns import ONE_STEP_FIELDS, require_covered
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
MIN_LOG_DENSITY = 1e-4  # density of log x that is not taken for zero
MIN_TOUCHING_END = 1e-7  # a bulk that reaches below this share of its edge touches zero
SUPPORT_POINTS = 48  # of log x, on which intervals are found
MAX_MASS_ERROR = 0.02  # of the density and its atom together
BISECTIONS = 7  # of log x, for the ends of an interval


@one_blas_thread
def uniform_spectrum(problem: Problem) -> Spectrum:
    """Return bulk density, edges and outliers at the actual strength of the step.

    Holds for one step on Gaussian inputs, any readout and residual of the uniform theory. Outliers
    are those of the mean part; alignments are squared cosines with He_k of the learned index.
    See docs/uniform.md; tests/theory/uniform/test_spectrum_matches_simulation.py.
    """
    require_covered(problem, ONE_STEP_FIELDS)
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
    atom = max(0.0, 1 - _rank(problem) / problem.n)
    for thorough in (False, True):  # neighbours may lead to a real solution inside the bulk
        support = _support(eq, edge, thorough)
        x = density_grid(support, DENSITY_POINTS)
        inside = _solutions_inside(eq, x)
        rho = np.where(np.isin(x, np.ravel(support)), 0.0, _density(x, inside))
        mass = atom + float(np.sum((rho[1:] + rho[:-1]) * np.diff(x)) / 2)
        if abs(mass - 1) <= MAX_MASS_ERROR:
            break
    else:
        text = f"uniform spectrum: the density and its atom have the mass {mass:.3g} instead of one"
        warnings += (AssumptionWarning("uniform", "density", text),)
    solved = [*branch.solved.values(), *inside.values()]
    return Spectrum(
        problem=problem,
        method="uniform",
        edge=edge,
        lower_edge=support[0][0] or None,
        support=support,
        atom=atom,
        x=x,
        rho=rho,
        spikes=make_spikes(problem.n, outliers),
        density=lambda y: bulk_density(eq, np.asarray(y, dtype=float)),
        residual=max(solution.residual for solution in solved),
        iterations=sum(solution.iterations for solution in solved),
        warnings=warnings,
    )


def bulk_density(eq: Equations, x: Floats, thorough: bool = False) -> Floats:
    """Return the density of the bulk at each x > 0; zero elsewhere."""
    return _density(x, _solutions_inside(eq, x, thorough))


def _density(x: Floats, inside: dict[int, Solution]) -> Floats:
    """Return the density at each x whose solution is known, and zero elsewhere."""
    values = np.zeros(x.shape)
    for i, solution in inside.items():
        values.flat[i] = max(float(-solution.state.pi.sum().imag / x.flat[i] / np.pi), 0.0)
    return values


def _solutions_inside(eq: Equations, x: Floats, thorough: bool = False) -> dict[int, Solution]:
    """Return the solution at each x > 0 by its place in x, solved from right to left.

    thorough : no point starts from its neighbour.
    """
    solutions: dict[int, Solution] = {}
    start: tuple[Numbers, Numbers] | None = None
    for i in np.argsort(x.ravel())[::-1].tolist():
        at = float(x.flat[i])
        if at <= 0:
            break
        solutions[i] = _above_axis(eq, at, start)
        start = None if thorough else (solutions[i].state.pi, solutions[i].state.delta)
    return solutions


def _rank(problem: Problem) -> int:
    """Return the rank of the features; those of a linear activation have at most that of X."""
    return problem.N if problem.sigma.nonlinear_energy > 0 else min(problem.N, problem.d)


def _support(eq: Equations, edge: float, thorough: bool) -> tuple[tuple[float, float], ...]:
    """Return the intervals of the bulk: found on a grid of log x, their ends by bisection."""
    grid = edge * np.geomspace(MIN_TOUCHING_END, 1.0, SUPPORT_POINTS)
    inside = _is_inside(eq, grid, thorough)
    inside[-1] = True  # the bulk ends at its edge, however thin it is there
    starts = np.flatnonzero(inside & ~np.append(False, inside[:-1]))
    stops = np.flatnonzero(inside & ~np.append(inside[1:], False))
    return tuple(
        (
            _boundary(eq, grid[start - 1], grid[start]) if start else 0.0,
            _boundary(eq, grid[stop + 1], grid[stop]) if stop + 1 < len(grid) else edge,
        )
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    )


def _is_inside(
    eq: Equations, x: Floats, thorough: bool = False
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return at which points the bulk has mass, per unit of log x."""
    return x * bulk_density(eq, x, thorough) > MIN_LOG_DENSITY


def _boundary(eq: Equations, outside: float, inside: float) -> float:
    """Return where the bulk begins between a point outside and one inside."""
    for _ in range(BISECTIONS):
        middle = float(np.sqrt(outside * inside))
        if _is_inside(eq, np.array([middle]))[0]:
            inside = middle
        else:
            outside = middle
    return float(np.sqrt(outside * inside))


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

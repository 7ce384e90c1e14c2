r"""The whole spectrum of :math:`FF^\top/n` after a step of any size.

The bulk moves with the step here: its density is
:math:`\rho(x) = -\frac1\pi\mathrm{Im}\,\frac{1}{x}\sum_k\pi_k` at
:math:`\lambda = -(x + i0)`, since :math:`\sum_k\pi_k/\lambda` is the normalised trace of
:math:`(FF^\top/n + \lambda)^{-1}`.
"""

from __future__ import annotations

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, NotConverged
from onegrad.problem import Problem
from onegrad.theory.spectra import SHOWN, Spectrum, spikes
from onegrad.theory.uniform.accuracy import slope_kurtosis
from onegrad.theory.uniform.equations import Equations, Sizes
from onegrad.theory.uniform.fixed_point import Numbers, Solution, solve
from onegrad.theory.uniform.outliers import Exterior, find_outliers, spectral_equations, trace
from onegrad.theory.uniform.validity import require_covered

DENSITY_SIZES = Sizes(6, 10)  # the density is an average: few nodes
POINTS = 120
TOLERANCE = 1e-5  # of a Newton step; the next would be its square
HEIGHT = 1e-6  # imaginary part, relative to x
HEAVY_SLOPE = 5.0  # kurtosis of sigma': 1.6 for tanh, 2 for ReLU, 8 and more for cubics
EMPTY = 1e-3  # density, times the edge, that counts as none


def spectrum(problem: Problem) -> Spectrum:
    """Bulk density, edges and outliers at the actual strength of the step.

    Holds for one step on Gaussian inputs, any readout and residual of the uniform theory. Outliers
    are those of the mean part; alignments are squared cosines with He_k of the learned index.
    See docs/uniform.md; tests/theory/uniform/test_spectrum_matches_simulation.py.
    """
    require_covered(problem)
    warnings: tuple[AssumptionWarning, ...] = ()
    if slope_kurtosis(problem.sigma) > HEAVY_SLOPE:
        text = (
            f"uniform spectrum: heavy-tailed activation {problem.sigma.name!r:.40}: single samples "
            "rule the largest eigenvalues, and the edge is not sharp"
        )
        warnings = (AssumptionWarning("uniform", "activation", text),)
    branch = Exterior(spectral_equations(problem))
    edge = branch.edge()
    outliers = find_outliers(branch, SHOWN)
    eq = spectral_equations(problem, DENSITY_SIZES)
    lower = _lower_edge(eq, edge)
    start = lower or 1e-4 * edge
    x = start + (edge - start) * (1 - np.cos(np.linspace(0, np.pi, POINTS))) / 2
    inside = _inside(eq, x)
    solved = [*branch.solved.values(), *inside.values()]
    return Spectrum(
        problem=problem,
        method="uniform",
        edge=edge,
        lower_edge=lower,
        atom=max(0.0, 1 - problem.N / problem.n),
        x=x,
        rho=_density(x, inside),
        spikes=spikes(problem.n, outliers),
        density=lambda y: density(eq, np.asarray(y, dtype=float)),
        residual=max(solution.residual for solution in solved),
        iterations=sum(solution.iterations for solution in solved),
        warnings=warnings,
    )


def density(eq: Equations, x: Floats) -> Floats:
    """Density of the bulk at each x > 0; zero elsewhere."""
    return _density(x, _inside(eq, x))


def _density(x: Floats, inside: dict[int, Solution]) -> Floats:
    values = np.zeros(x.shape)
    for i, solution in inside.items():
        values.flat[i] = max(float(-solution.state.pi.sum().imag / x.flat[i] / np.pi), 0.0)
    return values


def _inside(eq: Equations, x: Floats) -> dict[int, Solution]:
    """The solutions at each x > 0 by its place in x, walked from the right."""
    found: dict[int, Solution] = {}
    start: tuple[Numbers, Numbers] | None = None
    for i in np.argsort(x.ravel())[::-1].tolist():
        at = float(x.flat[i])
        if at <= 0:
            break
        found[i] = _above_axis(eq, at, start)
        start = found[i].state.pi, found[i].state.delta
    return found


def _lower_edge(eq: Equations, edge: float) -> float | None:
    """Where the bulk begins, or None where it touches zero, by three nested grids."""
    grid = edge * np.geomspace(1e-4, 0.5, 24)
    for _ in range(3):
        full = np.flatnonzero(density(eq, grid) * edge > EMPTY)
        if not len(full) or full[0] == 0:
            return None
        grid = np.linspace(grid[full[0] - 1], grid[full[0]], 10)
    return float(grid[-1])


def _above_axis(eq: Equations, x: float, start: tuple[Numbers, Numbers] | None) -> Solution:
    """The solution at -(x + i0): from the neighbour, else by lowering the imaginary part."""
    if start is not None:
        try:
            near = solve(eq, complex(-x, -HEIGHT * x), start, tol=TOLERANCE, limit=15)
            if near.state.pi.sum().imag <= HEIGHT:  # the density is not negative
                return near
        except NotConverged:
            pass
    height = 4 * (x + trace(eq) * eq.N / eq.n)
    state = (eq.p + 0j, np.full(len(eq.weight), complex(-x, -height)))
    while True:
        solution = solve(eq, complex(-x, -height), state, tol=TOLERANCE)
        state = solution.state.pi, solution.state.delta
        if height <= HEIGHT * x:
            return solution
        height = max(height / 3, HEIGHT * x)

r"""The whole spectrum of :math:`FF^\top/n` after a step of any size, whose bulk moves with it.

The density of the bulk is
:math:`\rho(x) = -\frac1\pi\mathrm{Im}\,\frac{1}{x}\sum_k\pi_k` at
:math:`\lambda = -(x + i0)`, since :math:`\sum_k\pi_k/\lambda` is the normalised trace of
:math:`(FF^\top/n + \lambda)^{-1}`.

Beyond the bulk a real branch has the edge and the outliers. At :math:`\lambda = -x`
with x beyond the bulk the fixed point has a real solution, followed from
large x. With the matrices of `mean_part`, an eigenvalue e(x) of :math:`I + \mathcal P\Xi`, with
eigenvectors l and r, vanishes at an outlier. The residue of
:math:`f^\top(\mathcal P^{-1} + \Xi)^{-1}f` there is the squared cosine of the left singular vector
with the function f of the learned index:

.. math:: \cos^2 = \frac{(f^\top r)(l^\top\mathcal P f)}{x\,(l^\top r)\,e'(x)}.

The real solution ends at the right edge, where the response matrix becomes singular like
:math:`\sqrt{x - x_+}`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from scipy.linalg import eig

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, NotConverged
from onegrad.functions.hermite import normalised_hermite
from onegrad.parallel.cores import one_blas_thread
from onegrad.problem import Problem
from onegrad.theory.spectral_law import MAX_ALIGNMENT_DEGREE, Spectrum, density_grid, make_spikes
from onegrad.theory.uniform import fixed_point
from onegrad.theory.uniform.accuracy import slope_kurtosis
from onegrad.theory.uniform.concerns import ONE_STEP_FIELDS, require_covered
from onegrad.theory.uniform.discretisation import Equations, equations
from onegrad.theory.uniform.gauss_nodes import Numbers
from onegrad.theory.uniform.preparation import NodeCounts, Prepared, prepare_problem
from onegrad.theory.uniform.ridge_errors import mean_part
from onegrad.theory.uniform.rules import normal_cutoff

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
OUTLIER_NODES = NodeCounts(10, 20)
EDGE_TOLERANCE = 1e-5
MAX_OUTSIDE_ITERATIONS = 15  # Newton steps: outside the bulk a near solution takes five


def spectral_equations(prepared: Prepared, nodes: NodeCounts = OUTLIER_NODES) -> Equations:
    """Return the equations of the bulk, in which directions count by their law only.

    The last block, one direction, is left out, and readouts are cut where fewer than one of N is
    expected. Whether ridge fits a constant does not change the features.
    """
    eq = equations(prepared, nodes, largest_readout=normal_cutoff(prepared.problem.N))
    return replace(eq, intercept=False, omega=eq.omega[: eq.bulk])


def mean_squared_feature(eq: Equations) -> float:
    """Return the mean square of a feature, which is the mean eigenvalue of F F^T/N."""
    bulk = (eq.omega @ eq.strength**2)[:, None] * eq.B**2  # kappa B^2
    return float(eq.weight @ (eq.C2 + eq.A**2 + bulk) @ eq.p)


class RealBranch:
    """The real solution beyond the bulk, each point solved from the nearest one so far.

    solved : the solutions so far, by eigenvalue.
    """

    def __init__(self, eq: Equations) -> None:
        self.eq = eq
        # all eigenvalues that A can put outside the bulk have this sum
        spikes = eq.N * float(eq.weight @ eq.A**2 @ eq.p)
        self.far = 2 * spikes + 100 * mean_squared_feature(eq) * (1 + eq.N / eq.n + eq.N / eq.d)
        self.solved: dict[float, fixed_point.Solution] = {}

    def at(self, x: float) -> fixed_point.Solution:
        """Return the solution at eigenvalue x; raise NotConverged when x is not beyond the bulk."""
        if x not in self.solved:
            above = [y for y in self.solved if y > x]
            near = self.solved[min(above)] if above else None
            far = self.eq.p, np.full(len(self.eq.weight), -x)
            start = (near.state.pi, near.state.delta) if near else far
            solution = fixed_point.solve_fixed_point(
                self.eq, -x, start, tol=1e-9, limit=MAX_OUTSIDE_ITERATIONS
            )
            # sum(pi) averages x/(x - y) over eigenvalues y: it is above one and grows towards the
            # bulk, while the gap shrinks; other real solutions, inside the bulk, do neither
            floor, ceiling = (near.state.pi.sum(), self.gap(near)) if near else (1.0, 1.0)
            if solution.state.pi.sum() < floor or not 0 < self.gap(solution) <= ceiling:
                raise NotConverged(f"spectrum at {x:g}: not beyond the bulk")
            self.solved[x] = solution
        return self.solved[x]

    def reach(self, x: float, halvings: int = 8) -> fixed_point.Solution:
        """Return the solution at an x beyond the bulk, through points between if it is far."""
        try:
            return self.at(x)
        except NotConverged:
            if not halvings:
                raise
            self.reach((x + min(y for y in self.solved if y > x)) / 2, halvings - 1)
            return self.reach(x, halvings - 1)

    def gap(self, solution: fixed_point.Solution) -> float:
        """Return the smallest eigenvalue of the response matrix: one far away, zero at the edge."""
        r = solution.response
        W = np.linalg.solve(r.stiffness, r.T)
        return fixed_point.response_gap(
            self.eq, solution.state, fixed_point.chi_response(self.eq, r, W)
        )

    def edge(self) -> float:
        """Return the edge: the zero of gap(x)^2, which is linear there, approached from outside."""
        x, step = self.far, self.far / 4
        self.at(x)
        while step > EDGE_TOLERANCE * x:
            try:
                y = x - step
                slope = (self.gap(self.at(x)) ** 2 - self.gap(self.at(y)) ** 2) / step
            except NotConverged:
                step /= 4
                continue
            x = y
            to_zero = self.gap(self.at(x)) ** 2 / slope if slope > 0 else x
            step = min(0.75 * to_zero, x / 4)
        return x - step / 0.75


def mean_matrices(eq: Equations, solution: fixed_point.Solution) -> tuple[Numbers, Numbers]:
    """Return P and I + P Xi of `mean_part`, without the blocks that make no outlier.

    Those are the quadratic functions and, unless the residual is full, the readout row.
    """
    mean, K = mean_part(eq, solution.state), len(eq.p)
    blocks = np.arange((2 + len(eq.aside)) * K)
    if not eq.row_share.any():
        blocks = np.delete(blocks, np.s_[K : 2 * K])
    P, Xi = (matrix[np.ix_(blocks, blocks)] for matrix in (mean.P, mean.Xi))
    return P, np.eye(len(blocks)) + P @ Xi


def find_outliers(branch: RealBranch, degrees: int) -> list[tuple[float, Floats]]:
    """Return every outlier beyond the edge, largest first; the edge must have been computed.

    An outlier is an eigenvalue with its squared cosines to normalised He_1, He_2, ... of the index.
    """

    def eigenvalues(x: float) -> Floats:
        _, matrix = mean_matrices(branch.eq, branch.reach(x))
        return np.sort(np.linalg.eigvals(matrix).real)

    xs = sorted(branch.solved)  # from the edge, as close as the search for it came, outwards
    signs = [eigenvalues(x) for x in xs]
    outliers = []
    for k in range(int((signs[0] < 0).sum())):
        i = next((i for i, e in enumerate(signs) if e[k] >= 0), None)
        if i is None:  # no change of sign
            raise NotConverged(f"spectrum: outlier {k + 1} beyond {xs[0]:g} was lost")
        x = scipy.optimize.brentq(lambda y, k=k: eigenvalues(y)[k], xs[i - 1], xs[i], rtol=1e-9)
        outliers.append((x, _alignment(branch, x, k, degrees)))
    return sorted(outliers, key=lambda outlier: -outlier[0])


def _alignment(branch: RealBranch, x: float, k: int, degrees: int) -> Floats:
    """Return squared cosines of the k-th outlier, at x, with normalised He_1, ..., He_degrees."""
    eq = branch.eq
    P, matrix = mean_matrices(eq, branch.at(x))
    values, left, right = eig(matrix, left=True, right=True)
    i = int(np.argsort(values.real)[k])
    row, column = left[:, i].real, right[:, i].real
    h = min(1e-4 * x, (x - min(branch.solved)) / 2)  # not into the bulk
    below, above = (row @ mean_matrices(eq, branch.at(y))[1] @ column for y in (x - h, x + h))
    slope = (above - below) / (2 * h)  # e'(x) times l.r
    K = len(eq.p)
    f = normalised_hermite(eq.index, degrees)[1:]  # (degrees, K)
    cosines: Floats = (f @ column[:K]) * (f @ (row @ P)[:K]) / (x * slope)
    return np.abs(np.clip(cosines, 0.0, 1.0))  # no negative zeros


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
    # features of a linear activation have at most the rank of X
    rank = problem.N if problem.sigma.nonlinear_energy > 0 else min(problem.N, problem.d)
    atom = max(0.0, 1 - rank / problem.n)
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


def _density(x: Floats, inside: dict[int, fixed_point.Solution]) -> Floats:
    """Return the density at each x whose solution is known, and zero elsewhere."""
    values = np.zeros(x.shape)
    for i, solution in inside.items():
        values.flat[i] = max(float(-solution.state.pi.sum().imag / x.flat[i] / np.pi), 0.0)
    return values


def _solutions_inside(
    eq: Equations, x: Floats, thorough: bool = False
) -> dict[int, fixed_point.Solution]:
    """Return the solution at each x > 0 by its place in x, solved from right to left.

    thorough : no point starts from its neighbour.
    """
    solutions: dict[int, fixed_point.Solution] = {}
    start: tuple[Numbers, Numbers] | None = None
    for i in np.argsort(x.ravel())[::-1].tolist():
        at = float(x.flat[i])
        if at <= 0:
            break
        solutions[i] = _above_axis(eq, at, start)
        start = None if thorough else (solutions[i].state.pi, solutions[i].state.delta)
    return solutions


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


def _above_axis(
    eq: Equations, x: float, start: tuple[Numbers, Numbers] | None
) -> fixed_point.Solution:
    """Return the solution at -(x + i0): from a neighbour, else by lowering the imaginary part."""
    if start is not None:
        try:
            near = fixed_point.solve_fixed_point(
                eq, complex(-x, -RELATIVE_HEIGHT * x), start, tol=DENSITY_TOLERANCE, limit=15
            )
            if near.state.pi.sum().imag <= RELATIVE_HEIGHT:  # the density is not negative
                return near
        except NotConverged:
            pass
    height = 4 * (x + mean_squared_feature(eq) * eq.N / eq.n)
    state = (eq.p + 0j, np.full(len(eq.weight), complex(-x, -height)))
    while True:
        solution = fixed_point.solve_fixed_point(
            eq, complex(-x, -height), state, tol=DENSITY_TOLERANCE
        )
        state = solution.state.pi, solution.state.delta
        if height <= RELATIVE_HEIGHT * x:
            return solution
        height = max(height / 3, RELATIVE_HEIGHT * x)

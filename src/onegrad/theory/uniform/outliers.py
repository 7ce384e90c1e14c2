r"""Beyond the bulk of :math:`FF^\top/n` at finite strength: edge, outliers and their alignments.

At :math:`\lambda = -x` with x beyond the bulk the fixed point has a real solution, followed from
large x. With the matrices of `losses`, an eigenvalue e(x) of :math:`I + \mathcal P\Xi`, with
eigenvectors l and r, vanishes at an outlier. The residue of
:math:`f^\top(\mathcal P^{-1} + \Xi)^{-1}f` there is the squared cosine of the left singular vector
with the function f of the learned index:

.. math:: \cos^2 = \frac{(f^\top r)(l^\top\mathcal P f)}{x\,(l^\top r)\,e'(x)}.

The real solution ends at the right edge, where the response matrix becomes singular like
:math:`\sqrt{x - x_+}`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eig
from scipy.optimize import brentq

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.functions.hermite import normalised_hermite
from onegrad.problem import Problem
from onegrad.theory.uniform.equations import Equations, Sizes, equations
from onegrad.theory.uniform.fixed_point import Numbers, Solution, chi_response, gap, solve
from onegrad.theory.uniform.losses import mean_part
from onegrad.theory.uniform.residuals import largest_normal

SIZES = Sizes(10, 20)
EDGE_TOLERANCE = 1e-5
OUTSIDE_LIMIT = 15  # Newton steps: outside the bulk a near solution takes five


def spectral_equations(problem: Problem, sizes: Sizes = SIZES) -> Equations:
    """The equations of the bulk: directions count by their law only.

    The last block, one direction, is left out, and readouts are cut where fewer than one of N is
    expected. Features do not know whether ridge fits a constant.
    """
    eq = equations(problem, sizes, largest_readout=largest_normal(problem.N))
    profile, omega = eq.profile[: eq.bulk], eq.omega[: eq.bulk]
    return replace(eq, intercept=False, profile=profile, omega=omega)


def trace(eq: Equations) -> float:
    """Mean eigenvalue of F F^T/N: the mean square of a feature."""
    bulk = np.tensordot(eq.omega, eq.profile**2, axes=1)  # kappa B^2
    return float(eq.weight @ (eq.C2 + eq.A**2 + bulk) @ eq.p)


class Exterior:
    """The real branch beyond the bulk, solved from the nearest solution found so far."""

    def __init__(self, eq: Equations) -> None:
        self.eq = eq
        spikes = eq.N * float(eq.weight @ eq.A**2 @ eq.p)  # the sum of all that A can put outside
        self.far = 2 * spikes + 100 * trace(eq) * (1 + eq.N / eq.n + eq.N / eq.d)
        self.solved: dict[float, Solution] = {}

    def at(self, x: float) -> Solution:
        """The solution at eigenvalue x; raises NotConverged when x is not beyond the bulk."""
        if x not in self.solved:
            above = [y for y in self.solved if y > x]
            near = self.solved[min(above)] if above else None
            far = self.eq.p, np.full(len(self.eq.weight), -x)
            start = (near.state.pi, near.state.delta) if near else far
            solution = solve(self.eq, -x, start, tol=1e-9, limit=OUTSIDE_LIMIT)
            # sum(pi) averages x/(x - y) over eigenvalues y: it is above one and grows towards the
            # bulk, while the gap shrinks; other real solutions, inside the bulk, do neither
            floor, ceiling = (near.state.pi.sum(), self.gap(near)) if near else (1.0, 1.0)
            if solution.state.pi.sum() < floor or not 0 < self.gap(solution) <= ceiling:
                raise NotConverged(f"spectrum at {x:g}: not beyond the bulk")
            self.solved[x] = solution
        return self.solved[x]

    def reach(self, x: float, halvings: int = 8) -> Solution:
        """`at` for an x known to be beyond the bulk: through points between when it is too far."""
        try:
            return self.at(x)
        except NotConverged:
            if not halvings:
                raise
            self.reach((x + min(y for y in self.solved if y > x)) / 2, halvings - 1)
            return self.reach(x, halvings - 1)

    def gap(self, solution: Solution) -> float:
        """Smallest eigenvalue of the response matrix: one far away, zero at the edge."""
        r = solution.response
        W = np.linalg.solve(r.stiffness, r.T)
        return gap(self.eq, solution.state, chi_response(self.eq, r, W))

    def edge(self) -> float:
        """Approach the zero of gap(x)^2, which is linear near the edge, from outside."""
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


def mean_matrices(eq: Equations, solution: Solution) -> tuple[Numbers, Numbers]:
    """P and I + P Xi of `losses`, without quadratic parts, nor a readout row not singled out."""
    mean, K = mean_part(eq, solution.state), len(eq.p)
    kept = np.arange((2 + len(eq.aside)) * K)
    if not eq.in_plane:
        kept = np.delete(kept, np.s_[K : 2 * K])
    P, Xi = (matrix[np.ix_(kept, kept)] for matrix in (mean.P, mean.Xi))
    return P, np.eye(len(kept)) + P @ Xi


def find_outliers(branch: Exterior, degrees: int) -> list[tuple[float, Floats]]:
    """Every outlier beyond the edge, which must have been found, largest first.

    An eigenvalue and its squared cosines with normalised He_1, He_2, ... of the index.
    """

    def eigenvalues(x: float) -> Floats:
        _, matrix = mean_matrices(branch.eq, branch.reach(x))
        return np.sort(np.linalg.eigvals(matrix).real)

    xs = sorted(branch.solved)  # from the edge, as close as the search for it came, outwards
    signs = [eigenvalues(x) for x in xs]
    found = []
    for k in range(int((signs[0] < 0).sum())):
        i = next((i for i, e in enumerate(signs) if e[k] >= 0), None)
        if i is None:  # no change of sign
            raise NotConverged(f"spectrum: outlier {k + 1} beyond {xs[0]:g} was lost")
        x = brentq(lambda y, k=k: eigenvalues(y)[k], xs[i - 1], xs[i], rtol=1e-9)
        found.append((x, _alignment(branch, x, k, degrees)))
    return sorted(found, key=lambda outlier: -outlier[0])


def _alignment(branch: Exterior, x: float, k: int, degrees: int) -> Floats:
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

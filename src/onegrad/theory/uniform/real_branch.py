r"""Edge and outliers of :math:`FF^\top/n` at finite strength, on the real branch beyond the bulk.

At :math:`\lambda = -x` with x beyond the bulk the fixed point has a real solution, followed from
large x. With the matrices of `mean_part`, an eigenvalue e(x) of :math:`I + \mathcal P\Xi`, with
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
import scipy
from scipy.linalg import eig

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.functions.hermite import normalised_hermite
from onegrad.theory.uniform.discretisation import Equations, equations
from onegrad.theory.uniform.fixed_point import (
    Solution,
    chi_response,
    response_gap,
    solve_fixed_point,
)
from onegrad.theory.uniform.gauss_nodes import Numbers
from onegrad.theory.uniform.preparation import NodeCounts, Prepared
from onegrad.theory.uniform.residuals import normal_cutoff
from onegrad.theory.uniform.ridge_errors import mean_part

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
        self.solved: dict[float, Solution] = {}

    def at(self, x: float) -> Solution:
        """Return the solution at eigenvalue x; raise NotConverged when x is not beyond the bulk."""
        if x not in self.solved:
            above = [y for y in self.solved if y > x]
            near = self.solved[min(above)] if above else None
            far = self.eq.p, np.full(len(self.eq.weight), -x)
            start = (near.state.pi, near.state.delta) if near else far
            solution = solve_fixed_point(self.eq, -x, start, tol=1e-9, limit=MAX_OUTSIDE_ITERATIONS)
            # sum(pi) averages x/(x - y) over eigenvalues y: it is above one and grows towards the
            # bulk, while the gap shrinks; other real solutions, inside the bulk, do neither
            floor, ceiling = (near.state.pi.sum(), self.gap(near)) if near else (1.0, 1.0)
            if solution.state.pi.sum() < floor or not 0 < self.gap(solution) <= ceiling:
                raise NotConverged(f"spectrum at {x:g}: not beyond the bulk")
            self.solved[x] = solution
        return self.solved[x]

    def reach(self, x: float, halvings: int = 8) -> Solution:
        """Return the solution at an x beyond the bulk, through points between if it is far."""
        try:
            return self.at(x)
        except NotConverged:
            if not halvings:
                raise
            self.reach((x + min(y for y in self.solved if y > x)) / 2, halvings - 1)
            return self.reach(x, halvings - 1)

    def gap(self, solution: Solution) -> float:
        """Return the smallest eigenvalue of the response matrix: one far away, zero at the edge."""
        r = solution.response
        W = np.linalg.solve(r.stiffness, r.T)
        return response_gap(self.eq, solution.state, chi_response(self.eq, r, W))

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


def mean_matrices(eq: Equations, solution: Solution) -> tuple[Numbers, Numbers]:
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

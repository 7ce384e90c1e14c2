r"""Eigenvalues of :math:`FF^\top/n`, the features on the rows of ridge: bulk, edges and outliers.

The equations are analytic in the penalty (`pencil`). At :math:`\lambda = -(x + i0)`, without the
shares of special variables,

.. math:: \rho(x) = -\frac1{\pi x}\,\mathrm{Im}\sum_jm_j\hat\pi_j, \qquad
    \sum_jm_j\hat\pi_j = \frac\lambda n\,\mathrm{tr}\Big(\frac{FF^\top}n + \lambda\Big)^{-1},

and :math:`\rho^2` is linear in x where an interval of the bulk ends.

Outside the bulk the solution is real. Labels y have the objective
:math:`\sum_k\lambda(y\cdot u_k)^2/n(\lambda + x_k)` over eigenvalues :math:`x_k` with eigenvectors
:math:`u_k`, and :math:`Ey^2\hat\pi - h^\top Hh` (`fit`): an *outlier* is an x at which an
eigenvalue e of the form H vanishes, from below where x falls. With the eigenvector q of H,

.. math:: \cos^2(u, f) = -\frac{(q\cdot E[f\hat\pi\Phi])^2}{x\,e'(x)\,Ef^2}

for a function f of the learned index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, NotConverged, OutOfScope
from onegrad.functions.hermite import normalised_hermite
from onegrad.parallel.cores import one_blas_thread
from onegrad.problem import Problem
from onegrad.theory.spectral_law import MAX_ALIGNMENT_DEGREE, Spectrum, density_grid, make_spikes
from onegrad.theory.uniform.bars import slope_kurtosis
from onegrad.theory.uniform.concerns import ONE_STEP_FIELDS, require_covered
from onegrad.theory.uniform.discretise import Nodes, discretise
from onegrad.theory.uniform.fit import Equations, Quadratic, quadratic_problem, sides_of_functions
from onegrad.theory.uniform.laws.table import Laws, laws_of
from onegrad.theory.uniform.pencil import Numbers, Parameter, RowState, State, evaluate, no_shares
from onegrad.theory.uniform.refine import require_derived
from onegrad.theory.uniform.rules import normal_cutoff
from onegrad.theory.uniform.solver import Acceleration, Packing, without_rows

SPECTRUM_FIELDS = (*ONE_STEP_FIELDS, "inputs", "ridge_rows", "steps", "weight_decay", "paired")
# products of isotropic inputs are noise: with the long neurons of H2 and normal readouts they put
# the edge at 176, beyond the second outlier of networks at 130; without, it is 55
SPECTRAL_NODES = Nodes(
    residual=5, bins=8, per_bin=5, index=1.3, readout=1.5, starts=False, weak_products=False
)
RELATIVE_HEIGHT = 1e-6  # imaginary part over x
SPECTRAL_TOLERANCE, MAX_SPECTRAL_ITERATIONS = 1e-5, 60
FEW_ITERATIONS = 25  # from a neighbour
NUDGE = 1.003  # where the iteration fails, at single points: a change that no picture shows
# heights over x on the way from above to the axis, and their ratio, from far above
ENTRY_HEIGHTS, DESCENT = (0.3, 0.03, 0.003, 0.0), 4.0
MIN_LOG_DENSITY = 1e-4  # density of log x that is not taken for zero
FAR_RATIO = 2.0  # of points beyond the bulk, from one to the next
# the same inside, until the density has its mass; their squares below the share of the edge
INSIDE_RATIOS, SMALL = (1.5, 1.22, 1.1), 1e-2
MIN_TOUCHING_END = 1e-5  # a bulk that reaches below this share of its edge touches zero
MAX_PROBES, PROBE = 12, 0.1  # for an end of the bulk, and their distance from its estimate
EDGE_TOLERANCE = 1e-4
MIN_DISTANCE = 1e-3  # distance from the edge from which on an eigenvalue is an outlier, relative
MAX_LEFT_AT_ZERO = 0.1  # of an eigenvalue of the form: 1e-3 at outliers, one at poles
DENSITY_POINTS = 120
MAX_MASS_LEFT = 2e-3  # of the bulk, where no further interval or point is looked for
MAX_MASS_ERROR = 0.02  # of the density and its atom together
MAX_SLOPE_KURTOSIS = 5.0  # of sigma': 1.6 for tanh, 2 for ReLU, 8 and more for cubics


@dataclass
class Solutions:
    """Solutions at eigenvalues x, just above the real axis, each from the nearest one so far."""

    equations: Equations
    solved: dict[float, tuple[Numbers, State]] = field(default_factory=dict)
    acceleration: Acceleration = field(default_factory=lambda: Acceleration(0))
    iterations: int = 0
    residual: float = 0.0

    def __post_init__(self) -> None:
        pencil, inputs = self.equations.pencil, self.equations.steps.step.inputs
        omega = pencil.omega
        if not inputs.isotropic:  # they make outliers
            omega = np.where(inputs.single, 0.0, omega) / omega[~inputs.single].sum()
        self.pencil = replace(pencil, ridge=0.0, omega=omega)
        self.packing, self.shares = Packing.of(self.pencil), no_shares(self.pencil)
        self.energy = _energy(self.equations)
        # no eigenvalue is larger than the sum over neurons
        self.far = 2 * self.equations.steps.step.laws.neurons.N * self.energy

    def at(self, x: float) -> State:
        """Return the solution at an eigenvalue."""
        if x not in self.solved:
            end = self._from_neighbour(x) or self._from_above(x) or self._from_above(NUDGE * x)
            if end is None:
                raise NotConverged(f"spectrum at {x:g}: no solution")
            self.solved[x] = end
        return self.solved[x][1]

    def density(self, x: float) -> float:
        """Return the density of the bulk."""
        return max(-self._mean_share(self.at(x)).imag / (np.pi * x), 0.0)

    def is_inside(self, x: float) -> bool:
        """Return whether the bulk has mass at x, per unit of log x."""
        return x * self.density(x) > MIN_LOG_DENSITY

    def _mean_share(self, state: State) -> complex:
        rows = zip(self.pencil.rows, state.rows, strict=True)
        return complex(sum((forms.mass * at.pi).sum() for forms, at in rows if forms.ridge))

    def _from_neighbour(self, x: float) -> tuple[Numbers, State] | None:
        if not self.solved:
            return self._reach(x, self._start(complex(-x)), (0.0,))
        near = min(self.solved, key=lambda y: abs(np.log(y / x)))
        start = self.solved[near][0]
        if self.is_inside(near):
            return self._reach(x, start, (0.0,))
        end = self._reach(x, start, (0.0,), FEW_ITERATIONS // 2)
        return end or self._reach(x, start, ENTRY_HEIGHTS)  # it may be the first one in the bulk

    def _from_above(self, x: float) -> tuple[Numbers, State] | None:
        laws = self.equations.steps.step.laws
        height = 4 * (1 + self.energy * (1 + laws.neurons.N / laws.ridge_count) / x)
        heights = height * DESCENT ** -np.arange(np.log(height / RELATIVE_HEIGHT) / np.log(DESCENT))
        start = self._start(-x * (1 + 1j * height))
        return self._reach(x, start, (*heights, 0.0), MAX_SPECTRAL_ITERATIONS)

    def _reach(
        self, x: float, start: Numbers, heights: Sequence[float], limit: int = FEW_ITERATIONS
    ) -> tuple[Numbers, State] | None:
        """Return the solution at an eigenvalue by way of some heights above it, relative."""
        for height in heights:
            lam = -x * (1 + 1j * max(height, RELATIVE_HEIGHT))
            end = self._solve(lam, start, self.acceleration, limit)
            if end is not None and self._mean_share(end[1]).imag > MIN_LOG_DENSITY:
                end = self._solve(lam, end[0].conj(), self.acceleration, limit)  # it is below
            if end is None:
                self.acceleration = Acceleration(0)
                return None
            start = end[0]
        return end

    def _solve(
        self, lam: complex, start: Numbers, acceleration: Acceleration, limit: int
    ) -> tuple[Numbers, State] | None:
        states: list[State] = []

        def residual(x: Numbers) -> tuple[Numbers, float]:
            at = self.packing.unpack(x)
            states[:] = [evaluate(self.pencil, *at, self.shares, Parameter(ridge=lam))]
            change = self.packing.pack(states[0].G, states[0].products, states[0].log_a) - x
            return change, self.packing.size(change, x)

        try:
            x, size, count = acceleration.solve(residual, start, SPECTRAL_TOLERANCE, limit)
        except np.linalg.LinAlgError:
            return None
        self.iterations += count
        if not size < SPECTRAL_TOLERANCE:
            return None
        self.residual = max(self.residual, size)
        return x, states[0]

    def _start(self, lam: complex) -> Numbers:
        """Return a start at a large penalty."""
        log_a = np.log(self.pencil.ratio / lam)
        return without_rows(self.pencil, self.packing, log_a, self.energy)


def _energy(eq: Equations) -> float:
    """Return the mean square of a feature on the rows of ridge."""
    energy, types = 0.0, eq.steps.types
    for reading in eq.steps.readings:
        if (f := reading.features) is not None:
            square = f.A**2 + f.noise + (f.B1 * types.rho) ** 2
            energy += float(np.tensordot(reading.rows.mass, square, axes=2) @ types.weight)
    return energy


# -- bulk ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BulkInterval:
    """An interval of the bulk: x rho as a smooth function of an angle."""

    low: float
    high: float
    first: float  # the smallest x that was solved, where the bulk touches zero: low is zero then
    density: scipy.interpolate.CubicSpline

    @classmethod
    def of(cls, low: float, high: float, x: Floats, rho: Floats) -> BulkInterval:
        """Return the interval through points (x, rho) inside it."""
        first = low or float(x[0])
        x, values = np.append(x, high), np.append(x * rho, 0.0)
        if low:
            x, values = np.insert(x, 0, low), np.insert(values, 0, 0.0)
        return cls(low, high, first, scipy.interpolate.CubicSpline(_angle(x, first, high), values))

    def at(self, x: Floats) -> Floats:
        """Return the density, zero outside; near zero it grows like one over the root of x."""
        inside = (x > self.low) & (x < self.high)
        near = np.clip(x, self.first, self.high)
        values = np.maximum(self.density(_angle(near, self.first, self.high)), 0.0) / near
        return np.where(inside, values * np.sqrt(near / np.where(inside, x, near)), 0.0)

    @property
    def mass(self) -> float:
        """Integral of the density."""
        angle = np.linspace(0, np.pi / 2, 1 + 4 * DENSITY_POINTS)
        values = np.maximum(self.density(angle), 0.0) * np.sin(2 * angle)
        mass = float(scipy.integrate.trapezoid(values, angle)) * np.log(self.high / self.first)
        return mass if self.low else mass + 2 * max(float(self.density(0.0)), 0.0)


def _angle(x: Floats, low: float, high: float) -> Floats:
    return np.arcsin(np.sqrt(np.clip(np.log(x / low) / np.log(high / low), 0.0, 1.0)))


def bulk_intervals(solutions: Solutions, mass: float) -> list[BulkInterval]:
    """Return the intervals of a bulk of this mass, right to left: on as many points as it asks."""
    outside, inside = np.inf, solutions.far
    while not solutions.is_inside(inside):
        outside, inside = inside, inside / FAR_RATIO
    edge = interval_end(solutions, outside, inside)
    for ratio in INSIDE_RATIOS:
        intervals = _intervals_on_points(solutions, edge, inside, mass, ratio)
        if abs(sum(interval.mass for interval in intervals) - mass) < MAX_MASS_LEFT:
            break
    return intervals


def _intervals_on_points(
    solutions: Solutions, edge: float, inside: float, mass: float, ratio: float
) -> list[BulkInterval]:
    high, intervals = edge, list[BulkInterval]()

    def below(x: float) -> float:
        return x / (ratio if x > SMALL * edge else ratio**2)

    while True:
        outside = 0.0
        while inside > MIN_TOUCHING_END * edge:
            try:
                if not solutions.is_inside(below(inside)):
                    outside = below(inside)
                    break
            except NotConverged:  # the equations are singular at zero
                if below(inside) < SMALL**2 * edge:
                    break
                raise
            inside = below(inside)
        low = interval_end(solutions, outside, inside) if outside else 0.0
        x = [y for y in sorted(solutions.solved) if low < y < high and solutions.is_inside(y)]
        rho = np.array([solutions.density(y) for y in x])
        intervals.append(BulkInterval.of(low, high, np.array(x), rho))
        mass -= intervals[-1].mass
        if mass < MAX_MASS_LEFT or not low:
            return intervals
        inside = outside
        while not solutions.is_inside(inside):
            outside, inside = inside, below(inside)
            if inside < MIN_TOUCHING_END * edge:
                return intervals
        high = interval_end(solutions, outside, inside)


def interval_end(solutions: Solutions, outside: float, inside: float) -> float:
    """Return where the bulk ends between two points: the zero of its squared density of log x."""

    def square(x: float) -> float:
        return float((x * solutions.density(x)) ** 2)

    last: tuple[float, float] | None = None
    before = 0.0
    for _ in range(MAX_PROBES):
        here = inside, square(inside)
        estimate = float(np.sqrt(outside * inside))
        if last is not None and here[1] < last[1]:
            share = here[1] / (last[1] - here[1])
            linear = here[0] * (here[0] / last[0]) ** share
            if min(outside, inside) < linear < max(outside, inside):
                estimate = linear
        if abs(estimate - before) < EDGE_TOLERANCE * estimate:
            break
        before, probe = estimate, estimate * (inside / estimate) ** PROBE
        if solutions.is_inside(probe):
            last, inside = here, probe
        else:
            outside = probe
    return estimate


# -- outliers --------------------------------------------------------------------------------


def find_outliers(solutions: Solutions, edge: float) -> list[tuple[float, Floats]]:
    """Return every eigenvalue beyond the edge, largest first, with squared cosines.

    They are those of its eigenvector with normalised He_1, He_2, ... of the learned index.
    """
    nearest = edge * (1 + MIN_DISTANCE)
    solutions.at(nearest)
    xs = [x for x in sorted(solutions.solved, reverse=True) if x >= nearest]
    counts = [_negative(solutions, x) for x in xs]
    isotropic = solutions.equations.steps.step.inputs.isotropic
    outliers = []
    for k in range(counts[0] - 1, counts[-1] - 1, -1):

        def sign(x: float, k: int = k) -> float:
            """Return a function that is negative beyond the outlier, positive before it."""
            if isotropic:
                return float(np.linalg.eigvalsh(_quadratic(solutions, x).H)[k])
            return k + 0.5 - _negative(solutions, x)

        i = next(i for i, count in enumerate(counts) if count <= k)
        x = scipy.optimize.brentq(sign, xs[i], xs[i - 1], rtol=EDGE_TOLERANCE / 10)
        smallest = min(abs(sign(xs[i])), abs(sign(xs[i - 1])))
        if isotropic and abs(sign(x)) > MAX_LEFT_AT_ZERO * smallest:
            continue  # a pole of the form
        outliers.append((float(x), _alignment(solutions, x)))
    return outliers


def _quadratic(solutions: Solutions, x: float) -> Quadratic:
    """Return the form of the special variables at an eigenvalue beyond the bulk."""
    return quadratic_problem(solutions.equations, _real(solutions.at(x)))


def _negative(solutions: Solutions, x: float) -> int:
    r"""Return how many eigenvalues of the form of all special variables are negative.

    Single directions r of the inputs are among them. Integrating them out leaves H, and

    .. math:: n_-(H) - n_-(C) + \sum_rn_-(V_r + Q) + \text{const}.
    """
    quadratic, inputs = _quadratic(solutions, x), solutions.equations.steps.step.inputs
    count = _negatives(quadratic.H)
    if not inputs.isotropic:
        singles = solutions.at(x).G_of_groups.real[inputs.single]
        count += sum(_negatives(G) for G in singles) - _negatives(quadratic.C)
    return count


def _negatives(form: Floats) -> int:
    return int((np.linalg.eigvalsh(form) < 0).sum())


def _real(state: State) -> State:
    rows = tuple(
        RowState(None if at.X is None else at.X.real, at.e.real, at.e_tilde.real, at.pi.real)
        for at in state.rows
    )
    names = [f.name for f in fields(State) if f.name != "rows"]
    return replace(state, rows=rows, **{name: getattr(state, name).real for name in names})


def _alignment(solutions: Solutions, x: float) -> Floats:
    """Return the squared cosines of the outlier at x; zero where it is not one of H."""
    h = 10 * EDGE_TOLERANCE * x
    (before, q), (after, _) = (np.linalg.eigh(_quadratic(solutions, y).H) for y in (x - h, x + h))
    k = int((before < 0).sum())
    if k == (after < 0).sum():
        return np.zeros(MAX_ALIGNMENT_DEGREE)

    def polynomials(index: Floats) -> Floats:
        return normalised_hermite(index, MAX_ALIGNMENT_DEGREE)[1:]

    state = _real(solutions.at(x))
    sides, squares = sides_of_functions(solutions.equations, state, polynomials)
    slope = (after[k] - before[k]) / (2 * h)
    return np.clip(-((sides @ q[:, k]) ** 2) / (x * slope * squares), 0.0, 1.0)


# -- all of it -------------------------------------------------------------------------------


def spectral_equations(laws: Laws) -> Equations:
    """Return the equations of the features: whether ridge fits a constant does not change them.

    Readouts are cut where fewer than one of N is expected.
    """
    neurons = replace(laws.neurons, reach=normal_cutoff(laws.neurons.N))
    return discretise(replace(laws, intercept=False, neurons=neurons), SPECTRAL_NODES)


@one_blas_thread
def uniform_spectrum(problem: Problem) -> Spectrum:
    """Return bulk density, edges and outliers at the actual strength of the steps.

    Holds for all that the equations of `uniform_errors` serve. Alignments are squared cosines with
    He_k of the learned index. Where a problem has several cases they are means over these.
    See docs/uniform.md; tests/theory/uniform/test_spectrum_matches_simulation.py.
    """
    require_covered(problem, SPECTRUM_FIELDS)
    require_derived(problem, None)
    if problem.sigma.variance == 0.0:
        covered = "activations that are not constant: equal features have no bulk"
        raise OutOfScope("uniform", "activation", covered=covered)
    # features of a linear activation have at most the rank of X
    rank = problem.N if problem.sigma.nonlinear_energy > 0 else min(problem.N, problem.d)
    atom = max(0.0, 1 - rank / problem.n)
    cases = [Solutions(spectral_equations(laws)) for laws in laws_of(problem)]
    bulks = [bulk_intervals(case, 1 - atom) for case in cases]
    outliers = [find_outliers(x, bulk[0].high) for x, bulk in zip(cases, bulks, strict=True)]

    def density(x: Floats) -> Floats:
        x = np.asarray(x, dtype=float)
        total = np.sum([interval.at(x) for bulk in bulks for interval in bulk], axis=0)
        return np.asarray(total / len(bulks))

    support = _union([(interval.low, interval.high) for bulk in bulks for interval in bulk])
    mass = sum(interval.mass for bulk in bulks for interval in bulk) / len(bulks)
    x = density_grid(support, DENSITY_POINTS)
    return Spectrum(
        problem=problem,
        method="uniform",
        edge=support[-1][1],
        lower_edge=support[0][0] or None,
        support=support,
        atom=atom,
        x=x,
        rho=density(x),
        spikes=make_spikes(problem.n, _mean_outliers(outliers, support[-1][1])),
        density=density,
        residual=max(case.residual for case in cases),
        iterations=sum(case.iterations for case in cases),
        warnings=_warnings(problem, atom + mass),
    )


def _union(intervals: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the union of intervals, left to right."""
    union: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if union and low <= union[-1][1]:
            union[-1] = (union[-1][0], max(high, union[-1][1]))
        else:
            union.append((low, high))
    return tuple(union)


def _mean_outliers(
    cases: list[list[tuple[float, Floats]]], edge: float
) -> list[tuple[float, Floats]]:
    """Return means of the k-th outliers over the cases that have them, if half of all do."""
    count = int(np.median([len(case) for case in cases]))
    means = []
    for k in range(count):
        at = [case[k] for case in cases if len(case) > k]
        means.append((float(np.mean([x for x, _ in at])), np.mean([c for _, c in at], axis=0)))
    return [outlier for outlier in means if outlier[0] > edge]


def _warnings(problem: Problem, mass: float) -> tuple[AssumptionWarning, ...]:
    """Return the reasons to distrust a spectrum; `mass` is that of its density and atom."""
    texts = {}
    if slope_kurtosis(problem.sigma) > MAX_SLOPE_KURTOSIS:
        texts["activation"] = (
            f"uniform spectrum: heavy-tailed activation {problem.sigma.name!r:.40}: single samples "
            "rule the largest eigenvalues, and the edge is not sharp"
        )
    if abs(mass - 1) > MAX_MASS_ERROR:
        texts["density"] = (
            f"uniform spectrum: the density and its atom have the mass {mass:.3g} instead of one"
        )
    return tuple(AssumptionWarning("uniform", name, text) for name, text in texts.items())

r"""The law of a row that was in the step and is in the ridge fit, and of a fresh row.

Leave row j out of the step: its index is that of a fresh row plus its own part in the direction,

.. math:: \kappa_j = \kappa_j^{fresh} + \varphi\ell_j r_j/b, \qquad
    \xi_j = (I - \vartheta\vartheta^\top)^{-1/2}(u_j - \vartheta\kappa_j),

with u the teacher's indices, :math:`\vartheta` their overlaps with v, and :math:`\ell` the squared
length of the row off v. The fit needs second moments of the *row variables*

.. math:: (1,\ \kappa,\ \xi_1..\xi_m,\ [t],\ r,\ \xi_i\xi_k - \delta_{ik},\ [f_\perp])

and of the label with them, given :math:`(\kappa, r, \ell)`; t is the coordinate along the readout
row off v and the teacher, and :math:`f_\perp` what is left of the initial output, both with the
full residual only. Bins of r, in each Gauss nodes of :math:`\kappa` (Lanczos on a fine grid);
moments by projection on polynomials.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions import index_calculus
from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.hermite import expect, gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.direction import mean_readout
from onegrad.theory.uniform import rules
from onegrad.theory.uniform.first_step import StepNumbers, take_step
from onegrad.theory.uniform.laws.labels import LabelLaw, labels_given_index, off_root, unit_linear
from onegrad.theory.uniform.quadrature_nodes import sample_nodes
from onegrad.theory.uniform.rules import TWO_POINT_NODES, GradedRule

Counts = np.ndarray[Any, np.dtype[np.intp]]

FINE_NODES = {1: 20, 2: 14, 3: 9, 4: 6, 5: 5, 6: 4}  # of each index, by the number of indices
MAX_INDICES = 6
KINKED_NODES = (41, 48)  # of the fresh index, and of the teacher's off it, where it has kinks
# of a fresh index, over the width rho/s on which features change: at s/rho = 7 the test error is
# 83 % off with 20 points in all, and changes by 0.3 % with twice these. Without noise in r the
# points of a bin lie in clumps, one for each point of the other indices
POINTS_PER_WIDTH, POINTS_PER_WIDTH_WITHOUT_NOISE = 3.0, 6.0
MAX_POINTS = 400_000  # of one length, of which several indices may have fewer: 40 MB
RUNS_OF_ROWS = 100  # a tail is cut where fewer than one row of so many networks is expected
MIN_CUT_NODES = 7  # of a rule on a finite range
GAUSSIAN_NOISE_NODES, OUTPUT_NODES = 8, 7
INDEPENDENT_NODES = 3  # of an index that the label does not depend on: fourth moments are exact
MIN_PROBABILITY = 1e-12  # of a point of the fine grid
MIN_RELATIVE_NORM = 1e-9  # of a polynomial off those before it: below, a bin has no more nodes


@dataclass(frozen=True)
class RowLayout:
    """Places of the row variables: 1, the special directions, r, quadratic functions, f_perp."""

    indices: int  # number of the teacher's indices, m
    full: bool  # whether t and f_perp are among them

    @property
    def directions(self) -> int:
        """Number of special directions: v, those of the teacher off v, that of the readout row."""
        return 1 + self.indices + self.full

    @property
    def residual(self) -> int:
        """Place of r."""
        return 1 + self.directions

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs (i, k), i <= k, of the teacher's directions whose products are row variables."""
        return tuple(itertools.combinations_with_replacement(range(self.indices), 2))

    @property
    def quadratic(self) -> int:
        """Place of the first product."""
        return self.residual + 1

    @property
    def rest(self) -> int:
        """Place of f_perp, with the full residual."""
        return self.quadratic + len(self.pairs)

    @property
    def count(self) -> int:
        """Number of row variables."""
        return self.rest + self.full


@dataclass(frozen=True)
class RowPopulation:
    """A population of rows: G groups of equal length and nearly equal residual, K nodes each."""

    layout: RowLayout
    length: Floats  # (G,) squared length off v
    residual_mean: Floats  # (G,) E r in a group
    residual_square: Floats  # (G,) E r^2
    p: Floats  # (G, K) probability (zero pads a group)
    kappa: Floats  # (G, K) index
    residual: Floats  # (G, K) E[r | node]
    moments: Floats  # (G, K, q, q) second moments of the row variables given the node
    label: Floats  # (G, K, q) E[y variable | node]
    label_square: Floats  # (G, K) E[y^2 | node]


@dataclass(frozen=True)
class TrainingRows:
    """Rows of the step with what M and S are made of."""

    rows: RowPopulation
    residual_mean: float  # E r
    residual_square: float  # E r^2
    M: Floats  # E[r X_a X_b] over v and the teacher's directions off v
    S: Floats  # E[r^2 X_a X_b] over them


@dataclass(frozen=True)
class RowGrid:
    """The law of rows of one length on points, in the order of r."""

    layout: RowLayout
    length: float  # squared length off v
    # row variables and label, less what is not resolved by the points
    variables: Floats  # (q, J)
    label: Floats  # (J,)
    p: Floats  # (J,)
    label_noise: float  # variance of what y lacks
    rest_noise: float  # of what f_perp lacks
    shared_noise: float  # their covariance

    @property
    def residual(self) -> Floats:
        """The residual at the points, (J,)."""
        return self.variables[self.layout.residual]


def step_on_its_rows(problem: Problem, constant: float) -> StepNumbers:
    r"""Return the numbers of the step with the length b that its own rows see, to order 1/d.

    .. math:: b^2 = (1 - \tfrac1n)|E[ry]|^2 + \varphi E[r^2|x|^2/d]

    Rows with a large residual are longer: :math:`E[r^2|x|^2]/d = E r^2 + E[r^2(|u|^2 - m)]/d`. With
    this b the law of training rows has :math:`E[r\kappa] = b` and :math:`E[r\xi] = 0`.
    """
    labels, step = LabelLaw.of(problem), take_step(problem, constant)
    full = problem.residual == "full"
    signal = step.theta * step.b
    linear = signal**2 + full * step.c1**2
    longer = (1 - labels.replaced) * energy_of_long_rows(labels.teacher) + 2 * full * step.c1**2
    b = float(np.sqrt(step.b**2 - linear / problem.n + problem.phi * longer / problem.d))
    theta, backward = signal / b, full * step.c1 / b
    sideways = backward * theta / np.sqrt(1 - theta**2)
    return replace(step, b=b, theta=theta, backward=backward, sideways=sideways)


def energy_of_long_rows(f: Function | MultiIndex) -> float:
    """Return E[f^2 (|u|^2 - m)] over the indices u."""
    if isinstance(f, Function):
        return expect(lambda z: f(z) ** 2 * (z * z - 1), f.kinks)
    degrees = ((monomial, c) for monomial, c in index_calculus.square(f.terms))
    return float(sum(2 * c for monomial, c in degrees if [k for _, k in monomial] == [2]))


def readout_row(step: StepNumbers) -> Floats:
    """Return u = W_0^T a in the basis (v, the teacher's direction off v, the rest)."""
    rest = np.sqrt(max(1 - step.backward**2 - step.sideways**2, 0.0))
    return np.array([-step.backward, step.sideways, rest])


@lru_cache(maxsize=2)  # weak steps have one grid for all levels; two constants of the output
def fine_grids(
    problem: Problem, step: StepNumbers, fresh_points: int = 0
) -> tuple[RowGrid, RowGrid]:
    """Return the law of the rows of the step on fine grids, one for each of two lengths.

    fresh_points : of the fresh index, where these are more than `FINE_NODES`. Along it the fit
        changes as fast as features do; other indices and the noise move kappa by their part in r.
    """
    labels = LabelLaw.of(problem)
    layout = RowLayout(labels.indices, problem.residual == "full")
    lengths = (1 + TWO_POINT_NODES * np.sqrt(2 / problem.d)).tolist()
    long, short = (
        _fine_grid(problem, step, labels, layout, length, fresh_points) for length in lengths
    )
    return long, short


def fresh_points_needed(problem: Problem, strength: float) -> int:
    r"""Return the number of points of a fresh index that resolves features; 0 if the usual do.

    Features change over :math:`\rho/s`, the inverse of the strength, and the index is on
    :math:`\pm` the cutoff.
    """
    m, blurred = LabelLaw.of(problem).indices, problem.noise > 0 or problem.residual == "full"
    per_width = POINTS_PER_WIDTH if blurred else POINTS_PER_WIDTH_WITHOUT_NOISE
    edge = rules.normal_cutoff(RUNS_OF_ROWS * problem.n)
    others = FINE_NODES[m] ** m * (GAUSSIAN_NOISE_NODES if blurred else 1)
    others *= OUTPUT_NODES if problem.residual == "full" else 1
    count = min(int(np.ceil(per_width * 2 * edge * strength)), MAX_POINTS // others)
    return count if count > FINE_NODES[m] else 0


def residual_moments(grids: tuple[RowGrid, RowGrid]) -> tuple[float, float]:
    """Return E r and E r^2."""
    mean, square = (sum(float(grid.p @ grid.residual**k) for grid in grids) / 2 for k in (1, 2))
    return mean, square


def training_rows(
    grids: tuple[RowGrid, RowGrid], energy: float, bins: int, nodes: int
) -> TrainingRows:
    """Return the law of the rows of the step: bins of r, and nodes of the index in each.

    Bins have equal shares of p (1 + r^2/E r^2), for each of two lengths. Labels keep their mean
    square `energy`: what a tail has is as good as noise.
    """
    layout = grids[0].layout
    plane = slice(1, 2 + layout.indices)
    mean, square = residual_moments(grids)
    x = np.hstack([grid.variables[plane] for grid in grids])
    r, share = (np.hstack([grid.residual for grid in grids]), np.hstack([g.p / 2 for g in grids]))
    M, S = ((x * (share * r**k)) @ x.T for k in (1, 2))
    columns = zip(*[_binned(grid, square, bins, nodes) for grid in grids], strict=True)
    rows = RowPopulation(layout, *(np.concatenate(column) for column in columns))
    p = rows.p / rows.p.sum()
    label_square = rows.label_square * (energy / (p * rows.label_square).sum())
    return TrainingRows(replace(rows, p=p, label_square=label_square), mean, square, M, S)


def fresh_rows(problem: Problem, step: StepNumbers, rule: GradedRule, nodes: int) -> RowPopulation:
    """Return the law of rows that the step has not seen, with labels that nobody replaced."""
    labels = replace(LabelLaw.of(problem), replaced=0.0)
    layout = RowLayout(labels.indices, problem.residual == "full")
    kappa, length, p = sample_nodes(problem.d, rule, nodes)
    Y0, Y1, hessian, Y2 = labels_given_index(
        labels, step.theta * unit_linear(labels), kappa, length, p
    )
    J, q, m = len(kappa), layout.count, layout.indices
    moments, label = np.zeros((J, q, q)), np.zeros((J, q))
    moments[:, 0, 0], moments[:, 1, 1] = 1.0, kappa**2
    moments[:, 0, 1] = moments[:, 1, 0] = kappa
    off = range(2, layout.residual)
    moments[:, off, off] = length[:, None]
    label[:, 0], label[:, 1] = Y0, kappa * Y0
    label[:, 2 : 2 + m] = (Y1 * np.sqrt(length)).T
    for place, (i, k) in enumerate(layout.pairs, layout.quadratic):
        same = float(i == k)
        excess = same * (length - 1)
        moments[:, place, 0] = moments[:, 0, place] = excess
        moments[:, place, 1] = moments[:, 1, place] = kappa * excess
        moments[:, place, place] = (1 + 2 * same) * length**2 - same * (2 * length - 1)
        label[:, place] = length * (length * hessian[i, k] + same * Y0) - same * Y0
        for other, (j, h) in enumerate(layout.pairs, layout.quadratic):
            if i == k and j == h and other != place:
                moments[:, place, other] = (length - 1) ** 2
    square = Y0**2 + (Y1**2).sum(0) + Y2
    groups = (2, nodes)
    zeros = np.zeros(groups)
    return RowPopulation(
        layout,
        length.reshape(groups)[:, 0],
        zeros[:, 0],
        zeros[:, 0],
        p.reshape(groups),
        kappa.reshape(groups),
        zeros,
        moments.reshape(*groups, q, q),
        label.reshape(*groups, q),
        square.reshape(groups),
    )


def _fine_grid(
    problem: Problem,
    step: StepNumbers,
    labels: LabelLaw,
    layout: RowLayout,
    length: float,
    fresh_points: int,
) -> RowGrid:
    """Return the law of a row of given length; a replaced label has points of its own."""
    shares = {False: 1 - labels.replaced, True: labels.replaced}
    parts = [
        (share, _points(problem, step, labels, layout, length, replaced, fresh_points))
        for replaced, share in shares.items()
        if share > 0
    ]
    variables = np.concatenate([grid.variables for _, grid in parts], 1)
    order = np.argsort(variables[layout.residual], kind="stable")
    return replace(
        parts[0][1],
        variables=variables[:, order],
        label=np.concatenate([grid.label for _, grid in parts])[order],
        p=np.concatenate([share * grid.p for share, grid in parts])[order],
    )


def _points(
    problem: Problem,
    step: StepNumbers,
    labels: LabelLaw,
    layout: RowLayout,
    length: float,
    replaced: bool,
    fresh_points: int,
) -> RowGrid:
    """Return points of the law of a row; `replaced` labels do not depend on the row's indices."""
    f, m, full, theta = labels.teacher, layout.indices, layout.full, step.theta
    kinked = isinstance(f, Function) and bool(f.kinks)
    edge = rules.normal_cutoff(RUNS_OF_ROWS * problem.n)
    teacher_rule = _even_rule(KINKED_NODES[1], edge) if kinked else _index_rule(m, edge)
    if kinked and not replaced:
        fresh_rule = _even_rule(max(KINKED_NODES[0], fresh_points), edge)
    elif fresh_points:
        fresh_rule = rules.cut_gaussian(fresh_points, edge)
    else:
        fresh_rule = _index_rule(m, edge)
    off_rule = gauss_hermite(INDEPENDENT_NODES) if replaced else teacher_rule
    rest = max(problem.sigma.variance - step.c1**2, 0.0) if full else 0.0  # E f_perp^2
    gaussian = labels.law.name == "gaussian"
    own, gaussian_noise = (0.0, labels.noise) if gaussian else (labels.noise, 0.0)
    total = float(np.sqrt(gaussian_noise**2 + rest))
    axis_rules = [
        fresh_rule,
        *[off_rule] * m,
        rules.cut_gaussian(OUTPUT_NODES, edge) if full else rules.ONE_NODE,
        rules.noise_nodes(labels.law, problem.rows_of_step) if own else rules.ONE_NODE,
        rules.cut_gaussian(GAUSSIAN_NOISE_NODES, edge) if total else rules.ONE_NODE,
        *([teacher_rule] * m if replaced else []),
    ]
    axes, p = rules.product_rule(axis_rules)
    x = axes[1 : 1 + m]
    p = p * _fixed_length_density(x, problem.d)
    positive = p > MIN_PROBABILITY
    axes, p = axes[:, positive], p[positive] / p[positive].sum()
    fresh, x, t_off, e, gauss = (
        axes[0], axes[1 : 1 + m], axes[1 + m], axes[2 + m], axes[3 + m],
    )  # fmt: skip
    overlaps = theta * unit_linear(labels)
    unit = overlaps / theta if theta else overlaps
    root = off_root(overlaps)
    u = overlaps[:, None] * fresh + np.sqrt(length) * (root @ x)
    clean = labels.at_indices(axes[4 + m :] if replaced else u)
    share = gaussian_noise**2 / total if total else 0.0  # of the Gaussian in the label
    y = clean + own * e + share * gauss
    r = clean + own * e + total * gauss
    row = readout_row(step)
    if full:
        t = row[0] * fresh + np.sqrt(length) * (row[1] * (unit @ x) + row[2] * t_off)
        coherent = mean_readout(problem) * np.sqrt(problem.N) * step.c2 * (length - 1)
        r = r - step.c1 * t + step.residual_mean - coherent
    own_length = length + (fresh**2 - 1) / problem.d
    kappa = fresh + problem.phi_step * own_length * r / step.b
    xi = np.linalg.solve(root, u - overlaps[:, None] * kappa)
    variables = [np.ones_like(r), kappa, *xi]
    if full:
        along = row[0] * kappa + row[1] * (unit @ xi)
        variables.append((t - along) / max(row[2], 1e-9))
    variables.append(r)
    variables += [xi[i] * xi[j] - (i == j) for i, j in layout.pairs]
    if full:
        variables.append(-np.sqrt(rest) / total * gauss if rest else np.zeros_like(r))
    noise, weight = axis_rules[2 + m]
    # of the label noise beyond its nodes, where a tail was cut
    cut = own**2 * max(1 - float(weight @ noise**2), 0.0) if own else 0.0
    return RowGrid(
        layout,
        length,
        np.array(variables),
        y,
        p,
        label_noise=gaussian_noise**2 - share**2 + cut,
        rest_noise=1 - rest / total**2 if rest else 1.0,
        shared_noise=gaussian_noise**2 * np.sqrt(rest) / total**2 if rest else 0.0,
    )


def _fixed_length_density(x: Floats, d: int) -> Floats:
    """Return the density over the Gaussian one of m coordinates of a vector of fixed length."""
    m, square = len(x), (x**2).sum(0)
    return 1 - (square**2 - 2 * (m + 2) * square + m * (m + 2)) / (4 * d)


def _index_rule(indices: int, edge: float) -> tuple[Floats, Floats]:
    """Return a rule for one of several indices; with few nodes it has no tail to cut."""
    k = FINE_NODES[indices]
    return rules.cut_gaussian(k, edge) if k >= MIN_CUT_NODES else gauss_hermite(k)


def _even_rule(k: int, edge: float) -> tuple[Floats, Floats]:
    """Return the trapezoidal rule for a standard normal: it serves functions with kinks."""
    x = np.linspace(-edge, edge, k)
    p = np.exp(-x * x / 2)
    p /= p.sum()
    return x / np.sqrt(p @ (x * x)), p


def _binned(grid: RowGrid, square: float, bins: int, nodes: int) -> tuple[Floats, ...]:
    """Return the fields of `RowPopulation` of one length: a group for each bin of r.

    The Gauss nodes of the index in a bin are those of its Jacobi matrix, in orthonormal polynomials
    by a QR decomposition. Moments at a node are projections on these polynomials, evaluated there.
    """
    layout, q = grid.layout, grid.layout.count
    variables, p, r = grid.variables, grid.p / 2, grid.residual
    mass = np.cumsum(p * (1 + r * r / square))
    place = np.minimum((mass / mass[-1] * bins).astype(int), bins - 1)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    sizes = np.diff(starts, append=len(r))
    powers = _scaled_powers(variables[1], starts, sizes, nodes)
    root, kappa = np.sqrt(p), variables[1][:, None]
    with_label = np.vstack([variables, grid.label])
    J = np.zeros((len(starts), nodes, nodes))
    projected = np.empty((len(starts), nodes, q + 1, q + 1))
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        at = slice(start, start + size)
        Q = _orthonormal(powers[at] * root[at, None])  # sqrt(p) times polynomials
        J[i] = Q.T @ (kappa[at] * Q)
        x = with_label[:, at]
        weighted = (Q * root[at, None]).T[:, None] * x
        projected[i] = (weighted.reshape(-1, size) @ x.T).reshape(projected[i].shape)
    index, vectors = np.linalg.eigh(J)
    first = vectors[:, 0]
    # a bin of fewer points has decoupled nodes without weight: they repeat another one
    largest = np.argmax(first**2, 1)[:, None]
    node = np.where(first == 0.0, largest, np.arange(nodes))
    index = np.take_along_axis(index, node, 1)
    share = np.add.reduceat(p, starts)
    values = vectors / np.where(first == 0.0, 1.0, first)[:, None]  # polynomials at the nodes
    values = np.take_along_axis(values, node[:, None], 2) / np.sqrt(share)[:, None, None]
    means = (values.swapaxes(1, 2) @ projected.reshape(len(starts), nodes, -1)).reshape(
        projected.shape
    )
    moments, label = means[..., :q, :q].copy(), means[..., q, :q].copy()
    if layout.full:
        moments[..., layout.rest, layout.rest] += grid.rest_noise - 1  # the fit has counted one
        label[..., layout.rest] += grid.shared_noise
    mean, mean_square = (np.add.reduceat(p * r**k, starts) / share for k in (1, 2))
    return (
        np.full(len(starts), grid.length),
        mean,
        mean_square,
        share[:, None] * first**2,
        index,
        moments[..., 0, layout.residual],
        moments,
        label,
        means[..., q, q] + grid.label_noise,
    )


def _scaled_powers(x: Floats, starts: Counts, sizes: Counts, k: int) -> Floats:
    """Return Chebyshev polynomials of x, scaled to each bin's range, (J, k)."""
    low, high = np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)
    half = np.maximum((high - low) / 2, MIN_RELATIVE_NORM)
    t = (x - np.repeat((low + high) / 2, sizes)) / np.repeat(half, sizes)
    return np.polynomial.chebyshev.chebvander(t, k - 1)


def _orthonormal(columns: Floats) -> Floats:
    """Return orthonormal columns that span those before them too, zero where they are dependent."""
    size, k = columns.shape
    Q, R = np.linalg.qr(columns[:, : min(size, k)])
    diagonal = np.abs(np.diag(R))
    Q = Q * np.sign(R[0, 0])
    if size < k or diagonal.min() < MIN_RELATIVE_NORM * diagonal[0]:
        rank = int(np.argmax(np.append(diagonal, 0.0) < MIN_RELATIVE_NORM * diagonal[0]))
        Q = np.hstack([Q[:, :rank], np.zeros((size, k - rank))])
    return Q

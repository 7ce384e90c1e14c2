r"""Populations of rows: in the step, in ridge, or in both.

Leave a row of the step out of it: its coordinates in the primitive directions (`step`) are those of
a fresh row plus its own parts, with its squared length :math:`\ell` over d,

.. math:: u = u^{fresh},\qquad n\cdot x = (n\cdot x)^{fresh} + \varphi_0\ell r/|n|, \qquad
    \hat e\cdot x = t' + \varphi_0 y/\tau\ \text{(a fit, see `labels`)}.

The frame of the step makes of them the index :math:`\kappa = v\cdot x` and the coordinates
:math:`\xi` along the special directions off v: :math:`E[r\kappa] = b`, :math:`E[r\xi] = 0` by
themselves. Off the special directions rows obey :math:`\sum_j c(j)x_j = 0` for each orthonormal
combination c of r and of what a fit of the labels is orthogonal to: *constraints*.

The fit of the labels needs second moments of the *row variables*

.. math:: (1,\ \kappa,\ \xi_1..\xi_{p-1},\ \sqrt{\varphi_0}\,c,\ \xi_i\xi_k - \delta_{ik},\
    [f_\perp])

and of the label with them; :math:`f_\perp` is what the initial output has beyond its linear part.
Rows of step and ridge have groups of equal length and nearly equal r, with nodes of the index in
each; rows of the step alone nodes of r only; fresh rows nodes of the index.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.uniform.laws.labels import LabelLaw, labels_given_index, off_root
from onegrad.theory.uniform.rules import (
    ONE_NODE,
    TWO_POINT_NODES,
    GradedRule,
    conditional_gauss,
    cut_gaussian,
    even_rule,
    noise_nodes,
    normal_cutoff,
    product_rule,
)

if TYPE_CHECKING:  # a step is made of laws
    from onegrad.theory.uniform.laws.inputs import Inputs
    from onegrad.theory.uniform.step import Step

INDEX_POINTS = {1: 20, 2: 14, 3: 9, 4: 6, 5: 5, 6: 4}  # of each index, by the number of indices
KINKED_POINTS = (41, 48)  # of the fresh index, and of the teacher's, where it has kinks
MIN_INDEX_POINTS = 3  # of more indices
# of a rule on a finite range; with 9 the mean square of a quadratic label was 6 % off
MIN_CUT_POINTS = 12
# features change over rho/s of the index. With 20 points the error of s/rho = 7 was 80 to 390 %;
# two for each such width leave 2 to 4 %, as three do
POINTS_PER_WIDTH = 2.0
MAX_ROW_POINTS = 200_000  # of all axes together; not tuned
RUNS_OF_ROWS = 100  # a tail is cut where fewer than one row of so many networks is expected
GAUSSIAN_NOISE_POINTS, OUTPUT_POINTS = 8, 7
SPLIT_POINTS = 6  # of both and the readout row, where noise and output have an axis each
INDEPENDENT_POINTS = 3  # of an index that the label does not depend on: fourth moments are exact
MIN_PROBABILITY = 1e-12  # of a point
MIN_GROUP = 1e-6  # of a group of rows by index and residual
SMALL_LENGTH = 1e-3  # by which labels know the curvature where a covariance fixes their lengths
MIN_SECOND_BINS = 6  # of the index off v, in a bin of r
SECOND_POINTS = 12  # of the index off v, which features know less
MIN_INDEX_SPREAD = 1e-6  # variance of a label's index that two others leave
LABEL_BEND_STEP = 0.05  # of the label's index, for its mean second derivative
MIN_CONSTRAINT = 1e-12  # of the mean square of a row function: what is left of it is rounding


@dataclass(frozen=True)
class Rows:
    """A population of rows: whether in the step and in ridge, and how many."""

    step: bool
    ridge: bool
    count: int


def populations(problem: Problem) -> tuple[Rows, ...]:
    """Return the populations of rows of a problem."""
    n, n0 = problem.n, problem.rows_of_step
    if problem.ridge_rows == "fresh":
        return Rows(True, False, n0), Rows(False, True, n)
    rows = [Rows(True, True, min(n, n0))]
    if n0 > n:
        rows.append(Rows(True, False, n0 - n))
    if n > n0:
        rows.append(Rows(False, True, n - n0))
    return tuple(rows)


@dataclass(frozen=True)
class Size:
    """Size of rows, and how many have it."""

    length: float  # squared length over d
    special: float  # mean square of coordinates along special directions
    share: float


def row_sizes(inputs: Inputs, deviation: float) -> list[Size]:
    """Return the sizes of rows, whose squared lengths have a relative deviation.

    Where inputs have a covariance it says what special directions have; only a scale that all
    coordinates of a row share moves them.
    """
    signs = TWO_POINT_NODES if deviation else np.zeros(1)
    sizes = []
    for scale, weight in zip(*inputs.scales, strict=True):
        for change in 1 + signs * deviation:
            special = change if inputs.isotropic else 1.0
            sizes.append(Size(float(scale * change), float(scale * special), weight / len(signs)))
    return sizes


@dataclass(frozen=True)
class RowVariables:
    """Places of the row variables: 1, special directions, constraints, products, f_perp."""

    directions: int  # p
    constraints: int
    indices: int  # m, of the labels
    # whether f_perp is among them: what the initial output has beyond its linear part; and that of
    # the output after a first step
    rests: int

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs (i, k), i <= k, of the labels' directions whose products are row variables."""
        return tuple(itertools.combinations_with_replacement(range(self.indices), 2))

    @property
    def fields(self) -> int:
        """Number of directions and constraints."""
        return self.directions + self.constraints

    @property
    def residual(self) -> int:
        """Place of the first constraint, the residual."""
        return 1 + self.directions

    @property
    def products(self) -> int:
        """Place of the first product."""
        return 1 + self.fields

    @property
    def rest(self) -> int:
        """Place of f_perp."""
        return self.products + len(self.pairs)

    @property
    def count(self) -> int:
        """Number of row variables."""
        return self.rest + self.rests


@dataclass(frozen=True)
class RowPoints:
    """The law of a row of the step, of one size, on points (J,)."""

    size: Size
    primitives: Floats  # (P, J) coordinates in the primitive directions
    fresh: Floats  # (J,) index of the row left out of the step, where it has an axis
    r: Floats  # residual
    y: Floats  # label, less what is taken off it
    # (2, J) row functions c of which sum_j c(j) x_j = 0: of the step, and of a fit
    constraint_functions: Floats
    p: Floats  # probability
    rest: Floats  # f_perp
    axes: Floats  # (A, P) directions that points resolve; the others are independent and normal
    # variances of y and f_perp that points do not resolve, and their covariance
    label_noise: float
    rest_noise: float
    shared_noise: float


@dataclass(frozen=True)
class StepMoments:
    """Moments of the rows of the step."""

    mean: float  # E[l r]
    square: float  # E[l r^2]
    M: Floats  # (p, p) E[r X X^T] of special directions
    S: Floats  # (p, p) E[r^2 X X^T]
    # (k, 2): combinations of (r, fitted) that are orthonormal, times root phi_0
    constraints: Floats


@dataclass(frozen=True)
class Population:
    """Rows in groups (G) of equal length and residual, and nodes (K) in each.

    Rows of the step alone have no index: K is one, and only moments of directions and constraints.
    """

    rows: Rows
    length: Floats  # (G,)
    r: Floats  # (G,) mean of r' = r n/n_0
    r2: Floats  # (G,) mean of r'^2
    mass: Floats  # (G, K) rows over n
    kappa: Floats  # (G, K)
    residual: Floats  # (G, K) E[r | node]
    moments: Floats  # (G, K, q, q) second moments of the row variables
    label: Floats  # (G, K, q) E[y variable]
    label_square: Floats  # (G, K) E y^2
    second: Floats | None = None  # (G, K) index along a second direction, where nodes resolve it


def points_of_step(
    step: Step, sizes: Sequence[Size], steepness: float | None
) -> tuple[RowPoints, ...]:
    """Return the law of the rows of the step, for each of some sizes.

    steepness : of the features over the index, which has an axis then; None where these rows have
        no loss, and features.
    """
    q = step.labels.replaced
    laws = []
    for size in sizes:
        parts = [
            (share, _points(step, size, steepness, bool(replaced)))
            for replaced, share in enumerate((1 - q, q))
            if share > 0
        ]
        laws.append(_mixture(parts))
    return tuple(laws)


def _mixture(parts: list[tuple[float, RowPoints]]) -> RowPoints:
    if len(parts) == 1:
        return parts[0][1]
    names = ("primitives", "fresh", "r", "y", "constraint_functions", "rest")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(x, name) for _, x in parts], -1) for name in names
    }
    return replace(parts[0][1], p=np.concatenate([share * x.p for share, x in parts]), **joined)


def _points(step: Step, size: Size, steepness: float | None, replaced: bool) -> RowPoints:
    """Return points of rows whose labels belong to them, or are `replaced`."""
    length = size.length
    labels, fit, inputs, phi0 = step.labels, step.labels.fit, step.inputs, step.phi0
    m, mt, full, d = step.indices, labels.teacher_indices, step.full, step.inputs.d
    index = steepness is not None
    n0 = step.laws.step_count
    edge = normal_cutoff(RUNS_OF_ROWS * n0)
    rest = step.output_rest
    gaussian = labels.law.name == "gaussian"
    own, own_gaussian = (0.0, labels.noise) if gaussian else (labels.noise, 0.0)
    split = fit.has_direction and rest > 0 and own_gaussian > 0
    total = own_gaussian if split else float(np.hypot(own_gaussian, np.sqrt(rest)))
    noise, output = (SPLIT_POINTS,) * 2 if split else (GAUSSIAN_NOISE_POINTS, OUTPUT_POINTS)
    others = [
        noise_nodes(labels.law, n0) if own else ONE_NODE,
        cut_gaussian(noise, edge) if total else ONE_NODE,
        cut_gaussian(output, edge) if split else ONE_NODE,
    ]
    along_row = [cut_gaussian(output, edge)] * full
    first, teacher = _index_rules(step, edge, steepness or 0.0, replaced, [*along_row, *others])
    own_indices = gauss_hermite(INDEPENDENT_POINTS) if replaced else teacher
    of_fit = gauss_hermite(INDEX_POINTS.get(m, MIN_INDEX_POINTS))  # in which labels are linear
    indices = [*[own_indices] * mt, *[of_fit] * (m - mt)]
    rules = [*[first] * index, *indices, *along_row, *others, *[teacher] * (mt * replaced)]
    axes, p = product_rule(rules)
    P = step.frame.shape[1]
    A = step.frame[: 1 + step.primitives] if index else np.eye(P)[: step.primitives]
    k = len(A)
    if index and inputs.isotropic:
        p = p * _fixed_length_density(axes[1 : 1 + m], d)
    likely = p > MIN_PROBABILITY
    axes, p = axes[:, likely], p[likely] / p[likely].sum()
    x = axes[:k] * np.sqrt(size.special)
    if index:
        x[0] = axes[0]
    primitives = A.T @ x
    own_noise, gauss, second_gauss = axes[k], axes[k + 1], axes[k + 2]
    clean = labels.at_indices(axes[k + 3 :] if replaced else primitives[:mt])
    share = own_gaussian if split else (own_gaussian**2 / total if total else 0.0)
    y = clean + own * own_noise + share * gauss
    r = clean + own * own_noise + total * gauss + (np.sqrt(rest) * second_gauss if split else 0.0)
    fitted, removed = y, np.full_like(y, fit.mean)
    if fit.has_direction:
        nonlinear = y - fit.mean - fit.linear @ primitives[:mt]
        about = nonlinear if fit.least_squares else y
        primitives[mt] *= 1 - phi0 * fit.least_squares
        primitives += np.outer(step.own_of_fit, about)
        removed = fit.mean + fit.linear @ primitives[:mt] + fit.noise * primitives[mt]
    y, r = y - removed, r - removed
    if fit.least_squares:
        fitted = y
    if full:
        r = r - step.scale * step.activation.c1 * (step.row[: m + 1] @ primitives[: m + 1])
        r = r - step.scale * step.laws.update.constant - step.coherent * (length - 1)
    if step.noise_size:
        free = r if step.preconditioner is None else r - step.b * axes[0]
        if fit.has_direction:
            free = free - float(p @ (free * fitted)) / float(p @ fitted**2) * fitted
        own_length = length + ((axes[0] ** 2 - 1) / d if index else 0.0)
        own_part = phi0 * own_length * step.kept_fraction(own_length) / step.kept_fraction(1.0)
        primitives[step.primitives] += own_part * free / step.noise_size
    constraint_functions = np.array([r, fitted])
    if step.preconditioner is not None:
        constraint_functions[0] -= step.b * (step.frame[0] @ primitives)
    nodes, weights = others[0]
    cut = own**2 * max(1 - float(weights @ nodes**2), 0.0) if own else 0.0
    mixed = bool(rest) and not split
    return RowPoints(
        size,
        primitives,
        axes[0],
        r,
        y,
        constraint_functions,
        p,
        rest=-np.sqrt(rest) / total * gauss if mixed else -second_gauss,
        axes=A,
        label_noise=own_gaussian**2 - share**2 + cut,
        rest_noise=1 - rest / total**2 if mixed else float(not split),
        shared_noise=own_gaussian**2 * np.sqrt(rest) / total**2 if mixed else 0.0,
    )


def _index_rules(
    step: Step,
    edge: float,
    steepness: float,
    replaced: bool,
    others: list[tuple[Floats, Floats]],
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return the rules of the fresh index and of the teacher's, among `others`."""
    f, m = step.labels.teacher, step.indices
    kinked = isinstance(f, Function) and bool(f.kinks)
    fewest = INDEX_POINTS.get(m, MIN_INDEX_POINTS)
    points = max(fewest, int(np.ceil(2 * POINTS_PER_WIDTH * edge * steepness)))
    beside = float(np.prod([len(x) for x, _ in others]))
    largest = int((MAX_ROW_POINTS / beside) ** (1 / (1 + m)))
    points = min(points, max(largest, fewest))

    def smooth() -> tuple[Floats, Floats]:
        return cut_gaussian(points, edge) if points >= MIN_CUT_POINTS else gauss_hermite(points)

    if not kinked:
        return smooth(), smooth()
    first, teacher = (even_rule(max(k, points), edge) for k in KINKED_POINTS)
    return smooth() if replaced else first, teacher


def step_length(step: Step, length: Any) -> Any:
    """Return the squared length of a row's special coordinates, which a covariance fixes."""
    return length if step.inputs.isotropic else np.ones_like(length)


def _fixed_length_density(x: Floats, d: int) -> Floats:
    """Return the density over the Gaussian one of m coordinates of a vector of fixed length."""
    m, square = len(x), (x**2).sum(0)
    return 1 - (square**2 - 2 * (m + 2) * square + m * (m + 2)) / (4 * d)


def unresolved(step: Step, points: RowPoints) -> Floats:
    """Return the covariance, on the special directions, of the coordinates without an axis."""
    A = points.axes
    off = step.frame @ (np.eye(A.shape[1]) - A.T @ A) @ step.frame.T
    return points.size.special * off


def step_moments(step: Step, laws: tuple[RowPoints, ...]) -> StepMoments:
    """Return the moments of the rows of the step over all lengths."""
    # longer rows count more
    mean, square = (
        sum(x.size.share * x.size.length * float(x.p @ x.r**k) for x in laws) for k in (1, 2)
    )
    M, S = (np.zeros((step.directions, step.directions)) for _ in range(2))
    gram = np.zeros((2, 2))
    for x in laws:
        X = step.frame @ x.primitives
        rest = unresolved(step, x)
        share = x.size.share
        M += share * ((X * (x.p * x.r)) @ X.T + float(x.p @ x.r) * rest)
        S += share * ((X * (x.p * x.r**2)) @ X.T + float(x.p @ x.r**2) * rest)
        gram += share * (x.constraint_functions * x.p) @ x.constraint_functions.T
    fit = step.labels.fit
    vectors = np.eye(2)[: 1 + fit.has_direction]
    constraints: list[Floats] = []
    for vector in vectors:
        rest = vector
        for other in constraints:
            rest = rest - (other @ gram @ rest) * other
        norm = float(rest @ gram @ rest)
        if norm > MIN_CONSTRAINT * gram.max():
            constraints.append(rest / np.sqrt(norm))
    return StepMoments(mean, square, M, S, np.sqrt(step.phi0) * np.array(constraints))


def rows_of_step(
    step: Step, rows: Rows, laws: tuple[RowPoints, ...], moments: StepMoments, nodes: int
) -> Population:
    """Return rows without loss: Gauss nodes of r, and what special directions are at each."""
    n, n0 = step.laws.ridge_count, step.laws.step_count
    columns = []
    for x in laws:
        variables = np.vstack([step.frame @ x.primitives, _constraints(moments, x)])
        distinct = len(np.unique(np.round(x.r, 9)))
        r, weight, lift = conditional_gauss(x.r, x.p, min(nodes, distinct))
        second = _second_moments(lift, variables)
        second[:, : step.directions, : step.directions] += unresolved(step, x)
        columns.append((np.full(len(r), x.size.length), r, weight * x.size.share, second))
    length, r, weight, second = (np.concatenate(c) for c in zip(*columns, strict=True))
    none = np.zeros((len(r), 1))
    return Population(
        rows,
        length,
        r * n / n0,
        (r * n / n0) ** 2,
        mass=weight[:, None] * rows.count / n,
        kappa=none,
        residual=r[:, None],
        moments=second[:, None],
        label=none[..., None],
        label_square=none,
    )


def rows_by_index(
    step: Step,
    rows: Rows,
    laws: tuple[RowPoints, ...],
    moments: StepMoments,
    of: RowVariables,
    nodes: int,
    second: Floats | None = None,
) -> Population:
    """Return rows by their index, a group each: nodes of r for each value of the fresh one.

    second : (p,) direction along which these have bins, where it is given.
    """
    n, n0, q = step.laws.ridge_count, step.laws.step_count, of.count
    columns = []
    for x in laws:
        variables = _row_variables(step, x, moments, of)
        values, place = np.unique(x.fresh, return_inverse=True)
        off = 0 * x.r if second is None else second @ variables[1 : 1 + step.directions]
        for k in range(len(values)):
            of_index = np.flatnonzero(place == k)
            of_index = of_index[np.argsort(off[of_index], kind="stable")]
            parts = 1 if second is None else MIN_SECOND_BINS
            for part in _bins(off[of_index], x.p[of_index], parts):
                at = of_index[part]
                r, weight, lift = conditional_gauss(x.r[at], x.p[at] * x.size.share, nodes)
                likely = weight > MIN_GROUP
                square = _second_moments(lift[:, likely], variables[:, at])
                _add_unresolved(step, x, of, square)
                length = np.full(likely.sum(), x.size.length)
                columns.append((length, r[likely], weight[likely], square))
    length, r, weight, square = (np.concatenate(c) for c in zip(*columns, strict=True))
    mass = (weight / weight.sum() * rows.count / n)[:, None]
    square = square[:, None]
    return Population(
        rows,
        length,
        r * n / n0,
        (r * n / n0) ** 2,
        mass=mass,
        kappa=square[..., 0, 1],
        residual=r[:, None],
        moments=square[..., :q, :q],
        label=square[..., q, :q],
        label_square=square[..., q, q],
    )


def _row_variables(step: Step, points: RowPoints, moments: StepMoments, of: RowVariables) -> Floats:
    """Return the row variables and the label at points."""
    X = step.frame @ points.primitives
    off = X[1 : 1 + step.indices]
    products = [off[i] * off[k] - (i == k) for i, k in of.pairs]
    parts = [np.ones_like(points.r), X, _constraints(moments, points), *products, points.y]
    if of.rests:
        parts.insert(-1, points.rest)
    return np.vstack(parts)


def _add_unresolved(step: Step, points: RowPoints, of: RowVariables, second: Floats) -> None:
    """Add to second moments, in place, what points do not resolve."""
    q = of.count
    second[:, 1 : 1 + of.directions, 1 : 1 + of.directions] += unresolved(step, points)
    if of.rests:  # the noise of the features has counted one
        second[:, of.rest, of.rest] += points.rest_noise - 1
        second[:, q, of.rest] += points.shared_noise
    second[:, q, q] += points.label_noise


def _constraints(moments: StepMoments, points: RowPoints) -> Floats:
    """Return the row functions of the constraints at points."""
    return moments.constraints @ points.constraint_functions


def _second_moments(lift: Floats, variables: Floats) -> Floats:
    """Return E[x x^T | node], (K, q, q), of variables (q, J)."""
    i, k = np.triu_indices(len(variables))
    second = np.empty((lift.shape[1], len(variables), len(variables)))
    second[:, i, k] = second[:, k, i] = lift.T @ (variables[i] * variables[k]).T
    return second


def joint_moments(rows: Population) -> Floats:
    """Return second moments of the row variables and the label, (G, q + 1, q + 1), of one node."""
    G, q = len(rows.length), rows.label.shape[-1]
    second = np.empty((G, q + 1, q + 1))
    second[:, :q, :q], second[:, q, q] = rows.moments[:, 0], rows.label_square[:, 0]
    second[:, q, :q] = second[:, :q, q] = rows.label[:, 0]
    return second


def with_nodes(
    rows: Population, second: Floats, slopes: Sequence[Floats], axes: Floats, weight: Floats
) -> Population:
    r"""Return rows, of one node in a group, with nodes of independent standard normals t.

    .. math:: x = E x + \sum_at_ac_a + \text{rest}

    second : joint moments of the variables and the label; the variable 1 is the first.
    slopes : c, (G, q + 1) each.
    axes, weight : nodes (len(slopes), K) and their probabilities.
    """
    mean = second[:, 0]
    rest = second - mean[:, :, None] * mean[:, None]
    x = np.repeat(mean[:, None], len(weight), axis=1)
    for c, t in zip(slopes, axes, strict=True):
        rest = rest - c[:, :, None] * c[:, None]
        x = x + t[:, None] * c[:, None]
    second = rest[:, None] + x[..., :, None] * x[..., None, :]
    return replace(
        rows,
        mass=rows.mass * weight,
        kappa=x[..., 1],
        residual=np.repeat(rows.residual, len(weight), axis=1),
        moments=second[..., :-1, :-1],
        label=second[..., -1, :-1],
        label_square=second[..., -1, -1],
    )


def rows_of_both(
    step: Step,
    rows: Rows,
    laws: tuple[RowPoints, ...],
    moments: StepMoments,
    variables: RowVariables,
    bins: int,
    nodes: int,
    second: Floats | None = None,
) -> Population:
    """Return rows of step and ridge: bins of r, and Gauss nodes of the index in each.

    Bins have equal shares of p (1 + r^2/E r^2), for each length; each has bins of the index along a
    second direction (p,), where that is given.
    """
    n, n0, q = step.laws.ridge_count, step.laws.step_count, variables.count
    columns = []
    for x in laws:
        order = np.argsort(x.r, kind="stable")
        values = _row_variables(step, x, moments, variables)[:, order]
        r, p = x.r[order], x.p[order] * x.size.share
        off = 0 * r if second is None else second @ values[1 : 1 + step.directions]
        parts = 1 if second is None else max(MIN_SECOND_BINS, bins // 2)
        for at in _bins(r, p, bins):
            moments_of_r = [float(p[at] @ r[at] ** k) / float(p[at].sum()) for k in (1, 2)]
            of_parts = []
            order = at.start + np.argsort(off[at], kind="stable")
            within = _bins(off[order], p[order], parts)
            for part in within:
                j = order[part]
                kappa, weight, lift = conditional_gauss(values[1, j], p[j], nodes)
                square = _second_moments(lift, values[:, j])
                _add_unresolved(step, x, variables, square)
                of_parts.append((weight, kappa, lift.T @ r[j], lift.T @ off[j], square))
            for _ in range(parts - len(within)):  # without weight
                of_parts.append((0 * of_parts[0][0], *of_parts[0][1:]))
            columns.append(
                (x.size.length, *moments_of_r, *map(np.concatenate, zip(*of_parts, strict=True)))
            )
    length, mean, square, weight, kappa, residual, along_second, moments_of_rows = (
        np.array(c) for c in zip(*columns, strict=True)
    )
    weight = weight / weight.sum()
    energy, label_square = _label_energy(step.labels), moments_of_rows[..., q, q]
    if energy is not None:  # what a tail has is as good as noise
        label_square = label_square * (energy / float((weight * label_square).sum()))
    return Population(
        rows,
        length,
        mean * n / n0,
        square * (n / n0) ** 2,
        mass=weight * rows.count / n,
        kappa=kappa,
        residual=residual,
        moments=moments_of_rows[..., :q, :q],
        label=moments_of_rows[..., q, :q],
        label_square=label_square,
        second=None if second is None else along_second,
    )


def _bins(x: Floats, p: Floats, count: int) -> list[slice]:
    """Return at most so many bins of ordered values, of equal shares of p (1 + x^2/E x^2)."""
    energy = float(p @ x**2) / float(p.sum())
    mass = np.cumsum(p * (1 + (x * x / energy if energy else 0.0)))
    place = np.minimum((mass / mass[-1] * count).astype(int), count - 1)
    starts = np.flatnonzero(np.diff(place, prepend=-1)).tolist()
    return list(itertools.starmap(slice, itertools.pairwise([*starts, len(x)])))


def _label_energy(labels: LabelLaw) -> float | None:
    """Return E y^2 on the rows of the step, less a mean; None where a linear fit is taken off."""
    if labels.fit.has_direction:
        return None
    return labels.energy if labels.taken_off == "plain" else labels.fit.step_energy


def fresh_rows(
    step: Step,
    rows: Rows,
    variables: RowVariables,
    rule: GradedRule,
    nodes: int,
    deviation: float,
    mass: float,
    replaced: bool,
    second: Floats | None = None,
) -> Population:
    """Return rows that the step has not seen: nodes of the index for each of their sizes.

    Given the nodes coordinates are normal, with means and a covariance C.

    deviation : of the squared length.
    replaced : whether a part of the labels belongs to other rows.
    second : (p,) direction off v, along which rows have nodes too; labels have one index then.
    """
    labels = step.labels if replaced else replace(step.labels, replaced=0.0)
    (scales, weights), isotropic, size = step.inputs.scales, step.inputs.isotropic, step.directions
    scale, signs = np.tile(scales, 2), np.repeat(TWO_POINT_NODES, len(scales))  # longer rows first
    lengths = scale * (1 + signs * deviation)
    length, off, t = (lengths if isotropic else scale)[:, None], np.eye(size - 1), None
    x, p = rule.nodes(nodes)
    if second is not None:
        off = off - np.outer(second[1:], second[1:])
        x, t, p = _with_second_index(x, p, step.inputs)
        t = np.sqrt(length) * t
    p = np.tile(weights, 2)[:, None] / 2 * p
    groups = p.shape
    mean, C = np.zeros((*groups, 1 + size)), np.zeros((*groups, 1 + size, 1 + size))
    mean[..., 0], mean[..., 1] = 1.0, np.sqrt(scale)[:, None] * x
    C[..., 2:, 2:] = off * length[..., None, None]
    if t is None or second is None:
        special = lengths if isotropic else scale * (1 + signs * SMALL_LENGTH)
        of_labels = _labels_by_index(step, labels, mean[..., 1], special, length, p)
    else:
        mean[..., 2:] = t[..., None] * second[1:]
        of_labels = _labels_in_a_plane(step, labels, mean, C, p)
    value, first, hessian, square = of_labels
    moments = np.zeros((*groups, variables.count, variables.count))
    label = np.zeros((*groups, variables.count))
    at = [*range(1 + size), *range(variables.products, variables.products + len(variables.pairs))]
    moments[..., np.array(at)[:, None], at] = _normal_moments(mean, C, variables)
    label[..., : 1 + size] = value[..., None] * mean + first
    for place, (i, k) in enumerate(variables.pairs, variables.products):
        a, b = 2 + i, 2 + k
        products = mean[..., a] * mean[..., b] + C[..., a, b] - (i == k)
        leaning = mean[..., a] * first[..., b] + mean[..., b] * first[..., a]
        label[..., place] = value * products + leaning + hessian[..., i, k]
    none = np.zeros(groups)
    return Population(
        rows,
        lengths,
        none[:, 0],
        none[:, 0],
        mass=mass * p,
        kappa=mean[..., 1],
        residual=none,
        moments=moments,
        label=label,
        label_square=square,
        second=t,
    )


def _with_second_index(x: Floats, p: Floats, inputs: Inputs) -> tuple[Floats, Floats, Floats]:
    """Return nodes of an index with nodes of a second one at each, and their probabilities."""
    t, q = gauss_hermite(SECOND_POINTS)
    q = q * (_fixed_length_density(t[None], inputs.d) if inputs.isotropic else 1.0)
    p, t = np.outer(p, q / q.sum()).ravel(), np.tile(t, len(x))
    t = t - p @ t
    return np.repeat(x, SECOND_POINTS), t / np.sqrt(p @ t**2), p


def _labels_by_index(
    step: Step, labels: LabelLaw, kappa: Floats, special: Floats, length: Floats, p: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return E y, Cov(y, x), E[y (x - Ex)(x - Ex)^T] less E y C, and E y^2, given the index.

    special : (G,) squared lengths, of which labels know the curvature.
    """
    groups, m = kappa.shape, step.indices
    norm = np.repeat(special, groups[1])
    Y0, Y1, hessian, Y2 = labels_given_index(
        labels, step.overlaps, kappa.ravel(), norm, p.ravel(), fit=step.labels.fit
    )
    first = np.zeros((*groups, 1 + step.directions))
    first[..., 2 : 2 + m] = Y1.T.reshape(*groups, m) * np.sqrt(length)[..., None]
    hessian = np.moveaxis(hessian, -1, 0).reshape(*groups, m, m) * (length**2)[..., None, None]
    return Y0.reshape(groups), first, hessian, (Y0**2 + (Y1**2).sum(0) + Y2).reshape(groups)


def _labels_in_a_plane(
    step: Step, labels: LabelLaw, mean: Floats, C: Floats, p: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the same given two indices, of labels of one index: by its Hermite coefficients."""
    m, size = step.indices, step.directions
    # the teacher's index is a + g.eta, eta with the covariance C
    root = np.zeros((m, 1 + size))
    root[:, 1], root[:, 2 : 2 + m] = step.overlaps, off_root(step.overlaps)
    g = root[0]
    spread = np.sqrt(np.maximum(np.einsum("...ik,i,k->...", C, g, g), MIN_INDEX_SPREAD))
    f = labels.teacher
    assert isinstance(f, Function)
    above, below = (
        gaussian_averages(f, mean @ g + shift, spread)
        for shift in (LABEL_BEND_STEP, -LABEL_BEND_STEP)
    )
    value, slope, square = gaussian_averages(f, mean @ g, spread)
    bend = (above.slope - below.slope) / spread / (2 * LABEL_BEND_STEP)
    own_labels = 1 - labels.replaced
    value = own_labels * value + labels.replaced * labels.mean
    square = own_labels * square + labels.replaced * labels.square
    square = square + (labels.square - float((p * square).sum())) + labels.noise**2
    Cg, linear = C @ g, np.zeros(1 + size)
    linear[0] = labels.fit.mean
    if labels.fit.has_direction:
        linear += np.append(labels.fit.linear, labels.fit.noise) @ root
    first = (own_labels * slope / spread)[..., None] * Cg
    along = Cg[..., 2 : 2 + m]
    hessian = (own_labels * bend)[..., None, None] * along[..., :, None] * along[..., None, :]
    # less a fit
    removed, moved = mean @ linear, C @ linear
    square = square - 2 * (value * removed + first @ linear) + removed**2 + moved @ linear
    return value - removed, first - moved, hessian, square


def _normal_moments(mean: Floats, C: Floats, variables: RowVariables) -> Floats:
    """Return second moments of normal coordinates x, (1, x_0..), and products of them less one."""
    size, pairs = mean.shape[-1], [(2 + i, 2 + k) for i, k in variables.pairs]
    count = size + len(pairs)
    out = np.zeros((*mean.shape[:-1], count, count))
    out[..., :size, :size] = mean[..., :, None] * mean[..., None, :] + C
    for place, (i, k) in enumerate(pairs, size):
        two, same = mean[..., i] * mean[..., k] + C[..., i, k], float(i == k)
        lean = mean[..., i, None] * C[..., k, :] + mean[..., k, None] * C[..., i, :]
        out[..., place, :size] = (two - same)[..., None] * mean + lean
        out[..., :size, place] = out[..., place, :size]
        for other, (j, h) in enumerate(pairs, size):
            more = mean[..., j] * mean[..., h] + C[..., j, h]
            crossed = C[..., i, j] * C[..., k, h] + C[..., i, h] * C[..., k, j]
            crossed = crossed + lean[..., j] * mean[..., h] + lean[..., h] * mean[..., j]
            out[..., place, other] = (two - same) * (more - (j == h)) + crossed
    return out

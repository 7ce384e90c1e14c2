"""The solver of the equations: an accelerated fixed point, and its linear response.

Both keep what they have seen of a function: it serves again after a small change of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.theory.uniform.pencil import (
    Numbers,
    Parameter,
    Pencil,
    Shares,
    State,
    evaluate,
    no_shares,
)

HALF_STEPS = 2  # half steps before the acceleration starts
MAX_ITERATIONS = 120
# of the acceleration, before larger penalties help: Newton's method solved 3 of 34 such equations
MAX_RESTARTS = 2
COMPLEX_STEP = 1e-30  # no difference is taken: its square is lost in rounding
LOG_SCALE = 3.0  # of log a beside G in the norm of an iterate
GUESS = 0.3  # of the quadratic form of T, and of delta in units of the activation's energy
MEMORY = 12  # differences that are mixed
MAX_GROWTH = 2.0  # of the residual over the smallest one, before a step is taken back
MAX_PLAIN_STEPS = 20  # after that
DAMPING = 1e-8  # of the mixing, relative to the largest difference
# of the equations, between updates of the shares; and where nodes are only compared with others
TOLERANCES: tuple[float, ...] = (1e-2, 1e-5, 1e-6, 1e-7)
ROUGH_TOLERANCES: tuple[float, ...] = (1e-3, 1e-4)


@dataclass
class Acceleration:
    """The last differences of iterates and of their residuals."""

    plain: int  # half steps before differences are mixed
    moves: list[Floats] = field(default_factory=list)
    changes: list[Floats] = field(default_factory=list)

    def solve(
        self,
        residual: Callable[[Floats], tuple[Floats, float]],
        x: Floats,
        tolerance: float,
        limit: int,
    ) -> tuple[Floats, float, int]:
        """Return x where the residual vanishes, its size there and the number of evaluations.

        residual returns a vector and its size. Where it grows, the iteration goes back to the best
        point and on from there in shorter steps.
        """
        best, best_value, smallest, plain_steps = x, np.zeros_like(x), np.inf, self.plain
        before: tuple[Floats, Floats] | None = None
        for count in range(1, limit + 1):
            with np.errstate(all="ignore"):  # a step too far is taken back
                value, size = residual(x)
            if size < tolerance:
                return x, size, count
            if not size < MAX_GROWTH * smallest:
                if not np.isfinite(smallest):
                    break
                x, before, self.moves, self.changes = best + best_value / 2, None, [], []
                self.plain = plain_steps = min(2 * plain_steps + 2, MAX_PLAIN_STEPS)
                smallest = MAX_GROWTH * smallest
                continue
            if size < smallest:
                best, best_value, smallest = x, value, size
            if before is not None:
                self.moves = [*self.moves[1 - MEMORY :], x - before[0]]
                self.changes = [*self.changes[1 - MEMORY :], value - before[1]]
            before = x, value
            self.plain -= 1
            if self.plain >= 0:
                x = x + value / 2
            elif len(self.changes) < 2:
                x = x + value
            else:
                x = x + value - self._mixed(value)
        return best, smallest, count

    def _mixed(self, value: Floats) -> Floats:
        """Return the combination of differences that takes most of the residual away."""
        dF, dx = np.array(self.changes), np.array(self.moves)
        damping = DAMPING * (float(np.abs(dF).max()) or 1.0)
        matrix = np.vstack([dF.T, damping * np.eye(len(dF))])
        side = np.concatenate([value, np.zeros(len(dF))])
        return np.linalg.lstsq(matrix, side, rcond=None)[0] @ (dx + dF)


@dataclass
class LinearEquations:
    """Minimal residuals of x = b + Jx over all directions that any x has moved in."""

    apply: Callable[[Floats], Floats]  # x - Jx of a vector
    directions: list[Floats] = field(default_factory=list)  # orthonormal
    images: list[Floats] = field(default_factory=list)  # what `apply` makes of them, orthonormal

    def solve(self, xs: Floats, residuals: Floats, tolerance: float, limit: int) -> Floats:
        """Return solutions from xs, (P, n), with residuals b + Jx - x.

        tolerance : of residuals, relative to the solutions, each in its largest component.
        """
        xs, residuals = xs.copy(), residuals.copy()
        if self.images:
            self._project(xs, residuals, np.array(self.directions), np.array(self.images))
        for _ in range(limit):
            with np.errstate(over="ignore"):
                sizes = np.abs(residuals).max(1) / np.maximum(np.abs(xs).max(1), 1e-300)
            worst = int(sizes.argmax())
            if sizes[worst] < tolerance:
                return xs
            direction = residuals[worst]
            image = self.apply(direction)
            if self.images:
                directions, images = np.array(self.directions), np.array(self.images)
                for _ in range(2):
                    share = images @ image
                    image, direction = image - share @ images, direction - share @ directions
            norm = float(np.linalg.norm(image))
            self.directions.append(direction / norm)
            self.images.append(image / norm)
            self._project(xs, residuals, self.directions[-1][None], self.images[-1][None])
        raise NotConverged(f"linear response of the uniform theory: off by {sizes[worst]:.1e}")

    def _project(self, xs: Floats, residuals: Floats, directions: Floats, images: Floats) -> None:
        """Take the images off the residuals, in place."""
        share = residuals @ images.T
        xs += share @ directions
        residuals -= share @ images


@dataclass(frozen=True)
class Packing:
    """(G, products, log a) as one vector: of G the upper triangle, as correlations.

    In units of the types' weights alone, changes that double an error are small beside the largest
    G of strong steps and uneven covariances.
    """

    types: int
    units: Floats  # of G
    upper: tuple[np.ndarray, np.ndarray]
    degrees: int  # of products

    @classmethod
    def of(cls, pencil: Pencil, G: Numbers | None = None) -> Packing:
        """Return the packing of a pencil: near a solution with G, or before any is there."""
        if G is None:  # multipliers, the last fields, have other units than weights
            root = np.sqrt(pencil.ratio / pencil.ratio.sum())
            steps = pencil.fields // 2
            unit = np.concatenate([np.tile(root, steps + 1), np.tile(1 / root, steps)])
        else:
            unit = np.sqrt(np.abs(np.diag(G)))
        upper = np.triu_indices(len(unit))
        return cls(pencil.types, np.outer(unit, unit), upper, len(pencil.products))

    @property
    def length(self) -> int:
        """Length of the vector."""
        return len(self.upper[0]) + self.degrees * self.types**2 + self.types

    def pack(self, G: Numbers, products: Numbers, log_a: Numbers) -> Numbers:
        """Return the vector."""
        U = self.types
        relative = products / self.units[:U, :U]
        return np.concatenate([(G / self.units)[self.upper], relative.ravel(), LOG_SCALE * log_a])

    def unpack(self, x: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return G, those of products, and log a."""
        U, count = self.types, len(self.upper[0])
        G = np.empty(self.units.shape, x.dtype)
        G[self.upper] = G.T[self.upper] = x[:count]
        products = x[count:-U].reshape(self.degrees, U, U) * self.units[:U, :U]
        return G * self.units, products, x[-U:] / LOG_SCALE

    def size(self, change: Floats, x: Floats) -> float:
        """Return the size of a change of x, relative."""
        G, log_a = np.abs(change[: -self.types]), np.abs(change[-self.types :])
        return float(log_a.max() / LOG_SCALE + G.max() / np.abs(x[: -self.types]).max())


@dataclass(frozen=True)
class Solution:
    """A fixed point: where it is, its shares, and how it was found."""

    packing: Packing
    x: Floats  # (G, products, log a) as one vector
    shares: Shares
    state: State
    residual: float
    iterations: int


def solve(
    pencil: Pencil,
    special_shares: Callable[[State], Shares],
    energy: float,
    start: Solution | None = None,
    tolerances: tuple[float, ...] = TOLERANCES,
) -> Solution:
    """Solve the equations; the shares of the special variables are updated in between.

    energy : mean square of the activation.
    start : a solution of similar equations; of no use where the types are others.
    tolerances : of the equations, before and after each of these updates.
    """
    packing, shares, iterations = Packing.of(pencil), no_shares(pencil), 0
    if start is None or start.packing.length != packing.length:
        log_a = np.log(pencil.ratio / (pencil.ridge + GUESS * energy))
        x, acceleration = without_rows(pencil, packing, log_a), Acceleration(HALF_STEPS)
    else:
        packing, x, acceleration = start.packing, start.x, Acceleration(0)
        tolerances = tolerances[1:]
        shares = special_shares(evaluate(pencil, *packing.unpack(x), shares, Parameter()))
    for tolerance in tolerances:
        x, size, count = _iterate(pencil, packing, x, shares, tolerance, acceleration)
        iterations += count
        state = evaluate(pencil, *packing.unpack(x), shares, Parameter())
        if tolerance == tolerances[0]:
            before, packing = packing, Packing.of(pencil, state.G)
            x, acceleration = packing.pack(*before.unpack(x)), Acceleration(0)
        if tolerance > tolerances[-1]:
            shares = special_shares(state)
    return Solution(packing, x, shares, state, size, iterations)


def without_rows(pencil: Pencil, packing: Packing, log_a: Numbers, form: float = GUESS) -> Numbers:
    """Return where an iteration starts: rows make a form of T, and no more."""
    a, U = np.exp(log_a), pencil.types
    V = pencil.without_rows(a)
    V[:, :U, :U] += form * np.eye(U)
    G = np.tensordot(pencil.omega, np.linalg.inv(V), axes=1)
    products = np.zeros((packing.degrees, U, U), a.dtype)
    for k, product in enumerate(pencil.products):
        products[k] = np.diag(a * (product.omega @ product.variance))
    return packing.pack(G, products, log_a)


def _iterate(
    pencil: Pencil,
    packing: Packing,
    x: Floats,
    shares: Shares,
    tolerance: float,
    acceleration: Acceleration,
) -> tuple[Floats, float, int]:
    """Solve the equations at fixed shares; the step is restarted where its acceleration stalls."""

    def residual(x: Floats) -> tuple[Floats, float]:
        try:
            state = evaluate(pencil, *packing.unpack(x), shares, Parameter())
        except np.linalg.LinAlgError:  # a step too far
            return np.full_like(x, np.nan), np.nan
        change = packing.pack(state.G, state.products, state.log_a) - x
        return change, packing.size(change, x)

    iterations = 0
    for _ in range(MAX_RESTARTS):
        x, size, count = acceleration.solve(residual, x, tolerance, MAX_ITERATIONS)
        iterations += count
        if size < tolerance:
            return x, size, iterations
        acceleration = Acceleration(HALF_STEPS)
    raise NotConverged(f"uniform theory: change {size:.1e} after {iterations} iterations")

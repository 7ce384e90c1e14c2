r"""Rows and weights that know each other: a generalised Wishart matrix and its equivalent.

Types u of neurons have fields :math:`T_u = \sum_{i\in u}a_iw_i`, the same :math:`T^0_u` of initial
weights, and a multiplier :math:`S_u` of what the step makes of the second out of the rows. Row j
has the quadratic form :math:`V_j/n` in its products with these 3U fields,

.. math::
    e_j &= (B_1,\ B_0 - \varphi_jr_j\varepsilon|w|B_1,\ \varphi a\tilde\beta\gamma\sqrt\nu r_j),
        \qquad \tilde\beta = \beta - \varphi_jr_j\gamma\sqrt\nu B_1, \qquad
        c_j = \frac1{1/\omega_j + \varphi\sum_ua_u(C^2+\tilde\beta^2) + \chi_j} \\
    V_j &= c_je_je_j^\top + W_j, \qquad
        W_j = - r_j\varepsilon|w|\,(S\,T^0 + T^0S) - \varphi a\gamma^2\nu r_j^2\,S\,S \\
    G^{-1} &= V_0 + E_j[\ell_jV_j(1+\varphi_jGV_j)^{-1}], \qquad
        V_0 = T^0T^0/a + (S\,T + T\,S) - |w|(1+\epsilon)(S\,T^0 + T^0S)

with :math:`\varphi_j = \varphi\ell_j`, loss weights :math:`\omega_j` (one), and :math:`\chi_j` the
share of the few variables in `label_fit`. W_j is taken the same in a group of rows:
:math:`X = W(1+\varphi GW)^{-1}` is one matrix per group, and with
:math:`\tilde e = e - \varphi_jXGe` the rest is of rank one,

.. math:: V_j(1+\varphi_jGV_j)^{-1} = X + \hat\pi_j\tilde e_j\tilde e_j^\top, \qquad
    \hat\pi_j = \frac1{1/c_j + \varphi_je_j^\top G\tilde e_j}.

Leaving out a neuron gives, with :math:`K = G - \varphi_jGXG`, K e = G ẽ, :math:`a = (N/d)w/\delta`,

.. math:: \delta = \lambda + \frac{a - G_{T^0T^0}}{a^2} + E_j\big[(C^2+\tilde\beta^2)\hat\pi
    + 2\hat\pi\varphi\tilde\beta\gamma\sqrt\nu r\,(Ke)_S
    - \varphi\gamma^2\nu r^2(K_{SS} - \varphi_j\hat\pi(Ke)_S^2)\big].

All follow from one potential; `Tangent` is their linear response.

They are solved as a fixed point x = f(x), and their linear response as x = b + Jx for several b.
Both keep what they have seen of f: it serves again after a small change of f, or of b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import NotConverged
from onegrad.problem import Problem
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.same_rows.features import Features
from onegrad.theory.uniform.same_rows.neurons import NeuronTypes
from onegrad.theory.uniform.same_rows.training_rows import RowPopulation

HALF_STEPS = 2  # half steps before the acceleration starts
MAX_ITERATIONS = 120
MAX_RESTARTS = 5
LOG_SCALE = 3.0  # of log a beside G in the norm of an iterate
GUESS = 0.3  # of the quadratic form of T, and of delta in units of the activation's energy
MIN_DELTA = 1e-14
MEMORY = 12  # differences that are mixed
MAX_GROWTH = 2.0  # of the residual over the smallest one, before a step is taken back
MAX_PLAIN_STEPS = 20  # after that
DAMPING = 1e-8  # of the mixing, relative to the largest difference


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
class RowForms:
    """The coefficients of the equations that do not change with the iteration."""

    phi: float  # d/n
    ridge: float  # lambda
    ratio: Floats  # (U,) (N/d) w of the types
    linear: Floats  # (U,) |w|(1 + own)
    epsilon: Floats  # (U,) epsilon |w|
    slope_noise: Floats  # (U,) gamma sqrt(nu)
    length: Floats  # (G,) l
    p: Floats  # (G, K)
    fixed: Floats  # (G, K, 2U) rows of e for T and T0
    reading_of_s: Floats  # (G, K, U) e for S divided by a
    noise: Floats  # (G, K, U) C^2 + beta_tilde^2
    r: Floats  # (G,) E r
    r2: Floats  # (G,) E r^2

    @property
    def types(self) -> int:
        """Number U of types."""
        return len(self.ratio)

    @property
    def moved(self) -> slice:
        """The fields that W acts on: S, and T0 unless the activation has no even part."""
        return slice(self.types if self.epsilon.any() else 2 * self.types, 3 * self.types)


@dataclass(frozen=True)
class FreshForms:
    """Fresh rows of infinitesimal weight: E[l e e^T] of T, (U, U), and E C^2, (U,)."""

    square: Floats
    noise: Floats


@dataclass(frozen=True)
class Shares:
    """Shares of the few special variables: in 1/c of a row, (G, K), and in delta, (U,)."""

    row: Floats
    neuron: Floats


@dataclass(frozen=True)
class FieldState:
    """One pass of the equations at (G, log a)."""

    a: Floats
    X: Floats  # (G, m, m) on the fields `moved`
    e: Floats  # (G, K, 3U)
    e_tilde: Floats  # (G, K, 3U)
    Ke: Floats  # (G, K, 3U)
    pi: Floats  # (G, K)
    V0: Floats  # the part of `inverse` without rows
    inverse: Floats  # new G^{-1}
    G: Floats  # what the pass returns, with log_a
    delta: Floats
    log_a: Floats


@dataclass(frozen=True)
class FieldSolution:
    """A fixed point with the last relative change and the number of iterations."""

    state: FieldState
    shares: Shares
    residual: float
    iterations: int


def row_forms(
    problem: Problem, step: StepNumbers, types: NeuronTypes, rows: RowPopulation, features: Features
) -> RowForms:
    """Return the coefficients of the equations."""
    phi = problem.phi
    epsilon = types.epsilon * types.size
    slope_noise = types.gamma * np.sqrt(step.nu)
    own = (phi * rows.length[:, None] * rows.residual)[..., None]
    beta = features.beta - own * slope_noise * features.B1
    initial = features.B0 - own * epsilon * features.B1
    return RowForms(
        phi=phi,
        ridge=problem.ridge,
        ratio=problem.N / problem.d * types.weight,
        linear=types.size * (1 + types.own),
        epsilon=epsilon,
        slope_noise=slope_noise,
        length=rows.length,
        p=rows.p,
        fixed=np.concatenate([features.B1, initial], -1),
        reading_of_s=phi * beta * slope_noise * rows.residual[..., None],
        noise=features.noise + beta**2,
        r=rows.residual_mean,
        r2=rows.residual_square,
    )


def fresh_forms(rows: RowPopulation, features: Features) -> FreshForms:
    """Return what fresh rows add to the equations, per unit of their weight."""
    weight = (rows.p * rows.length[:, None])[..., None]
    B = features.B1.reshape(-1, features.B1.shape[-1])
    square = (weight.reshape(-1, 1) * B).T @ B
    return FreshForms(square, np.tensordot(rows.p, features.noise, axes=2))


def evaluate_fields(forms: RowForms, G: Floats, log_a: Floats, shares: Shares) -> FieldState:
    """Return one pass of the equations."""
    U, at = forms.types, forms.moved
    S = slice(2 * U, 3 * U)
    a = np.exp(log_a)
    scaled = forms.phi * forms.length
    W = _moved_form(forms, a)
    size = W.shape[-1]
    inner = np.eye(size) + scaled[:, None, None] * (W @ G[at, at])
    X = np.linalg.solve(inner, W)  # (1 + phi W G)^-1 W
    X = (X + X.swapaxes(1, 2)) / 2
    e = np.concatenate([forms.fixed, forms.reading_of_s * a], -1)
    c = 1 / (1 + forms.phi * (forms.noise @ a) + shares.row)
    e_tilde = e.copy()
    e_tilde[..., at] -= scaled[:, None, None] * ((e @ G[:, at]) @ X)
    Ke = e_tilde @ G
    # the equivalent of a single row far in the tail may be unstable: its share stays in [0, 1]
    pi = 1 / np.maximum(1 / c + scaled[:, None] * (e * Ke).sum(-1), 1.0)
    V0 = _form_without_rows(forms, a)
    inverse = V0.copy()
    inverse[at, at] += np.tensordot(forms.p.sum(1) * forms.length, X, axes=1)
    weight = forms.p * forms.length[:, None] * pi
    flat = e_tilde.reshape(-1, 3 * U)
    inverse += (flat.T * weight.ravel()) @ flat
    new_G = np.linalg.inv(inverse)
    new_G = (new_G + new_G.T) / 2
    initial = np.arange(U, 2 * U)
    GS = G[S, at]
    K_SS = np.diag(G)[S] - scaled[:, None] * ((GS @ X) * GS).sum(-1)  # (G, U)
    Ke_S, weight = Ke[..., S], forms.p * pi
    energy = (a - new_G[initial, initial]) / a**2
    energy += np.tensordot(weight, forms.noise + 2 * forms.reading_of_s * Ke_S, axes=2)
    square = forms.phi * forms.slope_noise**2 * forms.r2[:, None]
    energy -= (square * (forms.p.sum(1)[:, None] * K_SS)).sum(0)
    energy += (square * scaled[:, None] * (weight[..., None] * Ke_S**2).sum(1)).sum(0)
    delta = np.maximum(forms.ridge + energy + shares.neuron, MIN_DELTA)
    return FieldState(
        a, X, e, e_tilde, Ke, pi, V0, inverse, new_G, delta, np.log(forms.ratio / delta)
    )


def first_guess(forms: RowForms, energy: float) -> tuple[Floats, Floats]:
    """Return (G, log a) to start from; energy is the activation's mean square."""
    log_a = np.log(forms.ratio / (forms.ridge + GUESS * energy))
    V0 = _form_without_rows(forms, np.exp(log_a))
    V0[: forms.types, : forms.types] += GUESS * np.eye(forms.types)
    return np.asarray(np.linalg.inv(V0)), np.asarray(log_a)


def no_shares(forms: RowForms) -> Shares:
    """Return the shares of no special variables at all."""
    return Shares(np.zeros(forms.p.shape), np.zeros(forms.types))


def iterate(
    forms: RowForms,
    G: Floats,
    log_a: Floats,
    shares: Shares,
    tolerance: float,
    acceleration: Acceleration,
) -> FieldSolution:
    """Solve the equations at fixed shares, from (G, log a).

    The step is restarted where its acceleration stalls.
    """
    packing = Packing.of(forms)
    last: list[FieldState] = []

    def residual(x: Floats) -> tuple[Floats, float]:
        G, log_a = packing.unpack(x)
        state = evaluate_fields(forms, G, log_a, shares)
        change = packing.pack(state.G, state.log_a) - x
        dG, dlog = packing.split(change)
        last[:] = [state]
        return change, float(
            np.abs(dlog).max() + np.abs(dG).max() / np.abs(packing.split(x)[0]).max()
        )

    x, iterations = packing.pack(G, log_a), 0
    for _ in range(MAX_RESTARTS):
        x, size, count = acceleration.solve(residual, x, tolerance, MAX_ITERATIONS)
        iterations += count
        if size < tolerance:
            return FieldSolution(last[0], shares, size, iterations)
        acceleration = Acceleration(HALF_STEPS)
    raise NotConverged(
        f"uniform theory on the rows of the step: change {size:.1e} after {iterations} iterations"
    )


@dataclass(frozen=True)
class Packing:
    """(G, log a) as one vector: the upper triangle of G in units of its types' weights."""

    types: int
    units: Floats
    upper: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, forms: RowForms) -> Packing:
        """Return the packing of a set of types."""
        root = np.sqrt(forms.ratio / forms.ratio.sum())
        unit = np.concatenate([root, root, 1 / root])
        return cls(forms.types, np.outer(unit, unit), np.triu_indices(3 * forms.types))

    def pack(self, G: Floats, log_a: Floats) -> Floats:
        """Return the vector."""
        return np.concatenate([(G / self.units)[self.upper], LOG_SCALE * log_a])

    def split(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the triangle of G in its units, and log a."""
        return x[: -self.types], x[-self.types :] / LOG_SCALE

    def unpack(self, x: Floats) -> tuple[Floats, Floats]:
        """Return G and log a."""
        triangle, log_a = self.split(x)
        G = np.empty(self.units.shape)
        G[self.upper] = G.T[self.upper] = triangle
        return G * self.units, log_a


def _moved_form(forms: RowForms, a: Floats) -> Floats:
    """Return W of the groups on the fields `moved`, (G, m, m)."""
    U, both = forms.types, bool(forms.epsilon.any())
    S = np.arange(U) + (U if both else 0)
    W = np.zeros((len(forms.r), len(S) * (1 + both), len(S) * (1 + both)))
    W[:, S, S] = -forms.phi * forms.r2[:, None] * (a * forms.slope_noise**2)
    if both:
        cross = -forms.r[:, None] * forms.epsilon
        W[:, S, S - U] = W[:, S - U, S] = cross
    return W


def _form_without_rows(forms: RowForms, a: Floats) -> Floats:
    """Return V_0."""
    U = forms.types
    T = np.arange(U)
    initial, S = T + U, T + 2 * U
    V0 = np.zeros((3 * U, 3 * U))
    V0[initial, initial] = 1 / a
    V0[S, T] = V0[T, S] = 1.0
    V0[S, initial] = V0[initial, S] = -forms.linear
    return V0

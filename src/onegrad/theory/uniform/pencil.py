r"""Rows and weights that know each other: a generalised Wishart matrix and its equivalent.

A type u of neurons has F *fields*: :math:`T_u = \sum_{i\in u}a_iw_i` of the weights that ridge
reads, others of weights before a step, and a multiplier S for each step. A row j has a quadratic
form in its products with them. Where it is made of independent latents,

.. math:: W_j = W^0_j - \varphi\sum_ua_uR_uR_u^\top,\qquad e_j = e^0_j + \varphi aRb,\qquad
    \frac1{c_j} = 1 + \varphi\sum_ua_u(C^2 + |b|^2) + \chi_j

for rows of the step (W) and of ridge (e). With masses :math:`m_j` = rows over n, the length
:math:`\ell_j`, :math:`\varphi_j = \varphi\ell_j`, and the form :math:`V_s` without rows in the
group of eigenvalues s,

.. math::
    X_j &= W_j(1 + \varphi_jGW_j)^{-1},\qquad \tilde e_j = e_j - \varphi_jX_jGe_j,\qquad
    \frac1{\hat\pi_j} = \frac1{c_j} + \varphi_je_j^\top G\tilde e_j \\
    Q &= \sum_jm_j\ell_j(X_j + \hat\pi_j\tilde e_j\tilde e_j^\top),\qquad
    G_s = (V_s + Q)^{-1},\qquad G = \sum_s\omega_sG_s \\
    \delta &= \lambda + \frac{a - \sum_s\omega_s\langle V'_s, G_s\rangle}{a^2}
    + \sum_jm_j\big[-\varphi\,\mathrm{tr}(RR^\top K_j)
    + \hat\pi_j\big(C^2 + |b|^2 + 2\varphi\,b\cdot R^\top K_je_j
    + \varphi\varphi_j|R^\top K_je_j|^2\big)\big]

where :math:`V_s` contains :math:`V'_s/a`, :math:`K_j = G - \varphi_jGX_jG`, and
:math:`a = (N/d)w/\delta`. Products of inputs (`products`) are directions of their own, with the
variance :math:`\kappa_b`, the reading :math:`\beta_j` and the number :math:`\omega_bd`:

.. math:: G_b = \Big(\frac1{a\kappa_b} + \sum_jm_j\hat\pi_j\beta_j\beta_j^\top\Big)^{-1},\qquad
    \frac1{c_j}\mathrel{+}=\varphi\sum_b\omega_b\beta_j^\top G_b\beta_j,\qquad
    \delta\mathrel{+}=\sum_b\omega_b\frac{a - G_b/\kappa_b}{a^2}.

All follow from one potential and are analytic: a derivative is a complex
step, and a spectrum a complex penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats

Numbers = np.ndarray[Any, np.dtype[Any]]  # real or complex

MIN_DELTA = 1e-14


@dataclass(frozen=True)
class Forms:
    """Coefficients of the forms of one population: G groups of K nodes."""

    length: Floats  # (G,)
    mass: Floats  # (G, K)
    step: bool
    ridge: bool
    # rows of the step: the m fields that W acts on, and W^0 and E R R^T on them, diagonal in types
    moved: tuple[int, ...]
    W: Floats  # (G, m, m, U)
    square: Floats  # (G, m, m, U)
    # rows of ridge: e^0 on the first f fields, R b on those that W acts on, C^2 + |b|^2
    e: Floats  # (G, K, f, U)
    push: Floats  # (G, K, m, U)
    noise: Floats  # (G, K, U)
    products: tuple[Floats, ...] = ()  # readings of products of inputs, each (G, K, U)


@dataclass(frozen=True)
class InputProducts:
    """Products of inputs of one degree, in bins of like strength."""

    degree: int
    omega: Floats  # (B,) numbers of products over d
    variance: Floats  # (B, U) of weights, times d


@dataclass(frozen=True)
class Pencil:
    """The equations of a discretised problem: all but the unknowns G and log a."""

    phi: float
    ridge: float  # zero where a parameter has it all: a spectrum, at which nothing has a sign
    ratio: Floats  # (U,) (N/d) w
    omega: Floats  # (R,)
    fields: int  # F
    constant: Floats  # (R, F, F, U) the form without rows: this plus
    over_a: Floats  # (R, F, F, U) this over a
    rows: tuple[Forms, ...]
    test: Forms  # fresh rows
    products: tuple[InputProducts, ...] = ()

    @property
    def types(self) -> int:
        """Number U of types."""
        return len(self.ratio)

    def without_rows(self, a: Numbers) -> Numbers:
        """Return V_s, (R, FU, FU)."""
        return _on_types(self.constant + self.over_a / a)

    def inverse(self, matrices: Numbers) -> Numbers:
        """Return inverses; where a penalty is positive, complex numbers are complex steps."""
        if self.ridge > 0:
            return inverse_of_steps(matrices)
        return np.linalg.inv(matrices)


@dataclass(frozen=True)
class Parameter:
    """A direction in which the problem changes."""

    test: complex = 0.0  # mass of fresh rows
    ridge: complex = 0.0  # penalty
    weights: Sequence[Numbers] | None = None  # of losses less one, for each population


@dataclass(frozen=True)
class Shares:
    """Shares of special variables, and of lengths that are not types: of order 1/n and 1/d."""

    rows: tuple[Any, ...]  # in 1/c, (G, K) or zero
    neurons: Numbers  # in delta, (U,)
    initial: Numbers  # in a, relative, as the prior of initial weights has it, (U,)

    def map(self, function: Callable[..., Any], *others: Shares) -> Shares:
        """Return the function of all shares, those of others beside them."""
        every = (self, *others)
        rows = tuple(function(*parts) for parts in zip(*(x.rows for x in every), strict=True))
        names = ("neurons", "initial")
        return Shares(rows, *(function(*(getattr(x, name) for x in every)) for name in names))


def no_shares(pencil: Pencil) -> Shares:
    """Return the shares of no special variables at all."""
    none = np.zeros(pencil.types)
    return Shares((0.0,) * len(pencil.rows), none, none)


@dataclass(frozen=True)
class RowState:
    """Rows of one population at a point."""

    X: Numbers | None  # (G, mU, mU)
    e: Numbers  # (G, K, fU)
    e_tilde: Numbers
    pi: Numbers  # (G, K)


@dataclass(frozen=True)
class State:
    """One pass of the equations at (G, products, log a), which it returns anew."""

    a: Numbers
    a_initial: Numbers  # as the prior of initial weights has it
    G: Numbers
    products: Numbers  # (D, U, U) G of products of each degree
    G_of_groups: Numbers  # (R, FU, FU)
    Q: Numbers
    delta: Numbers
    log_a: Numbers
    rows: tuple[RowState, ...]


def evaluate(
    pencil: Pencil,
    G: Numbers,
    products: Numbers,
    log_a: Numbers,
    shares: Shares,
    parameter: Parameter,
    real: State | None = None,
) -> State:
    """Return one pass of the equations.

    real : that of the real parts, which saves their inverses.
    """
    a, U = np.exp(log_a), pencil.types
    size = pencil.fields * U
    Q, energy = np.zeros((size, size), a.dtype), np.zeros(U, a.dtype)
    of_products = np.zeros_like(products, a.dtype)
    if parameter.test:
        mass, e = parameter.test * pencil.test.mass, pencil.test.e
        _add_fitted(pencil.test, e.reshape(*mass.shape, -1), mass, Q, energy, of_products)
    states = []
    for k, (forms, share) in enumerate(zip(pencil.rows, shares.rows, strict=True)):
        weights = None if parameter.weights is None else parameter.weights[k]
        total = share
        for reading, inside in zip(forms.products, products, strict=False):  # none of the step
            total = total + pencil.phi * ((reading @ inside) * reading).sum(-1)
        states.append(_add_rows(pencil, forms, G, a, total, weights, Q, energy, of_products))
    a_initial = a * (1 + shares.initial)
    form = pencil.without_rows(a_initial) + Q
    G_of_groups = pencil.inverse(form) if real is None else _moved_inverse(real.G_of_groups, form)
    G_of_groups = (G_of_groups + G_of_groups.swapaxes(1, 2)) / 2
    new_G = np.tensordot(pencil.omega, G_of_groups, axes=1)
    energy += pencil.ridge + parameter.ridge + shares.neurons
    energy += linear_energy(pencil, a_initial, G_of_groups)
    new_products = np.zeros_like(of_products)
    for k, product in enumerate(pencil.products):
        root = np.sqrt(a * product.variance)
        inverse = pencil.inverse(np.eye(U) + root[:, :, None] * of_products[k] * root[:, None, :])
        inside = root[:, :, None] * inverse * root[:, None, :]
        new_products[k] = np.tensordot(product.omega, inside, axes=1)
        fitted = 1 - np.einsum("buu->bu", inverse)
        energy += product.omega @ fitted / a
    delta = _at_least(energy, MIN_DELTA) if pencil.ridge > 0 else energy
    log_a = log_a + np.log(pencil.ratio / (delta * a))  # on the branch that it was on
    numbers = a, a_initial, new_G, new_products, G_of_groups, Q, delta, log_a
    return State(*numbers, tuple(states))


def inverse_of_steps(matrices: Numbers) -> Numbers:
    """Return inverses of real matrices, with their derivatives where they have a complex step."""
    inverse = np.linalg.inv(np.ascontiguousarray(matrices.real))
    return _moved_inverse(inverse, matrices) if np.iscomplexobj(matrices) else inverse


def _moved_inverse(inverse: Floats, matrices: Numbers) -> Numbers:
    """Return the inverse of matrices with a complex step from that of their real parts."""
    out = inverse.astype(complex)
    out.imag = -(inverse @ np.ascontiguousarray(matrices.imag) @ inverse)
    return out


def linear_energy(pencil: Pencil, a: Numbers, G_of_groups: Numbers) -> Numbers:
    """Return what the fields without rows add to delta, (U,)."""
    R, F, _, U = pencil.over_a.shape
    blocks = G_of_groups.reshape(R, F, U, F, U)
    start = np.einsum("r,rfgu,rfugu->u", pencil.omega, pencil.over_a, blocks)
    return np.asarray((a - start) / a**2)


def _add_fitted(
    forms: Forms, e: Numbers, weight: Numbers, Q: Numbers, energy: Numbers, of_products: Numbers
) -> None:
    """Add what ridge reads of rows of some weights, in place."""
    width, scaled = e.shape[-1], weight * forms.length[:, None]
    flat = e.reshape(-1, width)
    Q[:width, :width] += (flat.T * scaled.ravel()) @ flat
    energy += np.tensordot(weight, forms.noise, axes=2)
    for k, reading in enumerate(forms.products):
        flat = reading.reshape(-1, reading.shape[-1])
        of_products[k] += (flat.T * weight.ravel()) @ flat


def _add_rows(
    pencil: Pencil,
    forms: Forms,
    G: Numbers,
    a: Numbers,
    share: Any,
    weights: Numbers | None,
    Q: Numbers,
    energy: Numbers,
    of_products: Numbers,
) -> RowState:
    """Add what a population adds to Q, to delta and to the forms of products, in place."""
    U, phi = len(a), pencil.phi
    scaled, X = phi * forms.length, None
    if forms.step:
        at = np.concatenate([np.arange(i * U, (i + 1) * U) for i in forms.moved])
        W = _on_types(forms.W - phi * a * forms.square)
        here = G[at][:, at]
        X = pencil.inverse(np.eye(len(at)) + scaled[:, None, None] * (W @ here)) @ W
        X = (X + X.swapaxes(1, 2)) / 2
        mass = forms.mass.sum(1)
        Q[np.ix_(at, at)] += np.tensordot(mass * forms.length, X, axes=1)
        for i, k in _pairs(forms):
            left, right = here[i * U : (i + 1) * U], here[k * U : (k + 1) * U]
            K = np.diag(left[:, k * U : (k + 1) * U])
            K = K - scaled[:, None] * ((left @ X) * right).sum(-1)
            energy -= phi * ((mass[:, None] * forms.square[:, i, k]) * K).sum(0)
    if not forms.ridge:
        return RowState(X, a[:0], a[:0], a[:0])
    e = forms.e
    if forms.step:
        e = e + np.zeros((), a.dtype)
        e[:, :, list(forms.moved)] += phi * a * forms.push
    e = e.reshape(*e.shape[:2], -1)
    e_tilde, width = e, e.shape[-1]
    if X is not None:
        e_tilde = e.copy()
        e_tilde[..., at] -= scaled[:, None, None] * ((e @ G[:, at]) @ X)
    Ke = e_tilde @ G[:width, :width]
    inverse = 1 + phi * (forms.noise @ a) + share
    if weights is not None:
        inverse = inverse - weights
    inverse = inverse + scaled[:, None] * (e * Ke).sum(-1)
    # the equivalent of a single row far in the tail may be unstable: its share stays in [0, 1]
    pi = 1 / (_at_least(inverse, 1.0) if pencil.ridge > 0 else inverse)
    weight = forms.mass * pi
    _add_fitted(forms, e_tilde, weight, Q, energy, of_products)
    if forms.step:
        Ke = Ke.reshape(*Ke.shape[:2], -1, U)[:, :, list(forms.moved)]
        energy += 2 * phi * np.einsum("gk,gkmu,gkmu->u", weight, forms.push, Ke)
        for i, k in _pairs(forms):
            product = (weight[..., None] * Ke[:, :, i] * Ke[:, :, k]).sum(1)
            energy += phi * (scaled[:, None] * forms.square[:, i, k] * product).sum(0)
    return RowState(X, e, e_tilde, pi)


def _pairs(forms: Forms) -> list[tuple[int, int]]:
    """Return the pairs of moved fields that E R R^T acts on."""
    m = len(forms.moved)
    return [(i, k) for i in range(m) for k in range(m) if forms.square[:, i, k].any()]


def _on_types(forms: Numbers) -> Numbers:
    """Return forms (G, m, m, U) that are diagonal in types as matrices, (G, mU, mU)."""
    G, m, _, U = forms.shape
    out = np.zeros((G, m, U, m, U), forms.dtype)
    np.einsum("giuku->giku", out)[...] = forms
    return out.reshape(G, m * U, m * U)


def _at_least(x: Numbers, low: float) -> Numbers:
    return np.where(x.real > low, x, low)

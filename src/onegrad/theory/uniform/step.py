r"""Numbers and special directions of one gradient step.

In units where an input of a neuron has deviation one, the step moves every neuron along

.. math:: h = X^\top r/n_0 = \sum_i c_iu_i + c_{\hat u}\hat u + n, \qquad
    c_i = E[ru_i],\quad c_{\hat u} = -c_1\,\text{(with the output)},\quad
    |n|^2 = \phi_0E_{free}r^2,

with the labels' indices u, the readout row :math:`\hat u = W_0^\top a` and noise n: the *primitive*
directions. v is the direction of :math:`\Sigma^{1/2}h`, b its length. Special directions are v, the
labels' indices off v, and what else the primitive ones span; :math:`P_{ik}(s)` are their overlaps
in the group of eigenvalues s.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions import index_calculus
from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.hermite import expect
from onegrad.theory.uniform.laws.directions import (
    MIN_LENGTH,
    Slots,
    label_directions,
    off_directions,
)
from onegrad.theory.uniform.laws.inputs import Inputs
from onegrad.theory.uniform.laws.labels import (
    FREE_OVERLAP,
    LabelLaw,
    along_linear,
    off_root,
    unit_linear,
)
from onegrad.theory.uniform.laws.preconditioner import Preconditioner
from onegrad.theory.uniform.laws.table import Laws

# of a weight by the quadratic part of the labels, over itself, from which its direction is special
LARGE_MOVE = 0.3
MIN_BULK = 0.02  # of tr Sigma^2/d, that the special directions leave


@dataclass(frozen=True)
class ActivationNumbers:
    """Averages of an activation over a standard normal input."""

    c1: float
    c2: float
    c3: float
    nu: float  # energy of the slope beyond c_1 and c_2 z
    own_noise: float  # energy of z sigma'(z) beyond its linear part
    own_output: float  # E[z sigma sigma'] less what acts through X^T r/n_0
    variance: float

    @property
    def rest(self) -> float:
        """Energy beyond the linear part."""
        return max(self.variance - self.c1**2, 0.0)


@lru_cache(maxsize=256)
def activation_numbers(sigma: Function) -> ActivationNumbers:
    """Return the averages of an activation."""
    c0, c1, c2, c3 = (float(c) for c in sigma.c[:4])
    z_slope = expect(lambda z: (z * sigma.derivative(z)) ** 2, sigma.kinks)
    own = expect(lambda z: z * (sigma(z) - c0) * sigma.derivative(z), sigma.kinks)
    return ActivationNumbers(
        c1,
        c2,
        c3,
        nu=max(sigma.slope_second_moment - c1**2 - 4 * c2**2, 0.0),
        own_noise=max(z_slope - (2 * c2) ** 2 - (c1 + 6 * c3) ** 2, 0.0),
        own_output=own - c1**2 - 6 * c1 * c3,
        variance=sigma.variance,
    )


@dataclass(frozen=True)
class Step:
    """One gradient step: what it is made of, its size and its special directions."""

    laws: Laws
    activations: tuple[ActivationNumbers, ...]  # at the biases of neurons
    activation: ActivationNumbers  # their mean
    gamma: float  # step of a neuron with unit readout
    phi0: float  # d/n_0
    energy: float  # E r^2
    coherent: float  # part (|x|^2/d - 1) of the initial output, which equal readouts add up
    b: float  # length of Sigma^(1/2) X^T r/n_0
    moved_bias: float  # product of the inputs' mean m with E[r] m
    primitives: int  # how many of the primitive directions the residual knows: labels, readout row
    noise_size: float  # |n|
    own_of_fit: Floats  # (P,) part of a row of a fit in these directions, over what it fits
    preconditioner: Preconditioner | None  # multiplier of the gradient
    overlaps: Floats  # (m,) of v with the labels' indices
    frame: Floats  # (p, P) special directions in the primitive ones
    row: Floats  # (P,) readout row in the primitive directions
    g0: Floats  # (p,) X^T r/n_0 on the special directions
    parts: Floats  # (p, slots, R) special directions in the groups of eigenvalues
    overlap: Floats  # (p, p, R)
    row_overlap: Floats  # (p, R) the same with the readout row

    @property
    def inputs(self) -> Inputs:
        """Law of the inputs."""
        return self.laws.inputs

    @property
    def labels(self) -> LabelLaw:
        """Law of the labels."""
        return self.laws.labels

    @property
    def indices(self) -> int:
        """Number m of the labels' indices."""
        return self.labels.indices

    @property
    def directions(self) -> int:
        """Number p of special directions."""
        return len(self.frame)

    @property
    def scale(self) -> float:
        """Part of the initial output that the residual contains."""
        return self.laws.update.scale

    @property
    def gain(self) -> Floats:
        """Factor of means over rows in the step, for each group of eigenvalues, (R,)."""
        return self.inputs.s if self.preconditioner is None else self.preconditioner.gain

    def kept_fraction(self, length: Any) -> Any:
        """Part of its product with a weight's move that a row of the step leaves."""
        return 1.0 if self.preconditioner is None else self.preconditioner.kept_fraction(length)

    def own_share(self, length: Any) -> Any:
        """Return the part that a row of the step adds to its product, over its own gradient."""
        trace = 1.0 if self.preconditioner is None else self.preconditioner.trace
        return self.phi0 * length * trace * self.kept_fraction(length)

    @property
    def kept(self) -> float:
        """Share that a direction keeps of itself in the step, the root of its mean square."""
        if self.preconditioner is None:
            return 1.0
        return float(np.sqrt(self.inputs.omega @ self.gain**2))

    def noise_of_moves(self, energy: Any, signal: Any = 0.0) -> Any:
        r"""Return the variance of what a step of row functions :math:`\psi` adds to an input.

        energy : their mean square.
        signal : that of their part along a neuron's own initial input.
        """
        if self.preconditioner is None:
            return self.phi0 * energy * float(self.inputs.omega @ self.gain**2)
        missed = signal * ((self.inputs.omega * self.inputs.s) @ (1 - self.gain) ** 2)
        return self.preconditioner.spread * self.preconditioner.left_out(energy, signal, missed)

    @property
    def multiplied_weight(self) -> float:
        r"""Factor of weights along the strongest direction of the inputs, by M's noise.

        .. math:: 2|c_2|\gamma s_{\max}\sqrt{\varphi_0Er^2}
        """
        noise = float(self.inputs.s.max() * np.sqrt(self.phi0 * self.energy))
        return abs(2 * self.activation.c2 * self.gamma) * noise

    @property
    def full(self) -> bool:
        """True if the residual contains the initial output."""
        return self.scale != 0.0

    @property
    def output_rest(self) -> float:
        """Energy of the initial output in the residual beyond its linear part."""
        return self.scale**2 * self.activation.rest

    @property
    def bulk_trace(self) -> float:
        """Tr Sigma^2/d off the special directions, whose squares are explicit."""
        second = self.inputs.trace(2)
        if self.inputs.isotropic:
            return second
        inside = self.overlap @ self.inputs.s
        return max(second - float((inside**2).sum()) / self.inputs.d, MIN_BULK)

    @property
    def remaining(self) -> Floats:
        """Part of each group that the special directions leave, (R,)."""
        if self.inputs.isotropic:
            return np.ones(1)
        inside = np.einsum("iir->r", self.overlap)
        return np.clip(1 - inside / (self.inputs.omega * self.inputs.d), 0.0, 1.0)


def take_step(laws: Laws) -> Step:
    """Return the numbers and directions of a step."""
    inputs, labels, neurons, update = laws.inputs, laws.labels, laws.neurons, laws.update
    at_biases = tuple(activation_numbers(f) for f in neurons.activations)
    numbers = ActivationNumbers(*(neurons.biases[1] @ [astuple(x) for x in at_biases]).tolist())
    n0, d, m, scale = laws.step_count, inputs.d, labels.indices, update.scale
    fit, mean = labels.fit, labels.fit.step_mean - scale * update.constant
    phi0, c1, full = d / n0, numbers.c1, scale != 0.0
    coherent = scale * neurons.mean_readout * np.sqrt(neurons.N) * numbers.c2
    output = scale**2 * numbers.variance + 2 * coherent**2 * inputs.trace(2) / d
    output += (scale * update.constant) ** 2 - 2 * fit.step_mean * scale * update.constant
    energy = fit.step_energy + output
    slots = Slots(inputs, m + full + 1 + (inputs.mean is not None))
    directions = label_directions(slots, labels)
    prims = list(directions.indices)
    c = np.array(fit.step_linear, dtype=float)
    row = np.zeros(slots.size)
    if full:
        row = slots.readout_row(m)
        on_indices = np.array([row @ u for u in prims])
        off = row - on_indices @ np.array(prims)
        size = float(np.linalg.norm(off))
        c = np.append(c - scale * c1 * on_indices, -scale * c1 * size)
        prims.append(off / size)
    noise = slots.noise()
    noise = noise - (noise @ np.array(prims).T) @ np.array(prims)
    size = float(np.linalg.norm(noise))
    square = phi0 * (fit.free_energy + labels.energy_of_long_inputs + output) * size**2
    gamma, preconditioner, gain = update.eta / float(np.sqrt(neurons.N)), None, inputs.s
    if update.shift is not None:
        preconditioner = Preconditioner(update.shift, phi0, inputs.s, inputs.omega)
        gain = preconditioner.gain
    mean_c = c.copy()
    if not (inputs.isotropic or fit.has_direction):
        regressed = np.zeros(m)
        if preconditioner is not None:  # of the index, which the rows' covariance knows
            regressed = directions.indices @ (
                np.tile(gain, slots.count) * (c[:m] @ directions.indices)
            )
        deviation = _deviation_of_signal(labels, energy, c[:m], regressed, n0)
        c[:m] += inputs.draw.fluctuation * deviation * unit_linear(labels)
    elif not fit.has_direction:  # to order 1/d: rows of a large residual are longer
        longer = (1 - labels.replaced) * energy_of_long_rows(labels.teacher) + 2 * (scale * c1) ** 2
        square += phi0 * longer / d - float(c @ c) / n0
    primitives = np.array([*prims, noise / size])
    noise_size = float(np.sqrt(max(square, 0.0)))
    g0 = np.append(c, noise_size)
    own_of_fit = np.zeros(len(primitives))
    if fit.has_direction:
        own_of_fit[m - 1] = labels.phi / fit.noise
    if directions.noise is not None:
        own = labels.phi * directions.remainder / labels.noise_of_fit
        rest = directions.noise - (primitives @ directions.noise) @ primitives
        primitives = np.vstack([primitives, rest / np.linalg.norm(rest)])
        own_of_fit = np.append(own_of_fit, own)
        g0 = np.append(g0, own * fit.with_fitted)
    if preconditioner is not None:
        plain = float(slots.s @ (g0 @ primitives) ** 2)
        K, signal = np.tile(gain, slots.count), mean_c @ primitives[: len(c)]
        missed, free = (1 - K) * signal, fit.free_energy + output
        remaining = preconditioner.left_out(free, float(signal @ signal), float(missed @ missed))
        noise_size = float(np.sqrt(max(phi0 * remaining, 0.0))) * size
        if noise_size:
            g0[len(c)] = phi0 * (free - float(signal @ (signal - missed))) / noise_size
    h = np.append(c, [noise_size, *g0[len(c) + 1 :]]) @ primitives
    h = np.tile(gain, slots.count) * h
    if inputs.mean is not None:
        h += mean * slots.vector(slots.count - 1, np.sqrt(inputs.s * inputs.mean))
    b = float(np.linalg.norm(h))
    if preconditioner is not None:
        learned = float((h**2) @ (1 / slots.s))
        gamma *= _relative_length(preconditioner, numbers, energy, mean, plain, learned)
    if noise_size == 0.0 and not c.any():  # nothing leads: any v is valid
        g0, b = np.zeros(len(primitives)), 0.0
        lead = np.append(FREE_OVERLAP * fit.step_direction, np.zeros(len(primitives) - m - 1))
        v = np.append(lead, np.sqrt(1 - FREE_OVERLAP**2)) @ primitives
    else:
        v = h / b
    spanned = [v]
    # M moves weights along K u
    moved = 2 * gamma * neurons.large_readout * numbers.c2 * _curvature(labels)
    if b == 0.0 or abs(moved) > LARGE_MOVE:
        spanned += list(np.tile(gain, slots.count) * directions.indices)
    for direction in spanned:
        rest = direction - (direction @ primitives.T) @ primitives
        if np.linalg.norm(rest) > MIN_LENGTH:
            primitives = np.vstack([primitives, rest / np.linalg.norm(rest)])
            g0, own_of_fit = np.append(g0, 0.0), np.append(own_of_fit, 0.0)
    overlaps = primitives[:m] @ v
    basis = _special_directions(v, primitives, overlaps)
    frame = basis @ primitives.T
    parts = basis.reshape(len(basis), slots.count, len(inputs.s))
    return Step(
        laws,
        at_biases,
        numbers,
        gamma=gamma,
        phi0=phi0,
        energy=energy,
        coherent=float(coherent),
        b=b,
        moved_bias=mean * inputs.mean_square,
        primitives=m + full,
        noise_size=noise_size,
        own_of_fit=own_of_fit,
        preconditioner=preconditioner,
        overlaps=overlaps,
        frame=frame,
        row=primitives @ row,
        g0=frame @ g0,
        parts=parts,
        overlap=np.einsum("iar,kar->ikr", parts, parts),
        row_overlap=np.einsum("iar,ar->ir", parts, row.reshape(slots.count, -1)),
    )


def _relative_length(
    preconditioner: Preconditioner,
    numbers: ActivationNumbers,
    energy: float,  # E r^2
    mean: float,  # E r
    plain: float,  # squared length of the gradient's learned direction
    learned: float,  # and of that of the step
) -> float:
    """Return the length of the gradient over that of the step."""
    s, omega, gain = preconditioner.s, preconditioner.omega, preconditioner.gain
    even = 4 * numbers.c2**2
    slopes = energy * (even + numbers.nu)
    gradient = numbers.c1**2 * plain + even * mean**2 * (omega @ s**2) + preconditioner.phi * slopes
    missed = even * mean**2 * ((omega * s) @ (1 - gain) ** 2)
    noise = preconditioner.phi * preconditioner.left_out(slopes, even * mean**2, missed)
    moved = even * mean**2 * (omega @ gain**2) + noise * (omega @ (gain**2 / s))
    return float(np.sqrt(gradient / (numbers.c1**2 * learned + moved)))


def _curvature(labels: LabelLaw) -> float:
    """Return E[y (u^2 - 1)] of labels of one index; of several ones nothing is known."""
    f = labels.teacher
    return (1 - labels.replaced) * 2 * float(f.c[2]) if isinstance(f, Function) else 0.0


def _special_directions(v: Floats, primitives: Floats, overlaps: Floats) -> Floats:
    """Return v, the labels' indices off v and what else the primitive directions span, (p, D)."""
    m = len(overlaps)
    off = np.linalg.solve(off_root(overlaps), primitives[:m] - np.outer(overlaps, v))
    basis = [v, *off]
    for primitive in primitives[m:]:
        rest = off_directions(primitive, basis)
        if np.linalg.norm(rest) > MIN_LENGTH:
            basis.append(rest / np.linalg.norm(rest))
    return np.array(basis[: len(primitives)])


def _deviation_of_signal(
    labels: LabelLaw, energy: float, c: Floats, regressed: Floats, n0: int
) -> float:
    """Return the deviation of E[ru] over n_0 rows, along the linear part.

    regressed : (m,) coefficients of the indices u that a step takes off r.
    """
    k = float(regressed @ unit_linear(labels))
    fourth, square = labels.replaced * labels.square, labels.square
    for scale, weight, f in labels.at_scales:
        one = f if isinstance(f, Function) else along_linear(labels)
        along = energy_of_long_rows(one) + one.second_moment  # E[f^2 z^2]
        fourth += (1 - labels.replaced) * weight * scale * along
        square += weight * (one.second_moment - f.second_moment)
        cubic = (1 - labels.replaced) * weight * scale * float(3 * one.c[1] + 6 * one.c[3])
        fourth += 3 * weight * scale * k**2 - 2 * k * cubic
    mean = c - regressed
    return float(np.sqrt(max(fourth + energy - square - float(mean @ mean), 0.0) / n0))


def energy_of_long_rows(f: Function | MultiIndex) -> float:
    """Return E[f^2 (|u|^2 - m)] over the indices u."""
    if isinstance(f, Function):
        return expect(lambda z: f(z) ** 2 * (z * z - 1), f.kinks)
    degrees = ((monomial, c) for monomial, c in index_calculus.square(f.terms))
    return float(sum(2 * c for monomial, c in degrees if [k for _, k in monomial] == [2]))

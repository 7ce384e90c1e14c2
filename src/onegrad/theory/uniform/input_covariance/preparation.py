"""Everything the theory needs of one draw of the teacher before a number of nodes is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.hermite import gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.direction import MAX_CENTRED_MEAN, is_of_one_size
from onegrad.theory.uniform.covariance import step_covariance
from onegrad.theory.uniform.input_covariance.explicit_step import (
    ExplicitStep,
    mean_activation,
    take_explicit_step,
)
from onegrad.theory.uniform.laws.inputs import (
    FEW_DRAWS,
    InputSpectrum,
    teacher_draws,
)
from onegrad.theory.uniform.laws.labels import along_linear
from onegrad.theory.uniform.quadrature_nodes import large_readout, readout_law
from onegrad.theory.uniform.rules import (
    LARGE_DEVIATION,
    MAX_WIDTH,
    REACH,
    TWO_POINT_NODES,
    TWO_POINT_RULE,
    GradedRule,
    gauss_rule,
    index_rule,
    neuron_rule,
    smooth_width,
)

MIN_NODES = 2  # of any fluctuation
NODES_OF_THE_NOISE = 4  # of M
NODES_OF_STRONG_NOISE = 8  # where it makes weights of many directions vanish
SECOND_SPACING = 1.4  # of the nodes of a second index, relative to those of the first
MAX_LENGTH_FLUCTUATION = 0.8  # relative, of the squared length of a weight
MAX_SAMPLE_FLUCTUATION = 0.6  # the same of a sample
MAX_TEACHER_FLUCTUATION = 0.3  # of the teacher's variance off v given the sample's length
MIN_RELATIVE_LENGTH = 0.05  # of a weight, relative to its mean
# of a neuron's variance along a direction off v that is worth an index: taken for Gaussian noise,
# a strong one made training errors a third too low (docs/input_covariance.md)
MIN_INDEX_SHARE = 0.05
MAX_INDEX_STRENGTH = 6.0  # of the weights along it over all others: its rule ends there; not tuned
MIN_OFF_V = 1e-6  # squared part off v of a direction that stands alone
NODES_OF_A_READOUT = 6
FOUR_NODE_GROWTH = 16.0  # of the variance along v that four nodes across it resolve


@dataclass(frozen=True)
class Lengths:
    """Fluctuations of the squared lengths of weights and samples off v."""

    # sum_r f_r m_r s_r^k/d, the traces of what is left for weights
    t1: float
    t2: float
    weights: float  # relative deviation of a weight's squared length
    sphere: bool  # whether its length is fixed
    samples: float  # relative deviation of a sample's squared length
    flattening: float  # how much flatter than Gaussian a sample is then
    sample_trace: float  # tr P Sigma P/d

    def given_length(self, values: Floats, d: int, fraction: Floats | float = 1.0) -> Floats:
        r"""Return the relative change of the variance along directions of these eigenvalues.

        It is the regression of :math:`\tilde w_r^2` on the length, for one deviation of that.
        """
        centred = values - self.sphere * self.t1
        variance = self.t2 - self.sphere * self.t1**2
        if variance <= 1e-12 * self.t2:
            return np.full(np.shape(values), self.weights)
        rate = math.sqrt(2 / d) * centred * fraction / math.sqrt(variance)
        return np.clip(rate, -0.9, 0.9)


@dataclass(frozen=True)
class NoiseOfStep:
    """Nodes of the noise of M, centred, with the energies of S relative to their mean, (k,)."""

    mu: Floats
    s: Floats
    weight: Floats

    def with_fewer_nodes(self, count: int) -> NoiseOfStep:
        """Return the Gauss rule with fewer nodes."""
        if count >= len(self.mu):
            return self
        if np.ptp(self.mu) == 0:  # nodes of S itself
            s, weight = gauss_rule(self.s, self.weight, count)
            return NoiseOfStep(np.zeros(len(s)), s, weight)
        mu, weight = gauss_rule(self.mu, self.weight, count)
        s = np.interp(mu, self.mu, self.s)
        return NoiseOfStep(mu, s / (weight @ s), weight)


@dataclass(frozen=True)
class PreparedDraw:
    """One draw of the teacher, before nodes are chosen."""

    problem: Problem
    step: ExplicitStep
    lengths: Lengths
    noise: NoiseOfStep
    slopes: Floats  # (biases, 2) c_1 of neurons of two lengths at each bias
    index_rule: GradedRule
    neuron_rule: GradedRule  # for a neuron's weight along v
    # nodes and probabilities of a neuron's initial weight along v given the weight after the step;
    # two unless the step multiplies it
    across: tuple[Floats, Floats]
    indices: Floats  # (i, D) v, and a second learned direction where there is one
    # for that index, and for a neuron's random weight along it
    second_rules: tuple[GradedRule, GradedRule] | None


def prepare_draws(
    problem: Problem, spectrum: InputSpectrum, count: int = FEW_DRAWS
) -> tuple[PreparedDraw, ...]:
    """Prepare a problem at each draw of the teacher and each constant of the initial output."""
    steps = [
        take_explicit_step(problem, spectrum, draw, constant)
        for draw in teacher_draws(spectrum, count)
        for constant in _constants(problem, spectrum)
    ]
    # readouts of several sizes tell neurons apart by themselves: a second index matters less, and
    # costs most, unless all functions are few
    alike = is_of_one_size(problem) or problem.sigma.polynomial is not None
    if alike and any(a.d2 for a in steps[0].activations):
        seconds = [second_direction(step) for step in steps]
        if np.mean([share for _, share in seconds]) > MIN_INDEX_SHARE:
            pairs = zip(steps, seconds, strict=True)
            return tuple(_prepare(step, *second) for step, second in pairs)
    return tuple(_prepare(step, None, 0.0) for step in steps)


def _constants(problem: Problem, spectrum: InputSpectrum) -> tuple[float, ...]:
    """Return equally likely constants of the initial output in the residual."""
    c0 = mean_activation(problem, spectrum).c0
    if problem.residual != "full" or abs(c0) < MAX_CENTRED_MEAN:
        return (0.0,)
    if problem.readout == "constant":
        return (c0 * math.sqrt(problem.N),)
    return c0, -c0


def _prepare(step: ExplicitStep, second: Floats | None, share: float) -> PreparedDraw:
    """Prepare one draw.

    second, share : direction of a second index, and the share of a neuron's variance along it.
    """
    problem, sigma = step.problem, step.problem.sigma
    indices = step.v[None] if second is None else np.array([step.v, second])
    lengths = _lengths(step, indices)
    trace = step.spectrum.moment(1)
    change = TWO_POINT_NODES * min(lengths.weights, MAX_LENGTH_FLUCTUATION) * lengths.t1
    sizes = np.sqrt(np.maximum(trace + change, MIN_RELATIVE_LENGTH * trace))
    biases = np.array([[a.bias] for a in step.activations])
    slopes = np.asarray(gaussian_averages(sigma, biases, sizes).slope / sizes)
    growth = _largest_along_v(step) / step.initial_along_v
    index, neuron = _rules(step, growth)
    # more nodes across the weight along v where the step multiplies that weight
    across = TWO_POINT_RULE
    if problem.readout == "gaussian" and growth >= 1.6**2:
        few = growth <= FOUR_NODE_GROWTH or second is not None
        across = gauss_hermite(4 if few else 8)
    return PreparedDraw(
        problem,
        step,
        lengths,
        _noise(step),
        slopes,
        index,
        neuron,
        across,
        indices,
        None if second is None else _second_rules(step, second, share),
    )


def with_fewer_nodes(prepared: PreparedDraw, across: float, noise: float) -> PreparedDraw:
    """Return the same with fractions of the nodes across the weight along v, and of M's noise."""
    rule, before = prepared.across, len(prepared.across[0])
    count = max(int(across * before), MIN_NODES)
    if count < before:
        rule = gauss_hermite(count) if count > MIN_NODES else TWO_POINT_RULE
    fewer = max(int(noise * len(prepared.noise.mu)), MIN_NODES)
    return replace(prepared, across=rule, noise=prepared.noise.with_fewer_nodes(fewer))


def second_direction(step: ExplicitStep) -> tuple[Floats, float]:
    """Return the direction off v along which neurons vary most, and its share of their variance.

    It is the leading eigenvector of the mean of Q among the directions that stand alone.
    """
    problem, spectrum, v = step.problem, step.spectrum, step.v
    one = np.ones(1)
    normal = gauss_hermite(NODES_OF_A_READOUT)
    g, p = (one, one) if is_of_one_size(problem) else readout_law(problem, normal)
    gamma_g = step.gamma * g
    epsilon = gamma_g * step.activation.d2
    noise = gamma_g**2 * step.activation.nu * problem.phi_step
    mean = step.coefficients(epsilon, noise, np.zeros(len(g))) @ p
    K = np.tensordot(mean, step.kernels, axes=1)
    spread = float(p @ epsilon**2) * spectrum.moment(1) * problem.phi_step
    K += spread * step.kernels[-1]  # Sigma S Sigma
    spread *= step.energy
    lone_axes = np.eye(len(v))[: spectrum.singles]  # in the slot of the teacher, which comes first
    lone_axes = lone_axes - np.outer(lone_axes @ v, v)
    lengths, axes = np.linalg.eigh(lone_axes @ lone_axes.T)
    visible = lengths > MIN_OFF_V
    if not visible.any():
        return v, 0.0
    basis = (axes[:, visible] / np.sqrt(lengths[visible])).T @ lone_axes
    Kv = basis @ K @ v
    variances, vectors = np.linalg.eigh(basis @ K @ basis.T - np.outer(Kv, Kv) / (v @ K @ v))
    s, counts = spectrum.values, spectrum.counts
    plain = s * (1 + np.outer(epsilon, s) * (step.mean + step.shift * s)) ** 2
    total = float(p @ plain @ counts) + counts @ s**2 * (spread + float(p @ noise) * step.energy)
    return vectors[:, -1] @ basis, float(variances[-1] / total)


def _second_rules(
    step: ExplicitStep, second: Floats, share: float
) -> tuple[GradedRule, GradedRule]:
    """Return rules for a second index and for a neuron's random weight along it."""
    strength = math.sqrt(share / max(1 - share, share / MAX_INDEX_STRENGTH**2))
    sigma, teacher = step.problem.sigma, along_linear(step.labels)
    index = index_rule(sigma, LARGE_DEVIATION * strength, teacher, abs(float(second @ step.beta)))
    return index, neuron_rule(sigma, strength, 0.0)


def _lengths(step: ExplicitStep, indices: Floats) -> Lengths:
    """Return how lengths fluctuate once the indices are taken out."""
    spectrum, problem = step.spectrum, step.problem
    s, m, d = spectrum.values, spectrum.counts, problem.d
    moved = indices * step.sigma
    inside = indices @ moved.T  # V Sigma V^T
    removed = (np.linalg.solve(inside, indices) * moved).sum(0).reshape(-1, len(s)).sum(0)
    t1 = float((m - removed) @ s / d)
    t2 = max(float((m - removed) @ s**2 / d), t1**2)
    sphere = problem.weights == "sphere"
    sample_t1 = spectrum.moment(1) - float(np.trace(inside)) / d
    sample_t2 = spectrum.moment(2) - float(2 * (moved**2).sum() - (inside**2).sum()) / d
    samples = math.sqrt(2 * max(sample_t2, sample_t1**2) / d) / sample_t1
    samples = min(samples, MAX_SAMPLE_FLUCTUATION)
    # lengths of a user's rows may fluctuate less than Gaussian ones
    narrower = min(spectrum.length_deviation / spectrum.gaussian_deviation, 1.0)
    return Lengths(
        t1=t1,
        t2=t2,
        weights=math.sqrt(max(2 * (t2 - sphere * t1**2) / d, 0.0)) / t1,
        sphere=sphere,
        samples=narrower * samples,
        flattening=samples**2 / 8,
        sample_trace=sample_t1,
    )


def _noise(step: ExplicitStep) -> NoiseOfStep:
    """Return nodes of the law of M with these residuals for isotropic inputs, centred."""
    problem, odd = step.problem, step.activation.d2 == 0.0
    labels, noise, output = step.labels, step.residual_noise, step.output
    phi, rows = problem.phi_step, problem.rows_of_step
    isotropic = step_covariance(labels, noise, phi, rows, odd, output, step.residual_mean).trace
    strength = abs(step.gamma * step.activation.d2) * math.sqrt(problem.phi_step * step.energy)
    nodes = NODES_OF_THE_NOISE if strength < 0.5 else NODES_OF_STRONG_NOISE
    mu, weight = gauss_rule(isotropic.mu, isotropic.weight, nodes)
    if odd:  # nodes of S itself
        return NoiseOfStep(np.zeros(len(mu)), np.maximum(mu, 0.0) / step.energy, weight)
    s = np.maximum(np.interp(mu, isotropic.mu, isotropic.s), 0.0)
    return NoiseOfStep(mu - weight @ mu, s / (weight @ s), weight)


def _largest_along_v(step: ExplicitStep) -> float:
    """Return the variance along v after the step of a neuron with a large readout, times d."""
    g = np.array([1.0, -1.0]) * large_readout(step.problem)
    along = (step.kernels @ step.v) @ step.v
    epsilon = step.gamma * g * max((a.d2 for a in step.activations), key=abs)
    noise = (step.gamma * g) ** 2 * step.activation.nu * step.problem.phi_step
    largest = (along @ step.coefficients(epsilon, noise, np.zeros(2))).max()
    return float(max(largest, step.initial_along_v))


def _rules(step: ExplicitStep, growth: float) -> tuple[GradedRule, GradedRule]:
    """Return rules for the index and for a neuron's weight along v."""
    problem, d, tau = step.problem, step.problem.d, step.activation.tau
    gaussian, large = problem.readout == "gaussian", large_readout(problem)
    spike = abs(step.gamma * step.activation.c1 * step.b)
    before, after = (math.sqrt(step.initial_along_v * x / d) for x in (1.0, growth))
    strength = (spike * large + LARGE_DEVIATION * after) / tau
    teacher = along_linear(step.labels)
    index = index_rule(problem.sigma, strength, teacher, step.theta)
    if gaussian:
        deviation = math.hypot(spike, before)
        bulk = step.activation.nu + (step.activation.d2 * tau) ** 2
        bulk *= problem.phi_step * step.energy * step.spectrum.moment(2)
        rate = step.gamma * large * math.sqrt(bulk) / LARGE_DEVIATION * spike / deviation
        return index, neuron_rule(problem.sigma, deviation, rate)
    # weights along v change sign, and outputs are steep, at omega = -t/after
    steep = LARGE_DEVIATION * after / math.hypot(1.0, smooth_width(problem.sigma))
    centre = -step.gamma * step.activation.c1 * step.b / after
    centre = centre if abs(centre) < REACH else 0.0
    return index, GradedRule(((centre, 1 / max(steep, 1 / MAX_WIDTH)),))

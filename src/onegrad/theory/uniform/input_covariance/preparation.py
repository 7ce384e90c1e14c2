"""Everything the theory needs of one draw of the teacher before a number of nodes is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.hermite import gauss_hermite
from onegrad.problem import Problem
from onegrad.theory.direction import MAX_CENTRED_MEAN
from onegrad.theory.uniform.covariance import step_covariance
from onegrad.theory.uniform.graded_rule import (
    LARGE_DEVIATION,
    MAX_WIDTH,
    REACH,
    GradedRule,
    index_rule,
    neuron_rule,
    smooth_width,
)
from onegrad.theory.uniform.input_covariance.explicit_step import (
    ExplicitStep,
    mean_activation,
    take_explicit_step,
)
from onegrad.theory.uniform.input_covariance.spectrum import InputSpectrum, gauss_rule
from onegrad.theory.uniform.input_covariance.teacher_draws import teacher_draws
from onegrad.theory.uniform.label_law import along_linear
from onegrad.theory.uniform.quadrature_nodes import TWO_POINT_NODES

NODES_OF_THE_NOISE = 4  # of M
MAX_LENGTH_FLUCTUATION = 0.8  # relative, of the squared length of a weight
MAX_SAMPLE_FLUCTUATION = 0.6  # the same of a sample
MAX_TEACHER_FLUCTUATION = 0.3  # of the teacher's variance off v given the sample's length
MIN_RELATIVE_LENGTH = 0.05  # of a weight, relative to its mean


@dataclass(frozen=True)
class Lengths:
    r"""Fluctuations of the squared lengths of weights and samples off v.

    fraction : part of each group that v and the lean along it leave to the bulk, (R,).
    t1, t2 : :math:`\sum_r f_rm_rs_r^k/d`, the traces of what is left for weights.
    weights : relative deviation of a weight's squared length; sphere : whether its length is fixed.
    samples, flattening : the same of a sample's, and how much flatter than Gaussian it is then.
    sample_trace : :math:`\mathrm{tr}P\Sigma P/d`.
    """

    fraction: Floats
    t1: float
    t2: float
    weights: float
    sphere: bool
    samples: float
    flattening: float
    sample_trace: float

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


@dataclass(frozen=True)
class PreparedDraw:
    """One draw of the teacher, before nodes are chosen.

    slopes : c_1 of neurons of two lengths at each bias, (biases, 2).
    index_rule, neuron_rule : rules for the index, and for a neuron's weight along v.
    across : nodes and probabilities of a neuron's initial weight along v given the weight after
        the step; two unless the step multiplies it.
    """

    problem: Problem
    step: ExplicitStep
    lengths: Lengths
    noise: NoiseOfStep
    slopes: Floats
    index_rule: GradedRule
    neuron_rule: GradedRule
    across: tuple[Floats, Floats]


def prepare_draws(problem: Problem, spectrum: InputSpectrum) -> tuple[PreparedDraw, ...]:
    """Prepare a problem at each draw of the teacher and each constant of the initial output."""
    return tuple(
        _prepare(take_explicit_step(problem, spectrum, draw, constant))
        for draw in teacher_draws(spectrum)
        for constant in _constants(problem, spectrum)
    )


def _constants(problem: Problem, spectrum: InputSpectrum) -> tuple[float, ...]:
    """Return equally likely constants of the initial output in the residual."""
    c0 = mean_activation(problem, spectrum).c0
    if problem.residual != "full" or abs(c0) < MAX_CENTRED_MEAN:
        return (0.0,)
    if problem.readout == "constant":
        return (c0 * math.sqrt(problem.N),)
    return c0, -c0


def _prepare(step: ExplicitStep) -> PreparedDraw:
    problem, sigma = step.problem, step.problem.sigma
    lengths = _lengths(step)
    trace = step.spectrum.moment(1)
    change = TWO_POINT_NODES * min(lengths.weights, MAX_LENGTH_FLUCTUATION) * lengths.t1
    sizes = np.sqrt(np.maximum(trace + change, MIN_RELATIVE_LENGTH * trace))
    biases = np.array([[a.bias] for a in step.activations])
    slopes = np.asarray(gaussian_averages(sigma, biases, sizes).slope / sizes)
    growth = _largest_along_v(step) / step.initial_along_v
    index, neuron = _rules(step, growth)
    return PreparedDraw(
        problem, step, lengths, _noise(step), slopes, index, neuron, _across(problem, growth)
    )


def _lengths(step: ExplicitStep) -> Lengths:
    """Return how lengths fluctuate once v is taken out."""
    spectrum, problem = step.spectrum, step.problem
    s, m, d = spectrum.values, spectrum.counts, problem.d
    removed = (step.v**2).reshape(-1, len(s)).sum(0) * s / step.initial_along_v  # adds up to one
    t1 = float((m - removed) @ s / d)
    t2 = max(float((m - removed) @ s**2 / d), t1**2)
    sphere = problem.weights == "sphere"
    sigma_v = step.sigma * step.v
    sample_t1 = spectrum.moment(1) - step.initial_along_v / d
    sample_t2 = spectrum.moment(2) - (2 * float(sigma_v @ sigma_v) - step.initial_along_v**2) / d
    samples = math.sqrt(2 * max(sample_t2, sample_t1**2) / d) / sample_t1
    samples = min(samples, MAX_SAMPLE_FLUCTUATION)
    # lengths of a user's rows may fluctuate less than Gaussian ones
    narrower = min(spectrum.length_deviation / spectrum.gaussian_deviation, 1.0)
    return Lengths(
        fraction=np.clip((m - removed) / m, 0.0, 1.0),
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
    isotropic = step_covariance(
        step.labels,
        step.residual_noise,
        problem.phi_step,
        problem.rows_of_step,
        odd,
        step.output,
        step.residual_mean,
    ).trace
    mu, weight = gauss_rule(isotropic.mu, isotropic.weight, NODES_OF_THE_NOISE)
    if odd:  # nodes of S itself
        return NoiseOfStep(np.zeros(len(mu)), np.maximum(mu, 0.0) / step.energy, weight)
    s = np.maximum(np.interp(mu, isotropic.mu, isotropic.s), 0.0)
    return NoiseOfStep(mu - weight @ mu, s / (weight @ s), weight)


def _largest_along_v(step: ExplicitStep) -> float:
    """Return the variance along v after the step of a neuron with a large readout, times d."""
    g = np.array([1.0, -1.0]) * _large_readout(step.problem)
    along = (step.kernels @ step.v) @ step.v
    epsilon = step.gamma * g * max((a.d2 for a in step.activations), key=abs)
    noise = (step.gamma * g) ** 2 * step.activation.nu * step.problem.phi_step
    largest = (along @ step.coefficients(epsilon, noise, np.zeros(2))).max()
    return float(max(largest, step.initial_along_v))


def _large_readout(problem: Problem) -> float:
    return LARGE_DEVIATION if problem.readout == "gaussian" else 1.0


def _across(problem: Problem, growth: float) -> tuple[Floats, Floats]:
    """Return nodes across the weight along v; more where the step multiplies that weight."""
    if problem.readout != "gaussian" or growth < 1.6**2:
        return TWO_POINT_NODES, np.full(2, 0.5)
    return gauss_hermite(4 if growth < 16 else 8)


def _rules(step: ExplicitStep, growth: float) -> tuple[GradedRule, GradedRule]:
    """Return rules for the index and for a neuron's weight along v."""
    problem, d, tau = step.problem, step.problem.d, step.activation.tau
    gaussian, large = problem.readout == "gaussian", _large_readout(problem)
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

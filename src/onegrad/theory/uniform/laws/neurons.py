r"""Types of neurons: readout and length, with what the step does to a weight.

With the neuron's readout g, :math:`\gamma_g = \gamma g`, :math:`\varepsilon = 2c_2\gamma_g` and its
own scale :math:`\epsilon`, a weight moves in units of the inputs' deviation by

.. math:: w = (1 + \epsilon + \varepsilon M\Sigma)w_0 + \gamma_g(c_1\Sigma^{1/2}h + \text{noise}),
    \qquad \mathrm{Var} = \varphi_0\gamma_g^2(4c_2^2|w_0|^2 + \nu)\,S,

so that its input has the deviation :math:`\rho`, with a part along the initial one, and a weight
:math:`s = \gamma_gc_1b` along v. NeuronLaw with readouts of one size have two lengths as types, if
lengths differ. For an odd activation g and -g are one type: a neuron (-g, w) has the features of
(g, -w) with the sign reversed.

Where the initial weight along one special direction q, :math:`\omega` in its deviations, makes much
of a neuron's variance, its Gauss nodes are types too (`with_initial_weights`): q is v, or what M
singles out. With the regression c of the moved weights on :math:`\omega`, along v and one more
direction t, such a type has

.. math:: T^0_q = \tau\omega\alpha,\qquad T = T' + c\omega\alpha,\qquad
    \mathrm{pre} = (\gamma_gc_1b + c_v\omega)\kappa + c_t\omega\,t\cdot x + \dots

with the mean output :math:`\alpha`: T^0 along q is no field, and what c says of weights is in the
features, for which rows have nodes of both indices. What :math:`\omega` explains leaves
:math:`\rho^2` and the covariance of weights. On a sphere a weight that is longer along q is shorter
off it; and it leans towards Mq, off the special directions. Where q is v, and the noise of the step
along v is much of what a neuron has off it, nodes are those of all its weight along v: no field is
left there, :math:`T_v = c\omega\alpha`, and T^0 along v is the part of it that correlates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function
from onegrad.functions.hermite import gauss_hermite, gauss_legendre
from onegrad.problem import Problem
from onegrad.theory.uniform.laws.inputs import stretched
from onegrad.theory.uniform.laws.rows import StepMoments
from onegrad.theory.uniform.rules import (
    LARGE_DEVIATION,
    MAX_WIDTH,
    ONE_NODE,
    TWO_POINT_NODES,
    TWO_POINT_RULE,
    UNIFORM_READOUTS,
    GradedRule,
    smooth_width,
)

if TYPE_CHECKING:  # a step is made of laws
    from onegrad.theory.uniform.step import Step

SQUARED_READOUTS = 40  # nodes of them in a mean over readouts; not tuned
READOUT_REACH = 5.5  # standard deviations of a normal readout
MIN_TYPE_WEIGHT = 3e-6  # of a type
WIDTH_OF_FIT = 0.25  # of that of the features: with it 14 readouts do what took 30
MIN_DEVIATION = 1e-12  # of squared lengths, below which they are one
MAX_RELATIVE_LENGTH = 0.9  # of a group of eigenvalues, by which a length moves
MIN_SHARE_OFF_PLANE = 0.3  # of rho^2 that special directions leave
# share of rho^2 that initial weights along one direction explain, from which their nodes are
# types: along v, and where the quadratic part of the labels singles another direction out, where
# less of it makes errors of tens of percent; for readouts of one size, and for others, whose types
# take seconds
MIN_SHARE_ALONG_V = {True: 0.1, False: 0.5}
# with a covariance and an even part: silu on a spike of .7 was 9 % off at a share of .07; odd
# activations were 3 to 4 % worse with types than without
MIN_SHARE_ALONG_SPIKE = {True: 0.1, False: 0.06}
MIN_NOISE_ALONG_V = 0.3  # of rho^2 off v, from which types know all of a weight along v
MIN_SHARE_OFF_V = {True: 0.01, False: 0.02}  # beyond that of any direction, 1/d
MIN_SHARE_WITH_COVARIANCE = {True: 0.03, False: 0.04}  # the same, where draws take seconds each
# what of it is off v, beyond 1/d and as a part of all, from which rows resolve an index there
MIN_SECOND_SHARE, MIN_PART_OFF_V = 0.005, 0.1
NODES_ALONG_V, NODES_OFF_V = {True: 7, False: 3}, {True: 5, False: 3}
# squared cosine of v and Sigma v, along which the noise of the step is: where v is no eigenvector
# types made tanh on a power law, next to no step, 25 % worse than none
MIN_ALIGNMENT = 0.95
REACH_OF_STARTS = 4.5  # standard deviations of an initial weight
MIN_RHO2, MIN_PLANE = 0.02, 1e-12  # of rho^2, and of weights times d, that these nodes leave
ODD_TEST = np.array([0.1, 0.3, 0.7, 1.1, 1.9, 2.7, 4.3])


@dataclass(frozen=True)
class NeuronLaw:
    """Law of the neurons."""

    activation: Function
    readout: str
    weights: str
    N: int
    reach: float = READOUT_REACH  # largest normal readout
    # nodes and probabilities of the input at the mean of the inputs
    biases: tuple[Floats, Floats] = ONE_NODE

    @classmethod
    def of(cls, problem: Problem) -> NeuronLaw:
        """Return the law of a problem's neurons."""
        return cls(problem.sigma, problem.readout, problem.weights, problem.N)

    @property
    def activations(self) -> tuple[Function, ...]:
        """Activation as a function of the input off its bias, at each bias."""
        return tuple(stretched(self.activation, 1.0, float(bias)) for bias in self.biases[0])

    @property
    def mean_output(self) -> float:
        """c_0, the mean over biases."""
        return float(self.biases[1] @ [f.c[0] for f in self.activations])

    @property
    def mean_readout(self) -> float:
        """E g."""
        return float(self.readout == "constant")

    @property
    def one_size(self) -> bool:
        """True if all readouts have one size."""
        return self.readout in ("constant", "rademacher")

    @property
    def squared_readouts(self) -> tuple[Floats, Floats]:
        """Nodes and probabilities of g^2."""
        if self.one_size:
            return ONE_NODE[1], ONE_NODE[1]
        if self.readout == "uniform":
            x, p = gauss_legendre(SQUARED_READOUTS)
            return 3 * x**2, p / 2
        x, p = gauss_hermite(SQUARED_READOUTS)
        return x**2, p / p.sum()

    @property
    def large_readout(self) -> float:
        """Size of a readout that is large for its law."""
        return {"gaussian": LARGE_DEVIATION, "uniform": math.sqrt(3)}.get(self.readout, 1.0)

    @property
    def signs_are_alike(self) -> bool:
        """True if g and -g are one type."""
        return self.readout != "constant" and is_odd(self.activation)


@lru_cache(maxsize=256)
def is_odd(f: Function) -> bool:
    """Return whether f is odd."""
    return bool(np.abs(f(ODD_TEST) + f(-ODD_TEST)).max() < 1e-12 * np.abs(f(ODD_TEST)).max())


@dataclass(frozen=True)
class InitialWeights:
    """Initial weights along a direction q that are types; arrays over types (U,)."""

    toward: Floats  # (p,) q on the special directions
    start: Floats  # tau omega: T^0 along q over alpha
    index: Floats  # (U, p) c omega: the part of T over alpha that the features contain
    second: Floats | None  # (p,) direction off v that c has besides v; None where it has none
    square: Floats  # omega^2
    rho: Floats  # deviation of the input over all omega
    explained: float  # share of a neuron's variance that they explain, in the mean
    whole_weight: bool  # whether they know all of a weight along v, and not only where it started

    @property
    def along_second(self) -> Floats:
        """Part of a weight along the second direction, (U,)."""
        return self.index @ self.second if self.second is not None else 0 * self.start

    @property
    def plane(self) -> Floats:
        """Projector on v and the second direction, (p, p)."""
        along = np.zeros((len(self.toward),) * 2)
        along[0, 0] = 1.0
        return along if self.second is None else along + np.outer(self.second, self.second)


@dataclass(frozen=True)
class Types:
    """Types of neurons; arrays over types (U,)."""

    weight: Floats  # probability
    g: Floats  # readout
    bias: Floats  # input at the mean of the inputs
    size: Floats  # deviation of the initial input
    length: Floats  # (R, U) squared lengths of the initial weights
    gamma: Floats  # gamma g
    epsilon: Floats  # 2 c_2 gamma g
    c1: Floats  # E sigma'(|w| z)
    nu: Floats  # energy of the slope beyond its linear part
    s: Floats  # weight along v
    own: Floats  # step along its own initial weight
    own_slope: Floats  # the same per unit of that weight along X^T r/n_0
    along: Floats  # part of rho along the initial input
    rho: Floats  # deviation of the input
    own_reading: Floats  # covariance of the input and its own part, over size
    grown: Floats  # part of rho^2 that is proportional to |w|^2
    length_deviation: float  # of lengths that are not types of their own
    s_by_length: Floats  # what such a deviation adds to s
    initial: InitialWeights | None = None  # along v

    @property
    def across(self) -> Floats:
        """Deviation of the input across the initial one."""
        return np.sqrt(np.maximum(self.rho**2 - self.along**2, 0.0))

    def repeated(self, count: int) -> dict[str, Any]:
        """Return the arrays of types that each stand for so many."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: np.repeat(value, count, axis=-1)
            for name, value in values.items()
            if isinstance(value, np.ndarray)
        }


def steepness(step: Step) -> float:
    r"""Return the largest s/rho of a neuron that counts, before anything else is known of it."""
    numbers, neurons = step.activation, step.laws.neurons
    mean = step.labels.fit.step_mean - step.scale * step.laws.update.constant
    gamma = step.gamma * neurons.large_readout
    noise = step.noise_of_moves(gamma**2 * step.energy * (4 * numbers.c2**2 + numbers.nu))
    rho = np.sqrt((1 + 2 * step.kept * numbers.c2 * gamma * mean) ** 2 + noise)
    return float(abs(gamma * numbers.c1 * step.b) / rho)


def readout_rule(step: Step, moments: StepMoments) -> GradedRule:
    """Return the rule for normal readouts, dense where features change with the readout.

    The fit changes with the readout over a part of the width over which the features do.
    """
    numbers = step.activation
    large = LARGE_DEVIATION * step.gamma
    slope_energy = 4 * numbers.c2**2 + numbers.nu
    grown = (1 + 2 * numbers.c2 * large * moments.mean) ** 2
    grown += large**2 * step.phi0 * moments.square * slope_energy
    sigma = step.laws.neurons.activation
    steep = abs(large * numbers.c1 * step.b) / np.hypot(1.0, smooth_width(sigma))
    own_part = step.gamma * step.phi0 * np.sqrt(moments.square * slope_energy)
    rate = max(np.sqrt(max(grown - 1, 0.0)) / LARGE_DEVIATION, own_part)
    width = WIDTH_OF_FIT / max(float(steep), float(rate), 1 / MAX_WIDTH)
    return GradedRule(((0.0, width),), reach=step.laws.neurons.reach)


def readouts(step: Step, moments: StepMoments, spacing: float) -> tuple[Floats, Floats]:
    """Return nodes and probabilities of the readout."""
    neurons = step.laws.neurons
    if neurons.readout == "constant":
        return np.ones(1), np.ones(1)
    if neurons.one_size:
        g, weight = TWO_POINT_RULE
    else:
        rule = readout_rule(step, moments)
        count = rule.count(spacing)
        count += count % 2 * neurons.signs_are_alike  # no node at zero where nodes are folded
        g, weight = rule.nodes(count)
    if neurons.readout == "uniform":  # dense around zero, where features are steep
        x, p = gauss_legendre(max(UNIFORM_READOUTS, count) // 2)
        half = np.sqrt(3) * (1 + x) / 2
        g, weight = np.concatenate([-half[::-1], half]), np.concatenate([p[::-1], p]) / 4
    if neurons.signs_are_alike:
        weight = 2 * weight[g > 0]
        g = g[g > 0]
    large = weight > MIN_TYPE_WEIGHT
    return g[large], weight[large] / weight[large].sum()


def neuron_types(step: Step, moments: StepMoments, law: tuple[Floats, Floats]) -> Types:
    """Return the types of neurons; `law` are the nodes and probabilities of their readouts."""
    neurons, inputs = step.laws.neurons, step.inputs
    s, omega, bulk = inputs.s, inputs.omega, step.bulk_trace
    biases, probabilities = neurons.biases
    g, at_bias = np.repeat(law[0], len(biases)), np.tile(np.arange(len(biases)), len(law[0]))
    weight = np.outer(law[1], probabilities).ravel()
    sphere = neurons.weights != "gaussian"
    deviation = float(np.sqrt(max(2 * (bulk - sphere) / inputs.d, 0.0)))  # of |w|^2
    signs = np.zeros(len(g))
    if deviation > MIN_DEVIATION and neurons.one_size:
        signs = np.repeat(TWO_POINT_NODES, len(g))
        g, at_bias, weight = np.tile(g, 2), np.tile(at_bias, 2), np.tile(weight, 2) / 2

    def number(name: str) -> Floats:
        return np.array([getattr(x, name) for x in step.activations])[at_bias]

    rate = np.sqrt(2 / inputs.d) * step.remaining * (s - sphere)
    rate = rate / max(float(np.sqrt(max(bulk - sphere, 0.0))), MIN_DEVIATION)
    rate = np.clip(rate, -MAX_RELATIVE_LENGTH, MAX_RELATIVE_LENGTH)
    length = 1 + np.outer(rate, signs)
    size = np.sqrt((omega * s) @ length)
    bias, c1, c3, nu = biases[at_bias], number("c1"), number("c3"), number("nu")
    if signs.any():
        c1 = gaussian_averages(neurons.activation, bias, size).slope / size
    gamma = step.gamma * g
    epsilon = 2 * number("c2") * gamma
    backward = float(step.row_overlap.sum(1) @ step.g0) if step.full else 0.0
    length_deviation = 0.0 if signs.any() else deviation / 2
    own = step.scale * number("own_output") - 6 * c3 * backward
    own_scale = -gamma * own * g / np.sqrt(neurons.N)
    rest = step.laws.update.rest
    grown = rest + np.outer(step.gain, own_scale + epsilon * moments.mean)
    signal = (epsilon * size * moments.mean) ** 2
    slope_noise = step.noise_of_moves(moments.square * gamma**2 * nu)
    rho2 = (omega * s) @ (length * grown**2)
    by_rows = step.noise_of_moves(moments.square * (epsilon * size) ** 2, signal)
    rho2 = rho2 + by_rows + slope_noise
    return Types(
        weight=weight,
        g=g,
        bias=bias + gamma * c1 * step.moved_bias,
        size=size,
        length=length,
        gamma=gamma,
        epsilon=epsilon,
        c1=c1,
        nu=nu,
        s=gamma * c1 * step.b,
        own=own_scale,
        own_slope=6 * step.kept * c3 * gamma,
        along=(omega * s) @ (length * grown) / size,
        rho=np.sqrt(rho2),
        own_reading=(omega * s * step.gain / step.kept) @ (length * grown) / size,
        grown=rho2 - slope_noise,
        length_deviation=length_deviation,
        s_by_length=6 * c3 * step.gamma * g * step.b * length_deviation,
    )


def weights_in_the_plane(step: Step, types: Types, moments: StepMoments) -> Floats:
    """Return the covariance of weights along the special directions, (U, p, p)."""
    return _weights_in_the_plane(step, types, moments)[0]


def _weights_in_the_plane(step: Step, types: Types, moments: StepMoments) -> tuple[Floats, Floats]:
    r"""Return this covariance, and its regression on initial weights, times d, (U, p, p).

    .. math:: \frac1d\,e_i^\top\{|w|^2[\Sigma + 2\epsilon K\Sigma +
        2(1+\epsilon)\varepsilon KM\Sigma + \varepsilon^2K(M\Sigma M + \varphi_0S)K]
        + \gamma_g^2\nu\varphi_0KSK\}e_k,\qquad
        |w|\,e_i^\top(\Sigma + \epsilon K\Sigma + \varepsilon KM\Sigma)e_k

    where x is white and the step has the gain K, for the gradient :math:`\Sigma`.
    """
    size2, epsilon, rest = types.size**2, types.epsilon, step.laws.update.rest
    noise = step.noise_of_moves(1.0) / (step.inputs.omega @ step.gain**2)
    coefficients = np.array(
        [
            size2 * rest**2,
            2 * size2 * rest * types.own,
            2 * size2 * (rest + step.kept * types.own) * epsilon,
            size2 * epsilon**2,
            (size2 * epsilon**2 + types.gamma**2 * types.nu) * noise,
        ]
    )
    forms = np.array(_forms_in_the_plane(step, moments))
    covariance = np.tensordot(coefficients, forms, axes=(0, 0)) / step.inputs.d
    covariance = (covariance + covariance.swapaxes(1, 2)) / 2
    starts = np.array([np.full_like(epsilon, rest), types.own, epsilon]) * types.size
    return covariance, np.tensordot(starts, forms[:3], axes=(0, 0))


def _forms_in_the_plane(step: Step, moments: StepMoments) -> list[Floats]:
    r"""Return :math:`\Sigma, K\Sigma, KM\Sigma, KM\Sigma MK, KSK` on the special directions."""
    p, R = step.directions, len(step.inputs.s)
    B = step.parts.reshape(p, -1)
    s, K = (np.tile(x, B.shape[1] // R) for x in (step.inputs.s, step.gain))
    everywhere, directions = np.eye(len(s)), np.eye(p)
    M = moments.mean * everywhere + B.T @ (moments.M - moments.mean * directions) @ B
    S = moments.square * everywhere + B.T @ (moments.S - moments.square * directions) @ B
    KMs = K[:, None] * M * s
    forms = [np.diag(s), np.diag(K * s), KMs, KMs @ (M * K), K[:, None] * S * K]
    return [B @ form @ B.T for form in forms]


def with_initial_weights(
    step: Step,
    types: Types,
    moments: StepMoments,
    like: Types | None = None,
    two_step_weights: tuple[Floats, Floats] | None = None,
) -> tuple[Types, Floats]:
    """Return types, and their weights in the plane, with nodes of initial weights along q.

    Only if these weights make much of a neuron's variance.

    like : types of similar laws, which say whether there are nodes.
    two_step_weights : covariance of weights after two steps, whose rows resolve all directions, and
        their regression on initial ones.
    """
    plane, linear = two_step_weights or _weights_in_the_plane(step, types, moments)
    # long preconditioned steps had negative errors with them, and need none without a covariance
    derived = step.preconditioner is None or not step.inputs.isotropic
    if two_step_weights is not None:  # many types of many draws would take minutes
        derived = step.inputs.isotropic or step.laws.neurons.one_size
    if not derived or (like is not None and like.initial is None):
        return types, plane
    inputs, neurons = step.inputs, step.laws.neurons
    q, share = _leading_start(step, types, linear)
    on_q = (linear @ q) / np.sqrt(_of_inputs(step, q) * inputs.d)
    indexed, second = _index_directions(step, types, on_q, share)
    by_start = np.ones(len(types.g))
    if second is None:
        q = np.eye(step.directions)[0]
        on_q = (linear @ q) / np.sqrt(_of_inputs(step, q) * inputs.d)
        if two_step_weights is None:
            on_q, by_start = _with_noise_along_v(types, plane, on_q, like)
        indexed = on_q * q
        share = float(types.weight @ (indexed[:, 0] ** 2 / types.rho**2))
    if two_step_weights is not None:
        indexed = on_q
    similar = None if like is None else like.initial
    alike = similar is not None and (similar.second is None) == (second is None)
    if not alike and not _types_are_derived(step, second, share):
        return types, plane
    count = (NODES_ALONG_V if second is None else NODES_OFF_V)[neurons.one_size]
    inside = np.einsum("i,k,ikr->r", q, q, step.overlap)
    deviation = np.sqrt((inside * inputs.s) @ types.length / inputs.d)
    mean = (q @ step.row_overlap).sum() * types.g / np.sqrt(neurons.N) * step.full
    along = indexed[:, 0] * (two_step_weights is None)
    nodes, p = _nodes_of_starts(types, along, mean / deviation, count)

    def each(values: Floats) -> Floats:
        return np.repeat(values, count, axis=-1)

    def each_row(values: Floats) -> Floats:
        return np.repeat(values, count, axis=0)

    omega, weight = nodes.ravel(), (types.weight[:, None] * p).ravel()
    initial = omega + each(mean / deviation)
    index, square = each_row(indexed) * initial[:, None], omega**2
    length, rho2 = each(types.length), each(types.rho) ** 2
    explained = each((indexed**2).sum(1))
    if inputs.isotropic:  # |w| is given: a weight that is longer along q is shorter off it
        longer, shorter = square - 1, 1 - (initial**2 - 1) / inputs.d
        lean = step.phi0 * (types.epsilon * types.size) ** 2 * float(q @ moments.S @ q)
        explained = explained + longer * each(types.grown - lean) / inputs.d
        length, square = length * shorter, square / shorter
    plane = plane - on_q[:, :, None] * on_q[:, None, :]
    value, vectors = np.linalg.eigh(plane)
    value = np.maximum(value, MIN_PLANE / inputs.d)
    plane = each_row((vectors * value[:, None, :]) @ vectors.swapaxes(1, 2))
    repeated = types.repeated(count)
    of_types = repeated | {
        "weight": weight,
        "length": length,
        "s": repeated["s"] + index[:, 0],
        "rho": np.sqrt(np.maximum(rho2 - explained, MIN_RHO2 * rho2)),
    }
    start = each(deviation) * initial
    start, square = each(by_start) * start, each(by_start) ** 2 * square
    weights = InitialWeights(
        q, start, index, second, square, np.sqrt(rho2), share, bool((by_start < 1).any())
    )
    return replace(types, **of_types, initial=weights), plane


def _with_noise_along_v(
    types: Types, plane: Floats, on_v: Floats, like: Types | None
) -> tuple[Floats, Floats]:
    """Return what of weights goes with the one along v, (U, p), and its correlation with the start.

    Where noise along v is much of what a neuron has off it, its nodes are those of all its weight
    along v; else of where it starts, with which `on_v` goes.
    """
    noise, rest = plane[:, 0, 0] - on_v[:, 0] ** 2, types.rho**2 - plane[:, 0, 0]
    noisy = bool(types.weight @ noise > MIN_NOISE_ALONG_V * (types.weight @ rest))
    if like is not None and like.initial is not None:
        noisy = like.initial.whole_weight
    if not noisy:
        return on_v, np.ones(len(types.g))
    deviation = np.copysign(np.sqrt(plane[:, 0, 0]), on_v[:, 0])
    return plane[:, :, 0] / deviation[:, None], on_v[:, 0] / deviation


def _nodes_of_starts(
    types: Types, along: Floats, mean: Floats, count: int
) -> tuple[Floats, Floats]:
    """Return nodes of the initial weight and their probabilities, (U, count) each.

    Where it is most of a neuron's weight they are dense about the one at which that turns its sign.

    along, mean : what of a weight along v goes with it, and its mean.
    """
    rest = np.sqrt(np.maximum(types.rho**2 - along**2, MIN_RHO2 * types.rho**2))
    plain, p = gauss_hermite(count)
    rules = [
        GradedRule(((-s / c - m, off_v / abs(c)),), reach=REACH_OF_STARTS).nodes(count)
        if abs(c) > off_v
        else (plain, p / p.sum())
        for s, c, m, off_v in zip(types.s, along, mean, rest, strict=True)
    ]
    return np.array([x for x, _ in rules]), np.array([p for _, p in rules])


def _types_are_derived(step: Step, second: Floats | None, share: float) -> bool:
    """Return whether initial weights of this share are types, with an index off v or without."""
    inputs, labels, one_size = step.inputs, step.labels, step.laws.neurons.one_size
    if step.preconditioner is not None and not inputs.isotropic and second is not None:
        return False
    if second is None:
        along = step.overlap[0, 0]  # of v, in the groups
        eigenvector = (along @ step.gain) ** 2 > MIN_ALIGNMENT * float(along @ step.gain**2)
        plain = inputs.isotropic or step.laws.neurons.signs_are_alike
        smallest = MIN_SHARE_ALONG_V if plain else MIN_SHARE_ALONG_SPIKE
        return share > smallest[one_size] and eigenvector and not step.laws.same_rows
    plain_rows = inputs.mean is None and len(inputs.scales[0]) == 1
    one_index = labels.indices == 1 or (labels.teacher_indices == 1 and not step.laws.same_rows)
    alike = inputs.isotropic or not step.laws.same_rows
    even = step.activation.c2 != 0.0 and step.coherent == 0.0
    smallest = MIN_SHARE_OFF_V if inputs.isotropic else MIN_SHARE_WITH_COVARIANCE
    large = share - 1 / inputs.d > smallest[one_size]
    return large and plain_rows and one_index and alike and even


def _of_inputs(step: Step, q: Floats) -> float:
    """Return the variance of inputs along a direction, over their mean."""
    return float(np.einsum("i,k,ikr,r", q, q, step.overlap, step.inputs.s))


def _leading_start(step: Step, types: Types, linear: Floats) -> tuple[Floats, float]:
    """Return the direction whose initial weight explains most of a neuron's variance, and that."""
    of_inputs = np.einsum("ikr,r->ik", step.overlap, step.inputs.s)
    root = np.linalg.inv(np.linalg.cholesky(of_inputs))
    share = types.weight / types.rho**2 / step.inputs.d
    explained = np.einsum("u,uji,ujk->ik", share, linear, linear)
    value, vectors = np.linalg.eigh(root @ explained @ root.T)
    q = root.T @ vectors[:, -1]
    return q / np.linalg.norm(q), float(value[-1])


def _index_directions(
    step: Step, types: Types, on_q: Floats, explained: float
) -> tuple[Floats, Floats | None]:
    """Return what of weights that start along q is along v and one more direction, and that."""
    off = on_q * (np.arange(on_q.shape[1]) > 0)
    share = types.weight / types.rho**2
    value, vectors = np.linalg.eigh((off.T * share) @ off)
    second = vectors[:, -1]
    smallest = max(MIN_SECOND_SHARE + 1 / step.inputs.d, MIN_PART_OFF_V * explained)
    if value[-1] < smallest:
        return on_q - off, None
    return on_q - off + np.outer(off @ second, second), second


def with_special_weights(step: Step, types: Types, moments: StepMoments, plane: Floats) -> Types:
    """Return types whose inputs contain what M and S do to weights along special directions."""
    unit = np.eye(step.directions)
    alike = replace(moments, M=moments.mean * unit, S=moments.square * unit)
    in_mean = weights_in_the_plane(step, types, alike)
    more = np.trace(plane - in_mean, axis1=1, axis2=2)
    special, plain = (_forms_in_the_plane(step, x)[2] for x in (moments, alike))
    moved = float(np.trace(special - plain)) / step.inputs.d
    return replace(
        types,
        rho=np.sqrt(np.maximum(types.rho**2 + more, MIN_SHARE_OFF_PLANE * types.rho**2)),
        along=types.along + types.epsilon * moved * types.size,
    )

r"""Eigenvalues of :math:`F F^\top/n`: the untrained bulk, and outliers at their actual strength.

The trained features are :math:`F_0` plus functions of the learned index u = x.beta/b with a profile
over neurons. Functions: :math:`\hat q` (the fluctuation of |x|^2), :math:`f_a = F_0 a`, and
:math:`h_j(u) = He_j(u)/\sqrt{j!}`. Profiles of a neuron with readout :math:`g/\sqrt N`:
:math:`B = [c_2\sqrt{2/d},\ g/\sqrt N,\ b_0(g),\ b_1(g), \dots]`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from onegrad.arrays import Floats
from onegrad.functions.function import Function
from onegrad.functions.hermite import (
    gauss_hermite,
    gauss_legendre,
    gaussian_rule,
    normalised_hermite,
)
from onegrad.problem import Problem
from onegrad.theory.asymptotic.assumptions import assumption_warnings, require_linear_part
from onegrad.theory.asymptotic.bulk import Bulk
from onegrad.theory.asymptotic.resolvent import Traces
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.direction import direction
from onegrad.theory.spectral_law import Spectrum, density_grid, make_spikes

MAX_SPIKE_DEGREE = 20  # of the functions h_j of the learned index
READOUT_NODES = 80
MIN_RELATIVE_STRENGTH = 1e-12  # spikes this much weaker than the strongest are rounding
GRID_POINTS = 400  # of the density


@dataclass(frozen=True)
class Perturbation:
    r"""Perturbation of the resolvent by the step, in the equation :math:`\det(I + \Gamma G) = 0`.

    .. math:: \Gamma = \kappa K + (1-\kappa) p p^\top,\quad K = N E_g[B B^\top],\quad
        p = \sqrt N E_g[B g],\quad
        G = \mathrm{diag}(M_1,\ c_1^2 M_2 + c_{>1}^2 M_1,\ M_1, M_2, M_1, \dots)

    with :math:`G_{f_a, h_1} = -c_1^2 M_2/b` for the full residual.
    """

    K: Floats
    p: Floats
    a: float
    b: float
    cross: float

    def gamma(self, kappa: float) -> Floats:
        return kappa * self.K + (1 - kappa) * np.outer(self.p, self.p)

    def G(self, M1: float, M2: float) -> Floats:
        """Return the resolvent between the functions, or its derivative: linear in (M1, M2)."""
        diagonal = np.full(len(self.p), M1)
        diagonal[1] = self.a * M2 + self.b * M1
        diagonal[3] = M2
        G = np.diag(diagonal)
        G[1, 3] = G[3, 1] = self.cross * M2
        return G

    def symmetric(self, t: Traces) -> tuple[Floats, Floats]:
        """Return C with -G = C C^T, and C^T Gamma C, which has an eigenvalue one at an outlier."""
        C = np.asarray(np.linalg.cholesky(-self.G(float(t.M1), float(t.M2))))
        return C, C.T @ self.gamma(float(t.kappa)) @ C


def profiles(problem: Problem, degrees: int = MAX_SPIKE_DEGREE) -> tuple[Floats, Floats, Floats]:
    r"""Return the response :math:`b_j(g) = E_u[h(g, u) h_j(u)]` of a neuron to the learned index.

    .. math:: h(g, u) = E_z\,\sigma(\sqrt{1 + v g^2}\,z + \tau g u),\quad
        \tau = \frac{c_1\eta b}{\sqrt N} + \tau_0,\quad
        v = \frac{\eta^2}{N}\,\phi\,E[res^2](E\sigma'^2 - c_1^2)

    so that :math:`b_j(g) = (\tau g/S)^j\,E[\sigma(S Z) h_j(Z)]` with
    :math:`S^2 = 1 + (v + \tau^2) g^2`. For the full residual the untrained neuron already has the
    overlap :math:`\tau_0 g`, :math:`\tau_0 = -c_1/(b\sqrt N)`, with the learned direction: its
    linear response :math:`c_1\tau_0 g` belongs to :math:`F_0` and is taken off :math:`b_1`.

    The result has the readouts g, their weights, and b of shape (readouts, degrees + 1).
    """
    s = Scalars.of([problem])
    c1, root_N = float(s.c1[0]), math.sqrt(problem.N)
    length = float(np.sqrt(s.direction.b_squared[0]))
    start = -c1 / (length * root_N) if problem.residual == "full" else 0.0
    tau = c1 * problem.step * length / root_N + start
    v = problem.step**2 * float(s.noise_length_squared[0]) / problem.N

    g, weights = readout_law(problem.readout)
    S = np.sqrt(1 + (v + tau**2) * g**2)
    powers = (tau * g / S)[:, None] ** np.arange(degrees + 1)
    b = powers * scaled_coefficients(problem.sigma, S, degrees)
    b[:, 1] -= c1 * start * g
    return g, weights, b


def perturbation(problem: Problem, degrees: int = MAX_SPIKE_DEGREE) -> Perturbation:
    """Return the profiles averaged over the readout; rows: |x|^2 fluctuation, f_a, h_0, h_1, ...

    For Gaussian W_0 the constant also has the profile c_2(|w|^2 - 1), of variance 2 c_2^2/d.
    """
    sigma, N = problem.sigma, problem.N
    c1, c2 = float(sigma.c[1]), float(sigma.c[2])
    g, weights, b = profiles(problem, degrees)
    fluctuation = np.full((len(g), 1), c2 * math.sqrt(2 / problem.d))
    B = np.hstack([fluctuation, g[:, None] / math.sqrt(N), b])
    K = N * (B.T * weights) @ B
    if problem.weights == "gaussian":
        K[2, 2] += 2 * c2**2 / problem.psi
    p = math.sqrt(N) * (weights * g) @ B
    cross = 0.0
    if problem.residual == "full":  # f_a contains c_1 X W_0^T a, and beta contains -c_1 W_0^T a
        cross = -(c1**2) / math.sqrt(direction(problem).b_squared)
    return Perturbation(K, p, c1**2, sigma.nonlinear_energy, cross)


def readout_law(readout: str) -> tuple[Floats, Floats]:
    """Return nodes and weights for g = sqrt(N) a."""
    if readout == "gaussian":
        return gauss_hermite(READOUT_NODES)
    if readout == "uniform":
        x, p = gauss_legendre(READOUT_NODES)
        return np.sqrt(3) * x, p / 2
    if readout == "constant":
        return np.ones(1), np.ones(1)
    return np.array([-1.0, 1.0]), np.array([0.5, 0.5])


def scaled_coefficients(sigma: Function, S: Floats, degrees: int) -> Floats:
    """Return E[sigma(S Z) h_j(Z)], j = 0..degrees, for each scale S: (scales, degrees + 1)."""
    scales, where = np.unique(S, return_inverse=True)
    if any(sigma.kinks):  # a kink away from zero moves with the scale
        rows = [_coefficients(sigma, s, tuple(q / s for q in sigma.kinks), degrees) for s in scales]
        return np.vstack(rows)[where]
    return _coefficients(sigma, scales[:, None], sigma.kinks, degrees)[where]


def _coefficients(
    sigma: Function, scale: Floats | float, kinks: tuple[float, ...], degrees: int
) -> Floats:
    x, w = gaussian_rule(kinks)
    return np.atleast_2d(sigma(scale * x) * w) @ normalised_hermite(x, degrees).T


def outliers_beyond(bulk: Bulk, change: Perturbation) -> list[tuple[float, Floats]]:
    r"""Return eigenvalues beyond the edge, largest first, and squared cosines to h_1, h_2, ...

    .. math:: \cos^2 = \frac{(Gc)_j^2}{-c^\top G' c + (Gc)^\top \Gamma' (Gc)},\qquad
        c \in \ker(I + \Gamma G),\quad ' = \partial_\lambda

    Holds at physics-level rigour: leave-one-out, checked by simulation.
    See tests/theory/asymptotic/test_reference_values.py (task 8).
    """
    top = math.log(bulk.excess_at_edge) - 1e-12  # derivatives diverge at the edge itself

    def eigenvalues(log_excess: float) -> Floats:
        _, S = change.symmetric(bulk.beyond(math.exp(log_excess)))
        return np.asarray(np.linalg.eigvalsh(S)[::-1])

    strengths = eigenvalues(top)
    count = int(np.sum(strengths > max(1.0, MIN_RELATIVE_STRENGTH * strengths[0])))
    low = top - 1.0
    while count and eigenvalues(low)[0] > 1:
        low -= 2.0
    outliers = []
    for i in range(count):
        root = scipy.optimize.brentq(
            lambda s, i=i: eigenvalues(s)[i] - 1, low, top, xtol=1e-14, rtol=1e-14
        )
        t = bulk.beyond(math.exp(root))
        C, S = change.symmetric(t)
        y = np.linalg.eigh(S)[1][:, -1 - i]
        Gc = -C @ y
        c = change.gamma(float(t.kappa)) @ C @ y
        dGamma = float(t.kappa_prime) * (change.K - np.outer(change.p, change.p))
        norm = -c @ change.G(float(t.M1_prime), float(t.M2_prime)) @ c + Gc @ dGamma @ Gc
        outliers.append((-float(t.lam), Gc[3:] ** 2 / norm))
    return outliers


def limiting_spectrum(problem: Problem) -> Spectrum:
    """Return the untrained bulk, with outliers at the actual strength of their spikes.

    Holds for isotropic Gaussian inputs, Gaussian readout, n, d, N proportional.
    See Moniri et al. 2024, Theorem 3.3; tests/theory/asymptotic/test_reference_values.py (task 8),
    test_bulk_is_a_probability_law.py.
    """
    require_linear_part("asymptotic", [problem])
    bulk, x, rho = _with_density(untrained_bulk(problem))
    return Spectrum(
        problem=problem,
        method="asymptotic",
        edge=bulk.edge,
        lower_edge=bulk.support[0][0] or None,  # zero where the bulk touches it
        atom=bulk.atom,
        x=x,
        rho=rho,
        spikes=make_spikes(problem.n, outliers_beyond(bulk, perturbation(problem))),
        density=bulk.density,
        support=bulk.support,
        warnings=assumption_warnings("asymptotic", [problem]),
    )


@lru_cache(maxsize=256)
def _with_density(bulk: Bulk) -> tuple[Bulk, Floats, Floats]:
    """Return the bulk with its grid and density, cached: the step moves spikes only."""
    x = density_grid(bulk.support, GRID_POINTS)
    rho = bulk.density(x)
    x.flags.writeable = rho.flags.writeable = False
    return bulk, x, rho


def untrained_bulk(problem: Problem) -> Bulk:
    """Return the law of the eigenvalues of the untrained features."""
    c1, b = float(problem.sigma.c[1]), problem.sigma.nonlinear_energy
    return Bulk(a=c1**2, b=b, psi=problem.psi, r=problem.n / problem.N)

r"""Spectral measures of the matrices by which a preconditioned step moves the bulk weights.

The step multiplies a neuron's weight by :math:`1 + \epsilon_2C^{-1}M`, which is not symmetric, and
adds noise of covariance :math:`C^{-1}SC^{-1}`, so that its bulk weights have the covariance

.. math:: \tfrac1d\big[1 + 2\epsilon_2H + \epsilon_2^2T + \gamma^2g^2\nu\phi_0\,C^{-1}SC^{-1}\big],
    \qquad H = \tfrac12(C^{-1}M + MC^{-1}),\quad T = C^{-1}M^2C^{-1}.

Nodes are those of H (of the noise where :math:`c_2 = 0`), with the other two matrices by their
energies along its eigenvectors. The learned direction is :math:`v = C^{-1}h/b`.

The gradient is multiplied by :math:`C^{-1}`, :math:`C = X^\top X/n_0 + \epsilon`, and scaled to its
own length. With m and m' the normalised traces of :math:`C^{-1}` and :math:`C^{-2}`,
:math:`\varsigma = m/(1+\phi_0m) = 1-\epsilon m`, and c = E[r tau] the linear part of the residual,

.. math::
    C^{-1}h &= \varsigma c + \text{noise},\qquad
    b^2 = |c|^2(1-2\epsilon m+\epsilon^2m') + \phi_0(Er^2-|c|^2)(m-\epsilon m') \\
    \gamma &\to \gamma\,\Big(\frac{c_1^2|h|^2 + 4c_2^2\,\mathrm{tr}M^2/d + \nu\phi_0Er^2}
        {c_1^2b^2 + 4c_2^2\,\mathrm{tr}T/d + \nu\phi_0\,\mathrm{tr}C^{-1}SC^{-1}/d}\Big)^{1/2}.

A neuron's own initial weight is multiplied by :math:`\varsigma` where it acts on itself:
:math:`w_0^\top C^{-1}x_j = \varsigma\,w_0\cdot x_j` and noise.
"""

from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from onegrad.arrays import Floats
from onegrad.problem import PRECONDITIONER_SHIFT, Problem
from onegrad.theory.uniform.covariance import (
    AlongStep,
    OrthogonalResolvent,
    SquareResolvent,
    StepCovariance,
)
from onegrad.theory.uniform.first_step import StepNumbers
from onegrad.theory.uniform.gauss_nodes import Complexes, gauss_nodes, symmetric_matrix_power
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.preconditioned.row_pencil import RowPencil, inverse_traces
from onegrad.theory.uniform.residuals import residual_law


@lru_cache(maxsize=128)
def preconditioned_covariance(
    labels: LabelLaw,
    noise: float,
    phi: float,
    rows: int,
    damping: float,  # what is added to the covariance of the rows
    squared: bool,
    output: float = 0.0,
    constant: float = 0.0,
) -> StepCovariance:
    """Return the nodes of H, or of the noise (squared); the arguments of `step_covariance`."""
    law = residual_law(labels, noise, rows, output, constant)
    zero = np.zeros(len(law.r))
    pencil = RowPencil(
        law, phi, damping, zero if squared else law.r / 2, law.r**2 if squared else zero
    )
    points, jacobian = pencil.spectral_contour()
    G = pencil.on_contour(points)
    resolvent = _Resolvent(pencil, points, jacobian, G, pencil.dressed(G), labels.indices)
    return resolvent.covariance(squared)


@dataclass(frozen=True)
class _Solutions:
    """Solutions y of Ly = f: the indices' directions in the first block, then h in the third."""

    y: Complexes  # (C, k, 3, t + 1) along the indices
    of_rows: Complexes  # (C, 3, t + 1) of what a row adds to itself, the coefficient of r_j
    h: Complexes  # (C, 3, t + 1) h.y


@dataclass(frozen=True)
class _Resolvent:
    """The resolvent on a contour, between the labels' t directions and v."""

    pencil: RowPencil
    points: Complexes
    jacobian: Complexes
    G: Complexes  # (C, 3, 3) traces of the blocks
    V: Complexes  # (C, 3, 3, J) dressed rows
    t: int

    @property
    def wide(self) -> Complexes:
        """The spectral parameter, (C, 1, 1)."""
        return self.points[:, None, None]

    def mean(self, f: Floats) -> Complexes:
        r"""Return :math:`E[f\Gamma]`, (C, ..., 3, 3)."""
        p, flat = self.pencil.law.p, (f * self.pencil.law.p).reshape(-1, len(self.pencil.law.p))
        shape = (len(self.points), *f.shape[:-1])
        V = (flat @ self.V.reshape(-1, len(p)).T).reshape(len(flat), len(self.points), 3, 3)
        Gamma = flat.sum(1)[:, None, None, None] * np.eye(3) - self.pencil.phi * self.G @ V
        return Gamma.swapaxes(0, 1).reshape(*shape, 3, 3)

    def solve(self) -> _Solutions:
        """Return the solutions along the indices and in the rows."""
        law, t, C = self.pencil.law, self.t, len(self.points)
        k, phi = len(law.tau), self.pencil.phi
        inverse = np.linalg.inv(self.pencil.indices_block(self.points, self.V))
        inverse = inverse.reshape(C, k, 3, k, 3)
        r_tau = self.mean(law.r * law.tau)  # (C, k, 3, 3)
        # a source in the rows: E[(1 + phi V G)^-1 r tau] e_3, the transpose of Gamma
        from_h = np.einsum("xiakb,xkb->xia", inverse, r_tau[:, :, 2, :])
        y = np.concatenate([inverse[:, :, :, :t, 0], from_h[..., None]], axis=-1)
        of_rows = np.zeros((C, 3, t + 1), complex)
        of_rows[:, :, t] = phi * self.G[:, :, 2]
        h = np.einsum("xkab,xkbs->xas", r_tau, y) + self.mean(law.r**2) @ of_rows
        return _Solutions(y, of_rows, h)

    def covariance(self, squared: bool) -> StepCovariance:
        """Return the nodes of H with the energies of the other matrices, or of the noise."""
        t, law = self.t, self.pencil.law
        solutions = self.solve()
        c = law.tau @ (law.p * law.r)
        R = np.concatenate([solutions.y[:, :t, 0], solutions.h[:, 2:]], axis=1)  # (C, t + 1, t + 1)
        R = (R + R.swapaxes(1, 2)) / 2
        b = np.sqrt(self.integral(R)[t, t])
        scale = np.append(np.ones(t), 1 / b)
        R = R * scale[:, None] * scale
        overlaps = self.pencil.trace / (1 + self.pencil.phi * self.pencil.trace) * c[:t] / b
        to_v = R[:, t:, :t] / R[:, t:, t:]  # (C, 1, t)
        off = R[:, :t, :t] - R[:, :t, t:] @ to_v
        moved = self.integral(self.wide * R)
        M_vv = float(moved[t, t])
        f = moved[:t, t] - overlaps * M_vv
        m, vRv = self.G[:, :1, :1], R[:, t:, t:]
        Mv_to_teacher = overlaps[:, None] - to_v.swapaxes(1, 2)
        Mv_to_Mv = M_vv - self.wide - 1 / vRv
        nodes = partial(gauss_nodes, self.points, self.jacobian)
        if squared:  # the nodes are those of the noise itself
            trace, teacher = nodes(m, self.wide * m), nodes(off, self.wide * off)
            along = AlongStep(0.0, 0.0, M_vv, np.zeros(t), np.zeros(t))
            resolvent = OrthogonalResolvent(
                self.points, self.jacobian, off, off, Mv_to_teacher, Mv_to_Mv, self.wide
            )
            return StepCovariance(trace, teacher, along, resolvent)
        noise, twice = (x * scale[:, None] * scale for x in self.energies(solutions, c))
        e = np.column_stack([np.eye(t), -overlaps])  # directions off v
        K = {f: (self.mean(law.r**f) @ self.G) for f in (1, 2)}
        S, T = K[2][:, 2:, 2:], 2 * self.wide * K[1][:, :1, 2:] - 2 * K[1][:, 1:2, 2:]

        def orthogonal(X: Complexes) -> Complexes:
            return X[:, :, :t] - X[:, :, t:] @ to_v

        square = SquareResolvent(
            # less what goes through v, which `neuron_tilt` adds
            teacher=e @ orthogonal(twice) + f[:, None] * to_v,
            Tv_to_teacher=orthogonal(twice)[:, t:].swapaxes(1, 2),
            Tv_to_Mv=-twice[:, t:, t:] / vRv,
            energy=T / m,
        )
        resolvent = OrthogonalResolvent(
            self.points,
            self.jacobian,
            off,
            e @ orthogonal(noise),
            Mv_to_teacher,
            Mv_to_Mv,
            S / m,
            square,
        )
        along = AlongStep(
            M_vv,
            float(self.integral(twice)[t, t]),
            float(self.integral(noise)[t, t]),
            symmetric_matrix_power(np.eye(t) - np.outer(overlaps, overlaps), -0.5) @ f,
            np.zeros(t),
        )
        teacher = nodes(off, resolvent.S, square.teacher)
        return StepCovariance(nodes(m, S, T), teacher, along, resolvent)

    def energies(self, solutions: _Solutions, c: Floats) -> tuple[Complexes, Complexes]:
        r"""Return l^T C^-1 S C^-1 R l' and l^T T R l' for l, l' the labels' directions and v b.

        A row reads :math:`q = C^{-1}l` as :math:`\varsigma(\tau_j\cdot q' + g_j + or_j)`,
        :math:`\varsigma = 1/(1+\phi_0m)`, and y as :math:`\Gamma_j(\tau_j\cdot y + g_j' + \dots)`,
        with Gaussian g, g' of a covariance Z that follows from :math:`l\cdot y = q^\top Cy`. With
        m' the trace of :math:`C^{-2}`,

        ============= =========================================== ============================
        l             q'                                          o
        ============= =========================================== ============================
        direction i   :math:`me_i`                                0
        h             :math:`m\varsigma c`                        :math:`\phi_0m`
        C^-1 h        :math:`m'\varsigma^2(1-\phi_0m)c`            :math:`\phi_0m'\varsigma`
        ============= =========================================== ============================

        where g of the last is that of :math:`C^{-2}h` less :math:`\phi_0m'\varsigma` times that of
        :math:`C^{-1}h`. On the contour M y_3 = 2(zeta y_1 - y_2), but for a constant.
        """
        pencil, t = self.pencil, self.t
        phi, law, (m, m2) = pencil.phi, pencil.law, inverse_traces(pencil.phi, pencil.damping)
        shrink, y, of_rows = 1 / (1 + phi * m), solutions.y, solutions.of_rows
        less = phi * m2 * shrink
        q = np.vstack([m * np.eye(len(c))[:t], m * shrink * c, m2 * shrink**2 * (1 - phi * m) * c])
        own = np.append(np.zeros(t), [phi * m, less])

        def rows(f: Floats) -> tuple[Complexes, Complexes]:
            """Return E[f (x.q)(x.y)] without Z, (C, t + 2, 3, t + 1), and the factor of Z."""
            r_tau, r2 = self.mean(f * law.r * law.tau), self.mean(f * law.r**2)
            along = np.einsum("xikab,xkbs->xias", self.mean(f * law.tau_tau), y)
            along += r_tau @ of_rows[:, None]
            of_own = np.einsum("xkab,xkbs->xas", r_tau, y) + r2 @ of_rows
            value = np.einsum("li,xias->xlas", q, along) + own[:, None, None] * of_own[:, None]
            return shrink * value, shrink * self.mean(f)[:, None]

        value, factor = rows(np.ones(len(law.r)))
        solve = np.linalg.inv(factor + pencil.damping * np.eye(3))
        qy = np.einsum("li,xias->xlas", q, y)
        l_dot_y = np.concatenate(
            [y[:, :t], solutions.h[:, None]], axis=1
        )  # l.y, (C, t + 1, 3, t + 1)
        Z = solve @ (l_dot_y - pencil.damping * qy[:, :-1] - value[:, :-1])
        # q.y of C^-2 h has m' shrink^2 c, and less times the Z of C^-1 h
        of_square = m2 / m * shrink * qy[:, t:-1] + less * Z[:, t:]
        l_dot_y = Z[:, t:] + qy[:, t:-1]
        Z_v = solve @ (l_dot_y - pencil.damping * of_square - value[:, -1:])
        Z, directions = np.concatenate([Z[:, :t], Z_v], axis=1), [*range(t), t + 1]

        def energy(f: Floats) -> Complexes:
            value, factor = rows(f)
            return value[:, directions] + factor @ Z

        noise, Mq = energy(law.r**2)[:, :, 2], energy(law.r)
        return noise, 2 * self.wide * Mq[:, :, 0] - 2 * Mq[:, :, 1]

    def integral(self, X: Complexes) -> Floats:
        """Return the integral over the measure with resolvent X."""
        return -np.tensordot(self.jacobian, X, axes=1).real


def preconditioned(
    problem: Problem, step: StepNumbers, labels: LabelLaw
) -> tuple[StepNumbers, StepCovariance]:
    """Return the numbers and the covariance of a preconditioned step.

    step : the numbers of the gradient itself.
    """
    phi, shift = problem.phi_step, PRECONDITIONER_SHIFT
    output = step.backward * step.b
    covariance = preconditioned_covariance(
        labels,
        step.residual_noise,
        phi,
        problem.rows_of_step,
        shift,
        squared=step.c2 == 0.0,
        output=output,
        constant=step.residual_mean,
    )
    m, m2 = inverse_traces(phi, shift)
    shrink = 1 - shift * m
    linear = (step.theta * step.b) ** 2 + output**2
    energy = (step.b**2 - linear) / phi
    noise = phi * (energy - linear)  # of h, beyond its linear part
    b2 = linear * (1 - 2 * shift * m + shift**2 * m2) + noise * (m - shift * m2)
    b = float(np.sqrt(b2))
    h_along_v = (linear * (1 - shift * shrink) + noise * shrink) / b  # h.C^-1 h / b
    theta = step.theta * step.b * shrink / b
    backward = output * shrink / b

    trace = covariance.trace
    mean_residual = labels.fit.step_mean + step.residual_mean
    M2 = phi * energy + mean_residual**2
    T = trace.weight @ (trace.mu**2 + trace.excess)
    gradient = step.c1**2 * step.b**2 + 4 * step.c2**2 * M2 + step.nu * phi * energy
    moved = step.c1**2 * b2 + 4 * step.c2**2 * T + step.nu * phi * (trace.weight @ trace.s)
    # a neuron's weight along h, of which only the part along v is known
    aside = (6 * step.c3) ** 2 * max(step.b**2 - h_along_v**2, 0.0) / problem.d
    numbers = replace(
        step,
        gamma=step.gamma * float(np.sqrt(gradient / moved)),
        b=b,
        theta=theta,
        c3=step.c3 * shrink * h_along_v / b,
        own_noise=shrink**2 * (step.own_noise + aside),
        backward=backward,
        sideways=backward * theta / float(np.sqrt(1 - theta**2)),
        # of sum_j d_j C^-1 x_j x_j^T/n_0 for the deviations d_j of |x_j|^2/d, by its trace
        shift=step.shift * m / (1 + phi * m) ** 2,
        own_output=step.own_output * shrink,
    )
    return numbers, covariance

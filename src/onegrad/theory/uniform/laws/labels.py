r"""The law of the labels in the step and in the ridge fit.

A label is :math:`\sigma_\star(u) + \varepsilon` with orthonormal indices :math:`u = B^\top x`; a
fraction q of them has :math:`\sigma_\star` of independent indices instead. Only the linear part
:math:`c = (1-q)E[u\,\sigma_\star]` leads the step: v has the overlaps :math:`\vartheta = c/b` with
the indices. Given :math:`\kappa = v\cdot x` a label is

.. math::
    Y_0 + Y_1\cdot z + \text{rest}, \qquad
    Y_0 = E[y\mid\kappa],\quad Y_1 = (I - \vartheta\vartheta^\top)^{1/2}E[\nabla y\mid\kappa],
    \quad Y_2^2 = E[y^2\mid\kappa] - Y_0^2 - |Y_1|^2

with z the coordinates of x along the indices' directions off v, made orthonormal. The rest of the
label is as good as noise, except for its `quadratic_part`.

A fit to the :math:`n_0` rows of the (first) step is taken off all labels: their mean, or their mean
and a linear part :math:`\hat\beta\cdot x`. With :math:`c = E[uy]`, :math:`\mu = Ey`, :math:`Q =
Ey^2` and :math:`\rho = y - \mu - c\cdot u` what is left of a label,

.. math:: \hat\beta = c\cdot\beta_\star + \tau\hat e,\qquad
    \tau^2 = \phi_0Q \text{ (moments, } X^\top y/n_0), \qquad
    \tau^2 = \tfrac{\phi_0}{1-\phi_0}E\rho^2 \text{ (least squares)},

with :math:`\hat e` a direction of noise. A fresh label becomes :math:`y - \mu - c\cdot u -
\tau\,\hat e\cdot x`: it has one more index. The rows of the fit know it. Leaving one out, with a
standard normal :math:`t'`,

.. math::
    \hat e\cdot x &= t' + \tfrac{\phi_0}\tau y, && X^\top y = 0 \text{ off the indices} \\
    \hat e\cdot x &= (1-\phi_0)t' + \tfrac{\phi_0}\tau\rho, && X^\top r = 0
        \text{ (least squares)}

where r is the label less the fit, and the constraint acts as a projector in the space of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions import index_calculus
from onegrad.functions.averages import gaussian_averages
from onegrad.functions.function import Function, HermiteSum, MultiIndex
from onegrad.problem import Law, Problem
from onegrad.theory.uniform.laws.inputs import stretched

MIN_ENERGY_SHARE = 1e-12  # part of the labels that a fit leaves at least
FREE_OVERLAP = 0.995  # of v with the teacher where the step singles out no direction


@dataclass(frozen=True)
class FitForms:
    """Forms of (c, tau) by which labels read a fit c.u + tau n, see `laws.directions`."""

    along: Floats  # (t + 1, t) on the teacher's indices
    off: Floats  # (t + 1, t + 1) off them


def plain_forms(indices: int) -> FitForms:
    """Return the forms for isotropic inputs."""
    return FitForms(np.eye(indices + 1, indices), np.diag(np.eye(indices + 1)[-1]))


@dataclass(frozen=True)
class LabelFit:
    """A fit that is taken off all labels: mean + linear.u + noise e.x."""

    mean: float
    mean_error: float  # standard deviation of the mean that is taken off
    linear: Floats
    # on the rows of the fit, where r is a label less the fit
    step_linear: Floats  # E[r u], and E[r e.x] where e exists
    step_mean: float  # E r
    step_energy: float  # E r^2
    free_energy: float  # the part of E r^2 that the constraint leaves to X^T r off the indices
    step_direction: Floats  # among the indices, that the step singles out
    noise: float = 0.0
    # whether there is a linear part, and with it a direction e of noise
    has_direction: bool = False
    # whether the constraint is X^T r = 0 instead of X^T y = 0 off the indices
    least_squares: bool = False
    with_fitted: float = 0.0  # E[r y], of moments


def fit_of_labels(
    taken_off: str,
    mean: float,
    energy: float,
    linear: Floats,
    phi: float,
    rows: int,
    forms: FitForms,
) -> LabelFit:
    """Return the fit that is taken off labels with mean, mean square and linear part E[u y]."""
    variance = energy - mean**2
    if taken_off in ("plain", "centred"):
        centred = taken_off == "centred"
        energy_left = variance if centred else energy
        return LabelFit(
            mean=mean if centred else 0.0,
            mean_error=float(np.sqrt(max(variance, 0.0) / rows)) if centred else 0.0,
            linear=np.zeros(len(linear)),
            step_linear=linear,
            step_mean=0.0 if centred else mean,
            step_energy=energy_left,
            free_energy=energy_left,
            step_direction=linear,
        )
    fit = _moments if taken_off == "residual-linear" else _least_squares
    return fit(mean, energy, linear, phi, rows, forms)


def _moments(
    mean: float, energy: float, linear: Floats, phi: float, rows: int, forms: FitForms
) -> LabelFit:
    r"""Return the fit X^T y/n_0, of parts f along u and T along e.

    .. math:: E[ru] = (1-\phi_0)c - f,\qquad E[r\,e\cdot x] = -T + \tfrac{\phi_0}TE[ry],\qquad
        E[ry] = (1-\phi_0)Q - \mu^2 - c\cdot f
    """
    variance, load = energy - mean**2, np.append(linear, np.sqrt(phi * energy))
    fitted, noise = load @ forms.along, float(np.sqrt(load @ forms.off @ load))
    shared = float(linear @ fitted)
    with_y = (1 - phi) * energy - mean**2 - shared
    energy_left = (1 - phi) ** 2 * variance + (phi * mean) ** 2
    energy_left += float(fitted @ fitted) + noise**2 - 2 * (1 - phi) * shared
    step_linear = np.append((1 - phi) * linear - fitted, -noise + phi / noise * with_y)
    return LabelFit(
        mean=mean,
        mean_error=float(np.sqrt(max(variance, 0.0) / rows)),
        linear=fitted,
        noise=noise,
        has_direction=True,
        with_fitted=with_y,
        step_linear=step_linear,
        step_mean=-phi * mean,
        step_energy=energy_left,
        free_energy=energy_left - with_y**2 / energy,
        step_direction=step_linear,
    )


def _least_squares(
    mean: float, energy: float, linear: Floats, phi: float, rows: int, forms: FitForms
) -> LabelFit:
    r"""Return the fit of least squares, which leaves :math:`X^\top r = 0`: no direction leads.

    .. math:: r = (1-\phi_0)(\rho - \tau t'), \qquad Er^2 = (1-\phi_0)E\rho^2
    """
    squared = float(linear @ linear)
    energy_left = max(energy - mean**2 - squared, MIN_ENERGY_SHARE * energy)
    unit = linear / np.sqrt(squared) if squared else np.eye(len(linear))[0]
    return LabelFit(
        mean=mean,
        mean_error=float(np.sqrt(energy_left / (rows * (1 - phi)))),
        linear=linear,
        noise=float(np.sqrt(phi / (1 - phi) * energy_left * forms.off[-1, -1])),
        has_direction=True,
        step_linear=np.zeros(len(linear) + 1),
        step_mean=0.0,
        step_energy=(1 - phi) * energy_left,
        free_energy=0.0,
        step_direction=np.append(unit, 0.0),
        least_squares=True,
    )


@dataclass(frozen=True)
class LabelLaw:
    """Law of the labels."""

    teacher: Function | MultiIndex  # the labels as a function of the inputs
    noise: float  # deviation of the noise
    law: Law  # of the noise
    replaced: float  # fraction of the labels that belong to other inputs
    taken_off: str  # the fit that is taken off, a value of the field `labels`
    rows: int  # of that fit
    phi: float  # d over rows
    scales: tuple[tuple[float, float], ...] = ((1.0, 1.0),)  # of squared indices, with weights
    forms: FitForms | None = None  # how that is read; None for isotropic inputs

    @classmethod
    def of(cls, problem: Problem) -> LabelLaw:
        """Return the law of a problem's labels."""
        return cls(
            problem.teacher_function,
            problem.noise,
            problem.noise_distribution,
            problem.corrupted,
            problem.labels,
            problem.rows_of_step,
            problem.phi_step,
        )

    @property
    def teacher_indices(self) -> int:
        """Number of indices that the teacher reads."""
        return self.teacher.indices if isinstance(self.teacher, MultiIndex) else 1

    @cached_property
    def indices(self) -> int:
        """Number of indices of the labels: the teacher's, then the direction of a fit's noise."""
        return self.teacher_indices + self.fit.has_direction

    @cached_property
    def linear(self) -> Floats:
        """Linear part of the labels before a fit is taken off, E[u y]."""
        c = sum(w * np.sqrt(z) * index_calculus.linear_part(f) for z, w, f in self.at_scales)
        return np.asarray((1 - self.replaced) * c)

    @cached_property
    def at_scales(self) -> list[tuple[float, float, Function | MultiIndex]]:
        """Scales, their weights and the teacher as a function of standard normal indices."""
        f = self.teacher
        if isinstance(f, MultiIndex):
            return [(1.0, 1.0, f)]
        return [(z, w, stretched(f, float(np.sqrt(z)))) for z, w in self.scales]

    @cached_property
    def mean(self) -> float:
        """Mean of the labels before a fit is taken off."""
        return sum(w * index_calculus.mean_of(f) for _, w, f in self.at_scales)

    @cached_property
    def square(self) -> float:
        """Mean square of the labels without noise, before a fit is taken off."""
        return sum(w * f.second_moment for _, w, f in self.at_scales)

    @property
    def energy(self) -> float:
        """Mean square of the labels before a fit is taken off."""
        return self.square + self.noise**2

    @property
    def energy_of_long_inputs(self) -> float:
        r"""Return :math:`E[(\zeta - 1)y^2]` of labels less their mean."""
        mean = 2 * self.fit.mean
        return sum(
            w * (z - 1) * (f.second_moment - mean * index_calculus.mean_of(f))
            for z, w, f in self.at_scales
        )

    def at_indices(self, u: Floats) -> Floats:
        """Return the labels, without noise or a fit, of indices (t, ...) of the teacher."""
        several = isinstance(self.teacher, MultiIndex)
        return self.teacher(np.moveaxis(u, 0, -1) if several else u[0])

    @cached_property
    def fit(self) -> LabelFit:
        """The fit that is taken off."""
        forms = self.forms or plain_forms(self.teacher_indices)
        return fit_of_labels(
            self.taken_off, self.mean, self.energy, self.linear, self.phi, self.rows, forms
        )

    @property
    def noise_of_fit(self) -> float:
        """Length tau of the noise of the fit X^T y/n_0."""
        return float(np.sqrt(self.phi * self.energy))


class LabelCoefficients(NamedTuple):
    """Coefficients of a label given the index, on K samples."""

    Y0: Floats  # (K,)
    Y1: Floats  # (t, K)
    hessian: Floats  # (t, t, K) mean second derivatives along the teacher's directions off v
    Y2: Floats  # (K,)


def unit_linear(labels: LabelLaw) -> Floats:
    """Return the direction of the step among the indices; a single index is its own."""
    if labels.indices == 1:
        return np.ones(1)
    fit = labels.fit
    c = fit.step_direction if fit.has_direction else index_calculus.linear_part(labels.teacher)
    size = float(np.linalg.norm(c))
    return c / size if size else c


def along_linear(labels: LabelLaw) -> Function:
    """Return the teacher as a function of the index along its linear part alone."""
    f = labels.teacher
    if isinstance(f, Function):
        return f
    overlaps = unit_linear(labels)[: labels.teacher_indices]
    c = index_calculus.conditional_coefficients(f.terms, overlaps)
    value = HermiteSum(c)
    return Function(f.name, value, value.derivative, polynomial=c)


def labels_given_index(
    labels: LabelLaw,
    overlaps: Floats,  # of v with the indices of the labels
    index: Floats,
    norm: Floats,
    p: Floats,
    fit: LabelFit,  # that is taken off
) -> LabelCoefficients:
    """Return labels given the index and the squared length of x off it, on samples of weight p.

    The samples of the first half are the longer ones, at the same indices. What the nodes cannot
    carry, the highest degrees of a teacher, is as good as noise: the mean square is exact.
    """
    f, q, own = labels.teacher, labels.replaced, overlaps[: labels.teacher_indices]
    if isinstance(f, MultiIndex):
        Y0, Y1, hessian, square = _several_indices(f, own, index, norm)
    else:
        Y0, Y1, hessian, square = _single_index(f, float(own[0]), index, norm)
    if q:
        Y0, Y1 = (1 - q) * Y0 + q * labels.mean, (1 - q) * Y1
        hessian = (1 - q) * hessian
        square = (1 - q) * square + q * labels.square
    total = labels.square
    explained = p @ (Y0**2 + (Y1**2).sum(0))
    if explained > total:  # aliased
        shrink = np.sqrt(total / explained)
        Y0, Y1, explained = Y0 * shrink, Y1 * shrink, total
    Y2 = np.maximum(square - Y0**2 - (Y1**2).sum(0), 0.0)
    rest = p @ Y2
    Y2 = Y2 * ((total - explained) / rest) if rest > 0 else Y2 + (total - explained)
    plain = LabelCoefficients(Y0, Y1, hessian, Y2 + labels.noise**2)
    return _less_fit(plain, fit, overlaps, index, norm)


def _less_fit(
    plain: LabelCoefficients, fit: LabelFit, overlaps: Floats, index: Floats, norm: Floats
) -> LabelCoefficients:
    """Return labels less a fit, which is linear: their coefficients Y2 do not change."""
    if not fit.has_direction:
        return plain._replace(Y0=plain.Y0 - fit.mean)
    t, removed = len(fit.linear), np.append(fit.linear, fit.noise)
    root = off_root(overlaps)
    more = root[:, :t] @ np.linalg.inv(off_root(overlaps[:t]))  # one more index
    return LabelCoefficients(
        Y0=plain.Y0 - fit.mean - (removed @ overlaps) * index,
        Y1=more @ plain.Y1 - np.outer(root @ removed, np.sqrt(norm)),
        hessian=np.einsum("ai,ijk,bj->abk", more, plain.hessian, more),
        Y2=plain.Y2,
    )


def off_root(overlaps: Floats) -> Floats:
    r"""Return :math:`(I - \vartheta\vartheta^\top)^{1/2}` of overlaps :math:`\vartheta`."""
    theta = float(np.linalg.norm(overlaps))
    unit = overlaps / theta if theta else overlaps
    return np.eye(len(overlaps)) - (1 - np.sqrt(1 - theta**2)) * np.outer(unit, unit)


def _single_index(f: Function, theta: float, index: Floats, norm: Floats) -> tuple[Floats, ...]:
    """Return E f, its linear and quadratic coefficients off v, and E f^2 on the samples."""
    off, (longer, shorter) = np.sqrt(1 - theta**2), np.split(norm, 2)
    deviation = float((longer[0] - shorter[0]) / (longer[0] + shorter[0]))  # sqrt(2/d)
    Y0, slope, square = gaussian_averages(f, theta * index, off * np.sqrt(norm), deviation**2 / 8)
    change = np.subtract(*np.split(Y0, 2))
    hessian = np.tile(2 * change / (longer - shorter), 2)
    return Y0, slope[None], hessian[None, None], square


def _several_indices(
    f: MultiIndex, overlaps: Floats, index: Floats, norm: Floats
) -> tuple[Floats, ...]:
    r"""Return the same for several indices.

    A squared length :math:`\ell^2` gives the coordinates off v the covariance
    :math:`\ell^2(I - \vartheta\vartheta^\top)`: to first order in :math:`\ell^2 - 1`

    .. math:: E_\ell[f] = E[f] + \tfrac12(\ell^2-1)\,
        \mathrm{tr}\big((I - \vartheta\vartheta^\top)E[\nabla\nabla f\mid\kappa]\big).
    """
    t, root = f.indices, off_root(overlaps)

    def mean(terms: index_calculus.Terms) -> Floats:
        plain = index_calculus.conditional_mean(terms, overlaps, index)
        curvature = index_calculus.conditional_hessian(terms, overlaps, index)
        return plain + (norm - 1) / 2 * np.einsum("ai,ijk,ja->k", root, curvature, root)

    hessian = index_calculus.conditional_hessian(f.terms, overlaps, index)
    hessian = np.einsum("ai,ijk,jb->abk", root, hessian, root)
    gradient = np.array([mean(index_calculus.derivative(f.terms, i + 1)) for i in range(t)])
    Y1 = np.sqrt(norm) * (root @ gradient)
    return mean(f.terms), Y1, hessian, mean(index_calculus.square(f.terms))

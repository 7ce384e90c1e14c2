r"""Labels less a fit to those of the step: what the fit is, and what it does to its own rows.

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

import numpy as np

from onegrad.arrays import Floats


@dataclass(frozen=True)
class LabelFit:
    """A fit that is taken off all labels: mean + linear.u + noise e.x.

    mean_error : standard deviation of the mean that is taken off.
    has_direction : whether there is a linear part, and with it a direction e of noise.

    On the rows of the fit, where r is a label less the fit:
    step_linear : E[r u], and E[r e.x] where e exists.
    step_mean, step_energy : E r and E r^2.
    free_energy : the part of E r^2 that the constraint leaves to X^T r off the indices.
    step_direction : direction among the indices that the step singles out.
    least_squares : whether the constraint is X^T r = 0 instead of X^T y = 0 off the indices.
    """

    mean: float
    mean_error: float
    linear: Floats
    noise: float
    has_direction: bool
    step_linear: Floats
    step_mean: float
    step_energy: float
    free_energy: float
    step_direction: Floats
    least_squares: bool


def fit_of_labels(
    taken_off: str, mean: float, energy: float, linear: Floats, phi: float, rows: int
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
            noise=0.0,
            has_direction=False,
            step_linear=linear,
            step_mean=0.0 if centred else mean,
            step_energy=energy_left,
            free_energy=energy_left,
            step_direction=linear,
            least_squares=False,
        )
    fit = _moments if taken_off == "residual-linear" else _least_squares
    return fit(mean, energy, linear, phi, rows)


def _moments(mean: float, energy: float, linear: Floats, phi: float, rows: int) -> LabelFit:
    r"""Return the fit X^T y/n_0.

    .. math:: E[ru] = -\phi_0c,\qquad E[r\,\hat e\cdot x] = -\tau + \tfrac{\phi_0}\tau E[ry],\qquad
        E[ry] = (1-\phi_0)Q - \mu^2 - |c|^2
    """
    variance, squared = energy - mean**2, float(linear @ linear)
    noise = float(np.sqrt(phi * energy))
    with_y = (1 - phi) * energy - mean**2 - squared
    energy_left = (1 - phi) ** 2 * variance + (phi * mean) ** 2
    energy_left += squared + noise**2 - 2 * (1 - phi) * squared
    step_linear = np.append(-phi * linear, -noise + phi / noise * with_y)
    return LabelFit(
        mean=mean,
        mean_error=float(np.sqrt(max(variance, 0.0) / rows)),
        linear=linear,
        noise=noise,
        has_direction=True,
        step_linear=step_linear,
        step_mean=-phi * mean,
        step_energy=energy_left,
        free_energy=energy_left - with_y**2 / energy,
        step_direction=step_linear,
        least_squares=False,
    )


def _least_squares(mean: float, energy: float, linear: Floats, phi: float, rows: int) -> LabelFit:
    r"""Return the fit of least squares, which leaves :math:`X^\top r = 0`: no direction leads.

    .. math:: r = (1-\phi_0)(\rho - \tau t'), \qquad Er^2 = (1-\phi_0)E\rho^2
    """
    squared = float(linear @ linear)
    energy_left = max(energy - mean**2 - squared, 0.0)
    unit = linear / np.sqrt(squared) if squared else np.eye(len(linear))[0]
    return LabelFit(
        mean=mean,
        mean_error=float(np.sqrt(energy_left / (rows * (1 - phi)))),
        linear=linear,
        noise=float(np.sqrt(phi / (1 - phi) * energy_left)),
        has_direction=True,
        step_linear=np.zeros(len(linear) + 1),
        step_mean=0.0,
        step_energy=(1 - phi) * energy_left,
        free_energy=0.0,
        step_direction=np.append(unit, 0.0),
        least_squares=True,
    )

r"""Eigenvalues of :math:`F F^\top/n`: the bulk of the untrained features and the outliers."""

from __future__ import annotations

from functools import lru_cache

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.asymptotic.assumptions import assumption_warnings, require_linear_part
from onegrad.theory.asymptotic.bulk import Bulk
from onegrad.theory.asymptotic.outliers import outliers, perturbation
from onegrad.theory.spectra import Spectrum, spikes

POINTS = 400  # of the ready density grid


def spectrum(problem: Problem) -> Spectrum:
    """The untrained bulk, with outliers at the actual strength of their spikes.

    Holds for isotropic Gaussian inputs, Gaussian readout, n, d, N proportional.
    See Moniri et al. 2024, Theorem 3.3; tests/theory/asymptotic/test_reference_values.py (task 8),
    test_bulk_is_a_probability_law.py.
    """
    require_linear_part("asymptotic", [problem])
    bulk, x, rho = _drawn(bulk_of(problem))
    return Spectrum(
        problem=problem,
        method="asymptotic",
        edge=bulk.edge,
        lower_edge=bulk.support[0][0] or None,  # zero where the bulk touches it
        atom=bulk.atom,
        x=x,
        rho=rho,
        spikes=spikes(problem.n, outliers(bulk, perturbation(problem))),
        density=bulk.density,
        warnings=assumption_warnings("asymptotic", [problem]),
    )


@lru_cache(maxsize=256)
def _drawn(bulk: Bulk) -> tuple[Bulk, Floats, Floats]:
    """The bulk with its grid and density, remembered: the step moves spikes only."""
    x = bulk.grid(POINTS)
    rho = bulk.density(x)
    x.flags.writeable = rho.flags.writeable = False
    return bulk, x, rho


def bulk_of(problem: Problem) -> Bulk:
    """The law of the untrained features' eigenvalues."""
    c1, b = float(problem.sigma.c[1]), problem.sigma.nonlinear_energy
    return Bulk(a=c1**2, b=b, psi=problem.psi, r=problem.n / problem.N)

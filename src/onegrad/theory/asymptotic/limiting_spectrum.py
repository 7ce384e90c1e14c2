r"""Eigenvalues of :math:`F F^\top/n`: the bulk of the untrained features and the outliers."""

from __future__ import annotations

from functools import lru_cache

from onegrad.arrays import Floats
from onegrad.problem import Problem
from onegrad.theory.asymptotic.assumptions import assumption_warnings, require_linear_part
from onegrad.theory.asymptotic.bulk import Bulk
from onegrad.theory.asymptotic.outliers import outliers_beyond, perturbation
from onegrad.theory.spectral_law import Spectrum, density_grid, make_spikes

GRID_POINTS = 400  # of the density


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

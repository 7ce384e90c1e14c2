"""The density as returned, with straight lines between its points, and the atom have mass one.

Two bulks far apart have a gap without mass; at n = N the density is singular at zero; networks
agree on the share of eigenvalues in each interval.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.networks import spectrum as measured_spectrum
from onegrad.theory.spectral_law import density_grid

CASES = [
    {"n": 20000, "d": 200, "N": 20000},
    {"n": 5000, "d": 200, "N": 3000},
    {"n": 4000, "d": 100, "N": 8000, "activation": "relu", "alpha": 0.3},
    {"n": 1000, "d": 500, "N": 1000, "alpha": 0.3},
    {"n": 800, "d": 400, "N": 600, "activation": "relu", "alpha": 0.4},
    {"n": 300, "d": 500, "N": 1000, "activation": "H1"},
    {"n": 900, "d": 300, "N": 600, "activation": "H1"},
]
METHODS = ["asymptotic", pytest.param("uniform", marks=pytest.mark.full)]


def mass(s: og.Spectrum) -> float:
    return float(np.sum((s.rho[1:] + s.rho[:-1]) * np.diff(s.x)) / 2 + s.atom)


@pytest.mark.parametrize("method", METHODS)
def test_density_and_atom_have_mass_one(method) -> None:
    for fields in CASES:
        s = og.spectrum(og.Problem(**fields), method=method)
        assert mass(s) == pytest.approx(1.0, abs=0.01), fields
        assert s.edge == s.support[-1][1] and (s.lower_edge or 0.0) == s.support[0][0]
        assert s.to_dict()["support"] == [list(interval) for interval in s.support]
        ends = [end for interval in s.support for end in interval if end > 0]
        assert np.all(s.rho[np.isin(s.x, ends)] == 0) and np.isin(ends, s.x).all(), fields


@pytest.mark.parametrize("method", METHODS)
def test_networks_have_as_many_eigenvalues_in_each_interval(method) -> None:
    problem = og.Problem(n=1000, d=50, N=600)
    s = og.spectrum(problem, method=method)
    assert len(s.support) == 2 and s.atom == pytest.approx(0.4)
    assert "40.0% of the eigenvalues are zero" in s._repr_html_()
    eigenvalues = measured_spectrum(problem, [0]).F[0] ** 2 / problem.n
    middle = np.sqrt(s.support[0][1] * s.support[1][0])
    upper = s.x > middle
    share = float(np.sum((s.rho[upper][1:] + s.rho[upper][:-1]) * np.diff(s.x[upper])) / 2)
    assert share == pytest.approx(np.sum(eigenvalues > middle) / problem.n, abs=0.003)


def test_a_grid_has_as_many_points_as_asked_for_and_every_end() -> None:
    x = density_grid([(0.0, 0.1), (2.0, 3.0), (4.0, 5.0)], 31)
    assert len(x) == 31 and np.all(np.diff(x) > 0) and x[0] > 0
    assert np.isin([0.1, 2.0, 3.0, 4.0, 5.0], x).all()

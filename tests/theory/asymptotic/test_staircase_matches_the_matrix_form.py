"""The closed form of the drops against the projection written out with matrices.

The spikes are q_k(u) = E_z (u + nu z)^k; as unpenalised features they take the projection of the
smoothed teacher sum_k c_star_k rho^k He_k(u) on their span out of y^T R y, in the inner product
<He_0, He_0> = M_0, <He_1, He_1> = M_2, <He_k, He_k> = k! M_1.
"""

import itertools
from dataclasses import replace
from math import comb, factorial

import numpy as np
import pytest

import onegrad as og
from onegrad.functions.hermite import hermite_at_zero
from onegrad.theory.asymptotic.resolvent import traces
from onegrad.theory.asymptotic.scalars import Scalars
from onegrad.theory.asymptotic.staircase import all_degrees, staircase_drops

STUDENTS = {
    "generic": "H1 + 0.4*H2 + 0.3*H3 + 0.2*H4 + 0.1*H5 + 0.05*H6",
    "relu": "relu",
    "uncentred": "softplus:raw",
}
WEIGHTS = ("gaussian", "sphere")
TEACHERS = ["H1 + H2/sqrt(2) - 0.3*H3 + 0.2*H4", "relu", "relu:raw"]


def matrix_drop(s, count, lam, degrees):
    """Delta_l / lam at another ridge, by solving the Gram system of these spikes."""
    t = traces(s.c1[0] ** 2, s.c_gt1_squared[0], s.phi[0], s.psi[0], lam)
    M0 = float(t.M1) / (1 + s.gaussian_weights[0] * 2 * s.c[0, 2] ** 2 * float(t.h) / s.psi[0])
    if s.free_constant[0]:
        M0 = 0.0
    metric = np.array([M0, float(t.M2)] + [factorial(k) * float(t.M1) for k in range(2, count + 1)])
    variance = 1 + s.nu_squared[0]
    # (u + nu z)^k averaged over z, in He_j(u): binom(k, j) E[(variance^(1/2) Z)^(k-j)]
    Q = np.zeros((count, count + 1))
    for k in range(1, count + 1):
        for j in range(k % 2, k + 1, 2):
            moment = abs(hermite_at_zero(k - j)) * variance ** ((k - j) / 2)
            Q[k - 1, j] = comb(k, j) * moment
    Q = Q[np.array(degrees) - 1]
    teacher = s.c_star[0, : count + 1] * s.direction.rho[0] ** np.arange(count + 1)
    gram, g = (Q * metric) @ Q.T, (Q * metric) @ teacher
    return float(g @ np.linalg.solve(gram, g)), float(t.M1)


def assert_matrix_form(degrees, weights, activation, teacher, rank_one=False):
    p = og.Problem(
        n=1000, d=500, N=800, activation=activation, teacher=teacher, noise=0.3, ridge=0.1,
        weights=weights, residual="labels",
    )  # fmt: skip
    s = Scalars.of([p])
    s = replace(s, slope_second_moment=s.c1**2) if rank_one else s
    learned = np.isin(np.arange(s.c.shape[1]), degrees)[None]
    ours = staircase_drops(s, learned)
    value, M1 = matrix_drop(s, max(degrees), 0.1, degrees)
    assert ours.train[0] == pytest.approx(0.1 * value, rel=1e-9), p
    up, down = (matrix_drop(s, max(degrees), 0.1 + e, degrees)[0] for e in (1e-5, -1e-5))
    assert ours.test[0] == pytest.approx(-(up - down) / 2e-5 / M1**2, rel=1e-6), p


@pytest.mark.parametrize("rank_one", [True, False])
@pytest.mark.parametrize("student", STUDENTS)
def test_closed_form(student, rank_one):
    for count, weights, teacher in itertools.product(range(1, 7), WEIGHTS, TEACHERS):
        degrees = list(range(1, count + 1))
        assert_matrix_form(degrees, weights, STUDENTS[student], teacher, rank_one)


def test_any_set_of_spikes():
    for degrees in ([1, 4], [1, 2, 6], [1, 3, 4], [1, 5], [1, 2, 3, 5, 6]):
        for weights in WEIGHTS:
            assert_matrix_form(degrees, weights, STUDENTS["generic"], "relu:raw")


def test_an_odd_student_learns_no_even_degree():
    p = og.Problem(n=1000, d=500, N=667, activation="tanh", teacher="H1 + H2/sqrt(2)", alpha=0.2)
    one = og.predict(p, theory="staircase")
    with pytest.warns(og.AssumptionWarning, match="c_2 = 0, so degree 2 is not learned"):
        two = og.predict(p, theory="staircase", alpha=0.3)
    assert (two.train, two.test) == (one.train, one.test)


def test_a_gap_among_the_spikes_is_no_obstacle():
    p = og.Problem(n=1000, d=500, N=667, activation="H1 + H4/5", teacher="H1 + H2 + H4/5")
    with pytest.warns(og.AssumptionWarning, match="c_2 = 0"):
        curve = og.predict(p, theory="staircase", alpha=[0.2, 0.3, 0.35, 0.39])
    assert curve.test[0] == curve.test[1] == curve.test[2] > curve.test[3]


def test_two_spikes_add_the_printed_four_thirds_on_the_sphere():
    p = og.Problem(
        n=1000, d=500, N=800, activation="relu", teacher="H1 + H2/sqrt(2)", weights="sphere"
    )
    s = Scalars.of([p])
    s = replace(s, slope_second_moment=s.c1**2)  # the update is exactly rank one
    one, two = (staircase_drops(s, all_degrees(np.array([k]))).train[0] for k in (1, 2))
    b_squared = s.direction.b_squared[0]
    printed = 4 / 3 * s.lam[0] * s.traces.M1[0] * 0.5 / b_squared**2
    assert two - one == pytest.approx(printed, rel=1e-12)


def test_an_extreme_stretch_does_not_overflow():
    p = og.Problem(n=1000, d=500, N=800, activation="0.0001*H1 + H2 + H3", teacher="relu")
    s = Scalars.of([p])
    s = replace(s, c=np.where(np.arange(s.c.shape[1]) >= 1, np.maximum(s.c, 1e-4), s.c))
    drop = staircase_drops(s, all_degrees(np.array([60])))
    assert np.isfinite(drop.train[0])
    assert 0 <= drop.train[0] <= s.lam[0] * s.traces.M1[0] * s.c_star_squared[0]

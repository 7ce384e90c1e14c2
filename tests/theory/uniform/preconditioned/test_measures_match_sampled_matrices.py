"""The law of C^-1 M, of its noise, and both along the learned direction, as sampled matrices."""

import numpy as np
import pytest

import onegrad as og
from onegrad.theory.uniform.preconditioned.covariance import preconditioned_covariance
from onegrad.theory.uniform.preparation import prepare_problem

MAX_DEVIATION = 4.0  # standard errors over the samples
SAMPLES = 12
SETTINGS = [(500, 250, "tanh", 0.5), (250, 250, "relu", 0.3), (1000, 200, "H1 + H2/2", 0.3)]


def problem_of(rows, d, teacher, noise, activation="relu"):
    return og.Problem(
        n=rows, d=d, N=d, teacher=teacher, noise=noise, activation=activation, alpha=0.3,
        update="preconditioned",
    )  # fmt: skip


def sampled(problem, squared, rng):
    """Moments of one draw of the rows, in the order of `predicted`."""
    X = rng.standard_normal((problem.n, problem.d))
    y = problem.teacher_function(X[:, 0]) + problem.noise * rng.standard_normal(problem.n)
    inverse = np.linalg.inv(X.T @ X / len(X) + 0.1 * np.mean(X * X) * np.eye(problem.d))
    M, S = ((X.T * w) @ X / len(X) for w in (y, y * y))
    A, noise = inverse @ M, inverse @ S @ inverse
    v = inverse @ X.T @ y
    v /= np.linalg.norm(v)
    e = np.eye(problem.d)[0] - v[0] * v
    e /= np.linalg.norm(e)
    off = np.eye(problem.d) - np.outer(v, v)
    H, T = (A + A.T) / 2, A @ A.T
    nodes = noise if squared else H
    inside = off @ nodes @ off
    powers = [np.trace(np.linalg.matrix_power(nodes, k)) / problem.d for k in (1, 2, 3)]
    seen = [e @ inside @ e, e @ inside @ inside @ e]
    if squared:
        return [*powers, *seen, v @ noise @ v]
    Hv = off @ H @ v
    excess = T - np.outer(Hv, Hv) - inside @ inside
    return [
        *powers, *seen, v @ noise @ v, v @ H @ v, v @ T @ v, (e @ Hv) * np.sign(v[0]),
        np.trace(T) / problem.d, np.trace(T @ H) / problem.d, np.trace(noise @ H) / problem.d,
        e @ noise @ e, e @ noise @ inside @ e, e @ excess @ e, e @ excess @ inside @ e,
    ]  # fmt: skip


def predicted(problem, squared):
    step = prepare_problem(problem).step
    measures = preconditioned_covariance(
        prepare_problem(problem).labels, step.residual_noise, problem.phi_step, problem.n, 0.1,
        squared,
    )  # fmt: skip
    trace, teacher, v = measures.trace, measures.teacher, measures.along
    powers = [trace.weight @ trace.mu**k for k in (1, 2, 3)]
    seen = [teacher.weight @ teacher.mu**k for k in (1, 2)]
    if squared:
        return [*powers, *seen, v.S_vv]
    T = trace.mu**2 + trace.excess
    energies = [
        teacher.weight @ (energy * teacher.mu**k)
        for energy in (teacher.s, teacher.excess)
        for k in (0, 1)
    ]
    return [
        *powers, *seen, v.S_vv, v.M_vv, v.Mv_squared, v.M_ve[0],
        trace.weight @ T, trace.weight @ (T * trace.mu), trace.weight @ (trace.s * trace.mu),
        *energies,
    ]  # fmt: skip


@pytest.mark.parametrize("squared", [False, True], ids=["matrix", "noise"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s[2])
def test_moments_agree_in_standard_errors(setting, squared):
    problem, rng = problem_of(*setting), np.random.default_rng(0)
    draws = np.array([sampled(problem, squared, rng) for _ in range(SAMPLES)])
    error = draws.std(0, ddof=1) / np.sqrt(SAMPLES)
    off = (np.array(predicted(problem, squared)) - draws.mean(0)) / error
    assert np.abs(off).max() < MAX_DEVIATION, np.round(off, 1)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s[2])
def test_both_laws_say_the_same_of_the_noise_along_v(setting):
    """The noise along v is an energy of one pencil and a first moment of the other."""
    problem = problem_of(*setting)
    labels, step = prepare_problem(problem).labels, prepare_problem(problem).step
    numbers = labels, step.residual_noise, problem.phi_step, problem.n, 0.1
    by_energy, by_nodes = (preconditioned_covariance(*numbers, s).along.S_vv for s in (False, True))
    assert by_energy == pytest.approx(by_nodes, rel=1e-9)


@pytest.mark.parametrize("phi", [0.05, 0.5, 2.0])
def test_the_learned_direction_is_that_of_ridge_regression(phi):
    """Length and overlap of C^-1 h."""
    d = 200
    problem = problem_of(int(d / phi), d, "H1 + H2/2", 0.3)
    step, rng, found = prepare_problem(problem).step, np.random.default_rng(1), []
    for _ in range(SAMPLES):
        X = rng.standard_normal((problem.n, d))
        y = problem.teacher_function(X[:, 0]) + problem.noise * rng.standard_normal(problem.n)
        C = X.T @ X / len(X) + 0.1 * np.mean(X * X) * np.eye(d)
        h = np.linalg.solve(C, X.T @ y / len(X))
        found.append([np.linalg.norm(h), h[0] / np.linalg.norm(h)])
    mean, error = np.mean(found, 0), np.std(found, 0, ddof=1) / np.sqrt(SAMPLES)
    assert np.abs((np.array([step.b, step.theta]) - mean) / error).max() < MAX_DEVIATION

"""The uniform theory the slow, obvious way: the oracle of its fast solver.

The equations of docs/uniform.md, written out with every matrix formed, iterated plainly, and
differentiated by central differences. Only the discretised coefficients are shared with the fast
solver; those have their own tests.
"""

import numpy as np
import scipy.linalg

from onegrad.theory.uniform.discretisation import Equations


def inverse_off(constant, G):
    """The inverse of G on what an intercept leaves: the functions orthogonal to the constant."""
    if not constant.any():
        return np.linalg.inv(G)
    Q = scipy.linalg.null_space(constant[None])
    return Q @ np.linalg.inv(Q.T @ G @ Q) @ Q.T


def solve_delta(eq: Equations, lam, pi, delta):
    """Iterate the neurons' equation at fixed pi; return delta and every E_r."""
    K = len(pi)
    root = np.sqrt(pi)
    for _ in range(20000):
        E = []
        for r, profile in enumerate(eq.profiles(np.asarray)):
            b = root * profile
            G = np.eye(K) + eq.N / eq.d * (b.T * (eq.weight / delta)) @ b
            E.append(inverse_off(root if eq.intercept and r == eq.bulk else 0 * root, G))
        new = lam + eq.C2 @ pi
        for omega, profile, E_r in zip(eq.omega, eq.profiles(np.asarray), E, strict=True):
            b = root * profile
            new = new + omega * np.sum(b @ E_r * b, axis=1)
        done = np.abs(new / delta - 1).max() < 1e-13
        delta = new
        if done:
            return delta, E
    raise AssertionError("no convergence")


def chi(eq: Equations, lam, pi, delta):
    """chi(pi), delta following."""
    delta, E = solve_delta(eq, lam, pi, delta)
    value = eq.N / eq.n * (eq.weight / delta) @ eq.C2
    for omega, E_r in zip(eq.omega, E, strict=True):
        value = value + eq.d / eq.n * omega * (1 - np.diag(E_r)) / pi
    return value, delta, E


def training_error(eq: Equations, lam, pi, delta):
    """The ridge objective as a function of pi, delta following."""
    delta, E = solve_delta(eq, lam, pi, delta)
    K, root = len(pi), np.sqrt(pi)
    t = len(eq.Y1)
    teacher = np.zeros((t * K, t * K))
    for varpi, strength in zip(eq.varpi, eq.teacher_strength, strict=True):
        b = root * strength[:, None] * eq.B
        inverse = np.linalg.inv(np.eye(K) + eq.N / eq.d * (b.T * (eq.weight / delta)) @ b)
        teacher += np.kron(np.outer(varpi, varpi), inverse)
    Q = len(eq.squares.Y)
    G = np.eye((1 + t + Q) * K)
    G[K : (1 + t) * K, K : (1 + t) * K] = np.linalg.inv(teacher)
    H = np.hstack([root * eq.A, *(root * eq.aside), *(root * eq.squares.mean)])
    row = root * eq.readout_row
    w = eq.N * eq.weight / delta
    G += (H.T * w) @ H
    for u, bend in enumerate(root * eq.squares.bend):
        G[(1 + t) * K :, (1 + t) * K :] += w[u] * np.kron(
            eq.squares.fluctuation[u], np.outer(bend, bend)
        )
    if eq.row_share.any():
        bulk = sum(p * E_r for p, E_r in zip(eq.row_share, E[:-1], strict=True))
        inner = np.linalg.inv(bulk) - (row.T * w) @ row
        cross = (H.T * w) @ row
        G += cross @ np.linalg.inv(inner) @ cross.T
    y = np.concatenate([root * eq.Y0, *(root * eq.Y1), *(root * eq.squares.Y)])
    constant = np.zeros(len(y))
    constant[:K] = eq.intercept * root
    return y @ inverse_off(constant, G) @ y + pi @ eq.Y2


def fixed_point(eq: Equations, lam: float):
    """(pi, delta), by plain iteration with pi averaged geometrically."""
    pi, delta = 0.5 * eq.p, np.full(len(eq.weight), 1.0)
    for _ in range(5000):
        value, delta, _ = chi(eq, lam, pi, delta)
        new = eq.p / (1 + value)
        done = np.abs(new / pi - 1).max() < 1e-12
        pi = np.sqrt(pi * new)
        if done:
            return pi, delta
    raise AssertionError("no convergence")


def training_objective(eq: Equations, lam: float) -> float:
    """The ridge objective at its minimum."""
    return float(training_error(eq, lam, *fixed_point(eq, lam)))


def predict(eq: Equations, lam: float) -> tuple[float, float]:
    """(train, test)."""
    K = len(eq.p)
    pi, delta = fixed_point(eq, lam)
    value = chi(eq, lam, pi, delta)[0]
    h, slope, dchi = 1e-4, np.zeros(K), np.zeros((K, K))
    for k in range(K):
        up, down = pi.copy(), pi.copy()
        up[k] *= 1 + h
        down[k] *= 1 - h
        step = 2 * h * pi[k]
        slope[k] = training_error(eq, lam, up, delta) - training_error(eq, lam, down, delta)
        slope[k] /= step
        dchi[:, k] = (chi(eq, lam, up, delta)[0] - chi(eq, lam, down, delta)[0]) / step
    T = np.linalg.solve(np.eye(K) + dchi * (eq.p / (1 + value) ** 2), slope)
    return float(training_error(eq, lam, pi, delta)), float(eq.p @ T)

"""Slow references, written as the definitions read. Nothing here is used outside the tests."""

import numpy as np


def gradient(X, y, W, a, f, df, scale):
    """Minus the gradient in W of half the mean square, one neuron and one row at a time.

    The residual has the output times `scale`: 0 for the labels alone.
    """
    n = len(X)
    G = np.zeros_like(W)
    for i in range(n):
        residual = y[i]
        if scale:
            residual -= scale * sum(a[j] * f(W[j] @ X[i]) for j in range(len(W)))
        for j in range(len(W)):
            G[j] += residual * a[j] * df(W[j] @ X[i]) * X[i] / n
    return G


def direction(G, X, update):
    """The direction of a step that is no gradient step, as long as the gradient."""
    if update == "gradient":
        return G
    S = X.T @ X / len(X)
    shifted = S + 0.1 * np.trace(S) / len(S) * np.eye(len(S))
    U, _, Vt = np.linalg.svd(G, full_matrices=False)
    D = U @ Vt if update == "spectral" else G @ np.linalg.inv(shifted)
    return D * np.linalg.norm(G) / np.linalg.norm(D)


def fit_of_labels(X, y, kind):
    """Constant and coefficients that labels lose; of least norm where rows are few."""
    if kind == "residual-least-squares":
        beta = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
        return y.mean() - X.mean(0) @ beta, beta
    linear = X.T @ y / len(y) if kind == "residual-linear" else 0 * X[0]
    return (0.0 if kind == "plain" else y.mean()), linear


def ridge(F, y, lam, intercept=False):
    """Coefficients and constant that minimise |y - F a - c|^2/n + lam |a|^2, by least squares."""
    n, N = F.shape
    c = np.ones((n, 1)) if intercept else np.zeros((n, 0))
    rows = np.block([[F, c], [np.sqrt(n * lam) * np.eye(N), np.zeros((N, c.shape[1]))]])
    found = np.linalg.lstsq(rows, np.concatenate([y, np.zeros(N)]), rcond=None)[0]
    return found[:N], float(found[N]) if intercept else 0.0


def objective(F, y, lam, a, c):
    """The ridge objective and its squared loss."""
    loss = np.mean((y - F @ a - c) ** 2)
    return loss + lam * a @ a, loss


def leave_one_out(F, y, lam, intercept=False):
    """Mean squared error of each row under the fit without it; the penalty n lam stays."""
    n = len(y)
    errors = []
    for i in range(n):
        kept = np.arange(n) != i
        a, c = ridge(F[kept], y[kept], lam * n / (n - 1), intercept)
        errors.append((y[i] - F[i] @ a - c) ** 2)
    return np.mean(errors)


def kernel_features(K):
    """A matrix F with F F^T = K."""
    s, V = np.linalg.eigh(K)
    return V * np.sqrt(np.clip(s, 0, None))


def moments(F, y, w=None):
    """Return the Moments of rows with features F (n, N), targets y (n, K) and weights w (n,)."""
    from onegrad.arrays import namespace
    from onegrad.ridge import sum_moments

    xp = namespace(F)
    return sum_moments([(xp.concatenate([F, y, xp.ones_like(y[:, :1])], 1), w)], F.shape[1])

"""Conversions to our parameters: the step's exponent or size, and each paper's own convention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Self

from onegrad.exceptions import InvalidInput
from onegrad.problem.fields import check_number, check_size

MAX_THRESHOLD_DISTANCE = 1e-9  # an alpha this close to a threshold is on it: 1/3 is no float


class Conventions:
    """Constructors of Problem that take all parameters of a paper and convert them.

    A parameter is checked before its conversion, under the paper's name.
    """

    if TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None: ...

    @classmethod
    def moniri(
        cls,
        *,
        n: int,
        phi: float,
        psi: float,
        c: float = 1.0,
        alpha: float = 0.0,
        lam: float = 1e-2,
        sigma_eps: float = 0.0,
        residual: Literal["labels", "full"] = "full",
        weights: Literal["gaussian", "sphere"] = "sphere",
        **others: Any,
    ) -> Self:
        r"""Return a problem in the notation of Moniri et al. 2024.

        phi = d/n, psi = d/N, the step is :math:`c\,n^\alpha` and the ridge lam.

        Their readout is N(0, I/N) without a further :math:`1/\sqrt N`, so the initial output
        counts (residual="full"); the printed formulas drop it (residual="labels").
        """
        d = size_from_ratio("phi", phi, "n", n)
        N = round(d / check_number("psi", psi, 0.0, above=True))
        eta = check_number("c", c, 0.0) * check_size("n", n) ** check_exponent(alpha)
        fields = {"ridge": lam, "noise": sigma_eps, "residual": residual, "weights": weights}
        return cls(n=n, d=d, N=N, eta=eta, **fields, **others)

    @classmethod
    def ba(
        cls,
        *,
        d: int,
        psi1: float,
        psi2: float,
        eta: float = 0.0,
        lam: float = 1e-2,
        sigma_eps: float = 0.0,
        **others: Any,
    ) -> Self:
        r"""Return a problem in the notation of Ba et al. 2022.

        psi1 = n/d, psi2 = N/d, and features are :math:`\sigma/\sqrt N`.

        Their :math:`\frac{\lambda}{N}|a|^2` with features :math:`\sigma/\sqrt N` is our ridge with
        the same lam; their step :math:`\eta\sqrt N` with output :math:`O(N^{-1/2})` is our eta with
        residual="labels".
        """
        n, N = size_from_ratio("psi1", psi1, "d", d), size_from_ratio("psi2", psi2, "d", d)
        fields = {"ridge": lam, "noise": sigma_eps, "residual": "labels", "weights": "gaussian"}
        return cls(n=n, d=d, N=N, eta=eta, **fields, **others)

    @classmethod
    def cui(
        cls,
        *,
        d: int,
        p: int,
        n0: int,
        n: int,
        eta: float = 0.0,
        lam: float = 1e-2,
        sigma_eps: float = 0.0,
        **others: Any,
    ) -> Self:
        r"""Return a problem in the notation of Cui et al. 2024.

        p neurons, n0 rows in the step, a constant readout, and the maximal step.

        Their step moves a neuron by :math:`\tilde\eta\,X^\top[y\odot\sigma']/n_0`, so our eta is
        :math:`\tilde\eta\sqrt p`. Their objective
        :math:`\sum_\mu (y_\mu - a\cdot\sigma/\sqrt p)^2 + \lambda|a|^2` is our ridge
        :math:`\lambda p/n`.
        """
        p, n = check_size("p", p), check_size("n", n)
        eta = check_number("eta", eta, 0.0) * math.sqrt(p)
        ridge = check_number("lam", lam, 0.0, above=True) * p / n
        fields = {"noise": sigma_eps, "readout": "constant", "residual": "labels"}
        return cls(n=n, d=d, N=p, n_step=n0, ridge=ridge, eta=eta, **fields, **others)


def size_from_ratio(name: str, value: Any, size_name: str, size: Any) -> int:
    """Return the whole number nearest to the ratio `value` times the size, at least one."""
    product = check_number(name, value, 0.0, above=True) * check_size(size_name, size)
    if not math.isfinite(product):
        raise InvalidInput(name, value, f"such that {name} * {size_name} is finite")
    return max(1, round(product))


def check_exponent(alpha: Any) -> float:
    """Return the step's exponent, between -10 and 10 so that n**alpha does not overflow."""
    return check_number("alpha", alpha, -10.0, 10.0)


def complete_step(n: int, alpha: float | None, eta: float | None) -> tuple[float | None, float]:
    """Return alpha and eta = n**alpha, given either of them; alpha is None for eta = 0."""
    if alpha is not None and eta is not None:
        check_number("eta", eta, 0.0, above=True)
        # both are given where a stored problem is read again; digits may have been rounded
        if not math.isclose(alpha * math.log(n), math.log(eta), abs_tol=1e-9):
            both = f"give alpha or eta, not both; alpha is {alpha:g}"
            raise InvalidInput("eta", eta, problem=both)
        return alpha, eta
    if alpha is not None:
        alpha = check_exponent(alpha)
        if n == 1:
            problem = "eta = n**alpha needs n >= 2; give eta for n = 1"
            raise InvalidInput("alpha", alpha, problem=problem)
        return alpha, float(n) ** alpha
    eta = 0.0 if eta is None else eta
    return (math.log(eta) / math.log(n) if eta > 0 and n > 1 else None), eta


def step_window(alpha: float) -> tuple[int, bool]:
    r"""Return the number of spikes at alpha < 1/2, and whether it is the threshold of the next one.

    .. math:: \ell \text{ with } \tfrac{\ell-1}{2\ell} < \alpha < \tfrac{\ell}{2\ell+2},
        \text{ that is } \ell = \lceil 1/(1-2\alpha) \rceil - 1

    At a threshold the lower window is taken: the spike that begins there is not counted.
    See Moniri et al. 2024, Theorem 3.3.
    """
    if alpha < -MAX_THRESHOLD_DISTANCE:
        return 0, False
    windows = 1 / (1 - 2 * alpha)  # the k-th threshold is where this equals k
    nearest = round(windows)
    if abs(alpha - (nearest - 1) / (2 * nearest)) < MAX_THRESHOLD_DISTANCE:
        return nearest - 1, True
    return math.ceil(windows) - 1, False

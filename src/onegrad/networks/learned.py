"""What a trained network has learned of its teacher, as a function of the teacher's index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.exceptions import InvalidInput
from onegrad.functions.hermite import normalised_hermite
from onegrad.networks.fits import fits
from onegrad.networks.network import Network
from onegrad.networks.sampling import Sampler
from onegrad.networks.streams import Role
from onegrad.problem import Problem

DEGREE = 12
BINS = 24  # of equal probability


@dataclass(frozen=True)
class LearnedPart:
    r"""One network's :math:`E[\hat f(x)\,h_k(u)]`, k = 0..degree, with u = beta_star . x.

    u, fitted : mean of u and of the prediction in bins of equal probability.
    """

    coefficients: Floats
    u: Floats
    fitted: Floats


def learned_part(problem: Problem, seed: int = 0, *, n_test: int = 20_000) -> LearnedPart:
    """Train the network of this seed and project it on the teacher's index over fresh rows.

    See tests/explorer/test_what_theory_says_is_learned_is_learned.py.
    """
    if problem.input_law.name != "gaussian" or not hasattr(problem.teacher_function, "c"):
        raise InvalidInput(
            "teacher",
            problem.teacher,
            problem="the learned part is measured for a single index and Gaussian inputs",
        )
    sampler = Sampler(problem, (seed,), get_ops())
    features = Network.of(sampler).trained((problem.step,))
    (fit,) = fits(sampler, features, (problem.ridge,))
    indices, predictions = [], []
    for rows in sampler.rows(Role.TEST, n_test):
        (F,) = features.tiles(rows)
        predictions.append(to_numpy(F @ fit.coef + fit.intercept[:, None, :]).ravel())
        indices.append(to_numpy(rows.X @ sampler.teacher).ravel())
    u, f = np.concatenate(indices), np.concatenate(predictions)
    order = np.array_split(np.argsort(u), BINS)
    return LearnedPart(
        coefficients=normalised_hermite(u, DEGREE) @ f / len(u),
        u=np.array([u[i].mean() for i in order]),
        fitted=np.array([f[i].mean() for i in order]),
    )
